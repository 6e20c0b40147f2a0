// One run of a script: what happens in it, and the question when something starts.
//
// Owner: simulate() and expected_start(), one thread; its parts are simulation.cc and start_question.cc.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "base/fnv.h"
#include "dra/cel_selectors.h"
#include "planning/planner.h"
#include "simulate/fragmentation_meter.h"
#include "simulate/simulation.h"
#include "simulate/stored_objects.h"

namespace berth::simulate {

using client::NamedKey;
using placement::EntityKey;
using placement::EntityKind;

struct SimulatedPod {
  NamedKey key;
  std::size_t unit = 0;               // in units
  std::vector<StoredObject> objects;  // itself and the claims made for it, as they arrive
  std::int64_t asked = 0;             // hundredths of GPUs
  std::int64_t held = 0;              // the same, while it runs
  std::string node;                   // empty: it waits
  Duration started;
  std::uint32_t starts = 0;
};

// What is decided as one.
struct Unit {
  const Arrival* arrival = nullptr;
  EntityKey key;
  std::vector<StoredObject> shared;  // groups and claims of all its pods
  std::vector<std::size_t> pods;
  placement::QueuedEntity queued;
  std::size_t waiting = 0, ended = 0;  // pods
  bool spans_counted = false;
};

// A node that has failed, until the last of its failures ends.
struct AwayNode {
  std::vector<StoredObject> objects;
  std::size_t failures = 0;
};

// FirstEnd: of a pod that runs at the start.
enum class EventKind : std::uint8_t { End, FirstEnd, Repair, Failure, Arrival };
struct SimulatedEvent {
  Duration at;
  EventKind kind;
  std::size_t subject;       // a pod, one that runs at the start, a failure or a unit
  std::uint32_t starts = 0;  // of the pod that ends: another start has its own end
  friend bool operator>(const SimulatedEvent& a, const SimulatedEvent& b) {
    return std::tie(a.at, a.kind, a.subject, a.starts) > std::tie(b.at, b.kind, b.subject, b.starts);
  }
};

class Simulation {
 public:
  Simulation(const Script& script, const planning::PlanOptions& options)
      : script_(script), options_(options) {}

  Status load();
  RunResult run();
  // Instead of run().
  Result<StartAnswer> start_of(const std::string& name);

 private:
  Status take_out(const Arrival& arrival);
  Status take_pod_out(const NamedKey& key, Unit& unit);
  planning::Turn turn_of(const EntityKey& key) const {
    return planning::turn_of(offline_->view(), offline_->cluster(), key);
  }
  std::vector<StoredObject> take(const api::ObjectKey& key) { return take_stored(*offline_, key); }
  void put(const StoredObject& stored) { put_stored(*offline_, stored, start_ + now_); }
  void adopt_start();
  void adopt(const EntityKey& key);
  std::vector<NamedKey> waiting_of(const EntityKey& key);
  Result<std::size_t> unit_named(const std::string& name) const;
  bool has_started(const Unit& unit) const;
  void explain_start(const Unit& unit, StartAnswer& answer) const;
  void explain_wait(const Unit& unit, StartAnswer& answer);
  void step();
  void arrive(std::size_t unit);
  void fail(std::size_t failure);
  void clear_node(const std::string& name);
  void repair(std::size_t failure);
  void end(const SimulatedEvent& event);
  void end_first(const NamedKey& key);
  void note_end(const NamedKey& key, const std::string& node);
  void lose(const NamedKey& evicted);
  void leave(Unit& unit);
  void release(SimulatedPod& pod);
  void decide_due();
  void note(const planning::Plan& plan);
  void start(SimulatedPod& pod, const std::string& node);
  void count_racks(Unit& unit);
  void record(std::string_view what, const SimulatedPod& pod);
  std::int64_t allocated() const;
  void measure();
  RunResult result();

  struct QueueOrder {
    const std::vector<Unit>* units;
    bool operator()(std::size_t a, std::size_t b) const {
      return placement::queue_sort_less((*units)[a].queued, (*units)[b].queued);
    }
  };
  using UnitQueue = std::set<std::size_t, QueueOrder>;

  const Script& script_;
  const Arrival at_start_ = {};  // of what waits at the start
  Time start_;
  planning::PlanOptions options_;
  dra::CelSelectors selectors_;
  std::unique_ptr<planning::OfflineCluster> offline_;
  std::unique_ptr<planning::Planner> planner_;
  std::vector<Unit> units_;
  std::vector<SimulatedPod> pods_;
  std::map<NamedKey, std::size_t> pod_index_;
  std::vector<NamedKey> first_ends_;  // pods that run at the start and have an end
  std::vector<EndedPod> ended_;       // while somebody asks
  bool keeps_ends_ = false;
  std::size_t decisions_ = 0;
  std::map<std::string, AwayNode> away_;
  std::priority_queue<SimulatedEvent, std::vector<SimulatedEvent>, std::greater<>> events_;
  UnitQueue waiting_{QueueOrder{&units_}}, due_{QueueOrder{&units_}};
  Duration now_;
  bool freed_ = false;                   // at this instant
  std::int64_t gpus_ = 0, arrived_ = 0;  // hundredths
  std::map<std::string, std::int64_t> rack_gpus_;
  FragmentationMeter meter_;
  std::vector<Duration> waits_;
  double lost_seconds_ = 0, racks_ = 0, racks_minimum_ = 0;
  std::size_t arrivals_left_ = 0;
  bool measured_ = false;  // after the last arrival
  std::uint64_t digest_ = kFnvStart;
  RunResult result_;
};

}  // namespace berth::simulate
