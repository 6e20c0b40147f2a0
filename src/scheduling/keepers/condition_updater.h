// The conditions of waiting pods and groups: each is written until the view shows it.
//
// A condition is written at once when its status, reason or class changes, kRefusalsAtOnceMax times in
// kRefusalWindow. A pod whose preemptions are taken over again and again changes it more often. If only its
// words changed (numbers that move with every placement of others), it is written later: at most once in the
// interval that its owner names. All of these together are written at most kRewordsPerSecondMax times a
// second. `berth explain` has the live words. An event is written with its condition. If only the event's
// additional words changed, it is written alone, at the rate of rewordings. Events of an earlier process are
// unknown and are repeated. Owner: the scheduler, one thread. Cost: O(1) a call, O(log n) where something is
// to be written. Memory: proportional to the waiting objects.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <unordered_map>

#include "client/decider.h"

namespace berth::scheduling {

inline constexpr Duration kRewordAfter = Duration::seconds(30);
// For members: their group's condition has the numbers, and a group may have thousands of members.
inline constexpr Duration kMemberRewordAfter = Duration::minutes(5);
inline constexpr std::int64_t kRewordsPerSecondMax = 50;
inline constexpr std::uint32_t kRefusalsAtOnceMax = 4;  // of one object, within:
inline constexpr Duration kRefusalWindow = Duration::seconds(10);
inline constexpr std::size_t kConditionsPerWriteMax = 64;  // chains of one Effects
inline constexpr Duration kConditionRetryFirst = Duration::millis(200);
inline constexpr Duration kConditionRetryMax = Duration::seconds(10);
// The commit of a gang also writes that the group is scheduled (binding/gang_barrier.h). The scheduler writes
// it if the view lacks it after this time: an earlier release committed, or the pods were bound otherwise.
inline constexpr Duration kCommitTellsWithin = Duration::seconds(1);

struct WantedCondition {
  api::ObjectKey key;  // a Pod, a PodGroup or a CompositePodGroup
  std::string uid;
  api::Condition condition;
  std::string wording_class;  // equal for words that differ in numbers only
  Duration reword_after = kRewordAfter;
  std::optional<client::EventNote> event = {};
  // status.nominatedNodeName of a refused pod, written with the condition; empty: cleared. None: it stays.
  std::optional<std::string> nomination = {};
  Duration grace = {};  // for somebody else to write it first
};

class ConditionUpdater {
 public:
  // Replaces the object's wanted condition.
  void want(const client::View& view, WantedCondition wanted, Time now);
  // Whether the view shows the object's wanted condition, or none is wanted.
  bool is_shown(const client::View& view, const api::ObjectKey& key) const;
  // Drops the object's wanted condition.
  void drop(const api::ObjectKey& key);
  void clear();

  // Writes that are due, at most kConditionsPerWriteMax; empty when none is.
  client::Effects due(const client::View& view, Time now);
  // The outcome of a write to this object.
  void write_done(const api::ObjectKey& key, bool ok, Time now);
  // The earliest time at which due() may return more.
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
    Time window_at;             // the first of `written`
    std::uint32_t written = 0;  // within kRefusalWindow
    bool under_way = false;
    bool changed = false;  // while a write was under way
  };
  void schedule(const api::ObjectKey& key, PendingCondition& entry, Time at);
  static void count_write(PendingCondition& entry, Time now);
  // At the entry's next turn for a rewording, unless it has a time already.
  void schedule_rewording(const api::ObjectKey& key, PendingCondition& entry, Time now);

  struct KeyHash {
    std::size_t operator()(const api::ObjectKey& key) const;
  };
  std::unordered_map<api::ObjectKey, PendingCondition, KeyHash> entries_;
  std::set<std::pair<Time, api::ObjectKey>> due_;
  Time next_reword_;  // the earliest time for another rewording
};

// The sentence without its numbers, its parts sorted: equal for sentences that differ in counts only.
std::string wording_class(std::string_view sentence);

}  // namespace berth::scheduling
