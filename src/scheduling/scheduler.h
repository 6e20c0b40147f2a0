// The scheduler: decides where pods and groups of pods go, and writes bind requests. It never binds.
//
// One StatefulDecider that owns queue, model and ledger. decide() takes one entry off the queue and returns
// the writes; the decided place counts as in use from then on. BindRequests are followed until their fate is
// known (client::Write::mark); on_outcome() ends the assumption, and from then on a stored request reserves
// the place. The ledger reads requests of unbound pods, so it survives a restart. All other writes are
// derived from the live objects until the view shows them: conditions (ConditionUpdater), withdrawals
// (Withdrawals), deallocations (with the refusal of their pod). Deterministic: the same inputs in the same
// order give the same bytes; ids come from the inputs.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "dra/taint_rules.h"
#include "model/audit.h"
#include "placement/decision_core.h"
#include "scheduling/decision_log.h"
#include "scheduling/input_log.h"
#include "scheduling/keepers/bind_failure_avoid_list.h"
#include "scheduling/keepers/condition_updater.h"
#include "scheduling/keepers/decision_failures.h"
#include "scheduling/keepers/device_wait_errors.h"
#include "scheduling/keepers/late_allocations.h"
#include "scheduling/keepers/overtaking_guard.h"
#include "scheduling/keepers/term_seals.h"
#include "scheduling/keepers/withdrawals.h"
#include "scheduling/queue/dirty_entities.h"
#include "scheduling/queue/scheduling_queue.h"

namespace berth::scheduling {

using placement::AvoidSet;
using placement::DecisionCore;
using placement::GroupInput;
using placement::GroupMembers;
using placement::GroupOutcome;
using placement::PodDecision;
using placement::SchedulingContext;

struct SchedulerOptions {
  std::vector<std::string> scheduler_names = {"berth"};  // of pods that it places
  Duration cool_down = Duration::seconds(30);  // how long a failed binding's node or devices are avoided
  Duration binding_timeout = Duration::seconds(600);  // the binder's; after it an allocation is unusable
  Duration overtaking_limit = Duration::seconds(20);  // before an overtaken entry gets a reservation
  std::optional<std::int32_t> backoff_limit = {};     // of bind requests; not set: the binder's own
  bool records_in_memory = false;  // BindRequests of an earlier process may be lost: TermSeals
  dra::DeviceScoring device_scoring = dra::DeviceScoring::Reference;
  dra::DeviceGates gates = {};
  placement::Placements placements = placement::Placements::ByTopology;
  placement::MakePlugins plugins = placement::default_plugins;
};

// How often the model is compared with the live objects, and how many rows at once.
inline constexpr Duration kAuditEvery = Duration::seconds(5);
inline constexpr std::size_t kAuditRows = 256;

class Scheduler final : public client::StatefulDecider {
 public:
  // `selectors` and the sinks outlive it; a null sink keeps nothing.
  Scheduler(SchedulerOptions options, dra::SelectorEvaluator& selectors, DecisionLog* decisions = nullptr,
            InputLog* inputs = nullptr);

  std::string_view name() const override { return "scheduler"; }
  std::vector<client::Interest> interests() const override;
  void begin_leading(const client::View& view, client::Leadership leadership, Time now) override;
  void apply(const client::View& view, const client::Delta& delta, Time now) override;
  client::Effects decide(const client::View& view, Time now) override;
  void on_outcome(const client::View& view, const client::Outcome& outcome, Time now) override;

  const model::Cluster& cluster() const { return cluster_; }
  const SchedulingQueue& queue() const { return queue_; }
  // Entries kept besides the model; 0 in a standby.
  std::size_t remembered() const {
    return dirty_.size() + in_flight_.size() + written_gangs_.size() + device_waits_.size();
  }

 private:
  // A decision whose writes are in flight.
  struct InFlight {
    QueuedEntity entry;
    std::vector<std::string> member_uids;  // one a chain, in their order
    bool barrier = false;                  // the members wait for each other
  };

  // The condition and the event of a refused pod.
  struct SchedulingFailure {
    std::string reason;
    std::string sentence;     // Kubernetes' words
    std::string explanation;  // ours
    std::string decision;
    Duration reword_after = kRewordAfter;
  };

  bool ours(const api::Pod& pod) const;
  bool wants_place(const client::View& view, const api::Pod& pod) const;
  EntityKey entry_of(const api::Pod& pod) const;

  void pod_changed(const client::View& view, const client::Delta& delta, Time now);
  void claim_changed(const client::View& view, const client::Delta& delta, Time now);
  void volume_claim_changed(const client::View& view, const client::Delta& delta, Time now);
  void request_failed(const client::View& view, const api::BindRequest& request, Time now);
  static bool has_bound(const client::View& view, const api::BindRequest& request);
  static bool is_of_earlier_term(const api::BindRequest& request, const client::Leadership& ours);
  void request_changed(const client::View& view, const client::Delta& delta, Time now);
  void start(const client::View& view, Time now);
  // Writes of TermSeals; after the last one, pods that ask for devices are evaluated.
  client::Effects seal_term(const client::View& view, Time now);
  void reconsider(const client::View& view, Time now);
  void reconsider_pod(const client::View& view, const EntityKey& key, Time now);
  GroupMembers members_of(const client::View& view, const EntityKey& key) const;
  void tell_group_scheduled(const client::View& view, const api::PodGroup& group, const GroupMembers& members,
                            Time now);
  void tell_held_by_parent(const client::View& view, const api::PodGroup& group, Time now);
  void tell(const client::View& view, const api::Pod& pod, const SchedulingFailure& refusal, Time now);
  // Handles the outcome of all other writes; false if it belongs to a decision.
  bool on_other_outcome(const client::Outcome& outcome, Time now);
  void reconsider_group(const client::View& view, const EntityKey& key, Time now);
  placement::PreEnqueueResult pre_enqueue(const client::View& view, const api::Pod& pod, Time now);

  client::Effects attempt(const client::View& view, QueuedEntity entry, Time now);
  client::Effects decide_pod(const SchedulingContext& context, QueuedEntity entry, const api::Pod& pod,
                             Time now);
  client::Effects decide_group(const SchedulingContext& context, QueuedEntity entry,
                               const api::PodGroup& group, Time now);
  GroupInput input_of(const SchedulingContext& context, const api::PodGroup& group, Time now) const;
  client::Effects bind_group(const SchedulingContext& context, QueuedEntity entry, const GroupInput& input,
                             const GroupOutcome& outcome, model::Ledger::Transaction& transaction,
                             const std::string& id, Time now);
  client::Effects refuse_group(const SchedulingContext& context, QueuedEntity entry, const GroupInput& input,
                               const GroupOutcome& outcome, const std::string& id, Time now);
  void audit(const client::View& view, Time now);
  void keep_room(const SchedulingContext& context, const EntityKey& key);
  model::Hold find_room(const SchedulingContext& context, const EntityKey& key,
                        std::span<const model::NodeId> avoided);
  bool place_entry(const SchedulingContext& context, const api::Pod& pod,
                   std::span<const model::NodeId> avoided, model::Ledger::Transaction& transaction);
  bool place_entry(const SchedulingContext& context, const api::PodGroup& group,
                   std::span<const model::NodeId> avoided, model::Ledger::Transaction& transaction);
  void remove_lower(const SchedulingContext& context, std::int32_t priority,
                    model::Ledger::Transaction& transaction);
  void forget_overtaken(const EntityKey& key, Time now);
  // Nodes and devices of the pod's failed bindings.
  AvoidSet avoid_set(const api::Pod& pod, Time now) const;
  SchedulingContext context_at(const client::View& view, Time now);
  void enqueue(const QueuedEntity& entry, Time now);
  void put_back(QueuedEntity entry, const GroupInput& input, Time now);
  client::Effects bind_pod(const SchedulingContext& context, QueuedEntity entry, const api::Pod& pod,
                           const PodDecision& decision, const std::string& id, Time now);
  client::Effects refuse_pod(const SchedulingContext& context, QueuedEntity entry, const api::Pod& pod,
                             PodDecision decision, bool avoids, const std::string& id, Time now);
  void log(DecisionRecord record);
  void log_gate(const EntityKey& key, std::string why, Time now);
  std::string next_decision(const EntityKey& key, Time now);

  SchedulerOptions options_;
  DecisionLog* decisions_;
  InputLog* inputs_;
  model::Cluster cluster_;
  dra::TaintRules taint_rules_;
  DecisionCore core_;  // seeded from the inputs of each decision
  SchedulingQueue queue_;
  bool leading_ = false;  // apply() keeps the queue and conditions too
  client::Leadership leadership_;
  DirtyEntities dirty_;
  ConditionUpdater conditions_;
  Withdrawals withdrawals_;
  TermSeals seals_;
  bool sealing_ = false;  // pods that ask for devices are gated
  OvertakingGuard overtaking_;
  LateAllocations late_;
  model::Audit audit_;
  Time next_audit_;
  std::map<std::string, InFlight> in_flight_;      // by decision
  std::map<std::string, EntityKey> deallocating_;  // refused decisions whose deallocations are in flight
  std::set<std::string, std::less<>>
      written_gangs_;  // decisions that were written in full and still have requests
  BindFailureAvoidList avoid_list_;
  DecisionFailures failures_;
  DeviceWaitErrors device_waits_;
  std::uint64_t sequence_ = 0;
  std::uint64_t state_digest_ = 0;  // of all live objects' versions, independent of their order
  std::uint64_t latest_digest_ = 0;
};

}  // namespace berth::scheduling
