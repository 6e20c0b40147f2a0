#include "dashboard/recorder.h"

#include <algorithm>
#include <utility>

#include "dashboard/frames.h"

namespace berth::dashboard {
namespace {

constexpr std::size_t kKeyframesOfASegmentMin = 4;
constexpr std::string_view kPlaced = "Placed";
constexpr std::int64_t kMicrosPerMilli = 1000, kMicrosPerSecond = 1'000'000;

void count_cells(const Floor& floor, HistorySample& sums) {
  sums.cells = sums_of(floor.cells());
  sums.ill = floor.ill_sums();
}

Json floor_owners(const Floor& floor, const std::vector<OwnerId>& ids) {
  JsonArray rows;
  for (const OwnerId id : ids) rows.push_back(owner_row(id, floor.owners().at(id)));
  return rows;
}

Json queue_entry(const Json& waiting) {
  Json entry = Json::object();
  for (const std::string_view field : {"kind", "namespace", "name", "since", "pods", "devices", "state"})
    entry[field] = waiting.part(field);
  const JsonArray& refused = waiting.items_at("refused");
  entry["reason"] = refused.empty() ? waiting.string_at("reason") : refused.front().string_at("reason");
  return entry;
}

Json queue_entries(const std::map<Owner, Json>& queue) {
  JsonArray entries;
  for (const auto& [of, entry] : queue) entries.push_back(entry);
  return entries;
}

}  // namespace

void Recorder::write(Json line, Time now) {
  sums_.ms = now.micros() / kMicrosPerMilli;
  Json stamped = Json::object({{"time", sums_.ms}});
  for (auto& [field, value] : line.as_object()) stamped[field] = std::move(value);
  stamped["sums"] = to_json(sums_);
  const bool keyframe = stamped.find("layout") != nullptr;
  const bool begins = keyframe && is_full();
  if (begins && begins_) stamped["starts"] = true;
  const std::string text = to_string(stamped);
  if (begins) {
    sink_.begin(text, sums_, std::exchange(begins_, false));
    segment_bytes_ = 0;
  } else {
    sink_.add(text, sums_);
  }
  segment_bytes_ += text.size();
  if (keyframe) keyframe_bytes_ = text.size();
  next_heartbeat_ = now + kHeartbeat;
}

bool Recorder::is_full() const {
  return begins_ || segment_bytes_ >= std::max(kSegmentBytesMax, kKeyframesOfASegmentMin * keyframe_bytes_);
}

void Recorder::write_keyframe(const Floor& floor, Time now) {
  is_behind_ = false;
  recorded_queue_ = queue_;
  recorded_total_ = sums_.waiting = total_;
  count_cells(floor, sums_);
  write(Json::object({{"layout", floor.layout().to_json(floor.layout_version())},
                      {"runs", runs_json(floor.all_runs())},
                      {"owners", floor_owners(floor, floor.owners().all())},
                      {"queue", Json::object({{"total", total_}, {"entries", queue_entries(queue_)}})}}),
        now);
  const auto bytes = static_cast<std::int64_t>(keyframe_bytes_);
  next_keyframe_ = now + Duration::micros(bytes * kMicrosPerSecond / kKeyframeBytesPerSecondMax);
}

void Recorder::note_floor(const Floor& floor, const Floor::Changes& changes, bool new_layout, Time now) {
  is_behind_ |= new_layout;
  if (is_behind_) {
    if (!next_keyframe_.is_set() || next_keyframe_ <= now) write_keyframe(floor, now);
    return;
  }
  if (changes.runs.empty() && changes.owners.empty()) return;
  if (is_full()) return write_keyframe(floor, now);
  count_cells(floor, sums_);
  write(Json::object({{"runs", runs_json(changes.runs)}, {"owners", floor_owners(floor, changes.owners)}}),
        now);
}

void Recorder::note_queue(const Json& waiting) {
  total_ = waiting.int_at("total");
  queue_.clear();
  for (const Json& entry : waiting.items_at("entries"))
    queue_.emplace(owner_named(entry), queue_entry(entry));
}

Json Recorder::queue_changes() {
  JsonArray entries, gone;
  for (const auto& [of, entry] : queue_)
    if (const auto known = recorded_queue_.find(of); known == recorded_queue_.end() || known->second != entry)
      entries.push_back(entry);
  for (const auto& [of, entry] : recorded_queue_)
    if (!queue_.contains(of)) gone.push_back(Json::array({name_of(of.kind), of.ns, of.name}));
  if (entries.empty() && gone.empty() && total_ == recorded_total_) return nullptr;
  recorded_queue_ = queue_;
  recorded_total_ = sums_.waiting = total_;
  return Json::object({{"total", total_}, {"entries", std::move(entries)}, {"gone", std::move(gone)}});
}

void Recorder::note_decision(Json decision, const Owner& owner, Time now) {
  if (begins_) return;  // no segment has begun
  const std::string subject = std::string(decision.string_at("kind")) + "/" +
                              std::string(decision.string_at("namespace")) + "/" +
                              std::string(decision.string_at("name"));
  const std::string said =
      std::string(decision.string_at("result")) + std::string(decision.string_at("text"));
  if (std::exchange(said_.at(subject), said) == said && decision.string_at("result") != kPlaced) return;
  decision["owner"] = to_json(owner);
  write(Json::object({{"decision", std::move(decision)}}), now);
}

void Recorder::note_second(const Floor& floor, Time now) {
  if (is_behind_) {
    if (floor.layout_version() > 0 && (!next_keyframe_.is_set() || next_keyframe_ <= now))
      write_keyframe(floor, now);
    return;
  }
  if (is_full()) return write_keyframe(floor, now);
  if (Json changes = queue_changes(); !changes.is_null())
    write(Json::object({{"queue", std::move(changes)}}), now);
  else if (next_heartbeat_ <= now)
    write(Json::object(), now);
}

}  // namespace berth::dashboard
