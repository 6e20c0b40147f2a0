#include "placement/queueing_hints.h"

#include <algorithm>

#include "base/fnv.h"

namespace berth::placement {
namespace {

constexpr std::string_view kPartEnd("\0", 1);

void add_posts(const api::Pod& pod, FactId (*fact)(std::string_view, std::string_view), ChangeFacts& facts) {
  for (const std::string_view ns : {std::string_view(pod.meta.ns), facts::kAnyNamespace}) {
    facts.add(fact(ns, facts::kAnyPost));
    for (const auto& [label, value] : pod.meta.labels) facts.add(fact(ns, facts::post_of(label, value)));
  }
}

// The pods that the term means are at one of these.
void add_repelled(const api::PodAffinityTerm& term, ChangeFacts& facts) {
  std::vector<std::string_view> namespaces(term.namespaces.begin(), term.namespaces.end());
  if (term.namespace_selector) namespaces.push_back(facts::kAnyNamespace);
  for (const std::string_view ns : namespaces)
    for (const std::string& post : facts::posts_of(term.pods)) facts.add(facts::repeller_left(ns, post));
}

void add_labels(const api::Node* before, const api::Node& after, ChangeFacts& facts) {
  for (const auto& [label, value] : after.meta.labels) {
    if (before) {
      const auto was = before->meta.labels.find(label);
      if (was != before->meta.labels.end() && was->second == value) continue;
    }
    facts.add(facts::label_changed(label));
    facts.add(facts::label_is(label, value));
  }
  if (!before) return;
  for (const auto& [label, value] : before->meta.labels)
    if (!after.meta.labels.contains(label)) facts.add(facts::label_changed(label));
}

}  // namespace

FactId fact_id(std::initializer_list<std::string_view> parts) {
  std::uint64_t hash = kFnvStart;
  for (const std::string_view part : parts) hash = fnv1a(kPartEnd, fnv1a(part, hash));
  return hash;
}

void PodHints::settle() {
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  if (keys.size() > kHintKeysMax) *this = {events | keyed};
}

void ChangeFacts::add(FactId fact, std::int64_t amount) {
  const auto [at, is_new] = amounts_.emplace(fact, amount);
  if (!is_new) at->second = std::max(at->second, amount);
}

bool ChangeFacts::bring(const HintKey& key) const {
  return std::all_of(key.begin(), key.end(), [this](const NeededFact& needed) {
    const auto found = amounts_.find(needed.fact);
    return found != amounts_.end() && found->second >= needed.at_least;
  });
}

bool same_taints(const std::vector<api::Taint>& a, const std::vector<api::Taint>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const api::Taint& x, const api::Taint& y) {
    return x.key == y.key && x.value == y.value && x.effect == y.effect;
  });
}

bool ClusterChange::labels_changed() const {
  return (node_before || node_after) &&
         (!node_before || !node_after || node_before->meta.labels != node_after->meta.labels);
}

bool ClusterChange::taints_changed() const {
  return node_before && node_after && !same_taints(node_before->taints, node_after->taints);
}

namespace facts {

FactId node_added() {
  return fact_id({"node added"});
}
FactId labels_changed() {
  return fact_id({"labels changed"});
}
FactId taints_changed() {
  return fact_id({"taints changed"});
}
FactId label_changed(std::string_view key) {
  return fact_id({"label changed", key});
}
FactId label_is(std::string_view key, std::string_view value) {
  return fact_id({"label is", key, value});
}
FactId node_named(std::string_view name) {
  return fact_id({"node named", name});
}
FactId on_node(std::string_view name) {
  return fact_id({"on node", name});
}
FactId pod_came(std::string_view ns, std::string_view post) {
  return fact_id({"pod came", ns, post});
}
FactId pod_left(std::string_view ns, std::string_view post) {
  return fact_id({"pod left", ns, post});
}
FactId repeller_left(std::string_view ns, std::string_view post) {
  return fact_id({"repeller left", ns, post});
}
FactId volumes_left() {
  return fact_id({"volumes left"});
}
FactId placed_up_to() {
  return fact_id({"placed up to"});
}

std::string post_of(std::string_view label, std::string_view value) {
  return std::string(label).append(1, '\0').append(value);
}

std::vector<std::string> posts_of(const api::LabelSelector& selector) {
  const api::LabelRequirement* one = selector.first_in();
  if (!one) return {std::string(kAnyPost)};
  std::vector<std::string> posts;
  for (const std::string& value : one->values) posts.push_back(post_of(one->key, value));
  return posts;
}

}  // namespace facts

void add_common_facts(const ClusterChange& change, ChangeFacts& facts) {
  if (change.node_after) facts.add(facts::on_node(change.node_after->meta.name));
  if (change.node.valid()) facts.add(facts::on_node(change.cluster.node(change.node).name));
  if (change.pod_after) facts.add(facts::on_node(change.pod_after->node_name));
  if (change.node_after && !change.node_before) {
    facts.add(facts::node_added());
    facts.add(facts::node_named(change.node_after->meta.name));
  }
  if (change.labels_changed()) facts.add(facts::labels_changed());
  if (change.taints_changed()) facts.add(facts::taints_changed());
  if (change.node_after) add_labels(change.node_before, *change.node_after, facts);
  if (const api::Pod* left = change.pod_before) {
    add_posts(*left, facts::pod_left, facts);
    for (const api::PodAffinityTerm& term : left->required_anti_affinity) add_repelled(term, facts);
    if (!left->volumes.empty()) facts.add(facts::volumes_left());
  }
  if (const api::Pod* came = change.pod_after) {
    add_posts(*came, facts::pod_came, facts);
    facts.add(facts::placed_up_to(), -std::int64_t{came->priority});
  }
}

}  // namespace berth::placement
