// The verbs on a collection: list, watch, deletecollection.
#include <mutex>

#include "crd/definition_rules.h"
#include "server/list.h"
#include "server/matcher.h"
#include "server/resource_handler.h"
#include "server/write_options.h"

namespace berth::server {
namespace {

// The deletes of one collection: answered when all have finished, with the first refusal if there is one.
struct CollectionRemoval {
  std::mutex mutex;
  std::size_t left = 0;
  ApiResult<void> outcome;

  // The outcome of the whole with the last one; nothing before. An absent object is no failure.
  std::optional<ApiResult<void>> finish(const ApiResult<Answer>& removed) {
    const std::lock_guard lock(mutex);
    const bool refused = !removed && removed.error().code != 404;
    if (refused && outcome.ok()) outcome = removed.error();
    if (--left > 0) return std::nullopt;
    return outcome;
  }
};

}  // namespace

ApiResult<void> ResourceHandler::list_page(const Call& call) {
  const ListOptions options = TRY(read_list_options(call->request));
  respond(call, TRY(list(registry_, call->target, options, call->rendering)));
  return {};
}

ApiResult<void> ResourceHandler::watch(const Call& call) {
  const ListOptions options = TRY(read_list_options(call->request));
  Matcher matches = TRY(make_matcher(*call->target.resource, options.label_selector, options.field_selector,
                                     call->target.name));
  TRY(check_streams(call->rendering.encoding));
  audit(*call, 200, registry_.store().revision());
  watches_.open(call->target, options, call->rendering, std::move(matches), call->exchange);
  return {};
}

ApiResult<void> ResourceHandler::remove_collection(const Call& call) {
  const DeleteOptions options = TRY(read_delete_options(call->request));
  const ListOptions selection = TRY(read_list_options(call->request));
  const HttpResponse found = TRY(list(registry_, call->target, selection, call->rendering));
  store::ListQuery query;
  query.resource = storage_resource(*call->target.resource);
  query.ns = call->target.ns;
  query.accept =
      TRY(make_matcher(*call->target.resource, selection.label_selector, selection.field_selector, ""))
          .selects;
  query.limit = selection.limit;
  const store::ListPage page = TRY(page_of(registry_, call->target, query));
  if (page.objects.empty()) {
    respond(call, found);
    return {};
  }
  WriteOptions write_options;
  write_options.user = call->request.user.name;
  const auto removal = std::make_shared<CollectionRemoval>();
  removal->left = page.objects.size();
  for (const store::ObjectPtr& object : page.objects) {
    ObjectTarget target = call->target;
    target.ns = object->key.ns;
    target.name = object->key.name;
    registry_.remove(std::move(target), options, write_options,
                     [this, call, removal, found](const ApiResult<Answer>& removed) {
                       const std::optional<ApiResult<void>> outcome = removal->finish(removed);
                       if (outcome) answer_removal(call, *outcome, found);
                     });
  }
  return {};
}

// What was removed before a refusal is carried out too.
void ResourceHandler::answer_removal(const Call& call, const ApiResult<void>& outcome,
                                     const HttpResponse& found) {
  const auto say = [this, call, outcome, found] {
    if (!outcome) return answer(call, outcome.error());
    respond(call, found);
  };
  if (!crd::is_definition(*call->target.resource)) return say();
  carry_out_definitions(say);
}

}  // namespace berth::server
