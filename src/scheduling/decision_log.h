// The append-only record of decisions: what `explain`, replay and the dashboard read.
//
// Owner: whoever injects the sink; the scheduler only appends. The records hold no pointers into the cluster.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "base/time.h"

namespace berth::scheduling {

enum class DecisionKind : std::uint8_t { Pod, Group };
enum class DecisionResult : std::uint8_t { Placed, Unschedulable, Error, Undone };
inline constexpr std::size_t kDecisionResultCount = 4;

std::string_view name_of(DecisionKind kind);
std::string_view name_of(DecisionResult result);

struct PlacedPod {
  std::string pod;
  std::string node;
  friend bool operator==(const PlacedPod&, const PlacedPod&) = default;
};

struct DecisionRecord {
  std::string id;
  Time time;
  DecisionKind kind = DecisionKind::Pod;
  std::string ns;
  std::string name;
  DecisionResult result = DecisionResult::Placed;
  std::string reason;   // of the condition: Unschedulable, SchedulerError, Scheduled
  std::string message;  // what the pod or the group was told
  std::vector<PlacedPod> placed;
  std::map<std::string, std::uint32_t> nodes_by_reason;
  std::uint64_t inputs_digest = 0;
};

class DecisionLog {
 public:
  virtual ~DecisionLog() = default;
  virtual void append(DecisionRecord record) = 0;
};

inline constexpr std::size_t kDecisionsKept = 4096;

// Keeps the latest kDecisionsKept records in memory, and counts all of them. One thread.
class DecisionRing final : public DecisionLog {
 public:
  void append(DecisionRecord record) override;
  // Hears of every record too; outlives the ring. Null: nobody.
  void pass_on_to(DecisionLog* next) { next_ = next; }
  const std::deque<DecisionRecord>& records() const { return records_; }
  // Null when it was never there or is no longer kept.
  const DecisionRecord* find(std::string_view id) const;
  std::uint64_t count(DecisionResult result) const { return counts_[static_cast<std::size_t>(result)]; }

 private:
  std::deque<DecisionRecord> records_;
  std::array<std::uint64_t, kDecisionResultCount> counts_{};
  DecisionLog* next_ = nullptr;
};

}  // namespace berth::scheduling
