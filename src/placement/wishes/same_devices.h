// The values of an attribute that the devices of all members have in common (rails).
//
// A set of values is tried by hiding all devices with other values. Which sets are tried: those of which so
// many nodes have free devices that all members find room by counts; of members with a place, theirs alone.
// Values of different kinds differ: the string 1 is not the integer 1. Owner: one decision. Cost: O(devices),
// and O(nodes) for each of at most kValueSetsMax sets, once.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "placement/groups/group_cycle.h"

namespace berth::placement {

// Different values of the attribute, and sets of them that are counted.
inline constexpr std::size_t kDeviceValuesMax = 64;
inline constexpr std::size_t kValueSetsMax = 1'024;
// Sets that are tried for one rung.
inline constexpr std::size_t kValueSetsTriedMax = 64;

class SameDevices {
 public:
  // Kind (api::AttributeValue::index()), an integer, or a text.
  using Value = std::tuple<std::size_t, std::int64_t, std::string>;
  using Values = std::vector<Value>;  // ascending

  // `input` has a wish for the same devices; both outlive it.
  SameDevices(const SchedulingContext& context, const GroupInput& input);

  // The sets for so many of the waiting members, those with most room first. Members without such a claim
  // need none.
  std::vector<Values> sets(std::int64_t members);
  // After sets(). False: some sets were not counted.
  bool complete() const { return complete_; }
  // Hides what is not of the set.
  void hide_others(const Values& set, model::Ledger::Transaction& transaction) const;
  // What was decided while others were hidden, without hiding them.
  static void show_again(model::Plan& plan);
  // The values that all members have, with a place or in the outcome; none: they differ.
  std::optional<Values> common(std::span<const MemberOutcome> members) const;
  // Different values on free devices.
  std::size_t value_count();

  static std::vector<std::string> texts(const Values& values);

 private:
  // The set, and for how many members nodes have room, below zero: those with most room come first.
  using CountedSets = std::vector<std::pair<std::int64_t, Values>>;
  struct NodeValues {
    std::uint64_t mask = 0;            // of values with a free device
    std::vector<std::int64_t> counts;  // free devices, by value
  };
  void read();
  void read_claims();
  void read_devices();
  void add_devices(model::PoolId pool, NodeValues& node);
  std::optional<Value> value_of(const api::Device& device, std::string_view driver) const;
  std::size_t index_of(const Value& value);
  void find_sets(CountedSets& sets);
  Values values_of(const api::Allocation& allocation) const;
  std::optional<Values> placed_values(bool& differ) const;
  std::int64_t room(std::uint64_t mask) const;
  Values of_mask(std::uint64_t mask) const;

  const SchedulingContext& context_;
  const model::Cluster& cluster_;
  const GroupInput& input_;
  const WishSameDevices& wish_;
  bool read_ = false;                       // claims and devices
  std::int64_t per_member_ = 1;             // devices, at least
  std::int64_t without_claim_ = 0;          // members
  std::size_t smallest_ = 1, largest_ = 1;  // sets
  std::vector<Value> values_;
  std::vector<std::pair<model::DeviceId, std::size_t>> devices_;  // with a value
  std::vector<NodeValues> nodes_;
  std::optional<CountedSets> sets_;  // counted at the first question
  bool complete_ = true;
};

}  // namespace berth::placement
