// Which PlacementPolicies name a group, and what they wish of it: from live objects, or those of a plan.
//
// A policy names a PodGroup, a CompositePodGroup, or an owner: a Workload, or an object that owns the groups
// or owns their owners. Of a tree of groups that have the same owner, the policy of the owner names the root
// alone: what it wishes is about all pods of the tree together. Pure. Cost: nothing without policies in the
// namespace, else O(log n) for the group and each of its owners.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "client/view.h"
#include "placement/refusal/gate.h"
#include "placement/trees/tree_members.h"
#include "placement/wishes/wish.h"

namespace berth::placement {

// A group, its Job, its JobSet and so on.
inline constexpr std::size_t kOwnerLevelsMax = 4;
inline constexpr std::size_t kOwnersOfGroupMax = 32;

// The owners of an object that is no group. Groups wait for what is unread. What cannot be read counts as
// without owners: a policy about another object does not hold this one.
struct KnownOwners {
  enum class State : std::uint8_t { Known, Unread, Refused };
  State state = State::Known;
  std::vector<api::OwnerReference> owners = {};
};
// Of the object in this namespace that the reference is about; a reference without a UID is about any.
using OwnersOf = std::function<KnownOwners(const std::string& ns, const api::OwnerReference& object)>;

// Why no wish follows: the group waits until it is repaired.
struct WishFault {
  enum class Kind : std::uint8_t {
    ConflictingPolicies,  // `others` name the group as well
    TopologyNotFound,     // `subject`, a Topology
    UnknownLevel,         // `subject`, that `field` names; `others`: the levels that there are
    // `field` of a policy that names `subject`, a CompositePodGroup; the field is not for this group.
    // `others`: a group below it that asks for a domain of its own, or none.
    NotForComposites,
    OwnersUnread,  // `subject`: an owner of the group that was not read yet
  };
  Kind kind = Kind::ConflictingPolicies;
  std::string policy;  // a policy that names the group, or may name it
  std::string subject = {};
  std::string field = {};
  std::vector<std::string> others = {};
  friend bool operator==(const WishFault&, const WishFault&) = default;
};
// "TopologyNotFound": the reason of a condition.
std::string_view name_of(WishFault::Kind kind);
// "PlacementPolicy fast names Topology net, which does not exist: …"
std::string words_of(const WishFault& fault);

struct WishAnswer {
  GroupWishPtr wish;  // null: no policy names the group, or there is a fault
  std::optional<WishFault> fault = std::nullopt;
  std::vector<const api::PlacementPolicy*> policies = {};  // that name the group, by name
};

// Of a policy by itself, whatever it names.
WishAnswer wish_of(const client::View& view, const api::PlacementPolicy& policy);
WishAnswer wish_of(const client::View& view, const OwnersOf& owners, const api::PodGroup& group);
WishAnswer wish_of(const client::View& view, const OwnersOf& owners, const api::CompositePodGroup& group);

// Sets the wish; the levels that it requires are recorded with its members (group_domain.h).
void set_wish(GroupInput& input, GroupWishPtr wish);
// The same for the nodes of a tree. False: one of them has a fault.
bool add_wishes(const client::View& view, const OwnersOf& owners, TreeInput& tree);
// Why a group with this fault is not tried.
GroupGate gate_of(const WishFault& fault);
// The fault of the first group of the tree that has one.
std::optional<WishFault> fault_of(const client::View& view, const OwnersOf& owners, const TreeMembers& tree);

}  // namespace berth::placement
