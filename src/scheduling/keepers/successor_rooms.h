// Rooms of pods that leave their nodes and that their controllers make again. Each room is kept until a new
// pod of the same controller, or of the same group, has a place.
//
// A room is a hold against equal and lower priorities. The new pods of its owner pass it, and each of them
// tries a node with such a room first. After a restart nothing is known here: the new pods are placed like
// any other. Owner: the scheduler, one thread. Cost: O(log n) a call and O(rooms of the owner). Memory: at
// most kSuccessorRoomsMax rooms.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "model/scoped_hold.h"
#include "placement/pod_query.h"

namespace berth::scheduling {

inline constexpr std::size_t kSuccessorRoomsMax = 16'384;

// Who makes the pod again. Members of a group are made for the group, no matter who makes them.
struct PodMaker {
  std::string ns, group, controller;  // the controller's UID; empty: of a member
  auto operator<=>(const PodMaker&) const = default;
};
PodMaker maker_of(const api::Pod& pod);

class SuccessorRooms {
 public:
  bool has_space_for(std::size_t rooms) const { return ends_.size() + rooms <= kSuccessorRoomsMax; }
  // `leaving` has a controller or a group, and no room yet.
  void keep(const api::Pod& leaving, model::NodeId node, model::ScopedHold hold, Time until);

  // What pods that wait may use of it.
  struct Passed {
    std::vector<model::HoldId> holds;
    placement::FirstNodes first_nodes;  // a room for each pod, while there are some
    // This outlives the result.
    placement::SchedulingContext shown_in(placement::SchedulingContext context) const;
  };
  Passed passed_by(std::span<const api::Pod* const> waiting) const;

  // The pod has a place there: a room of its owner ends, one on this node before the oldest. True if one
  // ended.
  bool placed(const api::Pod& pod, model::NodeId node);
  // Whether the room of the pod that leaves, or has left, is kept still.
  bool has_room(const std::string& leaving_uid) const { return maker_of_.contains(leaving_uid); }
  // True if it had one.
  bool give_up(const std::string& leaving_uid);
  // True if a room ended because its time is over.
  bool expire(Time now);
  std::optional<Time> next_time() const;
  // Calls visit(maker, name of a pod that leaves, holds, when the last room ends) for each maker.
  template <class Visit>
  void visit(Visit visit) const {
    for (const auto& [maker, rooms] : rooms_) {
      std::vector<model::HoldId> holds;
      Time until;
      for (const Room& room : rooms) {
        holds.push_back(room.hold.id());
        until = std::max(until, room.until);
      }
      visit(maker, rooms.front().leaving, holds, until);
    }
  }

 private:
  struct Room {
    std::string leaving, leaving_uid;
    model::NodeId node;
    model::ScopedHold hold;
    Time until;
  };
  using Rooms = std::list<Room>;  // the oldest first
  void end(const PodMaker& maker, Rooms::iterator room);

  std::map<PodMaker, Rooms> rooms_;
  std::map<std::string, PodMaker> maker_of_;     // by the UID of the pod that leaves
  std::set<std::pair<Time, std::string>> ends_;  // the same
};

}  // namespace berth::scheduling
