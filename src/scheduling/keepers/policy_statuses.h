// The statuses of PlacementPolicies and Topologies: each is computed from the live objects and written until
// the view shows it.
//
// Nothing is remembered: another process computes the same. A status is computed at most once in its
// interval, however often what it rests on changes; a refused write is repeated with backoff. Owner: the
// scheduler, one thread. Cost of a policy: O(members of its groups); of a topology: O(nodes × levels).
#pragma once

#include <map>
#include <optional>

#include "client/decider.h"
#include "placement/wishes/policy_wishes.h"
#include "scheduling/keepers/owner_reads.h"
#include "scheduling/keepers/policy_members.h"
#include "scheduling/keepers/replacements.h"
#include "scheduling/keepers/retried_writes.h"

namespace berth::scheduling {

inline constexpr Duration kPolicyStatusEvery = Duration::seconds(1);
inline constexpr Duration kTopologyStatusEvery = Duration::seconds(5);
inline constexpr std::size_t kStatusesPerWriteMax = 16;

class PolicyStatuses {
 public:
  // A PlacementPolicy or a Topology, or what its status rests on, has changed.
  void changed(const api::ObjectKey& key, Time now);
  void policy_changed(const std::string& ns, const std::string& name, Time now);
  void nodes_changed(const client::View& view, Time now);

  client::Effects due(const client::View& view, const PolicyMembers& members, const OwnerReads& owners,
                      const ReplacementReports& replacements, Time now);
  // False if no write to the object was under way.
  bool write_done(const api::ObjectKey& key, bool ok, Time now);
  std::optional<Time> next_time() const { return writes_.next_time(); }

 private:
  RetriedWrites writes_;
  std::map<api::ObjectKey, Time> computed_;  // latest, of objects that exist
};

// The status that the object should have; members that are null do not exist.
Json status_of_policy(const client::View& view, const api::PlacementPolicy& policy,
                      const std::set<GroupKey>& groups, const OwnerReads& owners,
                      const ReplacementReports& replacements, Time now);
Json status_of_topology(const client::View& view, const api::Topology& topology, Time now);
// Whether the stored status says this, whenever its conditions began.
bool says_status(const Json& stored, const Json& wanted);

}  // namespace berth::scheduling
