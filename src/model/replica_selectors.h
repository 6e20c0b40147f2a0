// Which pods are replicas of one workload: the selectors of Services, and of the ReplicationControllers,
// ReplicaSets and StatefulSets that control pods.
//
// Owner: one Cluster, on one thread. Cost: a change parses its object once, or not at all if its generation
// is the same. selector_of() costs a look-up for each label of the pod, and a match for each Service whose
// first label by key it is. Memory: one selector an object. Source: kube-scheduler's helper.DefaultSelector.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "client/named_map.h"
#include "client/view.h"

namespace berth::model {

// What selects a pod and its fellow replicas; a pod has to match both.
struct ReplicaSelector {
  api::LabelSelector labels;                             // of Services and of a ReplicationController
  std::shared_ptr<const api::LabelSelector> controller;  // of a ReplicaSet or StatefulSet; null: no such one

  bool matches(const api::StringMap& pod_labels) const {
    return labels.matches(pod_labels) && (!controller || controller->matches(pod_labels));
  }
};
using ReplicaSelectorPtr = std::shared_ptr<const ReplicaSelector>;

class ReplicaSelectors {
 public:
  // What it reads: kinds without a struct of their own (api::Kind::Other).
  static const std::vector<api::ResourceRef>& resources();
  static bool reads(const api::ResourceRef& resource);

  // Ignores other resources. A selector that cannot be read selects nobody's replicas.
  void apply(const client::Delta& delta);
  // Null: nothing selects the pod.
  ReplicaSelectorPtr selector_of(const api::Pod& pod) const;
  // Changes with every selector, and with nothing else of their objects.
  std::uint64_t stamp() const { return stamp_; }

 private:
  enum class Source : std::uint8_t { Service, ReplicationController, ReplicaSet, StatefulSet };
  static constexpr std::size_t kSourceCount = 4;
  struct Row;
  static const std::array<Row, kSourceCount>& rows();
  static bool is_one_of(Source source, const api::OwnerReference& owner);
  using Services = client::NamedMap<api::StringMap>;
  using Sets = client::NamedMap<std::shared_ptr<const api::LabelSelector>>;

  // These say whether a selector has changed. `after`: null: the object is gone.
  bool put(Source source, const api::ObjectKey& key, const api::AnyObject* after);
  bool put_service(const api::ObjectKey& key, api::StringMap labels);
  void erase_service(const Services::Entry& entry);
  // The labels that the Services of the pod select by.
  api::StringMap labels_of_services(const api::Pod& pod) const;

  Services services_;                                                             // with a label or more
  std::map<std::string, std::size_t, std::less<>> services_in_;                   // by namespace
  std::unordered_map<std::string, std::vector<const Services::Entry*>> by_post_;  // by their first label
  client::NamedMap<api::StringMap> replication_controllers_;
  Sets replica_sets_, stateful_sets_;
  std::uint64_t stamp_ = 0;
};

}  // namespace berth::model
