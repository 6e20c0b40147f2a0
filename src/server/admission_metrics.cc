#include "server/admission_metrics.h"

#include <algorithm>

#include "api/metric_table.h"

namespace berth::server {
namespace {

constexpr int kCodeMax = 600;
constexpr double kSecondsBounds[] = {0.005, 0.025, 0.1, 0.5, 1.0, 2.5, 10, 25};
constexpr double kCheckSecondsBounds[] = {0.0000005, 0.001, 0.01, 0.1, 1.0};

std::string_view error_type(Refusal refusal) {
  switch (refusal) {
    case Refusal::CallFailed:
      return "calling_webhook_error";
    case Refusal::Internal:
      return "apiserver_internal_error";
    default:
      return "no_error";
  }
}

// The row's value; null when there are too many rows.
template <class Map, class Key, class... Made>
auto* row_of(Map& rows, Key key, Made&&... made) {
  const bool has_room = rows.size() < kAdmissionRowsMax || rows.contains(key);
  return has_room ? &rows.try_emplace(std::move(key), std::forward<Made>(made)...).first->second : nullptr;
}

}  // namespace

void AdmissionMetrics::observe(const admission::Webhook& webhook, const CallRecord& call) {
  const std::string type(metric_type(webhook.phase)), operation(name_of(call.operation));
  const std::string rejected = call.refusal == Refusal::None ? "false" : "true";
  const std::string code = std::to_string(std::min(call.code, kCodeMax));
  const std::lock_guard lock(mutex_);
  if (std::uint64_t* count = row_of(requests_, Labels{webhook.name, type, operation, code, rejected}))
    ++*count;
  if (Histogram* seconds = row_of(durations_, Labels{webhook.name, type, operation, rejected, ""},
                                  std::span<const double>(kSecondsBounds)))
    seconds->observe(call.elapsed.seconds_f());
  if (call.refusal != Refusal::None) {
    const std::string error(error_type(call.refusal));
    if (std::uint64_t* count = row_of(rejections_, Labels{webhook.name, type, operation, error, code}))
      ++*count;
  }
  if (call.failed_open)
    if (std::uint64_t* count = row_of(failed_open_, Labels{webhook.name, type, "", "", ""})) ++*count;
}

void AdmissionMetrics::observe(const PolicyCheck& check) {
  const std::lock_guard lock(mutex_);
  auto& rows = check.phase == admission::Phase::Mutating ? mutations_ : checks_;
  if (Histogram* seconds =
          row_of(rows, Labels{check.policy, check.binding, check.error_type, check.action, ""},
                 std::span<const double>(kCheckSecondsBounds)))
    seconds->observe(check.elapsed.seconds_f());
}

void AdmissionMetrics::write(MetricsText& text) const {
  const std::lock_guard lock(mutex_);
  const auto write_all = [&](api::Metric metric, const std::map<Labels, std::uint64_t>& rows) {
    text.family(api::family_of(metric));
    for (const auto& [labels, count] : rows) {
      const auto& [a, b, c, d, e] = labels;
      text.sample({a, b, c, d, e}, count);
    }
  };
  write_all(api::Metric::WebhookRequests, requests_);
  write_all(api::Metric::WebhookRejections, rejections_);
  text.family(api::family_of(api::Metric::WebhookFailOpen));
  for (const auto& [labels, count] : failed_open_)
    text.sample({std::get<0>(labels), std::get<1>(labels)}, count);
  text.family(api::family_of(api::Metric::WebhookDuration));
  for (const auto& [labels, seconds] : durations_)
    text.histogram({std::get<0>(labels), std::get<1>(labels), std::get<2>(labels), std::get<3>(labels)},
                   seconds);
  text.family(api::family_of(api::Metric::MutatingPolicyChecks));
  for (const auto& [labels, seconds] : mutations_)
    text.sample({std::get<0>(labels), std::get<1>(labels), std::get<2>(labels)}, seconds.count());
  text.family(api::family_of(api::Metric::MutatingPolicyDuration));
  for (const auto& [labels, seconds] : mutations_)
    text.histogram({std::get<0>(labels), std::get<1>(labels), std::get<2>(labels)}, seconds);
  text.family(api::family_of(api::Metric::ValidatingPolicyChecks));
  for (const auto& [labels, seconds] : checks_)
    text.sample({std::get<0>(labels), std::get<1>(labels), std::get<2>(labels), std::get<3>(labels)},
                seconds.count());
  text.family(api::family_of(api::Metric::ValidatingPolicyDuration));
  for (const auto& [labels, seconds] : checks_)
    text.histogram({std::get<0>(labels), std::get<1>(labels), std::get<2>(labels), std::get<3>(labels)},
                   seconds);
}

}  // namespace berth::server
