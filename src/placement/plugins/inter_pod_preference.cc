// InterPodAffinity, preferred terms: the pod's own, those of the pods that have a place, and the required
// affinity of these, which counts 1. Source: kube-scheduler's plugin with hardPodAffinityWeight 1.
#include <algorithm>

#include "placement/plugins/plugins.h"
#include "placement/plugins/pod_terms.h"

namespace berth::placement::plugins {
namespace {

using model::Affinities;
using model::TermId;
using model::TermKind;
using model::TermUse;

constexpr std::int64_t kHardPodAffinityWeight = 1;

// Terms of one topology key that count for the pod.
struct CountingTerms {
  std::vector<TermUse> own;
  std::vector<TermId> of_others;  // ascending
};

std::map<std::string_view, CountingTerms> counting_terms(const PodQuery& query) {
  const Affinities& affinities = query.context->cluster.affinities();
  std::map<std::string_view, CountingTerms> by_key;
  for (const TermUse& use : own_terms(query, TermKind::Preference).uses)
    by_key[affinities.term(use.term).topology_key].own.push_back(use);
  for (const TermId id : query.slots.read<TermsOfOthers>().terms)
    if (affinities.is_carried(id, TermKind::Preference) || affinities.is_carried(id, TermKind::Affinity))
      by_key[affinities.term(id).topology_key].of_others.push_back(id);
  return by_key;
}

std::string bytes_of(const PodQuery& query, const CountingTerms& terms) {
  std::string bytes = "InterPodPreference" + bytes_of_terms(query, terms.own);
  for (const TermId id : terms.of_others) bytes += query.context->cluster.affinities().bytes(id);
  return bytes;
}

std::int64_t weight_of(const TermUse& use) {
  if (use.kind == TermKind::AntiAffinity) return 0;
  return use.kind == TermKind::Affinity ? kHardPodAffinityWeight : use.weight;
}

class InterPodPreference final : public DomainScore {
 public:
  std::string_view name() const override { return kInterPodAffinity; }
  Signing sign(const PodQuery& query, PodSignature& signature) const override {
    const auto by_key = counting_terms(query);
    if (by_key.empty() || !signature.begin("InterPodPreference")) return Signing::Signed;
    signature.put(by_key.size());
    for (const auto& [key, terms] : by_key) signature.put(bytes_of(query, terms));
    return Signing::Signed;
  }
  void add_counts(const PodQuery& query, std::vector<DomainCount>& counts) const override {
    const Affinities& affinities = query.context->cluster.affinities();
    for (auto& [key, terms] : counting_terms(query)) {
      DomainCount& count = counts.emplace_back();
      count.topology_key = key;
      count.amount_bytes = bytes_of(query, terms);
      count.amount = sum_over_pods(query, [&affinities, terms = terms](const model::PodRow& other) {
        std::int64_t sum = 0;
        for (const TermUse& use : terms.own)
          if (affinities.means(affinities.term(use.term), *other.live)) sum += use.weight;
        for (const TermUse& use : other.terms)
          if (std::binary_search(terms.of_others.begin(), terms.of_others.end(), use.term))
            sum += weight_of(use);
        return sum;
      });
    }
  }
};

}  // namespace

std::unique_ptr<DomainScore> inter_pod_preference() {
  return std::make_unique<InterPodPreference>();
}

}  // namespace berth::placement::plugins
