// Counts of admission: calls of webhooks, refusals, failures that were ignored; and what policies said.
//
// Thread-safe. Names and labels are those of kube-apiserver 1.37 (pkg/admission/metrics and the packages
// metrics of plugin/policy).
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <tuple>

#include "admission/policy.h"
#include "base/metrics.h"

namespace berth::server {

inline constexpr std::size_t kAdmissionRowsMax = 4096;  // of each metric; further ones are not counted

enum class Refusal : std::uint8_t { None, ByWebhook, CallFailed, Internal };

struct CallRecord {
  admission::Operation operation = admission::Operation::Create;
  Duration elapsed;
  int code = 200;
  Refusal refusal = Refusal::None;
  bool failed_open = false;
};

// One denial or failure of a validating policy, or one mutation.
struct PolicyCheck {
  admission::Phase phase = admission::Phase::Validating;
  std::string policy, binding;
  std::string_view error_type = admission::kNoPolicyError;
  std::string_view action = {};  // "deny", "warn", "audit", "allow"; a mutation has none
  Duration elapsed;              // of all expressions with one parameter, or of the mutation
};

class AdmissionMetrics {
 public:
  void observe(const admission::Webhook& webhook, const CallRecord& call);
  void observe(const PolicyCheck& check);
  void write(MetricsText& text) const;

 private:
  using Labels = std::tuple<std::string, std::string, std::string, std::string, std::string>;

  mutable std::mutex mutex_;
  std::map<Labels, std::uint64_t> requests_;     // name, type, operation, code, rejected
  std::map<Labels, std::uint64_t> rejections_;   // name, type, operation, error type, code
  std::map<Labels, std::uint64_t> failed_open_;  // name, type
  std::map<Labels, Histogram> durations_;        // name, type, operation, rejected
  // Of mutating and of validating policies: policy, binding, error type, action.
  std::map<Labels, Histogram> mutations_, checks_;
};

}  // namespace berth::server
