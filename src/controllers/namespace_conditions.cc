#include "controllers/namespace_conditions.h"
#include "api/serialized.h"

namespace berth::controllers {
namespace {

// What the conditions say when nothing is wrong.
struct NamespaceConditionRow {
  std::string_view type, reason, message;
};
constexpr NamespaceConditionRow kNamespaceConditions[] = {
    {"NamespaceDeletionDiscoveryFailure", "ResourcesDiscovered", "All resources successfully discovered"},
    {"NamespaceDeletionGroupVersionParsingFailure", "ParsedGroupVersions",
     "All legacy kube types successfully parsed"},
    {"NamespaceDeletionContentFailure", "ContentDeleted",
     "All content successfully deleted, may be waiting on finalization"},
    {"NamespaceContentRemaining", "ContentRemoved", "All content successfully removed"},
    {"NamespaceFinalizersRemaining", "ContentHasNoFinalizers", "All content-preserving finalizers finished"},
};

api::Condition wanted_condition(const NamespaceConditionRow& row, const NamespaceRemains& remains, Time now) {
  api::Condition condition{std::string(row.type),    "False", std::string(row.reason),
                           std::string(row.message), now,     0};
  const bool content = row.type == "NamespaceContentRemaining" && !remains.empty();
  const std::string finalizers = remains.finalizers_text();
  if (content) {
    condition.status = "True";
    condition.reason = "SomeResourcesRemain";
    condition.message = "Some resources are remaining: " + remains.resources_text();
  } else if (row.type == "NamespaceFinalizersRemaining" && !finalizers.empty()) {
    condition.status = "True";
    condition.reason = "SomeFinalizersRemain";
    condition.message = "Some content in the namespace has finalizers remaining: " + finalizers;
  }
  return condition;
}

std::string joined(const std::map<std::string, std::size_t>& counts, std::string_view between) {
  std::string text;
  for (const auto& [name, count] : counts) {
    if (!text.empty()) text += ", ";
    text.append(name).append(between).append(std::to_string(count)).append(" resource instances");
  }
  return text;
}

}  // namespace

void NamespaceRemains::add(const api::ResourceRef& resource, const api::ObjectMeta& meta) {
  ++resources_[resource.resource + "." + resource.group];
  for (const std::string& finalizer : meta.finalizers) ++finalizers_[finalizer];
}

std::string NamespaceRemains::resources_text() const {
  return joined(resources_, " has ");
}

std::string NamespaceRemains::finalizers_text() const {
  return joined(finalizers_, " in ");
}

Json namespace_conditions(const api::Namespace& ns, const NamespaceRemains& remains, Time now) {
  const Json document = api::parse_object(*ns.raw).value_or(Json::object());
  const std::vector<api::Condition> standing =
      api::decode_conditions(document.part("status").items_at("conditions"));
  JsonArray all;
  bool changed = false;
  for (const NamespaceConditionRow& row : kNamespaceConditions) {
    const api::Condition wanted = api::keeping_transition(standing, wanted_condition(row, remains, now));
    const api::Condition* before = api::find_condition(standing, wanted.type);
    changed |= !before || !(*before == wanted);
    all.push_back(api::to_json(wanted));
  }
  return changed ? Json(std::move(all)) : Json();
}

}  // namespace berth::controllers
