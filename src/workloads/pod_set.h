// Pods made from a template, and what a run of an owner's key may create and delete.
//
// Pure functions and small values; the engine's thread.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "workloads/objects.h"
#include "workloads/owned_pods.h"
#include "workloads/pod_names.h"

namespace berth::workloads {

// A pod with the template's labels, annotations, finalizers and spec, controlled by `owner`. `generate_name`:
// the prefix that kube-controller-manager has its server complete; empty where it names pods itself.
Json pod_from_template(const Json& pod_template, const api::OwnerReference& owner, std::string_view ns,
                       std::string name, std::string_view generate_name);

// The pods of an owner and the numbers that its next ones get.
struct PodsOfOwner {
  const OwnedPods::ByName& pods;
  const OwnedPods::NextNumbers& next_numbers;
};

// The names of the next `count` pods. Numbers follow `begin` and the highest number that one of the owner's
// pods (`standing`) has or a deleted one had.
// They leave out names of other pods of the namespace.
std::vector<std::string> next_names(const View& view, std::string_view ns, const NumberedNames& names,
                                    const PodsOfOwner& standing, std::uint32_t begin, std::size_t count);

// False in a namespace that is being deleted: every create there is refused.
bool takes_pods(const View& view, const std::string& ns);

// How many pods a run may create when `missing` are missing and `standing` were accepted.
std::size_t creates_of_run(std::size_t missing, std::size_t standing);

// Adds the create, and its event while there are few.
void create_pod(Effects& effects, const Parsed& owner, const Json& pod);
// Adds the deletion of exactly this pod, and its event. Nothing for a terminating pod.
void delete_pod(Effects& effects, const Parsed& owner, const api::Pod& pod);

// The pods, those that are deleted first in front: not bound, not running, not ready, of lower deletion cost,
// more of them on their node, ready for less time, newer.
std::vector<const api::Pod*> in_order_of_deletion(std::vector<const api::Pod*> pods);

// The refusals of creates and deletes, from on_outcome() to the next run of the key, which reports them.
class RefusedWrites {
 public:
  void note(const api::ObjectKey& key, const client::Outcome& outcome);
  // The message of the last one since the call before; empty without one.
  std::string take(const api::ObjectKey& key);

 private:
  std::map<api::ObjectKey, std::string> messages_;  // of keys that run again
};

}  // namespace berth::workloads
