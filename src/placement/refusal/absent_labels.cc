#include "placement/refusal/absent_labels.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/name_list.h"
#include "base/nearest_names.h"

namespace berth::placement {
namespace {

struct WantedLabel {
  std::string key;
  std::vector<std::string> values = {};  // one of them; none: any value
};

using Texts = std::set<std::string>;

bool is_there(const model::Cluster& cluster, const WantedLabel& wanted) {
  return std::ranges::any_of(cluster.live_nodes(), [&](const auto& one) {
    const api::StringMap& labels = cluster.node(one.second).live->meta.labels;
    const auto label = labels.find(wanted.key);
    return label != labels.end() &&
           (wanted.values.empty() || std::ranges::find(wanted.values, label->second) != wanted.values.end());
  });
}

// Of the labels with this key the values; without a key all keys.
Texts texts_of(const model::Cluster& cluster, const std::string* key) {
  Texts texts;
  for (const auto& [name, node] : cluster.live_nodes())
    for (const auto& [known, value] : cluster.node(node).live->meta.labels)
      if (texts.size() < kLabelsComparedMax && (!key || known == *key)) texts.insert(key ? value : known);
  return texts;
}

// "zone" is meant by "topology.kubernetes.io/zone", too.
std::vector<std::string> nearest_keys(const std::string& missing, const Texts& keys) {
  std::vector<std::string> near = nearest_names(missing, {keys.begin(), keys.end()});
  const auto name_of = [](const std::string& key) { return key.substr(key.find('/') + 1); };
  for (const std::string& key : keys)
    if (near.size() < kNearestMax && name_of(key) == name_of(missing) &&
        std::ranges::find(near, key) == near.end())
      near.push_back(key);
  return near;
}

// "zone=a", "zone in (a, b)", "zone"
std::string label_text(const WantedLabel& wanted) {
  if (wanted.values.empty()) return wanted.key;
  if (wanted.values.size() == 1) return wanted.key + "=" + wanted.values.front();
  return wanted.key + " in (" + first_names(wanted.values, kAbsentLabelsMax) + ")";
}

std::string absence_of(const model::Cluster& cluster, const WantedLabel& wanted) {
  const std::string text = "no node has label " + label_text(wanted);
  const Texts values = texts_of(cluster, &wanted.key);
  if (values.empty()) {
    const std::vector<std::string> near = nearest_keys(wanted.key, texts_of(cluster, nullptr));
    return near.empty() ? text : text + ", nearest: " + first_names(near, near.size());
  }
  Texts near;
  for (const std::string& value : wanted.values)
    for (const std::string& one : nearest_names(value, {values.begin(), values.end()}))
      near.insert(wanted.key + "=" + one);
  std::vector<std::string> shown(near.begin(), near.end());
  if (!shown.empty()) return text + ", nearest: " + first_names(shown, kNearestMax);
  for (const std::string& value : values) shown.push_back(wanted.key + "=" + value);
  return text + ", nodes have " + first_names(shown, kNearestMax);
}

// Of a term the first label that no node has. None: every one is on some node, or is no In and no Exists.
std::optional<WantedLabel> absent_of(const model::Cluster& cluster, const api::NodeSelectorTerm& term) {
  for (const api::Requirement& one : term.expressions) {
    if (one.op != "In" && one.op != "Exists") continue;
    WantedLabel wanted{one.key, one.op == "In" ? one.values : std::vector<std::string>()};
    if (!is_there(cluster, wanted)) return wanted;
  }
  return std::nullopt;
}

}  // namespace

std::string absent_labels(const model::Cluster& cluster, const api::Pod& pod) {
  std::vector<WantedLabel> absent;
  for (const auto& [key, value] : pod.node_selector)
    if (WantedLabel wanted{key, {value}}; !is_there(cluster, wanted)) absent.push_back(std::move(wanted));
  if (pod.required_node_affinity) {
    std::vector<WantedLabel> of_terms;
    for (const api::NodeSelectorTerm& term : pod.required_node_affinity->terms)
      if (auto wanted = absent_of(cluster, term)) of_terms.push_back(*std::move(wanted));
    if (of_terms.size() == pod.required_node_affinity->terms.size())
      absent.insert(absent.end(), of_terms.begin(), of_terms.end());
  }
  std::string text;
  for (std::size_t i = 0; i < std::min(absent.size(), kAbsentLabelsMax); ++i)
    text.append(text.empty() ? "" : "; ").append(absence_of(cluster, absent[i]));
  return text;
}

const std::string& AbsentLabels::of(const model::Cluster& cluster, const api::Pod& pod) {
  selector_.clear();
  sign_node_affinity(pod, selector_);
  Kept& kept = kept_.at(selector_.bytes());
  if (std::exchange(kept.labels_stamp, cluster.labels_stamp()) != cluster.labels_stamp())
    kept.text = absent_labels(cluster, pod);
  return kept.text;
}

}  // namespace berth::placement
