// The server's own fields of metadata.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"
#include "base/time.h"
#include "store/store.h"

namespace berth::server {

// kind, apiVersion and metadata first, metadata's members in Kubernetes' order.
Json in_api_order(Json object);
// The stored form: in that order, with a slot for the revision of this version.
Json in_stored_order(Json object);
// The bytes of the result of in_stored_order().
store::Draft draft_of(const Json& ordered);
void set_revision(Json& object, std::string_view revision);

// The metadata member; created when absent.
Json& metadata_of(Json& object);
const Json& metadata_of(const Json& object);
bool is_deleting(const Json& object);
inline constexpr std::string_view kForegroundFinalizer = "foregroundDeletion";
inline constexpr std::string_view kOrphanFinalizer = "orphan";
bool has_finalizers(const Json& object);
bool has_finalizer(const Json& object, std::string_view finalizer);
void set_finalizer(Json& object, std::string_view finalizer);
void drop_finalizer(Json& object, std::string_view finalizer);

// Marks a deletion at `now`; an earlier mark keeps its time. Increments generation if the object has one.
void mark_deleted(Json& object, Time now, std::int64_t grace_s);

// Restores the fields that no client may change: uid, creation time, a deletion in progress, generation.
void restore_system_fields(Json& next, const Json& before);

// Copies the member from `from`, or removes it when absent there.
void copy_or_erase(Json& to, const Json& from, std::string_view member);
// True when something outside metadata and status differs.
bool spec_differs(const Json& a, const Json& b);

}  // namespace berth::server
