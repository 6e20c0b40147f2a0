#include "binding/request_bytes.h"

namespace berth::binding {
namespace {

// Bytes outside of the value itself. One class, so that each overload finds the others.
struct Bytes {
  static std::size_t held(const std::string& text) { return text.size(); }
  static std::size_t held(const Quantity&) { return 0; }
  static std::size_t held(const api::OwnerReference& owner) {
    return held(owner.api_version) + held(owner.kind) + held(owner.name) + held(owner.uid);
  }
  static std::size_t held(const api::Condition& condition) {
    return held(condition.type) + held(condition.status) + held(condition.reason) + held(condition.message);
  }
  static std::size_t held(const api::Toleration& toleration) {
    return held(toleration.key) + held(toleration.op) + held(toleration.value) + held(toleration.effect);
  }
  static std::size_t held(const api::VolumeBinding& binding) {
    return held(binding.claim_name) + held(binding.claim_uid) + held(binding.volume);
  }
  static std::size_t held(const api::NodeAllocatableOverhead&) { return 0; }

  template <class Value>
  static std::size_t held(const std::vector<Value>& values) {
    std::size_t bytes = values.size() * sizeof(Value);
    for (const Value& value : values) bytes += held(value);
    return bytes;
  }
  template <class Value, class Order>
  static std::size_t held(const std::map<std::string, Value, Order>& values) {
    std::size_t bytes = values.size() * (kMapNodeBytes + sizeof(std::string) + sizeof(Value));
    for (const auto& [key, value] : values) bytes += held(key) + held(value);
    return bytes;
  }

  static std::size_t held(const Json& value) {
    if (value.is_string()) return held(value.as_string());
    if (value.is_array()) return held(value.as_array());
    if (!value.is_object()) return 0;
    std::size_t bytes = value.as_object().size() * sizeof(JsonMember);
    for (const JsonMember& member : value.as_object()) bytes += held(member.key) + held(member.value);
    return bytes;
  }

  static std::size_t held(const api::Requirement& requirement) {
    return held(requirement.key) + held(requirement.op) + held(requirement.values);
  }
  static std::size_t held(const api::NodeSelectorTerm& term) {
    return held(term.expressions) + held(term.fields);
  }
  static std::size_t held(const api::DeviceResult& result) {
    return held(result.request) + held(result.driver) + held(result.pool) + held(result.device) +
           held(result.tolerations) + held(result.binding_conditions) +
           held(result.binding_failure_conditions) + held(result.share_id) + held(result.consumed_capacity) +
           held(result.skip_node_operations) + held(result.groups);
  }
  static std::size_t held(const api::ClaimAllocation& claim) {
    std::size_t bytes = held(claim.name) + held(claim.claim_name) + held(claim.claim_uid) +
                        held(claim.allocation.results) + held(claim.allocation.config);
    if (claim.allocation.node_selector) bytes += held(claim.allocation.node_selector->terms);
    if (claim.extended) bytes += held(claim.extended->requests) + held(claim.extended->mappings);
    return bytes;
  }
  static std::size_t held(const api::NodeAllocatableClaim& claim) {
    return held(claim.claim_name) + held(claim.containers) + held(claim.mapping) + held(claim.overhead);
  }
  static std::size_t held(const api::ObjectMeta& meta) {
    return held(meta.name) + held(meta.ns) + held(meta.uid) + held(meta.labels) + held(meta.annotations) +
           held(meta.finalizers) + held(meta.owners);
  }
};

}  // namespace

std::size_t bytes_of(const api::BindRequest& request) {
  return sizeof request + Bytes::held(request.meta) + Bytes::held(request.pod_name) +
         Bytes::held(request.pod_uid) + Bytes::held(request.node) + Bytes::held(request.group.name) +
         Bytes::held(request.group.uid) + Bytes::held(request.decision_id) +
         Bytes::held(request.scheduler_name) + Bytes::held(request.lease.ns) +
         Bytes::held(request.lease.name) + Bytes::held(request.lease.uid) +
         Bytes::held(request.received_resource_type) + Bytes::held(request.claims) +
         Bytes::held(request.volumes) + Bytes::held(request.node_allocatable) +
         Bytes::held(request.gpu_share.groups) + Bytes::held(request.reason) + Bytes::held(request.message) +
         Bytes::held(request.conditions);
}

}  // namespace berth::binding
