// The append-only record of decisions: what `explain`, replay and the dashboard read.
//
// Owner: the one who injects the sink; the scheduler only appends. Records hold no pointers into the
// cluster.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/time.h"
#include "placement/refusal/refusal.h"
#include "scheduling/defragmentation_figures.h"
#include "scheduling/preemption_figures.h"

namespace berth::scheduling {

using placement::DecisionResult;
using placement::kDecisionResultCount;

enum class DecisionKind : std::uint8_t { Pod, Group, CompositeGroup };

std::string_view name_of(DecisionKind kind);
DecisionKind kind_of(const placement::EntityKey& key);

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
  std::vector<PlacedPod> placed = {};
  placement::RefusalPtr refusal = nullptr;  // null: all of it is placed, or the decision is Undone
  std::uint64_t inputs_digest = 0;
  std::string uid = {};        // of the pod or group: another may have its name later; empty: not known
  std::uint32_t attempts = 0;  // with this one
  bool swept = false;          // tried because it waited for long: placed, it had missed a change
  std::string parent = {};  // of a group of a tree, whose decision this is a part of: its CompositePodGroup
};

// Of the condition and its event: Kubernetes' sentence, then ours.
std::string message_of(const DecisionRecord& record);

// Why a pod or a group is not tried.
struct GateRecord {
  Time time;
  DecisionKind kind = DecisionKind::Pod;
  std::string ns;
  std::string name;
  placement::GateReason gate;
};

// A repaired difference between the model and the live objects: a defect of this program.
struct RepairRecord {
  Time time;
  std::string row;
  std::string was;
  std::string is;
};

class DecisionLog {
 public:
  virtual ~DecisionLog() = default;
  virtual void append(DecisionRecord record) = 0;
  // Called each time the pod or the group is evaluated and still gated.
  virtual void gated(GateRecord) {}
  virtual void repaired(const RepairRecord&) {}
  virtual void defragmented(const DefragmentationRecord&) {}
};

// Counts decisions by their result, and passes them on. One thread.
// Of scheduler_pod_scheduling_attempts. Source: kube-scheduler.
inline constexpr std::array<double, 5> kAttemptBounds = {1, 2, 4, 8, 16};

class DecisionCounts : public DecisionLog {
 public:
  void append(DecisionRecord record) override;
  void gated(GateRecord record) override {
    if (next_) next_->gated(std::move(record));
  }
  void repaired(const RepairRecord& record) override {
    ++repairs_;
    if (next_) next_->repaired(record);
  }
  void defragmented(const DefragmentationRecord& record) override {
    defragmentation_.count(record);
    if (next_) next_->defragmented(record);
  }
  // `next` receives every record and outlives this. Null: none.
  void pass_on_to(DecisionLog* next) { next_ = next; }
  std::uint64_t count(DecisionResult result) const { return counts_[static_cast<std::size_t>(result)]; }
  std::uint64_t repairs() const { return repairs_; }
  const PreemptionFigures& preemptions() const { return preemptions_; }
  const DefragmentationFigures& defragmentation() const { return defragmentation_; }
  // Entries that the sweep let out and that were placed then: each a lost wake-up.
  std::uint64_t flush_found() const { return flush_found_; }
  // Of each pod that was placed.
  const Histogram& attempts() const { return attempts_; }

 private:
  std::array<std::uint64_t, kDecisionResultCount> counts_{};
  std::uint64_t repairs_ = 0, flush_found_ = 0;
  Histogram attempts_{kAttemptBounds};
  PreemptionFigures preemptions_;
  DefragmentationFigures defragmentation_;
  DecisionLog* next_ = nullptr;
};

}  // namespace berth::scheduling
