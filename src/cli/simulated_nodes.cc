#include "cli/simulated_nodes.h"

#include <future>

#include "cli/stored_objects.h"
#include "controllers/controllers.h"

namespace berth::cli {
namespace {

bool is_ready(const Json& node) {
  const Json* status = node.find("status");
  if (!status) return false;
  for (const Json& condition : status->items_at("conditions"))
    if (condition.string_at("type") == "Ready") return condition.string_at("status") == "True";
  return false;
}

}  // namespace

SimulatedNodes simulated_nodes(const store::Store& store) {
  SimulatedNodes nodes;
  for (const Json& node : stored_objects(store, "nodes")) {
    const Json* labels = node.find_path({"metadata", "labels"});
    if (!labels || labels->string_at(controllers::kSimulatedLabel) != "true") continue;
    nodes.names.emplace_back(node.find("metadata")->string_at("name"));
    if (is_ready(node)) ++nodes.ready;
  }
  return nodes;
}

Status make_simulated_nodes(std::size_t count, const store::Store& store, client::ApiClient& client) {
  std::vector<std::future<client::ApiReply>> replies;
  for (std::size_t n = 1; n <= count; ++n) {
    const Json node = controllers::simulated_node_object(n);
    const std::string name(node.find("metadata")->string_at("name"));
    if (store.get({"nodes", "", name})) continue;
    auto answered = std::make_shared<std::promise<client::ApiReply>>();
    replies.push_back(answered->get_future());
    client::ApiRequest request{client::Verb::Create, api::ref_of(api::Kind::Node), "", "", "",
                               to_string(node)};
    client.submit(std::move(request),
                  [answered](client::ApiReply reply) { answered->set_value(std::move(reply)); });
  }
  for (std::future<client::ApiReply>& reply : replies) {
    const client::ApiReply made = reply.get();
    if (!made.ok() && made.reason != "AlreadyExists")
      return Error(ErrorCode::Internal, "a simulated node cannot be made: " + made.message);
  }
  return {};
}

}  // namespace berth::cli
