// The scores by how much of each resource is in use: NodeResourcesFit with its three strategies, and
// NodeResourcesBalancedAllocation. A resource that a node does not offer is left out, and so is an extended
// one that the pod does not ask for.
#include <algorithm>
#include <array>

#include "base/assert.h"
#include "placement/free_resources.h"
#include "placement/plugins/plugins.h"
#include "placement/plugins/resource_arithmetic.h"

namespace berth::placement::plugins {
namespace {

// Whether a container without a request for cpu or memory counts with kube-scheduler's default.
enum class Unasked : std::uint8_t { Counts, IsNothing };

struct AskedResource {
  model::ResourceId resource;
  model::ResourceId unasked;  // none: there is no default
  std::int64_t asked = 0;     // by the pod
  std::int64_t weight = 1;
};

// At most kScoredResourcesMax; no allocation, because warm decisions score one node.
template <class T>
struct ResourceList {
  std::array<T, kScoredResourcesMax> items;
  std::size_t count = 0;
  std::span<const T> span() const { return std::span(items).first(count); }
};

std::int64_t at_most_int64(__int128 amount) {
  return static_cast<std::int64_t>(std::min<__int128>(amount, INT64_MAX));
}

model::ResourceId unasked_of(model::ResourceId resource) {
  if (resource == model::kCpu) return model::kCpuUnasked;
  return resource == model::kMemory ? model::kMemoryUnasked : model::ResourceId::none();
}

// What a plugin scores by, its common resources looked up once.
class ScoredResources {
 public:
  ScoredResources(std::vector<WeightedResource> resources, Unasked unasked)
      : resources_(std::move(resources)), unasked_(unasked) {
    BERTH_ASSERT(resources_.size() <= kScoredResourcesMax, "the configuration is checked");
    const model::ResourceNames common;
    for (const WeightedResource& one : resources_) common_.push_back(common.find(one.name));
  }

  ResourceList<AskedResource> asked_by(const PodQuery& query) const {
    const model::Cluster& cluster = query.context->cluster;
    const model::ResourceAmounts& requests = cluster.pod(query.pod_id).requests;
    std::optional<model::ResourceAmounts> own_floors;
    if (unasked_ == Unasked::Counts && query.pod->pod_level_requests)
      own_floors = model::waiting_floors(*query.pod);
    const model::ResourceAmounts& floors = own_floors ? *own_floors : requests;
    ResourceList<AskedResource> all;
    for (std::size_t i = 0; i < resources_.size(); ++i) {
      AskedResource one{common_[i], {}, 0, resources_[i].weight};
      if (!one.resource.valid()) one.resource = cluster.resources().find(resources_[i].name);
      if (!one.resource.valid()) continue;  // no node offers it
      if (unasked_ == Unasked::Counts) one.unasked = unasked_of(one.resource);
      __int128 sum = asked_of(requests, one.resource);
      if (one.unasked.valid()) sum += asked_of(floors, one.unasked);
      one.asked = at_most_int64(sum);
      const bool extended = model::kEphemeralStorage.index() < one.resource.index();
      if (!extended || one.asked > 0) all.items[all.count++] = one;
    }
    return all;
  }

 private:
  const std::vector<WeightedResource> resources_;
  const Unasked unasked_;
  std::vector<model::ResourceId> common_;  // none: its id is the cluster's
};

// A score by the resources that a node offers.
class UseScore : public Score {
 public:
  UseScore(std::vector<WeightedResource> resources, Unasked unasked)
      : resources_(std::move(resources), unasked) {}

  Signing sign(const PodQuery& query, PodSignature& signature) const final {
    sign_requests(query.context->cluster.pod(query.pod_id).requests, signature);
    if (query.pod->pod_level_requests && signature.begin("WaitingFloors"))
      signature.put(model::waiting_floors(*query.pod));
    return Signing::Signed;
  }

 protected:
  // The nodes under question, and where their scores are added.
  struct Scored {
    const model::Cluster& cluster;
    std::span<const NodeId> nodes;
    std::int64_t weight;
    std::span<std::int64_t> scores;
  };
  // Most profiles score by cpu and memory, and many nodes are alike: of equal amounts in a row the score is
  // computed once.
  template <class ScoreOf>
  static void add(const Scored& to, std::span<const AskedResource> resources, ScoreOf score_of) {
    const bool compares = resources.size() == 2 && resources[0].resource == model::kCpu &&
                          resources[1].resource == model::kMemory;
    const bool counts_unasked = compares && resources[0].unasked.valid();
    CpuAndMemory before;
    ResourceList<ScoredResource> scored;
    std::int64_t score = 0;
    for (std::size_t i = 0; i < to.nodes.size(); ++i) {
      const model::ResourceRow& allocatable = to.cluster.node(to.nodes[i]).allocatable;
      const model::ResourceSums& requested = to.cluster.ledger().node(to.nodes[i]).requested;
      const CpuAndMemory amounts(allocatable, requested, counts_unasked);
      if (!compares || i == 0 || amounts != before)
        score = to.weight * score_of(read(allocatable, requested, resources, scored));
      to.scores[i] += score;
      before = amounts;
    }
  }

 private:
  struct CpuAndMemory {
    std::int64_t cpu = 0, memory = 0;
    __int128 cpu_used = 0, memory_used = 0;

    CpuAndMemory() = default;
    CpuAndMemory(const model::ResourceRow& allocatable, const model::ResourceSums& requested,
                 bool counts_unasked)
        : cpu(allocatable[model::kCpu]),
          memory(allocatable[model::kMemory]),
          cpu_used(requested[model::kCpu]),
          memory_used(requested[model::kMemory]) {
      if (!counts_unasked) return;
      cpu_used += requested[model::kCpuUnasked];
      memory_used += requested[model::kMemoryUnasked];
    }
    friend bool operator==(const CpuAndMemory&, const CpuAndMemory&) = default;
  };
  static std::span<const ScoredResource> read(const model::ResourceRow& allocatable,
                                              const model::ResourceSums& requested,
                                              std::span<const AskedResource> resources,
                                              ResourceList<ScoredResource>& scored) {
    scored.count = 0;
    for (const AskedResource& one : resources) {
      if (allocatable[one.resource] <= 0) continue;
      __int128 allocated = requested[one.resource];
      if (one.unasked.valid()) allocated += requested[one.unasked];
      scored.items[scored.count++] = {at_most_int64(allocated + one.asked), at_most_int64(allocated),
                                      allocatable[one.resource], one.weight};
    }
    return scored.span();
  }

 protected:
  const ScoredResources resources_;
};

class ResourcesFitScore final : public UseScore {
 public:
  explicit ResourcesFitScore(const ResourcesFitArguments& arguments)
      : UseScore(arguments.resources, Unasked::Counts),
        strategy_(arguments.strategy),
        shape_(arguments.shape) {}

  std::string_view name() const override { return "NodeResourcesFit"; }
  void score(const PodQuery& query, std::span<const NodeId> nodes, std::int64_t weight,
             std::span<std::int64_t> scores) const override {
    const auto asked = resources_.asked_by(query);
    const Scored to{query.context->cluster, nodes, weight, scores};
    switch (strategy_) {
      case FitStrategy::LeastAllocated:
        return add(to, asked.span(), least_allocated_score);
      case FitStrategy::MostAllocated:
        return add(to, asked.span(), most_allocated_score);
      case FitStrategy::RequestedToCapacityRatio:
        return add(to, asked.span(), [this](std::span<const ScoredResource> scored) {
          return capacity_ratio_score(scored, shape_);
        });
    }
  }

 private:
  const FitStrategy strategy_;
  const std::vector<UtilizationPoint> shape_;
};

// A pod that asks for none of the resources gets no score: it would draw such pods to one node.
class BalancedAllocation final : public UseScore {
 public:
  explicit BalancedAllocation(const BalancedAllocationArguments& arguments)
      : UseScore(arguments.resources, Unasked::IsNothing) {}

  std::string_view name() const override { return "NodeResourcesBalancedAllocation"; }
  void score(const PodQuery& query, std::span<const NodeId> nodes, std::int64_t weight,
             std::span<std::int64_t> scores) const override {
    const auto asked = resources_.asked_by(query);
    const auto is_asked = [](const AskedResource& one) { return one.asked > 0; };
    if (std::any_of(asked.span().begin(), asked.span().end(), is_asked))
      add({query.context->cluster, nodes, weight, scores}, asked.span(), balance_score);
  }
};

}  // namespace

std::unique_ptr<Score> resources_fit_score(const ResourcesFitArguments& arguments) {
  return std::make_unique<ResourcesFitScore>(arguments);
}
std::unique_ptr<Score> balanced_allocation(const BalancedAllocationArguments& arguments) {
  return std::make_unique<BalancedAllocation>(arguments);
}

}  // namespace berth::placement::plugins
