// Places a whole group: tries every member on each candidate placement, and keeps the best feasible one.
//
// Owner: the scheduler. All tentative changes are in the caller's transaction; a refused group leaves it
// unchanged. Placements that fit counts rule out are not tried. The others are tried in the order of their
// highest possible score, and the first that takes every member ends the search if no later one can score
// more (PlacementScorer::known_before_placing). The result equals that of trying all placements. Where none
// takes the group in the members' own order, all choices of nodes and devices are searched (group_search.cc),
// unless GroupBound proves that they cannot help. Source: KEP-4671 (gang), KEP-5732 (placements); texts of
// kube-scheduler 1.37.0.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "client/decider.h"
#include "placement/groups/group_bound.h"
#include "placement/groups/group_fit.h"
#include "placement/groups/group_input.h"
#include "placement/index/domains.h"
#include "placement/index/node_positions.h"
#include "placement/index/signature_cache.h"
#include "placement/search/gang_problem.h"

namespace berth::placement {

// Steps of the search in one attempt after the first descents failed.
inline constexpr std::size_t kGroupStepsMax = 65'536;
// Nodes judged in one attempt for the proof that a group does not fit.
inline constexpr std::size_t kGroupProofNodesMax = 1024;

// NodesAlone, without the gate TopologyAwareWorkloadScheduling: topology keys are not read, and sentences do
// not count placements.
enum class Placements : std::uint8_t { NodesAlone, ByTopology };

class GroupCycle {
 public:
  // A proof judges at most `proof_nodes_max` nodes.
  GroupCycle(const Profiles& profiles, DomainIndex& domains, SignatureCache& signature_cache,
             Placements placements, std::size_t proof_nodes_max)
      : profiles_(profiles),
        domains_(domains),
        signature_cache_(signature_cache),
        pods_(profiles, domains),
        placements_(placements),
        proof_nodes_max_(proof_nodes_max) {}

  GroupOutcome run(const SchedulingContext& context, const GroupInput& input,
                   model::Ledger::Transaction& transaction);
  // The same, whatever is wished and not required.
  GroupOutcome run_as_required(const SchedulingContext& context, const GroupInput& input,
                               model::Ledger::Transaction& transaction);
  // Why no placement takes the group.
  GroupOutcome refuse(const SchedulingContext& context, const GroupInput& input,
                      model::Ledger::Transaction& transaction);
  // The best of these placements that takes as many members as are needed, and no others. The outcome is else
  // Unschedulable without a refusal, and `unproved` says why that proves nothing, if so.
  GroupOutcome run_among(const SchedulingContext& context, const GroupInput& input, const GroupScope& scope,
                         model::Ledger::Transaction& transaction, std::string_view& unproved);
  // The placements that run() would try; none if the input has an error.
  std::vector<Placement> placements(const SchedulingContext& context, const GroupInput& input,
                                    model::Ledger::Transaction& transaction);
  struct RoomyPlacement {
    Placement placement;
    std::int64_t most = 0;  // members that it takes, as far as they were counted
  };
  // The same, those first that take most members by counts.
  std::vector<RoomyPlacement> roomiest_placements(const SchedulingContext& context, const GroupInput& input,
                                                  model::Ledger::Transaction& transaction);
  // On one of them: as many as needed are placed, or the outcome is Unschedulable without a refusal.
  GroupOutcome run_on(const SchedulingContext& context, const GroupInput& input, const GroupTrial& trial,
                      model::Ledger::Transaction& transaction);
  // The members of several groups, all choices of nodes and devices together. The outcome has the members of
  // all parts, in their order; if they are not placed, `unproved` says why that proves nothing, if so.
  GroupOutcome run_together(const SchedulingContext& context, std::span<const GroupPart> parts,
                            Budget& budget, model::Ledger::Transaction& transaction,
                            std::string_view& unproved);
  // Why the placement does not take the group.
  GroupOutcome refuse_on(const SchedulingContext& context, const GroupInput& input, const GroupTrial& trial,
                         model::Ledger::Transaction& transaction);
  const PodCycle& pods() const { return pods_; }
  const PluginSet& plugins_of(const GroupInput& input) const;
  // How many of the members each of the nodes takes at most, by filters and resources.
  std::vector<std::int64_t> rooms(const SchedulingContext& context, const GroupInput& input,
                                  std::span<const NodeId> nodes, model::Ledger::Transaction& transaction);
  // What every member asks for at least, of the resources that limit how many a node takes.
  model::ResourceAmounts least_requests(const SchedulingContext& context, const GroupInput& input) const;

 private:
  struct Evaluation {
    bool feasible = false;
    bool complete = false;  // every member found a node
    Progress progress;
    std::string error;
    std::string hint;        // ours, about the error
    std::string hint_pod;    // that it is about
    bool explained = false;  // refused members have their refusals
    PlacementResult result;
    std::vector<MemberOutcome> members;
    bool is_applied = false;  // the transaction has it
    model::Plan plan;         // of a feasible one that the transaction does not have
  };
  enum class MemberRefusals : std::uint8_t { Omit, Make };
  using Evaluations = std::map<std::size_t, Evaluation>;  // by the placement's index
  struct Run;

  Run make_run(const SchedulingContext& context, const GroupInput& input,
               model::Ledger::Transaction& transaction, Topology* topology,
               std::shared_ptr<const WaitingMembers> members = nullptr);
  Run make_run(const SchedulingContext& context, const GroupInput& input, const GroupTrial& trial,
               model::Ledger::Transaction& transaction);
  Topology* required_topology(const SchedulingContext& context, const GroupInput& input);
  Result<std::vector<Placement>> generate(const Run& run) const;
  // Each placement with the members in their own order.
  std::optional<GroupOutcome> attempt(Run& run);
  Evaluations feasible_of(Run& run, const std::vector<Placement>& placements,
                          std::vector<std::size_t> indices);
  enum class Keep : std::uint8_t { Nothing, IfComplete };
  Evaluation evaluate(Run& run, const Placement& placement, MemberRefusals refusals, Keep keep);
  bool try_member(Run& run, const Placement& placement, std::size_t member, Evaluation& evaluation,
                  MemberRefusals refusals);
  RefusalPtr refuse_member(const Run& run, const Placement& placement, const api::Pod& pod);
  NodeId choose(Run& run, const Placement& placement, std::size_t member);
  NodeId choose_again(Run& run, const Placement& placement, std::size_t member);
  void go_down(Run& run, const Placement& placement, MemberRefusals refusals, Evaluation& evaluation);
  static bool is_feasible(const Run& run, const Evaluation& evaluation);
  // group_search.cc
  void refute(Run& run);
  std::optional<GroupOutcome> search(Run& run);
  struct TreeRun;
  std::optional<GroupOutcome> search_on(Run& run, const Placement& placement, std::span<const GangPart> parts,
                                        Budget& budget);
  bool fits(TreeRun& tree, NodeId node, std::span<const std::size_t> members, const DeviceChoice& choice);
  bool place(TreeRun& tree, GangDevices::Seat seat, const DeviceChoice& choice, MemberOutcome& outcome);
  bool accept(TreeRun& tree, std::vector<GangDevices::Seat> seats, const DeviceChoice& choice);
  std::vector<std::size_t> promising(Run& run);
  using Refine = Refinement (PlacementRefiner::*)(const RefinementQuestion&) const;
  std::vector<Placement> refined(Run& run, Refine refine);
  DomainUse use_of_placement(const Run& run, const Placement& placement);
  void order_by_bound(Run& run, const std::vector<Placement>& placements, std::vector<std::size_t>& indices);
  std::vector<std::int64_t> total_scores(Run& run, std::span<const PlacementResult> results, Scorers which);
  static bool known_before_placing(const Run& run);
  std::size_t highest_score(Run& run, const std::vector<Placement>& placements,
                            const Evaluations& evaluations);
  GroupOutcome choose_best(Run& run, const std::vector<Placement>& placements, Evaluations& evaluations);
  GroupOutcome give_up(Run& run);
  template <class Room>
  static std::size_t roomiest(const Run& run, const Room& room_of);
  void explain_closest(Run& run, GroupOutcome& outcome);
  void fill_domains(const Run& run, GroupRefusal& group) const;
  std::int64_t devices_short(const Run& run) const;

  const Profiles& profiles_;
  DomainIndex& domains_;
  SignatureCache& signature_cache_;
  PodCycle pods_;
  const Placements placements_;
  const std::size_t proof_nodes_max_;
  CycleState state_;
  NodePositions positions_;  // of the placement that is tried
};

// The weighted sum of each result's scores. An error, as a sentence, if a plugin leaves its range.
Result<std::vector<std::int64_t>> placement_totals(const PluginSet& plugins, const ScoringQuestion& question,
                                                   Scorers which);

// The order of a group's members: priority, age, name.
bool before_in_queue(const api::Pod* a, const api::Pod* b);

// The rule that the members violate, in Kubernetes' words; empty: none.
std::string members_error(std::span<const api::Pod* const> members, std::int32_t priority);
std::string group_error(const GroupInput& input);
// The same of a gang that lacks members which another scheduler must place.
std::string foreign_error(const GroupInput& input);

}  // namespace berth::placement
