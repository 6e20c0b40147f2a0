// Status writes of BindRequests, with changed fields only; and the pod condition that seals a failed
// decision.
#pragma once

#include <optional>
#include <string>

#include "client/decider.h"

namespace berth::binding {

enum class IfChanged {
  Refuse,  // the write names the version of `now`: for decisions
  Write,   // without a version: for facts that no change makes wrong
};

// The write that changes the status of `now` to that of `wanted`, the same object. None if they are equal.
std::optional<client::Write> status_write(const api::BindRequest& now, const api::BindRequest& wanted,
                                          IfChanged if_changed);

// The condition Bound of a request with this status; when it began is not said.
api::Condition bound_condition(const api::BindRequest& status);

// The message of the pod's condition PodScheduled for a failed decision. `failed`: the request with its
// failure as message.
std::string sealing_message(const api::BindRequest& failed);
// Whether the pod has this condition: a binding that was sent for the decision names an older version and
// meets Conflict.
bool is_sealed(const api::Pod& pod, const api::BindRequest& failed);

}  // namespace berth::binding
