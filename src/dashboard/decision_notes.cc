#include "dashboard/decision_notes.h"

#include <utility>

#include "base/utf8.h"

namespace berth::dashboard {
namespace {

std::string beginning_of(std::string_view text) {
  if (text.size() <= kTextBytesMax) return std::string(text);
  return std::string(text.substr(0, cut_offset(text, kTextBytesMax))) + "…";
}

std::string key_of(const Owner& of) {
  return std::string(name_of(of.kind)) + "/" + of.ns + "/" + of.name;
}

// Whom the line is about. It says Pod, Group or CompositeGroup.
Owner subject_of(const Json& line) {
  Owner subject = owner_named(line);
  for (const auto kind :
       {placement::EntityKind::Pod, placement::EntityKind::Group, placement::EntityKind::CompositeGroup})
    if (line.string_at("kind") == scheduling::name_of(scheduling::kind_of({.kind = kind})))
      subject.kind = kind_of(kind);
  return subject;
}

// What a page shows of the line.
Json refusal_in(const Json& line) {
  Json refusal = Json::object({{"decided", line.string_at("time")},
                               {"reason", line.string_at("reason")},
                               {"sentence", explain::sentence_in(line)},
                               {"explanation", line.string_at("explanation")}});
  if (const Json* refused = line.find("refused")) refusal["refused"] = *refused;
  return refusal;
}

}  // namespace

void DecisionNotes::add(std::string_view line) {
  const std::lock_guard lock(mutex_);
  unread_bytes_ += line.size();
  unread_.emplace_back(line);
  while (unread_.size() > kUnreadLinesMax || (unread_bytes_ > kUnreadBytesMax && unread_.size() > 1)) {
    unread_bytes_ -= unread_.front().size();
    unread_.pop_front();
    ++dropped_;
  }
}

void DecisionNotes::hold(scheduling::HeldRooms rooms) {
  const std::lock_guard lock(mutex_);
  unread_held_ = std::move(rooms);
}

void DecisionNotes::add_writes(const explain::WriteCounts& writes) {
  const std::lock_guard lock(mutex_);
  counted_writes_.accepted += writes.accepted;
  counted_writes_.failed += writes.failed;
}

void DecisionNotes::add_write_times(const client::WriteTimes& times) {
  const std::lock_guard lock(mutex_);
  counted_times_ += times;
}

bool DecisionNotes::read() {
  std::deque<std::string> lines;
  std::optional<scheduling::HeldRooms> held;
  {
    const std::lock_guard lock(mutex_);
    lines.swap(unread_);
    unread_bytes_ = 0;
    totals_.dropped = dropped_;
    held.swap(unread_held_);
    writes_ = counted_writes_;
    write_times_ = counted_times_;
  }
  const bool is_news = held || !lines.empty();
  if (held) held_ = *std::move(held);
  for (const std::string& text : lines)
    if (const Result<Json> line = parse_json(text)) note(*line);
  return is_news;
}

void DecisionNotes::note(const Json& line) {
  const Owner of = subject_of(line);
  const std::string_view result = line.string_at("result");
  const bool placed = result == "Placed";
  ++(placed ? totals_.placed : totals_.refused);
  if (placed)
    forget(of);
  else
    refusals_.at(key_of(of)) = refusal_in(line);
  if (latest_.size() == kLatestDecisionsMax) latest_.pop_back();
  const std::string_view own = line.string_at("explanation");
  latest_.push_front(Json::object({{"time", line.string_at("time")},
                                   {"kind", name_of(of.kind)},
                                   {"namespace", of.ns},
                                   {"name", of.name},
                                   {"result", result},
                                   {"pods", static_cast<std::int64_t>(line.items_at("placed").size())},
                                   {"text", beginning_of(own.empty() ? line.string_at("message") : own)}}));
  if (new_.size() < kNewDecisionsMax) new_.push_back(latest_.front());
}

const Json* DecisionNotes::refusal_of(const Owner& of) const {
  const Json* known = refusals_.find(key_of(of));
  return !known || known->is_null() ? nullptr : known;
}

void DecisionNotes::forget(const Owner& of) {
  if (Json* known = refusals_.find(key_of(of))) *known = Json();
}

std::vector<Json> DecisionNotes::take_new() {
  return std::exchange(new_, {});
}

Json DecisionNotes::latest() const {
  return JsonArray(latest_.begin(), latest_.end());
}

}  // namespace berth::dashboard
