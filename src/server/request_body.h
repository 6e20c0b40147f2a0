// Bodies of write requests: JSON, YAML or protobuf in, checked documents out.
//
// Pure, any thread. Source: k8s.io/apimachinery runtime/serializer (message forms observed).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/type_table.h"
#include "base/json.h"
#include "server/http.h"
#include "server/status.h"
#include "server/write_options.h"

namespace berth::server {

struct ReadBody {
  Json document;                         // canonical
  std::vector<std::string> warnings;     // strict errors under Warn
  std::vector<std::string> empty_lists;  // api::Decoded::empty_lists
};

// Of the body, without parameters.
std::string_view media_type(const HttpRequest& request);

// A document of a custom resource, as a client or a patch made it: known members, defaults; what it says
// besides is in `strict_errors`. 400 when its metadata is none.
ApiResult<Json> shaped_document(const api::ResourceInfo& resource, Json document,
                                std::vector<std::string>& strict_errors);

// The body as a document of `resource`'s kind; kind and apiVersion may be missing but must not differ.
ApiResult<ReadBody> read_object(const HttpRequest& request, const api::ResourceInfo& resource,
                                FieldValidation validation);
// The reference prunes a custom object by the version that it names before it refuses that version: of one
// that is not the request's it knows no member.
std::vector<std::string> unknown_in_version(const HttpRequest& request, const api::ResourceInfo& resource);
// The body as a document of another type (Binding, DeleteOptions, Eviction…); null for an empty body.
// Options that a request has as its body. The reference says why it refuses them, and no more.
ApiResult<Json> read_options(const HttpRequest& request, const api::TypeInfo& type);
ApiResult<Json> read_document(const HttpRequest& request, const api::TypeInfo& type);

// What the reference's YAML reader says of the repeated keys of a body: all of them in one error.
std::string duplicate_keys_text(const std::vector<std::string>& duplicate_keys);

// The stored form of a document of `resource`'s version, with its defaults.
Json to_storage(const api::ResourceInfo& resource, Json document);

}  // namespace berth::server
