// The pods of the owners of one kind, kept up to date by the changes that the engine reports.
//
// Owner: one Reconciler, on the engine's thread. Derived from the view. Cost of a change: O(log n), and for a
// pod without a controller the match of each owner in its namespace; of(): O(1). Without it a run of one of
// many owners would visit every pod of the namespace.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>

#include "api/selectors.h"
#include "workloads/objects.h"
#include "workloads/pod_names.h"

namespace berth::workloads {

// The form of spec.selector.
enum class SelectorForm : std::uint8_t { LabelSelector, Labels };

// What differs between kinds of owners.
struct OwnershipRules {
  SelectorForm selector = SelectorForm::LabelSelector;
  // A pod gets it together with its controller.
  std::string finalizer = {};
  // Pods that have ended are adopted too.
  bool adopts_finished = false;
  // Whether a pod of this name may belong to the owner; null: every one.
  bool (*may_be_named)(const std::string& owner, std::string_view pod) = nullptr;
  // The sequence of which the pod's name is one; null where owners name their pods otherwise.
  std::function<NumberedNames(const api::OwnerReference& owner, const api::Pod& pod)> names = nullptr;
};

class OwnedPods {
 public:
  using ByName = std::map<std::string, PodPtr, std::less<>>;
  // The number after the highest one of a pod that is gone.
  using NextNumbers = std::map<NumberedNames, std::uint32_t>;

  // `owners` have spec.selector; `kind` is their name in owner references.
  OwnedPods(api::ResourceRef owners, std::string kind, OwnershipRules rules);

  // Of the owners themselves and of their pods: what wakes an owner's key.
  std::vector<client::Interest> interests() const;

  // Those whose controller has this UID, terminating and finished ones too.
  const ByName& of(std::string_view uid) const;

  // UIDs of the owners that had this name and still have pods.
  std::vector<std::string> uids_of(const api::ObjectKey& owner) const;

  // Of sequences of a living owner's names whose pods were seen to go. Without them names would come back,
  // and a client that waits for a pod to go would see its successor. Lost with the process.
  const NextNumbers& next_numbers(std::string_view uid) const;

  // The pods without a controller that the owner selects; and the names of the owners that select this one.
  std::vector<std::string> strays_of(std::string_view uid) const;
  std::vector<std::string> claimants_of(const api::Pod& pod) const;

  // Writes that make the selected pods without a controller the owner's, and let go those that its selector
  // does not select any more. Nothing for a terminating owner.
  void claim(const View& view, const Parsed& owner, const api::OwnerReference& reference,
             Effects& effects) const;

 private:
  struct Owner {
    std::string uid;
    api::LabelSelector selector;
  };
  void on_pod(const View& view, const Delta& delta, Keys& keys) const;
  void index(const Delta& delta, const api::OwnerReference* old_owner,
             const api::OwnerReference* owner) const;
  void on_owner(const View& view, const Delta& delta, Keys& keys) const;
  const api::OwnerReference* owner_of(const api::Pod& pod) const;
  bool is_stray(const api::Pod& pod) const;
  bool selects(const std::string& name, const Owner& owner, const api::Pod& pod) const;
  void note_gone(const api::Pod& pod, const api::OwnerReference& owner) const;
  void note_stray(const api::Pod& pod, Keys& keys) const;
  void forget_stray(const api::Pod& pod) const;

  const api::ResourceRef resource_;
  const std::string kind_;
  const OwnershipRules rules_;
  // Engines report changes through const interests.
  mutable std::map<std::string, ByName, std::less<>> by_owner_;                      // by UID
  mutable std::map<api::ObjectKey, std::set<std::string>> uids_;                     // of those in by_owner_
  mutable std::map<std::string, std::map<std::string, Owner>, std::less<>> owners_;  // by namespace and name
  mutable std::map<std::string, std::set<std::string>, std::less<>> strays_;         // names, by owner's UID
  mutable std::map<std::string, NextNumbers, std::less<>> next_numbers_;  // of living owners, by UID
};

// Neither finished nor terminating.
bool is_active(const api::Pod& pod);
bool is_ready(const api::Pod& pod);
// When it became ready; unset when it is not.
Time ready_since(const api::Pod& pod);
// Ready for `min_ready_s`; `recheck` receives when that comes true.
bool is_available(const api::Pod& pod, std::int64_t min_ready_s, Time now, Effects& recheck);

}  // namespace berth::workloads
