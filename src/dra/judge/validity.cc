#include "dra/judge/validity.h"

#include <algorithm>
#include <map>

#include "dra/judge/pools.h"
#include "dra/judge/rules.h"

namespace berth::dra::judge {
namespace {

using api::DeviceResult;
using api::DeviceSubRequest;

struct Granted {
  const api::ResourceClaim* claim;
  const api::DeviceRequest* request;
  const DeviceSubRequest* sub;
  const DeviceResult* result;
  const Candidate* candidate;
};

struct Checker {
  const JudgedWorld& world;
  Gathered gathered = gather(world);
  std::vector<Granted> granted = {};
  std::string complaint = {};

  void require(bool holds, const std::string& what) {
    if (!holds && complaint.empty()) complaint = what;
  }
  static std::string id(const DeviceResult& result) {
    return result.driver + "/" + result.pool + "/" + result.device;
  }
  static std::string id(const Candidate& candidate) {
    return candidate.slice->driver + "/" + candidate.slice->pool + "/" + candidate.device->name;
  }
  bool shareable(const api::Device& device) const {
    return device.allow_multiple && world.gates.consumable_capacity;
  }

  void check(std::span<const ClaimPtr> claims, const Allocations& allocations) {
    require(allocations.claims.size() == claims.size(), "a claim is missing");
    for (std::size_t c = 0; c < claims.size() && complaint.empty(); ++c)
      take_in(*claims[c], allocations.claims[c]);
    if (!complaint.empty()) return;
    for (const Granted& one : granted) check_device(one);
    check_exclusive();
    check_capacity();
    check_counters();
    for (const ClaimPtr& claim : claims) check_constraints(*claim);
  }

  void take_in(const api::ResourceClaim& claim, const ClaimResult& result) {
    require(result.claim->meta.name == claim.meta.name, "the claims are in another order");
    require(result.allocation->results.size() <= 32, "more than 32 results in a claim");
    std::size_t at = 0;
    for (std::size_t r = 0; r < claim.requests.size(); ++r) {
      const api::DeviceRequest& request = claim.requests[r];
      const DeviceSubRequest& sub = request.alternatives[result.alternatives[r]];
      const std::string full = request.prioritized ? request.name + "/" + sub.name : request.name;
      const std::size_t first = at;
      for (; at < result.allocation->results.size() && result.allocation->results[at].request == full; ++at) {
        const DeviceResult& device = result.allocation->results[at];
        const auto known = std::find_if(gathered.candidates.begin(), gathered.candidates.end(),
                                        [&](const Candidate& one) { return id(one) == id(device); });
        require(known != gathered.candidates.end(), id(device) + " is not on the node");
        if (!complaint.empty()) return;
        granted.push_back({&claim, &request, &sub, &device, &*known});
      }
      if (sub.mode == api::AllocationMode::ExactCount)
        require(static_cast<std::int64_t>(at - first) == sub.count, full + " has another count");
      else
        require(at - first == all_of(sub) && at > first, full + " does not have all devices");
    }
    require(at == result.allocation->results.size(), "a result without a request");
  }

  bool selected(const Candidate& candidate, const DeviceSubRequest& sub) const {
    std::vector<std::string> texts = sub.selectors;
    for (const api::DeviceClass* found : world.classes)
      if (found->meta.name == sub.device_class)
        texts.insert(texts.end(), found->selectors.begin(), found->selectors.end());
    return std::all_of(texts.begin(), texts.end(), [&](const std::string& text) {
      const auto answer = world.selectors->evaluate(text, candidate.slice->driver, *candidate.device);
      return answer && *answer;
    });
  }
  std::size_t all_of(const DeviceSubRequest& sub) const {
    return static_cast<std::size_t>(
        std::count_if(gathered.candidates.begin(), gathered.candidates.end(), [&](const Candidate& one) {
          return one.here && selected(one, sub) &&
                 fits_unused(*one.device, shareable(*one.device), sub.capacity) == RuleResult::Yes;
        }));
  }

  void check_device(const Granted& one) {
    const api::Device& device = *one.candidate->device;
    const std::string name = id(*one.result);
    require(one.candidate->here, name + " is for another node");
    require(selected(*one.candidate, *one.sub), name + " is not what is selected");
    require(one.result->admin_access == one.sub->admin_access, name + " has another admin access");
    for (const api::Taint& taint : device.taints)
      if (world.gates.device_taints && (taint.effect == "NoSchedule" || taint.effect == "NoExecute"))
        require(api::tolerates(one.sub->tolerations, taint), name + " bears a taint");
    require(world.gates.partitionable_devices || device.consumes.empty(), name + " is a partition");
    if (!shareable(device))
      require(is_large_enough(device, one.sub->capacity) == RuleResult::Yes, name + " is too small");
    require(shareable(device) == !one.result->share_id.empty(), name + " has or lacks a share id");
  }

  std::vector<const DeviceResult*> held_on(const std::string& name) const {
    std::vector<const DeviceResult*> held;
    for (const api::Allocation* allocation : world.allocated)
      for (const DeviceResult& result : allocation->results)
        if (!result.admin_access && id(result) == name) held.push_back(&result);
    return held;
  }

  // A whole device has one user; regular users before others with admin access.
  void check_exclusive() {
    for (std::size_t i = 0; i < granted.size(); ++i) {
      const Granted& one = granted[i];
      const std::string name = id(*one.result);
      if (one.sub->admin_access) continue;
      for (const DeviceResult* held : held_on(name))
        require(shareable(*one.candidate->device) &&
                    (!held->share_id.empty() || !held->consumed_capacity.empty()),
                name + " is in use");
      for (std::size_t j = 0; j < i; ++j)
        require(shareable(*one.candidate->device) || id(*granted[j].result) != name,
                name + " is taken twice");
    }
  }

  void check_capacity() {
    std::map<std::pair<std::string, std::string>, Quantity> total;
    for (const Granted& one : granted) {
      if (!shareable(*one.candidate->device)) continue;
      Amounts amounts;
      require(share_of(*one.candidate->device, one.sub->capacity, amounts) == RuleResult::Yes,
              "no such share");
      require(amounts == one.result->consumed_capacity, id(*one.result) + " consumes another amount");
      for (const auto& [name, amount] : amounts) total[{id(*one.result), name}] += amount;
    }
    for (auto& [key, sum] : total) {
      for (const DeviceResult* held : held_on(key.first))
        if (held->consumed_capacity.contains(key.second)) sum += held->consumed_capacity.at(key.second);
      for (const Candidate& one : gathered.candidates)
        if (id(one) == key.first)
          require(sum <= one.device->capacity.at(key.second).value, key.first + " is oversubscribed");
    }
  }

  // Sums over each pool that the claims draw from, and one group for all members of a set.
  void check_counters() {
    for (const Granted& one : granted) {
      if (one.candidate->device->consumes.empty()) continue;
      std::map<std::pair<std::string, std::string>, Quantity> left;
      std::map<std::string, std::vector<std::vector<std::string>>> groups;
      for (const api::ResourceSlice* slice : one.candidate->pool)
        for (const api::CounterSet& set : slice->shared_counters)
          for (const auto& [counter, amount] : set.counters) left[{set.name, counter}] = amount;
      bool held_before = false;
      for (const api::ResourceSlice* slice : one.candidate->pool)
        for (const api::Device& device : slice->devices) {
          const std::string name = slice->driver + "/" + slice->pool + "/" + device.name;
          const auto held = held_on(name);
          const bool mine = device.name == one.candidate->device->name;
          held_before = held_before || (mine && !held.empty());
          // Admin access draws again; a shared device draws once.
          std::size_t times = held.empty() ? 0 : 1;
          for (const Granted& other : granted)
            if (other.candidate->device == &device) times += shareable(device) && times > 0 ? 0 : 1;
          for (const auto& entry : device.consumes) {
            for (std::size_t t = 0; t < times; ++t)
              for (const auto& [counter, amount] : entry.counters)
                left[{entry.counter_set, counter}] -= amount;
            if (times > 0) groups[entry.counter_set].push_back(groups_of(held, entry));
          }
        }
      if (held_before && shareable(*one.candidate->device)) continue;  // drew before
      for (const auto& [counter, amount] : left)
        require(!amount.is_negative(), id(*one.result) + ": counter " + counter.second + " is overdrawn");
      for (const auto& entry : one.candidate->device->consumes)
        check_groups(id(*one.result), groups[entry.counter_set]);
    }
  }
  static std::vector<std::string> groups_of(const std::vector<const DeviceResult*>& held,
                                            const api::CounterConsumption& entry) {
    for (const DeviceResult* result : held)
      if (result->groups.contains(entry.counter_set)) return result->groups.at(entry.counter_set);
    return entry.groups;
  }
  void check_groups(const std::string& name, const std::vector<std::vector<std::string>>& members) {
    const bool grouped = std::any_of(members.begin(), members.end(), [](auto& one) { return !one.empty(); });
    const bool ungrouped = std::any_of(members.begin(), members.end(), [](auto& one) { return one.empty(); });
    if (grouped && ungrouped) return;  // inconsistent already: the first member decides, unseen here
    if (!grouped) return;
    const bool common = std::any_of(members[0].begin(), members[0].end(), [&](const std::string& group) {
      return std::all_of(members.begin(), members.end(), [&](const std::vector<std::string>& member) {
        return std::count(member.begin(), member.end(), group) > 0;
      });
    });
    require(common, name + ": the set has no common group");
  }

  void check_constraints(const api::ResourceClaim& claim) {
    for (const api::DeviceConstraint& constraint : claim.constraints) {
      const bool match = !constraint.match_attribute.empty();
      const std::string& attribute = match ? constraint.match_attribute : constraint.distinct_attribute;
      std::vector<std::set<std::string>> values;
      for (const Granted& one : granted) {
        if (one.claim != &claim) continue;
        if (!constraint_covers(constraint, one.request->name, one.request->prioritized ? one.sub->name : ""))
          continue;
        auto value = attribute_named(*one.candidate->device, one.result->driver, attribute);
        for (const auto& [name, text] : one.sub->derived_attributes)
          if (name == attribute)
            if (const auto made = world.selectors->derive(text, one.result->driver, *one.candidate->device))
              value = *made;
        values.push_back(value ? value_set(*value, world.gates.list_attributes) : std::set<std::string>());
      }
      require(match ? all_match(values) : all_distinct(values), claim.meta.name + ": " + attribute);
    }
  }
};

}  // namespace

std::string complaint_about(const JudgedWorld& world, std::span<const ClaimPtr> claims,
                            const Allocations& allocations) {
  Checker checker{world};
  checker.check(claims, allocations);
  return checker.complaint;
}

}  // namespace berth::dra::judge
