#include "crd/served_version.h"

#include <algorithm>
#include <charconv>
#include <tuple>

#include "crd/rules.h"

namespace berth::crd {
namespace {

constexpr std::string_view kVerbs = "delete,deletecollection,get,list,patch,create,update,watch";

std::string joined(const JsonArray& items) {
  std::string text;
  for (const Json& item : items)
    if (item.is_string()) text.append(text.empty() ? "" : ",").append(item.as_string());
  return text;
}

std::vector<Column> columns_of(const Json& version) {
  std::vector<Column> columns;
  for (const Json& json : version.items_at("additionalPrinterColumns")) {
    // A path that cannot be followed leads nowhere: its cells are empty.
    Result<JsonPath> path = JsonPath::parse(json.string_at("jsonPath"));
    columns.push_back({std::string(json.string_at("name")), std::string(json.string_at("type")),
                       std::string(json.string_at("format")), std::string(json.string_at("description")),
                       static_cast<int>(json.int_at("priority")), path ? *std::move(path) : JsonPath()});
    if (columns.back().description.empty())
      columns.back().description = "Custom resource definition column (in JSONPath format): " +
                                   std::string(json.string_at("jsonPath"));
  }
  if (!columns.empty()) return columns;
  columns.push_back(
      {"Age", "date", "",
       "CreationTimestamp is a timestamp representing the server time when this object was created. "
       "It is not guaranteed to be set in happens-before order across separate operations.",
       0, JsonPath::parse(".metadata.creationTimestamp").value_or(JsonPath())});
  return columns;
}

std::optional<ScalePaths> scale_of(const Json& subresources) {
  const Json* scale = subresources.find("scale");
  if (!scale || !scale->is_object()) return std::nullopt;
  ScalePaths paths{member_path(scale->string_at("specReplicasPath")),
                   member_path(scale->string_at("statusReplicasPath")), std::nullopt};
  if (const std::string_view selector = scale->string_at("labelSelectorPath"); !selector.empty())
    paths.selector = member_path(selector);
  return paths;
}

std::vector<SelectableField> selectable_of(const Json& version) {
  std::vector<SelectableField> fields;
  for (const Json& json : version.items_at("selectableFields")) {
    MemberPath path = member_path(json.string_at("jsonPath"));
    std::string_view name = json.string_at("jsonPath");
    if (name.starts_with('.')) name.remove_prefix(1);
    fields.push_back({std::string(name), std::move(path.members)});
  }
  return fields;
}

std::shared_ptr<const ServedVersion> read_version(const Definition& definition, const Json& json,
                                                  DefinitionBudget& budget) {
  auto version = std::make_shared<ServedVersion>();
  version->definition = &definition;
  version->name = json.string_at("name");
  if (json.bool_at("deprecated")) {
    version->deprecation = json.string_at("deprecationWarning");
    if (version->deprecation.empty())
      version->deprecation =
          definition.group + "/" + version->name + " " + definition.kind + " is deprecated";
  }
  version->open_api = json.part("schema").part("openAPIV3Schema");
  version->open_api_bytes = to_string(version->open_api).size();
  version->schema = read_schema(version->open_api, budget.compiled);
  const Json& subresources = json.part("subresources");
  version->has_status = subresources.find("status") != nullptr;
  version->scale = scale_of(subresources);
  if (version->has_status) version->subresources = "status";
  if (version->scale) version->subresources += version->has_status ? ",scale" : "scale";
  version->columns = columns_of(json);
  version->selectable = selectable_of(json);
  version->rules = compile_rules(version->schema, budget);
  version->row = {definition.group,       version->name,
                  definition.plural,      definition.singular,
                  definition.kind,        definition.namespaced,
                  definition.short_names, definition.categories,
                  version->subresources,  kVerbs,
                  version.get()};
  return version;
}

// v2 before v1, v1 before v1beta1, those before any other word.
struct VersionRank {
  int stability = 0;  // 3 stable, 2 beta, 1 alpha, 0 any other word
  int major = 0, minor = 0;
};

VersionRank rank_of(std::string_view name) {
  VersionRank rank;
  const char* at = name.data();
  const char* end = at + name.size();
  if (at == end || *at != 'v') return rank;
  const auto major = std::from_chars(at + 1, end, rank.major);
  if (major.ec != std::errc()) return {};
  std::string_view rest(major.ptr, static_cast<std::size_t>(end - major.ptr));
  if (rest.empty()) return {3, rank.major, 0};
  const bool beta = rest.starts_with("beta");
  if (!beta && !rest.starts_with("alpha")) return {};
  rest.remove_prefix(beta ? 4 : 5);
  const auto minor = std::from_chars(rest.data(), rest.data() + rest.size(), rank.minor);
  if (minor.ec != std::errc() || minor.ptr != rest.data() + rest.size()) return {};
  rank.stability = beta ? 2 : 1;
  return rank;
}

}  // namespace

const api::ResourceInfo& ServedVersion::storage_row() const {
  return definition->storage->row;
}

std::string_view ServedVersion::list_kind() const {
  return definition->list_kind;
}

const ServedVersion* find_version(const Definition& definition, std::string_view api_version) {
  const std::string_view name = api_version.substr(api_version.find('/') + 1);
  if (definition.storage && definition.storage->name == name) return definition.storage.get();
  for (const auto* versions : {&definition.versions, &definition.retired})
    for (const auto& version : *versions)
      if (version->name == name) return version.get();
  return nullptr;
}

bool is_same_resource(const Definition& a, const Definition& b) {
  return &a == &b || (a.uid == b.uid && a.accepted == b.accepted && a.spec == b.spec);
}

bool comes_before(std::string_view a, std::string_view b) {
  const VersionRank left = rank_of(a), right = rank_of(b);
  const auto key = [](const VersionRank& rank) { return std::tie(rank.stability, rank.major, rank.minor); };
  if (key(left) != key(right)) return key(left) > key(right);
  return a < b;
}

MemberPath member_path(std::string_view text) {
  MemberPath path{{}, std::string(text)};
  if (text.starts_with('.')) text.remove_prefix(1);
  while (!text.empty()) {
    const std::size_t dot = text.find('.');
    path.members.emplace_back(text.substr(0, dot));
    text = dot == std::string_view::npos ? std::string_view() : text.substr(dot + 1);
  }
  return path;
}

const Json* value_at(const Json& object, const std::vector<std::string>& members) {
  const Json* at = &object;
  for (const std::string& name : members) {
    at = at->find(name);
    if (!at) return nullptr;
  }
  return at;
}

std::shared_ptr<const Definition> read_definition(const Json& crd, const Json& accepted) {
  auto definition = std::make_shared<Definition>();
  const Json &spec = crd.part("spec"), &metadata = crd.part("metadata");
  definition->name = metadata.string_at("name");
  definition->uid = metadata.string_at("uid");
  definition->generation = metadata.int_at("generation");
  definition->group = spec.string_at("group");
  definition->plural = accepted.string_at("plural");
  definition->singular = accepted.string_at("singular");
  definition->kind = accepted.string_at("kind");
  definition->list_kind = accepted.string_at("listKind");
  definition->short_names = joined(accepted.items_at("shortNames"));
  definition->categories = joined(accepted.items_at("categories"));
  definition->accepted = accepted;
  definition->spec = spec;
  definition->namespaced = spec.string_at("scope") == "Namespaced";
  definition->terminating = !metadata.string_at("deletionTimestamp").empty();
  const Json& conversion = spec.part("conversion");
  if (conversion.string_at("strategy") == "Webhook")
    definition->webhook = read_conversion_webhook(conversion);
  DefinitionBudget budget;
  definition->has_other_shapes = definition->generation > 1 || spec.items_at("versions").size() > 1;
  for (const Json& version : spec.items_at("versions")) {
    const bool served = version.bool_at("served"), storage = version.bool_at("storage");
    std::shared_ptr<const ServedVersion> made = read_version(*definition, version, budget);
    if (storage) definition->storage = made;
    if (!served && !storage) definition->retired.push_back(made);
    if (served) definition->versions.push_back(std::move(made));
  }
  std::sort(definition->versions.begin(), definition->versions.end(),
            [](const auto& a, const auto& b) { return comes_before(a->name, b->name); });
  return definition;
}

}  // namespace berth::crd
