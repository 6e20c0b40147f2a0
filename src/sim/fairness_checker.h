// I12: no entry is overtaken for ever. Take the entry with the highest priority of all that wait. It is bound
// within kOvertakenMax of lower priorities being bound, if it would fit without those of them that end by
// themselves. A claim that is reserved for a PodGroup does not end with its pods.
//
// A restarted scheduler knows nothing of the time before, so the time starts again; it also starts again when
// the entry was placed and its binding failed.
//
// Judged at every binding, from the stored state alone. Owner: one storm. Cost: O(pods) a binding; a search
// for a placement once that time is over.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/time.h"
#include "sim/stored_state.h"

namespace berth::sim {

// The product reserves room after 20 s, and then pods must end: they run for up to a minute, and a fault may
// stop all progress for as long.
inline constexpr Duration kOvertakenMax = Duration::seconds(240);
// The limit where a pod of lower priority runs for ever: the product cannot know this, and may reserve room
// on its node first.
inline constexpr Duration kOvertakenBesideEndlessMax = Duration::seconds(480);

class FairnessChecker {
 public:
  // `state` outlives it.
  explicit FairnessChecker(const StoredState& state) : state_(state) {}

  // A pod was bound. Returns a sentence when an entry was overtaken for too long; else empty.
  std::string bound(const StoredPod& pod, Time now);
  // A bind request for this pod was written.
  void decided(const StoredPod& pod);
  // A scheduler was restarted, or continued after a pause.
  void scheduler_interrupted() { overtaken_.clear(); }

 private:
  struct QueuedWork {
    std::string name;  // "gang g" or "pod p"
    std::string key;   // topology key
    std::int64_t priority = 0;
    std::vector<const StoredPod*> members;
  };
  QueuedWork highest_waiting() const;
  bool is_decided(const StoredPod& pod) const;
  bool ends_with_group(const std::string& claim) const;
  bool fits_without_lower(const QueuedWork& entry) const;
  bool beside_endless(const QueuedWork& entry) const;

  const StoredState& state_;
  std::string overtaken_;  // the entry at the head of the queue
  Time since_;             // its first overtaking
  Time asked_;             // the time of the latest search for a placement
};

}  // namespace berth::sim
