#include "health/node_reports.h"

#include "api/serialized.h"

namespace berth::health {
namespace {

bool same_devices(const HealthSnapshot& a, const HealthSnapshot& b) {
  if (a.drivers.size() != b.drivers.size()) return false;
  auto other = b.drivers.begin();
  for (const auto& [driver, health] : a.drivers) {
    if (driver != other->first || health.devices != other->second.devices) return false;
    ++other;
  }
  return true;
}

}  // namespace

void NodeReports::note(const client::Delta& delta) {
  const api::AnyObject* after = client::object_of<api::AnyObject>(delta.after);
  pending_[delta.key.name] = after && !after->meta.deleting() ? after->raw : nullptr;
}

void NodeReports::refresh(Time now) {
  for (const auto& [node, raw] : std::exchange(pending_, {})) {
    const Result<Json> object = raw ? api::parse_object(*raw) : Result<Json>(Json());
    if (!raw || !object) {
      reports_.erase(node);
      shown_.erase(node);
      continue;
    }
    Report& report = reports_[node];
    HealthFeed::Snapshot told = snapshot_of(read_report(*object));
    if (!report.told || !same_devices(*report.told, *told)) report.told = std::move(told);
    report.seen_at = now;
    report.silent = false;
    shown_[node] = report.told;
  }
  for (auto& [node, report] : reports_) {
    if (report.silent || now < report.seen_at + kReportSilenceMax) continue;
    report.silent = true;
    shown_[node] = forgotten(*report.told, "the node agent has not reported for more than " +
                                               std::to_string(kReportSilenceMax.whole_seconds()) + "s");
  }
}

std::optional<Time> NodeReports::next_wake() const {
  std::optional<Time> next;
  for (const auto& [node, report] : reports_)
    if (!report.silent && (!next || report.seen_at + kReportSilenceMax < *next))
      next = report.seen_at + kReportSilenceMax;
  return next;
}

}  // namespace berth::health
