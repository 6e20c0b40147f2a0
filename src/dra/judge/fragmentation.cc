#include "dra/judge/fragmentation.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "dra/judge/pools.h"
#include "dra/judge/rules.h"

namespace berth::dra::judge {
namespace {

using api::Device;
using api::ResourceSlice;

constexpr std::int64_t kMillion = 1'000'000;

std::int64_t millionths(Quantity part, Quantity whole) {
  if (part.is_zero() || part.is_negative()) return 0;
  if (part >= whole) return kMillion;
  return static_cast<std::int64_t>(part.nanos() * kMillion / whole.nanos());
}

struct Use {
  bool whole = false, shared = false;
  Amounts consumed;
};
struct Members {
  bool any = false, grouped = false;
  std::set<std::string> common;
};

// One pool, before or after the choice.
struct PoolWorth {
  const JudgedWorld& world;
  std::vector<const ResourceSlice*> slices;
  std::map<const Device*, Use> uses = {};
  std::map<std::pair<std::string, std::string>, Quantity> declared = {}, left = {};
  std::map<std::string, Members> members = {};
  bool overdrawn = false;

  bool shareable(const Device& device) const {
    return device.allow_multiple && world.gates.consumable_capacity;
  }
  void declare() {
    for (const ResourceSlice* slice : slices)
      for (const api::CounterSet& set : slice->shared_counters)
        for (const auto& [counter, amount] : set.counters) declared[{set.name, counter}] = amount;
    left = declared;
  }
  void draw(const Device& device, const std::map<std::string, std::vector<std::string>>& recorded) {
    for (const api::CounterConsumption& entry : device.consumes) {
      for (const auto& [counter, amount] : entry.counters) left[{entry.counter_set, counter}] -= amount;
      const auto snapshot = recorded.find(entry.counter_set);
      const std::vector<std::string>& names = snapshot == recorded.end() ? entry.groups : snapshot->second;
      const std::set<std::string> groups(names.begin(), names.end());
      Members& member = members[entry.counter_set];
      if (!member.any)
        member = {true, !groups.empty(), groups};
      else if (member.grouped && !groups.empty())
        std::erase_if(member.common, [&](const std::string& group) { return !groups.contains(group); });
    }
  }
  void hold_allocated() {
    for (const ResourceSlice* slice : slices)
      for (const Device& device : slice->devices) {
        bool held = false;
        std::map<std::string, std::vector<std::string>> recorded;
        for (const api::Allocation* allocation : world.allocated)
          for (const api::DeviceResult& result : allocation->results) {
            if (result.admin_access || result.driver != slice->driver || result.pool != slice->pool ||
                result.device != device.name)
              continue;
            held = true;
            recorded.insert(result.groups.begin(), result.groups.end());
            Use& use = uses[&device];
            const bool share = !result.share_id.empty() || !result.consumed_capacity.empty();
            (share && shareable(device) ? use.shared : use.whole) = true;
            for (const auto& [name, amount] : result.consumed_capacity) use.consumed[name] += amount;
          }
        if (held) draw(device, recorded);
      }
    for (const auto& [counter, amount] : left) overdrawn = overdrawn || amount.is_negative();
  }
  void hold(const Device& device, const Amounts& wishes) {
    Use& use = uses[&device];
    if (!use.shared) draw(device, {});
    (shareable(device) ? use.shared : use.whole) = true;
    Amounts amounts;
    if (shareable(device)) share_of(device, wishes, amounts);
    for (const auto& [name, amount] : amounts) use.consumed[name] += amount;
  }

  bool fed(const Device& device) const {
    if (overdrawn && !device.consumes.empty()) return false;
    for (const api::CounterConsumption& entry : device.consumes) {
      for (const auto& [counter, amount] : entry.counters)
        if (amount > left.at({entry.counter_set, counter})) return false;
      const auto member = members.find(entry.counter_set);
      if (member == members.end() || !member->second.any) continue;
      if (!member->second.grouped && !entry.groups.empty()) return false;
      if (member->second.grouped && std::none_of(entry.groups.begin(), entry.groups.end(), [&](auto& group) {
            return member->second.common.contains(group);
          }))
        return false;
    }
    return true;
  }
  std::int64_t size(const Device& device) const {
    if (device.consumes.empty()) return kMillion;
    std::int64_t sum = 0;
    for (const api::CounterConsumption& entry : device.consumes) {
      std::int64_t of_set = 0, counters = 0;
      for (const auto& [key, amount] : declared) counters += key.first == entry.counter_set ? 1 : 0;
      for (const auto& [counter, amount] : entry.counters)
        of_set += millionths(amount, declared.at({entry.counter_set, counter}));
      sum += of_set / counters;
    }
    return sum;
  }
  std::int64_t worth(const Device& device) const {
    const auto found = uses.find(&device);
    const Use use = found == uses.end() ? Use() : found->second;
    if (use.whole || (!use.shared && !fed(device))) return 0;
    if (!shareable(device)) return size(device);
    std::int64_t least = kMillion;
    for (const auto& [name, capacity] : device.capacity) {
      if (capacity.value.is_zero() || capacity.value.is_negative()) continue;
      const auto consumed = use.consumed.find(name);
      const Quantity gone = consumed == use.consumed.end() ? Quantity() : consumed->second;
      least = std::min(least, millionths(capacity.value - gone, capacity.value));
    }
    return static_cast<std::int64_t>(static_cast<__int128>(size(device)) * least * least /
                                     (kMillion * kMillion));
  }
  std::int64_t worth() const {
    std::int64_t sum = 0;
    for (const ResourceSlice* slice : slices)
      for (const Device& device : slice->devices) sum += worth(device);
    return sum;
  }
};

}  // namespace

Loss loss_of(const JudgedWorld& world, std::span<const ClaimPtr> claims, const std::vector<Chosen>& chosen) {
  std::map<std::pair<std::string, std::string>, PoolWorth> pools;
  for (const Candidate& candidate : gather(world).candidates) {
    const auto [at, added] =
        pools.try_emplace({candidate.slice->driver, candidate.slice->pool}, PoolWorth{world, candidate.pool});
    if (!added) continue;
    at->second.declare();
    at->second.hold_allocated();
  }
  Loss loss;
  for (const auto& [name, pool] : pools) loss.lost += pool.worth();
  for (const Chosen& one : chosen) {
    const api::DeviceSubRequest& sub = claims[one.claim]->requests[one.request].alternatives[one.alternative];
    if (sub.admin_access) continue;
    PoolWorth& pool = pools.at({one.slice->driver, one.slice->pool});
    loss.fresh += pool.uses.contains(one.device) ? 0 : 1;
    loss.with_binding_conditions +=
        one.device->binding_conditions.empty() && one.device->binding_failure_conditions.empty() ? 0 : 1;
    pool.hold(*one.device, sub.capacity);
  }
  for (const auto& [name, pool] : pools) loss.lost -= pool.worth();
  return loss;
}

}  // namespace berth::dra::judge
