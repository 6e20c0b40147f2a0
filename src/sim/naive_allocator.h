// Allocates devices and validates allocations by the plainest reading of the rules: tries everything, caches
// nothing. The reference of the storms' checkers; shares no code with the allocator or CEL.
//
// Knows the selectors that storms use (storm_needs.cc), each as a hand-written predicate. Owner: one checker.
// Cost: DevicesInUse O(devices); a search at most kNaiveStepsMax devices.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "sim/stored_state.h"

namespace berth::sim {

inline constexpr std::size_t kNaiveStepsMax = 20'000;  // devices tried for the claims of one pod

enum class Naive : std::uint8_t { No, Yes, Unknown };  // Unknown: out of steps

// Whether there is a predicate for this CEL text.
bool knows_selector(std::string_view selector);
// Whether the class and the selectors accept this device. False for an unknown selector or class.
bool is_selected(const StoredState& state, const StoredWant& want, const StoredDevice& device);
bool is_tolerated(const StoredWant& want, const StoredTaint& taint);
// The consumption of a share with this request; false when the device's policy refuses it.
bool share_of(const StoredDevice& device, const StoredAmounts& asked, StoredAmounts& amounts);

// Devices of complete pools in their newest generation, by key.
std::vector<const StoredDevice*> usable_devices(const StoredState& state);

// The fault of an allocation by itself: requests, selectors, taints of drivers, shares, constraints, nodes.
// Empty without one. Devices that were never published are not judged.
std::string fault_of_allocation(const StoredState& state, const StoredClaim& claim);

// The devices of existing allocations, and of a trial on top of them.
class DevicesInUse {
 public:
  // Of every allocated claim. `state` outlives it.
  explicit DevicesInUse(const StoredState& state);

  // Allocates devices for all of these requests on the node, or for none of them. Yes: they are taken.
  Naive allocate(std::span<const StoredClaim* const> claims, const std::string& node);

 private:
  struct Use {
    bool whole = false;
    std::int64_t shares = 0;
    StoredAmounts consumed;
  };
  struct Pick {
    const StoredDevice* device;
    const StoredWant* want;
    std::size_t claim;
    StoredAmounts consumed;
  };
  struct Trial {
    std::span<const StoredClaim* const> claims;
    std::vector<const StoredDevice*> devices;  // that this node may use
    std::vector<Pick> picks = {};
    std::size_t steps = 0;
  };

  Naive request(Trial& trial, std::size_t claim, std::size_t request);
  Naive choose(Trial& trial, std::size_t claim, std::size_t request, const StoredWant& want, std::size_t from,
               std::int64_t left);
  Naive take_all(Trial& trial, std::size_t claim, std::size_t request, const StoredWant& want);
  bool take(Trial& trial, std::size_t claim, const StoredWant& want, const StoredDevice& device);
  void give_back(Trial& trial);
  bool is_used(const std::string& key) const;
  std::vector<const StoredDraw*> draws_beside(const StoredDraw& draw) const;
  bool is_overdrawn(const StoredDraw& draw, std::int64_t amount) const;
  bool is_fed(const StoredDevice& device) const;
  bool constraints_hold(const Trial& trial, std::size_t claim) const;

  const StoredState& state_;
  std::vector<const StoredDevice*> usable_;
  std::map<std::string, Use> use_;
  std::set<std::string> overdrawn_pools_;
};

}  // namespace berth::sim
