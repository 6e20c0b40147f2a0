// I12: nobody is overtaken for ever. Whoever has the highest priority of all that wait, and would stand if
// nothing of lower priority ran that ends by itself, is bound while lower priorities are, within
// kOvertakenMax.
//
// A scheduler that begins anew knows nothing of the time before, and the time begins anew as well; so it does
// where room was found and the binding then failed.
//
// Judged at every binding, from the stored state alone. Owner: one storm. Cost: O(pods) a binding; a search
// for room once that time is over.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/time.h"
#include "sim/stored_state.h"

namespace berth::sim {

// The product keeps room after 20 s, and then pods must end: they run for up to a minute, and a fault may
// keep anybody from working for as long.
inline constexpr Duration kOvertakenMax = Duration::seconds(240);
// Where a pod of lower priority runs for ever: the product cannot know, and may keep room on its node first.
inline constexpr Duration kOvertakenBesideEndlessMax = Duration::seconds(480);

class FairnessChecker {
 public:
  // `state` outlives it.
  explicit FairnessChecker(const StoredState& state) : state_(state) {}

  // A pod was bound. A sentence when somebody was overtaken for too long; else empty.
  std::string bound(const StoredPod& pod, Time now);
  // A bind request for this pod was written.
  void decided(const StoredPod& pod);
  // A scheduler was started again, or went on after a pause.
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
  bool fits_without_lower(const QueuedWork& entry) const;
  bool beside_endless(const QueuedWork& entry) const;

  const StoredState& state_;
  std::string overtaken_;  // the entry that waits at the head
  Time since_;             // its first overtaking
  Time asked_;             // when room was looked for last
};

}  // namespace berth::sim
