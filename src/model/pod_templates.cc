#include "model/pod_templates.h"

#include <algorithm>
#include <functional>
#include <string_view>

namespace berth::model {
namespace {

bool same_container(const api::Container& a, const api::Container& b) {
  return a.restartable_init == b.restartable_init && a.claims.empty() && b.claims.empty() && !a.reported &&
         !b.reported && a.image == b.image && a.name == b.name && a.requests == b.requests &&
         a.limits == b.limits;
}

// It names objects of its own or other pods: placing one such pod may change the verdict on the next.
bool is_like_no_other(const api::Pod& pod) {
  return !pod.claims.empty() || !pod.volumes.empty() || !pod.claim_statuses.empty() ||
         !pod.extended_claim.empty() || !pod.node_allocatable.empty() || pod.reported ||
         !pod.required_affinity.empty() || !pod.required_anti_affinity.empty() ||
         !pod.preferred_affinity.empty() || !pod.preferred_nodes.empty() || !pod.required_spread.empty() ||
         !pod.preferred_spread.empty();
}

bool same_meta(const api::ObjectMeta& a, const api::ObjectMeta& b) {
  return a.ns == b.ns && a.deleted == b.deleted && a.labels == b.labels && a.annotations == b.annotations &&
         a.owners == b.owners;
}

bool same_requests(const api::Pod& a, const api::Pod& b) {
  return std::ranges::equal(a.containers, b.containers, same_container) &&
         std::ranges::equal(a.init_containers, b.init_containers, same_container) &&
         a.overhead == b.overhead && a.pod_level_requests == b.pod_level_requests &&
         a.pod_level_limits == b.pod_level_limits && a.host_ports == b.host_ports && a.only_gpu == b.only_gpu;
}

bool same_choice_of_nodes(const api::Pod& a, const api::Pod& b) {
  return a.node_selector == b.node_selector && a.required_node_affinity == b.required_node_affinity &&
         a.tolerations == b.tolerations && a.required_features == b.required_features &&
         a.image_volumes == b.image_volumes && a.node_name == b.node_name &&
         a.nominated_node == b.nominated_node;
}

bool same_policy(const api::Pod& a, const api::Pod& b) {
  return a.priority == b.priority && a.scheduler_name == b.scheduler_name &&
         a.preemption_policy == b.preemption_policy && a.priority_class == b.priority_class &&
         a.restart_policy == b.restart_policy && a.termination_grace_s == b.termination_grace_s &&
         a.scheduling_gates == b.scheduling_gates && a.group == b.group && a.group_source == b.group_source;
}

// Of what differs most often between templates.
class TemplateHash {
 public:
  explicit TemplateHash(const api::Pod& pod) {
    add(pod.meta.ns);
    add(pod.group);
    add(pod.meta.labels);
    add(pod.meta.annotations);
    add(pod.node_selector);
    for (const api::Container& container : pod.containers) {
      add(container.image);
      for (const auto& [name, amount] : container.requests) {
        add(name);
        combine(std::hash<std::int64_t>{}(amount.ceil_millis()));
      }
    }
  }
  std::size_t value() const { return value_; }

 private:
  void combine(std::size_t hash) { value_ = (value_ ^ hash) * 0x9E3779B97F4A7C15u; }
  void add(std::string_view text) { combine(std::hash<std::string_view>{}(text)); }
  void add(const api::StringMap& map) {
    combine(map.size());
    for (const auto& [key, value] : map) {
      add(key);
      add(value);
    }
  }

  std::size_t value_ = 0;
};

}  // namespace

bool are_alike(const api::Pod& a, const api::Pod& b) {
  return !is_like_no_other(a) && !is_like_no_other(b) && same_requests(a, b) && same_policy(a, b) &&
         same_choice_of_nodes(a, b) && same_meta(a.meta, b.meta);
}

PodTemplateId PodTemplates::add(const std::shared_ptr<const api::Pod>& pod) {
  if (is_like_no_other(*pod)) return PodTemplateId::none();
  const std::size_t hash = TemplateHash(*pod).value();
  auto [at, end] = by_hash_.equal_range(hash);
  for (std::size_t compared = 0; at != end; ++at) {
    Row& row = rows_[at->second.index()];
    if (are_alike(*row.first, *pod)) {
      ++row.pods;
      return at->second;
    }
    if (++compared == kTemplatesComparedMax) return PodTemplateId::none();
  }
  PodTemplateId id(static_cast<std::uint32_t>(rows_.size()));
  if (free_.empty()) {
    rows_.emplace_back();
  } else {
    id = free_.back();
    free_.pop_back();
  }
  rows_[id.index()] = {pod, hash, 1};
  by_hash_.emplace(hash, id);
  return id;
}

void PodTemplates::remove(PodTemplateId id) {
  if (!id.valid() || --rows_[id.index()].pods > 0) return;
  const auto [begin, end] = by_hash_.equal_range(rows_[id.index()].hash);
  by_hash_.erase(std::find_if(begin, end, [&](const auto& entry) { return entry.second == id; }));
  rows_[id.index()] = {};
  free_.push_back(id);
}

}  // namespace berth::model
