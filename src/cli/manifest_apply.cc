#include "cli/manifest_apply.h"

#include "base/executor.h"
#include "cli/manifest_owners.h"
#include "cli/manifest_requests.h"
#include "cli/stored_objects.h"
#include "dra/cel_check.h"
#include "server/in_process_client.h"

namespace berth::cli {
namespace {

client::ApiRequest create_request(const Manifest& manifest) {
  client::ApiRequest request = request_about(manifest, client::Verb::Create);
  request.body = to_string(manifest.object);
  return request;
}

// Changes an existing object like `kubectl apply`: members in the manifest are set, the others stay.
client::ApiRequest change_request(const Manifest& manifest) {
  client::ApiRequest request = request_about(manifest, client::Verb::StrategicPatch);
  Json object = manifest.object;
  object.as_object().erase("status");
  request.body = to_string(object);
  return request;
}

client::ApiReply apply(client::ApiClient& client, const Manifest& given) {
  Manifest manifest = given;
  manifest.object = with_owner_uids(given, client);
  client::ApiReply reply = answer_to(client, create_request(manifest));
  return reply.reason == "AlreadyExists" ? answer_to(client, change_request(manifest)) : reply;
}

// The field of a refusal: the text before the first ": " after "is invalid: ".
std::string_view field_of(std::string_view message) {
  constexpr std::string_view kMark = "is invalid: ";
  const std::size_t mark = message.find(kMark);
  if (mark == std::string_view::npos) return {};
  std::string_view rest = message.substr(mark + kMark.size());
  if (!rest.empty() && rest.front() == '[') rest.remove_prefix(1);
  return rest.substr(0, rest.find(": "));
}

// Objects that rules of other objects read, and those that the manifests will change.
std::vector<Json> context_objects(const store::Store& store, const std::vector<Manifest>& manifests) {
  std::vector<Json> objects = stored_objects(store, "namespaces");
  for (Json& object : stored_objects(store, "priorityclasses.scheduling.k8s.io"))
    objects.push_back(std::move(object));
  for (const Manifest& manifest : manifests)
    if (const store::ObjectPtr object = store.get(key_of(manifest)))
      if (Result<Json> json = parse_json(object->bytes)) objects.push_back(std::move(json).value());
  return objects;
}

}  // namespace

Status try_manifests(const std::vector<Manifest>& manifests, const api::Gates& gates,
                     const store::Store& store) {
  store::StoreOptions options;
  options.synchronous = true;
  const std::unique_ptr<store::Store> trial = TRY(store::open_store(options));
  InlineExecutor executor;
  SystemClock clock;
  SystemRandom random;
  server::ApiServer server({*trial, executor, clock, random, gates, dra::check_cel}, {});
  TRY(server.make_default_objects());
  const auto client = server::make_in_process_client(server, "berth");
  std::vector<Manifest> all;
  for (Json& object : context_objects(store, manifests)) {
    object["metadata"].as_object().erase("resourceVersion");
    Manifest manifest{
        std::move(object), nullptr, "data directory", std::make_shared<const std::string>(), 1, ""};
    if (check_manifest(manifest, gates)) all.push_back(std::move(manifest));
  }
  const std::size_t first_new = all.size();
  all.insert(all.end(), manifests.begin(), manifests.end());
  for (std::size_t i = 0; i < all.size(); ++i) {
    const client::ApiReply reply = apply(*client, all[i]);
    if (i >= first_new && !reply.ok()) return refused(all[i], field_of(reply.message), reply.message);
  }
  return {};
}

Status store_manifests(const std::vector<Manifest>& manifests, client::ApiClient& client) {
  for (const Manifest& manifest : manifests) {
    const client::ApiReply reply = apply(client, manifest);
    if (!reply.ok()) return refused(manifest, field_of(reply.message), reply.message);
  }
  return {};
}

}  // namespace berth::cli
