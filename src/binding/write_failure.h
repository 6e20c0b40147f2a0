// What a write that was not accepted means for its attempt.
#pragma once

#include <optional>
#include <string>

#include "client/decider.h"

namespace berth::binding {

// Which writes of the chain that binds or follows a binding are which.
struct BindWrites {
  std::size_t before_binding = 0;   // their number
  std::size_t first_post_bind = 0;  // the place of PostBind's first write
  std::size_t post_bind = 0;        // the number of these
};

struct WriteFailure {
  api::FailureClass failure = api::FailureClass::SamePlacement;
  std::string message;
  // Of a patch without a version: its refusal may come from a view that lags.
  bool of_addition = false;
};

// The worst failure of an outcome. None if the attempt only raced: a conflict, or on objects other than the
// request's pod NotFound, AlreadyExists or a lost answer (the object was read again). None for any failure of
// the request's own status, which could not be recorded there. Writes after the binding do not count.
std::optional<WriteFailure> write_failure_of(const client::Outcome& outcome, const BindWrites& writes,
                                             const api::ObjectKey& pod);
// Why one of PostBind's writes was not accepted; none if that was not what ended the chain.
std::optional<std::string> post_bind_failure_of(const client::Outcome& outcome, const BindWrites& writes);

}  // namespace berth::binding
