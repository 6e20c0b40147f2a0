// The number of requests that an API server has served, as metrics.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <tuple>

#include "base/metrics.h"
#include "server/api_server.h"

namespace berth::cli {

// Rows of one scrape; further ones are not counted.
inline constexpr std::size_t kRequestRowsMax = 4096;

// Thread-safe.
class RequestCounts {
 public:
  void count(const server::AuditRecord& record);
  void write_metrics(MetricsText& text) const;

 private:
  using Row = std::tuple<std::string, std::string, int>;  // resource as in the audit log, verb, code
  mutable std::mutex mutex_;
  std::map<Row, std::uint64_t> rows_;
};

}  // namespace berth::cli
