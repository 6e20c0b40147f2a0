// The decider behind the dashboard: follows the cluster, writes nothing to it, publishes pages and deltas,
// and records what happened.
//
// Owner: an engine of its own, so that no page costs the scheduler time. A change is published within
// kDeltaPeriod, a page within kPagePeriod; while nobody reads, both within kUnreadPeriod, and who begins to
// listen has all of it within kPagePeriod. Cost: O(what changed) and a frame of O(devices) a delta, O(devices
// + pods of groups + pods that wait) a page that changed.
#pragma once

#include <string>
#include <vector>

#include "client/decider.h"
#include "dashboard/floor.h"
#include "dashboard/health_page.h"
#include "dashboard/pace_page.h"
#include "dashboard/recorder.h"
#include "dashboard/waiting.h"
#include "health/node_reports.h"

namespace berth::dashboard {

inline constexpr Duration kDeltaPeriod = Duration::millis(150);
inline constexpr Duration kPagePeriod = Duration::seconds(1);
inline constexpr Duration kUnreadPeriod = Duration::seconds(2);  // also how long one read counts

// What the Board publishes; called on its thread.
class Publisher {
 public:
  virtual ~Publisher() = default;
  // The page replaces the last one of its name: floor, floor/cells, waiting, groups, room,
  // reservations, health, pace.
  virtual void put(std::string_view page, std::string text) = 0;
  // For those who listen: "layout" (the floor must be read again), "floor" (floor_delta()), "pages" (the
  // names of pages that changed), "tick".
  virtual void tell(std::string_view event, const std::string& json) = 0;
  // Whether anybody listens, or read a page since the last call.
  virtual bool take_reads() = 0;
};

class Board final : public client::StatefulDecider {
 public:
  // All outlive it. `schedulers`: whose pods count as waiting; empty: all.
  Board(Publisher& publisher, DecisionNotes& notes, HistorySink& history,
        std::vector<std::string> schedulers);

  std::string_view name() const override { return "dashboard"; }
  std::vector<client::Interest> interests() const override;
  void apply(const client::View& view, const client::Delta& delta, Time now) override;
  client::Effects decide(const client::View& view, Time now) override;
  void on_outcome(const client::View&, const client::Outcome&, Time) override {}

  const Floor& floor() const { return floor_; }

 private:
  void note_pod(const client::Delta& delta, Time now);
  void forget(const api::ObjectKey& gone);
  void note_reads(Time now);
  void note_second(Time now);
  void note_reports(Time now);
  void note_decisions(const client::View& view, Time now);
  void publish_floor(const client::View& view, Time now);
  void publish_pages(const client::View& view, Time now);
  Duration period(Duration while_read, Time now) const;

  Publisher& publisher_;
  DecisionNotes& notes_;
  const std::vector<std::string> schedulers_;
  Floor floor_;
  PendingPods pending_;
  HealthPage health_;
  health::NodeReports reports_;
  PacePage pace_;
  Recorder recorder_;
  std::uint64_t version_ = 0;
  std::uint64_t bound_ = 0;
  bool changed_ = true;         // since the pages were made
  bool floor_changed_ = true;   // since the floor was published
  bool health_changed_ = true;  // since health was looked at
  Time read_until_;             // not set: nobody has read yet
  Time next_second_, next_delta_, next_pages_;
};

}  // namespace berth::dashboard
