#include "install/crd_parts.h"

#include "base/assert.h"
#include "install/crd_schema.h"

namespace berth::install {
namespace {

constexpr std::string_view kLabelPattern = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
constexpr std::int64_t kLabelLengthMax = 63;
constexpr std::int64_t kSubdomainLengthMax = 253;

constexpr std::int64_t kQualifiedLengthMax = kSubdomainLengthMax + 1 + kLabelLengthMax;
constexpr std::string_view kQualifiedPattern =
    "(([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?"
    "[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)";

constexpr std::int64_t kDurationLengthMax = 32;
constexpr std::string_view kDurationPattern = "^(([0-9]+(\\.[0-9]*)?|\\.[0-9]+)(ns|us|ms|s|m|h))*$|^0$";

Json words_json(std::string_view words, Json list) {
  api::for_each_listed(words, [&](std::string_view word) { list.as_array().emplace_back(word); });
  return list;
}

void narrow_one(Json& schema, const Bound& bound) {
  switch (bound.limit) {
    case Limit::Subdomain:
      schema["minLength"] = 1;
      schema["maxLength"] = kSubdomainLengthMax;
      schema["pattern"] = "^" + std::string(kLabelPattern) + "(\\." + std::string(kLabelPattern) + ")*$";
      return;
    case Limit::Label:
      schema["minLength"] = 1;
      schema["maxLength"] = kLabelLengthMax;
      schema["pattern"] = "^" + std::string(kLabelPattern) + "$";
      return;
    case Limit::Text:
      schema["minLength"] = 1;
      schema["maxLength"] = bound.most;
      return;
    case Limit::LengthMax:
      schema["maxLength"] = bound.most;
      return;
    case Limit::ItemsMax:
      schema["maxItems"] = bound.most;
      return;
    case Limit::NotNegative:
      schema["minimum"] = 0;
      return;
    case Limit::Positive:
      schema["minimum"] = 1;
      return;
    case Limit::OneOf:
      schema["enum"] = words_json(bound.words, Json::array({}));
      return;
    case Limit::OneOfOrNone:
      schema["enum"] = words_json(bound.words, Json::array({""}));
      return;
    case Limit::Duration:
      schema["maxLength"] = kDurationLengthMax;
      schema["pattern"] = kDurationPattern;
      return;
    case Limit::QualifiedName:
      schema["maxLength"] = kQualifiedLengthMax;
      schema["pattern"] = "^" + std::string(kQualifiedPattern) + "$";
      return;
    case Limit::QualifiedNameOrNone:
      schema["maxLength"] = kQualifiedLengthMax;
      schema["pattern"] = "^" + std::string(kQualifiedPattern) + "?$";
      return;
    case Limit::Pattern:
      schema["maxLength"] = bound.most;
      schema["pattern"] = bound.words;
      return;
  }
}

Json columns_json(std::span<const PrinterColumn> all) {
  Json columns = Json::array();
  for (const PrinterColumn& column : all) {
    Json json = Json::object({{"name", column.name}, {"type", column.type}, {"jsonPath", column.path}});
    if (column.priority != 0) json["priority"] = column.priority;
    columns.as_array().push_back(std::move(json));
  }
  return columns;
}

Json names_json(const api::ResourceInfo& resource) {
  Json short_names = Json::array();
  api::for_each_listed(resource.short_names,
                       [&](std::string_view name) { short_names.as_array().emplace_back(name); });
  return Json::object({{"kind", resource.kind},
                       {"listKind", std::string(resource.kind) + "List"},
                       {"plural", resource.plural},
                       {"singular", resource.singular},
                       {"shortNames", std::move(short_names)}});
}

}  // namespace

Json& schema_of_path(Json& root, std::string_view path) {
  Json* at = &root;
  while (!path.empty()) {
    const std::size_t dot = path.find('.');
    const std::string_view step = path.substr(0, dot);
    at = step == "[]" ? at->find("items") : (*at)["properties"].find(step);
    BERTH_ASSERT(at, "a bound names a member of the type");
    path = dot == std::string_view::npos ? std::string_view() : path.substr(dot + 1);
  }
  return *at;
}

void narrow(Json& schema, std::span<const Bound> bounds) {
  for (const Bound& bound : bounds) narrow_one(schema_of_path(schema, bound.path), bound);
}

Json cel_rule(std::string rule, std::string_view message, std::string_view path) {
  return Json::object({{"rule", std::move(rule)}, {"message", message}, {"fieldPath", path}});
}

// The CEL text for an optional member, with a size that the API server can bound: optionals have none.
std::string member_or(std::string_view owner, std::string_view name, std::string_view otherwise) {
  const std::string member = std::string(owner) + "." + std::string(name);
  return "(has(" + member + ") ? " + member + " : " + std::string(otherwise) + ")";
}

const api::TypeInfo& own_type(std::string_view name) {
  const api::TypeInfo* type = api::find_type(api::kBerthGroup, kCrdVersion, name);
  BERTH_ASSERT(type, "the type table has Berth's kinds");
  return *type;
}

Json definition_object(Definition definition) {
  const api::ResourceInfo* resource = api::find_resource(api::kBerthGroup, kCrdVersion, definition.plural);
  BERTH_ASSERT(resource, "the type table serves Berth's kinds");
  Json version = Json::object({{"name", kCrdVersion}, {"served", true}, {"storage", true}});
  bool has_status = false;
  api::for_each_listed(resource->subresources,
                       [&](std::string_view name) { has_status |= name == "status"; });
  if (has_status) version["subresources"] = Json::object({{"status", Json::object()}});
  version["additionalPrinterColumns"] = columns_json(definition.columns);
  if (!definition.selectable_fields.is_null())
    version["selectableFields"] = std::move(definition.selectable_fields);
  version["schema"] = Json::object({{"openAPIV3Schema", std::move(definition.schema)}});
  const std::string name = std::string(definition.plural) + "." + std::string(api::kBerthGroup);
  return Json::object({{"apiVersion", "apiextensions.k8s.io/v1"},
                       {"kind", "CustomResourceDefinition"},
                       {"metadata", Json::object({{"name", name}})},
                       {"spec", Json::object({{"group", api::kBerthGroup},
                                              {"scope", resource->namespaced ? "Namespaced" : "Cluster"},
                                              {"names", names_json(*resource)},
                                              {"versions", Json::array({std::move(version)})}})}});
}

}  // namespace berth::install
