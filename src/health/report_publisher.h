// Writes a node's NodeDeviceHealth: which request is due next.
//
// Owner: one thread. Pure: no I/O, no clock. Sends one request at a time. Writes only a report that changed,
// at most once in kReportPeriod, and renews it after kReportRenewPeriod: readers believe no report that is
// older than kReportSilenceMax. Safe when an answer is lost: every write says everything. An object that
// somebody deleted is made again; it is owned by the Node. `since` survives a restart, as it is read back.
#pragma once

#include <optional>
#include <string>

#include "client/api_client.h"
#include "health/node_report.h"

namespace berth::health {

inline constexpr Duration kReportPeriod = Duration::seconds(1);
inline constexpr Duration kReportBackoffBase = Duration::seconds(1),
                          kReportBackoffMax = Duration::seconds(60);

class ReportPublisher {
 public:
  explicit ReportPublisher(std::string node) : node_(std::move(node)) {}

  // The newest health of the node. `wall` dates what is new in it.
  void observe(const HealthSnapshot& health, Time wall);
  // Nothing while a request is under way, and when none is due. `now` is monotonic.
  std::optional<client::ApiRequest> next_request(Time wall, Time now);
  void answered(const client::ApiReply& reply, Time now);
  // When to ask again; nothing while a request is under way. Before any answer: at once.
  std::optional<Time> next_wake() const;
  // Whether the API server has a report of this process.
  bool published() const { return published_; }
  // The newest failure; empty after a success.
  const std::string& trouble() const { return trouble_; }

 private:
  enum class Step { ReadReport, ReadNode, Create, Write };
  client::ApiRequest request_for(Step step, Time wall) const;
  void adopt(const client::ApiReply& reply);
  void written(const client::ApiReply& reply, Time now);
  void failed(const client::ApiReply& reply, Time now);

  std::string node_;
  std::string node_uid_;
  Step step_ = Step::ReadReport;
  bool under_way_ = false, published_ = false;
  std::uint32_t failures_ = 0;
  std::optional<Time> retry_at_, written_at_;
  ReportedDevices devices_, remembered_;
  SilentDrivers silent_;
  Json wanted_ = report_spec({}, {}), sent_, accepted_;
  std::string trouble_;
};

}  // namespace berth::health
