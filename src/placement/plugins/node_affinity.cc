// NodeAffinity: nodeSelector and the required node affinity. If all terms name nodes, only these nodes are
// candidates.
#include <algorithm>
#include <set>

#include "placement/plugins/node_inclusion.h"
#include "placement/plugins/plugins.h"

namespace berth::placement::plugins {
namespace {

constexpr Reason kAddedAffinityMismatch = {"AddedAffinityMismatch", "NodeAffinity",
                                           "node(s) didn't match scheduler-enforced node affinity",
                                           "does not match addedAffinity of the scheduler's profile",
                                           "do not match addedAffinity of the scheduler's profile"};

using Names = std::set<std::string, std::less<>>;

// The node names that one term allows; none if it does not name nodes.
std::optional<Names> names_of(const api::NodeSelectorTerm& term) {
  std::optional<Names> names;
  for (const api::Requirement& field : term.fields) {
    if (field.key != "metadata.name" || field.op != "In") continue;
    const Names here(field.values.begin(), field.values.end());
    if (names) {
      std::erase_if(*names, [&](const std::string& name) { return !here.contains(name); });
    } else {
      names = here;
    }
  }
  return names;
}

std::optional<Names> names_of(const api::NodeSelector& selector) {
  Names all;
  for (const api::NodeSelectorTerm& term : selector.terms) {
    const std::optional<Names> names = names_of(term);
    if (!names) return std::nullopt;
    all.insert(names->begin(), names->end());
  }
  if (selector.terms.empty()) return std::nullopt;
  return all;
}

class NodeAffinityNames final : public Filter {
 public:
  std::string_view name() const override { return "NodeAffinity"; }
  bool names_nodes() const override { return true; }
  QueueingHint events_to_register() const override { return {kEventNodeAdded}; }
  void add_hints(const PodQuery& query, const FitError&, PodHints& hints) const override {
    const auto& required = query.pod->required_node_affinity;
    const std::optional<Names> names = required ? names_of(*required) : std::nullopt;
    if (!names) return;
    for (const std::string& name : *names) hints.add(kEventNodeAdded, {{facts::node_named(name)}});
  }
  Signing sign(const PodQuery& query, PodSignature& signature) const override {
    sign_node_affinity(*query.pod, signature);
    return Signing::Signed;
  }
  void filter(const PodQuery& query, NodeVerdicts& verdicts) const override {
    if (!query.pod->required_node_affinity) return;
    const std::optional<Names> names = names_of(*query.pod->required_node_affinity);
    if (!names) return;
    verdicts.keep_if(reason_row("NotNamedByAffinity"),
                     [&](NodeId node) { return names->contains(query.context->cluster.node(node).name); });
  }
};

// addedAffinity of the profile comes first.
class NodeAffinity final : public Filter {
 public:
  explicit NodeAffinity(const NodeAffinityArguments& arguments) : added_(arguments.added_required) {}

  std::string_view name() const override { return "NodeAffinity"; }
  QueueingHint events_to_register() const override { return {kEventNodeAdded | kEventNodeChanged}; }
  // A node that did not match does when a label that the pod reads changes. Nodes that join have all their
  // labels changed; the lack of a label is none.
  void add_hints(const PodQuery& query, const FitError&, PodHints& hints) const override {
    const std::uint32_t events = kEventNodeAdded | kEventNodeChanged;
    for (const auto& [key, value] : query.pod->node_selector)
      hints.add(events, {{facts::label_is(key, value)}});
    for (const auto* required : {&added_, &query.pod->required_node_affinity}) {
      if (!*required) continue;
      for (const api::NodeSelectorTerm& term : (*required)->terms) {
        for (const api::Requirement& one : term.expressions) add_requirement(one, events, hints);
        if (!term.fields.empty()) hints.add(events, {{facts::node_added()}});
      }
    }
  }
  Signing sign(const PodQuery& query, PodSignature& signature) const override {
    sign_node_affinity(*query.pod, signature);
    return Signing::Signed;
  }
  void filter(const PodQuery& query, NodeVerdicts& verdicts) const override {
    const api::Pod& pod = *query.pod;
    if (added_)
      verdicts.keep_if(kAddedAffinityMismatch, [&](NodeId node) {
        const api::Node& live = *query.context->cluster.node(node).live;
        return api::matches(*added_, live.meta.labels, live.meta.name);
      });
    if (pod.node_selector.empty() && !pod.required_node_affinity) return;
    verdicts.keep_if(reason_row("NodeAffinityMismatch"), [&](NodeId node) {
      return matches_node_affinity(pod, *query.context->cluster.node(node).live);
    });
  }

 private:
  static void add_requirement(const api::Requirement& one, std::uint32_t events, PodHints& hints) {
    if (one.op == "In") {
      for (const std::string& value : one.values) hints.add(events, {{facts::label_is(one.key, value)}});
      return;
    }
    hints.add(events, {{facts::label_changed(one.key)}});
    if (one.op == "NotIn" || one.op == "DoesNotExist") hints.add(events, {{facts::node_added()}});
  }
  const std::optional<api::NodeSelector> added_;
};

}  // namespace

bool matches_node_affinity(const api::Pod& pod, const api::Node& node) {
  const auto has = [&](const auto& wanted) {
    const auto label = node.meta.labels.find(wanted.first);
    return label != node.meta.labels.end() && label->second == wanted.second;
  };
  if (!std::all_of(pod.node_selector.begin(), pod.node_selector.end(), has)) return false;
  return !pod.required_node_affinity ||
         api::matches(*pod.required_node_affinity, node.meta.labels, node.meta.name);
}

std::unique_ptr<Filter> node_affinity_names() {
  return std::make_unique<NodeAffinityNames>();
}
std::unique_ptr<Filter> node_affinity(const NodeAffinityArguments& arguments) {
  return std::make_unique<NodeAffinity>(arguments);
}

}  // namespace berth::placement::plugins
