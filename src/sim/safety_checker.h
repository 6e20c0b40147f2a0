// What must hold after every single write, checked from the stored JSON at the write.
//
// Sentences begin with the invariant:
//   - I1 devices, shares, counters and compatibility groups; I2 a claim's requests; I3 a bound pod's claims;
//   - I4 a gang begins whole; I5 one topology domain;
//   - I7 a pod is bound once, and within its node's allocatable; I8 terms of leaders;
//   - I15 writes of an object; I16 repairs of models; I17 conditions and phases are true; I18 moves; I19 who
//     leaves failed nodes.
// Includes the sentences of ConductChecker. Actions of users, drivers and rivals are excused: see Excuses in
// the .cc file. Owner: one storm. Cost: some microseconds a write.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/time.h"
#include "sim/conduct_checker.h"
#include "sim/fairness_checker.h"
#include "sim/policy_checker.h"
#include "sim/replacement_checker.h"
#include "sim/stored_state.h"
#include "sim/tree_checker.h"

namespace berth::sim {

inline constexpr std::size_t kBrokenMax = 8;  // further ones are dropped

// The writer: a process, and when the request left it. Empty: a user, a driver, a rival.
struct Writer {
  std::string process;
  Time left;
};

// Writes of one object in a minute of virtual time.
inline constexpr std::uint32_t kWritesAMinuteMax = 60;

class SafetyChecker {
 public:
  // Sentences that begin with a text in `ignored` are dropped: for searching beyond a known defect.
  using Parser = std::function<Json(const store::ObjectPtr& object)>;
  // `parser`: returns the result of parse_json() for an object's bytes. Empty: parse_json().
  explicit SafetyChecker(std::vector<std::string> ignored = {}, Parser parser = nullptr)
      : ignored_(std::move(ignored)), parser_(std::move(parser)) {}

  // One event of the store, at a moment of virtual time.
  void apply(const store::WatchEvent& event, Time now, const Writer& writer = {});
  // A scheduler found a wrong row in its model, and rebuilt it.
  void repaired(const std::string& row, const std::string& was, const std::string& is);
  // A scheduler placed an entry only because it had waited for long.
  void swept(const std::string& entry);

  const StoredState& state() const { return state_; }
  const std::vector<std::string>& broken() const { return broken_; }
  void scheduler_interrupted() { fairness_.scheduler_interrupted(); }
  // A rival's allocation: the control plane could not know, and two schedulers may always race.
  void excuse_claim(const std::string& uid) { rivalled_.insert(uid); }
  // Members of this group that are gone, or whose node is: it may stay below its minimum by that many.
  std::int64_t lost_members(const std::string& group) const {
    const auto lost = lost_.find(group);
    return lost == lost_.end() ? 0 : static_cast<std::int64_t>(lost->second.size());
  }
  // An edit after the first binding does not change the minimum of a gang.
  std::int64_t min_when_begun(const StoredGroup& group) const {
    const auto begun = begun_.find(group.uid);
    return begun == begun_.end() ? group.min : std::min(begun->second, group.min);
  }
  // What is wrong at rest with trees of groups.
  std::vector<std::string> broken_trees() const { return trees_.broken(tree_excuses()); }
  const ReplacementChecker& replacements() const { return replacements_; }
  std::size_t refused_pods() const { return refused_; }
  std::size_t bindings() const { return bindings_; }
  // Pods of ReplicaSets that were evicted since: only moves evict them so.
  std::size_t moves_since(Time since) const;
  // Of the requests whose pods are still to be bound.
  bool all_undone_decided_since(Time since) const;

 private:
  void say(std::string sentence);
  void say_if(std::string sentence) {
    if (!sentence.empty()) say(std::move(sentence));
  }
  // The current state of one object; null: deleted.
  void pod_event(const std::string& name, const Json* object);
  void claim_event(const std::string& name, const Json* object);
  void request_event(const std::string& name, const Json* object);
  void group_event(const std::string& name, const Json* object);
  void composite_event(const std::string& name, const Json* object);
  void node_event(const std::string& name, const Json* object);
  void lease_event(const std::string& name, const Json* object);
  void slice_event(const std::string& name, const Json* object);
  void class_event(const std::string& name, const Json* object);
  void taint_rule_event(const std::string& name, const Json* object);
  void volume_event(const std::string& name, const Json* object);
  void volume_claim_event(const std::string& name, const Json* object);
  void volume_class_event(const std::string& name, const Json* object);
  void policy_event(const std::string& name, const Json* object) {
    policies_.policy_event(name, object, now_);
    replacements_.policy_event(name, object, now_);
  }
  void topology_event(const std::string& name, const Json* object) {
    policies_.topology_event(name, object, now_);
  }

  void check_writer(const store::Key& key, const Writer& writer);
  Json document_of(const store::ObjectPtr& object) const;
  void check_rate(const store::Key& key);
  void check_term_of(const StoredPod& pod);
  static void keep_attached(const StoredClaim& before, StoredClaim& after);
  void pod_changed(const StoredPod* before, const StoredPod* after);
  void pod_bound(const StoredPod& pod);
  void pod_lost(const StoredPod& pod);
  void pod_leaves(const StoredPod& pod);
  void pod_moved(const StoredPod& pod);
  void check_claims_of(const StoredPod& pod);
  void check_volumes_of(const StoredPod& pod);
  void check_node_of(const StoredPod& pod);
  void check_gpus_of(const StoredPod& pod, const StoredNode& node);
  void check_gpu_devices_of(const StoredPod& pod);
  void check_gang_of(const StoredPod& pod, const StoredGroup& group);
  std::int64_t min_behind(const StoredPod& pod, const StoredGroup& group) const;
  void check_domain_of(const StoredPod& pod, const StoredGroup& group);
  void claim_changed(const StoredClaim* before, const StoredClaim* after);
  void check_device(const StoredResult& result, const StoredClaim& claim);
  void check_allocation(const StoredClaim& claim);
  void check_all(const StoredClaim& claim, const StoredWant& want);
  void check_counters(const StoredDevice& device, const StoredClaim& claim);
  void request_changed(const StoredRequest* before, const StoredRequest& after);
  void note_minimum(const StoredRequest& request);
  void group_changed(const StoredGroup* before, const StoredGroup& after);
  void slice_changed(const std::string& name, const StoredSlice& after);
  bool was_published(const std::string& device) const;
  bool is_left_over(const std::string& claim) const;
  bool is_in_use(const std::string& device) const;
  void node_changed(const std::string& name, const StoredNode* before, const StoredNode* after);

  const std::vector<std::string> ignored_;
  Parser parser_;
  StoredState state_;
  Time now_;
  store::Revision revision_ = 0;
  std::string writer_;  // process; empty: a user, a driver, a rival
  std::vector<std::string> broken_;
  std::set<std::string> rivalled_;             // UIDs of claims
  std::map<std::string, std::int64_t> begun_;  // by UID of the group: its minimum then
  std::map<std::string, Time> created_at_;     // by UID of a pod
  std::map<std::string, Time> decided_at_;     // by UID of a pod: when its latest request was written
  std::map<std::string, std::int64_t> min_when_decided_;    // by UID of a pod: of its group
  std::map<std::string, std::int64_t> min_when_committed_;  // by decision: of its group
  std::map<std::string, Time> relabelled_;                  // nodes
  std::map<std::string, std::string> domain_at_bind_;       // by UID of the pod
  std::map<std::string, std::vector<Time>> lost_;           // group: when members with requests were deleted
  struct OldAmount {
    std::int64_t amount = 0;
    Time changed;
    Time until;
  };
  std::int64_t least_known(const std::map<std::string, OldAmount>& old, const std::string& key,
                           std::int64_t now, const Time* decided = nullptr) const;
  std::int64_t min_known_of(const StoredGroup& group) const;
  TreeChecker::Excuses tree_excuses() const;

  struct Moved {
    std::string group;
    Time at;
  };
  std::vector<Moved> moved_;
  std::set<std::string> preempted_;           // UIDs
  std::map<std::string, OldAmount> old_min_;  // group: before an edit
  std::map<std::string, OldAmount> old_cpu_;  // UID of a pod: before a resize
  std::set<std::string> absent_;              // devices that their driver removed
  std::map<std::string, Time> returned_;      // devices that were absent, with the time of their return
  // The components' Leases by name: the holder, and since when.
  struct Holder {
    std::string process;
    Time since;
  };
  std::map<std::string, std::vector<Holder>> lease_holders_;
  std::pair<std::size_t, std::int64_t> latest_term_;   // the life of the scheduler's Lease, and the epoch
  std::map<std::string, std::size_t> lives_of_lease_;  // by UID, in the order in which they were made
  std::map<std::string, Time> lease_deleted_;          // by name
  std::map<std::string, Time> superseded_;  // requests of an older term that arrived in a newer one
  struct Minute {
    std::int64_t minute = 0;
    std::uint32_t writes = 0;
  };
  std::map<store::Key, Minute> minutes_;
  FairnessChecker fairness_{state_};
  ConductChecker conduct_;
  TreeChecker trees_{state_};
  PolicyChecker policies_{state_};
  ReplacementChecker replacements_{state_};
  std::size_t refused_ = 0;
  std::size_t bindings_ = 0;
};

}  // namespace berth::sim
