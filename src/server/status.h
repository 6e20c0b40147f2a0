// metav1.Status responses: errors of the API server.
// Source: k8s.io/apimachinery api/errors (codes, reasons and message forms that clients match).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "api/field_error.h"
#include "base/json.h"
#include "base/result.h"
#include "server/http.h"

namespace berth::server {

struct StatusCause {
  std::string reason;
  std::string message;
  std::string field;
};

struct ApiStatus {
  int code = 500;
  std::string reason;  // CamelCase; empty for the few 500s without one
  std::string message;
  bool has_details = false;
  std::string name, group, kind;  // of details
  std::vector<StatusCause> causes;
  int retry_after_s = 0;
  std::string continue_token;  // of an expired list: a list of another version may continue with it

  Json to_json() const;
  HttpResponse to_response() const;
};

// The result of a request: a value, or the Status that refuses it. TRY returns the refusal upward.
template <class T>
using ApiResult = Result<T, ApiStatus>;

// `resource` is the plural; `group` is empty for core.
struct ResourceName {
  std::string_view group;
  std::string_view resource;
};

ApiStatus not_found(ResourceName resource, std::string_view name);
ApiStatus path_not_found();
ApiStatus already_exists(ResourceName resource, std::string_view name);
ApiStatus conflict(ResourceName resource, std::string_view name, std::string_view detail);
ApiStatus stale(ResourceName resource, std::string_view name);
ApiStatus invalid(std::string_view group, std::string_view kind, std::string_view name,
                  const api::FieldErrors& errors);
ApiStatus bad_request(std::string_view message);
ApiStatus forbidden(ResourceName resource, std::string_view name, std::string_view detail);
ApiStatus method_not_allowed();
ApiStatus unsupported_media_type(std::string_view accepted);
// A PATCH with a media type that is no patch.
ApiStatus no_patch_type();
ApiStatus not_acceptable(std::string_view accepted);
ApiStatus expired(std::string_view message);
ApiStatus too_large_version(std::uint64_t asked, std::uint64_t current);
// 500 without a reason: the reference's response to a plain Go error.
ApiStatus plain_error(std::string_view message);
ApiStatus internal_error(std::string_view message);
ApiStatus not_implemented(std::string_view message);
ApiStatus too_many_requests();
ApiStatus unavailable(std::string_view message);

// "pods", or "resourceclaims.resource.k8s.io": the name of a resource in messages.
std::string qualified(ResourceName resource);

// The Status of a successful delete.
Json deleted_status(ResourceName resource, std::string_view name, std::string_view uid);

HttpResponse json_response(int status, std::string body);
HttpResponse text_response(int status, std::string body);

}  // namespace berth::server
