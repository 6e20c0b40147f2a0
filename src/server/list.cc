#include "server/list.h"

#include "server/continue_token.h"
#include "server/matcher.h"

namespace berth::server {
namespace {

ApiStatus expired_list(const std::optional<store::Key>& after) {
  if (!after) return expired("The resourceVersion for the provided list is too old.");
  ApiStatus status = expired(
      "The provided continue parameter is too old to display a consistent list result. You can start a new "
      "list without the continue parameter, or use the continue token in this response to retrieve the "
      "remainder of the results. Continuing with the provided token results in an inconsistent list - "
      "objects that were created, modified, or deleted between the time the first chunk was returned and "
      "now may show up in the list.");
  status.continue_token = encode_continue({std::nullopt, *after});
  return status;
}

}  // namespace

std::string list_metadata(const store::ListPage& page, const ListOptions& options) {
  Json metadata = Json::object({{"resourceVersion", std::to_string(page.revision)}});
  if (page.more) {
    metadata["continue"] = encode_continue({page.revision, page.objects.back()->key});
    const bool selected = !options.label_selector.empty() || !options.field_selector.empty();
    if (!selected) metadata["remainingItemCount"] = static_cast<std::int64_t>(page.remaining);
  }
  return to_string(metadata);
}

ApiStatus not_listed(const Error& error, const store::ListQuery& query, store::Revision newest) {
  if (error.code() == ErrorCode::Gone) return expired_list(query.after);
  // A token of another server, or a forged one: its version lies in the future.
  return too_large_version(query.at.value_or(0), newest);
}

ApiResult<store::ListQuery> list_query(const Registry& registry, const ObjectTarget& target,
                                       const ListOptions& options) {
  store::ListQuery query;
  query.resource = stored_resource(*target.resource);
  query.ns = target.ns;
  query.limit = options.limit;
  query.accept =
      TRY(make_matcher(*target.resource, options.label_selector, options.field_selector, target.name))
          .selects;
  if (options.exact) query.at = options.version;
  if (!options.continue_token.empty()) {
    Result<ContinuePoint> point = decode_continue(options.continue_token, query.resource);
    if (!point) return bad_request(point.error().message());
    if (options.version.value_or(0) > 0)
      return bad_request("specifying resource version is not allowed when using continue");
    query.at = point->revision;
    query.after = std::move(point->after);
  } else if (options.version == std::optional<store::Revision>(0)) {
    query.limit = 0;
  } else if (options.version && *options.version > registry.store().revision()) {
    return too_large_version(*options.version, registry.store().revision());
  }
  return query;
}

}  // namespace berth::server
