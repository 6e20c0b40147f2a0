// resource.k8s.io/v1: devices, classes, claims. Source: KEP-4381 and the KEPs named at the fields.
#pragma once

#include <variant>

#include "api/types/meta.h"
#include "api/types/pod.h"

namespace berth::api {

// One attribute value; versions keep their text. Lists: KEP-5491.
struct AttributeVersion {
  std::string text;
  friend bool operator==(const AttributeVersion&, const AttributeVersion&) = default;
};
using AttributeValue =
    std::variant<std::monostate, std::int64_t, bool, std::string, AttributeVersion, std::vector<std::int64_t>,
                 std::vector<bool>, std::vector<std::string>, std::vector<AttributeVersion>>;

// KEP-5075 request policy of a consumable capacity.
struct CapacityPolicy {
  std::optional<Quantity> default_value;
  std::vector<Quantity> valid_values;
  std::optional<Quantity> range_min, range_max, range_step;
};

struct DeviceCapacity {
  Quantity value;
  std::optional<CapacityPolicy> policy;
};

// KEP-4815 counters, KEP-5963 groups.
struct CounterConsumption {
  std::string counter_set;
  std::map<std::string, Quantity> counters;
  std::vector<std::string> groups;  // compatibilityGroups; empty means ungrouped
};

struct CounterSet {
  std::string name;
  std::map<std::string, Quantity> counters;
};

struct Device {
  std::string name;
  std::map<std::string, AttributeValue> attributes;  // keys as written, with or without a domain
  std::map<std::string, DeviceCapacity> capacity;
  std::vector<CounterConsumption> consumes;
  std::string node_name;
  std::optional<NodeSelector> node_selector;
  bool all_nodes = false;
  std::vector<Taint> taints;
  bool binds_to_node = false;  // KEP-5007, with the two lists
  std::vector<std::string> binding_conditions;
  std::vector<std::string> binding_failure_conditions;
  bool allow_multiple = false;                // allowMultipleAllocations
  NodeAllocatableResources node_allocatable;  // KEP-5517
};

struct ResourceSlice {
  RawPtr raw;
  ObjectMeta meta;
  std::string driver;
  std::string pool;
  std::int64_t generation = 0;
  std::int64_t slice_count = 0;
  std::string node_name;
  std::optional<NodeSelector> node_selector;
  bool all_nodes = false;
  bool per_device_node_selection = false;
  std::vector<Device> devices;
  std::vector<CounterSet> shared_counters;
  std::vector<std::string> skip_node_operations;
};

struct DeviceClass {
  RawPtr raw;
  ObjectMeta meta;
  std::vector<std::string> selectors;  // CEL texts
  Json config;                         // spec.config as it is
  std::string extended_resource;
};

enum class AllocationMode { ExactCount, All };

struct DeviceSubRequest {
  std::string name;
  std::string device_class;
  std::vector<std::string> selectors;
  AllocationMode mode = AllocationMode::ExactCount;
  std::int64_t count = 1;
  bool admin_access = false;
  std::vector<Toleration> tolerations;
  std::map<std::string, Quantity> capacity;
  std::vector<std::pair<std::string, std::string>> derived_attributes;  // name, CEL text
};

// Either `exactly` (one entry that bears the request's name) or the ordered alternatives of firstAvailable.
struct DeviceRequest {
  std::string name;
  bool prioritized = false;
  std::vector<DeviceSubRequest> alternatives;
};

struct DeviceConstraint {
  std::vector<std::string> requests;  // empty: all
  std::string match_attribute;
  std::string distinct_attribute;
};

struct DeviceResult {
  std::string request;  // "request" or "request/alternative"
  std::string driver;
  std::string pool;
  std::string device;
  bool admin_access = false;
  std::vector<Toleration> tolerations;
  std::vector<std::string> binding_conditions;
  std::vector<std::string> binding_failure_conditions;
  std::string share_id;
  std::map<std::string, Quantity> consumed_capacity;
  std::vector<std::string> skip_node_operations;
  std::map<std::string, std::vector<std::string>> groups;  // KEP-5963 snapshot by counter set (overlay field)
};

struct Allocation {
  std::vector<DeviceResult> results;
  Json config;  // devices.config as it is; null when absent
  std::optional<NodeSelector> node_selector;
  Time timestamp;  // allocationTimestamp
};

struct ClaimConsumer {
  std::string api_group;
  std::string resource;  // "pods"
  std::string name;
  std::string uid;
};

struct AllocatedDeviceStatus {
  std::string driver, pool, device, share_id;
  std::vector<Condition> conditions;
};

struct ResourceClaim {
  RawPtr raw;
  ObjectMeta meta;
  std::vector<DeviceRequest> requests;
  std::vector<DeviceConstraint> constraints;
  Json config;
  std::optional<Allocation> allocation;
  std::vector<ClaimConsumer> reserved_for;
  std::vector<AllocatedDeviceStatus> devices;

  bool reserved_by(std::string_view uid) const;
};

struct ResourceClaimTemplate {
  RawPtr raw;
  ObjectMeta meta;
  StringMap labels, annotations;  // of the claims to create
  Json spec;                      // ResourceClaimSpec as it is
};

// Consumers of one claim. Source: resource.k8s.io/v1 ResourceClaimReservedForMaxSize.
inline constexpr std::size_t kReservedForMax = 256;
inline constexpr std::string_view kExtendedResourceClaimAnnotation =
    "resource.kubernetes.io/extended-resource-claim";
inline constexpr std::string_view kClaimFinalizer = "resource.kubernetes.io/delete-protection";
inline constexpr std::string_view kPodClaimNameAnnotation = "resource.kubernetes.io/pod-claim-name";

ResourceSlice decode_resource_slice(const Json& object, RawPtr raw);
DeviceClass decode_device_class(const Json& object, RawPtr raw);
ResourceClaim decode_resource_claim(const Json& object, RawPtr raw);
ResourceClaimTemplate decode_resource_claim_template(const Json& object, RawPtr raw);
Allocation decode_allocation(const Json& allocation);

Json to_json(const Allocation& allocation);
Json to_json(const ClaimConsumer& consumer);

}  // namespace berth::api
