#include "simulate/policies.h"

#include <algorithm>
#include <cmath>

#include "api/types/gpu_share.h"
#include "base/stable_hash.h"
#include "placement/plugins/gpu_fragmentation.h"

namespace berth::simulate {
namespace {

using placement::NodeId;
using placement::PodQuery;
using placement::Signing;
using placement::plugins::GpuWorkload;

constexpr std::string_view kFragmentationName = "GpuFragmentation";

// A score by the learned workload and the node's room.
class RoomScore : public placement::Score {
 public:
  Signing sign(const PodQuery& query, placement::PodSignature& signature) const final {
    placement::plugins::sign_gpu_workload(query, signature);
    return Signing::Signed;
  }
  void score(const PodQuery& query, std::span<const NodeId> nodes, std::int64_t weight,
             std::span<std::int64_t> scores) const final {
    const GpuWorkload& workload = query.slots.read<GpuWorkload>();
    if (!workload.learned.known()) return;
    const model::Cluster& cluster = query.context->cluster;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const placement::GpuRoom before = placement::plugins::gpu_room_of(cluster, nodes[i]);
      placement::GpuRoom after = before;
      const auto scored = placement::plugins::demand_on(query, nodes[i]);
      if (!scored || !after.take(scored->demand)) continue;
      scores[i] += weight * score_of(workload.learned, before, after,
                                     workload.learned.affinities_of(cluster, nodes[i]));
    }
  }

 protected:
  virtual std::int64_t score_of(const placement::LearnedWorkload& learned, const placement::GpuRoom& before,
                                const placement::GpuRoom& after, std::uint64_t affinities) const = 0;
};

// FGD as its authors' simulator has it: whole points from 0 to 100 of a sigmoid of the change, with BestFit
// among equal ones. Source: hkust-adsl/kubernetes-scheduler-simulator, its published configuration.
class FgdScore final : public RoomScore {
 public:
  FgdScore() {
    // The change in points from which on the score is n.
    for (std::size_t n = 1; n < least_.size(); ++n)
      least_[n] = std::llround(placement::kPointsPerGpu *
                               std::log(static_cast<double>(n) / static_cast<double>(100 - n)));
  }
  std::string_view name() const override { return "FGDScore"; }

 protected:
  std::int64_t score_of(const placement::LearnedWorkload& learned, const placement::GpuRoom& before,
                        const placement::GpuRoom& after, std::uint64_t affinities) const override {
    constexpr std::int64_t kUnusablePerPoint =
        placement::kMixParts * api::kWholeGpu / placement::kPointsPerGpu;
    const std::int64_t gain =
        (learned.mix().unusable(before, affinities) - learned.mix().unusable(after, affinities)) /
        kUnusablePerPoint;
    const auto above = std::upper_bound(least_.begin() + 1, least_.end(), gain);
    const std::int64_t sigmoid = above - least_.begin() - 1;
    return sigmoid * (2 * placement::kPackingPoints) + learned.packing_points(after);
  }

 private:
  std::array<std::int64_t, 100> least_{};
};

class BestFitScore final : public RoomScore {
 public:
  std::string_view name() const override { return "BestFitScore"; }

 protected:
  std::int64_t score_of(const placement::LearnedWorkload& learned, const placement::GpuRoom&,
                        const placement::GpuRoom& after, std::uint64_t) const override {
    return learned.packing_points(after) * 100 / placement::kPackingPoints;
  }
};

// Unsigned: every pod has its own numbers.
class RandomScore final : public placement::Score {
 public:
  explicit RandomScore(std::uint64_t seed) : seed_(std::to_string(seed)) {}
  std::string_view name() const override { return "RandomScore"; }
  void score(const PodQuery& query, std::span<const NodeId> nodes, std::int64_t weight,
             std::span<std::int64_t> scores) const override {
    const std::string pod = seed_ + "/" + query.pod->meta.uid + "/";
    for (std::size_t i = 0; i < nodes.size(); ++i)
      scores[i] +=
          weight * static_cast<std::int64_t>(stable_hash(pod + std::to_string(nodes[i].index())) % 1'000'000);
  }

 private:
  const std::string seed_;
};

// The plugins of `base` with this score instead of all of theirs.
template <class MakeScore>
void score_alone(planning::PlanOptions& base, MakeScore make_score) {
  base.plugins = [make = base.plugins, make_score](const placement::PluginArguments& arguments) {
    placement::PluginSet set = make(arguments);
    set.scores.clear();
    set.domain_scores.clear();
    set.normalized_scores.clear();
    set.preference_weight = 0;
    set.scores.push_back({make_score(), 1});
    return set;
  };
  base.profiles.clear();
}

void as_configured(planning::PlanOptions&, std::uint64_t) {}

void as_reference(planning::PlanOptions& base, std::uint64_t) {
  base.device_scoring = dra::DeviceScoring::Reference;
  base.plugins = [make = base.plugins](const placement::PluginArguments& arguments) {
    placement::PluginSet set = make(arguments);
    std::erase_if(set.scores, [](const auto& row) { return row.score->name() == kFragmentationName; });
    return set;
  };
}

void as_least_fragmenting(planning::PlanOptions& base, std::uint64_t) {
  base.device_scoring = dra::DeviceScoring::LeastFragmenting;
}

void as_fgd(planning::PlanOptions& base, std::uint64_t) {
  score_alone(base, [] { return std::make_unique<FgdScore>(); });
}

void as_best_fit(planning::PlanOptions& base, std::uint64_t) {
  score_alone(base, [] { return std::make_unique<BestFitScore>(); });
}

void as_random(planning::PlanOptions& base, std::uint64_t seed) {
  score_alone(base, [seed] { return std::make_unique<RandomScore>(seed); });
}

constexpr std::array<Policy, kPolicyCount> kPolicies = {{
    {"default", "Berth's scheduler as it is configured", as_configured},
    {"reference", "kube-scheduler's scores, without GpuFragmentation; devices in Kubernetes' order",
     as_reference},
    {"least-fragmenting", "the default, with the device scoring LeastFragmenting", as_least_fragmenting},
    {"fgd", "fragmentation gradient descent as published (USENIX ATC 2023), on the learned mix", as_fgd},
    {"best-fit", "the node with the least CPU and GPUs left", as_best_fit},
    {"random", "any node that takes the pod", as_random},
}};

}  // namespace

const std::array<Policy, kPolicyCount>& policies() {
  return kPolicies;
}

const Policy* find_policy(std::string_view name) {
  const auto found = std::ranges::find(kPolicies, name, &Policy::name);
  return found == kPolicies.end() ? nullptr : &*found;
}

std::string policy_names() {
  std::string names;
  for (const Policy& policy : kPolicies) names += (names.empty() ? "" : ", ") + std::string(policy.name);
  return names;
}

}  // namespace berth::simulate
