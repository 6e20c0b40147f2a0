// Who has a device: groups and pods by small numbers, which the page's colours and frames use.
//
// Owner: the Floor. Cost: O(log owners) to acquire, O(1) to release. A number is free again once nobody holds
// it, and may then belong to another owner.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "api/types/pod.h"
#include "base/json.h"
#include "client/view.h"
#include "placement/entity.h"

namespace berth::dashboard {

using OwnerId = std::uint32_t;
inline constexpr OwnerId kNobody = 0;
// Groups above a group that are looked at, so that a cycle of parents ends.
inline constexpr std::size_t kParentsMax = 8;

// In the order of the frame's numbers.
enum class OwnerKind : std::uint8_t { Pod, PodGroup, CompositePodGroup, ResourceClaim };
std::string_view name_of(OwnerKind kind);
OwnerKind kind_named(std::string_view name);  // Pod for any other name
// Of an entry of the scheduler's queue.
OwnerKind kind_of(placement::EntityKind entry);

struct Owner {
  OwnerKind kind = OwnerKind::Pod;
  std::string ns;
  std::string name;
  friend auto operator<=>(const Owner&, const Owner&) = default;
};

// {"kind","namespace","name"}
Json to_json(const Owner& owner);
// Whom a row with these fields is about.
Owner owner_named(const Json& row);

// The tree or the group of the pod, else the pod.
Owner owner_of(const client::View& view, const api::Pod& pod);
// The root of the tree that a pod, a group or a tree is part of, else itself.
Owner root_of(const client::View& view, const Owner& part);

class Owners {
 public:
  Owners();
  // A hold on the owner's number.
  OwnerId acquire(const Owner& owner);
  // Ends one hold; kNobody holds nothing.
  void release(OwnerId id);
  const Owner& at(OwnerId id) const { return rows_[id].owner; }
  // Those with a hold, by number.
  std::vector<OwnerId> all() const;
  // Numbers that were given to an owner since the last call.
  std::vector<OwnerId> take_new();

 private:
  struct Row {
    Owner owner;
    std::size_t holds = 0;
  };
  std::vector<Row> rows_;  // [0] is nobody
  std::vector<OwnerId> free_, new_;
  std::map<Owner, OwnerId> ids_;
};

}  // namespace berth::dashboard
