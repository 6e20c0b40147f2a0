#include "planning/remedy_search.h"

#include <numeric>
#include <tuple>

#include "api/node_names.h"
#include "placement/free_resources.h"
#include "placement/preemption/victims.h"
#include "planning/remedy_steps.h"

namespace berth::planning {
namespace {

constexpr std::int64_t kWhole = 1'000'000;  // a resource that is missing altogether

// Conditions that are not met, and missing resources in millionths of what is asked.
struct Distance {
  std::int64_t unmet = 0;
  std::int64_t missing = 0;
  friend auto operator<=>(const Distance&, const Distance&) = default;
};

Distance distance_of(const model::Cluster& cluster, const api::Pod& pod,
                     const model::ResourceAmounts& requests, model::NodeId id) {
  const model::NodeRow& row = cluster.node(id);
  const api::Node& node = *row.live;
  Distance distance;
  distance.unmet += node.unschedulable ? 1 : 0;
  distance.unmet += untolerated_taints(pod, node.taints).empty() ? 0 : 1;
  distance.unmet += missing_labels(pod, node).empty() ? 0 : 1;
  for (const model::ResourceAmount& asked : requests) {
    const std::int64_t lack =
        asked.amount - placement::free_of(row, cluster.ledger().node(id), asked.resource);
    if (asked.amount <= 0 || lack <= 0) continue;
    ++distance.unmet;
    distance.missing += static_cast<std::int64_t>(static_cast<__int128>(lack) * kWhole / asked.amount);
  }
  return distance;
}

}  // namespace

std::vector<std::string> nearest_nodes(const model::Cluster& cluster, const api::Pod& pod,
                                       std::span<const model::NodeId> nodes) {
  const model::ResourceAmounts& requests = cluster.pod(cluster.find_pod(pod.meta.ns, pod.meta.name)).requests;
  std::vector<std::tuple<Distance, std::string>> rows;
  for (const model::NodeId node : nodes)
    rows.emplace_back(distance_of(cluster, pod, requests, node), cluster.node(node).name);
  const std::size_t kept = std::min(rows.size(), kNearNodesMax);
  std::ranges::partial_sort(rows, rows.begin() + static_cast<std::ptrdiff_t>(kept));
  std::vector<std::string> names;
  for (std::size_t i = 0; i < kept; ++i) names.push_back(std::get<1>(rows[i]));
  return names;
}

bool RemedySearch::copy_node(const std::string& like, std::size_t count, Changes& changes) {
  const api::Node node = node_named(like);
  if (node.unschedulable) return false;
  std::vector<api::ResourceSlice> slices;
  for (const auto& [key, slice] : offline.view().slices.all())
    if (slice->node_name == like) slices.push_back(*slice);
  for (std::size_t i = 1; i <= count; ++i) {
    const std::string ending = "-copy" + (count == 1 ? "" : std::to_string(i));
    api::Node copy = node;
    copy.meta.name += ending;
    copy.meta.uid += ending;
    if (offline.view().nodes.find("", copy.meta.name)) return false;
    if (const auto label = copy.meta.labels.find(std::string(api::kHostnameLabel));
        label != copy.meta.labels.end())
      label->second = copy.meta.name;
    for (api::ResourceSlice slice : slices) {
      slice.meta.name += ending;
      slice.meta.uid += ending;
      slice.pool += ending;
      slice.node_name = copy.meta.name;
      changes.put(api::Kind::ResourceSlice, static_cast<const api::ResourceSlice*>(nullptr),
                  std::move(slice));
    }
    changes.put(std::move(copy));
  }
  return true;
}

void RemedySearch::open_nodes(const api::Pod& member, std::span<const model::NodeId> nodes) {
  std::vector<std::pair<api::Node, std::vector<placement::RemedyStep>>> closed;
  for (const model::NodeId id : nodes) {
    api::Node node = *offline.cluster().node(id).live;
    std::vector<placement::RemedyStep> steps;
    if (open_node(member, node, steps) && !steps.empty())
      closed.emplace_back(std::move(node), std::move(steps));
    if (closed.size() == kNodesAddedMax) break;
  }
  if (closed.empty() || is_over()) return;
  for (const auto& [node, steps] : closed)
    for (const placement::RemedyStep& step : steps) note(step.kind);
  std::vector<std::size_t> kept(closed.size());
  std::iota(kept.begin(), kept.end(), std::size_t{0});
  const auto enough = [&](const std::vector<std::size_t>& some) {
    Changes changes(offline);
    for (const std::size_t i : some) changes.put(closed[i].first);
    return fits();
  };
  if (!enough(kept)) return;
  for (std::size_t i = closed.size(); i-- > 0;) {
    std::vector<std::size_t> fewer = kept;
    std::erase(fewer, i);
    if (enough(fewer)) kept = std::move(fewer);
  }
  placement::Remedy remedy;
  for (const std::size_t i : kept)
    remedy.steps.insert(remedy.steps.end(), closed[i].second.begin(), closed[i].second.end());
  out.found.push_back(std::move(remedy));
}

void RemedySearch::add_nodes(const api::Pod& member, std::span<const model::NodeId> nodes) {
  for (const std::string& like : nearest_nodes(offline.cluster(), member, nodes)) {
    for (std::size_t count = 1; count <= kNodesAddedMax; ++count) {
      if (is_over()) return;
      Changes changes(offline);
      if (!copy_node(like, count, changes)) break;
      note(placement::RemedyKind::AddNodes);
      if (!fits()) continue;
      return add(
          {.kind = placement::RemedyKind::AddNodes, .node = like, .count = static_cast<std::int64_t>(count)});
    }
  }
}

placement::RemedyStep RemedySearch::evict_step(const std::vector<placement::PreemptionVictim>& victims,
                                               std::string node) const {
  placement::RemedyStep step{.kind = placement::RemedyKind::Evict, .node = std::move(node)};
  for (const placement::PreemptionVictim& victim : victims) {
    const api::Pod& live = *offline.cluster().pod(victim.pod).live;
    step.victims.emplace_back(live.meta.ns + "/" + live.meta.name,
                              placement::priority_of(offline.view(), live));
  }
  return step;
}

}  // namespace berth::planning
