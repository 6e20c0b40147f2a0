#include "dashboard/board.h"

#include <algorithm>
#include <utility>

#include "api/types/node_device_health.h"
#include "dashboard/frames.h"
#include "dashboard/group_list.h"
#include "dashboard/reservations_page.h"
#include "dashboard/room_page.h"

namespace berth::dashboard {
namespace {

bool is_due(Time at, Time now) {
  return !at.is_set() || at <= now;
}

}  // namespace

Board::Board(Publisher& publisher, DecisionNotes& notes, HistorySink& history,
             std::vector<std::string> schedulers)
    : publisher_(publisher), notes_(notes), schedulers_(std::move(schedulers)), recorder_(history) {}

std::vector<client::Interest> Board::interests() const {
  std::vector<client::Interest> interests;
  for (const api::Kind kind : {api::Kind::Node, api::Kind::Pod, api::Kind::ResourceSlice,
                               api::Kind::ResourceClaim, api::Kind::PodGroup, api::Kind::CompositePodGroup,
                               api::Kind::Topology, api::Kind::BindRequest, api::Kind::DeviceTaintRule})
    interests.push_back({.kind = kind});
  interests.push_back({.kind = api::Kind::Other, .resource = api::node_device_health_resource()});
  return interests;
}

void Board::apply(const client::View& view, const client::Delta& delta, Time now) {
  if (delta.key.kind == api::Kind::Other) return reports_.note(delta);  // most only renew a report
  if (delta.key.kind == api::Kind::Pod) note_pod(delta, now);
  if (!delta.after) forget(delta.key);
  floor_.apply(view, delta);
  changed_ = floor_changed_ = health_changed_ = true;
}

void Board::forget(const api::ObjectKey& gone) {
  switch (gone.kind) {
    case api::Kind::Pod:
      return notes_.forget({OwnerKind::Pod, gone.ns, gone.name});
    case api::Kind::PodGroup:
      return notes_.forget({OwnerKind::PodGroup, gone.ns, gone.name});
    case api::Kind::CompositePodGroup:
      return notes_.forget({OwnerKind::CompositePodGroup, gone.ns, gone.name});
    default:
      return;
  }
}

void Board::note_pod(const client::Delta& delta, Time now) {
  const auto *before = client::object_of<api::Pod>(delta.before),
             *after = client::object_of<api::Pod>(delta.after);
  const client::NamedKey key{delta.key.ns, delta.key.name};
  if (after && waits(*after, schedulers_))
    pending_.insert(key);
  else
    pending_.erase(key);
  if (after) health_.note_pod(before, *after, now);
  if (before && after && !before->bound() && after->bound()) ++bound_;
}

client::Effects Board::decide(const client::View& view, Time now) {
  const bool second_ends = is_due(next_second_, now);
  if (second_ends) {
    note_reads(now);
    note_reports(now);
  }
  if (is_due(next_delta_, now)) {
    note_decisions(view, now);  // before the changes that follow from them
    publish_floor(view, now);
    next_delta_ = now + period(kDeltaPeriod, now);
  }
  if (second_ends) {
    note_decisions(view, now);
    note_second(now);
    next_second_ = now + kPagePeriod;
  }
  if (is_due(next_pages_, now)) {
    publish_pages(view, now);
    next_pages_ = now + period(kPagePeriod, now);
  }
  client::Effects effects;
  effects.wake_at = next_second_;
  if (floor_changed_) effects.wake_at = std::min(*effects.wake_at, next_delta_);
  if (changed_) effects.wake_at = std::min(*effects.wake_at, next_pages_);
  return effects;
}

Duration Board::period(Duration while_read, Time now) const {
  return now < read_until_ ? while_read : kUnreadPeriod;
}

// Whoever begins to read finds the floor and the pages of now.
void Board::note_reads(Time now) {
  if (!publisher_.take_reads()) return;
  if (is_due(read_until_, now)) next_delta_ = next_pages_ = Time();
  read_until_ = now + kUnreadPeriod;
}

void Board::note_reports(Time now) {
  reports_.refresh(now);
  if (floor_.put_reports(reports_.all())) changed_ = floor_changed_ = health_changed_ = true;
}

// What is counted whether or not anybody reads.
void Board::note_second(Time now) {
  recorder_.note_second(floor_, now);
  pace_.sample({notes_.totals(), bound_, notes_.writes(), notes_.write_times()}, pending_.size(), now);
  if (std::exchange(health_changed_, false)) health_.note(floor_, now);
}

void Board::note_decisions(const client::View& view, Time now) {
  changed_ |= notes_.read();
  for (Json& decision : notes_.take_new()) {
    const Owner root = root_of(view, owner_named(decision));
    recorder_.note_decision(std::move(decision), root, now);
  }
}

void Board::publish_floor(const client::View& view, Time now) {
  floor_changed_ = false;
  const bool new_layout = floor_.refresh(view);
  const Floor::Changes changes = floor_.take_changes();
  if (!new_layout && changes.runs.empty() && changes.owners.empty()) return;
  recorder_.note_floor(floor_, changes, new_layout, now);
  health_changed_ = true;
  ++version_;
  publisher_.put("floor/cells", floor_frame(floor_, version_));
  if (new_layout) {
    publisher_.put("floor", to_string(floor_.layout().to_json(floor_.layout_version())));
    publisher_.tell("layout", "{}");
  } else {
    publisher_.tell("floor", to_string(floor_delta(floor_, changes, version_)));
  }
}

void Board::publish_pages(const client::View& view, Time now) {
  publisher_.put("pace", to_string(pace_.page(notes_)));
  if (!std::exchange(changed_, false)) return publisher_.tell("tick", "{}");
  const Json waiting = waiting_page(view, pending_, notes_, now);
  recorder_.note_queue(waiting);
  publisher_.put("waiting", to_string(waiting));
  publisher_.put("groups", to_string(groups_page(view, floor_.layout())));
  publisher_.put("room", to_string(room_page(floor_)));
  publisher_.put("reservations", to_string(reservations_page(notes_.held_rooms(), floor_.layout())));
  publisher_.put("health", to_string(health_.page(view, floor_)));
  publisher_.tell("pages", "{}");
}

}  // namespace berth::dashboard
