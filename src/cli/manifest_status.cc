#include "cli/manifest_status.h"

#include <algorithm>

#include "cli/manifest_requests.h"

namespace berth::cli {
namespace {

bool is_true(const Manifest& manifest, std::string_view type) {
  const JsonArray& conditions = manifest.object.part("status").items_at("conditions");
  return std::any_of(conditions.begin(), conditions.end(), [&](const Json& condition) {
    return condition.string_at("type") == type && condition.string_at("status") == "True";
  });
}

bool is_allocated_claim(const Manifest& manifest) {
  return manifest.resource->kind == "ResourceClaim" &&
         manifest.object.part("status").part("allocation").is_object();
}

bool is_ready_node(const Manifest& manifest) {
  return manifest.resource->kind == "Node" && is_true(manifest, "Ready");
}

bool is_finished(const Manifest& manifest) {
  if (manifest.resource->kind == "Job") return is_true(manifest, "Complete") || is_true(manifest, "Failed");
  const std::string_view phase = manifest.object.part("status").string_at("phase");
  return manifest.resource->kind == "Pod" && (phase == "Succeeded" || phase == "Failed");
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

Json taints_patch(const Manifest& node, client::ApiClient&) {
  const Json* taints = node.object.part("spec").find("taints");
  return Json::object({{"spec", Json::object({{"taints", taints ? *taints : Json()}})}});
}

Json status_patch(const Manifest& manifest, client::ApiClient&) {
  return Json::object({{"status", manifest.object.part("status")}});
}

// What is written, and what follows when it cannot be.
struct Lasting {
  bool (*applies)(const Manifest&);
  Json (*patch)(const Manifest&, client::ApiClient&);
  std::string_view subresource, path, otherwise;
};
constexpr Lasting kLasting[] = {
    {is_allocated_claim, allocation_patch, "status", "status.allocation", "its devices count as free"},
    {is_ready_node, taints_patch, "", "spec.taints", "the node counts as not ready"},
    {is_finished, status_patch, "status", "status", "it runs again"},
};

const Lasting* lasting_of(const Manifest& manifest) {
  const auto* row = std::find_if(std::begin(kLasting), std::end(kLasting),
                                 [&](const Lasting& known) { return known.applies(manifest); });
  return row == std::end(kLasting) ? nullptr : row;
}

}  // namespace

std::vector<Manifest> with_lasting_status(const std::vector<Manifest>& manifests, const store::Store& store) {
  std::vector<Manifest> found;
  for (const Manifest& manifest : manifests)
    if (lasting_of(manifest) && !store.get(key_of(manifest))) found.push_back(manifest);
  return found;
}

std::vector<std::string> store_lasting_status(const std::vector<Manifest>& manifests,
                                              client::ApiClient& client) {
  std::vector<std::string> warnings;
  for (const Manifest& manifest : manifests) {
    const Lasting& lasting = *lasting_of(manifest);
    client::ApiRequest request = request_about(manifest, client::Verb::MergePatch);
    request.subresource = lasting.subresource;
    request.body = to_string(lasting.patch(manifest, client));
    const client::ApiReply reply = answer_to(client, std::move(request));
    if (!reply.ok())
      warnings.push_back(place_of(manifest, lasting.path) + ": is not stored, so " +
                         std::string(lasting.otherwise) + ": " + reply.message);
  }
  return warnings;
}

}  // namespace berth::cli
