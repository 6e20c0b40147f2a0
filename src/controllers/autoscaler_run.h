// What a HorizontalPodAutoscaler decides about its target once the scale of the target has been read.
//
// Pure functions of the view, the scale and the history. Cost: that of proposal_of(), and the match of the
// target's pods against each other HorizontalPodAutoscaler of the namespace. Source: conditions, events and
// their texts of kube-controller-manager 1.37.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "controllers/autoscaler_behavior.h"
#include "workloads/objects.h"

namespace berth::controllers {

// autoscaling/v1 Scale, as it was read.
struct TargetScale {
  std::int64_t replicas = 0;
  std::string selector;
  std::string uid, version;
};

// The selectors of other HorizontalPodAutoscalers of the namespace, by name.
using RivalSelectors = std::vector<std::pair<std::string, const api::LabelSelector*>>;

// A status under way, and its events.
struct AutoscalerReport {
  Json conditions;
  std::int64_t current = 0, desired = 0;
  JsonArray current_metrics;
  std::string last_scale_time;  // empty: never
  std::vector<client::EventNote> events;
  bool rescales = false;  // the scale of the target becomes `desired`
  std::string reason;     // why: "cpu resource utilization (percentage of request) above target"

  void set(std::string_view type, bool is_true, std::string_view reason, std::string message, Time now);
};

// What the status says so far.
AutoscalerReport report_of(const workloads::Parsed& autoscaler);
// The scale of the target cannot be read, or not be changed.
void note_unreadable(const workloads::Parsed& autoscaler, const std::string& why, Time now,
                     AutoscalerReport& report);
void note_not_changed(const workloads::Parsed& autoscaler, const std::string& why, Time now,
                      AutoscalerReport& report);
// It was changed.
void note_changed(const workloads::Parsed& autoscaler, Time now, ScalingHistory& history,
                  AutoscalerReport& report);

// The selector of the scale. Nothing, and noted, where it is empty or does not parse.
std::optional<api::LabelSelector> selector_of(const workloads::Parsed& autoscaler, const TargetScale& scale,
                                              Time now, AutoscalerReport& report);

// `selector`: null where the scale has none, and metrics are not read.
AutoscalerReport decide_scale(const View& view, const workloads::Parsed& autoscaler, const TargetScale& scale,
                              const RivalSelectors& rivals, ScalingHistory& history, Time now);

// The write of the status; nothing where it says so already.
std::optional<client::Write> report_write(const workloads::Parsed& autoscaler,
                                          const AutoscalerReport& report);

}  // namespace berth::controllers
