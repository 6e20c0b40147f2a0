// Moves pods so that whole domains have no device in use, or so that what waits fits: where it is switched
// on.
//
// Each interval it asks placement/defragmentation for the moves of one domain; the budgets bound them. In the
// mode Report they become events. In the mode Evict the rooms of the pods and of what waits are held, and
// keepers/relocations evicts. It gives a set up when what waits has a place, when a node with a room closes,
// or when the time is over. Owner: the scheduler, one thread. Cost of a search: O(pods), and the search's.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "placement/decision_core.h"
#include "placement/defragmentation/defragmentation.h"
#include "scheduling/decision_log.h"
#include "scheduling/loop_state.h"

namespace berth::scheduling {

inline constexpr std::size_t kRefusedLooksMax = 1024;  // entries that wait, in one search

class Defragmenter {
 public:
  // All outlive it; a null log keeps nothing.
  Defragmenter(LoopState& loop, DecisionCore& core, DecisionLog* decisions)
      : loop_(loop), core_(core), decisions_(decisions) {}

  // What waits, as a decision takes it; none: it cannot be tried.
  using WaitingOf =
      std::function<std::optional<placement::WaitingEntity>(const SchedulingContext&, const EntityKey&)>;
  // Evictions and events that are due.
  client::Effects due(const SchedulingContext& context, const WaitingOf& waiting_of);
  void write_done(const client::ChainOutcome& outcome, Time now);

 private:
  struct Waiting {
    std::vector<placement::WaitingEntity> entities;
    std::vector<std::int32_t> priorities;
  };
  client::Effects search(const SchedulingContext& context, const WaitingOf& waiting_of);
  Waiting waiting(const SchedulingContext& context, const WaitingOf& waiting_of) const;
  std::set<model::PodId> staying(const client::View& view) const;
  placement::DefragmentationPlan find(const placement::DefragmentationQuestion& question);
  client::Effects report(const placement::DefragmentedDomain& domain, const std::string& gain);
  void begin(const SchedulingContext& context, const placement::DefragmentedDomain& domain,
             const Waiting& waiting, std::string gain);
  void follow(const SchedulingContext& context);
  bool is_open(const client::View& view, const std::string& node, const api::Pod& pod) const;
  void end(const SchedulingContext& context, DefragmentationResult result);
  void note(Time now, DefragmentationResult result, std::string text, std::size_t whole_domains = 0) const;

  LoopState& loop_;
  DecisionCore& core_;
  DecisionLog* decisions_;
};

}  // namespace berth::scheduling
