// What a write that was not accepted means for its attempt.
#pragma once

#include <optional>
#include <string>

#include "client/decider.h"

namespace berth::binding {

struct WriteFailure {
  api::FailureClass failure = api::FailureClass::SamePlacement;
  std::string message;
  // Of a patch without a version: its refusal may come from a view that lags.
  bool of_addition = false;
};

// The worst failure of an outcome. None if the attempt only raced: a conflict, on a claim also NotFound,
// AlreadyExists or a lost answer (the object was read again), or any failure of the request's own status,
// which could not be recorded there. The binding comes after `before_binding` writes in its chain; writes
// after it do not count.
std::optional<WriteFailure> write_failure_of(const client::Outcome& outcome, std::size_t before_binding);

}  // namespace berth::binding
