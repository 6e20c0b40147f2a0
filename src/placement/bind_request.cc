#include "placement/bind_request.h"

#include "base/known_defects.h"

namespace berth::placement {

api::BindRequest bind_request(const BindRequestDraft& binding, const api::BindGroup& group,
                              const std::string& decision, const client::Leadership& term) {
  const api::ObjectMeta& pod = binding.pod->meta;
  api::BindRequest request;
  request.meta.ns = pod.ns;
  request.meta.name = api::bind_request_name(pod.name, pod.uid);
  if (has(KnownDefect::DuplicateBindRequest)) request.meta.name = api::bind_request_name(pod.name, decision);
  request.pod_name = pod.name;
  request.pod_uid = pod.uid;
  request.node = binding.node;
  request.group = group;
  request.decision_id = decision;
  request.scheduler_name = binding.pod->scheduler_name;
  request.epoch = term.epoch;
  request.lease = term.lease;
  static_cast<api::PodReservation&>(request) = binding.reservation;
  if (!request.gpu_share.empty()) {
    request.received_resource_type = api::kFractionReceived;
    request.received_gpu_count = static_cast<std::int32_t>(request.gpu_share.groups.size());
  }
  request.backoff_limit = binding.backoff_limit;
  return request;
}

}  // namespace berth::placement
