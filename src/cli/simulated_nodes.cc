#include "cli/simulated_nodes.h"

#include <future>

#include "base/json.h"
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

bool has_stopped_agent(const Json& node) {
  const Json* annotations = node.find_path({"metadata", "annotations"});
  const std::string_view agent = annotations ? annotations->string_at(api::kAgentAnnotation) : "";
  return agent == api::kAgentSilent || agent == api::kAgentNotReady;
}

}  // namespace

SimulatedNodes::Seen SimulatedNodes::seen(const store::Object& object) {
  const Result<Json> node = parse_json(object.bytes);
  if (!node) return {object.revision};
  const Json* labels = node->find_path({"metadata", "labels"});
  return {object.revision, labels && labels->string_at(controllers::kSimulatedLabel) == "true",
          is_ready(*node), has_stopped_agent(*node)};
}

void SimulatedNodes::refresh() {
  names_.clear();
  ready_ = stopped_ = 0;
  const Result<store::ListPage> page = store_.list({.resource = "nodes"});
  if (!page) return;
  for (const store::ObjectPtr& object : page->objects) {
    Seen& last = seen_[object->key.name];
    if (last.revision != object->revision) last = seen(*object);
    if (!last.is_simulated) continue;
    names_.push_back(object->key.name);
    if (last.is_stopped)
      ++stopped_;
    else if (last.is_ready)
      ++ready_;
  }
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
