// What waits, and why: pods and groups by age times size, with the scheduler's own latest answer.
//
// Pure. Cost: O(pods that wait + entries log entries).
#pragma once

#include <set>
#include <string>
#include <vector>

#include "client/named_map.h"
#include "dashboard/decision_notes.h"

namespace berth::dashboard {

inline constexpr std::size_t kWaitingShownMax = 500;

// Pods without a node, by namespace and name.
using PendingPods = std::set<client::NamedKey>;
// Whether the pod waits for a scheduler of one of these names; empty: of any.
bool waits(const api::Pod& pod, const std::vector<std::string>& schedulers);

// The first kWaitingShownMax entries, the greatest product of age and size first. `devices` is what the pods
// still lack; `state` is Gated, Binding, Unschedulable or Queued. The fields from `decided` on are absent
// without a decision.
//
//     {"asOf","total","entries":[{"kind","namespace","name","since","priority","pods","bound","minimum",
//      "devices","state","decided","reason","sentence","explanation",
//      "refused":[{"plugin","nodes","reason","examples"}]}]}
Json waiting_page(const client::View& view, const PendingPods& pending, const DecisionNotes& notes, Time now);

}  // namespace berth::dashboard
