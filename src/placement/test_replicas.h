// Services and controllers of pods that come, change and go at random, and a slow twin of what default
// constraints count: it looks at every one of them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "placement/test_cluster.h"

namespace berth::placement {

class RandomReplicas {
 public:
  explicit RandomReplicas(PluginBench& bench) : bench_(bench) {}

  // A member of metadata: ,"ownerReferences":[…]; or nothing.
  static std::string some_owner() {
    if (one_in(3)) return "";
    const Source& source = kSources[static_cast<std::size_t>(random_below(kSourceCount))];
    return R"(,"ownerReferences":[{"controller":true,"uid":"u","name":")" + some_name() +
           R"(","apiVersion":")" + source.api_version + R"(","kind":")" + source.kind + "\"}]";
  }
  // One of them is made, changed, or gone.
  void step() {
    const Source& source = kSources[static_cast<std::size_t>(random_below(kSourceCount))];
    const std::string name = some_name();
    const bool plain = source.plain_map;
    const std::string selector = plain ? kMaps[random_below(5)] : kSelectors[random_below(5)];
    std::optional<std::string>& known = selectors_[{source.kind, name}];
    if (one_in(4)) {
      if (known) bench_.erase(api::Kind::Other, "ns", name, resource_of(source));
      known.reset();
      return;
    }
    known = selector;
    bench_.put(api::Kind::Other,
               R"({"metadata":{"name":")" + name + R"(","namespace":"ns","uid":")" + name +
                   R"("},"spec":{"selector":)" + selector + "}}",
               resource_of(source));
  }

  // What default constraints count for a pod; none: they do not apply to it.
  struct Counted {
    api::StringMap labels;
    std::optional<api::LabelSelector> selector;
    bool operator()(const api::Pod& other) const {
      for (const auto& [key, value] : labels) {
        const auto found = other.meta.labels.find(key);
        if (found == other.meta.labels.end() || found->second != value) return false;
      }
      return !selector || selector->matches(other.meta.labels);
    }
  };
  std::optional<Counted> counted_for(const api::Pod& pod) const {
    Counted counted;
    for (const auto& [key, selector] : selectors_) {
      if (key.first != "Service" || !selector) continue;
      const Counted service{labels_of(*selector), std::nullopt};
      if (service(pod)) counted.labels.insert(service.labels.begin(), service.labels.end());
    }
    if (const api::OwnerReference* owner = pod.meta.controller()) {
      const auto known = selectors_.find({owner->kind, owner->name});
      const bool found = known != selectors_.end() && known->second;
      if (found && owner->kind == "ReplicationController")
        for (const auto& [key, value] : labels_of(*known->second)) counted.labels[key] = value;
      if (found && (owner->kind == "ReplicaSet" || owner->kind == "StatefulSet")) {
        counted.selector = *api::LabelSelector::of(*parse_json(*known->second));
        if (counted.selector->requirements().empty()) counted.selector.reset();
      }
    }
    if (counted.labels.empty() && !counted.selector) return std::nullopt;
    return counted;
  }

 private:
  struct Source {
    std::string api_version, kind, resource;
    bool plain_map;
  };
  static constexpr int kSourceCount = 4;
  inline static const std::vector<Source> kSources = {
      {"v1", "Service", "services", true},
      {"v1", "ReplicationController", "replicationcontrollers", true},
      {"apps/v1", "ReplicaSet", "replicasets", false},
      {"apps/v1", "StatefulSet", "statefulsets", false}};
  inline static const std::vector<std::string> kMaps = {R"({"app":"a"})", R"({"app":"b"})",
                                                        R"({"app":"a","rev":"1"})", R"({"rev":"1"})", "{}"};
  inline static const std::vector<std::string> kSelectors = {
      R"({"matchLabels":{"app":"a"}})",
      R"({"matchExpressions":[{"key":"app","operator":"In","values":["a","b"]}]})",
      R"({"matchExpressions":[{"key":"rev","operator":"DoesNotExist"}]})", "{}", "null"};

  static std::string some_name() { return "o" + std::to_string(random_below(2)); }
  static api::ResourceRef resource_of(const Source& source) {
    return {source.plain_map ? "" : "apps", "v1", source.resource};
  }
  static api::StringMap labels_of(const std::string& selector) {
    api::StringMap labels;
    const Json parsed = *parse_json(selector);
    for (const JsonMember& member : parsed.as_object())
      labels.insert_or_assign(std::string(member.key), std::string(member.value.as_string()));
    return labels;
  }

  PluginBench& bench_;
  std::map<std::pair<std::string, std::string>, std::optional<std::string>> selectors_;  // by kind and name
};

}  // namespace berth::placement
