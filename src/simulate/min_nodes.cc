#include "simulate/min_nodes.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "api/node_names.h"
#include "planning/workload_pods.h"
#include "simulate/started_cluster.h"
#include "simulate/workload_copies.h"

namespace berth::simulate {
namespace {

using client::NamedKey;
using planning::Document;
using planning::PlanOptions;

std::string document_name(const Document& document) {
  return std::string(document.object.part("metadata").string_at("name"));
}

Document renamed_document(Document document, const std::string& name) {
  Json& metadata = document.object["metadata"];
  for (const std::string_view field : {"uid", "resourceVersion", "ownerReferences"})
    metadata.as_object().erase(field);
  metadata["name"] = name;
  return document;
}

// One node of the type, with what belongs to it.
void append_node(const NodeType& type, const std::string& name, std::vector<Document>& documents) {
  const std::string old = document_name(type.node);
  Document node = renamed_document(type.node, name);
  node.object["metadata"]["labels"][api::kHostnameLabel] = name;
  documents.push_back(std::move(node));
  for (const Document& object : type.objects) {
    if (object.kind == api::Kind::CSINode) {
      documents.push_back(renamed_document(object, name));
      continue;
    }
    Document slice = renamed_document(object, name + "-" + document_name(object));
    Json& spec = slice.object["spec"];
    spec["nodeName"] = name;
    const std::string pool(spec.part("pool").string_at("name"));
    spec["pool"]["name"] = pool == old ? name : name + "-" + pool;
    documents.push_back(std::move(slice));
  }
}

// The nodes of one type that are added, by number; names that the cluster has are passed over.
std::vector<Document> added_nodes(const NodeType& type, std::size_t count,
                                  const std::vector<Document>& there) {
  std::set<std::string> taken;
  for (const Document& document : there)
    if (document.kind == api::Kind::Node) taken.insert(document_name(document));
  std::vector<Document> documents;
  for (std::size_t number = 1; count > 0; ++number) {
    const std::string name = document_name(type.node) + "-" + std::to_string(number);
    if (taken.contains(name)) continue;
    append_node(type, name, documents);
    --count;
  }
  return documents;
}

// What one number of nodes gives.
struct NodeTry {
  std::size_t waiting = 0;  // pods of the workload without a node
  planning::Plan plan;      // decisions about them
};

class NodeSearch {
 public:
  NodeSearch(const Script& start, const MinNodesQuestion& question, const PlanOptions& options)
      : start_(start), question_(question), options_(options) {
    if (!question.workload.empty()) workload_ = first_copy(question.workload, start.objects);
    for (const Document& document : start.objects) {
      known_.insert(full_name(document));
      daemon_sets_ |= document.object.string_at("kind") == "DaemonSet";
    }
    options_.now = planning::now_of(start.objects, options);
    options_.objects = false;
    answer_.type = document_name(question.type.node);
  }

  // The pods that are to be placed, and the bounds of the search.
  Status prepare() {
    const auto started = TRY(begin(1));
    std::vector<NamedKey> waited = started->waiting_pods();
    for (const StoredObject& stored : started->later()) started->put(stored);
    for (const Document& document : workload_)
      if (const api::ObjectKey key = key_of_document(document); key.kind == api::Kind::Pod)
        pods_.push_back({key.ns, key.name});
    if (pods_.empty())
      pods_ = std::move(waited);
    else
      waited_before_.insert(waited.begin(), waited.end());
    answer_.pods = pods_.size();
    answer_.lower_bound = lower_bound(*started);
    answer_.most = std::max(std::min(pods_.size(), kNodesAddedMax), answer_.lower_bound);
    if (answer_.lower_bound <= kNodesAddedMax) return {};
    return Error(ErrorCode::TooLarge, "needs " + std::to_string(answer_.lower_bound) +
                                          " nodes or more by the sums of its requests: at most " +
                                          std::to_string(kNodesAddedMax) + " are tried");
  }

  Result<MinNodesAnswer> search() {
    NodeTry last = TRY(attempt(answer_.lower_bound));
    std::size_t refused = answer_.lower_bound, taken = refused;
    for (std::size_t step = 1; last.waiting > 0 && taken < answer_.most; step *= 2) {
      refused = taken;
      taken = std::min(answer_.most, taken + step);
      last = TRY(attempt(taken));
    }
    if (last.waiting > 0) {
      answer_.refused = std::move(last.plan);
      return std::move(answer_);
    }
    const std::size_t tried_up_to = refused;
    while (taken > refused + 1) {
      const std::size_t middle = refused + (taken - refused) / 2;
      const NodeTry one = TRY(attempt(middle));
      (one.waiting == 0 ? taken : refused) = middle;
    }
    // More nodes may be worse for a greedy placement: some numbers that the doubling passed over.
    for (std::size_t fewer = answer_.lower_bound + 1;
         fewer < tried_up_to && answer_.tried.size() < kNodeTriesMax; ++fewer) {
      const NodeTry one = TRY(attempt(fewer));
      if (one.waiting == 0) taken = std::min(taken, fewer);
      if (one.waiting == 0) break;
    }
    answer_.possible = true;
    answer_.nodes = taken;
    return std::move(answer_);
  }

 private:
  using FullName = std::pair<std::string, client::NamedKey>;
  static FullName full_name(const Document& document) {
    const Json& metadata = document.object.part("metadata");
    return {std::string(document.object.string_at("kind")),
            {std::string(metadata.string_at("namespace")), std::string(metadata.string_at("name"))}};
  }

  // The cluster with so many nodes of the type and the workload set aside; what waits is decided.
  Result<std::unique_ptr<StartedCluster>> begin(std::size_t nodes) {
    std::vector<Document> later = added_nodes(question_.type, nodes, start_.objects);
    if (daemon_sets_) TRY(add_daemon_pods(later));
    later.insert(later.end(), workload_.begin(), workload_.end());
    auto started = TRY(StartedCluster::make({start_.objects, std::move(later), start_.lost_nodes}, options_));
    started->settle();
    return started;
  }

  // Those that the DaemonSets of the cluster want on the added nodes.
  Status add_daemon_pods(std::vector<Document>& later) const {
    std::vector<Document> all = start_.objects;
    all.insert(all.end(), later.begin(), later.end());
    planning::WorkloadPods made = TRY(planning::with_workload_pods(std::move(all), options_.now));
    for (Document& document : made.documents)
      if (document.kind == api::Kind::Pod && !known_.contains(full_name(document)))
        later.push_back(std::move(document));
    return {};
  }

  // Of each resource what the pods ask for beyond all that is free, in nodes of the type. The first added
  // node is in the cluster.
  std::size_t lower_bound(StartedCluster& started) const {
    const model::Cluster& cluster = started.offline().cluster();
    model::NodeId added;
    std::map<model::ResourceId, __int128> lacking;
    for (const NamedKey& key : pods_)
      for (const model::ResourceAmount& one : cluster.pod(cluster.find_pod(key.ns, key.name)).requests)
        lacking[one.resource] += one.amount;
    for (const auto& [name, id] : cluster.live_nodes()) {
      if (!known_.contains({"Node", {"", name}})) {
        added = id;
        continue;
      }
      for (auto& [resource, amount] : lacking)
        amount -=
            std::max<std::int64_t>(0, model::amount_in(cluster.node(id).allocatable, resource) -
                                          model::amount_in(cluster.ledger().node(id).requested, resource));
    }
    std::size_t nodes = 0;
    for (const auto& [resource, amount] : lacking) {
      const std::int64_t each =
          added.valid() ? model::amount_in(cluster.node(added).allocatable, resource) : 0;
      if (amount > 0 && each > 0)
        nodes = std::max(nodes, static_cast<std::size_t>((amount + each - 1) / each));
    }
    return nodes;
  }

  Result<NodeTry> attempt(std::size_t nodes) {
    answer_.tried.push_back(nodes);
    const auto started = TRY(begin(nodes));
    for (const StoredObject& stored : started->later()) started->put(stored);
    PlanOptions without_victims = started->options();
    without_victims.preempts = false;
    planning::Planner planner(started->offline(), without_victims, started->selectors());
    const std::set<NamedKey> own(pods_.begin(), pods_.end());
    std::vector<NamedKey> first, rest;  // pods of DaemonSets have their nodes before others come
    for (const NamedKey& key : started->waiting_pods())
      if (own.contains(key))
        rest.push_back(key);
      else if (!waited_before_.contains(key))
        first.push_back(key);
    decide_entities(started->offline(), planner, started->entities_of(first));
    NodeTry result{0, decide_entities(started->offline(), planner, started->entities_of(rest))};
    for (const NamedKey& key : pods_)
      if (const api::Pod* pod = started->offline().view().pods.find(key.ns, key.name); !pod || !pod->bound())
        ++result.waiting;
    return result;
  }

  const Script& start_;
  const MinNodesQuestion& question_;
  PlanOptions options_;
  std::vector<Document> workload_;
  std::set<FullName> known_;  // objects of the cluster
  bool daemon_sets_ = false;
  std::vector<NamedKey> pods_;        // to be placed
  std::set<NamedKey> waited_before_;  // that wait, and are nobody's concern
  MinNodesAnswer answer_;
};

}  // namespace

Result<MinNodesQuestion> min_nodes_question(std::vector<Document> documents) {
  MinNodesQuestion question;
  std::vector<Document> nodes;
  for (Document& document : documents) {
    if (document.kind == api::Kind::Node)
      nodes.push_back(std::move(document));
    else if (document.kind == api::Kind::ResourceSlice || document.kind == api::Kind::CSINode)
      question.type.objects.push_back(std::move(document));
    else
      question.workload.push_back(std::move(document));
  }
  if (nodes.size() != 1)
    return Error(ErrorCode::Invalid, "has " + std::to_string(nodes.size()) +
                                         " Nodes: one is needed, the type of which nodes are added");
  question.type.node = std::move(nodes.front());
  const std::string name = document_name(question.type.node);
  for (const Document& document : question.type.objects) {
    const std::string node = document.kind == api::Kind::CSINode
                                 ? document_name(document)
                                 : std::string(document.object.part("spec").string_at("nodeName"));
    if (node != name)
      return Error(ErrorCode::Invalid, api::to_text(key_of_document(document)) + " is of node \"" + node +
                                           "\": only objects of Node " + name + " can be added with it");
  }
  return question;
}

Result<MinNodesAnswer> min_nodes(const Script& script, const StartChanges& changes,
                                 const MinNodesQuestion& question, const PlanOptions& options) {
  const Script start = changed(script, changes);
  NodeSearch search(start, question, options);
  TRY(search.prepare());
  return search.search();
}

}  // namespace berth::simulate
