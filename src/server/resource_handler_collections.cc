// The verbs on a collection: list, watch, deletecollection.
#include <mutex>

#include "crd/definition_rules.h"
#include "server/list.h"
#include "server/matcher.h"
#include "server/object_versions.h"
#include "server/resource_handler.h"
#include "server/write_options.h"

namespace berth::server {
namespace {

constexpr std::size_t kRemovalsInFlightMax = 256;  // of one collection

// The deletes of one collection, a part of them in flight. `done` gets the first refusal, or success, once
// all have finished. An absent object is no failure.
class CollectionRemoval : public std::enable_shared_from_this<CollectionRemoval> {
 public:
  struct Steps {
    // Starts one delete.
    std::function<void(const store::Object& object, Done removed)> remove;
    // Runs more of them; the end of a delete is on the store's committer, which only hands over.
    std::function<void(std::function<void()>)> post;
    std::function<void(const ApiResult<void>&)> done;
  };
  CollectionRemoval(std::vector<store::ObjectPtr> objects, Steps steps)
      : objects_(std::move(objects)), steps_(std::move(steps)) {}

  void go_on() {
    while (const store::Object* object = take())
      steps_.remove(*object,
                    [self = shared_from_this()](const ApiResult<Answer>& removed) { self->finish(removed); });
  }

 private:
  // Null: enough are in flight, or none is left.
  const store::Object* take() {
    const std::lock_guard lock(mutex_);
    if (next_ == objects_.size() || next_ - finished_ >= kRemovalsInFlightMax) {
      at_rest_ = true;
      return nullptr;
    }
    at_rest_ = false;
    return objects_[next_++].get();
  }

  void finish(const ApiResult<Answer>& removed) {
    bool more = false;
    {
      const std::lock_guard lock(mutex_);
      const bool refused = !removed && removed.error().code != 404;
      if (refused && outcome_.ok()) outcome_ = removed.error();
      if (++finished_ < objects_.size()) {
        more = next_ < objects_.size() && std::exchange(at_rest_, false);
        if (!more) return;
      }
    }
    if (more) return steps_.post([self = shared_from_this()] { self->go_on(); });
    steps_.done(outcome_);
  }

  const std::vector<store::ObjectPtr> objects_;
  const Steps steps_;
  std::mutex mutex_;
  std::size_t next_ = 0;
  std::size_t finished_ = 0;
  bool at_rest_ = false;  // go_on() has returned: the end of a delete calls it again
  ApiResult<void> outcome_;
};

}  // namespace

ApiResult<ListRequest> ResourceHandler::list_request(const Call& call, ListOptions options) {
  ListRequest request;
  request.target = call->target;
  request.query = TRY(list_query(registry_, call->target, options));
  request.options = std::move(options);
  if (is_measured_usage(*call->target.resource)) request.make = usage_.maker(*call->target.resource);
  request.rendering = call->rendering;
  request.exchange = call->exchange;
  request.user = call->request.user.name;
  request.accepted = [this, call] {
    audit(*call, 200, 0);
    Headers headers;
    add_warnings(headers, call->warnings);
    return headers;
  };
  request.refused = [this, call](const ApiStatus& status) { answer(call, status); };
  return request;
}

ApiResult<void> ResourceHandler::list_page(const Call& call) {
  lists_.answer(TRY(list_request(call, TRY(read_list_options(call->request)))));
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
  DeleteOptions options = TRY(read_delete_options(call->request));
  ListRequest request = TRY(list_request(call, TRY(read_list_options(call->request))));
  request.query.limit = request.options.limit;
  ListRequest answer = request;
  request.selected = [this, call, answer = std::move(answer), options = std::move(options)](
                         store::ListPage page) { remove_all(call, answer, options, std::move(page)); };
  lists_.answer(std::move(request));
  return {};
}

void ResourceHandler::remove_all(const Call& call, ListRequest answer, DeleteOptions options,
                                 store::ListPage page) {
  if (page.objects.empty()) return lists_.answer(std::move(answer), std::move(page));
  WriteOptions write_options;
  write_options.user = call->request.user;
  write_options = noted(call, std::move(write_options));
  CollectionRemoval::Steps steps;
  steps.remove = [this, call, options = std::move(options), write_options](const store::Object& object,
                                                                           Done removed) {
    ObjectTarget target = call->target;
    target.ns = object.key.ns;
    target.name = object.key.name;
    registry_.remove(std::move(target), options, write_options, std::move(removed));
  };
  steps.post = [this, call](std::function<void()> work) {
    post_for(call->target, registry_.dependencies().executor, std::move(work));
  };
  std::vector<store::ObjectPtr> objects = page.objects;
  steps.done = [this, call, post = steps.post, answer = std::move(answer),
                page = std::move(page)](const ApiResult<void>& outcome) {
    const auto say = [this, call, answer, page, outcome] {
      if (!outcome.ok()) return this->answer(call, outcome.error());
      lists_.answer(answer, page);
    };
    // What was removed before a refusal is carried out too.
    if (crd::is_definition(*call->target.resource)) return carry_out_definitions(say);
    post(say);
  };
  std::make_shared<CollectionRemoval>(std::move(objects), std::move(steps))->go_on();
}

}  // namespace berth::server
