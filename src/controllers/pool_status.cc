#include "controllers/pool_status.h"

#include <algorithm>
#include <utility>

#include "api/types/taint_rule.h"

namespace berth::controllers {
namespace {

constexpr std::size_t kErrorBytesMax = 256, kSummaryItemsMax = 32;

using CounterAmounts = std::map<std::pair<std::string, std::string>, Quantity>;  // by set and counter

std::string pool_name(const PoolContents& pool) {
  const api::ResourceSlice& first = *pool.slices.front().slice;
  return first.driver + "/" + first.pool;
}

bool keeps_pods_away(const api::Taint& taint) {
  return taint.effect == api::kNoSchedule || taint.effect == api::kNoExecute;
}

bool is_tainted(const api::ResourceSlice& slice, const api::Device& device,
                const client::TaintRuleList& rules) {
  return std::any_of(device.taints.begin(), device.taints.end(), keeps_pods_away) ||
         std::any_of(rules.begin(), rules.end(), [&](const api::DeviceTaintRule* rule) {
           return !rule->nil_selector && keeps_pods_away(rule->taint) &&
                  rule->selects(slice.driver, slice.pool, device.name);
         });
}

CounterAmounts counters_of(const api::Device& device) {
  CounterAmounts amounts;
  for (const api::CounterConsumption& draw : device.consumes)
    for (const auto& [counter, amount] : draw.counters) amounts[{draw.counter_set, counter}] += amount;
  return amounts;
}

// What is left of the pool's counters; a counter that no set has is in no answer.
CounterAmounts free_counters(const PoolContents& pool) {
  CounterAmounts free;
  for (const PoolSlice& each : pool.slices)
    for (const api::CounterSet& set : each.slice->shared_counters)
      for (const auto& [counter, amount] : set.counters) free[{set.name, counter}] = amount;
  for (const PoolSlice& each : pool.slices)
    for (const api::Device& device : each.slice->devices)
      if (pool.use.devices.contains(device.name))
        for (const auto& [counter, amount] : counters_of(device))
          if (const auto found = free.find(counter); found != free.end()) found->second -= amount;
  return free;
}

// How many devices that each take `cost` can be allocated, of so many.
std::int64_t fit_count(CounterAmounts free, const CounterAmounts& cost, std::int64_t devices) {
  const auto has_room = [&](const auto& row) {
    const auto found = free.find(row.first);
    return found != free.end() && found->second >= row.second;
  };
  std::int64_t count = 0;
  for (; count < devices && std::all_of(cost.begin(), cost.end(), has_room); ++count)
    for (const auto& [counter, amount] : cost) free[counter] -= amount;
  return count;
}

// The device's type: its value of the attribute, which may be written without the driver's domain.
const std::string* partition_type(const api::ResourceSlice& slice, const api::Device& device,
                                  std::string_view attribute) {
  auto found = device.attributes.find(std::string(attribute));
  const std::string domain = slice.driver + "/";
  if (found == device.attributes.end() && attribute.starts_with(domain))
    found = device.attributes.find(std::string(attribute.substr(domain.size())));
  return found == device.attributes.end() ? nullptr : std::get_if<std::string>(&found->second);
}

struct PartitionType {
  std::int64_t total = 0, unallocated = 0;
  CounterAmounts cost;  // of each device
};
using PartitionTypes = std::map<std::pair<std::string, std::string>, PartitionType>;  // attribute, type

// A summary, or why there is none.
struct Summary {
  Json json;
  std::string error;
};

class Partitions {
 public:
  Partitions(const PoolContents& pool, std::string_view default_attribute) : pool_(pool) {
    const bool declares = std::any_of(pool.slices.begin(), pool.slices.end(), [](const PoolSlice& each) {
      return !each.partition_attribute.empty();
    });
    if (!declares) default_attribute_ = default_attribute;
  }

  // Null where no device is grouped.
  Summary summary() {
    bool is_grouped = false, has_counters = false;
    for (const PoolSlice& each : pool_.slices) {
      is_grouped |= !attribute_of(each).empty() && !each.slice->devices.empty();
      has_counters |= !each.slice->shared_counters.empty();
    }
    if (!is_grouped) return {};
    if (!has_counters)
      return {Json(), "PartitionTypeMissing: pool " + pool_name(pool_) +
                          " declares partitionTypeAttribute but publishes no sharedCounters"};
    for (const PoolSlice& each : pool_.slices)
      for (const api::Device& device : each.slice->devices)
        if (std::string error = add(each, device); !error.empty()) return {Json(), std::move(error)};
    if (types_.size() > kSummaryItemsMax)
      return {Json(), "PartitionSummaryOverCap: pool " + pool_name(pool_) + " has " +
                          std::to_string(types_.size()) + " partition types, exceeding the maximum of " +
                          std::to_string(kSummaryItemsMax)};
    return {counted(), ""};
  }

 private:
  std::string_view attribute_of(const PoolSlice& each) const {
    return each.partition_attribute.empty() ? default_attribute_ : each.partition_attribute;
  }

  std::string add(const PoolSlice& each, const api::Device& device) {
    const std::string attribute(attribute_of(each));
    if (device.consumes.empty() || attribute.empty()) return "";
    const std::string* type = partition_type(*each.slice, device, attribute);
    if (!type)
      return "PartitionTypeMissing: device \"" + device.name + "\" in pool " + pool_name(pool_) +
             " does not carry partition type attribute \"" + attribute + "\"";
    PartitionType& group = types_[{attribute, *type}];
    CounterAmounts cost = counters_of(device);
    if (group.total > 0 && cost != group.cost)
      return "PartitionCostMismatch: devices of partition type \"" + *type + "\" in pool " +
             pool_name(pool_) + " consume different counters";
    group.cost = std::move(cost);
    ++group.total;
    if (!pool_.use.devices.contains(device.name)) ++group.unallocated;
    return "";
  }

  Json counted() const {
    const CounterAmounts free = free_counters(pool_);
    JsonArray all;
    for (const auto& [name, group] : types_)
      all.push_back(Json::object({{"attribute", name.first},
                                  {"type", name.second},
                                  {"total", group.total},
                                  {"allocatable", fit_count(free, group.cost, group.unallocated)}}));
    return all;
  }

  const PoolContents& pool_;
  std::string_view default_attribute_;
  PartitionTypes types_;
};

// Of devices that several claims may share; null where the pool has none.
Summary shareable_summary(const PoolContents& pool) {
  std::int64_t unused = 0, used = 0;
  std::map<std::string, Quantity> totals;
  for (const PoolSlice& each : pool.slices)
    for (const api::Device& device : each.slice->devices) {
      if (!device.allow_multiple) continue;
      ++(pool.use.devices.contains(device.name) ? used : unused);
      for (const auto& [name, capacity] : device.capacity) {
        const auto [total, is_first] = totals.try_emplace(name, capacity.value);
        if (!is_first) total->second += capacity.value;
      }
    }
  if (unused + used == 0) return {};
  if (totals.size() > kSummaryItemsMax)
    return {Json(),
            "ShareableSummaryOverCap: pool " + pool_name(pool) + " has " + std::to_string(totals.size()) +
                " shareable capacity keys, exceeding the maximum of " + std::to_string(kSummaryItemsMax)};
  JsonArray capacities;
  for (const auto& [name, total] : totals) {
    const auto found = pool.use.consumed.find(name);
    const Quantity consumed = found == pool.use.consumed.end() ? Quantity() : found->second;
    const Quantity available = std::max(total - consumed, Quantity::of(0, total.format()));
    capacities.push_back(Json::object({{"name", name},
                                       {"total", total.text()},
                                       {"consumed", consumed.text()},
                                       {"available", available.text()}}));
  }
  Json json = Json::object({{"fullyAvailableDevices", unused}, {"partiallyAvailableDevices", used}});
  if (!capacities.empty()) json["capacity"] = std::move(capacities);
  return {std::move(json), ""};
}

void add_counts(const PoolContents& pool, const client::TaintRuleList& rules, Json& status) {
  std::int64_t total = 0, allocated = 0, unavailable = 0;
  for (const PoolSlice& each : pool.slices)
    for (const api::Device& device : each.slice->devices) {
      ++total;
      if (pool.use.devices.contains(device.name))
        ++allocated;
      else if (is_tainted(*each.slice, device, rules))
        ++unavailable;
    }
  status["resourceSliceCount"] = static_cast<std::int64_t>(pool.slices.size());
  status["totalDevices"] = total;
  status["allocatedDevices"] = allocated;
  status["availableDevices"] = total - allocated - unavailable;
  status["unavailableDevices"] = unavailable;
}

void set_error(Json& status, std::string error) {
  if (error.size() > kErrorBytesMax) error.resize(kErrorBytesMax);
  status["validationError"] = std::move(error);
}

}  // namespace

Json pool_status(const PoolContents& pool, const client::TaintRuleList& rules,
                 std::string_view default_attribute) {
  const api::ResourceSlice& first = *pool.slices.front().slice;
  Json status =
      Json::object({{"driver", first.driver}, {"poolName", first.pool}, {"generation", first.generation}});
  const bool on_one_node = std::all_of(pool.slices.begin(), pool.slices.end(), [&](const PoolSlice& each) {
    return each.slice->node_name == first.node_name;
  });
  if (on_one_node && !first.node_name.empty()) status["nodeName"] = first.node_name;
  const auto slices = static_cast<std::int64_t>(pool.slices.size());
  if (slices < first.slice_count) {
    set_error(status, "PoolIncomplete: pool " + pool_name(pool) + " is incomplete: observed " +
                          std::to_string(slices) + "/" + std::to_string(first.slice_count) +
                          " slices at generation " + std::to_string(first.generation));
    return status;
  }
  add_counts(pool, rules, status);
  Summary partitions = Partitions(pool, default_attribute).summary();
  Summary shareable = shareable_summary(pool);
  const std::string& error = partitions.error.empty() ? shareable.error : partitions.error;
  if (!error.empty())
    set_error(status, error);
  else if (!partitions.json.is_null())
    status["partitionSummary"] = std::move(partitions.json);
  if (!shareable.json.is_null()) status["shareableSummary"] = std::move(shareable.json);
  return status;
}

}  // namespace berth::controllers
