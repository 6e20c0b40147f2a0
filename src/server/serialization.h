// From stored bytes to response bodies: versions, list items, metadata-only forms and Tables.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/type_table.h"
#include "base/time.h"
#include "server/rendering.h"
#include "store/store.h"

namespace berth::server {

// `{"kind":"Gizmo","apiVersion":"ex.io/v1",`: how every object begins.
std::string type_prefix(std::string_view group, std::string_view version, std::string_view kind);
// The object in the version of `resource` (the requested one). Copies bytes; parses only when the stored
// version differs in shape.
std::string object_bytes(const api::ResourceInfo& resource, const std::string& stored);
// Without kind and apiVersion, for items of a typed list; those of custom resources have both.
std::string item_bytes(const api::ResourceInfo& resource, const std::string& stored);
// PartialObjectMetadata.
std::string metadata_bytes(const std::string& stored);
// A Table of these objects. `with_columns` false leaves columnDefinitions null (later watch events).
std::string table_bytes(const api::ResourceInfo& resource, const std::vector<store::ObjectPtr>& objects,
                        Rendering rendering, std::string_view list_metadata, Time now, bool with_columns);

}  // namespace berth::server
