#include "health/node_pods.h"

#include <algorithm>
#include <set>

#include "health/resource_status.h"

namespace berth::health {
namespace {

bool is_extended(std::string_view resource) {
  return resource.find('/') != std::string_view::npos && !resource.starts_with("kubernetes.io/");
}

void add_claimed(ContainerNeeds& needs, const api::Allocation& allocation, const std::string& claim,
                 std::string_view request) {
  for (const api::DeviceResult& result : allocation.results)
    if (request.empty() || base_request(result) == request)
      needs.claimed.push_back({claim, result.driver, result.pool, result.device, result.share_id});
}

ContainerNeeds needs_of(const client::View& view, const api::Pod& pod, const api::Container& container,
                        const std::vector<ExtendedRequest>& extended, ContainerNeeds::Runs runs) {
  ContainerNeeds needs{container.name, runs, {}, {}};
  for (const auto& [resource, amount] : container.requests)
    if (is_extended(resource)) needs.amounts[resource] = amount.ceil_units();
  for (const api::ContainerClaim& named : container.claims)
    for (const api::PodClaim& claim : pod.claims) {
      if (claim.name != named.name) continue;
      const std::string object = api::claim_object_name(pod, claim);
      if (const auto* allocation = allocation_in(view, pod, object))
        add_claimed(needs, *allocation, object, named.request);
    }
  for (const ExtendedRequest& request : extended) {
    if (request.container != container.name) continue;
    needs.amounts.erase(request.resource);  // a DRA driver provides it
    if (const auto* allocation = allocation_in(view, pod, pod.extended_claim))
      add_claimed(needs, *allocation, pod.extended_claim, request.request);
  }
  return needs;
}

// The call is skipped where every device of the driver says so.
bool skips(const api::Allocation& allocation, const std::string& driver, std::string_view operation) {
  return std::all_of(
      allocation.results.begin(), allocation.results.end(), [&](const api::DeviceResult& result) {
        const auto& skipped = result.skip_node_operations;
        return result.driver != driver || std::any_of(skipped.begin(), skipped.end(), [&](const auto& name) {
                 return name == operation || name == "*";
               });
      });
}

NeededClaim needed_claim(const api::ResourceClaim& claim) {
  NeededClaim needed{{claim.meta.uid, claim.meta.ns, claim.meta.name}, {}};
  for (const api::DeviceResult& result : claim.allocation->results) {
    const std::string& driver = result.driver;
    if (needed.drivers.contains(driver) || skips(*claim.allocation, driver, "NodePrepareResources")) continue;
    const bool unprepare = !skips(*claim.allocation, driver, "NodeUnprepareResources");
    needed.drivers[driver] = unprepare ? NodeOperations::PrepareAndUnprepare : NodeOperations::Prepare;
  }
  return needed;
}

}  // namespace

bool requests_extended(const api::Pod& pod) {
  const auto asks = [](const api::Container& container) {
    return std::any_of(container.requests.begin(), container.requests.end(),
                       [](const auto& request) { return is_extended(request.first); });
  };
  return std::any_of(pod.containers.begin(), pod.containers.end(), asks) ||
         std::any_of(pod.init_containers.begin(), pod.init_containers.end(), asks);
}

std::optional<std::vector<NeededClaim>> needed_claims(const client::View& view, const api::Pod& pod) {
  std::vector<NeededClaim> needed;
  for (const std::string& name : claim_names(pod)) {
    const api::ResourceClaim* claim = claim_in(view, pod, name);
    if (!claim) return std::nullopt;
    needed.push_back(needed_claim(*claim));
  }
  return needed;
}

bool containers_may_start(const HealthFeed& feed, const client::View& view, const api::Pod& pod) {
  if ((pod.claims.empty() && pod.extended_claim.empty()) || !feed.serves(pod.node_name)) return true;
  if (feed.introducing(pod.node_name)) return false;
  const HealthFeed::Snapshot node = feed.peek(pod.node_name);
  if (!node || node->claim_drivers.empty()) return true;
  const auto needed = needed_claims(view, pod);
  return needed && std::all_of(needed->begin(), needed->end(), [&](const NeededClaim& claim) {
           const ClaimInfo* info = nullptr;
           if (node->claims)
             if (const auto found = node->claims->find(claim.id.uid); found != node->claims->end())
               info = &found->second;
           return is_prepared_for(info, claim, pod.meta.uid, node->claim_drivers);
         });
}

NodePods node_pods(const client::View& view, std::string_view node) {
  std::vector<const api::Pod*> bound = view.pods_on_node(node);
  std::erase_if(bound, [](const api::Pod* pod) { return pod->finished(); });
  std::sort(bound.begin(), bound.end(), [](const api::Pod* a, const api::Pod* b) {
    return std::tie(a->meta.created, a->meta.ns, a->meta.name) <
           std::tie(b->meta.created, b->meta.ns, b->meta.name);
  });
  NodePods pods;
  for (const api::Pod* pod : bound) {
    NodePod one{pod->meta.uid, pod->meta.ns, pod->meta.name, {}};
    if (auto claims = needed_claims(view, *pod)) one.claims = std::move(*claims);
    const std::vector<ExtendedRequest> extended = extended_requests(*pod);
    using Runs = ContainerNeeds::Runs;
    for (const api::Container& container : pod->init_containers)
      one.containers.push_back(
          needs_of(view, *pod, container, extended, container.restartable_init ? Runs::Beside : Runs::First));
    for (const api::Container& container : pod->containers)
      one.containers.push_back(needs_of(view, *pod, container, extended, Runs::Regular));
    pods.push_back(std::move(one));
  }
  return pods;
}

std::optional<Json> amounts_patch(const api::Node& node, const PluginResources& resources) {
  Json capacity = Json::object(), allocatable = Json::object();
  const auto set = [](Json& patch, const api::ResourceMap& now, const std::string& resource,
                      std::size_t amount) {
    const auto found = now.find(resource);
    const auto wanted = Quantity::of(static_cast<std::int64_t>(amount));
    if (found == now.end() || found->second != wanted) patch[resource] = std::to_string(amount);
  };
  for (const auto& [name, resource] : resources) {
    std::size_t free = 0;
    for (const auto& [id, device] : resource.devices) free += device.allocatable;
    set(capacity, node.capacity, name, resource.devices.size());
    set(allocatable, node.allocatable, name, free);
  }
  Json status = Json::object();
  if (!capacity.as_object().empty()) status["capacity"] = std::move(capacity);
  if (!allocatable.as_object().empty()) status["allocatable"] = std::move(allocatable);
  if (status.as_object().empty()) return std::nullopt;
  return Json::object({{"status", std::move(status)}});
}

}  // namespace berth::health
