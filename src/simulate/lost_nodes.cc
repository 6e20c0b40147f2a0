#include "simulate/lost_nodes.h"

#include <algorithm>
#include <set>

namespace berth::simulate {
namespace {

using client::NamedKey;
using planning::Document;
using planning::OfflineCluster;

std::string_view name_of_document(const Document& document) {
  return document.object.part("metadata").string_at("name");
}

// The label keys that KEY of a domain means.
std::set<std::string, std::less<>> label_keys(const std::vector<Document>& documents, std::string_view key) {
  std::set<std::string, std::less<>> keys{std::string(key)};
  for (const Document& document : documents)
    if (document.kind == api::Kind::Topology)
      for (const Json& level : document.object.part("spec").items_at("levels"))
        if (level.string_at("name") == key) keys.emplace(level.string_at("nodeLabel"));
  return keys;
}

bool goes_with_its_node(const api::Pod& pod) {
  const api::OwnerReference* controller = pod.meta.controller();
  return pod.meta.deleting() ||
         (controller && (controller->kind == "DaemonSet" || controller->kind == "Node"));
}

}  // namespace

Result<std::vector<std::string>> nodes_of_domain(const std::vector<Document>& documents,
                                                 const std::string& domain) {
  const std::size_t equals = domain.find('=');
  const bool is_name = equals == std::string::npos;
  const std::string_view key = std::string_view(domain).substr(0, equals);
  const std::string_view value = is_name ? std::string_view() : std::string_view(domain).substr(equals + 1);
  const auto keys = label_keys(documents, key);
  std::set<std::string> nodes;
  for (const Document& document : documents) {
    if (document.kind != api::Kind::Node) continue;
    const Json& labels = document.object.part("metadata").part("labels");
    const bool in_domain = is_name ? name_of_document(document) == domain
                                   : std::ranges::any_of(keys, [&](const std::string& one) {
                                       const Json* label = labels.find(one);
                                       return label && label->is_string() && label->as_string() == value;
                                     });
    if (in_domain) nodes.emplace(name_of_document(document));
  }
  if (!nodes.empty()) return std::vector<std::string>(nodes.begin(), nodes.end());
  return Error(ErrorCode::Invalid, "--fail " + domain,
               is_name ? "the input has no node of this name: write NODE, LABEL=VALUE or LEVEL=VALUE"
                       : "no node of the input has this label, or is in this domain of a Topology");
}

std::vector<LostPod> lose_nodes(OfflineCluster& offline, const std::vector<std::string>& nodes) {
  const client::View& view = offline.view();
  const std::set<std::string, std::less<>> gone(nodes.begin(), nodes.end());
  std::vector<LostPod> lost;
  std::vector<NamedKey> finished, promised;
  for (const std::string& node : gone)
    for (const api::Pod* pod : view.pods_on_node(node)) {
      const NamedKey key{pod->meta.ns, pod->meta.name};
      if (pod->finished())
        finished.push_back(key);
      else
        lost.push_back({key, node, !goes_with_its_node(*pod)});
    }
  for (const auto& [key, request] : view.bind_requests.all())
    if (const api::Pod* pod = view.pods.find(key.ns, request->pod_name);
        pod && !pod->bound() && gone.contains(request->node))
      promised.push_back({key.ns, request->pod_name});
  std::set<NamedKey> groups;
  for (const LostPod& one : lost) {
    const std::string group = view.pods.find(one.key.ns, one.key.name)->group;
    if (!group.empty()) groups.insert({one.key.ns, group});
    if (one.returns)
      offline.unbind(one.key);
    else
      offline.end(one.key);
  }
  for (const NamedKey& key : finished) offline.end(key);
  for (const NamedKey& key : promised) offline.evict(key);
  for (const NamedKey& group : groups) offline.release_group_claims(group);
  std::vector<std::string> slices;
  for (const auto& [key, slice] : view.slices.all())
    if (gone.contains(slice->node_name)) slices.push_back(key.name);
  for (const std::string& slice : slices) offline.erase(api::Kind::ResourceSlice, "", slice);
  for (const std::string& node : gone) offline.erase(api::Kind::Node, "", node);
  return lost;
}

}  // namespace berth::simulate
