// Why an entry of the queue is not tried, as data. kubernetes_words.h and berth_words.h put it into words.
//
// Values without pointers into the view.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace berth::placement {

// Of a pod.
struct PodGate {
  enum class Kind : std::uint8_t {
    SchedulingGates,  // spec.schedulingGates: its condition says so
    ClaimNotMade,     // `claim` of the pod has no ResourceClaim yet
    ClaimMissing,     // ResourceClaim `claim` does not exist
    ClaimDeleting,    // ResourceClaim `claim` is being deleted
    ClaimOfOther,     // ResourceClaim `claim` belongs to another object
    DevicesSealed,    // writes of an earlier process may still land
  };
  Kind kind = Kind::SchedulingGates;
  std::string claim = {};
  std::string hint = {};  // of a ClaimNotMade or ClaimMissing, in a plan: "nearest: gpu-2"
  friend bool operator==(const PodGate&, const PodGate&) = default;
};

// Of a group: `pod`, a member, is not tried.
struct MemberGate {
  std::string pod;
  PodGate gate;
  friend bool operator==(const MemberGate&, const MemberGate&) = default;
};

// Of a group with a decision that is not settled.
struct UnsettledGate {
  enum class Kind : std::uint8_t {
    BeingWritten,     // the request of member `of`
    BeingGivenBack,   // the same
    AtBarrier,        // the same: it waits for the members of its decision
    OthersUnwritten,  // the same: requests of its decision are still being written
    Broken,           // the same: requests of its decision were lost
    OthersAtBarrier,  // a member failed in decision `of`, and the others wait
  };
  Kind kind = Kind::BeingWritten;
  std::string of;
  friend bool operator==(const UnsettledGate&, const UnsettledGate&) = default;
};

// Groups that a gate names.
inline constexpr std::size_t kShortGroupsMax = 4;

// A group of a tree without enough members, or groups, of its own.
struct ShortGroup {
  std::string name;
  bool composite = false;
  std::int32_t wanted = 0, alive = 0;
  friend bool operator==(const ShortGroup&, const ShortGroup&) = default;
};

// Of a group, by itself, or of a tree of groups.
struct GroupGate {
  enum class Kind : std::uint8_t {
    NoGroup,        // `name` does not exist
    HeldByParent,   // `name` is a CompositePodGroup, and composite groups are not read (KEP-6012)
    TooFewMembers,  // of `wanted`
    NoParent,       // CompositePodGroup `name` does not exist
    ParentCycle,    // CompositePodGroup `name` is its own ancestor
    TreeTooDeep,    // the tree of CompositePodGroup `name` has more than kTreeLevelsMax levels
    TooFewGroups,   // CompositePodGroup `name` wants `wanted`; `alive` are complete
    PolicyFault,    // PlacementPolicy `name` says nothing that can be done: `why`
    BeingMoved,     // the whole group leaves failed nodes; `alive` pods have not left
  };
  Kind kind = Kind::NoGroup;
  std::string name;
  std::int32_t wanted = 0, alive = 0;
  std::vector<ShortGroup> missing = {};  // of TooFewGroups: children that are not complete
  std::string why = {};                  // of PolicyFault; in plans, of NoGroup and NoParent: "nearest: x"
  friend bool operator==(const GroupGate&, const GroupGate&) = default;
};

using GateReason = std::variant<PodGate, MemberGate, UnsettledGate, GroupGate>;

}  // namespace berth::placement
