#include "explain/decision_history.h"

#include <algorithm>

#include "base/json.h"
#include "placement/refusal/berth_words.h"

namespace berth::explain {
namespace {

using scheduling::DecisionKind;

constexpr std::string_view kDecisionPages = "/berth/v1alpha1/decisions/";

// The names of the pages for subjects of decisions.
struct Subject {
  std::string_view page;
  DecisionKind kind;
};
constexpr Subject kSubjects[] = {{"pods/", DecisionKind::Pod},
                                 {"podgroups/", DecisionKind::Group},
                                 {"compositepodgroups/", DecisionKind::CompositeGroup}};

// Of a line; of an earlier release it says Pod or Group.
DecisionKind kind_named(std::string_view name) {
  for (const Subject& subject : kSubjects)
    if (scheduling::name_of(subject.kind) == name) return subject.kind;
  return DecisionKind::Group;
}

}  // namespace

void DecisionHistory::append(scheduling::DecisionRecord record) {
  std::string line = decision_line(record), uid = std::move(record.uid);
  if (sink_) sink_->append(line);
  line.pop_back();
  line.shrink_to_fit();
  const std::lock_guard lock(mutex_);
  Key key{record.kind, std::move(record.ns), std::move(record.name)};
  gates_.erase(key);
  bytes_ += line.size();
  kept_.push_back({std::move(key), std::move(uid), std::move(line)});
  forget_oldest();
}

void DecisionHistory::forget_oldest() {
  while (kept_.size() > kDecisionsKeptMax || (bytes_ > kDecisionBytesMax && kept_.size() > 1)) {
    bytes_ -= kept_.front().line.size();
    kept_.pop_front();
  }
}

void DecisionHistory::gated(scheduling::GateRecord record) {
  const std::lock_guard lock(mutex_);
  const Key key{record.kind, record.ns, record.name};
  const auto found = gates_.find(key);
  if (found != gates_.end()) {
    // A repeated reason keeps its first time.
    found->second.gate = std::move(record.gate);
  } else if (gates_.size() < kGatesKeptMax) {
    gates_.emplace(key, std::move(record));
  }
}

void DecisionHistory::flush() {
  if (sink_) sink_->flush();
}

void DecisionHistory::remember(std::string_view lines) {
  const std::lock_guard lock(mutex_);
  while (!lines.empty() && kept_.size() < kDecisionsKeptMax && bytes_ < kDecisionBytesMax) {
    lines.remove_suffix(lines.back() == '\n' ? 1 : 0);
    const std::size_t begin = lines.rfind('\n') + 1;  // 0 where there is none
    const std::string_view line = lines.substr(begin);
    const Result<Json> read = parse_json(line);
    lines = lines.substr(0, begin);
    if (!read || read->string_at("id").empty()) continue;
    const DecisionKind kind = kind_named(read->string_at("kind"));
    bytes_ += line.size();
    kept_.push_front({Key(kind, read->string_at("namespace"), read->string_at("name")),
                      std::string(read->string_at("uid")), std::string(line)});
  }
  forget_oldest();
}

std::string DecisionHistory::about(DecisionKind kind, std::string_view ns, std::string_view name) const {
  const Key key{kind, std::string(ns), std::string(name)};
  const std::lock_guard lock(mutex_);
  std::string text = "{\"decisions\":[";
  std::size_t attempts = 0;
  std::string_view uid;  // of the latest decision that names one
  for (auto at = kept_.rbegin(); at != kept_.rend(); ++at) {
    if (at->key != key) continue;
    if (uid.empty()) uid = at->uid;
    if (!at->uid.empty() && at->uid != uid) break;
    if (++attempts > kDecisionsAnsweredMax) continue;
    text.append(attempts == 1 ? "" : ",").append(at->line);
  }
  text += "]";
  if (attempts > 0) text += ",\"attempts\":" + std::to_string(attempts);
  if (const auto gate = gates_.find(key); gate != gates_.end())
    text += ",\"gate\":" + to_string(Json::object({{"time", format_micro_time(gate->second.time)},
                                                   {"why", placement::gate_words(gate->second.gate)}}));
  return text + "}";
}

std::string decision_path(DecisionKind kind, std::string_view ns, std::string_view name) {
  const auto* subject = std::find_if(std::begin(kSubjects), std::end(kSubjects),
                                     [kind](const Subject& known) { return known.kind == kind; });
  std::string path(kDecisionPages);
  return path.append(subject->page).append(ns).append("/").append(name);
}

std::optional<std::string> decision_page(const DecisionHistory& history, std::string_view path) {
  if (!path.starts_with(kDecisionPages)) return std::nullopt;
  path.remove_prefix(kDecisionPages.size());
  for (const auto& [page, kind] : kSubjects) {
    if (!path.starts_with(page)) continue;
    path.remove_prefix(page.size());
    const std::size_t slash = path.find('/');
    if (slash == std::string_view::npos || slash + 1 == path.size()) return std::nullopt;
    return history.about(kind, path.substr(0, slash), path.substr(slash + 1));
  }
  return std::nullopt;
}

}  // namespace berth::explain
