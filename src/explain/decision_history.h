// The latest decisions by pod and group: the page that `berth explain` reads.
//
// Thread-safe: the scheduler's thread writes, servers ask. Cost: a decision is written as one line of JSON, a
// few microseconds; a question walks the lines that are kept.
#pragma once

#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>

#include "explain/decision_line.h"

namespace berth::explain {

inline constexpr std::size_t kDecisionsKeptMax = 16384;  // of all pods and groups
inline constexpr std::size_t kDecisionsAnsweredMax = 8;  // of one
inline constexpr std::size_t kGatesKeptMax = 16384;      // further ones are not remembered

class DecisionHistory final : public scheduling::DecisionLog {
 public:
  // `sink` (or null) gets every line and outlives the history.
  explicit DecisionHistory(DecisionSink* sink) : sink_(sink) {}

  void append(scheduling::DecisionRecord record) override;
  void gated(scheduling::GateRecord record) override;
  // On the scheduler's thread, between decisions.
  void flush();
  // Lines of a decision log, the oldest first, as older than what is known; what is no decision is left out.
  void remember(std::string_view lines);

  // {"decisions":[the latest first],"attempts":3,"gate":{"time":…,"why":…}}; attempts and gate where there
  // are any.
  std::string about(scheduling::DecisionKind kind, std::string_view ns, std::string_view name) const;

 private:
  using Key = std::tuple<scheduling::DecisionKind, std::string, std::string>;  // namespace, name
  struct RecordedDecision {
    Key key;
    std::string line;
  };

  DecisionSink* const sink_;
  mutable std::mutex mutex_;
  std::deque<RecordedDecision> kept_;
  std::map<Key, scheduling::GateRecord> gates_;  // of what was not decided since
};

// "/berth/v1alpha1/decisions/pods/NAMESPACE/NAME", or podgroups: where the page about it stands.
std::string decision_path(scheduling::DecisionKind kind, std::string_view ns, std::string_view name);
// The page at `path`; none when no decision page can stand there.
std::optional<std::string> decision_page(const DecisionHistory& history, std::string_view path);

}  // namespace berth::explain
