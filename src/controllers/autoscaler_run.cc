#include "controllers/autoscaler_run.h"

#include <algorithm>

#include "workloads/conditions.h"

namespace berth::controllers {
namespace {

using workloads::Parsed;

constexpr bool kWarns = true;
constexpr std::string_view kAble = "AbleToScale", kActive = "ScalingActive";

void tell(const Parsed& autoscaler, bool warning, std::string_view reason, std::string message,
          AutoscalerReport& report) {
  client::EventNote note = workloads::event_about(autoscaler, warning, reason, std::move(message));
  note.component = "horizontal-pod-autoscaler";
  report.events.push_back(std::move(note));
}

// One decision, from the scale on.
class ScaleDecision {
 public:
  ScaleDecision(const View& view, const Parsed& autoscaler, const TargetScale& scale, Time now)
      : view_(view), autoscaler_(autoscaler), scale_(scale), now_(now), report_(report_of(autoscaler)) {}

  AutoscalerReport go(const RivalSelectors& rivals, ScalingHistory& history) && {
    report_.current = scale_.replicas;
    report_.set(kAble, true, "SucceededGetScale",
                "the HPA controller was able to get the target's current scale", now_);
    if (history.recommended.empty()) history.note_recommended(scale_.replicas, now_);
    const Json& spec = autoscaler_.spec();
    const std::int64_t least = spec.int_at("minReplicas", 1), most = spec.int_at("maxReplicas");
    if (scale_.replicas == 0 && least != 0) {
      report_.set(kActive, false, "ScalingDisabled",
                  "scaling is disabled since the replica count of the target is zero", now_);
      report_.desired = 0;
    } else if (scale_.replicas > most) {
      change(most, "Current number of replicas above Spec.MaxReplicas");
    } else if (scale_.replicas < least) {
      change(least, "Current number of replicas below Spec.MinReplicas");
    } else {
      by_metrics(rivals, history);
    }
    return std::move(report_);
  }

 private:
  void change(std::int64_t desired, std::string reason) {
    report_.desired = desired;
    report_.rescales = desired != scale_.replicas;
    report_.reason = std::move(reason);
  }

  void by_metrics(const RivalSelectors& rivals, ScalingHistory& history) {
    const auto selector = selector_of(autoscaler_, scale_, now_, report_);
    if (!selector) return;
    const std::vector<ScaledPod> pods = scaled_pods(view_, autoscaler_.meta.ns, *selector, now_);
    if (is_ambiguous(pods, rivals)) return;
    const Json& spec = autoscaler_.spec();
    const MetricQuestion question{pods, scale_.replicas, tolerances_of(spec), autoscaler_.meta.ns, now_};
    MetricsProposal proposal = proposal_of(spec.items_at("metrics"), question);
    report_.current_metrics = std::move(proposal.current);
    for (const MetricFailure& failure : proposal.failures)
      tell(autoscaler_, kWarns, failure.reason, failure.message, report_);
    if (!proposal.replicas) return note_no_number(proposal);
    report_.set(kActive, true, "ValidMetricFound",
                "the HPA was able to successfully calculate a replica count from " + proposal.metric, now_);
    const ScalingLimits limits = limited_replicas(spec, scale_.replicas, *proposal.replicas, history, now_);
    for (const api::Condition* condition : {&limits.able_to_scale, &limits.scaling_limited})
      report_.set(condition->type, condition->status == "True", condition->reason, condition->message, now_);
    change(limits.replicas, limits.replicas < scale_.replicas ? "All metrics below target"
                                                              : proposal.metric + " above target");
  }

  void note_no_number(const MetricsProposal& proposal) {
    if (proposal.failures.empty()) return;
    const MetricFailure& first = proposal.failures.front();
    report_.set(kActive, false, first.reason,
                "the HPA was unable to compute the replica count: " + first.message, now_);
    tell(autoscaler_, kWarns, "FailedComputeMetricsReplicas", proposal.error(), report_);
  }

  // Two that scale the same pods would undo each other's work.
  bool is_ambiguous(const std::vector<ScaledPod>& pods, const RivalSelectors& rivals) {
    std::vector<std::string> names;
    for (const auto& [name, selector] : rivals)
      if (std::ranges::any_of(pods, [&rival = *selector](const ScaledPod& scaled) {
            return rival.matches(scaled.pod->meta.labels);
          }))
        names.push_back(name);
    if (names.empty()) return false;
    names.push_back(autoscaler_.meta.name);
    std::sort(names.begin(), names.end());
    std::string listed;
    for (const std::string& name : names)
      listed.append(listed.empty() ? "" : " ").append(autoscaler_.meta.ns).append("/").append(name);
    const std::string message =
        "pods by selector " + scale_.selector + " are controlled by multiple HPAs: [" + listed + "]";
    report_.set(kActive, false, "AmbiguousSelector", message, now_);
    tell(autoscaler_, kWarns, "AmbiguousSelector", message, report_);
    return true;
  }

  const View& view_;
  const Parsed& autoscaler_;
  const TargetScale& scale_;
  const Time now_;
  AutoscalerReport report_;
};

}  // namespace

void AutoscalerReport::set(std::string_view type, bool is_true, std::string_view why, std::string message,
                           Time now) {
  api::Condition condition;
  condition.type = type;
  condition.status = is_true ? "True" : "False";
  condition.reason = why;
  condition.message = std::move(message);
  condition.last_transition = now;
  workloads::set_condition(conditions, condition);
}

AutoscalerReport report_of(const Parsed& autoscaler) {
  const Json& status = autoscaler.status();
  AutoscalerReport report;
  report.conditions = Json(status.items_at("conditions"));
  report.current = status.int_at("currentReplicas");
  report.desired = status.int_at("desiredReplicas");
  report.last_scale_time = status.string_at("lastScaleTime");
  return report;
}

void note_unreadable(const Parsed& autoscaler, const std::string& why, Time now, AutoscalerReport& report) {
  report.current_metrics = autoscaler.status().items_at("currentMetrics");
  report.set(kAble, false, "FailedGetScale",
             "the HPA controller was unable to get the target's current scale: " + why, now);
  tell(autoscaler, kWarns, "FailedGetScale", why, report);
}

void note_not_changed(const Parsed& autoscaler, const std::string& why, Time now, AutoscalerReport& report) {
  report.set(kAble, false, "FailedUpdateScale",
             "the HPA controller was unable to update the target scale: " + why, now);
  tell(autoscaler, kWarns, "FailedRescale",
       "New size: " + std::to_string(report.desired) + "; reason: " + report.reason + "; error: " + why,
       report);
  report.desired = autoscaler.status().int_at("desiredReplicas");
}

void note_changed(const Parsed& autoscaler, Time now, ScalingHistory& history, AutoscalerReport& report) {
  report.set(kAble, true, "SucceededRescale",
             "the HPA controller was able to update the target scale to " + std::to_string(report.desired),
             now);
  tell(autoscaler, !kWarns, "SuccessfulRescale",
       "New size: " + std::to_string(report.desired) + "; reason: " + report.reason, report);
  report.last_scale_time = format_time(now);
  history.note_scaled(report.current, report.desired, now);
}

std::optional<api::LabelSelector> selector_of(const Parsed& autoscaler, const TargetScale& scale, Time now,
                                              AutoscalerReport& report) {
  if (scale.selector.empty()) {
    report.set(kActive, false, "InvalidSelector", "the HPA target's scale is missing a selector", now);
    tell(autoscaler, kWarns, "SelectorRequired", "selector is required", report);
    return std::nullopt;
  }
  Result<api::LabelSelector> selector = api::LabelSelector::parse(scale.selector);
  if (selector) return *std::move(selector);
  const std::string message = "couldn't convert selector into a corresponding internal selector object: " +
                              selector.error().message();
  report.set(kActive, false, "InvalidSelector", message, now);
  tell(autoscaler, kWarns, "InvalidSelector", message, report);
  return std::nullopt;
}

AutoscalerReport decide_scale(const View& view, const Parsed& autoscaler, const TargetScale& scale,
                              const RivalSelectors& rivals, ScalingHistory& history, Time now) {
  return ScaleDecision(view, autoscaler, scale, now).go(rivals, history);
}

std::optional<client::Write> report_write(const Parsed& autoscaler, const AutoscalerReport& report) {
  JsonObject status;
  status.append("observedGeneration", autoscaler.meta.generation);
  if (!report.last_scale_time.empty()) status.append("lastScaleTime", report.last_scale_time);
  status.append("currentReplicas", workloads::unless_zero(report.current));
  status.append("desiredReplicas", report.desired);
  status.append("currentMetrics", report.current_metrics);
  status.append("conditions", report.conditions);
  return workloads::status_write(autoscaler, status);
}

}  // namespace berth::controllers
