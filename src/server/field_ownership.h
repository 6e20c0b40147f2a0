// Which fields a write of the API takes, and where they are kept: metadata.managedFields.
//
// Pure, any thread. Source: GetResetFields of the strategies in Kubernetes 1.37's registry.
#pragma once

#include "apply/field_manager.h"
#include "server/object_target.h"
#include "server/write_options.h"

namespace berth::server {

// Decides for one write to the target, in the version of its resource.
apply::FieldManager field_manager_of(const ObjectTarget& target, const WriteOptions& options, Time now);

// A document of the resource's version without any field set, as the reference's decoder makes it.
Json empty_object_of(const api::ResourceInfo& resource);

// Sets managedFields of `next` after a create (`before` is null), an update or a patch that is no apply. Both
// are stored documents.
void track_fields(const ObjectTarget& target, const WriteOptions& options, Time now, const Json& before,
                  Json& next);

// Two documents differ in nothing but the times of their managedFields: such a write is none.
bool differ_only_in_managed_times(const Json& a, const Json& b);

}  // namespace berth::server
