#include "placement/framework.h"

namespace berth::placement {
namespace {

template <class Visit>
void for_each_hint(const PluginSet& set, Visit visit) {
  for (const auto& one : set.prefilters) visit(one->events_to_register());
  for (const auto& one : set.filters) visit(one->events_to_register());
  for (const auto& one : set.domain_filters) visit(one->events_to_register());
  for (const auto& one : set.lazy_filters) visit(one->events_to_register());
}

}  // namespace

std::uint32_t PluginSet::events_for(const api::Pod& pod) const {
  std::uint32_t events = kEventNever;
  for_each_hint(*this, [&](const QueueingHint& hint) {
    if (!hint.applies || hint.applies(pod)) events |= hint.events;
  });
  return events;
}

std::uint32_t PluginSet::all_events() const {
  std::uint32_t events = kEventNever;
  for_each_hint(*this, [&](const QueueingHint& hint) { events |= hint.events; });
  return events;
}

}  // namespace berth::placement
