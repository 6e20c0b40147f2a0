// The seam of admission: what a part of the program outside the API server changes and refuses of an object
// that is created or updated.
//
// Implementations are pure and thread-safe. Source: Kubernetes' admission chain (mutating, then validating).
#pragma once

#include "api/field_error.h"
#include "base/json.h"

namespace berth::api {

class Admission {
 public:
  virtual ~Admission() = default;
  // The object to create instead of this one, which has its defaults; validate() sees the result. Called
  // again with its own result, it changes nothing.
  virtual Json mutate(Json object) const = 0;
  // Everything that is refused, at once. `old`: the object before an update; null for a create. What an
  // update leaves as it was is not refused.
  virtual FieldErrors validate(const Json& object, const Json* old) const = 0;
};

}  // namespace berth::api
