// Pods that move so that a domain becomes whole, or so that something that waits fits: who is evicted, and
// the room that is kept for what waits. Rooms of the moved pods are in SuccessorRooms.
//
// At most one set of moves is under way. Level-triggered: a pod of the set that the view shows alive on its
// node is evicted until the API has accepted that. It is evicted through the Eviction API alone, and a
// refusal is repeated with backoff. A member of a gang is asked only while the others are enough for its
// minimum. A set ends when all its pods have left and have room no more, when its time is over, or when its
// owner gives it up. After sets in vain the pause before the next search doubles. After a restart nothing is
// known here: what is evicted already comes back and is placed like any other pod. Owner: the scheduler, one
// thread. Cost: O(log n) a call; due() O(members of the group) for each eviction. Memory: at most
// kMovesAtOnceMax pods, and a time for each move of the last hour.
#pragma once

#include <array>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "client/decider.h"
#include "model/scoped_hold.h"
#include "placement/defragmentation/defragmentation.h"
#include "scheduling/keepers/retried_writes.h"

namespace berth::scheduling {

// Report: the moves are searched and reported as events, and nobody is evicted.
enum class DefragmentationMode : std::uint8_t { Never, Report, Evict };
inline constexpr std::array<std::string_view, 3> kDefragmentationModes = {"Never", "Report", "Evict"};
// Nothing for a name that is not in the table; case-sensitive.
std::optional<DefragmentationMode> defragmentation_mode_of(std::string_view name);

inline constexpr std::int64_t kMovesAtOnceMax = 1024;
inline constexpr std::int64_t kMovesAnHourMax = 10'000;
inline constexpr Duration kRelocationMax = Duration::minutes(5);  // after the longest grace
inline constexpr Duration kRelocationLookEvery = Duration::seconds(1);
inline constexpr std::uint32_t kVainDoublingsMax = 6;
inline constexpr std::string_view kRelocationWrites = "relocations";  // client::Effects::decision_id

struct DefragmentationSettings {
  DefragmentationMode mode = DefragmentationMode::Never;
  std::string level;  // of the Topology default, or a node label; empty: its narrowest level above hosts
  Duration interval = Duration::minutes(5);  // between two searches
  std::int64_t moves_at_once = 8;
  std::int64_t moves_an_hour = 60;
  std::int64_t ratio = 2;  // devices gained for each device moved, at least
};

struct RelocatedPod {
  std::string uid;
  std::string from, to;  // nodes
  std::string scheduler_name;
  std::string group;  // PodGroup in its namespace; empty: none
};

struct Relocation {
  std::string gain;  // "3 moves make rack-7 whole: …"
  std::map<api::ObjectKey, RelocatedPod> pods;
  std::map<placement::EntityKey, model::ScopedHold> served;  // what waits and fits then
  bool serves = false;                                       // some did at the beginning
  Time until;
};

class Relocations {
 public:
  explicit Relocations(const DefragmentationSettings& settings) : settings_(settings) {}

  // Whether the set, or without one the cluster, is to be looked at. The first search is one interval after
  // the first call.
  bool look_is_due(Time now);
  // Moves that the budgets permit now.
  std::size_t moves_left(Time now) const;
  // Null: none.
  const Relocation* under_way() const { return set_ ? &*set_ : nullptr; }
  // None is under way.
  void begin(Relocation set, Time now);
  // Ends the set. `in_vain`: it did not reach its aim.
  void end(bool in_vain, Time now);
  // The next look at the set is a moment later, and that at the cluster an interval.
  void wait(Time now);
  // Whether these moves are others than those that were reported last.
  bool is_news(const std::string& moves);

  // What waits is placed or gone, or evicts others: its room ends. True if it had one.
  bool forget(const placement::EntityKey& key);
  std::optional<model::HoldId> hold_of(const placement::EntityKey& key) const;

  // Evictions that are due.
  client::Effects due(const client::View& view, Time now);
  // True if the API has accepted that the pod leaves.
  bool write_done(const client::ChainOutcome& outcome, Time now);
  std::optional<Time> next_time() const;

 private:
  enum class Step : std::uint8_t { Waiting, Asked, Leaving };
  void leaves(const api::ObjectKey& key, Time now);
  bool is_beyond_minimum(const client::View& view, const api::ObjectKey& key, const RelocatedPod& pod) const;

  const DefragmentationSettings settings_;
  std::optional<Relocation> set_;
  std::map<api::ObjectKey, Step> steps_;
  RetriedWrites writes_;
  Time next_look_;
  std::uint32_t in_vain_ = 0;  // sets, one after the other
  std::string reported_;
  std::deque<Time> moves_;                 // of the last hour, or longer ago
  std::vector<client::EventNote> events_;  // of accepted evictions
};

// The pod while it is on its node; null: it has left.
const api::Pod* still_there(const client::View& view, const api::ObjectKey& key, const RelocatedPod& pod);

}  // namespace berth::scheduling
