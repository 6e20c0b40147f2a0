// The id of a decision, as in BindRequest.spec.decisionID: "d7-<digest>". A process that holds no Lease
// appends its own name, "d7-<digest>@<process>", so that its successor knows what it did not decide itself.
#pragma once

#include <string>
#include <string_view>

#include "api/types/bind_request.h"

namespace berth::api {

// An empty `process` adds nothing.
inline std::string with_process(std::string id, std::string_view process) {
  return process.empty() ? id : id.append("@").append(process);
}

// Empty without one.
inline std::string_view process_of(std::string_view decision_id) {
  const std::size_t at = decision_id.find('@');
  return at == std::string_view::npos ? std::string_view() : decision_id.substr(at + 1);
}

// Whether another process than `process`, which is not empty, decided it, and no binder has begun it. Nobody
// accounts for such a decision.
inline bool is_unbegun_of_other(const BindRequest& request, std::string_view process) {
  const std::string_view other = process_of(request.decision_id);
  return !process.empty() && !other.empty() && other != process && !request.status_names_decision;
}

}  // namespace berth::api
