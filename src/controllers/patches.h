// Writes that several controllers make.
#pragma once

#include <string_view>

#include "client/decider.h"

namespace berth::controllers {

// Removes one finalizer, with the known version as precondition.
client::Write drop_finalizer(const api::ObjectKey& key, const api::ObjectMeta& meta,
                             std::string_view finalizer);

// What keeps the finalizer of an object until it is deleted and not `in_use`: added while the object lives,
// removed after; nothing where the object says so already.
client::Effects protect(const api::ObjectKey& key, const api::ObjectMeta& meta, std::string_view finalizer,
                        bool in_use);

using client::unless_exists;

// A strategic merge patch of the status: conditions merge by type. `if_version` 0 means unconditional.
client::Write patch_status(const api::ObjectKey& key, Json status, std::string_view uid,
                           std::uint64_t if_version = 0);

// Members of a pod's status, for patch_status(): the condition after the standing ones.
Json with_condition(const api::Pod& pod, const api::Condition& wanted);

// Sets the pod's condition DisruptionTarget, where it does not say this yet, then deletes exactly this pod.
client::Effects delete_disrupted(const api::ObjectKey& key, const api::Pod& pod, std::string_view reason,
                                 std::string_view message, Time now);

// A name of at most 63 characters, `<first>-<second>-<hash of seed>`; long parts are truncated alike.
std::string derived_name(std::string_view first, std::string_view second, std::string_view seed);

}  // namespace berth::controllers
