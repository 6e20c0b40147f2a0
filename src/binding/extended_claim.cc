#include "binding/extended_claim.h"

namespace berth::binding {

using client::Chain;

namespace {

const api::ResourceClaim* named(const BindContext& context, const api::ClaimAllocation& wanted) {
  return context.view.claims.find(context.request.meta.ns, wanted.claim_name);
}

bool owned(const BindContext& context, const api::ResourceClaim& claim) {
  const api::OwnerReference* owner = claim.meta.controller();
  return owner && owner->uid == context.request.pod_uid;
}

}  // namespace

const api::ResourceClaim* find_extended_claim(const BindContext& context,
                                              const api::ClaimAllocation& wanted) {
  const api::ResourceClaim* claim = named(context, wanted);
  return claim && owned(context, *claim) ? claim : nullptr;
}

bool extended_name_is_taken(const BindContext& context, const api::ClaimAllocation& wanted) {
  const api::ResourceClaim* claim = named(context, wanted);
  return claim && !owned(context, *claim);
}

Chain create_extended_claim(const BindContext& context, const api::ClaimAllocation& wanted) {
  const api::BindRequest& request = context.request;
  api::ObjectMeta pod;
  pod.ns = request.meta.ns;
  pod.name = request.pod_name;
  pod.uid = request.pod_uid;
  const Json object = api::extended_claim_object(pod, wanted.claim_name, *wanted.extended);
  const api::ObjectKey key{api::Kind::ResourceClaim, request.meta.ns, wanted.claim_name, {}};
  return {key, {client::create(api::Kind::ResourceClaim, request.meta.ns, object)}};
}

std::optional<Chain> tell_pod(const BindContext& context, const api::ClaimAllocation& wanted) {
  if (!context.pod || context.pod->extended_claim == wanted.claim_name) return std::nullopt;
  const api::ObjectKey key = client::key_of(api::Kind::Pod, context.pod->meta);
  const Json told = Json::object(
      {{"resourceClaimName", wanted.claim_name}, {"requestMappings", wanted.extended->mappings}});
  const Json patch = Json::object({{"status", Json::object({{"extendedResourceClaimStatus", told}})}});
  const api::ObjectMeta& pod = context.pod->meta;
  return Chain{key, {client::merge_patch(key, patch, pod.uid, pod.resource_version, "status")}};
}

}  // namespace berth::binding
