// The BindRequest of a decision: the scheduler writes it, a plan prints it.
#pragma once

#include <optional>
#include <string>

#include "api/types/bind_request.h"
#include "api/types/pod.h"
#include "client/decider.h"

namespace berth::placement {

struct BindRequestDraft {
  const api::Pod* pod = nullptr;
  std::string node;
  api::PodReservation reservation;
  std::optional<std::int32_t> backoff_limit = {};  // not set: the binder's own
};

api::BindRequest bind_request(const BindRequestDraft& binding, const api::BindGroup& group,
                              const std::string& decision, const client::Leadership& term);

}  // namespace berth::placement
