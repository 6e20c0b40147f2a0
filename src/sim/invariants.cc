#include "sim/invariants.h"

#include <algorithm>
#include <map>
#include <set>

#include "api/types/claim_consumer.h"

namespace berth::sim {
namespace {

template <class T>
std::vector<std::shared_ptr<const T>> all(World& world, api::Kind kind) {
  std::vector<std::shared_ptr<const T>> objects;
  for (const Json& json : world.read_all(api::ref_of(kind))) {
    const auto decoded = api::decode_typed(kind, std::make_shared<const std::string>(to_string(json)));
    BERTH_ASSERT(decoded.ok(), "stored objects decode");
    objects.push_back(std::get<std::shared_ptr<const T>>(*decoded));
  }
  return objects;
}

struct State {
  std::vector<std::shared_ptr<const api::Pod>> pods;
  std::vector<std::shared_ptr<const api::ResourceClaim>> claims;
  std::vector<std::shared_ptr<const api::ResourceSlice>> slices;
  std::map<std::string, std::shared_ptr<const api::Node>> nodes;
  std::map<std::string, std::shared_ptr<const api::PodGroup>> groups;
};

State state_of(World& world) {
  State state;
  state.pods = all<api::Pod>(world, api::Kind::Pod);
  state.claims = all<api::ResourceClaim>(world, api::Kind::ResourceClaim);
  state.slices = all<api::ResourceSlice>(world, api::Kind::ResourceSlice);
  for (auto& node : all<api::Node>(world, api::Kind::Node)) state.nodes.emplace(node->meta.name, node);
  for (auto& group : all<api::PodGroup>(world, api::Kind::PodGroup))
    state.groups.emplace(group->meta.ns + "/" + group->meta.name, group);
  return state;
}

std::string device_name(const std::string& driver, const std::string& pool, const std::string& device) {
  return driver + "/" + pool + "/" + device;
}

// The uses of one device by live allocations; admin access does not count.
struct Held {
  std::vector<std::string> whole;   // claims
  std::vector<std::string> shares;  // claims, one a share
  std::map<std::string, Quantity> consumed;
};

std::map<std::string, Held> holders(const State& state) {
  std::map<std::string, Held> found;
  for (const auto& claim : state.claims) {
    if (!claim->allocation) continue;
    for (const api::DeviceResult& result : claim->allocation->results) {
      if (result.admin_access) continue;
      Held& held = found[device_name(result.driver, result.pool, result.device)];
      (result.share_id.empty() ? held.whole : held.shares).push_back(claim->meta.name);
      for (const auto& [name, amount] : result.consumed_capacity) held.consumed[name] += amount;
    }
  }
  return found;
}

void check_shares(const State& state, const std::map<std::string, Held>& held,
                  std::vector<std::string>& broken) {
  for (const auto& [device, by] : held) {
    if (by.whole.size() > 1)
      broken.push_back("device " + device + " is allocated by " + by.whole[0] + " and " + by.whole[1]);
    if (!by.whole.empty() && !by.shares.empty())
      broken.push_back("device " + device + " is allocated by " + by.whole[0] + " and shared by " +
                       by.shares[0]);
  }
  for (const auto& slice : state.slices)
    for (const api::Device& device : slice->devices) {
      const auto by = held.find(device_name(slice->driver, slice->pool, device.name));
      if (by == held.end()) continue;
      for (const auto& [name, amount] : by->second.consumed) {
        const auto whole = device.capacity.find(name);
        if (whole != device.capacity.end() && amount > whole->second.value)
          broken.push_back("capacity " + name + " of device " + by->first + " is overdrawn");
      }
    }
}

void check_devices(const State& state, std::vector<std::string>& broken) {
  const auto held = holders(state);
  check_shares(state, held, broken);

  struct Drawn {
    std::map<std::string, Quantity> left;
    std::vector<std::set<std::string>> groups;
  };
  std::map<std::string, Drawn> sets;  // by driver/pool/counter set
  for (const auto& slice : state.slices)
    for (const api::CounterSet& set : slice->shared_counters)
      for (const auto& [name, value] : set.counters)
        sets[device_name(slice->driver, slice->pool, set.name)].left[name] += value;
  for (const auto& slice : state.slices)
    for (const api::Device& device : slice->devices) {
      if (held.count(device_name(slice->driver, slice->pool, device.name)) == 0) continue;
      for (const api::CounterConsumption& draw : device.consumes) {
        Drawn& set = sets[device_name(slice->driver, slice->pool, draw.counter_set)];
        for (const auto& [name, value] : draw.counters) set.left[name] -= value;
        set.groups.emplace_back(draw.groups.begin(), draw.groups.end());
      }
    }
  for (const auto& [name, set] : sets) {
    for (const auto& [counter, left] : set.left)
      if (left.is_negative()) broken.push_back("counter " + counter + " of " + name + " is overdrawn");
    if (set.groups.empty()) continue;
    std::set<std::string> common = set.groups.front();
    bool mixed = false;
    for (const std::set<std::string>& groups : set.groups) {
      mixed |= groups.empty() != set.groups.front().empty();
      std::erase_if(common, [&](const std::string& group) { return groups.count(group) == 0; });
    }
    if (mixed || (!set.groups.front().empty() && common.empty()))
      broken.push_back("devices of " + name + " are allocated together without a common group");
  }
}

void check_claims_of(const State& state, const api::Pod& pod, std::vector<std::string>& broken) {
  std::vector<std::string> names;
  for (const api::PodClaim& wanted : pod.claims) names.push_back(api::claim_object_name(pod, wanted));
  if (!pod.extended_claim.empty()) names.push_back(pod.extended_claim);
  for (const std::string& name : names) {
    const auto claim = std::find_if(state.claims.begin(), state.claims.end(), [&](const auto& candidate) {
      return candidate->meta.ns == pod.meta.ns && candidate->meta.name == name;
    });
    const std::string who = "pod " + pod.meta.name + " is bound";
    if (claim == state.claims.end() || !(*claim)->allocation) {
      broken.push_back(who + " but its claim " + name + " is not allocated");
      continue;
    }
    if (!api::is_reserved_for(**claim, pod)) broken.push_back(who + " but does not hold its claim " + name);
    const auto node = state.nodes.find(pod.node_name);
    const auto& selector = (*claim)->allocation->node_selector;
    if (node != state.nodes.end() && selector &&
        !api::matches(*selector, node->second->meta.labels, pod.node_name))
      broken.push_back(who + " to " + pod.node_name + " where its claim " + name + " cannot be used");
  }
}

void check_pods(const State& state, std::vector<std::string>& broken) {
  std::map<std::string, api::ResourceMap> used;
  std::map<std::string, std::set<std::string>> domains;
  for (const auto& pod : state.pods) {
    if (!pod->bound() || pod->finished()) continue;
    if (!pod->meta.deleting()) check_claims_of(state, *pod, broken);
    for (const auto& [name, quantity] : api::effective_requests(*pod, pod->node_allocatable))
      used[pod->node_name][name] += quantity;
    const auto group = state.groups.find(pod->meta.ns + "/" + pod->group);
    const auto node = state.nodes.find(pod->node_name);
    if (group == state.groups.end() || node == state.nodes.end()) continue;
    for (const std::string& key : group->second->topology_keys) {
      const auto label = node->second->meta.labels.find(key);
      domains[group->first + " by " + key].insert(label == node->second->meta.labels.end() ? ""
                                                                                           : label->second);
    }
  }
  for (const auto& [group, values] : domains)
    if (values.size() > 1) broken.push_back("group " + group + " is bound in several domains");
  for (const auto& [name, amounts] : used) {
    const auto node = state.nodes.find(name);
    if (node == state.nodes.end()) continue;
    for (const auto& [resource, amount] : amounts) {
      const auto offered = node->second->allocatable.find(resource);
      if (offered != node->second->allocatable.end() && amount > offered->second)
        broken.push_back("node " + name + " is asked for more " + resource + " than it offers");
    }
  }
}

}  // namespace

std::vector<std::string> broken_invariants(World& world) {
  const State state = state_of(world);
  std::vector<std::string> broken;
  check_devices(state, broken);
  check_pods(state, broken);
  std::sort(broken.begin(), broken.end());
  return broken;
}

}  // namespace berth::sim
