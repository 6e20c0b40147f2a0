#include "dashboard/decision_notes.h"

namespace berth::dashboard {
namespace {

OwnerKind kind_named(std::string_view name) {
  for (const OwnerKind kind : {OwnerKind::PodGroup, OwnerKind::CompositePodGroup})
    if (name_of(kind) == name) return kind;
  return OwnerKind::Pod;
}

// Without a part of a character at its end.
std::string beginning_of(std::string_view text) {
  if (text.size() <= kTextBytesMax) return std::string(text);
  std::size_t end = kTextBytesMax;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return std::string(text.substr(0, end)) + "…";
}

}  // namespace

void DecisionNotes::add(std::string_view line) {
  const std::lock_guard lock(mutex_);
  if (unread_.size() == kUnreadLinesMax) {
    unread_.pop_front();
    ++dropped_;
  }
  unread_.emplace_back(line);
}

bool DecisionNotes::read() {
  std::deque<std::string> lines;
  {
    const std::lock_guard lock(mutex_);
    lines.swap(unread_);
    totals_.dropped = dropped_;
  }
  for (const std::string& text : lines)
    if (const Result<Json> line = parse_json(text)) note(*line);
  return !lines.empty();
}

void DecisionNotes::note(const Json& line) {
  const Owner of{kind_named(line.string_at("kind")), std::string(line.string_at("namespace")),
                 std::string(line.string_at("name"))};
  const std::string_view result = line.string_at("result");
  const bool placed = result == "Placed";
  ++(placed ? totals_.placed : totals_.refused);
  if (placed)
    refusals_.erase(of);
  else if (refusals_.size() < kRefusalsKeptMax || refusals_.contains(of))
    refusals_.insert_or_assign(of, line);
  if (latest_.size() == kLatestDecisionsMax) latest_.pop_back();
  const std::string_view own = line.string_at("explanation");
  latest_.push_front(Json::object({{"time", line.string_at("time")},
                                   {"kind", name_of(of.kind)},
                                   {"namespace", of.ns},
                                   {"name", of.name},
                                   {"result", result},
                                   {"pods", static_cast<std::int64_t>(line.items_at("placed").size())},
                                   {"text", beginning_of(own.empty() ? line.string_at("message") : own)}}));
}

const Json* DecisionNotes::refusal_of(const Owner& of) const {
  const auto known = refusals_.find(of);
  return known == refusals_.end() ? nullptr : &known->second;
}

Json DecisionNotes::latest() const {
  return JsonArray(latest_.begin(), latest_.end());
}

}  // namespace berth::dashboard
