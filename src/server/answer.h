// The result of a registry verb, and its callback.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "server/status.h"
#include "store/store.h"

namespace berth::server {

// `object` bytes are in the storage version.
struct Answer {
  int code = 200;
  store::ObjectPtr object;  // null with `document`
  std::string document;     // a response without a stored object (dry run, Status of a delete)
  std::vector<std::string> warnings;
};

// Accepts an Answer or an ApiStatus: `done(not_found(…))`.
using Done = std::function<void(ApiResult<Answer>)>;

// Passes the refusal of a write's first part to `done`. An accepted write calls `done` itself.
inline void answer_refusal(const ApiResult<void>& begun, const Done& done) {
  if (!begun) done(begun.error());
}

}  // namespace berth::server
