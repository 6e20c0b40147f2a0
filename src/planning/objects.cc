#include "planning/objects.h"

#include <algorithm>

#include "base/assert.h"
#include "placement/bind_request.h"

namespace berth::planning {
namespace {

Json document_of(const api::RawPtr& raw) {
  Result<Json> parsed = parse_json(*raw);
  BERTH_ASSERT(parsed.ok(), "the plan wrote this text itself");
  return std::move(parsed).value();
}

}  // namespace

Json bound_pod(const api::Pod& pod) {
  Json object = document_of(pod.raw);
  object["spec"]["nodeName"] = pod.node_name;
  if (const api::GpuSharePtr share = api::gpu_share_of(pod))
    for (const auto& [key, value] : api::gpu_share_annotations(*share))
      object["metadata"]["annotations"][key] = value;
  if (!pod.node_allocatable.empty())
    object["status"]["nodeAllocatableResourceClaimStatuses"] = api::to_json(pod.node_allocatable);
  return object;
}

Json nominated_pod(const api::Pod& pod, const std::string& node) {
  Json object = document_of(pod.raw);
  object["status"]["nominatedNodeName"] = node;
  return object;
}

Json allocated_claim(const api::ResourceClaim& claim) {
  Json object = document_of(claim.raw);
  Json& status = object["status"];
  status["allocation"] = api::to_json(*claim.allocation);
  Json consumers = Json::array();
  for (const api::ClaimConsumer& consumer : claim.reserved_for)
    consumers.as_array().push_back(api::to_json(consumer));
  status["reservedFor"] = std::move(consumers);
  return object;
}

Json bind_request(const Placing& placing, const placement::SchedulingContext& context) {
  const placement::BindRequestDraft binding{
      &placing.pod, placing.node, context.cluster.named(placing.pod, model::value_of(placing.reservation))};
  return api::bind_request_object(placement::bind_request(binding, placing.group, placing.decision_id, {}));
}

}  // namespace berth::planning
