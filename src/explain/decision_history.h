// The latest decisions by pod and group: the page that `berth explain` reads.
//
// Thread-safe: the scheduler's thread writes, server threads read. Cost: a decision is written as one line of
// JSON, a few microseconds; a query walks the stored lines.
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

inline constexpr std::size_t kDecisionsKeptMax = 16384;     // of all pods and groups
inline constexpr std::size_t kDecisionBytesMax = 8u << 20;  // of their lines; the latest one is always kept
inline constexpr std::size_t kDecisionsAnsweredMax = 8;     // of one
inline constexpr std::size_t kGatesKeptMax = 16384;         // further ones are not stored

class DecisionHistory final : public scheduling::DecisionLog {
 public:
  // `sink` (or null) receives every line and outlives the history.
  explicit DecisionHistory(DecisionSink* sink) : sink_(sink) {}

  void append(scheduling::DecisionRecord record) override;
  void gated(scheduling::GateRecord record) override;
  // On the scheduler's thread, between decisions.
  void flush();
  // Adds lines of a decision log, oldest first, before the known ones; lines that are no decision are
  // skipped.
  void remember(std::string_view lines);

  // {"decisions":[the latest first],"attempts":3,"gate":{"time":…,"why":…}}; attempts and gate only where
  // they exist. Without decisions of earlier objects of that name, as far as their UIDs are known.
  std::string about(scheduling::DecisionKind kind, std::string_view ns, std::string_view name) const;

 private:
  using Key = std::tuple<scheduling::DecisionKind, std::string, std::string>;  // namespace, name
  struct RecordedDecision {
    Key key;
    std::string uid;  // empty: not known
    std::string line;
  };

  void forget_oldest();

  DecisionSink* const sink_;
  mutable std::mutex mutex_;
  std::deque<RecordedDecision> kept_;
  std::size_t bytes_ = 0;                        // of the lines in kept_
  std::map<Key, scheduling::GateRecord> gates_;  // of entities without a later decision
};

// "/berth/v1alpha1/decisions/pods/NAMESPACE/NAME", or podgroups or compositepodgroups: the path of its page.
std::string decision_path(scheduling::DecisionKind kind, std::string_view ns, std::string_view name);
// The page at `path`; none for a path that is not a decision page's.
std::optional<std::string> decision_page(const DecisionHistory& history, std::string_view path);

}  // namespace berth::explain
