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

void Plugin::add_interests(const SchedulingContext&, const api::Pod&, PodHints& hints) const {
  hints.events |= events_to_register().events;
}

void Plugin::add_hints(const PodQuery& query, const FitError&, PodHints& hints) const {
  add_interests(*query.context, *query.pod, hints);
}

std::uint32_t PluginSet::events_for(const api::Pod& pod) const {
  std::uint32_t events = kEventNever;
  for_each_refuser(*this, [&](const Plugin& plugin) {
    if (applies(plugin, pod)) events |= plugin.events_to_register().events;
  });
  return events;
}

void PluginSet::add_interests(const SchedulingContext& context, const api::Pod& pod, PodHints& hints) const {
  for_each_refuser(*this, [&](const Plugin& plugin) {
    if (applies(plugin, pod)) plugin.add_interests(context, pod, hints);
  });
  hints.settle();
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
  hints.settle();
  return hints;
}

std::vector<const Plugin*> PluginSet::refusers() const {
  std::vector<const Plugin*> plugins;
  for_each_refuser(*this, [&](const Plugin& plugin) { plugins.push_back(&plugin); });
  return plugins;
}

}  // namespace berth::placement
