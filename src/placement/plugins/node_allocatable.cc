#include "placement/plugins/node_allocatable.h"

#include <algorithm>

#include "base/assert.h"
#include "model/node_allocatable.h"
#include "placement/claims.h"
#include "placement/plugins/extended_resources.h"
#include "placement/plugins/node_resources.h"
#include "placement/plugins/plugins.h"

namespace berth::placement::plugins {
namespace {

constexpr std::string_view kHugePages = "hugepages-";

using Allocations = std::vector<std::shared_ptr<const api::Allocation>>;

bool is_pod_level(std::string_view resource) {
  return resource == "cpu" || resource == "memory" || resource.starts_with(kHugePages);
}

std::vector<model::AllocatedClaim> allocated_claims(const PodQuery& query, const Allocations& allocations) {
  std::vector<model::AllocatedClaim> claims;
  std::size_t next = 0;
  for (const ClaimChoice& choice : claims_of(query).claims) {
    const api::Allocation* allocation =
        choice.allocation ? choice.allocation.get() : allocations[next++].get();
    claims.push_back({choice.pod_claim, query.context->cluster.claim(choice.claim).key.name, allocation});
  }
  return claims;
}

// What one allocation of the device takes of the resource. `result` null: not chosen yet.
Quantity taken_by(const api::Device& device, const std::string& resource, const api::DeviceResult* result) {
  const auto found = device.node_allocatable.find(resource);
  if (found == device.node_allocatable.end()) return {};
  Quantity sum;
  const api::NodeAllocatableResource& takes = found->second;
  if (takes.overhead)
    for (const auto& amount : {takes.overhead->per_pod, takes.overhead->per_container})
      if (amount) sum += *amount;
  if (!takes.mapping) return sum;
  const std::string& key = takes.mapping->capacity_key;
  if (key.empty()) return sum + takes.mapping->multiplier;
  // Before the choice the consumed capacity is unknown and counts as 0.
  if (!result || !result->consumed_capacity.contains(key)) return sum;
  return sum + api::product(result->consumed_capacity.at(key), takes.mapping->multiplier);
}

// What any allocation of the device takes of the resource at least.
Quantity least_taken_by(const api::Device& device, const std::string& resource) {
  const auto found = device.node_allocatable.find(resource);
  if (found == device.node_allocatable.end()) return {};
  const api::NodeAllocatableResource& takes = found->second;
  Quantity least;
  if (takes.overhead && takes.overhead->per_pod) least += *takes.overhead->per_pod;
  if (takes.mapping && takes.mapping->capacity_key.empty()) least += takes.mapping->multiplier;
  return least;
}

// Visits the free devices of the node's pools until `visit(device, id)` is true; whether it was.
template <class Visit>
bool any_free_device(const model::Cluster& cluster, NodeId node, Visit visit) {
  const auto any_in = [&](model::PoolId pool) {
    for (const auto& [name, slice] : cluster.pool(pool).slices)
      for (std::size_t i = 0; i < slice.devices.size(); ++i)
        if (const model::DeviceUse& use = cluster.ledger().device(slice.devices[i]);
            use.dedicated + use.excluded == 0 && visit(slice.live->devices[i], slice.devices[i]))
          return true;
    return false;
  };
  const std::vector<model::PoolId> own = cluster.pools_of(node);
  const auto& wide = cluster.shared_pools();
  return std::any_of(own.begin(), own.end(), any_in) ||
         std::any_of(wide.begin(), wide.end(), [&](const auto& entry) { return any_in(entry.second); });
}

bool has_fixed_count(const PodQuery& query) {
  for (const ClaimChoice& choice : claims_of(query).claims) {
    if (choice.allocation) continue;
    for (const api::DeviceRequest& request : query.context->cluster.claim(choice.claim).live->requests)
      if (request.prioritized ||
          std::any_of(request.alternatives.begin(), request.alternatives.end(),
                      [](const api::DeviceSubRequest& one) { return one.mode == api::AllocationMode::All; }))
        return false;
  }
  return true;
}

bool extended_claim_takes(const NodeTrial& trial) {
  const NodeDevices& devices = devices_of(trial.choice);
  if (!devices.extended) return false;
  const model::AllocatedClaim made{"", claims_of(trial.query).extended->claim_name,
                                   devices.allocations.back().get()};
  const auto taken = model::node_allocatable(trial.query.context->cluster, *trial.query.pod, {made});
  return !taken || *taken;
}

// A rule of pod-level resources that the devices violate.
struct Broken {
  const Reason* row = nullptr;  // null: none
  std::string subject, second = {};
};

Broken requests_not_covered(const api::Pod& pod, const api::NodeAllocatableClaims& by_devices) {
  if (!pod.pod_level_requests) return {};
  const api::ResourceMap asked = api::container_requests(pod, by_devices);
  for (const auto& [name, whole] : *pod.pod_level_requests)
    if (const auto at = asked.find(name); is_pod_level(name) && at != asked.end() && at->second > whole)
      return {&reason_row("PodRequestExceeded"), name};
  return {};
}

Broken limits_not_covered(const api::Pod& pod, const api::NodeAllocatableClaims& by_devices) {
  if (!pod.pod_level_limits) return {};
  const api::ResourceMap& whole = *pod.pod_level_limits;
  api::ResourceMap pages = api::container_limits(pod);
  for (const auto& [name, amount] : api::amounts_of(by_devices))
    if (name.starts_with(kHugePages)) pages[name] += amount;
  for (const auto& [name, amount] : pages)
    if (const auto at = whole.find(name);
        name.starts_with(kHugePages) && at != whole.end() && amount > at->second)
      return {&reason_row("PodLimitExceeded"), name};
  for (const api::Container& container : pod.containers) {
    const api::ResourceMap more = api::amounts_of(by_devices, container.name);
    for (const auto& [name, limit] : container.limits) {
      const auto at = whole.find(name);
      if (name.starts_with(kHugePages) || at == whole.end()) continue;
      const auto extra = more.find(name);
      if (limit + (extra == more.end() ? Quantity() : extra->second) > at->second)
        return {&reason_row("PodLimitOfContainerExceeded"), name, container.name};
    }
  }
  return {};
}

// Records what the devices take. False if the attempt failed.
bool note_taken(const NodeTrial& trial) {
  const PodQuery& query = trial.query;
  auto taken = model::node_allocatable(query.context->cluster, *query.pod,
                                       allocated_claims(query, devices_of(trial.choice).allocations));
  if (!taken) {
    trial.diagnosis.fail(kDynamicResources, std::string(kDynamicResourcesError) + taken.error().message());
    return false;
  }
  trial.choice.slots.write<NodeDevices>().node_allocatable = std::move(*taken);
  return true;
}

model::Ledger::Transaction& what_if_of(const NodeTrial& trial) {
  BERTH_ASSERT(trial.what_if, "devices are left out in a decision's transaction");
  return *trial.what_if;
}

}  // namespace

bool has_room_for_devices(const NodeTrial& trial, Tried tried) {
  const PodQuery& query = trial.query;
  if (!may_take_of_node(query)) return true;
  if (extended_claim_takes(trial)) return trial.refuse(reason_row("DevicesNotRecordable"));
  if (!note_taken(trial)) return false;
  const model::NodeAllocatablePtr& taken = devices_of(trial.choice).node_allocatable;
  if (!taken) return true;
  Broken broken = requests_not_covered(*query.pod, *taken);
  if (!broken.row) broken = limits_not_covered(*query.pod, *taken);
  if (broken.row) return trial.refuse(*broken.row, broken.subject, broken.second);
  return fits_or_is_refused(query, trial.diagnosis, trial.node,
                            query.context->cluster.charges(query.pod_id, taken), tried);
}

std::optional<model::ResourceId> shortage_by_devices(const NodeTrial& trial) {
  const PodQuery& query = trial.query;
  const NodeDevices& devices = devices_of(trial.choice);
  if (!may_take_of_node(query) || devices.allocations.empty() || extended_claim_takes(trial) ||
      !note_taken(trial) || !devices.node_allocatable)
    return std::nullopt;
  for (const model::ResourceAmount& charge :
       query.context->cluster.charges(query.pod_id, devices.node_allocatable))
    if (!fits(query, trial.node, {charge})) return charge.resource;
  return std::nullopt;
}

DeviceExclusion::DeviceExclusion(const NodeTrial& trial)
    : trial_(trial),
      cluster_(trial.query.context->cluster),
      what_if_(what_if_of(trial)),
      before_(what_if_.savepoint()) {}

DeviceExclusion::~DeviceExclusion() {
  what_if_.roll_back_to(before_);
}

bool DeviceExclusion::exclude_largest_consumer(model::ResourceId lacking) {
  const std::string& resource = cluster_.resources().text(lacking);
  const api::DeviceResult* greediest = nullptr;
  Quantity most;
  for (const auto& allocation : devices_of(trial_.choice).allocations)
    for (const api::DeviceResult& result : allocation->results) {
      const api::Device* device = cluster_.find_offer(result.driver, result.pool, result.device);
      const Quantity amount = device ? taken_by(*device, resource, &result) : Quantity();
      if (amount > most) {
        most = amount;
        greediest = &result;
      }
    }
  if (!greediest) return false;
  const auto takes_less = [&](const api::Device& device, model::DeviceId) {
    return taken_by(device, resource, nullptr) < most;
  };
  if (!any_free_device(cluster_, trial_.node, takes_less)) return false;
  what_if_.exclude(cluster_.find_device(greediest->driver, greediest->pool, greediest->device));
  return true;
}

bool DeviceExclusion::exclude_too_large(model::ResourceId lacking) {
  const PodQuery& query = trial_.query;
  const NodeId node = trial_.node;
  // Pod-level requests cover what devices take.
  if (query.pod->pod_level_requests) return false;
  std::int64_t room = free_of(cluster_.node(node), cluster_.ledger().node(node), lacking);
  for (const model::ResourceAmount& own : cluster_.pod(query.pod_id).requests)
    if (own.resource == lacking) room = own.amount > room ? -1 : room - own.amount;
  // One more, because the pod's own requests are rounded up.
  const Quantity left = lacking == model::kCpu ? Quantity::millis(room + 1) : Quantity::of(room + 1);
  std::vector<model::DeviceId> too_large;
  any_free_device(cluster_, trial_.node, [&](const api::Device& device, model::DeviceId id) {
    if (least_taken_by(device, cluster_.resources().text(lacking)) > left) too_large.push_back(id);
    return false;
  });
  for (const model::DeviceId device : too_large) what_if_.exclude(device);
  return !too_large.empty();
}

bool takes_least(const NodeTrial& trial, model::ResourceId lacking) {
  const model::Cluster& cluster = trial.query.context->cluster;
  const std::string& resource = cluster.resources().text(lacking);
  std::optional<Quantity> each;
  for (const auto& allocation : devices_of(trial.choice).allocations)
    for (const api::DeviceResult& result : allocation->results) {
      const api::Device* device = cluster.find_offer(result.driver, result.pool, result.device);
      const Quantity amount = device ? taken_by(*device, resource, &result) : Quantity();
      if (each && *each != amount) return false;
      each = amount;
    }
  return each && has_fixed_count(trial.query) &&
         !any_free_device(cluster, trial.node, [&](const api::Device& device, model::DeviceId) {
           return taken_by(device, resource, nullptr) < *each;
         });
}

std::string takes_text(const PodQuery& query, const Allocations& allocations) {
  if (!may_take_of_node(query)) return "";
  const auto taken =
      model::node_allocatable(query.context->cluster, *query.pod, allocated_claims(query, allocations));
  if (!taken || !*taken) return "";
  std::string text;
  for (const auto& [name, amount] : api::amounts_of(**taken))
    text.append(text.empty() ? "its devices take " : " and ").append(amount.text()).append(" ").append(name);
  return text.empty() ? text : text + " of the node";
}

Signing sign_container_counts(const PodQuery& query, PodSignature& signature) {
  if (!may_take_of_node(query)) {
    signature.put(0);
    return Signing::Signed;
  }
  const api::Pod& pod = *query.pod;
  if (pod.pod_level_requests || pod.pod_level_limits) return Signing::Unsigned;
  signature.put(claims_of(query).claims.size());
  for (const ClaimChoice& choice : claims_of(query).claims) {
    std::uint64_t count = 0;
    for (const auto* containers : {&pod.init_containers, &pod.containers})
      for (const api::Container& container : *containers)
        count += std::any_of(container.claims.begin(), container.claims.end(),
                             [&](const api::ContainerClaim& used) { return used.name == choice.pod_claim; });
    signature.put(count);
    for (const ClaimChoice& other : claims_of(query).claims)
      if (&other != &choice && other.claim == choice.claim) return Signing::Unsigned;
  }
  return Signing::Signed;
}

bool is_mapped_elsewhere(const PodQuery& query, const ClaimChoice& choice) {
  const model::Cluster& cluster = query.context->cluster;
  if (!cluster.devices_take_of_nodes() || !choice.allocation) return false;
  const model::ClaimRow& row = cluster.claim(choice.claim);
  // A choice without a stored allocation: another member of the group gets it, in this decision or in one
  // that is not written yet.
  const bool elsewhere =
      !row.live->allocation || (!row.live->reserved_by(query.pod->meta.uid) &&
                                other_consumers(*query.context, choice.claim, *query.pod) > 0);
  return elsewhere && model::is_mapped(cluster, *choice.allocation);
}

}  // namespace berth::placement::plugins
