#include "server/list_watch.h"

#include <charconv>
#include <deque>

#include "api/selectors.h"
#include "server/continue_token.h"
#include "server/metadata.h"
#include "server/wire_form.h"

namespace berth::server {
namespace {

std::optional<std::uint64_t> to_number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string list_metadata(const store::ListPage& page, const ListOptions& options) {
  Json metadata = Json::object({{"resourceVersion", std::to_string(page.revision)}});
  if (page.more) {
    metadata["continue"] = encode_continue({page.revision, page.objects.back()->key});
    const bool selected = !options.label_selector.empty() || !options.field_selector.empty();
    if (!selected) metadata["remainingItemCount"] = static_cast<std::int64_t>(page.remaining);
  }
  return to_string(metadata);
}

std::string list_body(const Registry& registry, const Target& target, const store::ListPage& page,
                      const ListOptions& options, Rendering rendering) {
  const std::string metadata = list_metadata(page, options);
  if (rendering.form == Form::Table)
    return table_bytes(*target.resource, page.objects, rendering, metadata, registry.world().clock.now(), true);
  const bool partial = rendering.form == Form::Metadata;
  const std::string api_version =
      partial ? "meta.k8s.io/v1" : api::ResourceRef{std::string(target.resource->group), std::string(target.resource->version), ""}.api_version();
  std::string body = "{\"kind\":\"";
  body += partial ? std::string("PartialObjectMetadata") : std::string(target.resource->kind);
  body.append("List\",\"apiVersion\":\"").append(api_version).append("\",\"metadata\":");
  body.append(metadata).append(",\"items\":[");
  bool first = true;
  for (const store::ObjectPtr& object : page.objects) {
    if (!first) body += ',';
    first = false;
    body += partial ? metadata_bytes(object->bytes) : item_bytes(*target.resource, object->bytes);
  }
  return body.append("]}\n");
}

}  // namespace

std::variant<Matcher, ApiStatus> make_matcher(const api::ResourceInfo& resource, const std::string& label_selector,
                                              const std::string& field_selector, const std::string& name) {
  if (label_selector.empty() && field_selector.empty()) {
    if (name.empty()) return Matcher();
    return Matcher([name](const store::Object& object) { return object.key.name == name; });
  }
  Result<api::LabelSelector> labels = api::parse_label_selector(label_selector);
  if (!labels) return bad_request(labels.error().message());
  Result<api::FieldSelector> fields = api::parse_field_selector(field_selector, resource);
  if (!fields) return bad_request(fields.error().message());
  return Matcher([labels = std::move(labels).value(), fields = std::move(fields).value(),
                  name](const store::Object& object) {
    if (!name.empty() && object.key.name != name) return false;
    const Result<Json> json = parse_json(object.bytes);
    return json && labels.matches(*json) && fields.matches(*json);
  });
}

HttpResponse list(const Registry& registry, const Target& target, const ListOptions& options,
                  Rendering rendering) {
  auto matcher =
      make_matcher(*target.resource, options.label_selector, options.field_selector, target.name);
  if (auto* status = std::get_if<ApiStatus>(&matcher)) return status->to_response();
  store::ListQuery query;
  query.resource = storage_resource(*target.resource);
  query.ns = target.ns;
  query.limit = options.limit;
  query.accept = std::get<Matcher>(std::move(matcher));
  if (options.exact) query.at = options.version;
  if (!options.continue_token.empty()) {
    Result<ContinuePoint> point = decode_continue(options.continue_token, query.resource);
    if (!point) return bad_request(point.error().message()).to_response();
    query.at = point->revision;
    query.after = std::move(point->after);
  } else if (options.version == std::optional<store::Revision>(0)) {
    query.limit = 0;
  } else if (options.version && *options.version > registry.store().revision()) {
    return too_large_version(*options.version, registry.store().revision()).to_response();
  }
  const Result<store::ListPage> page = registry.store().list(query);
  if (!page) {
    const std::string text = options.continue_token.empty()
                                 ? "The resourceVersion for the provided list is too old."
                                 : "The provided continue parameter is too old to display a consistent list result. "
                                   "You can start a new list without the continue parameter.";
    if (page.error().code() == ErrorCode::Gone) return expired(text).to_response();
    return internal_error(page.error().text()).to_response();
  }
  return json_response(200, list_body(registry, target, *page, options, rendering));
}

}  // namespace berth::server
