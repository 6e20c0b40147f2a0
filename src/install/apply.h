// Applies objects to a cluster by server-side apply, and removes them again.
//
// Owner: one command, on its thread; every call blocks. Source: Kubernetes API concepts (server-side apply,
// conflicts, preconditions of a delete).
#pragma once

#include <string>
#include <vector>

#include "base/time.h"
#include "install/server_call.h"

namespace berth::install {

enum class Change { Created, Configured, Unchanged, Deleted, Kept };
std::string_view name_of(Change change);  // "created"

struct Applied {
  Change change = Change::Unchanged;
  std::string note;  // for a person; empty: nothing to add
};

// Applies the object as the field manager `berth`. Fields of another manager are taken over, but for those
// that an operator may choose (replicas, resources of a container): these stay the operator's, and the note
// names them. An existing namespace that Berth did not create stays as it is. Refuses what the API server
// refuses, with the object as the path.
Result<Applied> apply_object(const ServerCall& call, const Json& object);

inline constexpr int kEstablishedChecksMax = 60;
inline constexpr Duration kEstablishedPause = Duration::millis(250);
// Waits until the API server serves a CustomResourceDefinition. Refuses (Unavailable) when it does not after
// kEstablishedChecksMax checks, `pause` apart.
Status wait_established(const ServerCall& call, const Json& definition,
                        const std::function<void(Duration)>& pause);

enum class Definitions { KeepWhileUsed, Delete };
// Deletes the object if it has Berth's label; Unchanged when it has not, does not exist or is being deleted.
// A CustomResourceDefinition stays while it has objects, unless `definitions` says otherwise; that of
// NodeDeviceHealths, which agents write again, never does.
Result<Applied> remove_object(const ServerCall& call, const Json& object, Definitions definitions);

}  // namespace berth::install
