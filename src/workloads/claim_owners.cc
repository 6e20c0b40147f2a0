#include "workloads/claim_owners.h"

#include <algorithm>

namespace berth::workloads {
namespace {

bool names(const api::OwnerReference& owner, const api::OwnerReference& user) {
  return owner.api_version == user.api_version && owner.kind == user.kind && owner.name == user.name;
}

bool is_earlier(const api::OwnerReference& owner, const api::OwnerReference& user) {
  return names(owner, user) && owner.uid != user.uid;
}

}  // namespace

bool has_other_controller(const std::vector<api::OwnerReference>& owners, const ClaimUsers& users,
                          ClaimRetention retention) {
  if (!retention.with_set && !retention.with_replica) return false;
  return std::any_of(owners.begin(), owners.end(), [&](const api::OwnerReference& owner) {
    if (names(owner, users.set)) return owner.uid != users.set.uid;
    if (names(owner, users.pod)) return owner.uid != users.pod.uid;
    return owner.controller;
  });
}

bool is_of_earlier_pod(const std::vector<api::OwnerReference>& owners, const api::OwnerReference& pod) {
  return std::any_of(owners.begin(), owners.end(),
                     [&](const api::OwnerReference& owner) { return is_earlier(owner, pod); });
}

std::optional<std::vector<api::OwnerReference>> claim_owners(const std::vector<api::OwnerReference>& owners,
                                                             const ClaimUsers& users,
                                                             ClaimRetention retention) {
  for (const api::OwnerReference& owner : owners)
    if (is_earlier(owner, users.set) || is_earlier(owner, users.pod)) return std::nullopt;
  std::vector<api::OwnerReference> wanted = owners;
  std::erase_if(wanted, [&](const api::OwnerReference& owner) {
    return names(owner, users.set) || names(owner, users.pod);
  });
  if (!has_other_controller(owners, users, retention)) {
    const bool with_pod = retention.with_replica && users.scaled_down;
    if (retention.with_set && !with_pod) wanted.push_back(users.set);
    if (with_pod) wanted.push_back(users.pod);
  }
  if (std::is_permutation(wanted.begin(), wanted.end(), owners.begin(), owners.end())) return std::nullopt;
  return wanted;
}

}  // namespace berth::workloads
