#include "server/scale.h"

#include <map>

#include "api/patch.h"
#include "crd/served_version.h"
#include "server/metadata.h"
#include "server/request_body.h"
#include "server/write_errors.h"

namespace berth::server {
namespace {

constexpr const char* kGroup = "autoscaling";
constexpr const char* kScale = "Scale";

std::string joined(const JsonArray& values) {
  std::string text;
  for (const Json& value : values)
    text.append(text.empty() ? "" : ",").append(value.is_string() ? value.as_string() : "");
  return text;
}

// "app=web,tier in (a,b)", by key. A ReplicationController's selector is a plain map.
std::string selector_text(const Json& selector) {
  const bool is_map = !selector.find("matchLabels") && !selector.find("matchExpressions");
  const Json& labels = is_map ? selector : selector.part("matchLabels");
  std::multimap<std::string, std::string> parts;
  if (labels.is_object())
    for (const JsonMember& label : labels.as_object())
      parts.emplace(label.key, "=" + (label.value.is_string() ? label.value.as_string() : ""));
  std::string text;
  for (const Json& part : selector.items_at("matchExpressions")) {
    const std::string key(part.string_at("key"));
    const std::string_view op = part.string_at("operator");
    if (op == "DoesNotExist") parts.emplace(key, "!");
    if (op == "Exists") parts.emplace(key, "");
    if (op == "In") parts.emplace(key, " in (" + joined(part.items_at("values")) + ")");
    if (op == "NotIn") parts.emplace(key, " notin (" + joined(part.items_at("values")) + ")");
  }
  for (const auto& [key, rest] : parts) {
    if (!text.empty()) text += ",";
    text += rest == "!" ? "!" + key : key + rest;
  }
  return text;
}

// `object` with the replicas of `scale`.
ApiResult<Json> scaled(const Json& object, const Json& scale, const crd::ServedVersion* custom) {
  const std::string name(metadata_of(object).string_at("name"));
  const std::string_view kind = scale.string_at("kind");
  if (!kind.empty() && kind != kScale)
    return bad_request("expected kind Scale, but got " + std::string(kind));
  const Json& meta = scale.part("metadata");
  const std::string_view asked = meta.string_at("name");
  if (!asked.empty() && asked != name) return other_name(asked, name);
  const Json* replicas = scale.part("spec").find("replicas");
  if (replicas && !replicas->is_int()) return bad_request("spec.replicas of a Scale is a whole number");
  const std::int64_t wanted = replicas ? replicas->as_int() : 0;
  if (wanted < 0)
    return invalid(kGroup, kScale, name,
                   {api::invalid("spec.replicas", wanted, "must be greater than or equal to 0")});
  Json next = object;
  (custom ? place_at(next, custom->scale->replicas.members) : next["spec"]["replicas"]) = wanted;
  for (const char* member : {"resourceVersion", "uid"})
    if (const std::string_view value = meta.string_at(member); !value.empty())
      next["metadata"][member] = value;
  return next;
}

}  // namespace

Json& place_at(Json& object, const std::vector<std::string>& members) {
  Json* at = &object;
  for (const std::string& name : members) {
    Json& below = (*at)[name];
    // What stands in the way is no place for a member: validation has refused such objects.
    if (!below.is_object() && &name != &members.back()) below = Json::object();
    at = &below;
  }
  return *at;
}

Json scale_of(const Json& object, const crd::ServedVersion* custom) {
  const Json& from = metadata_of(object);
  Json meta = Json::object();
  for (const char* member : {"name", "namespace", "uid", "resourceVersion", "creationTimestamp"})
    if (const Json* value = from.find(member)) meta[member] = *value;
  const Json &spec = object.part("spec"), &status = object.part("status");
  const auto whole_at = [&object](const crd::MemberPath& path) {
    const Json* value = crd::value_at(object, path.members);
    return value && value->is_int() ? value->as_int() : 0;
  };
  Json wanted = Json::object();
  const std::int64_t replicas = custom ? whole_at(custom->scale->replicas) : spec.int_at("replicas");
  if (replicas != 0) wanted["replicas"] = replicas;
  Json seen = Json::object(
      {{"replicas", custom ? whole_at(custom->scale->status_replicas) : status.int_at("replicas")}});
  std::string selector = custom ? "" : selector_text(spec.part("selector"));
  if (custom && custom->scale->selector)
    if (const Json* text = crd::value_at(object, custom->scale->selector->members); text && text->is_string())
      selector = text->as_string();
  if (!selector.empty()) seen["selector"] = selector;
  return Json::object({{"kind", kScale},
                       {"apiVersion", "autoscaling/v1"},
                       {"metadata", std::move(meta)},
                       {"spec", std::move(wanted)},
                       {"status", std::move(seen)}});
}

ApiResult<Registry::Change> scale_change(const HttpRequest& request, const crd::ServedVersion* custom) {
  if (request.method == "PUT") {
    Json body = TRY(read_document(request, *api::find_type(kGroup, "v1", kScale)));
    return Registry::Change(
        [scale = std::move(body), custom](const Json& current) { return scaled(current, scale, custom); });
  }
  const std::optional<api::PatchType> type = api::patch_type_of(media_type(request));
  if (!type) return no_patch_type();
  return Registry::Change(
      [type = *type, body = request.body, custom](const Json& current) -> ApiResult<Json> {
        const Json before = scale_of(current, custom);
        const Result<Json> scale = type == api::PatchType::Json ? api::apply_json_patch(before, body)
                                                                : api::apply_merge_patch(before, body);
        if (!scale) return bad_request(scale.error().message());
        return scaled(current, *scale, custom);
      });
}

}  // namespace berth::server
