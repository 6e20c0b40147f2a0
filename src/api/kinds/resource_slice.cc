#include "api/kinds/resource_slice.h"

#include <algorithm>
#include <optional>

#include "api/kinds/resource_parts.h"
#include "base/quantity.h"
#include "base/semver.h"

namespace berth::api {
namespace {

constexpr std::size_t kDevicesMax = 128;
constexpr std::size_t kDetailedDevicesMax = 64;  // with taints, counters or list attributes
constexpr std::size_t kAttributesAndCapacitiesMax = 32;
constexpr std::size_t kAttributeValuesMax = 48;
constexpr std::size_t kAttributeBytesMax = 64;
constexpr std::size_t kTaintsMax = 16;
constexpr std::size_t kConsumedSetsMax = 2;
constexpr std::size_t kCompatibilityGroupsMax = 2;
constexpr std::size_t kCountersMax = 32;
constexpr std::size_t kSharedSetsMax = 8;

constexpr std::string_view kNodeFields[] = {"nodeName", "nodeSelector", "allNodes", "perDeviceNodeSelection"};
constexpr std::string_view kListAttributes[] = {"ints", "bools", "strings", "versions"};

// A slice under validation. `old_spec` is null for a create.
struct Offer {
  const Json& spec;
  const Json* old_spec;
  const RuleContext& ctx;

  // Whether the body has the list without items.
  bool names_empty(std::string_view path) const {
    return std::find(ctx.empty_lists.begin(), ctx.empty_lists.end(), path) != ctx.empty_lists.end();
  }
};

// The fields among nodeName, nodeSelector, allNodes, perDeviceNodeSelection that are set; reports empty ones.
std::string check_node_fields(const FieldPath& path, const Json& owner, int& count, FieldErrors& errors) {
  std::string set;
  for (std::string_view name : kNodeFields) {
    const Json* field = present(owner, name);
    if (!field) continue;
    if (field->is_string() && field->as_string().empty()) {
      errors.push_back(invalid(path.child(name), "", "must be either unset or set to a non-empty string"));
      continue;
    }
    if (field->is_bool() && !field->as_bool()) {
      errors.push_back(invalid(path.child(name), false, "must be either unset or set to true"));
      continue;
    }
    set.append(set.empty() ? "`" : ", `").append(name).append("`");
    ++count;
    if (field->is_string())
      append(errors, check_format(path.child(name), field->as_string(), dns_subdomain_problems));
    if (field->is_object()) append(errors, check_node_selector(path.child(name), *field));
  }
  return "{" + set + "}";
}

FieldErrors check_one_node_field(const FieldPath& path, const Json& spec) {
  constexpr std::string_view kText =
      "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required";
  FieldErrors errors;
  int count = 0;
  const std::string set = check_node_fields(path, spec, count, errors);
  if (const Json* selector = present(spec, "nodeSelector"))
    if (const JsonArray& terms = items(selector, "nodeSelectorTerms"); terms.size() > 1)
      errors.push_back(invalid(path.child("nodeSelector").child("nodeSelectorTerms"),
                               go_form_of_list(terms, table_type("", "v1", "NodeSelectorTerm")),
                               "must have exactly one node selector term"));
  if (count == 0) errors.push_back(required(path, kText));
  if (count > 1) errors.push_back(invalid(path, set, std::string(kText) + ", but multiple fields are set"));
  return errors;
}

FieldErrors check_device_node(const FieldPath& path, const Json& device, bool per_device) {
  constexpr std::string_view kText =
      "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` is "
      "set to "
      "true in the ResourceSlice spec";
  FieldErrors errors;
  int count = 0;
  const std::string set = check_node_fields(path, device, count, errors);
  if (!per_device) {
    if (count == 0) return errors;
    errors.push_back(
        invalid(path, nullptr,
                "`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` "
                "is set to true in the ResourceSlice spec"));
    return errors;
  }
  if (count == 0) errors.push_back(required(path, kText));
  if (count > 1) errors.push_back(invalid(path, set, kText));
  return errors;
}

FieldErrors check_text(const std::string& path, const Json& text) {
  if (text.as_string().size() > kAttributeBytesMax) return {too_long(path, kAttributeBytesMax)};
  return {};
}

FieldErrors check_version(const std::string& path, const Json& version) {
  FieldErrors errors;
  if (!parse_semver(version.as_string()))
    errors.push_back(invalid(path, version, "must be a string compatible with semver.org spec 2.0.0"));
  append(errors, check_text(path, version));
  return errors;
}

void check_attribute(const FieldPath& path, const Json& attribute, Findings& findings) {
  if (const Json* text = present(attribute, "string"))
    append(findings.by_hand, check_text(path.child("string"), *text));
  if (const Json* version = present(attribute, "version"))
    append(findings.by_hand, check_version(path.child("version"), *version));
  const JsonArray& texts = items(&attribute, "strings");
  for (std::size_t i = 0; i < texts.size(); ++i)
    append(findings.by_hand, check_text(path.child("strings").index(i), texts[i]));
  const JsonArray& versions = items(&attribute, "versions");
  for (std::size_t i = 0; i < versions.size(); ++i)
    append(findings.by_hand, check_version(path.child("versions").index(i), versions[i]));
  append(findings.declared,
         check_union(path, attribute,
                     {"int", "bool", "string", "version", "ints", "bools", "strings", "versions"}));
}

void check_attributes_and_capacity(const FieldPath& path, const Json& device, const Json* old,
                                   const Offer& offer, Findings& findings) {
  const FieldPath attributes_path = path.child("attributes");
  std::size_t values = 0;
  for (const JsonMember& attribute : entries(present(device, "attributes"))) {
    append(findings.by_hand, check_qualified_name(attributes_path, attribute.key));
    const FieldPath at = attributes_path.key(attribute.key);
    for (std::string_view list : kListAttributes)
      if (!offer.ctx.empty_lists.empty() &&
          offer.names_empty(attributes_path.child(attribute.key).child(list).text()))
        findings.by_hand.push_back(invalid(at.child(list), Json::array(), "must not be empty if specified"));
    check_attribute(at, attribute.value, findings);
    for (const JsonMember& value : entries(&attribute.value))
      values += value.value.is_array() ? value.value.as_array().size() : 1;
  }
  const JsonObject& capacities = entries(present(device, "capacity"));
  const FieldPath capacity_path = path.child("capacity");
  const bool unchanged =
      old && same(present(*old, "capacity"), present(device, "capacity")) &&
      old->bool_at("allowMultipleAllocations") == device.bool_at("allowMultipleAllocations");
  for (const JsonMember& capacity : capacities) {
    if (unchanged) break;
    append(findings.by_hand, check_qualified_name(capacity_path, capacity.key));
    if (!present(capacity.value, "requestPolicy")) continue;
    const FieldPath at = capacity_path.key(capacity.key);
    if (device.bool_at("allowMultipleAllocations"))
      append(findings.by_hand, check_request_policy(at, capacity.value, offer.ctx.gates));
    else
      findings.by_hand.push_back(
          forbidden(at.child("requestPolicy"), "allowMultipleAllocations must be true"));
  }
  const std::size_t count = entries(present(device, "attributes")).size() + capacities.size();
  if (count > kAttributesAndCapacitiesMax)
    findings.by_hand.push_back(invalid(path, static_cast<std::int64_t>(count),
                                       "the total number of attributes and capacities must not exceed 32"));
  if (values > kAttributeValuesMax)
    findings.by_hand.push_back(invalid(path, static_cast<std::int64_t>(values),
                                       "the total number of attribute values must not exceed 48"));
}

FieldErrors check_counters(const FieldPath& path, const Json* counters) {
  const JsonObject& map = entries(counters);
  if (map.empty()) return {required(path)};
  FieldErrors errors = check_count(path, map.size(), kCountersMax);
  if (!errors.empty()) return errors;
  for (const JsonMember& counter : map) append(errors, check_format(path, counter.key, dns_label_problems));
  return errors;
}

void check_groups(const FieldPath& path, const JsonArray& groups, FieldErrors& errors) {
  if (groups.size() > kCompatibilityGroupsMax)
    return append(errors, check_count(path, groups.size(), kCompatibilityGroupsMax));
  for (std::size_t i = 0; i < groups.size(); ++i) {
    append(errors, check_format(path.index(i), groups[i].as_string(), dns_label_problems));
    if (std::find(groups.begin(), groups.end(), groups[i]) - groups.begin() < static_cast<std::ptrdiff_t>(i))
      errors.push_back(duplicate(path.index(i), groups[i]));
  }
}

void check_consumption(const FieldPath& path, const JsonArray& consumed, Findings& findings) {
  append(findings.by_hand, check_count(path, consumed.size(), kConsumedSetsMax));
  if (consumed.size() > kConsumedSetsMax) return;
  for (std::size_t i = 0; i < consumed.size(); ++i) {
    const FieldPath at = path.index(i);
    const std::string_view name = text_at(consumed[i], "counterSet");
    append(findings.by_hand, check_required(at.child("counterSet"), name, dns_label_problems));
    append(findings.by_hand, check_counters(at.child("counters"), present(consumed[i], "counters")));
    if (item_named(consumed, "counterSet", name) != &consumed[i])
      findings.declared.push_back(duplicate(at, consumed[i]));
    check_groups(at.child("compatibilityGroups"), items(&consumed[i], "compatibilityGroups"),
                 findings.declared);
  }
}

void check_taints(const FieldPath& path, const Json& device, const Json* old, Findings& findings) {
  const JsonArray& taints = items(&device, "taints");
  if (old && same(present(*old, "taints"), present(device, "taints"))) return;
  append(findings.by_hand, check_count(path, taints.size(), kTaintsMax));
  if (taints.size() > kTaintsMax) return;
  for (std::size_t i = 0; i < taints.size(); ++i)
    check_taint(path.index(i), taints[i], item_named(items(old, "taints"), "key", text_at(taints[i], "key")),
                findings);
}

std::optional<Quantity> amount_at(const Json& object, std::string_view key) {
  const Json* member = present(object, key);
  if (!member || !member->is_string()) return std::nullopt;
  const Result<Quantity> quantity = parse_quantity(member->as_string());
  return quantity ? std::optional(*quantity) : std::nullopt;
}

FieldErrors check_mapping(const FieldPath& path, const Json& mapping, const JsonObject& capacities) {
  FieldErrors errors;
  const auto check_positive = [&](std::string_view key) {
    if (const auto amount = amount_at(mapping, key); amount && *amount <= Quantity())
      errors.push_back(invalid(path.child(key), amount->text(), "must be positive"));
  };
  const Json* key = present(mapping, "capacityKey");
  if (key && key->as_string().empty())
    errors.push_back(invalid(path.child("capacityKey"), "", "capacityKey must not be an empty string"));
  else if (key && !capacities.find(key->as_string()))
    errors.push_back(not_found(path.child("capacityKey"), *key));
  const bool multiplied = present(mapping, "capacityMultiplier") != nullptr;
  if (key && !multiplied)
    errors.push_back(
        required(path.child("capacityMultiplier"), "capacityMultiplier is required when capacityKey is set"));
  if (key) check_positive("capacityMultiplier");
  check_positive("deviceMultiplier");
  if (multiplied && !key)
    errors.push_back(
        required(path.child("capacityKey"), "capacityKey is required when capacityMultiplier is set"));
  append(errors, check_union(path, mapping, {"capacityKey", "deviceMultiplier"}));
  return errors;
}

FieldErrors check_overhead(const FieldPath& path, const Json& overhead) {
  if (!present(overhead, "perPod") && !present(overhead, "perContainer"))
    return {invalid(path, "", "at least one of perPod or perContainer must be set")};
  FieldErrors errors;
  for (std::string_view key : {"perPod", "perContainer"})
    if (const auto amount = amount_at(overhead, key); amount && amount->is_negative())
      errors.push_back(invalid(path.child(key), amount->text(), "must be non-negative"));
  return errors;
}

// The resources that a node itself provides: cpu, memory, ephemeral-storage and huge pages.
bool is_of_node(std::string_view resource) {
  return resource == "cpu" || resource == "memory" || resource == "ephemeral-storage" ||
         resource.starts_with("hugepages-");
}

FieldErrors check_allocatable(const FieldPath& path, const Json& device) {
  FieldErrors errors;
  const JsonObject& capacities = entries(present(device, "capacity"));
  for (const JsonMember& resource : entries(present(device, "nodeAllocatableResources"))) {
    const FieldPath at = path.key(resource.key);
    if (!is_of_node(resource.key))
      errors.push_back(invalid(at, resource.key, "must be a node allocatable resource name"));
    const Json* mapping = present(resource.value, "mapping");
    const Json* overhead = present(resource.value, "overhead");
    if (!mapping && !overhead)
      errors.push_back(required(at, "at least one of mapping or overhead must be set"));
    if (mapping) append(errors, check_mapping(at.child("mapping"), *mapping, capacities));
    if (overhead) append(errors, check_overhead(at.child("overhead"), *overhead));
  }
  return errors;
}

void check_device(const FieldPath& path, const Json& device, const Json* old, const Offer& offer,
                  Findings& findings) {
  append(findings.by_hand, check_format(path.child("name"), text_at(device, "name"), dns_label_problems));
  check_attributes_and_capacity(path, device, old, offer, findings);
  check_taints(path.child("taints"), device, old, findings);
  check_consumption(path.child("consumesCounters"), items(&device, "consumesCounters"), findings);
  append(findings.by_hand, check_device_node(path, device, offer.spec.bool_at("perDeviceNodeSelection")));
  append(findings.by_hand, check_binding_conditions(path, device));
  append(findings.by_hand, check_allocatable(path.child("nodeAllocatableResources"), device));
}

bool is_detailed(const Json& device) {
  if (!items(&device, "taints").empty() || !items(&device, "consumesCounters").empty()) return true;
  for (const JsonMember& attribute : entries(present(device, "attributes")))
    for (std::string_view list : kListAttributes)
      if (present(attribute.value, list)) return true;
  return false;
}

void check_devices(const FieldPath& path, const Offer& offer, Findings& findings) {
  const JsonArray& devices = items(&offer.spec, "devices");
  const bool detailed = std::any_of(devices.begin(), devices.end(), is_detailed);
  const std::size_t devices_max = detailed ? kDetailedDevicesMax : kDevicesMax;
  append(findings.by_hand, check_count(path, devices.size(), devices_max));
  if (devices.size() > devices_max) return;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const std::string_view name = text_at(devices[i], "name");
    check_device(path.index(i), devices[i], item_named(items(offer.old_spec, "devices"), "name", name), offer,
                 findings);
    if (item_named(devices, "name", name) != &devices[i])
      findings.by_hand.push_back(duplicate(path.index(i), name));
  }
}

void check_shared_counters(const FieldPath& path, const JsonArray& sets, Findings& findings) {
  append(findings.by_hand, check_count(path, sets.size(), kSharedSetsMax));
  if (sets.size() > kSharedSetsMax) return;
  for (std::size_t i = 0; i < sets.size(); ++i) {
    const FieldPath at = path.index(i);
    const std::string_view name = text_at(sets[i], "name");
    append(findings.by_hand, check_required(at.child("name"), name, dns_label_problems));
    append(findings.by_hand, check_counters(at.child("counters"), present(sets[i], "counters")));
    if (item_named(sets, "name", name) != &sets[i]) findings.declared.push_back(duplicate(at, sets[i]));
  }
}

FieldErrors check_partition_type(const FieldPath& path, const Json& spec) {
  const std::string_view name = text_at(spec, "partitionTypeAttribute");
  if (name.empty()) return {};
  FieldErrors errors = check_full_name(path.child("partitionTypeAttribute"), name);
  const std::size_t slash = name.find('/');
  const bool own = slash != std::string_view::npos && name.substr(0, slash) == text_at(spec, "driver");
  const JsonArray& devices = items(&spec, "devices");
  bool any = false;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    if (items(&devices[i], "consumesCounters").empty()) continue;
    any = true;
    const Json* attributes = present(devices[i], "attributes");
    const Json* attribute = present(attributes, name);
    if (!attribute && own) attribute = present(attributes, name.substr(slash + 1));
    const std::string at = path.child("devices").index(i).child("attributes").key(name);
    if (!attribute)
      errors.push_back(required(
          at,
          "device consumes counters and `partitionTypeAttribute` names this attribute, so it must be set"));
    else if (!present(*attribute, "string"))
      errors.push_back(
          invalid(at, go_form(*attribute, resource_type("DeviceAttribute")),
                  "must be a string value because `partitionTypeAttribute` names this attribute"));
  }
  if (!any)
    errors.push_back(invalid(path.child("partitionTypeAttribute"), name,
                             "may only be set on a slice which declares devices that consume counters"));
  return errors;
}

FieldErrors check_pool(const FieldPath& path, const Json* pool) {
  static const Json kNone = Json::object();
  const Json& the_pool = pool ? *pool : kNone;
  FieldErrors errors = check_pool_name(path.child("name"), text_at(the_pool, "name"));
  if (const std::int64_t count = the_pool.int_at("resourceSliceCount"); count <= 0)
    errors.push_back(invalid(path.child("resourceSliceCount"), count, "must be greater than zero"));
  if (const std::int64_t generation = the_pool.int_at("generation"); generation < 0)
    errors.push_back(invalid(path.child("generation"), generation, "must be greater than or equal to zero"));
  return errors;
}

FieldErrors check_immutable(const FieldPath& path, const Json& spec, const Json& old_spec) {
  FieldErrors errors;
  const auto check = [&](const FieldPath& at, const Json* next, const Json* old) {
    if (!same(next, old)) errors.push_back(invalid(at, value_or_null(next), "field is immutable"));
  };
  check(path.child("driver"), present(spec, "driver"), present(old_spec, "driver"));
  check(path.child("pool").child("name"), present_at(spec, {"pool", "name"}),
        present_at(old_spec, {"pool", "name"}));
  check(path.child("nodeName"), present(spec, "nodeName"), present(old_spec, "nodeName"));
  return errors;
}

FieldErrors validate(const Json& slice, const Json* old, const RuleContext& ctx) {
  static const Json kNone = Json::object();
  const FieldPath path("spec");
  const Json* found = present(slice, "spec");
  const Json& spec = found ? *found : kNone;
  const Json* old_spec = old ? present(*old, "spec") : nullptr;
  const Offer offer{spec, old_spec, ctx};
  Findings findings;
  findings.by_hand = check_driver(path.child("driver"), text_at(spec, "driver"));
  append(findings.by_hand, check_pool(path.child("pool"), present(spec, "pool")));
  append(findings.by_hand, check_one_node_field(path, spec));
  const auto named = [&](std::string_view list) {
    return present(spec, list) || offer.names_empty(path.child(list).text());
  };
  if (named("devices") && named("sharedCounters"))
    findings.by_hand.push_back(invalid(path, "", "only one of `sharedCounters` or `devices` is allowed"));
  check_devices(path.child("devices"), offer, findings);
  check_shared_counters(path.child("sharedCounters"), items(&spec, "sharedCounters"), findings);
  append(findings.by_hand, check_partition_type(path, spec));
  append(findings.by_hand,
         check_skipped_operations(path.child("skipNodeOperations"), items(&spec, "skipNodeOperations")));
  if (old_spec) append(findings.by_hand, check_immutable(path, spec, *old_spec));
  return std::move(findings).all();
}

// Sets timeAdded of taints.
void stamp_taints(Json& slice, Time now) {
  Json* spec = present(slice, "spec");
  if (!spec) return;
  for (Json& device : items(*spec, "devices"))
    for (Json& taint : items(device, "taints"))
      if (!present(taint, "timeAdded"))
        put(taint, resource_type("DeviceTaint"), "timeAdded", format_time(now));
}

void prepare_create(Json& slice, const RuleContext& ctx) {
  drop_gated_fields(resource_type("ResourceSlice"), slice, nullptr, ctx.gates);
  stamp_taints(slice, ctx.now);
}

void prepare_update(Json& next, const Json& old, const RuleContext& ctx) {
  drop_gated_fields(resource_type("ResourceSlice"), next, &old, ctx.gates);
  stamp_taints(next, ctx.now);
}

std::vector<std::string> warnings(const Json& slice, const Json*, const RuleContext&) {
  const Json* driver = present_at(slice, {"spec", "driver"});
  if (!driver || std::none_of(driver->as_string().begin(), driver->as_string().end(),
                              [](char c) { return c >= 'A' && c <= 'Z'; }))
    return {};
  return {"spec.driver: driver names should be lowercase; " + to_string(*driver) +
          " contains uppercase characters"};
}

}  // namespace

KindRules resource_slice_rules() {
  KindRules rules;
  rules.group = "resource.k8s.io";
  rules.resource = "resourceslices";
  rules.has_generation = true;
  rules.answers_deleted_object = true;
  rules.prepare_create = prepare_create;
  rules.prepare_update = prepare_update;
  rules.validate_create = [](const Json& slice, const RuleContext& ctx) {
    return validate(slice, nullptr, ctx);
  };
  rules.validate_update = [](const Json& next, const Json& old, const RuleContext& ctx) {
    return validate(next, &old, ctx);
  };
  rules.warnings = warnings;
  return rules;
}

}  // namespace berth::api
