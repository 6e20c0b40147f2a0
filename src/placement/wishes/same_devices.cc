#include "placement/wishes/same_devices.h"

#include <algorithm>
#include <bit>
#include <set>

#include "dra/pools/value_table.h"
#include "placement/claims.h"

namespace berth::placement {
namespace {

const std::size_t kIntegers = api::AttributeValue(std::int64_t{0}).index();

const api::PodClaim* claim_named(const api::Pod& pod, const std::string& name) {
  const auto found = std::ranges::find(pod.claims, name, &api::PodClaim::name);
  return found == pod.claims.end() ? nullptr : &*found;
}

// All subsets of `mask` with so many bits, in ascending order; until `visit` returns false.
template <class Visit>
bool visit_subsets(std::uint64_t mask, std::size_t bits, std::uint64_t chosen, const Visit& visit) {
  if (bits == 0) return visit(chosen);
  for (; static_cast<std::size_t>(std::popcount(mask)) >= bits; mask &= mask - 1)
    if (!visit_subsets(mask & (mask - 1), bits - 1, chosen | (mask & (~mask + 1)), visit)) return false;
  return true;
}

}  // namespace

SameDevices::SameDevices(const SchedulingContext& context, const GroupInput& input)
    : context_(context), cluster_(context.cluster), input_(input), wish_(*input.wish->same_devices) {}

void SameDevices::read() {
  if (read_) return;
  read_ = true;
  read_claims();
  read_devices();
}

std::size_t SameDevices::value_count() {
  read();
  return values_.size();
}

// A set has at least so many values as some claim demands, and at most as few as some claim permits.
void SameDevices::read_claims() {
  std::optional<std::int64_t> fewest;
  std::size_t most_values = kDeviceValuesMax;
  for (const api::Pod* pod : input_.waiting) {
    const api::PodClaim* named = claim_named(*pod, wish_.claim);
    const model::ClaimId id =
        named ? cluster_.find_claim(pod->meta.ns, api::claim_object_name(*pod, *named)) : model::ClaimId();
    if (!id.valid() || !cluster_.claim(id).live) {
      ++without_claim_;
      continue;
    }
    const api::ResourceClaim& claim = *cluster_.claim(id).live;
    const std::int64_t devices = std::max<std::int64_t>(1, least_devices(claim));
    fewest = std::min(fewest.value_or(devices), devices);
    for (const api::DeviceConstraint& one : claim.constraints) {
      if (!one.requests.empty()) continue;
      if (one.match_attribute == wish_.attribute) most_values = 1;
      if (one.distinct_attribute == wish_.attribute)
        smallest_ =
            std::max(smallest_, static_cast<std::size_t>(std::min<std::int64_t>(devices, kDeviceValuesMax)));
    }
  }
  per_member_ = fewest.value_or(1);
  largest_ =
      std::min(most_values, static_cast<std::size_t>(std::min<std::int64_t>(per_member_, kDeviceValuesMax)));
}

void SameDevices::read_devices() {
  NodeValues everywhere;
  for (const auto& [name, pool] : cluster_.shared_pools()) add_devices(pool, everywhere);
  for (const auto& [name, node] : cluster_.live_nodes()) {
    NodeValues own = everywhere;
    for (const model::PoolId pool : cluster_.pools_of(node))
      if (!cluster_.pool(pool).wide) add_devices(pool, own);
    if (own.mask != 0) nodes_.push_back(std::move(own));
  }
}

void SameDevices::add_devices(model::PoolId id, NodeValues& node) {
  const model::PoolRow& pool = cluster_.pool(id);
  for (const auto& [name, device] : pool.devices) {
    if (cluster_.ledger().busy(device)) continue;
    const api::Device* offer = cluster_.find_offer(pool.driver, pool.pool, name);
    const std::optional<Value> value = offer ? value_of(*offer, pool.driver) : std::nullopt;
    const std::size_t index = value ? index_of(*value) : kDeviceValuesMax;
    if (index == kDeviceValuesMax) continue;
    devices_.emplace_back(device, index);
    node.mask |= std::uint64_t{1} << index;
    if (node.counts.size() <= index) node.counts.resize(index + 1);
    ++node.counts[index];
  }
}

std::optional<SameDevices::Value> SameDevices::value_of(const api::Device& device,
                                                        std::string_view driver) const {
  const api::AttributeValue* value = dra::attribute_of(device, driver, wish_.attribute);
  if (!value) return std::nullopt;
  const auto as_text = [&](std::string text) { return Value{value->index(), 0, std::move(text)}; };
  if (const auto* number = std::get_if<std::int64_t>(value)) return Value{value->index(), *number, ""};
  if (const auto* yes = std::get_if<bool>(value)) return as_text(*yes ? "true" : "false");
  if (const auto* text = std::get_if<std::string>(value)) return as_text(*text);
  if (const auto* version = std::get_if<api::AttributeVersion>(value)) return as_text(version->text);
  return std::nullopt;
}

std::size_t SameDevices::index_of(const Value& value) {
  const auto known = std::ranges::find(values_, value);
  if (known != values_.end()) return static_cast<std::size_t>(known - values_.begin());
  if (values_.size() == kDeviceValuesMax) {
    complete_ = false;
    return kDeviceValuesMax;
  }
  values_.push_back(value);
  return values_.size() - 1;
}

// Members that the nodes take by their free devices of the set.
std::int64_t SameDevices::room(std::uint64_t mask) const {
  const auto size = std::popcount(mask);
  std::int64_t members = 0;
  for (const NodeValues& node : nodes_) {
    if ((node.mask & mask) != mask) continue;
    std::int64_t least = INT64_MAX, sum = 0;
    for (std::size_t i = 0; i < node.counts.size(); ++i) {
      if ((mask >> i & 1) == 0) continue;
      least = std::min(least, node.counts[i]);
      sum += node.counts[i];
    }
    members += std::min(least, sum / std::max<std::int64_t>(size, per_member_));
  }
  return members;
}

SameDevices::Values SameDevices::of_mask(std::uint64_t mask) const {
  Values values;
  for (std::size_t i = 0; i < values_.size(); ++i)
    if ((mask >> i & 1) != 0) values.push_back(values_[i]);
  std::ranges::sort(values);
  return values;
}

void SameDevices::find_sets(CountedSets& sets) {
  bool differ = false;
  std::optional<Values> fixed = placed_values(differ);
  if (differ) return;
  if (fixed) return void(sets.emplace_back(-INT64_MAX, *std::move(fixed)));
  std::set<std::uint64_t> masks, seen;
  for (const NodeValues& node : nodes_) masks.insert(node.mask);
  for (std::size_t size = largest_; size >= smallest_ && size > 0; --size)
    for (const std::uint64_t mask : masks)
      visit_subsets(mask, size, 0, [&](std::uint64_t set) {
        if (seen.contains(set)) return true;
        if (seen.size() == kValueSetsMax) return complete_ = false;
        seen.insert(set);
        sets.emplace_back(-room(set), of_mask(set));
        return true;
      });
  std::ranges::sort(sets);
}

std::vector<SameDevices::Values> SameDevices::sets(std::int64_t members) {
  read();
  if (!sets_) find_sets(sets_.emplace());
  members -= std::min(members, without_claim_);
  std::vector<Values> sets;
  for (const auto& [room, values] : *sets_)
    if (-room >= members && sets.size() < kValueSetsTriedMax) sets.push_back(values);
  return sets;
}

void SameDevices::hide_others(const Values& set, model::Ledger::Transaction& transaction) const {
  for (const auto& [device, value] : devices_)
    if (!std::ranges::binary_search(set, values_[value])) transaction.hide(device);
}

void SameDevices::show_again(model::Plan& plan) {
  std::erase_if(plan.steps,
                [](const model::Step& step) { return std::holds_alternative<model::Hide>(step); });
}

// Devices without the attribute do not count.
SameDevices::Values SameDevices::values_of(const api::Allocation& allocation) const {
  Values values;
  for (const api::DeviceResult& one : allocation.results) {
    const api::Device* offer = cluster_.find_offer(one.driver, one.pool, one.device);
    const std::optional<Value> value = offer ? value_of(*offer, one.driver) : std::nullopt;
    if (value) values.push_back(*value);
  }
  std::ranges::sort(values);
  values.erase(std::ranges::unique(values).begin(), values.end());
  return values;
}

// Of the members with a place. None: there is no such member.
std::optional<SameDevices::Values> SameDevices::placed_values(bool& differ) const {
  std::optional<Values> all;
  for (const api::Pod* pod : input_.placed) {
    const api::PodClaim* named = claim_named(*pod, wish_.claim);
    if (!named) continue;
    const model::ClaimId id = cluster_.find_claim(pod->meta.ns, api::claim_object_name(*pod, *named));
    const model::ClaimReservationPtr held = id.valid() ? cluster_.ledger().reservation(id) : nullptr;
    if (!held || !held->allocation) continue;
    Values own = values_of(*held->allocation);
    differ |= all && *all != own;
    all = std::move(own);
  }
  return all;
}

std::optional<SameDevices::Values> SameDevices::common(std::span<const MemberOutcome> members) const {
  bool differ = false;
  std::optional<Values> all = placed_values(differ);
  for (const MemberOutcome& member : members) {
    if (!member.node.valid()) continue;  // what was tried for it is no decision
    for (const model::ClaimChoice& choice : model::value_of(member.reservation).claims) {
      if (choice.pod_claim != wish_.claim || !choice.allocation) continue;
      Values own = values_of(*choice.allocation);
      differ |= all && *all != own;
      all = std::move(own);
    }
  }
  if (differ) return std::nullopt;
  return all ? std::move(all) : std::optional(Values{});
}

std::vector<std::string> SameDevices::texts(const Values& values) {
  std::vector<std::string> texts;
  for (const auto& [kind, number, text] : values)
    texts.push_back(kind == kIntegers ? std::to_string(number) : text);
  return texts;
}

}  // namespace berth::placement
