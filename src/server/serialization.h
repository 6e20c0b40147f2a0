// From stored bytes to response bodies: versions, list items, metadata-only forms and Tables.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/protobuf_encode.h"
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
// "meta.k8s.io/v1": the apiVersion of metadata alone.
std::string meta_version_of(Rendering rendering);
// PartialObjectMetadata.
std::string metadata_bytes(Rendering rendering, const std::string& stored);
// What an object of the resource, or its metadata alone, is in protobuf. Without a type for Tables, and for
// objects that have no protobuf.
api::ProtobufKind protobuf_kind(const api::ResourceInfo& resource, Rendering rendering);
// The same of a list of them.
api::ProtobufKind protobuf_list_kind(const api::ResourceInfo& resource, Rendering rendering);
// Whether the stored bytes have the members that are written in protobuf; else object_bytes() has them.
bool is_stored_as_shown(const api::ResourceInfo& resource, Form form);
// 500: a stored object that does not fit its type.
ApiStatus not_written(const Error& error);
// A Table without rows. `with_columns` false leaves columnDefinitions null (later watch events).
std::string table_of_no_rows(const api::ResourceInfo& resource, Rendering rendering,
                             std::string_view list_metadata, bool with_columns);
// The row of an object; empty when the object is no JSON.
std::string table_row(const api::ResourceInfo& resource, const store::ObjectPtr& object, Rendering rendering,
                      Time now);
// A Table of one object.
std::string table_bytes(const api::ResourceInfo& resource, const store::ObjectPtr& object,
                        Rendering rendering, std::string_view list_metadata, Time now, bool with_columns);

}  // namespace berth::server
