// Writes of a BindRequest's status: only what differs, and nothing when nothing does.
#pragma once

#include <optional>

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

}  // namespace berth::binding
