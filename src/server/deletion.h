// What a DELETE makes of an object, and when a deletion that waits is complete.
//
// Pure, any thread. Source: k8s.io/apiserver registry/rest BeforeDelete and the pods' graceful deletion;
// answers observed.
#pragma once

#include "base/json.h"
#include "base/time.h"
#include "server/object_target.h"
#include "server/status.h"
#include "server/write_options.h"

namespace berth::server {

// An object as its deletion leaves it.
struct Deletion {
  Json object;
  bool waits = false;     // marked, and stored until finalizers are gone and the grace period is over
  bool graceful = false;  // of a kind with grace periods: the answer is the object
};

// 409 when the uid or the version that the client names is not the stored one.
ApiResult<void> check_preconditions(const ObjectTarget& target, const DeleteOptions& options,
                                    const store::Object& current);

// The propagation becomes finalizers. A grace period that runs already is only ever shortened, and by a
// request that names one.
Deletion begin_deletion(const ObjectTarget& target, const DeleteOptions& options, const Json& before,
                        Time now);

// The object was deleted, and its last finalizer has gone.
bool deletion_is_complete(const ObjectTarget& target, const Json& object);

}  // namespace berth::server
