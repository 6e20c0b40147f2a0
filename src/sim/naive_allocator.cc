#include "sim/naive_allocator.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>

namespace berth::sim {
namespace {

using Predicate = bool (*)(const StoredDevice&);

bool is_of(const StoredDevice& device, std::string_view driver) {
  return std::string_view(device.key).substr(0, device.key.find('/')) == driver;
}
bool is(const StoredDevice& device, const char* attribute, const char* value) {
  const auto found = device.attributes.find(attribute);
  return found != device.attributes.end() && found->second.contains(value);
}
// The minor version of "version 1.5.0".
long minor_of(const StoredDevice& device) {
  const auto found = device.attributes.find("firmware");
  if (found == device.attributes.end() || found->second.empty()) return -1;
  const std::string& text = *found->second.begin();
  return std::strtol(text.c_str() + text.find('.') + 1, nullptr, 10);
}

// "driver/pool" of "driver/pool/set".
std::string pool_of(const std::string& set) {
  return set.substr(0, set.rfind('/'));
}

struct Row {
  std::string_view text;
  Predicate holds;
};
constexpr std::array kPredicates = {
    Row{"device.driver == 'gpu.example.com'", [](const auto& d) { return is_of(d, "gpu.example.com"); }},
    Row{"device.driver == 'gpu.example.com' && device.attributes['gpu.example.com'].type == 'gpu'",
        [](const auto& d) { return is_of(d, "gpu.example.com") && is(d, "type", "string gpu"); }},
    Row{"device.driver == 'fabric.example.com'",
        [](const auto& d) { return is_of(d, "fabric.example.com"); }},
    Row{"device.driver == 'net.example.com'", [](const auto& d) { return is_of(d, "net.example.com"); }},
    Row{"device.attributes['gpu.example.com'].type == 'mig-1g'",
        [](const auto& d) { return is(d, "type", "string mig-1g"); }},
    Row{"device.attributes['gpu.example.com'].type == 'vgpu'",
        [](const auto& d) { return is(d, "type", "string vgpu"); }},
    Row{"device.attributes['gpu.example.com'].type == 'whole'",
        [](const auto& d) { return is(d, "type", "string whole"); }},
    Row{"device.attributes['gpu.example.com'].type == 'nic'",
        [](const auto& d) { return is(d, "type", "string nic"); }},
    Row{"device.attributes['gpu.example.com'].type == 'shared-nic' && device.allowMultipleAllocations",
        [](const auto& d) { return is(d, "type", "string shared-nic") && d.shared; }},
    Row{"device.attributes['gpu.example.com'].model == 'a'",
        [](const auto& d) { return is(d, "model", "string a"); }},
    Row{"device.attributes['gpu.example.com'].model == 'b'",
        [](const auto& d) { return is(d, "model", "string b"); }},
    Row{"device.capacity['gpu.example.com'].memory.compareTo(quantity('60Gi')) >= 0",
        [](const auto& d) {
          const auto memory = d.capacity.find("memory");
          return memory != d.capacity.end() && memory->second >= (std::int64_t{60} << 30) * 1000;
        }},
    Row{"device.attributes['gpu.example.com'].firmware.isGreaterThan(semver('1.4.0')) && "
        "device.attributes['gpu.example.com'].numa < 2",
        [](const auto& d) { return minor_of(d) > 4; }},
};

Predicate predicate_for(std::string_view text) {
  for (const Row& row : kPredicates)
    if (row.text == text) return row.holds;
  return nullptr;
}

std::string_view base_of(std::string_view name) {
  return name.substr(0, name.find('/'));
}

bool covers(const StoredConstraint& constraint, const std::string& name) {
  const auto& names = constraint.requests;
  return names.empty() || std::any_of(names.begin(), names.end(), [&](const std::string& one) {
           return one == name || one == base_of(name);
         });
}

// Whether the devices agree (or all differ) in the constraint's attribute.
bool holds(const StoredConstraint& constraint, const std::vector<const StoredDevice*>& devices) {
  const bool match = !constraint.match.empty();
  const std::string& name = match ? constraint.match : constraint.distinct;
  const std::string id = name.substr(name.find('/') + 1);
  std::optional<std::set<std::string>> common;
  std::set<std::string> seen;
  for (const StoredDevice* device : devices) {
    const auto values = device->attributes.find(id);
    if (values == device->attributes.end() || !is_of(*device, base_of(name))) return false;
    if (!common) common = values->second;
    std::erase_if(*common, [&](const std::string& value) { return !values->second.contains(value); });
    for (const std::string& value : values->second)
      if (!seen.insert(value).second && !match) return false;
  }
  return !match || !common || !common->empty();
}

bool keeps_away(const StoredTaint& taint) {
  return taint.effect == "NoSchedule" || taint.effect == "NoExecute";
}

bool tolerates_all(const StoredState& state, const StoredWant& want, const StoredDevice& device) {
  const auto bad = [&](const StoredTaint& taint) { return keeps_away(taint) && !is_tolerated(want, taint); };
  if (std::any_of(device.taints.begin(), device.taints.end(), bad)) return false;
  return std::none_of(state.taint_rules.begin(), state.taint_rules.end(), [&](const auto& row) {
    const StoredTaintRule& rule = row.second;
    return device.key.starts_with(rule.driver + "/" + rule.pool + "/") &&
           (rule.device.empty() || device.key.ends_with("/" + rule.device)) && bad(rule.taint);
  });
}

}  // namespace

bool knows_selector(std::string_view selector) {
  return predicate_for(selector) != nullptr;
}

bool is_selected(const StoredState& state, const StoredWant& want, const StoredDevice& device) {
  const auto of_class = state.classes.find(want.device_class);
  if (of_class == state.classes.end()) return false;
  const auto wanted = [&](const std::string& text) {
    const Predicate predicate = predicate_for(text);
    return predicate && predicate(device);
  };
  return std::all_of(of_class->second.begin(), of_class->second.end(), wanted) &&
         std::all_of(want.selectors.begin(), want.selectors.end(), wanted);
}

bool is_tolerated(const StoredWant& want, const StoredTaint& taint) {
  return std::any_of(want.tolerations.begin(), want.tolerations.end(), [&](const StoredToleration& one) {
    return (one.key.empty() || one.key == taint.key) && (one.effect.empty() || one.effect == taint.effect) &&
           (one.exists || one.value == taint.value);
  });
}

bool share_of(const StoredDevice& device, const StoredAmounts& asked, StoredAmounts& amounts) {
  amounts.clear();
  for (const auto& [name, whole] : device.capacity) {
    const auto range = device.ranges.find(name);
    const auto wish = asked.find(name);
    std::int64_t amount = wish != asked.end()            ? wish->second
                          : range != device.ranges.end() ? range->second.fallback
                                                         : whole;
    if (range != device.ranges.end()) {
      const StoredRange& steps = range->second;
      std::int64_t reached = steps.min;
      while (reached < amount && steps.step > 0) reached += steps.step;
      amount = reached;
      if (amount > steps.max) return false;
    }
    if (amount > whole) return false;
    amounts[name] = amount;
  }
  return std::all_of(asked.begin(), asked.end(),
                     [&](const auto& one) { return device.capacity.contains(one.first); });
}

std::vector<const StoredDevice*> usable_devices(const StoredState& state) {
  std::map<std::string, std::int64_t> newest, count;
  for (const auto& [name, slice] : state.slices)
    newest[slice.pool] = std::max(newest[slice.pool], slice.generation);
  for (const auto& [name, slice] : state.slices) count[slice.pool] += slice.generation == newest[slice.pool];
  std::vector<const StoredDevice*> usable;
  for (const auto& [name, slice] : state.slices)
    if (slice.generation == newest[slice.pool] && count[slice.pool] == slice.slices)
      for (const StoredDevice& device : slice.devices) usable.push_back(&device);
  return usable;
}

// --- a valid allocation ---

namespace {

class AllocationFault {
 public:
  AllocationFault(const StoredState& state, const StoredClaim& claim) : state_(state), claim_(claim) {}

  std::string find() {
    for (const StoredResult& result : claim_.results)
      if (!state_.catalog.contains(result.device)) return "";
    for (const auto& alternatives : claim_.requests) check_request(alternatives);
    check_devices();
    for (const StoredConstraint& constraint : claim_.constraints) check_constraint(constraint);
    return std::move(fault_);
  }

 private:
  void say(std::string what) {
    if (fault_.empty()) fault_ = std::move(what);
  }
  const StoredDevice& device_of(const StoredResult& result) const { return state_.catalog.at(result.device); }

  void check_request(const std::vector<StoredWant>& alternatives) {
    const std::string_view base = base_of(alternatives.front().name);
    const StoredWant* chosen = nullptr;
    std::int64_t count = 0;
    for (const StoredResult& result : claim_.results) {
      if (base_of(result.request) != base) continue;
      const auto want = std::find_if(alternatives.begin(), alternatives.end(),
                                     [&](const StoredWant& one) { return one.name == result.request; });
      if (want == alternatives.end()) return say("no alternative is called " + result.request);
      if (chosen && chosen != &*want) return say("two alternatives of " + std::string(base) + " are mixed");
      chosen = &*want;
      ++count;
      check_result(result, *want);
    }
    if (!chosen) return say("request " + std::string(base) + " has no device");
    if (!chosen->all && count != chosen->count)
      say("request " + chosen->name + " has " + std::to_string(count) + " of " +
          std::to_string(chosen->count) + " devices");
  }

  void check_result(const StoredResult& result, const StoredWant& want) {
    const StoredDevice& device = device_of(result);
    if (!is_selected(state_, want, device)) say(result.device + " is not what " + want.name + " selects");
    for (const StoredTaint& taint : device.taints)
      if (keeps_away(taint) && !is_tolerated(want, taint))
        say(result.device + " has the taint " + taint.key + ", which " + want.name + " does not tolerate");
    if (result.admin != want.admin) say(result.device + " is not had in the way that " + want.name + " asks");
    if (result.admin) return;
    if (result.share != device.shared) say(result.device + (device.shared ? " is not" : " is") + " shared");
    StoredAmounts amounts;
    if (result.share && (!share_of(device, want.capacity, amounts) || amounts != result.consumed))
      say("the share of " + result.device + " is not as large as " + want.name + " asks");
  }

  void check_devices() {
    std::set<std::string> nodes, taken;
    bool binds = false;
    for (const StoredResult& result : claim_.results) {
      const StoredDevice& device = device_of(result);
      binds |= device.binds;
      if (!device.node.empty()) nodes.insert(device.node);
      if (!result.share && !taken.insert(result.device).second) say(result.device + " is there twice");
    }
    if (nodes.size() > 1) say("its devices are of " + std::to_string(nodes.size()) + " nodes");
    std::size_t selected = 0;
    for (const auto& [name, node] : state_.nodes) {
      if (!state_.selects(claim_.node_selector, name)) continue;
      ++selected;
      if (!nodes.empty() && !nodes.contains(name))
        say("its node selector allows " + name + ", its devices are of " + *nodes.begin());
    }
    if (binds && selected > 1) say("its device is bound to a node, and its node selector allows several");
  }

  void check_constraint(const StoredConstraint& constraint) {
    std::vector<const StoredDevice*> devices;
    for (const StoredResult& result : claim_.results)
      if (covers(constraint, result.request)) devices.push_back(&device_of(result));
    if (!holds(constraint, devices))
      say((constraint.match.empty() ? "distinctAttribute " + constraint.distinct
                                    : "matchAttribute " + constraint.match) +
          " does not hold");
  }

  const StoredState& state_;
  const StoredClaim& claim_;
  std::string fault_;
};

}  // namespace

std::string fault_of_allocation(const StoredState& state, const StoredClaim& claim) {
  return AllocationFault(state, claim).find();
}

// --- a possible allocation ---

DevicesInUse::DevicesInUse(const StoredState& state) : state_(state), usable_(usable_devices(state)) {
  std::sort(usable_.begin(), usable_.end(), [](auto* a, auto* b) { return a->key < b->key; });
  for (const auto& [device, claims] : state.holders)
    for (const auto& [claim, hold] : claims) {
      Use& use = use_[device];
      use.whole |= hold.whole;
      use.shares += !hold.whole;
      for (const auto& [capacity, amount] : hold.consumed) use.consumed[capacity] += amount;
    }
  for (const auto& [set, devices] : state.devices_of_set)
    for (const std::string& key : devices)
      for (const StoredDraw& draw : state.catalog.at(key).draws)
        if (draw.set == set && is_overdrawn(draw, 0)) overdrawn_pools_.insert(pool_of(set));
}

Naive DevicesInUse::allocate(std::span<const StoredClaim* const> claims, const std::string& node) {
  Trial trial{claims, {}};
  for (const StoredDevice* device : usable_)
    if (device->node.empty() || device->node == node) trial.devices.push_back(device);
  return request(trial, 0, 0);
}

Naive DevicesInUse::request(Trial& trial, std::size_t claim, std::size_t number) {
  if (claim == trial.claims.size()) return Naive::Yes;
  const auto& requests = trial.claims[claim]->requests;
  if (number == requests.size()) return request(trial, claim + 1, 0);
  Naive answer = Naive::No;
  for (const StoredWant& want : requests[number]) {
    const Naive one =
        want.all ? take_all(trial, claim, number, want) : choose(trial, claim, number, want, 0, want.count);
    if (one == Naive::Yes) return one;
    if (one == Naive::Unknown) answer = one;
  }
  return answer;
}

Naive DevicesInUse::choose(Trial& trial, std::size_t claim, std::size_t number, const StoredWant& want,
                           std::size_t from, std::int64_t left) {
  if (left == 0) return request(trial, claim, number + 1);
  for (std::size_t i = from; i < trial.devices.size(); ++i) {
    if (++trial.steps > kNaiveStepsMax) return Naive::Unknown;
    const StoredDevice& device = *trial.devices[i];
    if (!is_selected(state_, want, device) || !take(trial, claim, want, device)) continue;
    const std::size_t next = device.shared && !want.admin ? i : i + 1;
    const Naive rest =
        constraints_hold(trial, claim) ? choose(trial, claim, number, want, next, left - 1) : Naive::No;
    if (rest == Naive::Yes) return rest;
    give_back(trial);
    if (rest == Naive::Unknown) return rest;
  }
  return Naive::No;
}

Naive DevicesInUse::take_all(Trial& trial, std::size_t claim, std::size_t number, const StoredWant& want) {
  const std::size_t before = trial.picks.size();
  bool all = true;
  for (const StoredDevice* device : trial.devices)
    if (all && is_selected(state_, want, *device)) all = take(trial, claim, want, *device);
  Naive answer = Naive::No;
  if (all && trial.picks.size() > before && constraints_hold(trial, claim))
    answer = request(trial, claim, number + 1);
  if (answer != Naive::Yes)
    while (trial.picks.size() > before) give_back(trial);
  return answer;
}

bool DevicesInUse::take(Trial& trial, std::size_t claim, const StoredWant& want, const StoredDevice& device) {
  if (!tolerates_all(state_, want, device)) return false;
  StoredAmounts amounts;
  if (!want.admin) {
    const auto found = use_.find(device.key);
    const bool used = found != use_.end() && (found->second.whole || found->second.shares > 0);
    if (used && (found->second.whole || !device.shared)) return false;
    if (!used && !is_fed(device)) return false;
    if (device.shared && !share_of(device, want.capacity, amounts)) return false;
    for (const auto& [capacity, amount] : amounts) {
      const std::int64_t consumed = used ? found->second.consumed[capacity] : 0;
      if (consumed + amount > device.capacity.at(capacity)) return false;
    }
    Use& use = use_[device.key];
    use.whole |= !device.shared;
    use.shares += device.shared;
    for (const auto& [capacity, amount] : amounts) use.consumed[capacity] += amount;
  }
  trial.picks.push_back({&device, &want, claim, std::move(amounts)});
  return true;
}

void DevicesInUse::give_back(Trial& trial) {
  const Pick& pick = trial.picks.back();
  if (!pick.want->admin) {
    Use& use = use_.at(pick.device->key);
    use.whole = false;
    use.shares -= pick.device->shared;
    for (const auto& [capacity, amount] : pick.consumed) use.consumed[capacity] -= amount;
  }
  trial.picks.pop_back();
}

bool DevicesInUse::is_used(const std::string& key) const {
  const auto use = use_.find(key);
  return use != use_.end() && (use->second.whole || use->second.shares > 0);
}

// The draws of the devices in use from the counter of `draw`.
std::vector<const StoredDraw*> DevicesInUse::draws_beside(const StoredDraw& draw) const {
  std::vector<const StoredDraw*> draws;
  for (const std::string& key : state_.devices_of_set.at(draw.set)) {
    if (!is_used(key)) continue;
    for (const StoredDraw& other : state_.catalog.at(key).draws)
      if (other.set == draw.set && other.counter == draw.counter) draws.push_back(&other);
  }
  return draws;
}

// Whether the counter would be overdrawn by `amount` on top of the devices in use.
bool DevicesInUse::is_overdrawn(const StoredDraw& draw, std::int64_t amount) const {
  for (const StoredDraw* other : draws_beside(draw)) amount += other->amount;
  const auto whole = state_.counters.find(draw.set + " " + draw.counter);
  return whole == state_.counters.end() || amount > whole->second;
}

// Counters and groups of the sets that it draws from, together with the devices in use. In Kubernetes a
// negative counter (its driver removed a device and published it again) blocks all devices of the pool that
// draw counters.
bool DevicesInUse::is_fed(const StoredDevice& device) const {
  for (const StoredDraw& draw : device.draws) {
    if (overdrawn_pools_.contains(pool_of(draw.set))) return false;
    if (is_overdrawn(draw, draw.amount)) return false;
    std::set<std::string> common = draw.groups;
    for (const StoredDraw* other : draws_beside(draw))
      std::erase_if(common, [&](const std::string& group) { return !other->groups.contains(group); });
    if (!draw.groups.empty() && common.empty()) return false;
  }
  return true;
}

bool DevicesInUse::constraints_hold(const Trial& trial, std::size_t claim) const {
  const auto& constraints = trial.claims[claim]->constraints;
  return std::all_of(constraints.begin(), constraints.end(), [&](const StoredConstraint& constraint) {
    std::vector<const StoredDevice*> devices;
    for (const Pick& pick : trial.picks)
      if (pick.claim == claim && covers(constraint, pick.want->name)) devices.push_back(pick.device);
    return holds(constraint, devices);
  });
}

}  // namespace berth::sim
