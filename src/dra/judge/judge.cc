#include "dra/judge/judge.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include "dra/judge/pools.h"
#include "dra/judge/rules.h"

namespace berth::dra::judge {
namespace {

using api::Device;
using api::ResourceSlice;

class Judge {
 public:
  Judge(const JudgedWorld& world, std::span<const ClaimPtr> claims) : world_(world), claims_(claims) {}

  Judgement run() {
    Gathered gathered = gather(world_);
    candidates_ = std::move(gathered.candidates);
    blocks_all_ = gathered.unusable_pools;
    for (const ClaimPtr& claim : claims_)
      if (!prepare(*claim)) return {Answer::Error, {}};
    const int found = enter(0, 0);
    if (error_) return {Answer::Error, {}};
    return {found == 1 ? Answer::Yes : Answer::No, chosen_};
  }

  std::vector<std::vector<Chosen>> every(const Alternatives& alternatives, std::size_t most) {
    candidates_ = gather(world_).candidates;
    for (const ClaimPtr& claim : claims_) prepare(*claim);
    error_ = false;
    only_ = &alternatives;
    most_ = most;
    enter(0, 0);
    return every_;
  }

  std::vector<Looked> look(std::size_t c, const api::DeviceSubRequest& sub) {
    candidates_ = gather(world_).candidates;
    std::vector<Looked> seen;
    for (const Candidate& one : candidates_) {
      Looked& looked = seen.emplace_back();
      looked.slice = one.slice;
      looked.device = one.device;
      looked.selected = selected(one, sub) != 0 && one.here;  // an error might be a match
      if (!looked.selected) continue;
      looked.free = able(one) && !in_use(c, one, sub);
      looked.tolerated = tolerated(one, sub);
      looked.large_enough = capacity_fits(one, sub);
      std::tie(looked.fed, looked.groups_agree) = pool_fit(one);
    }
    return seen;
  }

 private:
  const api::DeviceClass* class_of(const std::string& name) const {
    for (const api::DeviceClass* found : world_.classes)
      if (found->meta.name == name) return found;
    return nullptr;
  }

  // 1 yes, 0 no, -1 error (and error_ is set).
  int selected(const Candidate& candidate, const api::DeviceSubRequest& sub) {
    std::vector<std::string> texts = class_of(sub.device_class)->selectors;
    texts.insert(texts.end(), sub.selectors.begin(), sub.selectors.end());
    for (const std::string& text : texts) {
      const Result<bool> answer =
          world_.selectors->evaluate(text, candidate.slice->driver, *candidate.device);
      if (!answer) {
        error_ = true;
        return -1;
      }
      if (!*answer) return 0;
    }
    return 1;
  }

  bool prepare(const api::ResourceClaim& claim) {
    std::size_t least = 0;
    for (const api::DeviceRequest& request : claim.requests) {
      std::size_t smallest = 1000;
      for (const api::DeviceSubRequest& sub : request.alternatives) {
        if (!class_of(sub.device_class) || !enabled(request, sub)) return false;
        if (sub.mode == api::AllocationMode::All && !collect(sub)) return false;
        smallest = std::min(smallest, wanted(sub));
      }
      least += smallest;
    }
    return least <= kClaimResultsMax;
  }
  bool enabled(const api::DeviceRequest& request, const api::DeviceSubRequest& sub) const {
    const DeviceGates& gates = world_.gates;
    return (gates.prioritized_list || !request.prioritized) && (gates.admin_access || !sub.admin_access) &&
           (gates.consumable_capacity || sub.capacity.empty()) &&
           (gates.derived_attributes || sub.derived_attributes.empty());
  }
  bool collect(const api::DeviceSubRequest& sub) {
    if (blocks_all_) return false;
    std::vector<std::size_t>& list = collected_[&sub];
    for (const std::size_t i : slice_by_slice()) {
      const int match = selected(candidates_[i], sub);
      if (match < 0) return false;
      if (match == 0 || !candidates_[i].here) continue;
      const RuleResult enough =
          fits_unused(*candidates_[i].device, shareable(*candidates_[i].device), sub.capacity);
      if (enough == RuleResult::Error) return false;
      if (enough == RuleResult::Yes) list.push_back(i);
    }
    return true;
  }
  // Pools that have devices with binding conditions are last; there is no other preference.
  std::vector<std::size_t> slice_by_slice() const {
    std::vector<std::size_t> order(candidates_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto rank = [&](std::size_t i) {
      const Candidate& one = candidates_[i];
      return std::tuple(one.mixed, one.slice->driver, one.slice->pool, one.slice->meta.name,
                        one.device - one.slice->devices.data());
    };
    std::sort(order.begin(), order.end(), [&](auto a, auto b) { return rank(a) < rank(b); });
    return order;
  }
  std::size_t wanted(const api::DeviceSubRequest& sub) {
    return sub.mode == api::AllocationMode::All ? collected_[&sub].size()
                                                : static_cast<std::size_t>(sub.count);
  }

  // 1 found, 0 not found, 2 too large. An error (error_ is set) ends the search.
  int enter(std::size_t c, std::size_t r) {
    if (c == claims_.size()) {
      if (only_) every_.push_back(chosen_);
      return only_ && every_.size() < most_ ? 0 : 1;
    }
    if (r == claims_[c]->requests.size()) return enter(c + 1, 0) == 1 ? 1 : 0;
    const api::DeviceRequest& request = claims_[c]->requests[r];
    bool all_too_large = true;
    for (std::size_t a = 0; a < request.alternatives.size(); ++a) {
      if (only_ && (*only_)[c][r] != a) continue;
      const int found = pick(c, r, a, 0, 0);
      if (found == 1 || error_ || !request.prioritized) return found;
      all_too_large = all_too_large && found == 2;
    }
    return all_too_large ? 2 : 0;
  }
  int pick(std::size_t c, std::size_t r, std::size_t a, std::size_t k, std::size_t from) {
    const api::DeviceSubRequest& sub = claims_[c]->requests[r].alternatives[a];
    const bool all = sub.mode == api::AllocationMode::All;
    if (all && wanted(sub) == 0) return 0;
    if (k >= wanted(sub)) return enter(c, r + 1);
    const auto mine =
        std::count_if(chosen_.begin(), chosen_.end(), [&](const Chosen& x) { return x.claim == c; });
    if (static_cast<std::size_t>(mine) + wanted(sub) - k > kClaimResultsMax) return 2;
    for (std::size_t i = all ? collected_[&sub][k] : from; i < candidates_.size(); ++i) {
      const Candidate& candidate = candidates_[i];
      const bool open =
          all || (!in_use(c, candidate, sub) && selected(candidate, sub) == 1 && candidate.here);
      if (fails()) return 0;
      const bool fits = open && admissible(c, r, a, candidate);
      if (fails()) return 0;
      if (fits) {
        chosen_.push_back({c, r, a, candidate.slice, candidate.device});
        const int found = pick(c, r, a, k + 1, i + 1);
        if (found != 0 || error_) return unless_found(found);
        chosen_.pop_back();
      }
      if (all) return 0;
    }
    return 0;
  }
  // A listing of every choice continues without the device that failed.
  bool fails() {
    if (only_) error_ = false;
    return error_;
  }
  int unless_found(int found) {
    if (found != 1) chosen_.pop_back();
    return found;
  }

  bool shareable(const Device& device) const {
    return device.allow_multiple && world_.gates.consumable_capacity;
  }
  static bool names(const api::DeviceResult& result, const ResourceSlice& slice, const Device& device) {
    return result.driver == slice.driver && result.pool == slice.pool && result.device == device.name;
  }
  static bool is_share(const api::DeviceResult& result) {
    return !result.share_id.empty() || !result.consumed_capacity.empty();
  }
  // Allocated results of this device, without admin access.
  std::vector<const api::DeviceResult*> holders(const ResourceSlice& slice, const Device& device) const {
    std::vector<const api::DeviceResult*> found;
    for (const api::Allocation* allocation : world_.allocated)
      for (const api::DeviceResult& result : allocation->results)
        if (!result.admin_access && names(result, slice, device)) found.push_back(&result);
    return found;
  }
  std::vector<const Chosen*> choices_of(const Device& device) const {
    std::vector<const Chosen*> found;
    for (const Chosen& chosen : chosen_)
      if (chosen.device == &device) found.push_back(&chosen);
    return found;
  }

  bool in_use(std::size_t claim, const Candidate& candidate, const api::DeviceSubRequest& sub) const {
    const auto run = choices_of(*candidate.device);
    const auto held = holders(*candidate.slice, *candidate.device);
    const bool shared = shareable(*candidate.device);
    if (sub.admin_access)
      return !shared &&
             std::any_of(run.begin(), run.end(), [&](auto* taken) { return taken->claim == claim; });
    if (shared) return std::any_of(held.begin(), held.end(), [](auto* result) { return !is_share(*result); });
    return !run.empty() || !held.empty();
  }

  bool admissible(std::size_t c, std::size_t r, std::size_t a, const Candidate& candidate) {
    const api::DeviceSubRequest& sub = claims_[c]->requests[r].alternatives[a];
    if (in_use(c, candidate, sub)) return false;
    const bool must = sub.mode == api::AllocationMode::All;  // its capacity is checked last
    if ((!must && !capacity_fits(candidate, sub)) || !able(candidate)) return false;
    if (!pool_fits(candidate)) return false;
    if (!tolerated(candidate, sub)) return false;
    if (constraints_hold(c, r, a, candidate)) return !must || capacity_fits(candidate, sub);
    error_ = error_ || must;
    return false;
  }
  bool able(const Candidate& candidate) const {
    return (world_.gates.partitionable_devices || candidate.device->consumes.empty()) &&
           one_term(candidate) && (candidate.slice->skip_node_operations.empty() || skips_operations());
  }
  // An allocation has one term, which cannot represent several, unless it names the node anyway.
  bool one_term(const Candidate& candidate) const {
    const bool own = candidate.slice->per_device_node_selection;
    const auto& selector = own ? candidate.device->node_selector : candidate.slice->node_selector;
    const auto& node = own ? candidate.device->node_name : candidate.slice->node_name;
    return !selector || !node.empty() || selector->terms.size() == 1 ||
           (candidate.device->binds_to_node && world_.gates.binding_conditions);
  }
  bool tolerated(const Candidate& candidate, const api::DeviceSubRequest& sub) const {
    return std::none_of(candidate.device->taints.begin(), candidate.device->taints.end(),
                        [&](const api::Taint& taint) {
                          return world_.gates.device_taints &&
                                 (taint.effect == "NoSchedule" || taint.effect == "NoExecute") &&
                                 !api::tolerates(sub.tolerations, taint);
                        });
  }
  bool skips_operations() const {
    const auto& features = world_.node->declared_features;
    return world_.gates.optional_node_operations &&
           std::find(features.begin(), features.end(), "DRAOptionalNodeOperations") != features.end();
  }

  bool capacity_fits(const Candidate& candidate, const api::DeviceSubRequest& sub) {
    const Device& device = *candidate.device;
    Amounts amounts;
    const RuleResult verdict =
        shareable(device) ? share_of(device, sub.capacity, amounts) : is_large_enough(device, sub.capacity);
    error_ = error_ || verdict == RuleResult::Error;
    if (verdict != RuleResult::Yes) return false;
    for (const auto& [name, amount] : amounts) {
      Quantity total = amount;
      for (auto* held : holders(*candidate.slice, device))
        if (held->consumed_capacity.contains(name)) total += held->consumed_capacity.at(name);
      for (auto* taken : choices_of(device)) {
        Amounts theirs;
        share_of(device, spec_of(*taken).capacity, theirs);
        total += theirs[name];
      }
      if (total > device.capacity.at(name).value) return false;
    }
    return true;
  }
  const api::DeviceSubRequest& spec_of(const Chosen& chosen) const {
    return claims_[chosen.claim]->requests[chosen.request].alternatives[chosen.alternative];
  }

  // Counters and groups of the candidate's pool, added up from all its slices and from this run.
  bool pool_fits(const Candidate& candidate) {
    const auto [counters, groups] = pool_fit(candidate);
    return counters && groups;
  }
  std::pair<bool, bool> pool_fit(const Candidate& candidate) {
    const Device& device = *candidate.device;
    const bool carries = shareable(device) && (!choices_of(device).empty() || has_share(candidate));
    if (device.consumes.empty() || carries) return {true, true};
    std::map<std::pair<std::string, std::string>, Quantity> left;
    std::map<std::string, GroupList> groups;
    for (auto* slice : candidate.pool)
      for (const auto& set : slice->shared_counters)
        for (const auto& [counter, amount] : set.counters) left[{set.name, counter}] = amount;
    for (auto* slice : candidate.pool)
      for (const Device& other : slice->devices) {
        const auto held = holders(*slice, other);
        if (held.empty()) continue;
        for (const auto& entry : other.consumes) {
          for (const auto& [counter, amount] : entry.counters) left[{entry.counter_set, counter}] -= amount;
          join(groups[entry.counter_set], groups_of(held, entry));
        }
      }
    for (const auto& [counter, amount] : left)
      if (amount.is_negative()) return {false, true};
    std::set<const Device*> shared_once;
    for (const Chosen& chosen : chosen_) {
      if (chosen.slice->driver != candidate.slice->driver || chosen.slice->pool != candidate.slice->pool)
        continue;
      const Candidate other{chosen.slice, chosen.device, true, {}};
      if (shareable(*chosen.device) && (has_share(other) || !shared_once.insert(chosen.device).second))
        continue;
      for (const auto& entry : chosen.device->consumes) {
        for (const auto& [counter, amount] : entry.counters) left[{entry.counter_set, counter}] -= amount;
        join(groups[entry.counter_set], entry.groups);
      }
    }
    std::pair fit(true, true);
    for (const auto& entry : device.consumes) {
      for (const auto& [counter, amount] : entry.counters)
        fit.first = fit.first && amount <= left[{entry.counter_set, counter}];
      fit.second = fit.second && joins(groups[entry.counter_set], entry.groups);
    }
    return fit;
  }
  bool has_share(const Candidate& candidate) const {
    const auto held = holders(*candidate.slice, *candidate.device);
    return std::any_of(held.begin(), held.end(), [](auto* result) { return is_share(*result); });
  }

  struct GroupList {
    bool members = false;
    bool grouped = false;
    std::vector<std::string> common;
  };
  static std::vector<std::string> groups_of(const std::vector<const api::DeviceResult*>& held,
                                            const api::CounterConsumption& entry) {
    for (auto* result : held)
      if (result->groups.contains(entry.counter_set)) return result->groups.at(entry.counter_set);
    return entry.groups;
  }
  static std::vector<std::string> both(const std::vector<std::string>& a, const std::vector<std::string>& b) {
    std::vector<std::string> common;
    for (const std::string& item : a)
      if (std::find(b.begin(), b.end(), item) != b.end()) common.push_back(item);
    return common;
  }
  static void join(GroupList& list, const std::vector<std::string>& groups) {
    if (!list.members)
      list = {true, !groups.empty(), groups};
    else if (list.grouped && !groups.empty())
      list.common = both(list.common, groups);
  }
  static bool joins(const GroupList& list, const std::vector<std::string>& groups) {
    if (!list.members) return true;
    return list.grouped ? !both(list.common, groups).empty() : groups.empty();
  }

  bool constraints_hold(std::size_t c, std::size_t r, std::size_t a, const Candidate& candidate) {
    std::vector<Chosen> all = chosen_;
    all.push_back({c, r, a, candidate.slice, candidate.device});
    for (const api::DeviceConstraint& constraint : claims_[c]->constraints) {
      const bool match = !constraint.match_attribute.empty();
      std::vector<std::set<std::string>> values;
      for (const Chosen& chosen : all) {
        const api::DeviceRequest& request = claims_[chosen.claim]->requests[chosen.request];
        const std::string alternative =
            request.prioritized ? request.alternatives[chosen.alternative].name : "";
        if (chosen.claim != c || !constraint_covers(constraint, request.name, alternative)) continue;
        const auto value =
            value_of(chosen, match ? constraint.match_attribute : constraint.distinct_attribute);
        values.push_back(value ? value_set(*value, world_.gates.list_attributes) : std::set<std::string>());
      }
      if (!(match ? all_match(values) : all_distinct(values))) return false;
    }
    return true;
  }

  std::optional<api::AttributeValue> value_of(const Chosen& chosen, const std::string& name) {
    for (const auto& [derived, text] : spec_of(chosen).derived_attributes)
      if (derived == name) {
        const auto value = world_.selectors->derive(text, chosen.slice->driver, *chosen.device);
        error_ = error_ || !value;
        return value ? std::optional(*value) : std::nullopt;
      }
    return attribute_named(*chosen.device, chosen.slice->driver, name);
  }
  const JudgedWorld& world_;
  std::span<const ClaimPtr> claims_;
  std::vector<Candidate> candidates_;
  std::map<const api::DeviceSubRequest*, std::vector<std::size_t>> collected_;
  std::vector<Chosen> chosen_;
  bool blocks_all_ = false;
  bool error_ = false;
  const Alternatives* only_ = nullptr;
  std::vector<std::vector<Chosen>> every_;
  std::size_t most_ = 0;
};

}  // namespace

std::vector<Looked> look(const JudgedWorld& world, std::span<const ClaimPtr> claims, std::size_t claim,
                         const api::DeviceSubRequest& sub) {
  return Judge(world, claims).look(claim, sub);
}

std::vector<std::vector<Chosen>> every_choice(const JudgedWorld& world, std::span<const ClaimPtr> claims,
                                              const Alternatives& alternatives, std::size_t most) {
  return Judge(world, claims).every(alternatives, most);
}

Judgement allocate(const JudgedWorld& world, std::span<const ClaimPtr> claims) {
  return Judge(world, claims).run();
}

}  // namespace berth::dra::judge
