// Counts of admission webhooks: calls, refusals, failures that were ignored.
//
// Thread-safe. Names and labels are those of kube-apiserver 1.37 (pkg/admission/metrics).
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <tuple>

#include "admission/webhook.h"
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

class AdmissionMetrics {
 public:
  void observe(const admission::Webhook& webhook, const CallRecord& call);
  void write(MetricsText& text) const;

 private:
  using Labels = std::tuple<std::string, std::string, std::string, std::string, std::string>;

  mutable std::mutex mutex_;
  std::map<Labels, std::uint64_t> requests_;     // name, type, operation, code, rejected
  std::map<Labels, std::uint64_t> rejections_;   // name, type, operation, error type, code
  std::map<Labels, std::uint64_t> failed_open_;  // name, type
  std::map<Labels, Histogram> durations_;        // name, type, operation, rejected
};

}  // namespace berth::server
