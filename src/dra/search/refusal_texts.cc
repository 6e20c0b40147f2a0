#include "dra/search/refusal_texts.h"

#include <algorithm>

#include "dra/pools/attribute_names.h"

namespace berth::dra {
namespace {

std::string names_of_groups(const NodePool& pool, const std::vector<std::uint32_t>& groups) {
  std::vector<std::string> names;
  for (const std::uint32_t group : groups)
    names.push_back(pool.group_names.text(DenseId<struct GroupTag>(group)));
  std::sort(names.begin(), names.end());
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) text += (i ? ", " : "") + names[i];
  return text;
}

std::string counted_groups(const NodePool& pool, const std::vector<std::uint32_t>& groups) {
  if (groups.empty()) return "no group";
  return (groups.size() == 1 ? "group " : "groups ") + names_of_groups(pool, groups);
}

std::string missing_capacity_text(const api::Device& device, const std::string& name) {
  std::set<std::string> names;
  for (const auto& [own, capacity] : device.capacity) names.insert(own);
  return "it has no capacity " + name + nearest_attributes_text(name, names);
}

}  // namespace

std::string path_of(const NodeDevices& devices, DeviceRef place) {
  const api::ResourceSlice& slice = *devices.slice_at(place).live;
  return slice.driver + "/" + slice.pool + "/" + slice.devices[place.device].name;
}

SearchOutcome fail_on_selector(SearchContext& context, const api::ResourceClaim& claim,
                               const CompiledSubRequest& sub, DeviceRef place) {
  SelectorFault fault =
      context.inventory.fault_of(context.devices->slice_at(place), sub.selectors, place.device);
  return context.fail((fault.of_class ? "class " + sub.spec->device_class : text_of(claim)) + ": selector #" +
                          std::to_string(fault.index) + " on device " + path_of(*context.devices, place) +
                          ": " + fault.text,
                      std::move(fault.hint));
}

std::string capacity_error(const SearchContext& context, RequestRef at, DeviceRef place, const Error& error) {
  return text_of(context.claim(at)) + ", request " + context.sub(at).spec->name +
         ": checking capacity for device " + path_of(*context.devices, place) + ": " + error.message();
}

std::string constraint_error(const SearchContext& context, RequestRef at, DeviceRef place) {
  return text_of(context.claim(at)) + ", request " + context.sub(at).spec->name + ": cannot add device " +
         path_of(*context.devices, place) + " because a claim constraint would not be satisfied";
}

std::string derivation_error(const SearchContext& context, DeviceRef place, const std::string& attribute,
                             const std::string& error) {
  return "evaluate derived attribute " + attribute + " on device " + path_of(*context.devices, place) +
         " failed: " + error;
}

std::string small_capacity_text(const api::Device& device, bool shared, const CapacityMap& requested) {
  for (const auto& [name, amount] : requested) {
    const auto found = device.capacity.find(name);
    if (found == device.capacity.end()) return missing_capacity_text(device, name);
    const api::DeviceCapacity& capacity = found->second;
    if (!shared && amount > capacity.value)
      return "its capacity " + name + " is " + capacity.value.text() + ", " + amount.text() + " is asked for";
    if (!shared || !capacity.policy || amount == capacity.policy->default_value) continue;
    const std::optional<Quantity> most = largest_share(*capacity.policy);
    if (most && amount > *most)
      return "a share of its capacity " + name + " is " + most->text() + " at most, " + amount.text() +
             " is asked for";
  }
  return "its capacity is smaller than asked for";
}

std::string short_capacity_text(const std::string& name, const api::DeviceCapacity& capacity,
                                const Quantity& left, const Quantity& amount, const CapacityMap& requested) {
  std::string text = "capacity " + name + " has " + left.text() + " of " + capacity.value.text() + " left, " +
                     amount.text() + " is needed";
  const auto asked = requested.find(name);
  if (asked == requested.end())
    return text + (capacity.policy && capacity.policy->default_value ? " (its default" : " (all of it") +
           ": the request names no amount)";
  return asked->second == amount ? text : text + " (" + asked->second.text() + ", rounded up)";
}

std::string group_text(const NodePool& pool, const std::string& node, const CounterDraw& draw,
                       const GroupState& held) {
  const std::string offers =
      draw.groups.size() == 1 ? names_of_groups(pool, draw.groups) : counted_groups(pool, draw.groups);
  return "counter set " + pool.set_names[draw.set] + " on " + node + " holds " +
         counted_groups(pool, held.groups) + "; the device offers " + offers;
}

std::string short_counter_text(const NodePool& pool, const std::string& node, std::uint32_t counter,
                               const Quantity& left, const Quantity& amount) {
  return "counter " + pool.counter_names[counter] + " on " + node + " has " + left.text() + " of " +
         pool.declared[counter].text() + " left, " + amount.text() + " is needed";
}

std::string overdrawn_text(const NodePool& pool, const std::string& node) {
  std::size_t counter = 0;
  while (counter + 1 < pool.available.size() && !pool.available[counter].is_negative()) ++counter;
  return "counter " + pool.counter_names[counter] + " on " + node + " has " + pool.available[counter].text() +
         " of " + pool.declared[counter].text() +
         " left: until that is given back no device of its pool fits that draws from counters";
}

std::string taint_text(const api::Taint& taint) {
  return "its taint " + api::to_text(taint) + " is not tolerated";
}

std::string constraint_text(bool is_match, const std::string& attribute, const Slice& slice,
                            const api::Device& device, bool has_value) {
  if (!has_value && attribute_of(device, slice.live->driver, attribute))
    return "its attribute " + attribute + " has no value that can be compared";
  if (!has_value) {
    std::set<std::string> names;
    add_attribute_names(names, slice.live->driver, device);
    return "it has no attribute " + attribute + nearest_attributes_text(attribute, names);
  }
  return (is_match ? "it differs in " : "it is not distinct in ") + attribute +
         " from the devices chosen before";
}

}  // namespace berth::dra
