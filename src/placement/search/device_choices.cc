#include "placement/search/device_choices.h"

#include <algorithm>

#include "api/types/dra.h"
#include "dra/allocator.h"

namespace berth::placement {
namespace {

void put_text(std::string_view part, std::string& text) {
  text.append(std::to_string(part.size())).append(":").append(part);
}
void put_amount(const Quantity& amount, std::string& text) {
  put_text(amount.text(), text);
}

struct PutValue {
  std::string& text;
  void operator()(std::monostate) const { text += '-'; }
  void operator()(std::int64_t number) const { put_text(std::to_string(number), text); }
  void operator()(bool flag) const { text += flag ? 't' : 'f'; }
  void operator()(const std::string& value) const { put_text(value, text); }
  void operator()(const api::AttributeVersion& version) const { put_text(version.text, text); }
  template <class T>
  void operator()(const std::vector<T>& list) const {
    text += '[';
    for (const T& one : list) (*this)(one);
    text += ']';
  }
};

// Whether device_text() leaves out what may tell the device from others.
bool has_more(const api::Device& device) {
  return !device.node_name.empty() || device.node_selector || device.all_nodes || !device.taints.empty() ||
         device.binds_to_node || !device.binding_conditions.empty() || device.allow_multiple ||
         std::any_of(device.capacity.begin(), device.capacity.end(),
                     [](const auto& one) { return one.second.policy.has_value(); });
}

void put_taken_of_node(const api::Device& device, std::string& text) {
  for (const auto& [resource, takes] : device.node_allocatable) {
    put_text(resource, text);
    text += takes.mapping ? 'm' : '-';
    if (takes.mapping) {
      put_text(takes.mapping->capacity_key, text);
      put_amount(takes.mapping->multiplier, text);
    }
    if (!takes.overhead) continue;
    for (const auto& amount : {takes.overhead->per_pod, takes.overhead->per_container}) {
      text += amount ? 'o' : '-';
      if (amount) put_amount(*amount, text);
    }
  }
}

// Equal for devices that differ in their names alone.
std::string device_text(const api::Device& device, model::DeviceId id) {
  std::string text;
  for (const auto& [name, value] : device.attributes) {
    put_text(name, text);
    text += static_cast<char>('0' + value.index());
    std::visit(PutValue{text}, value);
  }
  text += ';';
  for (const auto& [name, capacity] : device.capacity) {
    put_text(name, text);
    put_amount(capacity.value, text);
  }
  for (const api::CounterConsumption& draw : device.consumes) {
    text += ';';
    put_text(draw.counter_set, text);
    for (const auto& [counter, amount] : draw.counters) {
      put_text(counter, text);
      put_amount(amount, text);
    }
    for (const std::string& group : draw.groups) put_text(group, text);
  }
  text += ';';
  put_taken_of_node(device, text);
  if (has_more(device)) {
    text += '!';
    put_text(std::to_string(id.index()), text);
  }
  return text;
}

std::string counters_text(const api::ResourceSlice& slice) {
  std::string text;
  for (const api::CounterSet& set : slice.shared_counters) {
    put_text(set.name, text);
    for (const auto& [counter, amount] : set.counters) {
      put_text(counter, text);
      put_amount(amount, text);
    }
  }
  return text;
}

bool reaches(const api::ResourceSlice& slice, const model::NodeRow& node) {
  if (!slice.node_name.empty()) return slice.node_name == node.name;
  if (slice.node_selector) return api::matches(*slice.node_selector, node.live->meta.labels, node.name);
  return true;
}

}  // namespace

struct DeviceChoices::Run {
  std::span<const model::ClaimId> claims;
  NodeId node;
  Vary vary;
  const Visit& visit;
  std::shared_ptr<const dra::AllocationRequest> request;
  std::set<Limits> seen;
};

bool DeviceChoices::each(std::span<const model::ClaimId> claims, NodeId node, Vary vary, const Visit& visit) {
  if (claims.empty()) return visit({});
  std::vector<dra::ClaimPtr> live;
  for (const model::ClaimId claim : claims) live.push_back(context_.cluster.claim(claim).live);
  auto request = context_.allocator.prepare(live);
  if (!request) {
    incomplete_ = true;
    return false;
  }
  Run run{claims, node, vary, visit, std::move(*request), {}};
  return visit_within(run, {});
}

// Choices that take of each class no more devices than the limits allow.
bool DeviceChoices::visit_within(Run& run, const Limits& limits) {
  if (!run.seen.insert(limits).second) return false;
  const DeviceChoice choice = find(run, limits);
  if (choice.empty()) return false;
  return run.visit(choice) || (run.vary != Vary::Nothing && leave_out_one(run, limits, choice));
}

// Every other choice takes fewer devices of some class that this one takes.
bool DeviceChoices::leave_out_one(Run& run, const Limits& limits, const DeviceChoice& choice) {
  std::map<std::string, std::pair<Class, std::size_t>> taken;  // by text, for a fixed order
  for (const ClaimDevices& one : choice)
    for (const api::DeviceResult& result : one.allocation->results) {
      const model::DeviceId device = context_.cluster.find_device(result.driver, result.pool, result.device);
      if (result.admin_access || !device.valid()) continue;
      if (run.vary == Vary::SharedPools && !context_.cluster.pool(context_.cluster.device(device).pool).wide)
        continue;
      incomplete_ |= !result.consumed_capacity.empty();
      const Class of = class_of(device);
      auto& [known, count] = taken[*of];
      known = of;
      ++count;
    }
  for (const auto& [text, row] : taken) {
    Limits fewer = limits;
    fewer[row.first] = row.second - 1;
    if (visit_within(run, fewer)) return true;
    if (budget_.ended()) return false;
  }
  return false;
}

// Empty: there is none.
DeviceChoice DeviceChoices::find(const Run& run, const Limits& limits) {
  if (!budget_.spend(kStepsOfDevices)) return {};
  const auto before = transaction_.savepoint();
  exclude_beyond(limits);
  dra::AllocationVerdict verdict = context_.allocator.allocate(*run.request, run.node, dra::Explain::Nothing);
  transaction_.roll_back_to(before);
  auto* found = std::get_if<dra::Allocations>(&verdict);
  incomplete_ |= !found && !std::holds_alternative<dra::Impossible>(verdict);
  DeviceChoice choice;
  if (found)
    for (std::size_t i = 0; i < run.claims.size(); ++i)
      choice.push_back({run.claims[i], std::move(found->claims[i].allocation)});
  return choice;
}

void DeviceChoices::exclude_beyond(const Limits& limits) {
  for (const auto& [of, most] : limits) {
    std::size_t left = most;
    for (const model::DeviceId device : classes_.at(*of)) {
      if (context_.cluster.ledger().busy(device)) continue;
      if (left > 0)
        --left;
      else
        transaction_.exclude(device);
    }
  }
}

void DeviceChoices::charge(const DeviceChoice& choice) {
  for (const ClaimDevices& one : choice)
    transaction_.allocate(one.claim, context_.cluster.reservation_for(one.allocation));
}

void DeviceChoices::exclude_others(NodeId node, const DeviceChoice& choice) {
  std::vector<model::DeviceId> kept;
  for (const ClaimDevices& one : choice)
    for (const api::DeviceResult& result : one.allocation->results)
      kept.push_back(context_.cluster.find_device(result.driver, result.pool, result.device));
  const auto exclude_in = [&](model::PoolId pool) {
    for (const auto& [name, slice] : context_.cluster.pool(pool).slices)
      for (const model::DeviceId device : slice.devices)
        if (!context_.cluster.ledger().busy(device) &&
            std::find(kept.begin(), kept.end(), device) == kept.end())
          transaction_.exclude(device);
  };
  for (const model::PoolId pool : context_.cluster.pools_of(node)) exclude_in(pool);
  for (const auto& [name, pool] : context_.cluster.shared_pools()) exclude_in(pool);
}

DeviceChoices::Class DeviceChoices::class_of(model::DeviceId device) {
  if (device.index() >= class_of_.size() || !class_of_[device.index()])
    sort_out(context_.cluster.device(device).pool);
  return class_of_[device.index()];
}

// Devices of one slice with equal texts are of one class.
void DeviceChoices::sort_out(model::PoolId pool) {
  class_of_.resize(std::max(class_of_.size(), context_.cluster.device_count()));
  for (const auto& [device_name, device] : context_.cluster.pool(pool).devices) {
    const auto own = classes_.try_emplace("?" + std::to_string(device.index())).first;
    class_of_[device.index()] = &own->first;  // in no slice
  }
  for (const auto& [name, slice] : context_.cluster.pool(pool).slices)
    for (std::size_t i = 0; i < slice.devices.size(); ++i) {
      const auto known = classes_
                             .try_emplace(std::to_string(pool.index()) + '/' + name + '/' +
                                          device_text(slice.live->devices[i], slice.devices[i]))
                             .first;
      known->second.push_back(slice.devices[i]);
      class_of_[slice.devices[i].index()] = &known->first;
    }
}

std::string DeviceChoices::offer_of(NodeId node) const {
  const model::NodeRow& row = context_.cluster.node(node);
  std::vector<std::string> pools;
  const auto add = [&](model::PoolId id, const std::string& prefix) {
    const model::PoolRow& pool = context_.cluster.pool(id);
    std::string text = prefix + pool.driver + '/';
    for (const auto& [name, slice] : pool.slices) {
      const bool reached = reaches(*slice.live, row);
      text += reached ? '(' : '<';
      if (!slice.live->skip_node_operations.empty()) put_text(name, text);
      if (slice.live->per_device_node_selection) put_text(row.name, text);
      text += std::to_string(slice.live->generation) + '/' + std::to_string(slice.live->slice_count);
      text += counters_text(*slice.live);
      for (std::size_t i = 0; i < slice.devices.size(); ++i) {
        const model::DeviceUse& use = context_.cluster.ledger().device(slice.devices[i]);
        if (use.shares > 0) put_text(std::to_string(slice.devices[i].index()), text);
        if (!use.free() || use.excluded > 0) put_text("+" + slice.live->devices[i].name, text);
        put_text(device_text(slice.live->devices[i], slice.devices[i]), text);
      }
    }
    pools.push_back(std::move(text));
  };
  for (const auto& [name, id] : context_.cluster.shared_pools())
    add(id, "shared " + name.first + '/' + name.second);
  for (const model::PoolId id : context_.cluster.pools_of(node))
    if (!context_.cluster.pool(id).wide) add(id, "");
  std::sort(pools.begin(), pools.end());
  std::string text;
  for (const std::string& pool : pools) put_text(pool, text);
  return text;
}

}  // namespace berth::placement
