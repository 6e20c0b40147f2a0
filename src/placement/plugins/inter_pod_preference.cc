// InterPodAffinity, preferred terms: the pod's own, those of the pods that have a place, and the required
// affinity of these, which counts hardPodAffinityWeight. Source: kube-scheduler's plugin.
#include <algorithm>

#include "base/key_bytes.h"
#include "placement/plugins/plugins.h"
#include "placement/plugins/pod_terms.h"

namespace berth::placement::plugins {
namespace {

using model::Affinities;
using model::TermId;
using model::TermKind;
using model::TermUse;

// Terms of one topology key that count for the pod.
struct CountingTerms {
  std::vector<TermUse> own;
  std::vector<TermId> of_others;  // ascending
};

std::map<std::string_view, CountingTerms> counting_terms(const PodQuery& query,
                                                         const InterPodAffinityArguments& arguments) {
  const Affinities& affinities = query.context->cluster.affinities();
  std::map<std::string_view, CountingTerms> by_key;
  const std::vector<TermUse> own = own_terms(query, TermKind::Preference);
  if (own.empty() && arguments.ignore_preferred_terms_of_existing_pods) return by_key;
  for (const TermUse& use : own) by_key[affinities.term(use.term).topology_key].own.push_back(use);
  for (const TermId id : query.slots.read<TermsOfOthers>().terms)
    if (affinities.is_carried(id, TermKind::Preference) || affinities.is_carried(id, TermKind::Affinity))
      by_key[affinities.term(id).topology_key].of_others.push_back(id);
  return by_key;
}

std::string bytes_of(const PodQuery& query, const CountingTerms& terms, std::int64_t hard_weight) {
  std::string bytes = "InterPodPreference";
  append_key(bytes, static_cast<std::uint64_t>(hard_weight));
  bytes += bytes_of_terms(query, terms.own);
  for (const TermId id : terms.of_others) bytes += query.context->cluster.affinities().bytes(id);
  return bytes;
}

std::int64_t weight_of(const TermUse& use, std::int64_t hard_weight) {
  if (use.kind == TermKind::AntiAffinity) return 0;
  return use.kind == TermKind::Affinity ? hard_weight * use.weight : use.weight;
}

class InterPodPreference final : public DomainScore {
 public:
  explicit InterPodPreference(const InterPodAffinityArguments& arguments) : arguments_(arguments) {}

  std::string_view name() const override { return kInterPodAffinity; }
  Signing sign(const PodQuery& query, PodSignature& signature) const override {
    const auto by_key = counting_terms(query, arguments_);
    if (by_key.empty() || !signature.begin("InterPodPreference")) return Signing::Signed;
    signature.put(by_key.size());
    for (const auto& [key, terms] : by_key) signature.put(bytes_of(query, terms, hard_weight()));
    return Signing::Signed;
  }
  void add_counts(const PodQuery& query, std::vector<DomainCount>& counts) const override {
    const Affinities& affinities = query.context->cluster.affinities();
    for (auto& [key, terms] : counting_terms(query, arguments_)) {
      DomainCount& count = counts.emplace_back();
      count.topology_key = key;
      count.amount_bytes = bytes_of(query, terms, hard_weight());
      count.amount = sum_over_pods(query, CountedPods::Placed,
                                   [own = TermMatcher(affinities, terms.own), of_others = terms.of_others,
                                    hard = hard_weight()](const model::PodRow& other) {
                                     std::int64_t sum = own.weight(*other.live);
                                     for (const TermUse& use : other.terms)
                                       if (std::binary_search(of_others.begin(), of_others.end(), use.term))
                                         sum += weight_of(use, hard);
                                     return sum;
                                   });
    }
  }

 private:
  std::int64_t hard_weight() const { return arguments_.hard_pod_affinity_weight; }

  const InterPodAffinityArguments arguments_;
};

}  // namespace

std::unique_ptr<DomainScore> inter_pod_preference(const InterPodAffinityArguments& arguments) {
  return std::make_unique<InterPodPreference>(arguments);
}

}  // namespace berth::placement::plugins
