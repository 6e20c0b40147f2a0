#include "cli/manifest_requests.h"

#include <future>

#include "api/serialized.h"
#include "api/served_kinds.h"

namespace berth::cli {

store::Key key_of(const Manifest& manifest) {
  return {api::storage_resource(*manifest.resource), namespace_of(manifest),
          std::string(manifest.object.part("metadata").string_at("name"))};
}

client::ApiRequest request_about(const Manifest& manifest, client::Verb verb) {
  client::ApiRequest request;
  request.verb = verb;
  request.resource = {std::string(manifest.resource->group), std::string(manifest.resource->version),
                      std::string(manifest.resource->plural)};
  request.ns = namespace_of(manifest);
  if (verb != client::Verb::Create) request.name = manifest.object.part("metadata").string_at("name");
  return request;
}

client::ApiReply answer_to(client::ApiClient& client, client::ApiRequest request) {
  std::promise<client::ApiReply> answered;
  client.submit(std::move(request), [&](client::ApiReply reply) { answered.set_value(std::move(reply)); });
  return answered.get_future().get();
}

std::string uid_of(client::ApiClient& client, const api::ResourceRef& resource, const std::string& ns,
                   std::string_view name) {
  client::ApiRequest request;
  request.verb = client::Verb::Get;
  request.resource = resource;
  request.ns = ns;
  request.name = name;
  const client::ApiReply reply = answer_to(client, std::move(request));
  if (!reply.ok() || !reply.object) return {};
  const Result<Json> object = api::parse_object(*reply.object);
  return object ? std::string(object->part("metadata").string_at("uid")) : std::string();
}

}  // namespace berth::cli
