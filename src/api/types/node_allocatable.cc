#include "api/types/node_allocatable.h"

#include <algorithm>

namespace berth::api {
namespace {

using Wide = unsigned __int128;

constexpr Wide kNano = 1'000'000'000;
// The limit at which sums of quantities saturate as well.
constexpr Wide kProductMax = (static_cast<Wide>(1) << 126) - 1;

Wide magnitude(__int128 value) {
  return value < 0 ? -static_cast<Wide>(value) : static_cast<Wide>(value);
}

// factor * value, or kProductMax.
Wide times(Wide factor, Wide value) {
  if (factor == 0 || value == 0) return 0;
  return value > kProductMax / factor ? kProductMax : factor * value;
}

std::optional<NodeAllocatableMapping> decode_mapping(const Json& json) {
  const std::string key(json.string_at("capacityKey"));
  const auto multiplier = decode_quantity(json, key.empty() ? "deviceMultiplier" : "capacityMultiplier");
  if (key.empty() && !multiplier) return std::nullopt;
  return NodeAllocatableMapping{key, multiplier.value_or(Quantity::of(1))};
}

std::optional<NodeAllocatableOverhead> decode_overhead(const Json& json) {
  NodeAllocatableOverhead overhead{decode_quantity(json, "perPod"), decode_quantity(json, "perContainer")};
  if (!overhead.per_pod && !overhead.per_container) return std::nullopt;
  return overhead;
}

void add_to(ResourceMap& sum, const std::string& name, const std::optional<Quantity>& amount) {
  if (amount && !amount->is_negative() && !amount->is_zero()) sum[name] += *amount;
}

}  // namespace

Quantity product(Quantity a, Quantity b) {
  const Wide left = magnitude(a.nanos()), right = magnitude(b.nanos());
  const Wide units = left / kNano, rest = left % kNano;
  // rest * right / 10^9, in two parts so that neither overflows.
  const Wide small = (rest * (right % kNano) + kNano - 1) / kNano;
  const Wide sum = std::min(times(units, right), kProductMax) + times(rest, right / kNano);
  const auto nanos = static_cast<__int128>(std::min(sum + small, kProductMax));
  return Quantity::nanos(a.is_negative() != b.is_negative() ? -nanos : nanos, a.format());
}

ResourceMap amounts_of(const NodeAllocatableClaims& claims) {
  ResourceMap sum;
  for (const NodeAllocatableClaim& claim : claims) {
    for (const auto& [name, amount] : claim.mapping) add_to(sum, name, amount);
    const Quantity containers = Quantity::of(static_cast<std::int64_t>(claim.containers.size()));
    for (const auto& [name, overhead] : claim.overhead) {
      add_to(sum, name, overhead.per_pod);
      if (overhead.per_container) add_to(sum, name, product(*overhead.per_container, containers));
    }
  }
  return sum;
}

ResourceMap amounts_of(const NodeAllocatableClaims& claims, std::string_view container) {
  ResourceMap sum;
  for (const NodeAllocatableClaim& claim : claims) {
    if (std::find(claim.containers.begin(), claim.containers.end(), container) == claim.containers.end())
      continue;
    for (const auto& [name, amount] : claim.mapping) add_to(sum, name, amount);
    for (const auto& [name, overhead] : claim.overhead) {
      add_to(sum, name, overhead.per_pod);
      add_to(sum, name, overhead.per_container);
    }
  }
  return sum;
}

NodeAllocatableResources decode_node_allocatable_resources(const Json& map) {
  NodeAllocatableResources resources;
  if (!map.is_object()) return resources;
  for (const JsonMember& entry : map.as_object())
    resources.emplace(entry.key, NodeAllocatableResource{decode_mapping(entry.value.part("mapping")),
                                                         decode_overhead(entry.value.part("overhead"))});
  return resources;
}

NodeAllocatableClaims decode_node_allocatable_claims(const JsonArray& items) {
  NodeAllocatableClaims claims;
  for (const Json& item : items) {
    NodeAllocatableClaim& claim = claims.emplace_back();
    claim.claim_name = item.string_at("resourceClaimName");
    claim.containers = decode_strings(item.items_at("containers"));
    for (const Json& one : item.items_at("mapping"))
      if (const auto amount = decode_quantity(one, "quantity"))
        claim.mapping.emplace(one.string_at("name"), *amount);
    for (const Json& one : item.items_at("overhead"))
      if (const auto overhead = decode_overhead(one))
        claim.overhead.emplace(one.string_at("name"), *overhead);
  }
  return claims;
}

Json to_json(const NodeAllocatableClaims& claims) {
  JsonArray items;
  for (const NodeAllocatableClaim& claim : claims) {
    Json item = Json::object({{"resourceClaimName", claim.claim_name}});
    if (!claim.containers.empty()) item["containers"] = to_json(claim.containers);
    JsonArray mapping, overheads;
    for (const auto& [name, amount] : claim.mapping)
      mapping.push_back(Json::object({{"name", name}, {"quantity", amount.text()}}));
    for (const auto& [name, overhead] : claim.overhead) {
      Json& one = overheads.emplace_back(Json::object({{"name", name}}));
      if (overhead.per_pod) one["perPod"] = overhead.per_pod->text();
      if (overhead.per_container) one["perContainer"] = overhead.per_container->text();
    }
    if (!mapping.empty()) item["mapping"] = std::move(mapping);
    if (!overheads.empty()) item["overhead"] = std::move(overheads);
    items.push_back(std::move(item));
  }
  return items;
}

}  // namespace berth::api
