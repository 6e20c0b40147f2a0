// The scheduler: decides where pods and groups of pods go, and writes bind requests. It never binds.
//
// One StatefulDecider that owns queue, model and ledger. decide() takes one entry off the queue and returns
// the writes; the decided place counts as in use from then on. BindRequests are followed until their fate is
// known (client::Write::mark); on_outcome() ends the assumption, and from then on a stored request reserves
// the place. The ledger reads requests of unbound pods, so it survives a restart. `keepers/` has all other
// writes. Deterministic: the same inputs in the same order give the same bytes; ids come from the inputs.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "dra/taint_rules.h"
#include "model/audit.h"
#include "scheduling/defragmenter.h"
#include "scheduling/entry_gate.h"
#include "scheduling/held_rooms.h"
#include "scheduling/input_log.h"
#include "scheduling/intake.h"

namespace berth::scheduling {

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

  const model::Cluster& cluster() const { return loop_.cluster; }
  const SchedulingQueue& queue() const { return loop_.queue; }
  HeldRooms held_rooms() const { return scheduling::held_rooms(loop_); }
  // Entries kept besides the model; 0 in a standby.
  std::size_t remembered() const;

 private:
  void start(const client::View& view, Time now);
  // Writes of TermSeals; after the last one, pods that ask for devices are evaluated.
  client::Effects seal_term(const client::View& view, Time now);
  // Handles the outcome of all other writes; false if it belongs to a decision.
  bool on_other_outcome(const client::View& view, const client::Outcome& outcome, Time now);
  // Reads of owners, and statuses of PlacementPolicies and Topologies.
  client::Effects follow_policies(const client::View& view, Time now);

  client::Effects attempt(const client::View& view, QueuedEntity entry, Time now);
  client::Effects decide_pod(const SchedulingContext& context, QueuedEntity entry, const api::Pod& pod,
                             Time now);
  client::Effects decide_group(const SchedulingContext& context, QueuedEntity entry,
                               const api::PodGroup& group, Time now);
  // None: its policies have a fault.
  std::optional<GroupInput> input_of(const SchedulingContext& context, const api::PodGroup& group,
                                     Time now) const;
  std::string domain_of(const GroupInput& input, model::NodeId node) const;
  client::Effects bind_group(const SchedulingContext& context, QueuedEntity entry, const GroupInput& input,
                             const GroupOutcome& outcome, model::Ledger::Transaction& transaction,
                             const std::string& id, Time now);
  client::Effects refuse_group(const SchedulingContext& context, QueuedEntity entry, const GroupInput& input,
                               const GroupOutcome& outcome, const std::string& id, Time now);
  client::Effects gate_again(const client::View& view, const EntityKey& key, Time now);
  // tree_decision.cc
  std::optional<TreeInput> input_of_tree(const SchedulingContext& context, const EntityKey& root,
                                         Time now) const;
  client::Effects decide_tree(const SchedulingContext& context, QueuedEntity entry, Time now);
  client::Effects bind_tree(const SchedulingContext& context, QueuedEntity entry, const TreeInput& input,
                            const TreeOutcome& outcome, model::Ledger::Transaction& transaction,
                            const std::string& id, Time now);
  client::Effects refuse_tree(const SchedulingContext& context, QueuedEntity entry, const TreeInput& input,
                              const TreeOutcome& outcome, const std::string& id, Time now);
  void tell_refused(const SchedulingContext& context, const EntityKey& key, const TreeInput& input,
                    const TreeOutcome& outcome, const std::string& id, Time now);
  void log_tree(const QueuedEntity& entry, const TreeInput& input, const TreeOutcome& outcome,
                const std::string& id, Time now);
  void put_back(const SchedulingContext& context, QueuedEntity entry, const TreeInput& input,
                const placement::Refusal* refusal, Time now);
  void audit(const client::View& view, Time now);
  // preempting.cc
  Preempting preempting(const SchedulingContext& context, const EntityKey& key, const api::Pod& pod);
  // Of a group, or of a tree's root.
  Preempting preempting(const SchedulingContext& context, const EntityKey& key, const api::ObjectMeta& group);
  void note_delay(const EntityKey& key, const api::ObjectMeta& meta, Time now, Preempting& preempting);
  model::NodeId waits_for(const client::View& view, const EntityKey& key) const;
  // Begins, keeps or gives up the plan of a refused entry.
  void preempt(const SchedulingContext& context, const EntityKey& key, const api::Pod& pod,
               const PodDecision& decision, const std::string& id, client::Effects& effects);
  void preempt(const SchedulingContext& context, const EntityKey& key, const GroupInput& input,
               const GroupOutcome& outcome, const std::string& id, client::Effects& effects);
  void preempt(const SchedulingContext& context, const EntityKey& key, const TreeInput& input,
               const TreeOutcome& outcome, const std::string& id, client::Effects& effects);
  // Of `members`, as many as the plan has nodes.
  void preempt(const SchedulingContext& context, const EntityKey& key, const GroupInput& members,
               const placement::GroupPreemptionPlan* plan, const placement::Refusal& refusal,
               client::EventNote about, client::Effects& effects);
  void give_up_preemption(const EntityKey& key, const placement::Refusal& refusal, Time now);
  struct PreemptionDraft {
    client::EventNote about;  // the preemptor
    std::int32_t priority = 0;
    std::map<std::string, std::string> places;
  };
  void begin_preemption(const SchedulingContext& context, const EntityKey& key,
                        const placement::VictimPlan& found, const placement::Refusal& refusal,
                        PreemptionDraft draft, client::Effects& effects);
  // Of a pod that waits on its node for room to grow in: it is evaluated again when the node changes.
  client::Effects decide_resize(const SchedulingContext& context, QueuedEntity entry, const api::Pod& pod,
                                Time now);
  void end_preemptions(Time now);
  client::Effects evict(const client::View& view, Time now);
  // replacing.cc
  client::Effects replace_failed(const client::View& view, Time now);
  void look_at_places(const SchedulingContext& context, const GroupKey& key);
  bool follow_replacement(const SchedulingContext& context, const GroupInput& input,
                          const placement::LostPlaces& lost);
  void find_spare(const SchedulingContext& context, const GroupInput& input,
                  std::span<const placement::LostPlace> lost);
  void begin_replacement(const SchedulingContext& context, const GroupInput& input,
                         std::span<const placement::LostPlace> lost, placement::ReplacementScope scope,
                         const placement::ReplacementPlan& plan);
  std::optional<GroupInput> replaced_group(const SchedulingContext& context, const GroupKey& key) const;
  void end_replacement(const client::View& view, const GroupKey& key, Time now);
  // overtaking.cc
  void keep_room(const SchedulingContext& context, const QueuedEntity& entry);
  model::Hold find_room(const SchedulingContext& context, const QueuedEntity& entry,
                        std::span<const model::NodeId> avoided);
  model::Hold room_after(const SchedulingContext& context, const QueuedEntity& entry,
                         std::span<const model::NodeId> avoided,
                         const std::function<void(model::Ledger::Transaction&)>& remove);
  bool place_entry(const SchedulingContext& context, const EntityKey& key,
                   std::span<const model::NodeId> avoided, model::Ledger::Transaction& transaction);
  bool place_entry(const SchedulingContext& context, const api::Pod& pod,
                   std::span<const model::NodeId> avoided, model::Ledger::Transaction& transaction);
  bool place_entry(const SchedulingContext& context, const api::PodGroup& group,
                   std::span<const model::NodeId> avoided, model::Ledger::Transaction& transaction);
  bool place_entry(const SchedulingContext& context, const api::CompositePodGroup& root,
                   std::span<const model::NodeId> avoided, model::Ledger::Transaction& transaction);
  // Pods that have a place, by node: waiting ones may be many times as many. Cost: O(nodes and these pods).
  std::vector<const api::Pod*> placed_pods() const;
  bool remove_lower(std::int64_t bound, model::GroupClaims group_claims,
                    model::Ledger::Transaction& transaction);
  void remove_placed(const api::Pod& pod, model::GroupClaims group_claims,
                     model::Ledger::Transaction& transaction);
  bool remove_idle_reservation_pods(model::GroupClaims group_claims, model::Ledger::Transaction& transaction);
  // backfill.cc
  struct KnownEnd {
    Time at;
    const api::Pod* pod;
  };
  struct RoomInTime {
    model::Hold room;
    Time free_at;  // not set: nobody knows
  };
  std::vector<KnownEnd> known_ends(const SchedulingContext& context, std::int64_t bound) const;
  RoomInTime find_earliest_room(const SchedulingContext& context, const QueuedEntity& entry);
  std::optional<model::Ledger::HoldId> backfilled_by(const SchedulingContext& context,
                                                     std::span<const api::Pod* const> pods) const;
  // Nodes and devices of the pod's failed bindings.
  AvoidSet avoid_set(const api::Pod& pod, Time now) const;
  SchedulingContext context_at(const client::View& view, Time now);
  std::optional<placement::WaitingEntity> waiting_entity(const SchedulingContext& context,
                                                         const EntityKey& key) const;
  // `refusal`: null: it has got a place for some of its members.
  void put_back(const SchedulingContext& context, QueuedEntity entry, const GroupInput& input,
                const placement::Refusal* refusal, Time now);
  void put_back(const SchedulingContext& context, QueuedEntity entry,
                std::span<const GroupInput* const> inputs, const placement::Refusal* refusal, Time now);
  client::Effects bind_pod(const SchedulingContext& context, QueuedEntity entry, const api::Pod& pod,
                           const PodDecision& decision, const std::string& id, Time now);
  client::Effects refuse_pod(const SchedulingContext& context, QueuedEntity entry, const api::Pod& pod,
                             PodDecision decision, bool avoids, const std::string& id, Time now);
  void log(DecisionRecord record);
  std::string next_decision(const EntityKey& key, Time now);

  LoopState loop_;
  DecisionLog* decisions_;
  InputLog* inputs_;
  dra::TaintRules taint_rules_;
  DecisionCore core_;  // seeded from the inputs of each decision
  Intake intake_{loop_, core_.profiles()};
  EntryGate gate_{loop_, core_, decisions_};
  Defragmenter defragmenter_{loop_, core_, decisions_};
  bool leading_ = false;  // apply() keeps the queue and conditions too
  model::Audit audit_;
  Time next_audit_;
  std::map<std::string, EntityKey> deallocating_;  // refused decisions whose deallocations are in flight
  std::uint64_t sequence_ = 0;
  std::uint64_t state_digest_ = 0;  // of all live objects' versions, independent of their order
  std::uint64_t latest_digest_ = 0;
};

}  // namespace berth::scheduling
