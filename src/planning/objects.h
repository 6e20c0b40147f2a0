// The objects that a decision would leave in the API: the bound pod, its allocated claims, its bind request.
#pragma once

#include "placement/framework.h"

namespace berth::planning {

struct Placing {
  const api::Pod& pod;
  const std::string& node;
  const model::ReservationPtr& reservation;
  const api::BindGroup& group;
  const std::string& decision_id;
};

// Whole documents, in the form that `kubectl apply` accepts.
Json bound_pod(const api::Pod& pod);
// Still pending, with status.nominatedNodeName.
Json nominated_pod(const api::Pod& pod, const std::string& node);
Json allocated_claim(const api::ResourceClaim& claim);
Json bind_request(const Placing& placing, const placement::SchedulingContext& context);

}  // namespace berth::planning
