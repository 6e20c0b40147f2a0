// Terms of inter-pod affinity that concern the pod under decision.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "placement/framework.h"

namespace berth::placement::plugins {

inline constexpr std::string_view kInterPodAffinity = "InterPodAffinity";

// Terms of live pods that mean this one; ascending. Written by a prefilter.
struct TermsOfOthers {
  std::vector<model::TermId> terms;
  void clear() { terms.clear(); }
};

// The pod's own terms of this kind, in the order of its spec.
std::vector<model::TermUse> own_terms(const PodQuery& query, model::TermKind kind);
// Each topology key with its terms, in the order of its first one.
struct TermsOfKey {
  std::string_view key;
  std::vector<model::TermUse> uses;
};
std::vector<TermsOfKey> terms_by_key(const PodQuery& query, std::span<const model::TermUse> uses);

// Which of these terms select a pod. Cost: a look-up for each of the pod's labels, and a match for each term
// of this label with this value, or any. Below kIndexedFrom terms: a match for each. `affinities` outlives
// this and keeps the terms.
class TermMatcher {
 public:
  static constexpr std::size_t kIndexedFrom = 5;

  TermMatcher(const model::Affinities& affinities, std::vector<model::TermUse> uses);
  bool any(const api::Pod& pod) const;
  // Of those that mean the pod, together.
  std::int64_t weight(const api::Pod& pod) const;

 private:
  template <class IsEnough>
  bool find(const api::Pod& pod, const IsEnough& is_enough) const;

  const model::Affinities* affinities_;
  std::vector<model::TermUse> of_any_;
  std::unordered_map<std::string, std::vector<model::TermUse>> by_post_;
};

// Names the terms, and what those that read labels of namespaces select now.
std::string bytes_of_terms(const PodQuery& query, std::span<const model::TermUse> uses);

// What `weight` adds up to over the pods of the node; those that are being deleted count. Pods for which a
// hold keeps a place there may repel others, and attract nobody.
enum class CountedPods : std::uint8_t { Placed, AndExpected };
using WeightOfPod = std::function<std::int64_t(const model::PodRow&)>;
std::function<std::optional<std::int64_t>(NodeId)> sum_over_pods(const PodQuery& query, CountedPods counted,
                                                                 WeightOfPod weight);

}  // namespace berth::placement::plugins
