// One stored shape per kind, several served versions: the way between them.
//
// Pure, any thread. Versions of one shape cost nothing; the others a rebuilt document.
// Source: the conversion functions of Kubernetes 1.37 (k8s.io/kubernetes pkg/apis), answers observed.
#pragma once

#include <optional>
#include <string>

#include "api/type_table.h"
#include "base/json.h"

namespace berth::server {

// True when objects of this version differ in shape from the stored ones.
bool needs_conversion(const api::ResourceInfo& resource);

// A canonical document of `resource`'s version, as it is stored: kind, apiVersion and shape.
Json to_stored_shape(const api::ResourceInfo& resource, Json document);
// A stored document as `resource`'s version shows it.
Json to_served_shape(const api::ResourceInfo& resource, Json document);

// The Warning of a version that a later release drops.
std::optional<std::string> deprecation_of(const api::ResourceInfo& resource);

}  // namespace berth::server
