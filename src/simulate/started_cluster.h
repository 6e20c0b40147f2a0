// The cluster that questions are about: the objects at the start, after everything that waits was decided
// once.
//
// Owner: one answer. Deterministic. Cost: reading 20 µs an object, and a decision for each pod or group that
// waits.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "dra/cel_selectors.h"
#include "simulate/stored_objects.h"

namespace berth::simulate {

// Passes over all that waits: one is refused that would fit after later ones have had others evicted.
inline constexpr std::size_t kSettlePassesMax = 8;

struct StartInput {
  std::vector<planning::Document> objects;  // from the start
  std::vector<planning::Document> later;    // completed with the others, but not there yet
  std::vector<std::string> lost_nodes;      // gone before anything is decided; their pods wait again
};

class StartedCluster {
 public:
  // Nothing is decided yet. Refuses objects that no plan can read.
  static Result<std::unique_ptr<StartedCluster>> make(StartInput input, const planning::PlanOptions& options);

  planning::OfflineCluster& offline() const { return *offline_; }
  dra::SelectorEvaluator& selectors() { return selectors_; }
  const planning::PlanOptions& options() const { return options_; }
  // Those of the input, by kind and name.
  const std::vector<StoredObject>& later() const { return later_; }
  void put(const StoredObject& stored) { put_stored(*offline_, stored, offline_->now()); }

  // With victims, if the options have them.
  planning::Planner& planner() { return *planner_; }
  // Decides whatever waits, until a pass places nothing. The decisions of the last pass.
  planning::Plan settle();
  std::vector<client::NamedKey> waiting_pods() const;
  // What is decided when these pods are; those that are not there are left out.
  std::vector<placement::EntityKey> entities_of(const std::vector<client::NamedKey>& pods) const;

 private:
  explicit StartedCluster(const planning::PlanOptions& options) : options_(options) {}

  planning::PlanOptions options_;
  dra::CelSelectors selectors_;
  std::unique_ptr<planning::OfflineCluster> offline_;
  std::unique_ptr<planning::Planner> planner_;
  std::vector<StoredObject> later_;
};

}  // namespace berth::simulate
