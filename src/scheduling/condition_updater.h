// What waiting pods and groups are to be told in a condition: written, and written again, until the view
// shows it.
//
// A condition goes out at once when its status, reason or class changes. When only its words changed (numbers
// that move with every placement of others) it goes out at most once in the interval that its owner names,
// and all of those together at most kRewordsPerSecondMax times a second; `berth explain` has the live words.
// An event goes out with the condition that it belongs to. One that says more than the condition goes out
// alone when only that changed, as seldom as a rewording; what an earlier process told in events is not
// known, and told again. Owner: the scheduler, one thread. Cost: O(log n) a call. Memory: proportional to the
// objects that wait.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "client/decider.h"

namespace berth::scheduling {

inline constexpr Duration kRewordAfter = Duration::seconds(30);
// Of a member: its group tells the numbers, and a group may have thousands of members.
inline constexpr Duration kMemberRewordAfter = Duration::minutes(5);
inline constexpr std::int64_t kRewordsPerSecondMax = 50;
inline constexpr std::size_t kConditionsPerWriteMax = 64;  // chains of one Effects
inline constexpr Duration kConditionRetryFirst = Duration::millis(200);
inline constexpr Duration kConditionRetryMax = Duration::seconds(10);
// That a gang is scheduled stands in the same write as its commit (binding/gang_barrier.h); the scheduler
// writes it where that was not seen within this time: an earlier release committed, or pods were bound
// otherwise.
inline constexpr Duration kCommitTellsWithin = Duration::seconds(1);

struct WantedCondition {
  api::ObjectKey key;  // a Pod or a PodGroup
  std::string uid;
  api::Condition condition;
  std::string wording_class;  // equal for words that differ in numbers only
  Duration reword_after = kRewordAfter;
  std::optional<client::EventNote> event = {};
  // Of a pod that was refused: its status.nominatedNodeName goes with it, as kube-scheduler clears it.
  bool clears_nomination = false;
  Duration grace = {};  // for somebody else to write it first
};

class ConditionUpdater {
 public:
  // Replaces what the object was to be told before.
  void want(const client::View& view, WantedCondition wanted, Time now);
  // The object is not to be told anything any more.
  void drop(const api::ObjectKey& key);
  void clear();

  // Writes that are due, at most kConditionsPerWriteMax; empty when none is.
  client::Effects due(const client::View& view, Time now);
  // What came of a write to this object.
  void write_done(const api::ObjectKey& key, bool ok, Time now);
  // When due() may have something that it does not have now.
  std::optional<Time> next_time() const;
  std::size_t size() const { return entries_.size(); }

 private:
  struct PendingCondition {
    WantedCondition wanted;
    std::string told_class;        // of the latest write
    std::uint64_t told_event = 0;  // digest of the latest event; 0: none is known
    Time told_at;
    Time due;  // not set: nothing to write
    std::uint32_t failures = 0;
    bool under_way = false;
    bool changed = false;  // while a write was under way
  };
  void schedule(const api::ObjectKey& key, PendingCondition& entry, Time at);
  // At the entry's next turn for a rewording, unless it has a time already.
  void schedule_rewording(const api::ObjectKey& key, PendingCondition& entry, Time now);

  std::map<api::ObjectKey, PendingCondition> entries_;
  std::set<std::pair<Time, api::ObjectKey>> due_;
  Time next_reword_;  // the earliest time for another rewording
};

// The sentence without its numbers, its parts sorted: equal for sentences that differ in counts only.
std::string wording_class(std::string_view sentence);

}  // namespace berth::scheduling
