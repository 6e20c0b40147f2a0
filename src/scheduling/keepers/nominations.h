// The room of waiting pods that status.nominatedNodeName names a node for. An autoscaler, a quota
// system, or this scheduler before a restart may have written it.
//
// Each is a hold against pods of equal and lower priority. It ends when the pod has a place or a plan of its
// own, is gone, or its nomination is cleared; a refusal clears it. Where the pod fits there, the hold has its
// devices, too. Gated pods count, members of groups do not. Owner: the scheduler, one thread. Cost: O(log n)
// a call, and what `find_room` costs. Memory: at most kNominationsMax. Source: kube-scheduler 1.37's
// nominator, with NominatedNodeNameForExpectation, which keeps no devices.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/cluster.h"
#include "model/scoped_hold.h"
#include "placement/entity.h"

namespace berth::scheduling {

using placement::EntityKey;

inline constexpr std::size_t kNominationsMax = 4096;  // beyond, nominated pods hold no room

class Nominations {
 public:
  // What the pod would take on its nominated node now, with its devices; none: it does not fit.
  using FindRoom = std::function<std::optional<model::Hold>()>;
  // `pod` waits and has no plan: begins, changes or ends its hold. True if that made room. `find_room` is
  // asked while devices of the pod are not held; null: it asks for none.
  bool follow(model::Cluster& cluster, const EntityKey& key, const api::Pod& pod, const FindRoom& find_room);
  // True if it had one.
  bool forget(const EntityKey& key) { return held_.erase(key) > 0; }
  // Of the pod's nomination; none: it has none.
  std::optional<model::Ledger::HoldId> hold_of(const EntityKey& key) const;
  // Pods of lower priority that are nominated for the node.
  std::vector<EntityKey> below(std::int32_t priority, model::NodeId node) const;
  std::size_t size() const { return held_.size(); }
  // Calls visit(key, hold) for each, by key.
  template <class Visit>
  void visit(Visit visit) const {
    for (const auto& [key, held] : held_) visit(key, held.hold.id());
  }

 private:
  struct Held {
    std::string uid;
    model::NodeId node;
    model::ResourceAmounts requests;
    bool has_devices = false;
    model::ScopedHold hold;
  };
  std::map<EntityKey, Held> held_;
};

}  // namespace berth::scheduling
