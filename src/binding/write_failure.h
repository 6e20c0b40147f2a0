// What a write that was not accepted means for the attempt it belongs to.
#pragma once

#include <optional>
#include <string>

#include "client/decider.h"

namespace berth::binding {

struct WriteFailure {
  api::FailureClass failure = api::FailureClass::SamePlacement;
  std::string message;
  // Of a patch that stands on no version: the view may be behind, which it cannot tell.
  bool of_addition = false;
};

// The worst of an outcome. None when the attempt did not fail, only raced: a conflict or a lost answer on a
// claim or on the request itself (they have been read again), or trouble with the request's own status, which
// could not be recorded there. On the binding a conflict counts: it lasts as long as the pod may not be
// bound; `before_binding` writes stand before it in its chain.
std::optional<WriteFailure> write_failure_of(const client::Outcome& outcome, std::size_t before_binding);

}  // namespace berth::binding
