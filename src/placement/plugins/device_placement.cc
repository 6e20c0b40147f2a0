// DevicePlacement: for members that share claims without devices, the sets of nodes that see the same
// devices.
//
// A claim's devices decide which nodes reach it. The first member's best node may see devices that too few
// other nodes reach; so each set of nodes of DeviceScopes is a candidate, with devices for the shared claims
// that all its nodes reach. Every feasible choice of devices reaches such a set. Devices that the members'
// own claims compete for are chosen once for each set. Source: KEP-5732, DRATestPlugin, without its product
// over claims: the allocator gets them together.
#include <algorithm>
#include <set>

#include "dra/allocator.h"
#include "placement/index/domains.h"
#include "placement/plugins/plugins.h"

namespace berth::placement::plugins {
namespace {

// Sets of nodes for which devices are sought in one attempt.
constexpr std::size_t kDevicePlacementTriesMax = 1024;

struct SharedClaims {
  std::vector<dra::ClaimPtr> claims;          // in the order in which members name them
  std::vector<ProposedAllocation> proposals;  // of the same claims, without devices
  bool of_every_member = true;                // every waiting member names all of them
};

SharedClaims shared_claims(const RefinementQuestion& question) {
  const model::Cluster& cluster = question.context.cluster;
  SharedClaims all;
  std::vector<std::size_t> members;
  for (const api::Pod* pod : question.waiting)
    for (const api::PodClaim& claim : pod->claims) {
      const model::ClaimId id = cluster.find_claim(pod->meta.ns, api::claim_object_name(*pod, claim));
      if (!id.valid() || !cluster.claim(id).live || cluster.ledger().reservation(id)) continue;
      const auto known = std::find_if(all.proposals.begin(), all.proposals.end(),
                                      [&](const ProposedAllocation& one) { return one.claim == id; });
      const auto place = static_cast<std::size_t>(known - all.proposals.begin());
      if (known == all.proposals.end()) {
        all.proposals.push_back({cluster.find_pod(pod->meta.ns, pod->meta.name), id, nullptr});
        all.claims.push_back(cluster.claim(id).live);
        members.push_back(0);
      }
      ++members[place];
    }
  for (std::size_t i = members.size(); i-- > 0;) {
    if (members[i] >= 2) {
      all.of_every_member &= members[i] == question.waiting.size();
      continue;
    }
    all.claims.erase(all.claims.begin() + static_cast<std::ptrdiff_t>(i));
    all.proposals.erase(all.proposals.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return all;
}

// Whether devices of several scopes may be chosen together.
bool may_combine(const std::vector<dra::ClaimPtr>& claims) {
  if (claims.size() > 1 || claims.front()->requests.size() > 1) return true;
  const std::vector<api::DeviceSubRequest>& alternatives = claims.front()->requests.front().alternatives;
  return std::any_of(alternatives.begin(), alternatives.end(), [](const api::DeviceSubRequest& one) {
    return one.mode == api::AllocationMode::All || one.count > 1;
  });
}

// The search for placements of one attempt.
class PlacementSearch {
 public:
  PlacementSearch(const RefinementQuestion& question, SharedClaims shared)
      : question_(question),
        cluster_(question.context.cluster),
        scopes_(question.domains.device_scopes(cluster_)),
        shared_(std::move(shared)) {
    auto request = question.context.allocator.prepare(shared_.claims);
    if (request) request_ = std::move(*request);
  }
  // False: the attempt without proposals tells what is wrong.
  bool can_run() const { return request_ != nullptr; }

  Refinement refine() {
    const std::vector<NodeSet>& sets = scopes_.node_sets(may_combine(shared_.claims));
    found_.complete = !scopes_.truncated();
    for (const Placement& parent : question_.parents) {
      seen_.clear();
      for (const NodeSet& set : sets) {
        std::vector<NodeId> nodes;
        std::copy_if(parent.nodes.begin(), parent.nodes.end(), std::back_inserter(nodes),
                     [&](NodeId node) { return set.contains(node); });
        if (!try_nodes(parent, std::move(nodes), &set)) return tell();
      }
    }
    return tell();
  }

  Refinement single_nodes() {
    for (const Placement& parent : question_.parents)
      for (const NodeId node : parent.nodes)
        if (!try_nodes(parent, {node}, nullptr)) return std::move(found_);
    return std::move(found_);
  }

 private:
  // False when the budget is used up. Null: devices for the one node alone will do.
  bool try_nodes(const Placement& parent, std::vector<NodeId> nodes, const NodeSet* reached) {
    if (nodes.empty()) return true;
    ++sets_;
    if (shared_.of_every_member) {
      const std::int64_t room = room_of(nodes);
      most_room_ = std::max(most_room_, room);
      if (room < question_.needed) return true;
    }
    if (++tries_ > kDevicePlacementTriesMax) {
      found_.complete = false;
      return false;
    }
    std::vector<ProposedAllocation> allocations = allocate(nodes.front(), reached);
    if (allocations.empty() || (reached && !seen_.insert(devices_of(allocations)).second)) return true;
    Placement& placement = found_.placements.emplace_back(
        Placement{parent.name, parent.domain, parent.nodes, nullptr, std::move(allocations)});
    if (!shared_.of_every_member) return true;
    placement.narrowed = std::make_shared<const std::vector<NodeId>>(std::move(nodes));
    placement.nodes = *placement.narrowed;
    return true;
  }

  Refinement tell() {
    if (sets_ == 0) return std::move(found_);
    // Every choice of devices reaches one of the sets, or is one node's own.
    if (tries_ == 0 && found_.complete) found_.members_max = std::max(most_room_, room_of_one());
    found_.shared_devices = SharedDeviceSets{sets_, tries_, found_.placements.size(), most_room_};
    return std::move(found_);
  }

  // Up to the number needed.
  std::int64_t room_of(const std::vector<NodeId>& nodes) const {
    std::int64_t sum = 0;
    for (const NodeId node : nodes) {
      sum += std::min(question_.room(node), question_.needed);
      if (sum >= question_.needed) break;
    }
    return sum;
  }

  std::int64_t room_of_one() const {
    std::int64_t most = 0;
    for (const Placement& parent : question_.parents)
      for (const NodeId node : parent.nodes) most = std::max(most, room_of({node}));
    return most;
  }

  // Devices on this node that all of `reached` reach; empty: there are none.
  std::vector<ProposedAllocation> allocate(NodeId node, const NodeSet* reached) {
    const auto before = question_.transaction.savepoint();
    if (reached) hide_out_of_reach(node, *reached);
    dra::AllocationVerdict verdict =
        question_.context.allocator.allocate(*request_, node, dra::Explain::Nothing);
    question_.transaction.roll_back_to(before);
    if (std::holds_alternative<dra::OutOfBudget>(verdict)) found_.complete = false;
    auto* chosen = std::get_if<dra::Allocations>(&verdict);
    if (!chosen) return {};
    std::vector<ProposedAllocation> proposals = shared_.proposals;
    for (std::size_t i = 0; i < proposals.size(); ++i)
      proposals[i].allocation = std::move(chosen->claims[i].allocation);
    return proposals;
  }

  void hide_out_of_reach(NodeId node, const NodeSet& reached) {
    for (const DeviceScopes::Offer& offer : scopes_.offers()) {
      const NodeSet& scope = scopes_.scopes()[offer.scope];
      if (!scope.contains(node) || scope.contains_all(reached)) continue;
      for (const model::DeviceId device : offer.devices) question_.transaction.hide(device);
    }
    if (reached.count() == 1) return;
    for (const model::PoolId pool : cluster_.pools_of(node))
      for (const auto& [name, slice] : cluster_.pool(pool).slices)
        if (slice.live->node_name == cluster_.node(node).name)
          for (const model::DeviceId device : slice.devices) question_.transaction.hide(device);
  }

  static std::vector<std::string> devices_of(const std::vector<ProposedAllocation>& allocations) {
    std::vector<std::string> names;
    for (const ProposedAllocation& one : allocations)
      for (const api::DeviceResult& result : one.allocation->results)
        names.insert(names.end(), {result.driver, result.pool, result.device});
    return names;
  }

  const RefinementQuestion& question_;
  const model::Cluster& cluster_;
  DeviceScopes& scopes_;
  const SharedClaims shared_;
  std::shared_ptr<const dra::AllocationRequest> request_;
  std::set<std::vector<std::string>> seen_;  // of the parent: larger sets of nodes come first
  std::size_t sets_ = 0;
  std::int64_t most_room_ = 0;
  std::size_t tries_ = 0;
  Refinement found_;
};

class DevicePlacement final : public PlacementRefiner {
 public:
  Refinement refine(const RefinementQuestion& question) const override {
    return run(question, &PlacementSearch::refine);
  }
  Refinement last_resort(const RefinementQuestion& question) const override {
    return run(question, &PlacementSearch::single_nodes);
  }

 private:
  static Refinement run(const RefinementQuestion& question, Refinement (PlacementSearch::*find)()) {
    SharedClaims shared = shared_claims(question);
    if (shared.claims.empty()) return {};
    PlacementSearch search(question, std::move(shared));
    return search.can_run() ? (search.*find)() : Refinement{};
  }
};

}  // namespace

std::unique_ptr<PlacementRefiner> device_placement() {
  return std::make_unique<DevicePlacement>();
}

}  // namespace berth::placement::plugins
