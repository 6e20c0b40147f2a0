// Writes of a BindRequest's status, only what differs, and nothing when nothing does; and what a pod is told
// of a decision that failed.
#pragma once

#include <optional>
#include <string>

#include "client/decider.h"

namespace berth::binding {

enum class IfChanged {
  Refuse,  // another version than `now` is refused: for decisions
  Write,   // for what is true whatever else happened
};

// The write that turns the status of `now` into that of `wanted`; both are the same object. None when they
// are equal.
std::optional<client::Write> status_write(const api::BindRequest& now, const api::BindRequest& wanted,
                                          IfChanged if_changed);

// What the pod's condition PodScheduled says of a decision that failed. `failed`: with the reason of its
// failure as message.
std::string sealing_message(const api::BindRequest& failed);
// The pod bears it: a binding that was sent for this decision stands on an older version, and lands no more.
bool is_sealed(const api::Pod& pod, const api::BindRequest& failed);

}  // namespace berth::binding
