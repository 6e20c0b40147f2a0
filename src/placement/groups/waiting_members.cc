#include "placement/groups/waiting_members.h"

namespace berth::placement {

WaitingMembers::WaitingMembers(const model::Cluster& cluster, std::span<const api::Pod* const> pods) {
  members_.reserve(pods.size());
  model::PodTemplateId latest;
  for (const api::Pod* pod : pods) {
    const PodId id = cluster.find_pod(pod->meta.ns, pod->meta.name);
    const model::PodTemplateId own = cluster.pod(id).of_template;
    members_.push_back({id, own.valid() && own == latest});
    if (!members_.back().repeats) distinct_.push_back(pod);
    latest = own;
  }
}

DomainUse WaitingMembers::requested(const model::Cluster& cluster) const {
  DomainUse use;
  for (const Member& member : members_) add_requested(cluster.pod(member.id).requests, use);
  return use;
}

}  // namespace berth::placement
