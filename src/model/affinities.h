// Terms of inter-pod affinity that live pods carry, each distinct one once with a count of its carriers. A
// pod finds the terms that select it. Also the labels of namespaces, by which terms may select.
//
// Owner: one Cluster, on one thread. Terms are equal when they mean the same pods and name the same topology
// key, so all replicas of a workload carry one. Cost: O(its terms) for a pod that comes or goes. meaning()
// costs a look-up for each label of the pod, and a match for each term that asks for this label with this
// value or any. Memory: some 300 bytes a distinct term. Source: kube-scheduler's InterPodAffinity.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "api/types/cluster.h"
#include "model/ids.h"

namespace berth::model {

using TermId = DenseId<struct TermTag>;

// Bounds of the terms of one pod: their number, their topology keys, and how many different terms of a key
// ask for the same label and value, or for none. A waiting pod with more is not placed. So a pass over all
// pods compares each with at most kAffinityTermsAlikeMax terms for each of its labels.
inline constexpr std::size_t kAffinityTermsMax = 4096;
inline constexpr std::size_t kAffinityKeysMax = 64;
inline constexpr std::size_t kAffinityTermsAlikeMax = 64;

enum class TermKind : std::uint8_t { Affinity, AntiAffinity, Preference };

// A term in the spec of a pod.
struct TermUse {
  TermId term;
  TermKind kind;
  std::int32_t weight = 0;  // of a preference; of a required affinity how often the pod has it
  friend bool operator==(const TermUse&, const TermUse&) = default;
};
using TermUses = std::vector<TermUse>;

std::size_t affinity_terms_of(const api::Pod& pod);
// Which of these bounds the pod passes, as what it sets; empty: none.
std::string beyond_affinity_bounds(const api::Pod& pod);

class Affinities {
 public:
  // The terms of a live pod, in the order of its spec. Equal ones are one, and their weights are added up.
  // None of a pod that waits and has more than is read.
  TermUses add(const api::Pod& pod);
  void remove(const TermUses& uses);
  // Null: it is gone.
  void put_namespace(const std::string& name, std::shared_ptr<const api::Namespace> live);
  const std::map<std::string, std::shared_ptr<const api::Namespace>, std::less<>>& namespaces() const {
    return namespaces_;
  }

  const api::PodAffinityTerm& term(TermId id) const { return terms_[id.index()].term; }
  // Equal for equal terms, no matter which pods carry them.
  const std::string& bytes(TermId id) const { return terms_[id.index()].bytes; }
  // Changes when a term selects other namespaces, because their labels changed.
  std::uint64_t namespaces_stamp() const { return namespaces_stamp_; }
  bool means(const api::PodAffinityTerm& term, const api::Pod& pod) const;
  // Whether a live pod carries the term as one of this kind.
  bool is_carried(TermId id, TermKind kind) const {
    return terms_[id.index()].carriers[static_cast<std::size_t>(kind)] > 0;
  }
  // The terms of live pods that mean this pod; ascending.
  std::vector<TermId> meaning(const api::Pod& pod) const;

 private:
  struct Row {
    api::PodAffinityTerm term;
    std::string bytes;
    std::array<std::uint32_t, 3> carriers = {};  // by TermKind
  };
  // Makes a row for a new term, which nobody carries yet.
  TermId id_of(const api::PodAffinityTerm& term);

  std::vector<Row> terms_;
  std::vector<TermId> free_;
  std::unordered_map<std::string, TermId> ids_;                 // by bytes
  std::unordered_map<std::string, std::vector<TermId>> posts_;  // by label and value
  std::vector<TermId> for_all_;                                 // terms without a post
  std::vector<TermId> by_namespace_;                            // those that read labels of namespaces
  std::map<std::string, std::shared_ptr<const api::Namespace>, std::less<>> namespaces_;
  std::uint64_t namespaces_stamp_ = 0;
};

}  // namespace berth::model
