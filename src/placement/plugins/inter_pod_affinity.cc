// InterPodAffinity, required terms: the pod's affinity and anti-affinity, and the anti-affinity of the pods
// that have a place. Source: kube-scheduler's plugin, with its texts and their order; KEP-2249
// (namespaceSelector), KEP-3633 (matchLabelKeys, mismatchLabelKeys).
#include <algorithm>

#include "placement/plugins/plugins.h"
#include "placement/plugins/pod_terms.h"

namespace berth::placement::plugins {
namespace {

using model::Affinities;
using model::TermId;
using model::TermKind;
using model::TermUse;

constexpr Reason kAffinityUnmet = {"PodAffinityUnmet", kInterPodAffinity,
                                   "node(s) didn't match pod affinity rules",
                                   "is in no domain with the pods that its affinity requires",
                                   "are in no domain with the pods that its affinity requires"};
constexpr Reason kAntiAffinityBroken = {"PodAntiAffinityBroken",
                                        kInterPodAffinity,
                                        "node(s) didn't match pod anti-affinity rules",
                                        "is in a domain with a pod that its anti-affinity excludes",
                                        "are in domains with a pod that its anti-affinity excludes",
                                        FilterStatus::Unschedulable};
constexpr Reason kRepelledByPod = {
    "RepelledByPod",
    kInterPodAffinity,
    "node(s) didn't satisfy existing pods anti-affinity rules",
    "is in a domain from which the required anti-affinity of a pod keeps it away",
    "are in domains from which the required anti-affinity of a pod keeps it away",
    FilterStatus::Unschedulable};

constexpr std::uint32_t kEventsOfNodes = kEventNodeAdded | kEventNodeChanged;

bool means_all(const Affinities& affinities, const std::vector<TermUse>& uses, const api::Pod& pod) {
  return std::all_of(uses.begin(), uses.end(),
                     [&](const TermUse& use) { return affinities.means(affinities.term(use.term), pod); });
}

// Of pods that the term means.
void add_term(const api::PodAffinityTerm& term, std::uint32_t events,
              FactId (*fact)(std::string_view, std::string_view), PodHints& hints) {
  std::vector<std::string_view> namespaces(term.namespaces.begin(), term.namespaces.end());
  if (term.namespace_selector) namespaces = {facts::kAnyNamespace};
  for (const std::string_view ns : namespaces)
    for (const std::string& post : facts::posts_of(term.pods)) hints.add(events, {{fact(ns, post)}});
}

AmountRange none_of_it(const DomainTotals&) {
  AmountRange range;
  range.most = 0;
  return range;
}

// A pod that meets all terms at once runs in the domain of each. The first pod of a series, of which nothing
// runs in any domain yet, may start it if it means itself.
class PodAffinity final : public DomainFilter {
 public:
  std::string_view name() const override { return kInterPodAffinity; }
  QueueingHint events_to_register() const override {
    return {kEventsOfNodes | kEventPodPlaced | kEventPodRelabelled | kEventPodGone | kEventNamespaceChanged,
            [](const api::Pod& pod) { return !pod.required_affinity.empty(); }};
  }
  void add_hints(const PodQuery& query, const FitError&, PodHints& hints) const override {
    hints.events |= kEventNamespaceChanged;
    hints.add(kEventsOfNodes, {{facts::labels_changed()}});
    // One pod must meet all terms.
    add_term(query.pod->required_affinity.front(), kEventPodPlaced | kEventPodRelabelled, facts::pod_came,
             hints);
    // The first of a series may start where none is left.
    add_term(query.pod->required_affinity.front(), kEventPodGone | kEventPodRelabelled, facts::pod_left,
             hints);
  }
  Signing sign(const PodQuery& query, PodSignature& signature) const override {
    const std::vector<TermUse> own = own_terms(query, TermKind::Affinity);
    if (own.empty() || !signature.begin("PodAffinity")) return Signing::Signed;
    signature.put(bytes_of_terms(query, own));
    signature.put(may_start(query, own) ? 1u : 0u);
    return Signing::Signed;
  }
  void add_rules(const PodQuery& query, std::vector<DomainRule>& rules) const override {
    const std::vector<TermUse> own = own_terms(query, TermKind::Affinity);
    if (own.empty()) return;
    const Affinities& affinities = query.context->cluster.affinities();
    const std::string bytes = "PodAffinity" + bytes_of_terms(query, own);
    const bool first = may_start(query, own);
    for (const TermsOfKey& terms : terms_by_key(query, own)) {
      DomainRule& rule = rules.emplace_back();
      rule.topology_key = terms.key;
      rule.amount_bytes = bytes;
      rule.amount =
          sum_over_pods(query, CountedPods::Placed, [&affinities, uses = own](const model::PodRow& other) {
            return means_all(affinities, uses, *other.live) ? 1 : 0;
          });
      rule.accepted = [first](const DomainTotals& totals) {
        AmountRange range;
        if (!first || totals.sum > 0) range.least = 1;
        return range;
      };
      rule.labelled_only = true;
      rule.no_label = rule.refused = &kAffinityUnmet;
    }
  }

 private:
  static bool may_start(const PodQuery& query, const std::vector<TermUse>& own) {
    return means_all(query.context->cluster.affinities(), own, *query.pod);
  }
};

class PodAntiAffinity final : public DomainFilter {
 public:
  std::string_view name() const override { return kInterPodAffinity; }
  QueueingHint events_to_register() const override {
    return {kEventsOfNodes | kEventPodGone | kEventPodRelabelled | kEventNamespaceChanged,
            [](const api::Pod& pod) { return !pod.required_anti_affinity.empty(); }};
  }
  void add_hints(const PodQuery& query, const FitError&, PodHints& hints) const override {
    hints.events |= kEventNamespaceChanged;
    hints.add(kEventsOfNodes, {{facts::labels_changed()}});
    for (const api::PodAffinityTerm& term : query.pod->required_anti_affinity)
      add_term(term, kEventPodGone | kEventPodRelabelled, facts::pod_left, hints);
  }
  Signing sign(const PodQuery& query, PodSignature& signature) const override {
    const std::vector<TermUse> own = own_terms(query, TermKind::AntiAffinity);
    if (!own.empty() && signature.begin("PodAntiAffinity")) signature.put(bytes_of_terms(query, own));
    return Signing::Signed;
  }
  void add_rules(const PodQuery& query, std::vector<DomainRule>& rules) const override {
    const Affinities& affinities = query.context->cluster.affinities();
    for (auto& [key, uses] : terms_by_key(query, own_terms(query, TermKind::AntiAffinity))) {
      DomainRule& rule = rules.emplace_back();
      rule.topology_key = key;
      rule.amount_bytes = "PodAntiAffinity" + bytes_of_terms(query, uses);
      rule.amount =
          sum_over_pods(query, CountedPods::AndExpected,
                        [matcher = TermMatcher(affinities, std::move(uses))](const model::PodRow& other) {
                          return matcher.any(*other.live) ? 1 : 0;
                        });
      rule.accepted = none_of_it;
      rule.refused = &kAntiAffinityBroken;
    }
  }
};

// Of all pods that have a place. The rules of two pods are equal when the same terms mean them, so that other
// labels of theirs need no new amounts.
class AntiAffinityOfOthers final : public DomainFilter {
 public:
  std::string_view name() const override { return kInterPodAffinity; }
  QueueingHint events_to_register() const override {
    return {kEventsOfNodes | kEventPodGone | kEventNamespaceChanged};
  }
  void add_hints(const PodQuery& query, const FitError&, PodHints& hints) const override {
    hints.events |= kEventNamespaceChanged;
    hints.add(kEventsOfNodes, {{facts::labels_changed()}});
    const api::ObjectMeta& meta = query.pod->meta;
    for (const std::string_view ns : {std::string_view(meta.ns), facts::kAnyNamespace}) {
      hints.add(kEventPodGone, {{facts::repeller_left(ns, facts::kAnyPost)}});
      for (const auto& [label, value] : meta.labels)
        hints.add(kEventPodGone, {{facts::repeller_left(ns, facts::post_of(label, value))}});
    }
  }
  Signing sign(const PodQuery& query, PodSignature& signature) const override {
    const std::vector<TermId> repelling = repelling_terms(query);
    if (repelling.empty() || !signature.begin("AntiAffinityOfOthers")) return Signing::Signed;
    signature.put(repelling.size());
    for (const TermId id : repelling) signature.put(query.context->cluster.affinities().bytes(id));
    return Signing::Signed;
  }
  void add_rules(const PodQuery& query, std::vector<DomainRule>& rules) const override {
    const Affinities& affinities = query.context->cluster.affinities();
    std::map<std::string_view, std::vector<TermId>> by_key;
    for (const TermId id : repelling_terms(query)) by_key[affinities.term(id).topology_key].push_back(id);
    for (auto& [key, terms] : by_key) {
      DomainRule& rule = rules.emplace_back();
      rule.topology_key = key;
      rule.amount_bytes = "AntiAffinityOfOthers";
      for (const TermId id : terms) rule.amount_bytes += affinities.bytes(id);
      rule.amount = sum_over_pods(
          query, CountedPods::AndExpected, [terms = std::move(terms)](const model::PodRow& other) {
            return std::any_of(other.terms.begin(), other.terms.end(), [&](const TermUse& use) {
              return use.kind == TermKind::AntiAffinity &&
                     std::binary_search(terms.begin(), terms.end(), use.term);
            });
          });
      rule.accepted = none_of_it;
      rule.refused = &kRepelledByPod;
    }
  }

 private:
  static std::vector<TermId> repelling_terms(const PodQuery& query) {
    std::vector<TermId> terms = query.slots.read<TermsOfOthers>().terms;
    std::erase_if(terms, [&](TermId id) {
      return !query.context->cluster.affinities().is_carried(id, TermKind::AntiAffinity);
    });
    return terms;
  }
};

}  // namespace

std::unique_ptr<DomainFilter> pod_affinity() {
  return std::make_unique<PodAffinity>();
}
std::unique_ptr<DomainFilter> pod_anti_affinity() {
  return std::make_unique<PodAntiAffinity>();
}
std::unique_ptr<DomainFilter> anti_affinity_of_others() {
  return std::make_unique<AntiAffinityOfOthers>();
}

}  // namespace berth::placement::plugins
