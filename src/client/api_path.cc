#include "client/api_path.h"

#include <array>

#include "api/protobuf_encode.h"
#include "api/serialized.h"
#include "api/type_table.h"

namespace berth::client {
namespace {

constexpr std::size_t kForeignMessageBytesMax = 200;
constexpr std::string_view kJsonOnly = "application/json";
constexpr std::string_view kProtobufFirst = "application/vnd.kubernetes.protobuf, application/json";

// By Verb.
constexpr std::array<VerbForm, 7> kVerbs = {{
    {"POST", "application/json"},
    {"PUT", "application/json"},
    {"PATCH", "application/merge-patch+json"},
    {"PATCH", "application/strategic-merge-patch+json"},
    {"PATCH", "application/json-patch+json"},
    {"DELETE", "application/json"},
    {"GET", ""},
}};

std::string version_path(const api::ResourceRef& resource) {
  return (resource.group.empty() ? "/api" : "/apis/" + resource.group) + "/" + resource.version;
}

bool has_protobuf(const api::ResourceRef& resource) {
  const api::ResourceInfo* info = api::find_resource(resource.group, resource.version, resource.resource);
  return info && info->has_protobuf();
}

bool is_status(std::string_view body) {
  if (!api::is_protobuf(body)) return body.substr(0, 32).find("\"kind\":\"Status\"") < 4;
  const Result<api::ProtobufEnvelope> envelope = api::open_protobuf_envelope(body);
  return envelope && envelope->kind == "Status";
}

}  // namespace

VerbForm form_of(Verb verb) {
  return kVerbs[static_cast<std::size_t>(verb)];
}

std::string_view accepted_types(const api::ResourceRef& resource) {
  return has_protobuf(resource) ? kProtobufFirst : kJsonOnly;
}

SentBody sent_body(const ApiRequest& request) {
  const bool whole = request.verb == Verb::Create || request.verb == Verb::Update;
  if (whole && has_protobuf(request.resource))
    if (Result<std::string> bytes = api::encode_protobuf_body(request.body, api::Unnumbered::Refuse))
      return {api::kProtobufMediaType, *std::move(bytes)};
  return {form_of(request.verb).content_type, request.body};
}

std::string path_of(const ApiRequest& request) {
  std::string path = version_path(request.resource);
  if (!request.ns.empty()) path += "/namespaces/" + request.ns;
  path += "/" + request.resource.resource;
  const bool creates_object = request.verb == Verb::Create && request.subresource.empty();
  if (!request.name.empty() && !creates_object) path += "/" + request.name;
  if (!request.subresource.empty()) path += "/" + request.subresource;
  return path;
}

std::string path_of(const api::ResourceRef& resource) {
  return version_path(resource) + "/" + resource.resource;
}

ApiReply refused_reply(int code, std::string reason, std::string message) {
  ApiReply reply;
  reply.code = code;
  reply.reason = std::move(reason);
  reply.message = std::move(message);
  return reply;
}

ApiReply answered_reply(int code, std::string body) {
  ApiReply reply;
  reply.code = code;
  if (!is_status(body) && code < 400) {
    reply.object = std::make_shared<const std::string>(std::move(body));
    return reply;
  }
  if (code < 400) return reply;
  const Result<Json> status = api::parse_object(body);
  if (!status || status->string_at("kind") != "Status") {
    reply.message = body.substr(0, kForeignMessageBytesMax);
    return reply;
  }
  reply.reason = status->string_at("reason");
  reply.message = status->string_at("message");
  if (const Json* details = status->find("details"))
    reply.retry_after_s = static_cast<int>(details->int_at("retryAfterSeconds"));
  return reply;
}

}  // namespace berth::client
