#include "placement/preemption/eligibility.h"

#include <algorithm>

#include "api/evictions.h"
#include "placement/preemption/victims.h"

namespace berth::placement {

bool has_ending_victims(const client::View& view, const api::Pod& pod) {
  return !pod.nominated_node.empty() &&
         std::ranges::any_of(view.pods_on_node(pod.nominated_node), [&](const api::Pod* other) {
           const api::Condition* why = api::find_condition(other->conditions, api::kDisruptionTarget);
           return other->meta.deleting() && priority_of(view, *other) < pod.priority && why &&
                  why->status == "True" &&
                  (why->reason == api::kPreemptionByScheduler || why->reason == api::kEvictionByEvictionApi);
         });
}

std::optional<Time> note_delay(const api::ObjectMeta& meta, Time now, Preempting& preempting) {
  const std::string_view delay = meta.annotation(kPreemptionDelayAnnotation);
  if (delay.empty()) return std::nullopt;
  const Result<Duration> parsed = parse_duration(delay);
  if (!parsed || *parsed < Duration()) {
    preempting.invalid_delay = delay;
    return std::nullopt;
  }
  const Time over = meta.created + *parsed;
  if (now >= over) return std::nullopt;
  preempting.not_before = format_time(over);
  return over;
}

}  // namespace berth::placement
