// Bodies and options of write requests: JSON, YAML or protobuf in, checked documents out.
#pragma once

#include <string>
#include <vector>

#include "api/type_table.h"
#include "base/json.h"
#include "server/http.h"
#include "server/registry.h"
#include "server/status.h"

namespace berth::server {

enum class FieldValidation { Ignore, Warn, Strict };

struct ReadBody {
  Json document;                         // canonical
  std::vector<std::string> warnings;     // strict errors under Warn
  std::vector<std::string> empty_lists;  // api::Decoded::empty_lists
};

ApiResult<FieldValidation> field_validation_of(const HttpRequest& request, std::string_view options_kind);
// Of the body, without parameters.
std::string_view media_type(const HttpRequest& request);
// Whether a PATCH is a server-side apply.
bool is_apply(const HttpRequest& request);
// dryRun and fieldManager of the query. `options_kind` is CreateOptions, UpdateOptions or PatchOptions.
ApiResult<WriteOptions> write_options_of(const HttpRequest& request, std::string_view options_kind);

// The body as a document of `resource`'s kind; kind and apiVersion may be missing but must not differ.
ApiResult<ReadBody> read_object(const HttpRequest& request, const api::ResourceInfo& resource,
                                FieldValidation validation);
// The body as a document of another type (Binding, DeleteOptions, Eviction…); null for an empty body.
ApiResult<Json> read_document(const HttpRequest& request, const api::TypeInfo& type);
// A document of meta/v1 DeleteOptions that has been checked.
DeleteOptions delete_options_of(const Json& body);
ApiResult<DeleteOptions> read_delete_options(const HttpRequest& request);

// Applies a PATCH body to `current`, both in the version of `resource`. 415 for a media type that is no
// patch. Not for is_apply().
Registry::Change patch_change(const HttpRequest& request, const api::ResourceInfo& resource,
                              FieldValidation validation, std::vector<std::string>& warnings);

}  // namespace berth::server
