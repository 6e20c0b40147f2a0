#include "server/status.h"

namespace berth::server {
namespace {

ApiStatus make(int code, std::string_view reason, std::string message) {
  return {.code = code, .reason = std::string(reason), .message = std::move(message)};
}

ApiStatus about(ApiStatus status, ResourceName resource, std::string_view name) {
  status.has_details = true;
  status.name = name;
  status.group = resource.group;
  status.kind = resource.resource;
  return status;
}

Json details_json(const ApiStatus& status) {
  Json details = Json::object();
  if (!status.name.empty()) details["name"] = status.name;
  if (!status.group.empty()) details["group"] = status.group;
  if (!status.kind.empty()) details["kind"] = status.kind;
  if (!status.causes.empty()) {
    JsonArray causes;
    for (const StatusCause& cause : status.causes) {
      Json item = Json::object();
      if (!cause.reason.empty()) item["reason"] = cause.reason;
      if (!cause.message.empty()) item["message"] = cause.message;
      if (!cause.field.empty()) item["field"] = cause.field;
      causes.push_back(std::move(item));
    }
    details["causes"] = std::move(causes);
  }
  if (status.retry_after_s > 0) details["retryAfterSeconds"] = status.retry_after_s;
  return details;
}

Json empty_status(std::string_view outcome) {
  return Json::object(
      {{"kind", "Status"}, {"apiVersion", "v1"}, {"metadata", Json::object()}, {"status", outcome}});
}

}  // namespace

Json ApiStatus::to_json() const {
  Json json = empty_status("Failure");
  if (!continue_token.empty()) json["metadata"]["continue"] = continue_token;
  json["message"] = message;
  if (!reason.empty()) json["reason"] = reason;
  if (has_details) json["details"] = details_json(*this);
  json["code"] = code;
  return json;
}

HttpResponse ApiStatus::to_response() const {
  HttpResponse response = json_response(code, to_string(to_json()));
  if (retry_after_s > 0) response.headers.emplace_back("Retry-After", std::to_string(retry_after_s));
  return response;
}

std::string qualified(ResourceName resource) {
  std::string text(resource.resource);
  if (!resource.group.empty()) text.append(".").append(resource.group);
  return text;
}

ApiStatus not_found(ResourceName resource, std::string_view name) {
  std::string message = qualified(resource) + " \"";
  message.append(name).append("\" not found");
  return about(make(404, "NotFound", std::move(message)), resource, name);
}

ApiStatus path_not_found() {
  ApiStatus status = make(404, "NotFound", "the server could not find the requested resource");
  status.has_details = true;
  return status;
}

ApiStatus already_exists(ResourceName resource, std::string_view name) {
  std::string message = qualified(resource) + " \"";
  message.append(name).append("\" already exists");
  return about(make(409, "AlreadyExists", std::move(message)), resource, name);
}

ApiStatus conflict(ResourceName resource, std::string_view name, std::string_view detail) {
  std::string message = "Operation cannot be fulfilled on " + qualified(resource) + " \"";
  message.append(name).append("\": ").append(detail);
  return about(make(409, "Conflict", std::move(message)), resource, name);
}

ApiStatus stale(ResourceName resource, std::string_view name) {
  return conflict(
      resource, name,
      "the object has been modified; please apply your changes to the latest version and try again");
}

ApiStatus invalid(std::string_view group, std::string_view kind, std::string_view name,
                  const api::FieldErrors& errors) {
  std::vector<StatusCause> causes;
  for (const api::FieldError& error : errors)
    causes.push_back({std::string(api::cause_reason(error.type)), error.body, error.path});
  std::string message(kind);
  if (!group.empty()) message.append(".").append(group);
  message.append(" \"").append(name).append("\" is invalid");
  if (!errors.empty()) message.append(": ").append(api::to_text(errors));
  ApiStatus status = about(make(422, "Invalid", std::move(message)), {group, kind}, name);
  status.causes = std::move(causes);
  return status;
}

ApiStatus bad_request(std::string_view message) {
  return make(400, "BadRequest", std::string(message));
}

ApiStatus forbidden(ResourceName resource, std::string_view name, std::string_view detail) {
  std::string message = qualified(resource);
  if (!name.empty()) message.append(" \"").append(name).append("\"");
  message.append(" is forbidden: ").append(detail);
  return about(make(403, "Forbidden", std::move(message)), resource, name);
}

ApiStatus method_not_allowed() {
  ApiStatus status =
      make(405, "MethodNotAllowed", "the server does not allow this method on the requested resource");
  status.has_details = true;
  return status;
}

ApiStatus unsupported_media_type(std::string_view accepted) {
  std::string message = "the body of the request was in an unknown format - accepted media types include: ";
  return make(415, "UnsupportedMediaType", message.append(accepted));
}

ApiStatus no_patch_type() {
  ApiStatus status = make(415, "UnsupportedMediaType", "415: Unsupported Media Type");
  status.has_details = true;
  return status;
}

ApiStatus not_acceptable(std::string_view accepted) {
  std::string message = "only the following media types are accepted: ";
  return make(406, "NotAcceptable", message.append(accepted));
}

ApiStatus expired(std::string_view message) {
  return make(410, "Expired", std::string(message));
}

ApiStatus too_large_version(std::uint64_t asked, std::uint64_t current) {
  ApiStatus status = make(504, "Timeout",
                          "Timeout: Too large resource version: " + std::to_string(asked) +
                              ", current: " + std::to_string(current));
  status.has_details = true;
  status.causes.push_back({"ResourceVersionTooLarge", "Too large resource version", ""});
  status.retry_after_s = 1;
  return status;
}

ApiStatus plain_error(std::string_view message) {
  return make(500, "", std::string(message));
}

ApiStatus internal_error(std::string_view message) {
  ApiStatus status = make(500, "InternalError", "Internal error occurred: " + std::string(message));
  status.has_details = true;
  status.causes.push_back({"", std::string(message), ""});
  return status;
}

ApiStatus not_implemented(std::string_view message) {
  return make(501, "NotImplemented", std::string(message));
}

ApiStatus too_many_requests() {
  ApiStatus status = make(429, "TooManyRequests", "Too many requests, please try again later.");
  status.has_details = true;
  status.retry_after_s = 1;
  return status;
}

ApiStatus unavailable(std::string_view message) {
  ApiStatus status = make(503, "ServiceUnavailable", std::string(message));
  status.has_details = true;
  status.retry_after_s = 1;
  return status;
}

Json deleted_status(ResourceName resource, std::string_view name, std::string_view uid) {
  Json json = empty_status("Success");
  Json details = Json::object({{"name", name}});
  if (!resource.group.empty()) details["group"] = resource.group;
  details["kind"] = resource.resource;
  details["uid"] = uid;
  json["details"] = std::move(details);
  return json;
}

HttpResponse json_response(int status, std::string body) {
  return {status, {{"Content-Type", "application/json"}}, std::move(body)};
}

HttpResponse text_response(int status, std::string body) {
  return {status, {{"Content-Type", "text/plain; charset=utf-8"}}, std::move(body)};
}

}  // namespace berth::server
