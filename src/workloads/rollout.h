// A Deployment with its ReplicaSets: what the arithmetic of rollouts reads, and what it decides.
//
// Pure; the engine's thread. Source: kube-controller-manager 1.37, deployment controller.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "workloads/objects.h"

namespace berth::workloads {

inline constexpr std::string_view kRevision = "deployment.kubernetes.io/revision";
inline constexpr std::string_view kRevisionHistory = "deployment.kubernetes.io/revision-history";
inline constexpr std::string_view kDesiredReplicas = "deployment.kubernetes.io/desired-replicas";
inline constexpr std::string_view kMaxReplicas = "deployment.kubernetes.io/max-replicas";
inline constexpr std::string_view kTemplateHash = "pod-template-hash";
// progressDeadlineSeconds and revisionHistoryLimit with this value are none.
inline constexpr std::int64_t kNoLimit = 2147483647;

// One ReplicaSet of the Deployment.
struct Revision {
  Parsed set;
  std::int64_t replicas = 0;  // spec.replicas, then what this run decided
  std::int64_t created = 0, ready = 0, available = 0, terminating = 0;  // of its status
  std::int64_t number = 0;                                              // 0 without a revision annotation
  bool is_new = false;                                                  // has the Deployment's template
};

struct Rollout {
  Parsed deployment;
  std::vector<Revision> revisions;  // older first
  std::int64_t replicas = 0, max_surge = 0, max_unavailable = 0;
  bool rolling = true;  // else Recreate

  Revision* newest();
  const Revision* newest() const { return const_cast<Rollout*>(this)->newest(); }
  std::int64_t total() const;      // sum of spec.replicas
  std::int64_t available() const;  // sum of the statuses
};

// The Deployment and those of its ReplicaSets that the view has. Cost: a parse of each.
Rollout rollout_of(const View& view, Parsed deployment);

// The template's hash in a name, for `collisions` names that others had.
std::string template_hash(const Json& pod_template, std::int64_t collisions);

// One step of each strategy: changes `replicas` of revisions. True when one changed.
bool roll_new_up(Rollout& rollout);
bool roll_old_down(Rollout& rollout);
bool scale_old_to_zero(Rollout& rollout);
// Brings the size to spec.replicas without a step of the rollout, in proportion to the revisions' sizes.
void scale_in_proportion(Rollout& rollout);
// Some ReplicaSet was last sized for another spec.replicas.
bool is_scaled(const Rollout& rollout);

// Old ReplicaSets beyond the history limit that hold nothing, oldest revision first.
std::vector<const Revision*> beyond_history(const Rollout& rollout);

// How many pods a new ReplicaSet begins with.
std::int64_t first_size(const Rollout& rollout);

}  // namespace berth::workloads
