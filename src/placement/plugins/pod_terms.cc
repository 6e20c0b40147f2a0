// The prefilters of inter-pod affinity: which terms of others mean the pod; a pod with more terms than are
// read is kept from all nodes.
#include "placement/plugins/pod_terms.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "base/assert.h"
#include "placement/plugins/plugins.h"

namespace berth::placement::plugins {
namespace {

class AffinityTermsRead final : public PreFilter {
 public:
  std::string_view name() const override { return kInterPodAffinity; }
  void prepare(PodQuery& query, Diagnosis& diagnosis) const override {
    if (are_read(query)) return;
    if (std::string beyond = model::beyond_affinity_bounds(*query.pod); !beyond.empty())
      diagnosis.refuse_everywhere(reason_row("FieldNotHonoured"), std::move(beyond));
  }

 private:
  // The model has counted them: it reads the terms of a waiting pod only if they are within the bounds.
  static bool are_read(const PodQuery& query) {
    if (!query.pod_id.valid()) return false;
    const model::PodRow& row = query.context->cluster.pod(query.pod_id);
    return row.live && !row.live->bound() && !row.terms.empty();
  }
};

// Cost: Affinities::meaning().
class TermsOfOthersFound final : public PreFilter {
 public:
  std::string_view name() const override { return kInterPodAffinity; }
  void prepare(PodQuery& query, Diagnosis&) const override {
    query.slots.write<TermsOfOthers>().terms = query.context->cluster.affinities().meaning(*query.pod);
  }
};

}  // namespace

std::vector<model::TermUse> own_terms(const PodQuery& query, model::TermKind kind) {
  BERTH_ASSERT(query.pod_id.valid(), "the model has the pod");
  std::vector<model::TermUse> own;
  std::ranges::copy_if(query.context->cluster.pod(query.pod_id).terms, std::back_inserter(own),
                       [&](const model::TermUse& use) { return use.kind == kind; });
  return own;
}

std::vector<TermsOfKey> terms_by_key(const PodQuery& query, std::span<const model::TermUse> uses) {
  std::vector<TermsOfKey> by_key;
  std::map<std::string_view, std::size_t> places;
  for (const model::TermUse& use : uses) {
    const std::string_view key = query.context->cluster.affinities().term(use.term).topology_key;
    const auto [at, is_new] = places.try_emplace(key, by_key.size());
    if (is_new) by_key.push_back({key, {}});
    by_key[at->second].uses.push_back(use);
  }
  return by_key;
}

TermMatcher::TermMatcher(const model::Affinities& affinities, std::vector<model::TermUse> uses)
    : affinities_(&affinities) {
  if (uses.size() < kIndexedFrom) {
    of_any_ = std::move(uses);
    return;
  }
  for (const model::TermUse& use : uses) {
    const std::vector<std::string> posts = facts::posts_of(affinities.term(use.term).pods);
    const bool anywhere = !posts.empty() && posts.front() == facts::kAnyPost;
    if (anywhere) of_any_.push_back(use);
    for (const std::string& post : posts)
      if (!anywhere) by_post_[post].push_back(use);
  }
}

std::int64_t TermMatcher::weight(const api::Pod& pod) const {
  std::int64_t sum = 0;
  find(pod, [&](const model::TermUse& use) {
    sum += use.weight;
    return false;
  });
  return sum;
}

bool TermMatcher::any(const api::Pod& pod) const {
  return find(pod, [](const model::TermUse&) { return true; });
}

template <class IsEnough>
bool TermMatcher::find(const api::Pod& pod, const IsEnough& is_enough) const {
  const auto look = [&](const std::vector<model::TermUse>& uses) {
    return std::ranges::any_of(uses, [&](const model::TermUse& use) {
      return affinities_->means(affinities_->term(use.term), pod) && is_enough(use);
    });
  };
  if (look(of_any_)) return true;
  if (by_post_.empty()) return false;
  return std::ranges::any_of(pod.meta.labels, [&](const auto& label) {
    const auto at = by_post_.find(facts::post_of(label.first, label.second));
    return at != by_post_.end() && look(at->second);
  });
}

std::string bytes_of_terms(const PodQuery& query, std::span<const model::TermUse> uses) {
  const model::Affinities& affinities = query.context->cluster.affinities();
  PodSignature bytes;
  bytes.put(uses.size());
  std::uint64_t stamp = 0;
  for (const model::TermUse& use : uses) {
    bytes.put(affinities.bytes(use.term));
    bytes.put(static_cast<std::uint64_t>(use.weight));
    if (affinities.term(use.term).reads_namespaces()) stamp = affinities.namespaces_stamp();
  }
  bytes.put(stamp);
  return bytes.bytes();
}

std::function<std::optional<std::int64_t>(NodeId)> sum_over_pods(const PodQuery& query, CountedPods counted,
                                                                 WeightOfPod weight) {
  return
      [&cluster = std::as_const(query.context->cluster), counted, weight = std::move(weight)](NodeId node) {
        std::int64_t sum = 0;
        const auto add = [&](std::span<const PodId> pods) {
          for (const PodId id : pods)
            if (const model::PodRow& row = cluster.pod(id); row.live) sum += weight(row);
        };
        const model::NodeUse& use = cluster.ledger().node(node);
        add(use.pods);
        if (counted == CountedPods::AndExpected) add(use.expected);
        return std::optional(sum);
      };
}

std::unique_ptr<PreFilter> affinity_terms_read() {
  return std::make_unique<AffinityTermsRead>();
}
std::unique_ptr<PreFilter> terms_of_others() {
  return std::make_unique<TermsOfOthersFound>();
}

}  // namespace berth::placement::plugins
