#include <algorithm>
#include <array>
#include <set>

#include "api/kinds/network_address.h"
#include "api/kinds/resource_claim.h"

namespace berth::api {
namespace {

constexpr std::size_t kConsumersMax = 256;
constexpr std::size_t kAllocationConfigMax = 64;
constexpr std::size_t kDeviceConditionsMax = 8;
constexpr std::size_t kInterfaceNameBytesMax = 256;
constexpr std::size_t kHardwareAddressBytesMax = 128;
constexpr std::size_t kAddressesMax = 16;

// The key of an allocated device.
constexpr std::string_view kDeviceKey[] = {"driver", "pool", "device", "shareID"};

using DeviceKey = std::array<std::string_view, 4>;

DeviceKey key_of(const Json& device) {
  DeviceKey key;
  std::transform(std::begin(kDeviceKey), std::end(kDeviceKey), key.begin(),
                 [&](std::string_view name) { return text_at(device, name); });
  return key;
}

bool is_same_device(const Json& a, const Json& b) {
  return key_of(a) == key_of(b);
}

const JsonArray& results_of(const Json* allocation) {
  return items(allocation ? present(*allocation, "devices") : nullptr, "results");
}

bool is_allocated(const Json* allocation, const Json& device) {
  const JsonArray& results = results_of(allocation);
  return std::any_of(results.begin(), results.end(),
                     [&](const Json& result) { return is_same_device(result, device); });
}

void check_result(const FieldPath& path, const Json& result, const std::set<std::string>& known,
                  Findings& findings) {
  const std::string_view request = text_at(result, "request");
  append(findings.by_hand, check_request_reference(path.child("request"), request, known));
  append(findings.by_hand, check_format(path.child("device"), text_at(result, "device"), dns_label_problems));
  append(findings.by_hand, check_binding_conditions(path, result));
  append(findings.declared, check_declared_driver(path.child("driver"), text_at(result, "driver")));
  append(findings.declared, check_required(path.child("pool"), text_at(result, "pool"), pool_segments));
  check_tolerations(path, result, findings);
  append(findings.by_hand,
         check_skipped_operations(path.child("skipNodeOperations"), items(&result, "skipNodeOperations")));
  if (const std::string_view share = text_at(result, "shareID"); !share.empty())
    append(findings.declared, check_format(path.child("shareID"), share, lower_case_uuid));
}

void check_allocation_config(const FieldPath& path, const JsonArray& config,
                             const std::set<std::string>& known, Findings& findings) {
  append(findings.by_hand, check_count(path, config.size(), kAllocationConfigMax));
  if (config.size() > kAllocationConfigMax) return;
  for (std::size_t i = 0; i < config.size(); ++i) {
    const FieldPath at = path.index(i);
    const std::string_view source = text_at(config[i], "source");
    if (source.empty())
      findings.declared.push_back(required(at.child("source")));
    else if (source != "FromClaim" && source != "FromClass")
      findings.declared.push_back(not_supported(at.child("source"), source, {"FromClaim", "FromClass"}));
    append(findings.by_hand, check_request_names(at.child("requests"), items(&config[i], "requests"), known));
    check_opaque(at, config[i], findings);
  }
}

void check_allocation(const FieldPath& path, const Json& allocation, const std::set<std::string>& known,
                      Findings& findings) {
  const FieldPath devices_path = path.child("devices");
  const JsonArray& results = results_of(&allocation);
  append(findings.declared, check_count(devices_path.child("results"), results.size(), kResultsMax));
  if (results.size() <= kResultsMax)
    for (std::size_t i = 0; i < results.size(); ++i)
      check_result(devices_path.child("results").index(i), results[i], known, findings);
  check_allocation_config(devices_path.child("config"), items(present(allocation, "devices"), "config"),
                          known, findings);
  if (const Json* selector = present(allocation, "nodeSelector"))
    append(findings.by_hand, check_node_selector(path.child("nodeSelector"), *selector));
}

FieldErrors check_consumers(const FieldPath& path, const JsonArray& consumers, FieldErrors& declared) {
  if (consumers.size() > kConsumersMax) return check_count(path, consumers.size(), kConsumersMax);
  FieldErrors errors;
  for (std::size_t i = 0; i < consumers.size(); ++i) {
    for (std::string_view name : {"resource", "name", "uid"})
      if (text_at(consumers[i], name).empty()) errors.push_back(required(path.index(i).child(name)));
    if (item_named(consumers, "uid", text_at(consumers[i], "uid")) != &consumers[i])
      declared.push_back(duplicate(path.index(i), consumers[i]));
  }
  return errors;
}

bool adds_consumers(const JsonArray& consumers, const JsonArray& old) {
  return std::any_of(consumers.begin(), consumers.end(), [&](const Json& consumer) {
    return std::find(old.begin(), old.end(), consumer) == old.end();
  });
}

FieldErrors check_addresses(const FieldPath& path, const JsonArray& addresses) {
  FieldErrors errors = check_count(path, addresses.size(), kAddressesMax);
  if (!errors.empty()) return errors;
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    const std::optional<std::string> canonical = canonical_interface_address(addresses[i].as_string());
    if (!canonical)
      errors.push_back(invalid(path.index(i), addresses[i],
                               "must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)"));
    else if (*canonical != addresses[i].as_string())
      errors.push_back(
          invalid(path.index(i), addresses[i], "must be in canonical form (\"" + *canonical + "\")"));
    if (std::find(addresses.begin(), addresses.end(), addresses[i]) - addresses.begin() <
        static_cast<std::ptrdiff_t>(i))
      errors.push_back(duplicate(path.index(i), addresses[i]));
  }
  return errors;
}

FieldErrors check_network(const FieldPath& path, const Json& network) {
  FieldErrors errors;
  if (text_at(network, "interfaceName").size() > kInterfaceNameBytesMax)
    errors.push_back(too_long(path.child("interfaceName"), kInterfaceNameBytesMax));
  if (text_at(network, "hardwareAddress").size() > kHardwareAddressBytesMax)
    errors.push_back(too_long(path.child("hardwareAddress"), kHardwareAddressBytesMax));
  append(errors, check_addresses(path.child("ips"), items(&network, "ips")));
  return errors;
}

void check_device_states(const FieldPath& path, const JsonArray& devices, const Json* allocation,
                         Findings& findings) {
  std::set<DeviceKey> seen;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const FieldPath at = path.index(i);
    const Json& device = devices[i];
    append(findings.by_hand, check_driver(at.child("driver"), text_at(device, "driver")));
    append(findings.by_hand, check_pool_name(at.child("pool"), text_at(device, "pool")));
    append(findings.by_hand, check_format(at.child("device"), text_at(device, "device"), dns_label_problems));
    if (!is_allocated(allocation, device)) {
      Json key = Json::object();
      for (const auto& [name, go] :
           {std::pair{"driver", "Driver"}, {"pool", "Pool"}, {"device", "Device"}, {"shareID", "ShareID"}})
        key[go] = text_at(device, name);
      findings.by_hand.push_back(invalid(at, key, "must be an allocated device in the claim"));
    }
    append(findings.by_hand,
           check_conditions(at.child("conditions"), items(&device, "conditions"), kDeviceConditionsMax));
    if (const Json* state = present(device, "data"))
      append(findings.by_hand, check_parameters(at.child("data"), state));
    if (const Json* network = present(device, "networkData"))
      append(findings.by_hand, check_network(at.child("networkData"), *network));
    if (!seen.insert(key_of(device)).second) findings.declared.push_back(duplicate(at, device));
  }
}

FieldErrors check_admin_results(const Json& next, const Json* allocation, const Json* old_allocation,
                                const RuleContext& ctx) {
  if (old_allocation) return {};
  const JsonArray& results = results_of(allocation);
  FieldErrors errors;
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!results[i].bool_at("adminAccess")) continue;
    const Json* ns = present_at(next, {"metadata", "namespace"});
    if (allows_admin_access(ctx, ns ? std::string_view(ns->as_string()) : "")) break;
    const FieldPath path("status.allocation.devices.results");
    errors.push_back(admin_access_forbidden(path.index(i).child("adminAccess")));
  }
  return errors;
}

constexpr std::string_view kSnapshot = "compatibilityGroups";

// Clients that do not know the snapshot of groups write the rest back without it: the snapshot stays.
void keep_snapshot(Json& allocation, const Json& old_allocation) {
  const JsonArray& results = results_of(&allocation);
  const bool any =
      std::any_of(results.begin(), results.end(), [](const Json& result) { return result.find(kSnapshot); });
  if (any || allocation == old_allocation) return;
  Json stripped = old_allocation;
  if (Json* devices = present(stripped, "devices"))
    for (Json& result : items(*devices, "results")) result.as_object().erase(kSnapshot);
  if (stripped == allocation) allocation = old_allocation;
}

}  // namespace

FieldErrors check_claim_status_update(const Json& next, const Json& old, const RuleContext& ctx) {
  static const Json kNone = Json::object();
  const FieldPath path("status");
  const Json* status = present(next, "status");
  const Json* old_status = present(old, "status");
  const Json* allocation = present(status, "allocation");
  const Json* old_allocation = present(old_status, "allocation");
  const Json* spec = present(next, "spec");
  const std::set<std::string> known = request_names(spec ? *spec : kNone);
  const JsonArray& consumers = items(status, "reservedFor");

  Findings findings;
  findings.by_hand = check_admin_results(next, allocation, old_allocation, ctx);
  append(findings.by_hand, check_consumers(path.child("reservedFor"), consumers, findings.declared));
  check_device_states(path.child("devices"), items(status, "devices"), allocation, findings);
  if (allocation && old_allocation && *allocation != *old_allocation)
    findings.declared.push_back(
        invalid(path.child("allocation"), nullptr, "field cannot be modified once set"));
  else if (allocation && !old_allocation)
    check_allocation(path.child("allocation"), *allocation, known, findings);
  if (!consumers.empty() && !allocation)
    findings.by_hand.push_back(
        forbidden(path.child("reservedFor"), "may not be specified when `allocated` is not set"));
  if (present_at(old, {"metadata", "deletionTimestamp"}) &&
      adds_consumers(consumers, items(old_status, "reservedFor")))
    findings.by_hand.push_back(forbidden(path.child("reservedFor"),
                                         "new entries may not be added while `deallocationRequested` or "
                                         "`deletionTimestamp` are set"));
  return std::move(findings).all();
}

void prepare_claim_status(Json& next, const Json& old, const RuleContext& ctx) {
  const TypeInfo& type = resource_type("ResourceClaim");
  Json kept = old;
  const Json* status = present(next, "status");
  put(kept, type, "status", status ? *status : Json::object());
  drop_gated_fields(type, kept, &old, ctx.gates);
  Json& new_status = kept["status"];
  Json* allocation = present(new_status, "allocation");
  const Json* old_allocation = present_at(old, {"status", "allocation"});
  if (allocation && old_allocation) keep_snapshot(*allocation, *old_allocation);
  if (Json* devices = present(new_status, "devices"); devices && !same(allocation, old_allocation)) {
    // A state outlives its device only until the allocation changes; a new state of an unallocated device
    // stays, and is refused.
    std::erase_if(devices->as_array(), [&](const Json& device) {
      return !is_allocated(allocation, device) && is_allocated(old_allocation, device);
    });
    if (devices->as_array().empty()) new_status.as_object().erase("devices");
  }
  next = std::move(kept);
}

}  // namespace berth::api
