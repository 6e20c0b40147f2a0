// When a pod or group that waits starts, if pods run as long as they are expected to.
//
// Pure: everything that waits is decided in the order of the queue, now and each time pods end, until the one
// that was asked about has its place. What is placed on the way runs for its own expected duration, or for
// ever. Nothing new arrives. Cost: at most kStartDecisionsMax decisions; none if no pod has a run time.
// Entries that are alike are refused by one decision. Source: outer surface, `berth explain`.
#pragma once

#include <optional>
#include <vector>

#include "planning/remedies.h"

namespace berth::planning {

// Times at which pods end.
inline constexpr std::size_t kStartStepsMax = 1'024;
inline constexpr std::size_t kStartDecisionsMax = 20'000;
// Pods that are looked at, over all steps.
inline constexpr std::size_t kStartPodsMax = 50'000'000;
// Pods that are named.
inline constexpr std::size_t kEndingsShownMax = 4;

struct Ending {
  client::NamedKey pod;
  Time at;  // may have passed: it is late
};

struct ExpectedStart {
  std::optional<Time> at;      // none: unknown
  std::size_t running = 0;     // pods with a known end
  std::size_t ended = 0;       // of these and of those that start before, until then
  std::vector<Ending> after;   // those of them that ended on its nodes, else all; the latest first
  bool out_of_budget = false;  // it is unknown because a bound was reached
};

// Pods and groups without the annotation of a run time get that of the nearest owner among the documents.
void inherit_expected_durations(std::vector<Document>& documents);

// `asked` waits. Afterwards the cluster is as at that time.
ExpectedStart expected_start(OfflineCluster& offline, const AskedAbout& asked, const PlanOptions& options,
                             dra::SelectorEvaluator& selectors);

// Adds "expectedStart":{"time","inSeconds","ended","after":[{"pod","time"}]}, or {"unknown":"NeverFits"|
// "OutOfBudget","running"}; nothing if no pod has a known end, or it does not wait for one.
void put_json(const ExpectedStart& start, Time now, Json& json);

}  // namespace berth::planning
