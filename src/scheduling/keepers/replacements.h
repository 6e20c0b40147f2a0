// Members that leave failed nodes: who is evicted, and the room that is kept for the successors.
//
// One replacement a group. Its room is held against equal and lower priorities until the group is whole
// again, at most kReplacementMax after the last members that began to leave. Each member has a room of its
// own, which ends when a successor has a place. Lost members without room stay, and may follow later.
// Level-triggered: a member that the view shows alive on a failed node is evicted until the API has accepted
// that. It is evicted through the Eviction API alone, and a refusal by a budget is repeated with backoff.
// After a restart nothing is known here: members that are still there are found again, those that left come
// as late members. Owner: the scheduler, one thread. Cost: O(log n) a call. Memory: proportional to the
// groups whose policy replaces failed nodes, and to the members under way, at most kReplacedPodsMax.
#pragma once

#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "client/decider.h"
#include "model/scoped_hold.h"
#include "placement/replacement/lost_places.h"
#include "placement/replacement/replacement.h"
#include "scheduling/keepers/policy_members.h"
#include "scheduling/keepers/retried_writes.h"

namespace berth::scheduling {

inline constexpr Duration kReplacementMax = Duration::minutes(5);
inline constexpr Duration kSpareSearchEvery = Duration::seconds(10);  // after a search or a room in vain
inline constexpr Duration kPlacesSettle = Duration::millis(100);      // changes of a group are seen together
inline constexpr std::size_t kReplacedPodsMax = 16'384;               // under way; beyond, groups wait
inline constexpr std::size_t kReplacementsInFlightMax = 64;           // writes
inline constexpr std::size_t kPlacesLooksMax = 16;                    // groups in one turn
inline constexpr std::size_t kNodesInReportMax = 4;
inline constexpr std::string_view kReplacementWrites = "replacements";  // client::Effects::decision_id

struct LeavingPod {
  std::string uid;
  std::string why;   // "node-7 is not ready"
  std::string room;  // node of the successor; empty: of a member that waits for none
  std::string scheduler_name;
};

struct SuccessorRoom {
  std::string node;
  model::ScopedHold hold;
  std::shared_ptr<const api::Pod> leaves;
  std::size_t members_there = 0;  // healthy ones on the node when the room was found
};

struct Replacement {
  std::string uid;  // of the group
  placement::ReplacementScope scope = placement::ReplacementScope::Domain;
  std::size_t size = 0;                       // members of the whole group
  std::map<std::string, LeavingPod> leaving;  // by name
  std::list<SuccessorRoom> rooms;             // the oldest hold first
  std::string where;                          // " in rack r1", or empty
  std::string message;                        // of its report
  Time until;
};

// What a policy's status says of a group with members on failed nodes.
struct ReplacementReport {
  // Later ones are worse. Postponed: too many pods move already.
  enum class State : std::uint8_t { Replacing, Postponed, BudgetRefuses, NoSpare };
  State state = State::Replacing;
  std::string message;
  friend bool operator==(const ReplacementReport&, const ReplacementReport&) = default;
};
std::string_view name_of(ReplacementReport::State state);
using ReplacementReports = std::map<GroupKey, ReplacementReport>;

class Replacements {
 public:
  // The group is looked at then, or at an earlier time that was asked for.
  void want_look(const GroupKey& group, Time at);
  // A group that is due.
  std::optional<GroupKey> next_look(Time now);

  const Replacement* find(const GroupKey& group) const;
  // A hold of the group's rooms, the first one; none: it has no room.
  std::optional<model::Ledger::HoldId> hold_of(const GroupKey& group) const;
  // The holds of all its rooms.
  void add_holds(const GroupKey& group, std::vector<model::HoldId>& holds) const;
  bool full() const { return leaving_.size() >= kReplacedPodsMax; }
  // More members of the group are evicted from now on. Without a replacement under way this one begins; else
  // that one keeps its size and scope.
  void add(const GroupKey& group, Replacement more, Time now);
  // `nodes`: one of each healthy member, the youngest first. Ends rooms on nodes that have more members than
  // when the room was found, and others until no more than `count` are left: first on these nodes, then the
  // latest. True if one ended.
  bool keep_rooms(const GroupKey& group, std::size_t count, std::span<const std::string> nodes);
  // The member, whose place is good again, is not evicted. The room of its successor ends.
  void keep_member(const GroupKey& group, const std::string& pod);
  void set_message(const GroupKey& group, std::string message);
  // Ends the group's replacement and its rooms. True if it had one.
  bool end(const GroupKey& group);
  // Members that leave and are still there, of a group that leaves as a whole.
  std::size_t left_of_whole(const client::View& view, const GroupKey& group) const;

  // True if the report is another one; nothing: all members have their places.
  bool report(const GroupKey& group, std::optional<ReplacementReport> report);
  const ReplacementReports& reports() const { return reports_; }
  bool is_refused(const GroupKey& group) const;

  // Evictions that are due.
  client::Effects due(const client::View& view, Time now);
  // Returns the group of the pod that was to be evicted.
  std::optional<GroupKey> write_done(const client::ChainOutcome& outcome, Time now);
  std::optional<Time> next_time() const;
  std::size_t size() const { return replacements_.size(); }
  const std::map<GroupKey, Replacement>& all() const { return replacements_; }

 private:
  struct Leaving {
    GroupKey group;
    bool refused = false;  // by a budget, the last time
  };

  std::map<GroupKey, Time> look_at_;
  std::set<std::pair<Time, GroupKey>> looks_;  // the same
  std::map<GroupKey, Replacement> replacements_;
  std::map<api::ObjectKey, Leaving> leaving_;
  RetriedWrites writes_;
  std::size_t in_flight_ = 0;
  ReplacementReports reports_;
  std::vector<client::EventNote> events_;  // of accepted evictions
};

}  // namespace berth::scheduling
