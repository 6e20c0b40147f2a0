#include "server/list.h"

#include "api/protobuf.h"
#include "api/protobuf_objects.h"
#include "crd/served_version.h"
#include "server/continue_token.h"
#include "server/matcher.h"
#include "server/object_versions.h"
#include "server/serialization.h"

namespace berth::server {
namespace {

std::string list_metadata(const store::ListPage& page, const ListOptions& options) {
  Json metadata = Json::object({{"resourceVersion", std::to_string(page.revision)}});
  if (page.more) {
    metadata["continue"] = encode_continue({page.revision, page.objects.back()->key});
    const bool selected = !options.label_selector.empty() || !options.field_selector.empty();
    if (!selected) metadata["remainingItemCount"] = static_cast<std::int64_t>(page.remaining);
  }
  return to_string(metadata);
}

std::string list_body(const Registry& registry, const ObjectTarget& target, const store::ListPage& page,
                      const ListOptions& options, Rendering rendering) {
  const std::string metadata = list_metadata(page, options);
  if (rendering.form == Form::Table)
    return table_bytes(*target.resource, page.objects, rendering, metadata,
                       registry.dependencies().clock.now(), true);
  const bool partial = rendering.form == Form::Metadata;
  const std::string api_version = partial ? meta_version_of(rendering) : api_version_of(*target.resource);
  std::string body = "{\"kind\":\"";
  const std::string own = target.resource->custom ? target.resource->custom->definition->list_kind
                                                  : std::string(target.resource->kind) + "List";
  body += partial ? "PartialObjectMetadataList" : own;
  body.append("\",\"apiVersion\":\"").append(api_version).append("\",\"metadata\":");
  body.append(metadata).append(",\"items\":[");
  bool first = true;
  for (const store::ObjectPtr& object : page.objects) {
    if (!first) body += ',';
    first = false;
    body += partial ? metadata_bytes(rendering, object->bytes) : item_bytes(*target.resource, object->bytes);
  }
  return body.append("]}\n");
}

ApiResult<HttpResponse> in_protobuf(const ObjectTarget& target, const store::ListPage& page,
                                    const ListOptions& options, Rendering rendering) {
  const api::ResourceInfo& resource = *target.resource;
  const bool as_stored = is_stored_as_shown(resource, rendering.form);
  std::size_t bytes = 0;
  for (const store::ObjectPtr& object : page.objects) bytes += object->bytes.size();
  constexpr std::size_t kJsonToProtobuf = 2;  // about how much smaller
  api::ProtobufListWriter list(protobuf_list_kind(resource, rendering), bytes / kJsonToProtobuf);
  Status written = list.add_metadata(list_metadata(page, options));
  for (auto at = page.objects.begin(); written && at != page.objects.end(); ++at) {
    const std::string& stored = (*at)->bytes;
    written = as_stored ? list.add_item(stored) : list.add_item(object_bytes(resource, stored));
  }
  if (!written) return not_written(written.error());
  return HttpResponse{200, {{"Content-Type", std::string(api::kProtobufMediaType)}}, list.finish()};
}

// A webhook may change labels and every field, so selectors look at what it returned.
enum class Selected { AsStored, InRequestVersion };

store::ListQuery stored_query(store::ListQuery query, Selected selected) {
  if (selected == Selected::AsStored || !query.accept) return query;
  query.accept = nullptr;
  query.limit = 0;
  return query;
}

void select(store::ListPage& page, const store::ListQuery& query) {
  if (!query.accept) return;
  std::erase_if(page.objects, [&](const store::ObjectPtr& object) { return !query.accept(*object); });
  page.more = query.limit > 0 && page.objects.size() > query.limit;
  page.remaining = 0;
  if (page.more) page.objects.resize(query.limit);
}

// The version has left the window. After a page (`after`) the client may continue with the newest version.
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

ApiResult<store::ListPage> page_of(const Registry& registry, const ObjectTarget& target,
                                   const store::ListQuery& query) {
  const Selected selected = has_webhook(target) ? Selected::InRequestVersion : Selected::AsStored;
  Result<store::ListPage> page = registry.store().list(stored_query(query, selected));
  if (!page && page.error().code() == ErrorCode::Gone) return expired_list(query.after);
  // A token of another server, or a forged one: its version lies in the future.
  if (!page) return too_large_version(query.at.value_or(0), registry.store().revision());
  page->objects = TRY(in_request_version(target, std::move(page->objects)));
  if (selected == Selected::InRequestVersion) select(*page, query);
  return std::move(page).value();
}

ApiResult<HttpResponse> list(const Registry& registry, const ObjectTarget& target, const ListOptions& options,
                             Rendering rendering) {
  store::ListQuery query;
  query.resource = storage_resource(*target.resource);
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
  const store::ListPage page = TRY(page_of(registry, target, query));
  if (rendering.encoding == Encoding::Protobuf) return in_protobuf(target, page, options, rendering);
  return json_response(200, list_body(registry, target, page, options, rendering));
}

}  // namespace berth::server
