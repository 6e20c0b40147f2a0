#include "dra/ask.h"

#include <algorithm>

#include "dra/constraints.h"

namespace berth::dra {
namespace {

Error refuse(const api::ResourceClaim& claim, const std::string& request, std::string_view why) {
  std::string text = text_of(claim);
  if (!request.empty()) text += ", request " + request;
  return Error(ErrorCode::Invalid, text + ": " + std::string(why));
}

// Why a request cannot be answered here at all; empty when it can.
std::string_view unsupported(const Gates& gates, const api::DeviceRequest& request,
                             const api::DeviceSubRequest& sub) {
  if (request.prioritized && !gates.prioritized_list) return "has subrequests, but the feature is disabled";
  if (sub.admin_access && !gates.admin_access)
    return "admin access is requested, but the feature is disabled";
  if (!sub.capacity.empty() && !gates.consumable_capacity)
    return "has capacity requests, but the feature is disabled";
  if (!sub.derived_attributes.empty() && !gates.derived_attributes)
    return "has derived attributes, but the feature is disabled";
  if (sub.device_class.empty()) return "has no device class";
  return {};
}

Result<SubAsk> compile_sub(const model::Cluster& cluster, Inventory& inventory, const Gates& gates,
                           const api::ResourceClaim& claim, const api::DeviceRequest& request,
                           const api::DeviceSubRequest& sub) {
  if (const std::string_view why = unsupported(gates, request, sub); !why.empty())
    return refuse(claim, sub.name, why);
  const auto found = cluster.classes().find(sub.device_class);
  if (found == cluster.classes().end())
    return refuse(claim, sub.name,
                  "could not retrieve device class " + sub.device_class + ": deviceclass \"" +
                      sub.device_class + "\" not found");
  SubAsk ask{
      request.prioritized ? request.name + "/" + sub.name : request.name, found->second, &sub, {}, {}, {}};
  for (const auto& [name, expression] : sub.derived_attributes)
    ask.derived.emplace_back(name, inventory.evaluator().compile_attribute(expression));
  ask.selectors = inventory.intern(sub.device_class, found->second->selectors, sub.selectors);
  for (std::uint32_t i = 0; i < claim.constraints.size(); ++i)
    if (ConstraintState(claim.constraints[i], ListAttributes::Refused).covers(request.name, ask.name))
      ask.constraints.push_back(i);
  return ask;
}

}  // namespace

std::string text_of(const api::ResourceClaim& claim) {
  return "claim " + claim.meta.ns + "/" + claim.meta.name;
}

Result<std::shared_ptr<const Ask>> compile_ask(const model::Cluster& cluster, Inventory& inventory,
                                               const Gates& gates, std::span<const ClaimPtr> claims) {
  auto ask = std::make_shared<Ask>();
  for (const ClaimPtr& claim : claims) {
    ClaimAsk& claim_ask = ask->claims.emplace_back();
    claim_ask.claim = claim;
    std::int64_t least = 0;
    for (const api::DeviceRequest& request : claim->requests) {
      if (request.alternatives.empty()) return refuse(*claim, request.name, "unknown request type");
      RequestAsk& request_ask = claim_ask.requests.emplace_back();
      request_ask.spec = &request;
      std::int64_t smallest = INT64_MAX;
      for (const api::DeviceSubRequest& sub : request.alternatives) {
        request_ask.alternatives.push_back(TRY(compile_sub(cluster, inventory, gates, *claim, request, sub)));
        smallest = std::min(smallest, sub.mode == api::AllocationMode::All ? 0 : sub.count);
      }
      least += smallest;
    }
    if (least > static_cast<std::int64_t>(kClaimResultsMax))
      return refuse(*claim, "",
                    "number of requested devices " + std::to_string(least) + " exceeds the claim limit of " +
                        std::to_string(kClaimResultsMax));
    for (const api::DeviceConstraint& constraint : claim->constraints)
      if (constraint.match_attribute.empty() == constraint.distinct_attribute.empty())
        return refuse(*claim, "", "unknown constraint type");
  }
  return std::shared_ptr<const Ask>(std::move(ask));
}

}  // namespace berth::dra
