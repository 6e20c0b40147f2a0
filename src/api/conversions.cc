#include "api/conversions.h"

#include <algorithm>
#include <array>

#include "api/autoscaler_conversion.h"
#include "api/custom_version.h"
#include "api/decode.h"
#include "api/served_kinds.h"

namespace berth::api {
namespace {

struct Renamed {
  std::string_view stored, served;
};

// core/v1 and events.k8s.io/v1 are two views of one object.
constexpr std::array<Renamed, 7> kEventNames = {{{"involvedObject", "regarding"},
                                                 {"message", "note"},
                                                 {"source", "deprecatedSource"},
                                                 {"firstTimestamp", "deprecatedFirstTimestamp"},
                                                 {"lastTimestamp", "deprecatedLastTimestamp"},
                                                 {"count", "deprecatedCount"},
                                                 {"reportingComponent", "reportingController"}}};

void rename_members(Json& object, std::string_view Renamed::* from, std::string_view Renamed::* to) {
  JsonObject renamed;
  renamed.reserve(object.as_object().size());
  for (JsonMember& member : object.as_object()) {
    const auto row = std::find_if(kEventNames.begin(), kEventNames.end(),
                                  [&](const Renamed& name) { return member.key == name.*from; });
    renamed.append(row == kEventNames.end() ? std::move(member.key) : std::string((*row).*to),
                   std::move(member.value));
  }
  object = Json(std::move(renamed));
}

void event_to_stored(Json& event) {
  rename_members(event, &Renamed::served, &Renamed::stored);
}
void event_to_served(Json& event) {
  rename_members(event, &Renamed::stored, &Renamed::served);
}

JsonArray* array_at(Json& object, std::initializer_list<std::string_view> path) {
  Json* at = &object;
  for (std::string_view key : path) {
    at = at->find(key);
    if (!at) return nullptr;
  }
  return at->is_array() ? &at->as_array() : nullptr;
}

// {"name", rest…} becomes {"name", key: {rest…}}.
void fold(Json& item, std::string_view key, std::initializer_list<std::string_view> kept) {
  if (!item.is_object()) return;
  Json outer = Json::object(), inner = Json::object();
  for (JsonMember& member : item.as_object()) {
    bool stays = false;
    for (std::string_view name : kept) stays |= member.key == name;
    (stays ? outer : inner).as_object().append(member.key, std::move(member.value));
  }
  outer[key] = std::move(inner);
  item = std::move(outer);
}

// The reverse: the members below `key` move up.
void unfold(Json& item, std::string_view key) {
  Json* inner = item.is_object() ? item.find(key) : nullptr;
  if (!inner || !inner->is_object()) return;
  Json moved = std::move(*inner);
  item.as_object().erase(key);
  for (JsonMember& member : moved.as_object()) item[member.key] = std::move(member.value);
}

// v1beta1 has a device's fields in `basic`.
void slice_to_stored(Json& slice) {
  if (JsonArray* devices = array_at(slice, {"spec", "devices"}))
    for (Json& device : *devices) unfold(device, "basic");
}
void slice_to_served(Json& slice) {
  if (JsonArray* devices = array_at(slice, {"spec", "devices"}))
    for (Json& device : *devices) fold(device, "basic", {"name"});
}

// v1beta1 has the members of `exactly` in the request itself.
void requests_to_stored(JsonArray& requests) {
  for (Json& request : requests) {
    if (!request.is_object()) continue;
    if (request.string_at("deviceClassName").empty()) request.as_object().erase("deviceClassName");
    bool exact = false;
    for (const JsonMember& member : request.as_object())
      exact |= member.key != "name" && member.key != "firstAvailable";
    if (exact) fold(request, "exactly", {"name", "firstAvailable"});
  }
}
void requests_to_served(JsonArray& requests) {
  for (Json& request : requests) {
    unfold(request, "exactly");
    if (request.is_object() && !request.find("deviceClassName")) request["deviceClassName"] = "";
  }
}

void claim_to_stored(Json& claim) {
  if (JsonArray* requests = array_at(claim, {"spec", "devices", "requests"})) requests_to_stored(*requests);
}
void claim_to_served(Json& claim) {
  if (JsonArray* requests = array_at(claim, {"spec", "devices", "requests"})) requests_to_served(*requests);
}
void template_to_stored(Json& object) {
  if (JsonArray* requests = array_at(object, {"spec", "spec", "devices", "requests"}))
    requests_to_stored(*requests);
}
void template_to_served(Json& object) {
  if (JsonArray* requests = array_at(object, {"spec", "spec", "devices", "requests"}))
    requests_to_served(*requests);
}

// 1.36 has a word where 1.37 has a union.
struct DisruptionWord {
  std::string_view word, member;
};
constexpr DisruptionWord kDisruptionWords[] = {{"Pod", "single"}, {"PodGroup", "all"}};

void disruption_to_stored(Json& owner) {
  Json* mode = owner.is_object() ? owner.find("disruptionMode") : nullptr;
  if (!mode || !mode->is_string()) return;
  for (const DisruptionWord& row : kDisruptionWords)
    if (mode->as_string() == row.word)
      return void(*mode = Json::object({{std::string(row.member), Json::object()}}));
  // Validation refuses a union without a member.
  *mode = Json::object();
}
void disruption_to_served(Json& owner) {
  Json* mode = owner.is_object() ? owner.find("disruptionMode") : nullptr;
  if (!mode) return;
  for (const DisruptionWord& row : kDisruptionWords)
    if (mode->find(row.member)) return void(*mode = row.word);
  owner.as_object().erase("disruptionMode");
}

// The condition of a group whose pods were placed.
constexpr std::string_view kScheduledIn136 = "PodGroupScheduled";
constexpr std::string_view kScheduledIn137 = "PodGroupInitiallyScheduled";
void rename_condition(Json& group, std::string_view from, std::string_view to) {
  if (JsonArray* conditions = array_at(group, {"status", "conditions"}))
    for (Json& condition : *conditions)
      if (condition.string_at("type") == from) condition["type"] = to;
}

// v1alpha2 names the template of a group in a union of one member.
void group_to_stored(Json& group) {
  rename_condition(group, kScheduledIn136, kScheduledIn137);
  Json* spec = group.find("spec");
  if (!spec || !spec->is_object()) return;
  disruption_to_stored(*spec);
  const Json named = spec->part("podGroupTemplateRef").part("workload");
  spec->as_object().erase("podGroupTemplateRef");
  if (named.is_object())
    (*spec)["workloadRef"] = Json::object(
        {{"workloadName", named.part("workloadName")}, {"templateName", named.part("podGroupTemplateName")}});
}
void group_to_served(Json& group) {
  rename_condition(group, kScheduledIn137, kScheduledIn136);
  Json* spec = group.find("spec");
  if (!spec || !spec->is_object()) return;
  disruption_to_served(*spec);
  const Json named = spec->part("workloadRef");
  spec->as_object().erase("workloadRef");
  if (named.is_object())
    (*spec)["podGroupTemplateRef"] =
        Json::object({{"workload", Json::object({{"workloadName", named.part("workloadName")},
                                                 {"podGroupTemplateName", named.part("templateName")}})}});
}

void workload_to_stored(Json& workload) {
  if (JsonArray* templates = array_at(workload, {"spec", "podGroupTemplates"}))
    for (Json& one : *templates) disruption_to_stored(one);
}
void workload_to_served(Json& workload) {
  if (JsonArray* templates = array_at(workload, {"spec", "podGroupTemplates"}))
    for (Json& one : *templates) disruption_to_served(one);
}

struct Conversion {
  std::string_view group, version, resource;
  void (*to_stored)(Json&);
  void (*to_served)(Json&);
};

// Every version whose shape differs from the stored one.
constexpr Conversion kConversions[] = {
    {"autoscaling", "v1", "horizontalpodautoscalers", autoscaler_to_stored, autoscaler_to_served},
    {"events.k8s.io", "v1", "events", event_to_stored, event_to_served},
    {"resource.k8s.io", "v1beta1", "resourceslices", slice_to_stored, slice_to_served},
    {"resource.k8s.io", "v1beta1", "resourceclaims", claim_to_stored, claim_to_served},
    {"resource.k8s.io", "v1beta1", "resourceclaimtemplates", template_to_stored, template_to_served},
    {"scheduling.k8s.io", "v1alpha2", "podgroups", group_to_stored, group_to_served},
    {"scheduling.k8s.io", "v1alpha2", "workloads", workload_to_stored, workload_to_served},
};

// An empty resource means every one of the version; the first row that fits counts. Without `since` nothing
// is deprecated yet.
struct Deprecation {
  std::string_view group, version, resource, since, gone;
  std::string_view instead = {};
};

constexpr Deprecation kDeprecations[] = {
    {"", "v1", "componentstatuses", "v1.19", ""},
    {"", "v1", "endpoints", "v1.33", "", "discovery.k8s.io/v1 EndpointSlice"},
    {"coordination.k8s.io", "v1alpha2", "", "v1.35", "v1.38"},
    {"coordination.k8s.io", "v1beta1", "", "v1.36", "v1.39"},
    {"resource.k8s.io", "v1beta1", "", "v1.35", "v1.38"},
    {"scheduling.k8s.io", "v1alpha2", "", "v1.36", "v1.37"},
    {"resource.k8s.io", "v1beta2", "devicetaintrules", "", ""},
    {"resource.k8s.io", "v1beta2", "", "v1.36", "v1.39"},
    {"resource.k8s.io", "v1alpha3", "devicetaintrules", "v1.36", "v1.39"},
};

const Conversion* conversion_of(const ResourceInfo& resource) {
  for (const Conversion& row : kConversions)
    if (row.group == resource.group && row.version == resource.version && row.resource == resource.plural)
      return &row;
  return nullptr;
}

// Canonical in the version of `resource`: members in order, zero values written like that version does.
Json canonical(const ResourceInfo& resource, Json document) {
  document["kind"] = resource.kind;
  document["apiVersion"] = api_version_of(resource);
  Json kept = document;
  Result<Decoded> decoded = decode_document(resource.type(), std::move(document));
  return decoded ? std::move(decoded->document) : kept;
}

}  // namespace

bool needs_conversion(const ResourceInfo& resource) {
  return conversion_of(resource) != nullptr;
}

namespace {

// Both members stand first, also where the body lacked one: answers are written behind a head of their own.
void set_type(Json& document, std::string_view kind, const std::string& version) {
  const bool stand = document.find("kind") && document.find("apiVersion");
  if (!stand && document.is_object()) {
    JsonObject typed;
    typed.append("kind", kind);
    typed.append("apiVersion", version);
    for (JsonMember& member : document.as_object())
      if (member.key != "kind" && member.key != "apiVersion")
        typed.append(std::move(member.key), std::move(member.value));
    document = Json(std::move(typed));
    return;
  }
  document["kind"] = kind;
  document["apiVersion"] = version;
}

}  // namespace

Json to_stored_shape(const ResourceInfo& resource, Json document) {
  const ResourceInfo& stored = storage_of(resource);
  if (const Conversion* conversion = conversion_of(resource)) {
    conversion->to_stored(document);
    return canonical(stored, std::move(document));
  }
  set_type(document, stored.kind, api_version_of(stored));
  return document;
}

bool is_in_served_shape(const ResourceInfo& resource, const Json& document) {
  return !conversion_of(resource) && document.string_at("kind") == resource.kind &&
         document.string_at("apiVersion") == api_version_of(resource);
}

Json to_served_shape(const ResourceInfo& resource, Json document) {
  if (const Conversion* conversion = conversion_of(resource)) {
    conversion->to_served(document);
    return canonical(resource, std::move(document));
  }
  set_type(document, resource.kind, api_version_of(resource));
  return document;
}

std::optional<std::string> deprecation_of(const ResourceInfo& resource) {
  if (resource.custom) {
    const std::string_view warning = resource.custom->deprecation_warning();
    return warning.empty() ? std::nullopt : std::optional<std::string>(warning);
  }
  for (const Deprecation& row : kDeprecations) {
    const bool meant = row.resource.empty() || row.resource == resource.plural;
    if (!meant || row.group != resource.group || row.version != resource.version) continue;
    if (row.since.empty()) return std::nullopt;
    std::string text = api_version_of(resource);
    text.append(" ").append(resource.kind).append(" is deprecated in ").append(row.since).append("+");
    if (!row.gone.empty()) text.append(", unavailable in ").append(row.gone).append("+");
    if (!row.instead.empty()) text.append("; use ").append(row.instead);
    return text;
  }
  return std::nullopt;
}

}  // namespace berth::api
