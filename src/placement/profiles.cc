#include "placement/profiles.h"

#include <algorithm>
#include <set>
#include <typeindex>

namespace berth::placement {
namespace {

constexpr std::array<std::string_view, kExtensionPointCount> kPointNames = {
    "preEnqueue", "queueSort", "preFilter",         "filter",         "postFilter",
    "preScore",   "score",     "reserve",           "permit",         "preBind",
    "bind",       "postBind",  "placementGenerate", "placementScore", "podGroupPostFilter"};

// Demands of a pod whose requests no filter counts: nothing rules a node out.
class NothingCounted final : public FitCounter {
 public:
  Demand demand(const model::Cluster&, std::span<const api::Pod* const>) const override { return {}; }
  std::int64_t fit_count(const model::Cluster&, NodeId, const model::ResourceAmounts&) const override {
    return INT64_MAX;
  }
};

// Keeps the rows that are enabled at the point.
template <class Row, class PluginOf>
void keep(std::vector<Row>& rows, ExtensionPoint point, const EnabledPlugins& enabled, PluginOf plugin_of) {
  std::erase_if(rows, [&](const Row& row) { return !enabled.find(point, plugin_of(row).name()); });
}

const auto kItself = [](const auto& plugin) -> const auto& { return *plugin; };
const auto kScoreOf = [](const auto& row) -> const auto& { return *row.score; };

template <class Row, class PluginOf>
void keep_weighted(std::vector<Row>& rows, ExtensionPoint point, const EnabledPlugins& enabled,
                   PluginOf plugin_of) {
  keep(rows, point, enabled, plugin_of);
  for (Row& row : rows) row.weight = enabled.find(point, plugin_of(row).name())->weight;
}

ExtensionPoint point_of(const Filter& filter) {
  return filter.names_nodes() ? ExtensionPoint::PreFilter : ExtensionPoint::Filter;
}

// What names nodes comes first; then the order of the extension point.
void keep_filters(PluginSet& set, const EnabledPlugins& enabled) {
  std::erase_if(set.filters, [&](const std::unique_ptr<Filter>& filter) {
    return !enabled.find(point_of(*filter), filter->name());
  });
  const auto rank = [&](const std::unique_ptr<Filter>& filter) {
    const auto& order = enabled.at(ExtensionPoint::Filter);
    return filter->names_nodes() ? -1 : enabled.find(ExtensionPoint::Filter, filter->name()) - order.data();
  };
  std::ranges::stable_sort(set.filters, {}, rank);
}

}  // namespace

std::string_view name_of(ExtensionPoint point) {
  return kPointNames[static_cast<std::size_t>(point)];
}

const EnabledPlugin* EnabledPlugins::find(ExtensionPoint point, std::string_view name) const {
  const std::vector<EnabledPlugin>& plugins = at(point);
  const auto found = std::ranges::find(plugins, name, &EnabledPlugin::name);
  return found == plugins.end() ? nullptr : &*found;
}

void select(PluginSet& set, const EnabledPlugins& enabled) {
  using enum ExtensionPoint;
  keep(set.gates, PreEnqueue, enabled, kItself);
  keep(set.prefilters, PreFilter, enabled, kItself);
  keep_filters(set, enabled);
  keep(set.domain_filters, Filter, enabled, kItself);
  keep(set.lazy_filters, Filter, enabled, kItself);
  const EnabledPlugin* ranks = enabled.find(Score, "DynamicResources");
  set.preference_weight = ranks ? ranks->weight : 0;
  keep_weighted(set.scores, Score, enabled, kScoreOf);
  keep_weighted(set.domain_scores, Score, enabled, kScoreOf);
  keep_weighted(set.normalized_scores, Score, enabled, kScoreOf);
  keep(set.reserves, Reserve, enabled, kItself);
  keep(set.post_filters, PostFilter, enabled, kItself);
  set.preempts = enabled.find(PostFilter, "DefaultPreemption") != nullptr;
  keep_weighted(set.placement_scorers, PlacementScore, enabled,
                [](const auto& row) -> const auto& { return *row.scorer; });
  if (!enabled.find(Filter, "NodeResourcesFit")) set.fit_counter = std::make_unique<NothingCounted>();
}

Profiles::Profiles(PluginSet plugins) {
  rows_.push_back({"", std::move(plugins)});
}

Profiles::Profiles(std::span<const Profile> profiles, const MakePlugins& make) {
  if (profiles.empty()) rows_.push_back({"", make({})});
  for (const Profile& profile : profiles) {
    Row& row = rows_.emplace_back(Row{profile.scheduler_name, make(profile.arguments)});
    row.plugins.profile = static_cast<std::uint32_t>(rows_.size() - 1);
    if (profile.enabled) select(row.plugins, *profile.enabled);
  }
  find_fact_makers();
}

void Profiles::find_fact_makers() {
  std::set<std::pair<std::type_index, std::string_view>> known;
  for (const Row& row : rows_)
    for (const Plugin* plugin : row.plugins.refusers())
      if (known.emplace(typeid(*plugin), plugin->name()).second && &row != &rows_.front())
        more_fact_makers_.push_back(plugin);
}

const PluginSet& Profiles::of(const api::Pod& pod) const {
  if (rows_.size() == 1) return first();
  const auto row = std::ranges::find(rows_, pod.scheduler_name, &Row::scheduler_name);
  return row == rows_.end() ? first() : row->plugins;
}

ChangeFacts Profiles::facts_of(const ClusterChange& change) const {
  ChangeFacts facts;
  add_common_facts(change, facts);
  for (const Plugin* plugin : first().refusers()) plugin->add_facts(change, facts);
  for (const Plugin* plugin : more_fact_makers_) plugin->add_facts(change, facts);
  return facts;
}

}  // namespace berth::placement
