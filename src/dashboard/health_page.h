// What is ill or closed now, why and since when, and what became so or recovered lately.
//
// Owner: the Board. Cost: O(devices) a page.
#pragma once

#include <deque>
#include <map>
#include <string>

#include "base/json.h"
#include "dashboard/floor.h"

namespace berth::dashboard {

inline constexpr std::size_t kIllShownMax = 1000;  // nodes, and devices
inline constexpr std::size_t kHealthChangesMax = 256;

class HealthPage {
 public:
  // {"total","nodes":[{"node","condition","reason","since","devices","inUse"}],"devices":[{"node","driver",
  // "device","condition","reason","since","owner"}],"changes":[{"time","what","condition"}]}: nodes first;
  // devices that are ill by themselves. The latest change first.
  Json page(const client::View& view, const Floor& floor, Time now);

 private:
  void note(const std::map<std::string, Condition>& ill, Time now);

  std::map<std::string, Condition> known_;
  bool began_ = false;  // what was ill at the start is no change
  std::deque<Json> changes_;
};

}  // namespace berth::dashboard
