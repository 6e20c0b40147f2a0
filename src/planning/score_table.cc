#include "planning/score_table.h"

#include <algorithm>
#include <numeric>

#include "planning/judgement.h"
#include "planning/offline_core.h"

namespace berth::planning {
namespace {

using model::NodeId;
using placement::CycleState;
using PluginScores = placement::PodCycle::PluginScores;

// Indices of candidates: the highest total first, equal ones by name.
std::vector<std::size_t> by_total(const std::vector<std::int64_t>& totals) {
  std::vector<std::size_t> order(totals.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::ranges::greater(), [&](std::size_t i) { return totals[i]; });
  return order;
}

class ScoreReport {
 public:
  ScoreReport(OfflineCluster& offline, OfflineCore& core, const api::Pod& pod)
      : cluster_(offline.cluster()), pod_(pod), core_(core) {}

  ScoreTable of(const std::string& name) {
    ScoreTable table;
    table.node = name;
    const NodeId node = cluster_.find_node(name);
    model::Ledger::Transaction transaction(cluster_.ledger());
    const auto& nodes = core_.core.domains().nodes(cluster_);
    const auto verdicts = judge_nodes(core_.core.pod_cycle(), core_.context, pod_, {&node, 1}, transaction);
    if (!node.valid() || !verdicts.front().feasible) {
      table.refused = node.valid() ? verdicts.front().reason : "the node does not exist any more";
      return table;
    }
    CycleState state;
    const placement::PodCycle& cycle = core_.core.pod_cycle();
    cycle.begin(state, core_.context, pod_, &transaction);
    if (!cycle.prepare(state)) return table;
    fill(table, node, state, cycle.scores_by_plugin(state, nodes));
    return table;
  }

 private:
  void fill(ScoreTable& table, NodeId node, CycleState& state, const std::vector<PluginScores>& all) const {
    std::vector<std::int64_t> totals(state.candidates.size(), 0);
    for (const PluginScores& row : all)
      for (std::size_t i = 0; i < totals.size(); ++i) totals[i] += row.weight * row.scores[i];
    const auto own =
        static_cast<std::size_t>(std::ranges::find(state.candidates, node) - state.candidates.begin());
    if (own == totals.size()) return;
    table.candidates = totals.size();
    table.total = totals[own];
    const std::optional<std::size_t> next = runner_up(own, state, totals);
    if (next) {
      table.runner_up = cluster_.node(state.candidates[*next]).name;
      table.runner_up_total = totals[*next];
    }
    for (const PluginScores& row : all)
      table.rows.push_back(
          {std::string(row.plugin), row.weight, row.scores[own], next ? row.scores[*next] : 0});
  }

  std::optional<std::size_t> runner_up(std::size_t own, CycleState& state,
                                       const std::vector<std::int64_t>& totals) const {
    const placement::PodCycle& cycle = core_.core.pod_cycle();
    std::size_t tried = 0;
    for (const std::size_t i : by_total(totals)) {
      if (i == own) continue;
      if (++tried > kRunnersUpTriedMax || state.over()) return std::nullopt;
      if (!cycle.has_lazy_filters(state) || cycle.accepts(state, state.candidates[i])) return i;
    }
    return std::nullopt;
  }

  model::Cluster& cluster_;
  const api::Pod& pod_;
  OfflineCore& core_;
};

// Where the pod is, or is to be bound.
std::string node_of(const client::View& view, const api::Pod& pod) {
  if (pod.bound()) return pod.node_name;
  for (const api::BindRequest* request : view.bind_requests_of_pod(pod.meta.ns, pod.meta.name))
    if (request->phase != api::BindPhase::Failed) return request->node;
  return "";
}

}  // namespace

std::optional<ScoreTable> score_placed_pod(OfflineCluster& offline, OfflineCore& core,
                                           const client::NamedKey& key) {
  const api::Pod* placed = offline.view().pods.find(key.ns, key.name);
  if (!placed || placed->finished() || !offline.trouble_of(key).empty()) return std::nullopt;
  const std::string node = node_of(offline.view(), *placed);
  if (node.empty()) return std::nullopt;
  const OfflineCluster::Unbound unbound = offline.unbind(key);
  const auto pod = offline.view().pods.find_shared(key.ns, key.name);
  ScoreTable table = ScoreReport(offline, core, *pod).of(node);
  offline.bind_again(unbound);
  return table;
}

Json to_json(const ScoreTable& table) {
  Json json = Json::object({{"node", table.node}});
  if (!table.refused.empty()) {
    json["refused"] = table.refused;
    return json;
  }
  const bool next = !table.runner_up.empty();
  json["total"] = table.total;
  json["nodes"] = static_cast<std::int64_t>(table.candidates);
  if (next) {
    json["runnerUp"] = table.runner_up;
    json["runnerUpTotal"] = table.runner_up_total;
  }
  JsonArray& rows = (json["plugins"] = Json::array()).as_array();
  for (const ScoreRow& row : table.rows) {
    Json& one = rows.emplace_back(Json::object({{"plugin", row.plugin},
                                                {"weight", row.weight},
                                                {"raw", row.score},
                                                {"weighted", row.weight * row.score}}));
    if (!next) continue;
    one["runnerUpRaw"] = row.runner_up;
    one["runnerUpWeighted"] = row.weight * row.runner_up;
  }
  return json;
}

}  // namespace berth::planning
