#include "placement/search/gang_problem.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <tuple>

#include "api/types/gpu_share.h"
#include "placement/claims.h"
#include "placement/free_resources.h"

namespace berth::placement {
namespace {

// What members of a kind have in common.
using KindKey = std::tuple<std::size_t, std::uint32_t, std::vector<model::ClaimId>, AvoidedNodes>;

class Maker {
 public:
  Maker(const GangQuestion& question, std::span<const NodeId> nodes, GangDevices& devices, CycleState& state)
      : question_(question), cluster_(question.context.cluster), devices_(devices), state_(state) {
    problem_.nodes.assign(nodes.begin(), nodes.end());
    problem_.size = question.waiting.size();
  }

  GangProblem make(Budget& budget) {
    find_kinds();
    find_amounts();
    find_devices();
    for (GangKind& kind : problem_.kinds) {
      if (!budget.spend(1 + problem_.nodes.size() / kNodesOfAStep)) return std::move(problem_);
      find_nodes(kind);
    }
    find_classes();
    sort_kinds();
    return std::move(problem_);
  }

 private:
  const api::Pod& first_of(const GangKind& kind) const { return *question_.waiting[kind.members.front()]; }

  void find_kinds() {
    std::map<KindKey, std::size_t> known;
    std::size_t part = 0, end = question_.parts.front().size;
    for (const GangPart& one : question_.parts) problem_.needed.push_back(one.needed);
    for (std::size_t member = 0; member < problem_.size; ++member) {
      while (member == end) end += question_.parts[++part].size;
      KindKey key{part, question_.alike[member], devices_.shared_claims_of(member),
                  avoided_by(question_.avoid, question_.waiting[member]->meta.uid)};
      const auto at = known.emplace(std::move(key), problem_.kinds.size()).first;
      if (at->second == problem_.kinds.size()) problem_.kinds.emplace_back().part = part;
      problem_.kinds[at->second].members.push_back(member);
    }
  }

  void find_amounts() {
    std::vector<FitCounter::Demand> demands;
    for (GangKind& kind : problem_.kinds) {
      const api::Pod& pod = first_of(kind);
      const api::Pod* const one = &pod;
      demands.push_back(question_.plugins.fit_counter->demand(cluster_, {&one, 1}));
      kind.has_claims = !devices_.claims_of(kind.members.front()).empty();
      kind.is_opaque = demands.back().beyond_filters || !pod.host_ports.empty() || !pod.volumes.empty() ||
                       api::asks_for_gpu_share(pod.meta);
      problem_.by_placing |= kind.is_opaque;
      // Which volumes, GPUs and devices of extended resources such members choose is not varied.
      if (demands.back().beyond_filters || !pod.volumes.empty() || api::asks_for_gpu_share(pod.meta))
        problem_.unproved = kSearchBudgetEnded;
      for (const model::ResourceAmount& ask : demands.back().requests)
        if (model::is_asked(ask.resource)) add_resource(ask.resource);
    }
    problem_.by_placing |= cluster_.devices_take_of_nodes();
    for (std::size_t k = 0; k < demands.size(); ++k) {
      GangKind& kind = problem_.kinds[k];
      kind.asks.assign(problem_.resources.size(), 0);
      for (const model::ResourceAmount& ask : demands[k].requests)
        for (std::size_t r = 0; r < problem_.resources.size(); ++r)
          if (problem_.resources[r] == ask.resource) kind.asks[r] = ask.amount;
    }
    for (const NodeId node : problem_.nodes)
      for (const model::ResourceId resource : problem_.resources)
        problem_.free.push_back(free_of(cluster_.node(node), cluster_.ledger().node(node), resource));
  }

  // A claim that several members name counts for none of them.
  void find_devices() {
    std::int64_t asked = 0;
    for (GangKind& kind : problem_.kinds) {
      const std::size_t member = kind.members.front();
      const auto shared = devices_.shared_claims_of(member);
      for (const model::ClaimId claim : devices_.claims_of(member))
        if (std::find(shared.begin(), shared.end(), claim) == shared.end())
          kind.devices += least_devices(*cluster_.claim(claim).live);
      asked += kind.devices * static_cast<std::int64_t>(kind.members.size());
    }
    std::set<model::PoolId> pools;
    for (const auto& [name, pool] : cluster_.shared_pools()) pools.insert(pool);
    std::int64_t free = 0;
    const auto add = [&](model::PoolId pool) {
      const auto own = count_devices(cluster_, pool,
                                     [&](model::DeviceId device) { return !cluster_.ledger().busy(device); });
      free = own ? free + *own : asked;
    };
    for (auto pool = pools.begin(); pool != pools.end() && free < asked; ++pool) add(*pool);
    for (auto node = problem_.nodes.begin(); node != problem_.nodes.end() && free < asked; ++node)
      for (const model::PoolId pool : cluster_.pools_of(*node))
        if (free < asked && pools.insert(pool).second) add(pool);
    problem_.devices = std::min(free, asked);
  }

  void add_resource(model::ResourceId resource) {
    auto& all = problem_.resources;
    if (std::find(all.begin(), all.end(), resource) == all.end()) all.push_back(resource);
  }

  void find_nodes(GangKind& kind) {
    const api::Pod& pod = first_of(kind);
    question_.pods.begin(state_, question_.context, pod, &question_.transaction);
    const bool possible = question_.pods.prepare(state_);
    // What a domain takes follows from the members that were placed before, and from their order.
    if (question_.pods.has_rules(state_)) {
      kind.is_opaque = problem_.by_placing = true;
      if (problem_.unproved.empty()) problem_.unproved = kSearchBudgetEnded;
    }
    if (possible) question_.pods.judge(state_, problem_.nodes);
    if (problem_.unproved != kFieldNotHonoured && !state_.diagnosis.unproved().empty())
      problem_.unproved = state_.diagnosis.unproved();
    if (!possible || state_.over()) return;
    const std::vector<bool> allowed = nodes_of(kind.part);
    const AvoidedNodes avoided = avoided_by(question_.avoid, pod.meta.uid);
    std::vector<std::pair<std::int64_t, std::uint32_t>> by_score;
    std::uint32_t node = 0;
    for (std::size_t i = 0; i < state_.candidates.size(); ++i) {
      while (problem_.nodes[node] != state_.candidates[i]) ++node;
      const bool avoids = std::ranges::binary_search(avoided.nodes(), state_.candidates[i]);
      if (!avoids && (allowed.empty() || allowed[node])) by_score.emplace_back(-state_.scores[i], node);
    }
    std::sort(by_score.begin(), by_score.end());
    for (const auto& [score, index] : by_score) kind.nodes.push_back(index);
  }

  // By node: whether the part may use it. Empty: all of them.
  std::vector<bool> nodes_of(std::size_t part) const {
    if (question_.parts.size() == 1) return {};
    const std::span<const NodeId> own = question_.parts[part].nodes;
    std::vector<NodeId> sorted(own.begin(), own.end());
    std::sort(sorted.begin(), sorted.end());
    std::vector<bool> allowed;
    for (const NodeId node : problem_.nodes)
      allowed.push_back(std::binary_search(sorted.begin(), sorted.end(), node));
    return allowed;
  }

  // Nodes with equal free amounts and devices, which the same kinds pass.
  void find_classes() {
    const std::size_t count = problem_.nodes.size();
    std::vector<std::string> keys(count);
    for (std::size_t node = 0; node < count; ++node)
      for (std::size_t r = 0; r < problem_.resources.size(); ++r)
        keys[node] += std::to_string(problem_.free_at(static_cast<std::uint32_t>(node), r)) + ',';
    bool claims = false;
    for (std::size_t k = 0; k < problem_.kinds.size(); ++k) {
      claims |= problem_.kinds[k].has_claims;
      for (const std::uint32_t node : problem_.kinds[k].nodes) keys[node] += std::to_string(k) + ';';
    }
    std::map<std::string, std::uint32_t> known;
    for (std::uint32_t node = 0; node < count; ++node) {
      if (problem_.by_placing)
        keys[node] += '#' + std::to_string(node);
      else if (claims)
        keys[node] += '|' + devices_.choices().offer_of(problem_.nodes[node]);
      problem_.class_of.push_back(
          known.emplace(keys[node], static_cast<std::uint32_t>(known.size())).first->second);
    }
  }

  // In millionths of what the nodes that pass have together.
  __int128 weight_of(const GangKind& kind) const {
    constexpr __int128 kMillion = 1'000'000;
    if (kind.nodes.empty()) return kMillion * kMillion;
    __int128 weight = kMillion / static_cast<__int128>(kind.nodes.size());
    for (std::size_t r = 0; r < problem_.resources.size(); ++r) {
      __int128 sum = 0;
      for (const std::uint32_t node : kind.nodes) sum += problem_.free_at(node, r);
      if (sum > 0) weight += kMillion * kind.asks[r] / sum;
    }
    for (const model::ClaimId claim : devices_.claims_of(kind.members.front()))
      for (const api::DeviceRequest& request : cluster_.claim(claim).live->requests)
        weight +=
            kMillion * request.alternatives.back().count / (8 * static_cast<__int128>(kind.nodes.size()));
    return weight;
  }

  void sort_kinds() {
    std::vector<std::pair<__int128, std::size_t>> order;
    for (std::size_t k = 0; k < problem_.kinds.size(); ++k)
      order.emplace_back(-weight_of(problem_.kinds[k]), k);
    std::sort(order.begin(), order.end());
    std::vector<GangKind> sorted;
    for (const auto& [weight, k] : order) sorted.push_back(std::move(problem_.kinds[k]));
    problem_.kinds = std::move(sorted);
  }

  const GangQuestion& question_;
  const model::Cluster& cluster_;
  GangDevices& devices_;
  CycleState& state_;
  GangProblem problem_;
};

}  // namespace

GangProblem make_gang_problem(const GangQuestion& question, std::span<const NodeId> nodes,
                              GangDevices& devices, CycleState& state, Budget& budget) {
  return Maker(question, nodes, devices, state).make(budget);
}

}  // namespace berth::placement
