#include "binding/request_check.h"

#include <algorithm>

namespace berth::binding {
namespace {

const api::PodClaim* claim_of(const api::Pod& pod, const std::string& name) {
  const auto found = std::find_if(pod.claims.begin(), pod.claims.end(),
                                  [&name](const api::PodClaim& claim) { return claim.name == name; });
  return found == pod.claims.end() ? nullptr : &*found;
}

api::FieldErrors check_allocation(const api::FieldPath& path, const api::ClaimAllocation& given,
                                  const api::Pod& pod) {
  const api::PodClaim* claim = claim_of(pod, given.name);
  if (!claim)
    return {
        api::not_found(path.child("name"), given.name, "the pod's spec.resourceClaims has no such entry")};
  api::FieldErrors errors;
  const std::string name = api::claim_object_name(pod, *claim);
  if (given.claim_name != name)
    errors.push_back(
        api::invalid(path.child("claimName"), given.claim_name,
                     "the pod's claim " + given.name + " is the ResourceClaim \"" + name + "\""));
  if (given.claim_uid.empty())
    errors.push_back(api::required(path.child("claimUID"), "the UID of ResourceClaim " + given.claim_name));
  return errors;
}

api::FieldErrors check_gpu_share(const api::BindRequest& request, const api::Pod& pod) {
  const std::string& type = request.received_resource_type;
  const auto asked = api::gpu_share_request(pod.meta);
  if (!asked && type == api::kFractionReceived)
    return {api::invalid("spec.receivedResourceType", type,
                         "the pod asks for no share of a GPU: must be \"Regular\" or absent")};
  if (!asked) return {};
  if (type != api::kFractionReceived)
    return {api::invalid("spec.receivedResourceType", type,
                         "the pod asks for a share of a GPU: must be \"Fraction\"")};
  api::FieldErrors errors;
  const std::int32_t hundredths = request.gpu_share.hundredths;
  const std::string portion = hundredths > 0 ? api::gpu_portion(hundredths) : "";
  if (hundredths == 0 || (asked->hundredths > 0 && asked->hundredths != hundredths))
    errors.push_back(api::invalid(
        "spec.receivedGPU.portion", portion,
        asked->hundredths > 0 ? "must be what the pod asks for, " + api::gpu_portion(asked->hundredths)
                              : "must have two decimals, from 0.01 to 1.00"));
  if (request.received_gpu_count != static_cast<std::int32_t>(asked->devices))
    errors.push_back(api::invalid("spec.receivedGPU.count", std::int64_t{request.received_gpu_count},
                                  "must be what the pod asks for, " + std::to_string(asked->devices)));
  std::vector<std::string> groups = request.gpu_share.groups;
  std::sort(groups.begin(), groups.end());
  const bool distinct = std::adjacent_find(groups.begin(), groups.end()) == groups.end();
  if (!distinct || groups.size() != asked->devices)
    errors.push_back(api::invalid(
        "spec.selectedGPUGroups", static_cast<std::int64_t>(groups.size()),
        "must name " + std::to_string(asked->devices) + " different groups, one for each device"));
  return errors;
}

}  // namespace

api::FieldErrors check_request(const api::BindRequest& request, const api::Pod& pod) {
  const api::FieldPath path("spec.resourceClaimAllocations");
  api::FieldErrors errors;
  api::append(errors, check_gpu_share(request, pod));
  std::size_t index = 0;
  for (const api::ClaimAllocation& given : request.claims)
    if (!given.extended) api::append(errors, check_allocation(path.index(index++), given, pod));
  for (const api::PodClaim& claim : pod.claims) {
    const bool given = std::any_of(
        request.claims.begin(), request.claims.end(),
        [&claim](const api::ClaimAllocation& one) { return !one.extended && one.name == claim.name; });
    if (!given && !api::needs_no_claim(pod, claim))
      errors.push_back(
          api::required(path, "has no entry for the pod's claim " + claim.name + ": add its allocation"));
  }
  return errors;
}

}  // namespace berth::binding
