#include "dra/judge/rules.h"

#include <algorithm>

namespace berth::dra::judge {
namespace {

using Wide = __int128;
constexpr Wide kUnit = 1'000'000'000;  // in nanos
constexpr Wide kMilli = kUnit / 1000;
constexpr Wide kLargest = INT64_MAX;

bool counts_in(Wide nanos, Wide step) {
  return nanos % step == 0 && nanos / step <= kLargest && nanos / step >= -kLargest - 1;
}

// The range rule of a policy. Kubernetes computes in int64: in thousandths where the whole policy can be
// written so, else in units; a request that cannot be written is an error.
RuleResult in_range(Wide wish, const api::CapacityPolicy& policy, Wide& taken) {
  const Wide min = policy.range_min->nanos();
  taken = std::max(wish, min);
  if (wish > min && policy.range_step) {
    const Wide step = policy.range_step->nanos();
    bool thousandths = counts_in(min, kMilli) && counts_in(step, kMilli);
    if (policy.range_max) thousandths = thousandths && counts_in(policy.range_max->nanos(), kMilli);
    if (!counts_in(wish, thousandths ? kMilli : kUnit)) return RuleResult::Error;
    if (step > 0)
      for (taken = min + (wish - min) / step * step; taken < wish;) taken += step;
  }
  return policy.range_max && taken > policy.range_max->nanos() ? RuleResult::No : RuleResult::Yes;
}

RuleResult by_policy(const Quantity& wish, const api::CapacityPolicy& policy, Wide& taken) {
  taken = wish.nanos();
  if (policy.default_value && *policy.default_value == wish) return RuleResult::Yes;
  if (policy.range_min) return in_range(wish.nanos(), policy, taken);
  if (policy.valid_values.empty()) return RuleResult::Yes;
  std::set<Wide> enough;
  for (const Quantity& value : policy.valid_values)
    if (value.nanos() >= wish.nanos()) enough.insert(value.nanos());
  if (enough.empty()) return RuleResult::No;
  taken = *enough.begin();
  return RuleResult::Yes;
}

template <class T>
void put_all(const std::vector<T>& list, bool allowed, std::set<std::string>& out) {
  if (!allowed) return;
  for (auto&& item : list)
    for (const std::string& text : value_set(api::AttributeValue(T(item)), false)) out.insert(text);
}

}  // namespace

RuleResult share_of(const api::Device& device, const Amounts& wishes, Amounts& taken) {
  for (const auto& [name, wish] : wishes)
    if (wish.is_negative()) return RuleResult::Error;
  for (const auto& [name, wish] : wishes)
    if (!device.capacity.contains(name)) return RuleResult::No;
  for (const auto& [name, capacity] : device.capacity) {
    const bool wished = wishes.contains(name);
    Quantity amount = capacity.value;
    if (wished) amount = wishes.at(name);
    if (!wished && capacity.policy && capacity.policy->default_value)
      amount = *capacity.policy->default_value;
    if (wished && capacity.policy) {
      Wide nanos = 0;
      const RuleResult verdict = by_policy(amount, *capacity.policy, nanos);
      if (verdict != RuleResult::Yes) return verdict;
      amount = Quantity::nanos(nanos);
    }
    taken[name] = amount;
  }
  return RuleResult::Yes;
}

RuleResult is_large_enough(const api::Device& device, const Amounts& wishes) {
  bool enough = true;
  for (const auto& [name, wish] : wishes) {
    if (wish.is_negative()) return RuleResult::Error;
    enough = enough && device.capacity.contains(name) && device.capacity.at(name).value >= wish;
  }
  return enough ? RuleResult::Yes : RuleResult::No;
}

RuleResult fits_unused(const api::Device& device, bool shareable, const Amounts& wishes) {
  if (!shareable) return is_large_enough(device, wishes);
  Amounts share;
  const RuleResult verdict = share_of(device, wishes, share);
  for (const auto& [name, amount] : share)
    if (verdict == RuleResult::Yes && amount > device.capacity.at(name).value) return RuleResult::No;
  return verdict;
}

std::set<std::string> value_set(const api::AttributeValue& value, bool lists) {
  std::set<std::string> out;
  if (const auto* number = std::get_if<std::int64_t>(&value)) out.insert("int " + std::to_string(*number));
  if (const auto* truth = std::get_if<bool>(&value)) out.insert(*truth ? "bool true" : "bool false");
  if (const auto* text = std::get_if<std::string>(&value)) out.insert("string " + *text);
  if (const auto* version = std::get_if<api::AttributeVersion>(&value))
    out.insert("version " + version->text);
  if (const auto* list = std::get_if<std::vector<std::int64_t>>(&value)) put_all(*list, lists, out);
  if (const auto* list = std::get_if<std::vector<bool>>(&value)) put_all(*list, lists, out);
  if (const auto* list = std::get_if<std::vector<std::string>>(&value)) put_all(*list, lists, out);
  if (const auto* list = std::get_if<std::vector<api::AttributeVersion>>(&value)) put_all(*list, lists, out);
  return out;
}

std::optional<api::AttributeValue> attribute_named(const api::Device& device, const std::string& driver,
                                                   const std::string& name) {
  if (device.attributes.contains(name)) return device.attributes.at(name);
  if (name.starts_with(driver + "/")) {
    const std::string bare = name.substr(driver.size() + 1);
    if (device.attributes.contains(bare)) return device.attributes.at(bare);
  }
  return std::nullopt;
}

bool all_match(const std::vector<std::set<std::string>>& sets) {
  if (sets.empty()) return true;
  return std::any_of(sets[0].begin(), sets[0].end(), [&](const std::string& value) {
    return std::all_of(sets.begin(), sets.end(), [&](const auto& set) { return set.contains(value); });
  });
}

bool all_distinct(const std::vector<std::set<std::string>>& sets) {
  std::set<std::string> seen;
  for (const auto& set : sets) {
    if (set.empty()) return false;
    for (const std::string& value : set)
      if (!seen.insert(value).second) return false;
  }
  return true;
}

bool constraint_covers(const api::DeviceConstraint& constraint, const std::string& request,
                       const std::string& alternative) {
  const auto& names = constraint.requests;
  return names.empty() || std::count(names.begin(), names.end(), request) > 0 ||
         (!alternative.empty() && std::count(names.begin(), names.end(), request + "/" + alternative) > 0);
}

}  // namespace berth::dra::judge
