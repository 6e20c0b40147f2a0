#include "api/types/dra.h"

#include "api/protobuf_document.h"

namespace berth::api {
namespace {

template <class Document>
std::map<std::string, Quantity> counters_at(const Document& document, std::string_view key) {
  std::map<std::string, Quantity> counters;
  each_member_at(document, key, [&](std::string_view name, const Document& counter) {
    if (const auto value = quantity_at(counter, "value"))
      counters.insert_or_assign(std::string(name), *value);
  });
  return counters;
}

template <class Document>
std::map<std::string, Quantity> decode_quantities(const Document& document, std::string_view key) {
  std::map<std::string, Quantity> quantities;
  for (auto& [name, quantity] : resource_map_at(document, key)) quantities.emplace(name, quantity);
  return quantities;
}

// `kind`: the member of the attribute that has the list.
AttributeValue list_attribute(std::string_view kind, const Json& list) {
  const JsonArray& items = list.as_array();
  if (kind == "strings") return decode_strings(items);
  if (kind == "versions") {
    std::vector<AttributeVersion> versions;
    for (std::string& text : decode_strings(items)) versions.push_back({std::move(text)});
    return versions;
  }
  if (kind == "ints") {
    std::vector<std::int64_t> ints;
    for (const Json& item : items)
      if (item.is_int()) ints.push_back(item.as_int());
    return ints;
  }
  std::vector<bool> bools;
  for (const Json& item : items)
    if (item.is_bool()) bools.push_back(item.as_bool());
  return bools;
}

template <class Document>
AttributeValue attribute_of(const Document& document) {
  if (const auto value = find_int(document, "int")) return *value;
  if (const auto value = find_bool(document, "bool")) return *value;
  if (const auto value = find_string(document, "string")) return std::string(*value);
  if (const auto value = find_string(document, "version")) return AttributeVersion{std::string(*value)};
  for (const std::string_view kind : {"strings", "versions", "ints", "bools"})
    if (has_member(document, kind))
      if (const Json list = json_at(document, kind); list.is_array()) return list_attribute(kind, list);
  return std::monostate();
}

CapacityPolicy decode_policy(const Json& json) {
  CapacityPolicy policy;
  policy.default_value = decode_quantity(json, "default");
  for (const Json& item : json.items_at("validValues"))
    if (Result<Quantity> value = parse_quantity(item.is_string() ? item.as_string() : to_string(item)))
      policy.valid_values.push_back(*value);
  const Json& range = json.part("validRange");
  policy.range_min = decode_quantity(range, "min");
  policy.range_max = decode_quantity(range, "max");
  policy.range_step = decode_quantity(range, "step");
  return policy;
}

template <class Document>
DeviceCapacity capacity_of(const Document& document) {
  DeviceCapacity capacity;
  capacity.value = quantity_at(document, "value").value_or(Quantity());
  if (has_member(document, "requestPolicy"))
    capacity.policy = decode_policy(json_at(document, "requestPolicy"));
  return capacity;
}

template <class Document>
Device decode_device(const Document& document) {
  Device device;
  device.name = document.string_at("name");
  each_member_at(document, "attributes", [&](std::string_view name, const Document& attribute) {
    device.attributes.insert_or_assign(std::string(name), attribute_of(attribute));
  });
  each_member_at(document, "capacity", [&](std::string_view name, const Document& capacity) {
    device.capacity.insert_or_assign(std::string(name), capacity_of(capacity));
  });
  for (const Document& item : document.items_at("consumesCounters"))
    device.consumes.push_back({std::string(item.string_at("counterSet")), counters_at(item, "counters"),
                               strings_at(item, "compatibilityGroups")});
  device.node_name = document.string_at("nodeName");
  if (const auto selector = document.find("nodeSelector"))
    device.node_selector = decode_node_selector(*selector);
  device.all_nodes = document.bool_at("allNodes");
  for (const Document& item : document.items_at("taints")) device.taints.push_back(decode_taint(item));
  device.binds_to_node = document.bool_at("bindsToNode");
  device.binding_conditions = strings_at(document, "bindingConditions");
  device.binding_failure_conditions = strings_at(document, "bindingFailureConditions");
  device.allow_multiple = document.bool_at("allowMultipleAllocations");
  if (has_member(document, "nodeAllocatableResources"))
    device.node_allocatable =
        decode_node_allocatable_resources(json_at(document, "nodeAllocatableResources"));
  return device;
}

template <class Document>
void decode_slice_spec(const Document& spec, ResourceSlice& slice) {
  slice.driver = spec.string_at("driver");
  if (const auto pool = spec.find("pool")) {
    slice.pool = pool->string_at("name");
    slice.generation = pool->int_at("generation");
    slice.slice_count = pool->int_at("resourceSliceCount");
  }
  slice.node_name = spec.string_at("nodeName");
  if (const auto selector = spec.find("nodeSelector")) slice.node_selector = decode_node_selector(*selector);
  slice.all_nodes = spec.bool_at("allNodes");
  slice.per_device_node_selection = spec.bool_at("perDeviceNodeSelection");
  const auto& devices = spec.items_at("devices");
  slice.devices.reserve(devices.size());
  for (const Document& item : devices) slice.devices.push_back(decode_device(item));
  for (const Document& item : spec.items_at("sharedCounters"))
    slice.shared_counters.push_back({std::string(item.string_at("name")), counters_at(item, "counters")});
  slice.skip_node_operations = strings_at(spec, "skipNodeOperations");
}

template <class Document>
ResourceSlice slice_of_document(const Document& object, RawPtr raw) {
  ResourceSlice slice = begin_decoded<ResourceSlice>(object, std::move(raw));
  if (const auto spec = object.find("spec")) decode_slice_spec(*spec, slice);
  return slice;
}

template <class Document>
std::vector<std::string> decode_selectors(const std::vector<Document>& items) {
  std::vector<std::string> selectors;
  for (const Document& item : items) {
    const auto cel = item.find("cel");
    selectors.emplace_back(cel ? cel->string_at("expression") : std::string_view());
  }
  return selectors;
}

template <class Document>
DeviceSubRequest decode_sub_request(const Document& document, std::string_view name) {
  DeviceSubRequest request;
  request.name = name;
  request.device_class = document.string_at("deviceClassName");
  request.selectors = decode_selectors(document.items_at("selectors"));
  const bool all = document.string_at("allocationMode") == "All";
  request.mode = all ? AllocationMode::All : AllocationMode::ExactCount;
  request.count = document.int_at("count", 1);
  request.admin_access = document.bool_at("adminAccess");
  for (const Document& item : document.items_at("tolerations"))
    request.tolerations.push_back(decode_toleration(item));
  if (const auto capacity = document.find("capacity"))
    request.capacity = decode_quantities(*capacity, "requests");
  for (const Document& item : document.items_at("derivedAttributes"))
    request.derived_attributes.emplace_back(item.string_at("name"), item.string_at("expression"));
  return request;
}

template <class Document>
DeviceRequest decode_request(const Document& document) {
  DeviceRequest request;
  request.name = document.string_at("name");
  if (const auto exactly = document.find("exactly")) {
    request.alternatives.push_back(decode_sub_request(*exactly, request.name));
    return request;
  }
  request.prioritized = true;
  for (const Document& item : document.items_at("firstAvailable"))
    request.alternatives.push_back(decode_sub_request(item, item.string_at("name")));
  return request;
}

template <class Document>
DeviceResult decode_result(const Document& document) {
  DeviceResult result;
  result.request = document.string_at("request");
  result.driver = document.string_at("driver");
  result.pool = document.string_at("pool");
  result.device = document.string_at("device");
  result.admin_access = document.bool_at("adminAccess");
  for (const Document& item : document.items_at("tolerations"))
    result.tolerations.push_back(decode_toleration(item));
  result.binding_conditions = strings_at(document, "bindingConditions");
  result.binding_failure_conditions = strings_at(document, "bindingFailureConditions");
  result.share_id = document.string_at("shareID");
  result.consumed_capacity = decode_quantities(document, "consumedCapacity");
  result.skip_node_operations = strings_at(document, "skipNodeOperations");
  const auto& groups = json_at(document, "compatibilityGroups");
  if (groups.is_object())
    for (const JsonMember& entry : groups.as_object())
      if (entry.value.is_array()) result.groups.emplace(entry.key, decode_strings(entry.value.as_array()));
  return result;
}

template <class Document>
Allocation allocation_of(const Document& document) {
  Allocation allocation;
  if (const auto devices = document.find("devices")) {
    for (const Document& item : devices->items_at("results"))
      allocation.results.push_back(decode_result(item));
    allocation.config = json_at(*devices, "config");
  }
  if (const auto selector = document.find("nodeSelector"))
    allocation.node_selector = decode_node_selector(*selector);
  allocation.timestamp = time_at(document, "allocationTimestamp");
  return allocation;
}

template <class Document>
void decode_claim_spec(const Document& devices, ResourceClaim& claim) {
  for (const Document& item : devices.items_at("requests")) claim.requests.push_back(decode_request(item));
  for (const Document& item : devices.items_at("constraints"))
    claim.constraints.push_back({strings_at(item, "requests"), std::string(item.string_at("matchAttribute")),
                                 std::string(item.string_at("distinctAttribute"))});
  claim.config = json_at(devices, "config");
}

template <class Document>
void decode_claim_status(const Document& status, ResourceClaim& claim) {
  if (const auto allocation = status.find("allocation"); allocation && has_member(status, "allocation"))
    claim.allocation = allocation_of(*allocation);
  for (const Document& item : status.items_at("reservedFor"))
    claim.reserved_for.push_back({std::string(item.string_at("apiGroup")),
                                  std::string(item.string_at("resource")),
                                  std::string(item.string_at("name")), std::string(item.string_at("uid"))});
  for (const Document& item : status.items_at("devices"))
    claim.devices.push_back({std::string(item.string_at("driver")), std::string(item.string_at("pool")),
                             std::string(item.string_at("device")), std::string(item.string_at("shareID")),
                             decode_conditions(item.items_at("conditions"))});
}

template <class Document>
ResourceClaim claim_of_document(const Document& object, RawPtr raw) {
  ResourceClaim claim = begin_decoded<ResourceClaim>(object, std::move(raw));
  if (const auto spec = object.find("spec"))
    if (const auto devices = spec->find("devices")) decode_claim_spec(*devices, claim);
  if (const auto status = object.find("status")) decode_claim_status(*status, claim);
  return claim;
}

Json quantities_json(const std::map<std::string, Quantity>& quantities) {
  JsonObject object;
  for (const auto& [name, quantity] : quantities) object.append(name, quantity.text());
  return object;
}

Json result_json(const DeviceResult& result) {
  constexpr std::size_t kMembersUsual = 6;
  JsonObject json;
  json.reserve(kMembersUsual);
  json.append("request", result.request);
  json.append("driver", result.driver);
  json.append("pool", result.pool);
  json.append("device", result.device);
  if (result.admin_access) json.append("adminAccess", true);
  if (!result.tolerations.empty()) {
    JsonArray items;
    for (const Toleration& toleration : result.tolerations) items.push_back(to_json(toleration));
    json.append("tolerations", std::move(items));
  }
  if (!result.binding_conditions.empty())
    json.append("bindingConditions", to_json(result.binding_conditions));
  if (!result.binding_failure_conditions.empty())
    json.append("bindingFailureConditions", to_json(result.binding_failure_conditions));
  if (!result.share_id.empty()) json.append("shareID", result.share_id);
  if (!result.consumed_capacity.empty())
    json.append("consumedCapacity", quantities_json(result.consumed_capacity));
  if (!result.skip_node_operations.empty())
    json.append("skipNodeOperations", to_json(result.skip_node_operations));
  if (!result.groups.empty()) {
    JsonObject groups;
    for (const auto& [set, names] : result.groups) groups.append(set, to_json(names));
    json.append("compatibilityGroups", std::move(groups));
  }
  return json;
}

}  // namespace

bool ResourceClaim::reserved_by(std::string_view uid) const {
  for (const ClaimConsumer& consumer : reserved_for)
    if (consumer.uid == uid) return true;
  return false;
}

ResourceSlice decode_resource_slice(const Json& object, RawPtr raw) {
  return slice_of_document(object, std::move(raw));
}
ResourceSlice decode_resource_slice(const ProtobufDocument& object, RawPtr raw) {
  return slice_of_document(object, std::move(raw));
}

DeviceClass decode_device_class(const Json& object, RawPtr raw) {
  DeviceClass decoded = begin_decoded<DeviceClass>(object, std::move(raw));
  const Json& spec = object.part("spec");
  decoded.selectors = decode_selectors(spec.items_at("selectors"));
  decoded.config = spec.part("config");
  decoded.extended_resource = spec.string_at("extendedResourceName");
  return decoded;
}

Allocation decode_allocation(const Json& json) {
  return allocation_of(json);
}

ResourceClaim decode_resource_claim(const Json& object, RawPtr raw) {
  return claim_of_document(object, std::move(raw));
}
ResourceClaim decode_resource_claim(const ProtobufDocument& object, RawPtr raw) {
  return claim_of_document(object, std::move(raw));
}

ResourceClaimTemplate decode_resource_claim_template(const Json& object, RawPtr raw) {
  ResourceClaimTemplate decoded = begin_decoded<ResourceClaimTemplate>(object, std::move(raw));
  const Json& spec = object.part("spec");
  const Json& claim_meta = spec.part("metadata");
  decoded.labels = decode_string_map(claim_meta.find("labels"));
  decoded.annotations = decode_string_map(claim_meta.find("annotations"));
  decoded.spec = spec.part("spec");
  return decoded;
}

Json to_json(const Allocation& allocation) {
  JsonArray results;
  results.reserve(allocation.results.size());
  for (const DeviceResult& result : allocation.results) results.push_back(result_json(result));
  JsonObject devices;
  if (!results.empty()) devices.append("results", std::move(results));
  if (!allocation.config.is_null()) devices.append("config", allocation.config);
  JsonObject json;
  json.reserve(3);
  json.append("devices", std::move(devices));
  if (allocation.node_selector) json.append("nodeSelector", to_json(*allocation.node_selector));
  if (allocation.timestamp.is_set()) json.append("allocationTimestamp", format_time(allocation.timestamp));
  return json;
}

Json to_json(const ClaimConsumer& consumer) {
  Json json = Json::object();
  if (!consumer.api_group.empty()) json["apiGroup"] = consumer.api_group;
  json["resource"] = consumer.resource;
  json["name"] = consumer.name;
  json["uid"] = consumer.uid;
  return json;
}

}  // namespace berth::api
