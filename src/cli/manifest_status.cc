#include "cli/manifest_status.h"

#include <algorithm>

#include "cli/manifest_requests.h"

namespace berth::cli {
namespace {

bool is_allocated_claim(const Manifest& manifest) {
  return manifest.resource->kind == "ResourceClaim" &&
         manifest.object.part("status").part("allocation").is_object();
}

bool is_ready_node(const Manifest& manifest) {
  if (manifest.resource->kind != "Node") return false;
  const JsonArray& conditions = manifest.object.part("status").items_at("conditions");
  return std::any_of(conditions.begin(), conditions.end(), [](const Json& condition) {
    return condition.string_at("type") == "Ready" && condition.string_at("status") == "True";
  });
}

Json allocation_patch(const Manifest& claim, client::ApiClient& client) {
  const Json& status = claim.object.part("status");
  Json consumers = Json::array();
  for (Json consumer : status.items_at("reservedFor")) {
    const api::Kind kind =
        api::kind_of_resource(consumer.string_at("apiGroup"), consumer.string_at("resource"));
    if (kind == api::Kind::Other) continue;
    const std::string uid =
        uid_of(client, api::ref_of(kind), namespace_of(claim), consumer.string_at("name"));
    if (uid.empty()) continue;
    consumer["uid"] = uid;
    consumers.as_array().push_back(std::move(consumer));
  }
  return Json::object(
      {{"status", Json::object({{"allocation", status.part("allocation")}, {"reservedFor", consumers}})}});
}

Json taints_patch(const Manifest& node) {
  const Json* taints = node.object.part("spec").find("taints");
  return Json::object({{"spec", Json::object({{"taints", taints ? *taints : Json()}})}});
}

}  // namespace

std::vector<Manifest> with_lasting_status(const std::vector<Manifest>& manifests, const store::Store& store) {
  std::vector<Manifest> found;
  for (const Manifest& manifest : manifests)
    if ((is_allocated_claim(manifest) || is_ready_node(manifest)) && !store.get(key_of(manifest)))
      found.push_back(manifest);
  return found;
}

std::vector<std::string> store_lasting_status(const std::vector<Manifest>& manifests,
                                              client::ApiClient& client) {
  std::vector<std::string> warnings;
  for (const Manifest& manifest : manifests) {
    const bool is_claim = is_allocated_claim(manifest);
    client::ApiRequest request = request_about(manifest, client::Verb::MergePatch);
    request.subresource = is_claim ? "status" : "";
    request.body = to_string(is_claim ? allocation_patch(manifest, client) : taints_patch(manifest));
    const client::ApiReply reply = answer_to(client, std::move(request));
    if (reply.ok()) continue;
    warnings.push_back(place_of(manifest, is_claim ? "status.allocation" : "spec.taints") +
                       (is_claim ? ": is not stored, so its devices count as free: "
                                 : ": is not stored, so the node counts as not ready: ") +
                       reply.message);
  }
  return warnings;
}

}  // namespace berth::cli
