// Carries preemption out: evicts the victims of each plan, nominates nobody itself, and keeps the room until
// the preemptor, a pod or a group, has it.
//
// A plan lives until its pod is placed or gone, a budget refuses an eviction, or it is over (kPreemptionMax
// after the last victim's grace). Its room is a hold against equal and lower priorities. Level-triggered:
// each victim that the view shows alive is evicted, until the API has accepted that once. A write that is
// under way when its plan ends still says whether the victim leaves. After a restart nothing is known here;
// the pods that end on the nominated node count as gone, so the plan is found again. A victim that is not
// bound yet is withdrawn instead. A claim of a group is given back when its last user has left. Owner: the
// scheduler, one thread. Cost: O(log n) a call. Memory: proportional to the plans under way, at most
// kPreemptionsMax. Source: kube-scheduler's preemption executor, which deletes past budgets; here only the
// victims that the plan knows a budget refuses.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "client/decider.h"
#include "model/cluster.h"
#include "model/scoped_hold.h"
#include "placement/entity.h"
#include "scheduling/keepers/retried_writes.h"

namespace berth::scheduling {

using placement::EntityKey;

inline constexpr std::size_t kPreemptionsMax = 4096;  // plans under way; beyond, refused pods evict nobody
inline constexpr std::size_t kEvictionsInFlightMax = 64;  // writes
inline constexpr std::int64_t kGraceCountedMax = 3600;    // seconds of an evicted pod's grace
inline constexpr Duration kPreemptionMax = Duration::minutes(5);
inline constexpr std::string_view kEvictionWrites = "evictions";  // client::Effects::decision_id

// The longest time until one of these pods is gone, at most kGraceCountedMax.
Duration longest_grace(const model::Cluster& cluster, std::span<const model::PodId> pods);

struct EvictedPod {
  api::ObjectKey key;
  std::string uid;
  std::string node;
  bool refused = false;  // by its budget: it is deleted without asking
};

struct AwaitedClaim {
  api::ObjectKey key;
  std::string uid;
  bool of_group = false;  // it would be kept for its group: it is given back once nobody uses it
};

struct PreemptionUnderWay {
  std::string uid;  // of the preemptor
  std::string scheduler_name;
  std::int32_t priority = 0;
  std::map<std::string, std::string> places;  // node by pod: the preemptor itself, or members of the group
  std::vector<EvictedPod> victims;            // and those that end anyway
  std::vector<AwaitedClaim> claims;           // that are free with them
  model::ScopedHold hold;
  Time until;
};

struct EvictionQuestions {
  std::function<void(const api::BindRequest&)> withdraw;     // that of a victim which is not bound
  std::function<bool(const api::ObjectKey& claim)> is_used;  // by a pod that has a place, or is decided
};

class Evictions {
 public:
  bool full() const { return plans_.size() >= kPreemptionsMax; }
  // Replaces the entry's plan. Gives up the plans of lower priority on its nodes; returns whose.
  std::vector<EntityKey> begin(const EntityKey& key, PreemptionUnderWay plan, Time now);
  // Null: the entry has no plan.
  const PreemptionUnderWay* find(const EntityKey& key) const;
  // The node that the entry's plan has for the pod; empty: none.
  std::string place_of(const EntityKey& key, const std::string& pod) const;
  // Whether a victim of the plan has not left its node, or a claim of them is not free.
  static bool waits(const client::View& view, const PreemptionUnderWay& plan);
  // Gives the entry's plan up. True if it had one.
  bool forget(const EntityKey& key);
  // The pod is placed, gone, gated or another one: its plan and its delay end. True if it had a plan.
  bool leave(const EntityKey& key);
  // Victims that no plan has any more, and that were not evicted for one; forgotten. Others may have them
  // leave.
  std::vector<EvictedPod> take_spared() { return std::exchange(spared_, {}); }
  // The pod evicts nobody before this time.
  void not_before(const EntityKey& key, Time at);
  // Whose plan or delay is over; forgotten.
  std::vector<EntityKey> expire(Time now);

  // Writes that are due. Cost: also O(claims of groups that plans wait for).
  client::Effects due(const client::View& view, Time now, const EvictionQuestions& questions);
  // The result of a write of due(). Returns whose plans a budget refused; forgotten.
  std::vector<EntityKey> write_done(const client::ChainOutcome& outcome, Time now);
  std::optional<Time> next_time() const;
  std::size_t size() const { return plans_.size(); }
  const std::map<EntityKey, PreemptionUnderWay>& plans() const { return plans_; }

 private:
  struct Eviction {
    EvictedPod pod;
    std::set<EntityKey> plans;
    bool accepted = false;
    std::string asked;        // UID of the pod of the write that is under way; empty: there is none
    client::EventNote event;  // once that write is accepted
  };
  struct ClaimGivenBack {
    std::string uid;
    std::set<EntityKey> plans;
    bool due = false;  // since then it is in claim_writes_, or written
  };
  using Plans = std::map<EntityKey, PreemptionUnderWay>;
  void end(Plans::iterator plan);
  void forget_eviction(const api::ObjectKey& victim);
  void give_claims_back(const client::View& view, Time now, const EvictionQuestions& questions,
                        client::Effects& effects);
  void forget_delay(const EntityKey& key);
  std::optional<client::Chain> chain_of(const client::View& view, const Eviction& eviction, Time now,
                                        const std::function<void(const api::BindRequest&)>& withdraw) const;

  Plans plans_;
  std::set<std::pair<Time, EntityKey>> ends_, delays_;
  std::map<EntityKey, Time> delay_of_;  // the same as delays_, of pods that wait
  std::map<api::ObjectKey, Eviction> evictions_;
  RetriedWrites writes_;
  std::map<api::ObjectKey, ClaimGivenBack> group_claims_;  // that plans wait for
  RetriedWrites claim_writes_;
  std::size_t in_flight_ = 0;
  std::vector<EvictedPod> spared_;
  std::vector<client::EventNote> events_;  // of accepted evictions
};

}  // namespace berth::scheduling
