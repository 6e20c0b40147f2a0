// What the server itself writes into metadata.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"
#include "base/time.h"
#include "store/store.h"

namespace berth::server {

// As it is stored: kind, apiVersion and metadata first, metadata's members in Kubernetes' order; a slot for
// the revision of this version.
Json in_stored_order(Json object);
// The bytes of what in_stored_order() made.
store::Draft draft_of(const Json& ordered);
void set_revision(Json& object, std::string_view revision);

// The metadata member; made when absent.
Json& metadata_of(Json& object);
const Json& metadata_of(const Json& object);
bool is_deleting(const Json& object);
bool has_finalizers(const Json& object);
void set_finalizer(Json& object, std::string_view finalizer);
void drop_finalizer(Json& object, std::string_view finalizer);

// Marks a deletion at `now`; a deletion that was marked before keeps its time. Raises generation where there
// is one.
void mark_deleted(Json& object, Time now, std::int64_t grace_s);

// Puts back what no client may change: uid, creation time, a begun deletion, generation.
void restore_system_fields(Json& next, const Json& before);

// `to` gets the member that `from` has, or loses its own.
void copy_or_erase(Json& to, const Json& from, std::string_view member);
// True when something outside metadata and status differs.
bool spec_differs(const Json& a, const Json& b);

}  // namespace berth::server
