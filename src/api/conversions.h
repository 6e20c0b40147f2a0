// Conversion between the one stored shape of a kind and its served versions.
//
// Pure, any thread. Versions of the stored shape cost nothing; others a rebuilt document. Source: the
// conversion functions of Kubernetes 1.37 (k8s.io/kubernetes pkg/apis), responses observed.
#pragma once

#include <optional>
#include <string>

#include "api/type_table.h"
#include "base/json.h"

namespace berth::api {

// True when objects of this version differ in shape from the stored ones.
bool needs_conversion(const ResourceInfo& resource);

// A canonical document of `resource`'s version in its stored form: kind, apiVersion and shape.
Json to_stored_shape(const ResourceInfo& resource, Json document);
// A stored document in the form of `resource`'s version.
Json to_served_shape(const ResourceInfo& resource, Json document);
// Whether that would change nothing; false where it is not known.
bool is_in_served_shape(const ResourceInfo& resource, const Json& document);

// The Warning of a version that a later release removes.
std::optional<std::string> deprecation_of(const ResourceInfo& resource);

}  // namespace berth::api
