// Why a pod or a group waits, or why it is on its node: combines what is known and writes it as text.
//
// Pure: objects and the scheduler's record in, one document out, and its text for a terminal.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/time.h"

namespace berth::explain {

// What was read of one pod. Objects as the API returns them; null where absent.
struct PodFacts {
  Json pod;
  Json bind_request;
  std::vector<Json> claims;
  Json record;        // the scheduler's page about the pod (decision_history.h); null: not served
  Json group_record;  // about the pod's group
  Json events;        // the EventList about a pending pod when no record is served; null: not read
  Json node_health;   // the NodeDeviceHealth of the pod's node; null: none, or not read
  Json taint_rules;   // the DeviceTaintRuleList, for a pod with a device that is not Healthy; null: not read
  std::vector<std::string> missing;  // of a pod that is not tried: "ResourceClaim gpu, which does not exist"
};

struct GroupFacts {
  Json group;
  Json record;
  std::vector<PodFacts> members;  // by name; without records
  Json policies;                  // the PlacementPolicyList of its namespace; null: not served, or not read
  std::vector<std::string> missing = {};  // as of a pod
};

// A group of a tree, below or at the one that is asked about.
struct TreeGroupFacts {
  Json object;
  bool composite = false;
  std::size_t level = 0;               // below the one that is asked about
  std::vector<PodFacts> members = {};  // of a PodGroup
};
struct TreeFacts {
  Json record;                         // about the tree, by its root
  std::string root;                    // its name
  Json policies;                       // PlacementPolicies of the namespace; null: none may be read
  std::vector<TreeGroupFacts> groups;  // the one that is asked about first, each parent before its children
  std::vector<std::string> missing = {};  // as of a pod
};

// {"kind":"Pod","namespace","name","state","summary","node","group","groupSource","decision":{…},
// "startWaits":["…"],"member","firstRefused":{"pod","explanation"},"refused":[…],"waitsFor":{…},
// "bindRequest":{…},"devices":[…],"steps":[{"step","time","took"}],"history":[…]}. Fields that do not apply
// are absent. "member" is the part about this pod of its group's decision. "firstRefused" is the part about
// the first member that found no node, if it is another one. A binding that failed before the newest decision
// is in the row of its own decision, as "bindRequest". Ages are relative to `now`. "groupSource" names the
// project whose labels say which group.
Json explain_pod(const PodFacts& facts, Time now);
// {"kind":"PodGroup",…,"startWaits":["…"],"madeFrom","wish":{"policy","wish","reached","score","message"},
// "members":[{"name","state","summary","node","devices"}]}; "startWaits" (start_waits.h) of a Gated one.
Json explain_group(const GroupFacts& facts, Time now);
// {"kind":"CompositePodGroup",…,"startWaits":["…"],"root","madeFrom","wish":{…},
// "groups":[{"name","kind","level","minimum","pods","placed","wish"}]}; root if it is another one. A wish is
// that of the policy which names the group.
Json explain_tree(const TreeFacts& facts, Time now);

// Whether the pod's status, or its node's report of the device of a claim, has one that is not Healthy.
bool has_unhealthy_device(const PodFacts& facts);

enum class Detail { Table, Wide };
enum class Colour { No, Yes };
// For a terminal, in lines of about 100 columns; control characters are written out.
std::string explanation_text(const Json& explanation, Detail detail, Colour colour);

}  // namespace berth::explain
