#include "placement/framework.h"

#include <algorithm>

#include "placement/refusal/fit_error.h"

namespace berth::placement {
namespace {

template <class Visit>
void for_each_refuser(const PluginSet& set, Visit visit) {
  for (const auto& one : set.prefilters) visit(*one);
  for (const auto& one : set.filters) visit(*one);
  for (const auto& one : set.domain_filters) visit(*one);
  for (const auto& one : set.lazy_filters) visit(*one);
}

bool applies(const Plugin& plugin, const api::Pod& pod) {
  const QueueingHint hint = plugin.events_to_register();
  return !hint.applies || hint.applies(pod);
}

bool names(const std::vector<std::string_view>& plugins, std::string_view plugin) {
  return std::binary_search(plugins.begin(), plugins.end(), plugin);
}

// Whether a reason has no plugin of the set: then any may have refused the pod.
bool refused_by_others(const PluginSet& set, const std::vector<std::string_view>& plugins) {
  for (const std::string_view plugin : plugins) {
    bool found = false;
    for_each_refuser(set, [&](const Plugin& one) { found |= one.name() == plugin; });
    if (!found) return true;
  }
  return plugins.empty();
}

}  // namespace

void Plugin::add_hints(const PodQuery&, const FitError&, PodHints& hints) const {
  hints.events |= events_to_register().events;
}

std::uint32_t PluginSet::events_for(const api::Pod& pod) const {
  std::uint32_t events = kEventNever;
  for_each_refuser(*this, [&](const Plugin& plugin) {
    if (applies(plugin, pod)) events |= plugin.events_to_register().events;
  });
  return events;
}

std::uint32_t PluginSet::all_events() const {
  std::uint32_t events = kEventNever;
  for_each_refuser(*this, [&](const Plugin& plugin) { events |= plugin.events_to_register().events; });
  return events;
}

PodHints PluginSet::hints_for(const PodQuery& query, const FitError& refusal) const {
  const bool any = refused_by_others(*this, refusal.plugins);
  PodHints hints;
  const auto refused = [&](const Plugin& plugin) { return any || names(refusal.plugins, plugin.name()); };
  const auto add = [&](const Plugin& plugin) {
    if (applies(plugin, *query.pod)) plugin.add_hints(query, refusal, hints);
  };
  const auto add_if_refused = [&](const Plugin& plugin) {
    if (refused(plugin)) add(plugin);
  };
  for (const auto& one : prefilters) add_if_refused(*one);
  for (const auto& one : filters) add_if_refused(*one);
  for (const auto& one : domain_filters) add_if_refused(*one);
  // A lazy filter may refuse for a reason of another plugin, which it then explains.
  for (const auto& one : lazy_filters)
    if (refused(*one) || std::ranges::any_of(refusal.reasons, [&](const RefusedFor& reason) {
          return one->explains(query, *reason.row);
        }))
      add(*one);
  std::sort(hints.keys.begin(), hints.keys.end());
  hints.keys.erase(std::unique(hints.keys.begin(), hints.keys.end()), hints.keys.end());
  if (hints.keys.size() > kHintKeysMax) hints = {hints.events | hints.keyed};
  return hints;
}

void PluginSet::add_facts(const ClusterChange& change, ChangeFacts& facts) const {
  for_each_refuser(*this, [&](const Plugin& plugin) { plugin.add_facts(change, facts); });
}

}  // namespace berth::placement
