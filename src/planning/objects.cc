#include "planning/objects.h"

#include <algorithm>

#include "base/assert.h"
#include "scheduling/writes.h"

namespace berth::planning {
namespace {

Json document_of(const api::RawPtr& raw) {
  Result<Json> parsed = parse_json(*raw);
  BERTH_ASSERT(parsed.ok(), "the plan wrote this text itself");
  return std::move(parsed).value();
}

Json allocated(const api::ResourceClaim& claim, const api::Allocation& allocation,
               const api::ObjectMeta& pod) {
  Json object = document_of(claim.raw);
  Json& status = object["status"];
  status["allocation"] = api::to_json(allocation);
  if (claim.reserved_by(pod.uid)) return object;
  Json& consumers = status["reservedFor"];
  if (!consumers.is_array()) consumers = Json::array();
  consumers.as_array().push_back(api::to_json(api::ClaimConsumer{"", "pods", pod.name, pod.uid}));
  return object;
}

}  // namespace

void add_objects(const scheduling::World& world, const Placing& placing, std::vector<Json>& objects) {
  Json pod = document_of(placing.pod.raw);
  pod["spec"]["nodeName"] = placing.node;
  objects.push_back(std::move(pod));
  for (const scheduling::ClaimChoice& choice : placing.claims)
    if (const auto& live = world.cluster.claim(choice.claim).live)
      objects.push_back(allocated(*live, *choice.allocation, placing.pod.meta));
  const scheduling::Binding binding{&placing.pod, placing.node,
                                    scheduling::claim_allocations(world, placing.claims)};
  const client::Chain chain = scheduling::bind_chain(binding, placing.group, placing.decision_id);
  Result<Json> request = parse_json(chain.writes.front().request.body);
  BERTH_ASSERT(request.ok(), "a bind request is JSON");
  objects.push_back(std::move(request).value());
}

}  // namespace berth::planning
