// What is ill, closed or unknown now, why and since when, and what became so or recovered lately. What was
// ill when its node was first seen is no change, nor is its recovery: new nodes are not ready at first.
//
// Owner: the Board. Cost: O(devices) a page and a note(), and one parsed report for each node with devices
// that are shown.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>

#include "base/json.h"
#include "dashboard/floor.h"

namespace berth::dashboard {

inline constexpr std::size_t kIllShownMax = 1000;  // nodes, and devices
inline constexpr std::size_t kHealthChangesMax = 256;
inline constexpr std::size_t kMovedShownMax = 256;

class HealthPage {
 public:
  // Notes what became ill or recovered since the last call.
  void note(const Floor& floor, Time now);
  // Notes a pod that now has to leave, by its condition DisruptionTarget, since its node or a device of it is
  // ill or gone.
  void note_pod(const api::Pod* before, const api::Pod& after, Time now);
  // `total`: nodes, and devices that are worse than their node; both are listed, at
  // most kIllShownMax each. `since`: as the objects say, else when it was noted, else empty.
  // `reportingNodes`: those with a NodeDeviceHealth. The latest change and the latest pod first.
  //
  //     {"total","reportingNodes","nodes":[{"node","condition","reason","since","devices","inUse"}],
  //      "devices":[{"node","driver","device","condition","reason","since","owner"}],
  //      "changes":[{"time","what","condition"}],
  //      "moved":[{"time","namespace","name","group","node","reason","message"}]}
  Json page(const client::View& view, const Floor& floor) const;

 private:
  struct Ill {
    Condition condition = Condition::Healthy;
    std::string node;
    Time since;  // not set: when this began to watch it was so already
  };
  using IllThings = std::map<std::string, Ill>;  // by "node NAME" or "device NODE/NAME"
  Time since_noted(const std::string& what) const;
  void date(IllThings& ill, Time now) const;

  IllThings known_;
  std::set<std::string> noted_;       // whose illness is among the changes
  std::set<std::string> nodes_seen_;  // by the last note
  std::uint64_t layout_seen_ = 0;     // that nodes_seen_ are of
  std::deque<Json> changes_, moved_;
};

}  // namespace berth::dashboard
