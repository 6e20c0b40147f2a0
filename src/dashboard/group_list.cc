#include "dashboard/group_list.h"

#include <algorithm>
#include <map>

#include "placement/wishes/ranks.h"

namespace berth::dashboard {
namespace {

std::string path_text(const std::vector<std::string>& path) {
  std::string text;
  for (const std::string& value : path) text.append(text.empty() ? "" : "/").append(value);
  return text;
}

Json domains_json(const std::map<std::string, std::int64_t>& pods_by_path) {
  std::vector<std::pair<std::string, std::int64_t>> rows(pods_by_path.begin(), pods_by_path.end());
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  if (rows.size() > kDomainsOfAGroupMax) rows.resize(kDomainsOfAGroupMax);
  JsonArray domains;
  for (const auto& [path, pods] : rows) domains.push_back(Json::object({{"path", path}, {"pods", pods}}));
  return domains;
}

// The last and the first rank are neighbours too.
std::int64_t rank_crossings(const std::vector<const api::Pod*>& pods,
                            const std::vector<std::uint32_t>& domains) {
  const std::vector<std::size_t> ring = placement::by_rank(pods);
  std::int64_t crossings = 0;
  for (std::size_t i = 0; i < ring.size(); ++i)
    crossings += domains[ring[i]] != domains[ring[(i + 1) % ring.size()]];
  return crossings;
}

template <class Group>
Json row_of(const Group& group, std::string_view kind) {
  return Json::object({{"kind", kind},
                       {"namespace", group.meta.ns},
                       {"name", group.meta.name},
                       {"parent", group.parent},
                       {"minimum", static_cast<std::int64_t>(group.minimum())},
                       {"since", format_time(group.meta.created)}});
}

Json group_row(const client::View& view, const FloorLayout& layout, const api::PodGroup& group) {
  Json row = row_of(group, "PodGroup");
  std::int64_t pods = 0, bound = 0, running = 0;
  std::map<std::string, std::int64_t> by_path;
  std::vector<const api::Pod*> placed;
  std::vector<std::uint32_t> domains;  // of `placed`
  for (const api::Pod* pod : view.pods_of_group(group.meta.ns, group.meta.name)) {
    if (pod->finished()) continue;
    ++pods;
    if (!pod->bound()) continue;
    ++bound;
    running += pod->phase == "Running";
    const FloorNode* node = layout.node(pod->node_name);
    if (!node) continue;
    ++by_path[path_text(layout.domains()[node->domain].path)];
    placed.push_back(pod);
    domains.push_back(node->domain);
  }
  row["pods"] = pods;
  row["bound"] = bound;
  row["running"] = running;
  row["rankCrossings"] = by_path.size() > 1 ? rank_crossings(placed, domains) : 0;
  row["domains"] = domains_json(by_path);
  return row;
}

}  // namespace

Json groups_page(const client::View& view, const FloorLayout& layout) {
  JsonArray rows;
  for (const auto& [key, group] : view.composite_groups.all()) {
    if (rows.size() == kGroupsShownMax) break;
    rows.push_back(row_of(*group, "CompositePodGroup"));
  }
  for (const auto& [key, group] : view.pod_groups.all()) {
    if (rows.size() == kGroupsShownMax) break;
    rows.push_back(group_row(view, layout, *group));
  }
  const std::size_t total = view.pod_groups.size() + view.composite_groups.size();
  return Json::object({{"total", static_cast<std::int64_t>(total)}, {"groups", std::move(rows)}});
}

}  // namespace berth::dashboard
