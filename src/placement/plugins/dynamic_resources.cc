// DynamicResources: the pod's claims. Allocated claims restrict the pod to their nodes; the others need free
// devices. Source: KEP-4381; kube-scheduler's plugin for the texts.
#include <algorithm>

#include "base/nearest_names.h"
#include "dra/allocator.h"
#include "dra/gates.h"
#include "placement/claims.h"
#include "placement/plugins/device_facts.h"
#include "placement/plugins/extended_resources.h"
#include "placement/plugins/node_allocatable.h"
#include "placement/plugins/node_resources.h"
#include "placement/plugins/plugins.h"
#include "placement/refusal/fit_error.h"

namespace berth::placement::plugins {
namespace {

class ClaimsExist final : public PreEnqueue {
 public:
  std::string_view name() const override { return kDynamicResources; }
  std::optional<PodGate> check(const client::View& view, const api::Pod& pod) const override {
    return claim_gate(view, pod);
  }
};

// While a decision allocates a claim, only pods of the same group may share it.
bool taken_by_others(const PodQuery& query, model::ClaimId claim) {
  const model::Cluster& cluster = query.context->cluster;
  const std::string& group = query.pod->group;
  const model::ClaimRow& row = cluster.claim(claim);
  const auto is_foreign = [&](const std::string& uid, std::string_view pod_name) {
    if (uid == query.pod->meta.uid) return false;
    const model::PodId other = cluster.find_pod(row.key.ns, pod_name);
    return !other.valid() || !cluster.pod(other).live || group.empty() ||
           cluster.pod(other).live->group != group;
  };
  return std::ranges::any_of(
             row.bind_requests,
             [&](const auto& one) { return is_foreign(one.second->pod_uid, one.second->pod_name); }) ||
         std::ranges::any_of(row.assumed_by, [&](const std::string& uid) {
           return is_foreign(uid, cluster.assumptions().at(uid).pod.name);
         });
}

// Whether another claim holds a device of this one. The view of claims may lag: the allocation in it may
// already be released.
bool has_rival(const model::Cluster& cluster, const model::ClaimReservation& reservation) {
  return std::any_of(reservation.devices.begin(), reservation.devices.end(),
                     [&](const model::ReservedDevice& held) {
                       return held.kind == model::DeviceUseKind::Dedicated &&
                              cluster.ledger().device(held.device).holders.size() > 1;
                     });
}

std::string class_hint(const model::Cluster& cluster, std::string_view missing) {
  std::vector<std::string> names;
  for (const auto& [name, device_class] : cluster.classes())
    if (names.size() < kNamesComparedMax) names.push_back(name);
  if (names.empty()) return "the cluster has no device class";
  return names_hint(missing, names, cluster.classes().size());
}

// In a cluster of so many nodes kube-scheduler judges all of them, so a selector that fails on one that the
// other filters accept fails the pod. In larger ones its answer depends on the nodes that it samples; here
// the nodes count that are tried. Cost: a look at 100 nodes is a sixth of a decision. Source:
// minFeasibleNodesToFind.
constexpr std::size_t kNodesWithEveryErrorMax = 100;

bool has_selector_error(const SchedulingContext& context, const dra::AllocationRequest& request) {
  const auto& nodes = context.cluster.live_nodes();
  return nodes.size() <= kNodesWithEveryErrorMax && std::ranges::any_of(nodes, [&](const auto& one) {
           return context.allocator.has_selector_error(request, one.second);
         });
}

class DynamicResourcesClaims final : public PreFilter {
 public:
  std::string_view name() const override { return kDynamicResources; }
  void prepare(PodQuery& query, Diagnosis& diagnosis) const override {
    const api::Pod& pod = *query.pod;
    const model::Cluster& cluster = query.context->cluster;
    PodClaims& found = query.slots.write<PodClaims>();
    std::vector<dra::ClaimPtr> unallocated;
    for (const api::PodClaim& claim : pod.claims) {
      if (api::needs_no_claim(pod, claim)) continue;
      const std::string name = api::claim_object_name(pod, claim);
      const auto full_name = [&] { return pod.meta.ns + "/" + name; };
      const model::ClaimId id = cluster.find_claim(pod.meta.ns, name);
      if (!id.valid() || !cluster.claim(id).live)
        return diagnosis.refuse_everywhere(reason_row("ClaimNotFound"), name);
      const dra::ClaimPtr& live = cluster.claim(id).live;
      const model::ClaimReservationPtr& reservation = cluster.ledger().reservation(id);
      if (reservation && !live->allocation && taken_by_others(query, id))
        return diagnosis.refuse_everywhere(reason_row("ClaimBeingAllocated"), full_name());
      if (other_entries(*query.context, id, pod, claim) >= api::kReservedForMax)
        return diagnosis.refuse_everywhere(reason_row("ClaimFull"), full_name(),
                                           std::to_string(api::kReservedForMax));
      const bool unusable = reservation && is_unusable(*query.context, *live);
      if (reservation && !unusable && has_rival(cluster, *reservation))
        return diagnosis.refuse_everywhere(reason_row("ClaimDeviceHeldTwice"), full_name());
      found.claims.push_back({claim.name, id, reservation ? reservation->allocation : nullptr});
      if (unusable) found.claims.back().state = ClaimState::Unusable;
      if (reservation) continue;
      if (!classes_exist(query, diagnosis, *live)) return;
      unallocated.push_back(live);
    }
    if (unallocated.empty()) return;
    auto allocation_request = query.context->allocator.prepare(unallocated);
    if (!allocation_request)
      return diagnosis.fail(kDynamicResources,
                            std::string(kDynamicResourcesError) + allocation_request.error().message());
    found.allocation_request = std::move(*allocation_request);
    found.has_selector_error = has_selector_error(*query.context, *found.allocation_request);
  }
  // A claim without room for another consumer, or a class that does not exist.
  std::optional<dra::Certificate> prove(const PodQuery& query) const override {
    const api::Pod& pod = *query.pod;
    for (const api::PodClaim& named : pod.claims) {
      const api::ResourceClaim* claim =
          query.context->view.claims.find(pod.meta.ns, api::claim_object_name(pod, named));
      if (!claim) continue;
      const model::ClaimId id = query.context->cluster.find_claim(pod.meta.ns, claim->meta.name);
      const std::size_t consumers = other_entries(*query.context, id, pod, named);
      if (consumers >= api::kReservedForMax) return full_claim(*claim, consumers);
      if (claim->allocation) continue;
      for (const api::DeviceRequest& request : claim->requests)
        for (const api::DeviceSubRequest& one : request.alternatives)
          if (!query.context->cluster.classes().contains(one.device_class))
            return missing_class(query.context->cluster, *claim, request, one);
    }
    return std::nullopt;
  }

 private:
  static std::string name_of(const api::DeviceRequest& request, const api::DeviceSubRequest& one) {
    return request.prioritized ? request.name + "/" + one.name : request.name;
  }

  static dra::Certificate missing_class(const model::Cluster& cluster, const api::ResourceClaim& claim,
                                        const api::DeviceRequest& request, const api::DeviceSubRequest& one) {
    return {dra::CertificateKind::Class,
            claim.meta.name,
            request.prioritized ? name_of(request, one) : one.name,
            one.device_class,
            Quantity::of(1),
            Quantity(),
            {one.device_class},
            dra::Proof::Numbers,
            " (" + class_hint(cluster, one.device_class) + ")"};
  }

  static dra::Certificate full_claim(const api::ResourceClaim& claim, std::size_t consumers) {
    return {dra::CertificateKind::ClaimLimit,
            claim.meta.name,
            "",
            "",
            Quantity::of(static_cast<std::int64_t>(consumers + 1)),
            Quantity::of(static_cast<std::int64_t>(api::kReservedForMax)),
            {}};
  }

  static bool classes_exist(const PodQuery& query, Diagnosis& diagnosis, const api::ResourceClaim& claim) {
    for (const api::DeviceRequest& request : claim.requests)
      for (const api::DeviceSubRequest& one : request.alternatives) {
        if (query.context->cluster.classes().contains(one.device_class)) continue;
        diagnosis.refuse_everywhere(reason_row("DeviceClassMissing"), name_of(request, one), one.device_class,
                                    class_hint(query.context->cluster, one.device_class));
        return false;
      }
    return true;
  }
};

bool skips_node_operations(const api::Allocation& allocation) {
  return std::any_of(allocation.results.begin(), allocation.results.end(),
                     [](const api::DeviceResult& result) { return !result.skip_node_operations.empty(); });
}

class DynamicResourcesAllocated final : public Filter {
 public:
  std::string_view name() const override { return kDynamicResources; }
  // An allocated claim has its own set of nodes, so its pod is not signed.
  Signing sign(const PodQuery& query, PodSignature&) const override {
    const std::vector<ClaimChoice>& claims = claims_of(query).claims;
    const bool allocated = std::any_of(
        claims.begin(), claims.end(), [](const ClaimChoice& choice) { return choice.allocation != nullptr; });
    return allocated ? Signing::Unsigned : Signing::Signed;
  }
  void filter(const PodQuery& query, NodeVerdicts& verdicts) const override {
    for (const ClaimChoice& choice : claims_of(query).claims) {
      const bool unusable = choice.state == ClaimState::Unusable;
      if (!choice.allocation) continue;
      const std::optional<api::NodeSelector>& selector = choice.allocation->node_selector;
      const bool skips = skips_node_operations(*choice.allocation);
      if (selector || skips || unusable)
        verdicts.keep_if(reason_row("ClaimElsewhere"), [&](NodeId node) {
          const model::NodeRow& row = query.context->cluster.node(node);
          const api::ObjectMeta& meta = row.live->meta;
          const bool reached = !selector || api::matches(*selector, meta.labels, meta.name);
          return !unusable && reached && (!skips || dra::can_skip_operations(row));
        });
      if (is_mapped_elsewhere(query, choice))
        refuse_shared(query.context->cluster.claim(choice.claim).key.name, verdicts);
    }
  }

 private:
  static void refuse_shared(const std::string& claim, NodeVerdicts& verdicts) {
    const ReasonId reason = verdicts.diagnosis.reason(reason_row("MappedClaimShared"), claim);
    verdicts.keep_if([&](NodeId node) {
      verdicts.diagnosis.refuse(node, reason);
      return false;
    });
  }
};

// Alternatives of one request. Source: resource.k8s.io/v1 FirstAvailableDeviceRequestMaxSize.
constexpr std::int64_t kAlternativesMax = 8;

bool is_prioritized(const api::DeviceRequest& request) {
  return request.prioritized;
}

// Earlier alternatives have a higher preference.
std::int64_t preference_of(const dra::ClaimResult& result) {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < result.alternatives.size(); ++i)
    if (is_prioritized(result.claim->requests[i])) sum += kAlternativesMax - result.alternatives[i];
  return sum;
}

// Of the claims that have their devices already; equal on all nodes, but part of the scale.
std::int64_t preference_of_allocated(const PodQuery& query) {
  std::int64_t sum = 0;
  for (const ClaimChoice& choice : claims_of(query).claims) {
    const dra::ClaimPtr& claim = query.context->cluster.claim(choice.claim).live;
    if (!choice.allocation || !claim) continue;
    for (const api::DeviceRequest& request : claim->requests)
      for (std::size_t i = 0; is_prioritized(request) && i < request.alternatives.size(); ++i) {
        const std::string chosen = request.name + "/" + request.alternatives[i].name;
        if (std::any_of(choice.allocation->results.begin(), choice.allocation->results.end(),
                        [&](const api::DeviceResult& result) { return result.request == chosen; }))
          sum += kAlternativesMax - static_cast<std::int64_t>(i);
      }
  }
  return sum;
}

class DynamicResources final : public LazyFilter {
 public:
  std::string_view name() const override { return kDynamicResources; }
  QueueingHint events_to_register() const override {
    return {kEventNodeAdded | kEventNodeChanged | kEventPodGone | kEventPodResized | kEventSliceChanged |
                kEventClassChanged | kEventClaimChanged,
            asks_for_devices};
  }
  void add_interests(const SchedulingContext& context, const api::Pod& pod, PodHints& hints) const override {
    hints.events |= kEventNodeAdded | kEventNodeChanged;
    if (context.cluster.devices_take_of_nodes()) hints.events |= kEventPodGone | kEventPodResized;
    add_device_hints(context, pod, hints);
  }
  // A pod that ends frees devices with its claim only, unless they take of the node. Where device plugins
  // serve a resource depends on the node's amounts.
  void add_hints(const PodQuery& query, const FitError&, PodHints& hints) const override {
    if (claims_of(query).extended || may_take_of_node(query))
      return add_interests(*query.context, *query.pod, hints);
    add_node_hints(hints);
    add_device_hints(*query.context, *query.pod, hints);
  }
  void add_facts(const ClusterChange& change, ChangeFacts& facts) const override {
    add_device_facts(change, facts);
  }
  Signing sign(const PodQuery& query, PodSignature& signature) const override {
    const PodClaims& pod = claims_of(query);
    if (pod.extended && may_take_of_node(query)) return Signing::Unsigned;
    if (pod.extended) sign_extended_resources(query, signature);
    if (!signature.begin(name())) return Signing::Signed;
    signature.put(pod.allocation_request ? pod.allocation_request->signature() : 0);
    if (pod.extended && sign_extended_claim(query, signature) == Signing::Unsigned) return Signing::Unsigned;
    return sign_container_counts(query, signature);
  }
  bool wanted(const PodQuery& query) const override {
    const PodClaims& pod = claims_of(query);
    return pod.allocation_request || pod.extended || may_take_of_node(query);
  }

  bool expects_error(const PodQuery& query) const override { return claims_of(query).has_selector_error; }
  bool prefers(const PodQuery& query) const override {
    const std::vector<ClaimChoice>& claims = claims_of(query).claims;
    return std::any_of(claims.begin(), claims.end(), [&](const ClaimChoice& choice) {
      const dra::ClaimPtr& claim = query.context->cluster.claim(choice.claim).live;
      return !choice.allocation && claim &&
             std::any_of(claim->requests.begin(), claim->requests.end(), is_prioritized);
    });
  }

  bool accepts(const NodeTrial& trial) const override {
    const Result<NodeRequest> request = allocation_request_for(trial.query, trial.node);
    if (!request) return trial.refuse(reason_row("InvalidClaims"), request.error().message());
    if (prefers(trial.query)) trial.choice.preference += preference_of_allocated(trial.query);
    const std::int64_t preference = trial.choice.preference;
    trial.choice.slots.write<NodeDevices>().extended = request->extended;
    if (request->devices && !found_devices(trial, *request->devices)) return false;
    Tried tried = Tried::Everything;
    if (const auto lacking = shortage_by_devices(trial))
      tried = choose_others(trial, *request->devices, *lacking, preference);
    return trial.diagnosis.error().empty() && has_room_for_devices(trial, tried);
  }

  bool explains(const PodQuery& query, const Reason& reason) const override {
    if (reason == reason_row("CannotAllocateClaims") || reason == reason_row("InvalidResourcePools"))
      return true;
    const bool lacks = reason == reason_row("InsufficientResource") ||
                       reason == reason_row("InsufficientAllocatable") ||
                       reason == reason_row("InsufficientResourceOfTried") ||
                       reason == reason_row("InsufficientAllocatableOfTried");
    return lacks && may_take_of_node(query);
  }
  // Empty if the node has no room for the pod's own requests.
  std::string explain(const PodQuery& query, NodeId node) const override {
    if (!fits(query, node, query.context->cluster.pod(query.pod_id).requests)) return "";
    const Result<NodeRequest> request = allocation_request_for(query, node);
    if (!request) return "";
    if (!request->devices) return takes_text(query, {});
    dra::AllocationVerdict verdict =
        query.context->allocator.allocate(*request->devices, node, dra::Explain::Words);
    if (auto* found = std::get_if<dra::Allocations>(&verdict)) {
      std::vector<std::shared_ptr<const api::Allocation>> allocations;
      for (dra::ClaimResult& result : found->claims) allocations.push_back(std::move(result.allocation));
      return takes_text(query, allocations);
    }
    const auto* no = std::get_if<dra::Impossible>(&verdict);
    return no ? no->reason : "";
  }
  std::optional<dra::Certificate> prove(const PodQuery& query, NodeId node) const override {
    const auto& allocation_request = claims_of(query).allocation_request;
    if (!allocation_request) return std::nullopt;
    const dra::AllocationVerdict verdict =
        query.context->allocator.allocate(*allocation_request, node, dra::Explain::Words);
    const auto* no = std::get_if<dra::Impossible>(&verdict);
    return no ? no->certificate : std::nullopt;
  }

 private:
  // The chosen devices take more of `lacking` than the node has; others may take less. kube-scheduler stops
  // at the first choice, which is kept if no other fits.
  static Tried choose_others(const NodeTrial& trial, const dra::AllocationRequest& request,
                             model::ResourceId lacking, std::int64_t preference_before) {
    const std::int64_t preference = trial.choice.preference;
    auto& allocations = trial.choice.slots.write<NodeDevices>().allocations;
    auto first = allocations;
    Tried tried = takes_least(trial, lacking) ? Tried::Everything : Tried::Some;
    {
      DeviceExclusion leaving_out(trial);
      if (chose_less(trial, request, lacking, preference_before, leaving_out)) return Tried::Everything;
    }
    allocations = first;
    if (tried == Tried::Some) {
      DeviceExclusion leaving_out(trial);
      if (leaving_out.exclude_too_large(lacking)) {
        dra::AllocationVerdict verdict = allocate(trial, request);
        if (std::holds_alternative<dra::Impossible>(verdict)) tried = Tried::Everything;
        if (auto* found = std::get_if<dra::Allocations>(&verdict)) {
          retake(trial, *found, preference_before);
          const auto still_lacking = shortage_by_devices(trial);
          if (!still_lacking || chose_less(trial, request, *still_lacking, preference_before, leaving_out))
            return Tried::Everything;
        }
      }
    }
    allocations.swap(first);
    trial.choice.preference = preference;
    return tried;
  }

  // Leaves out the device that takes most, again and again, until a choice fits. False: none did.
  static bool chose_less(const NodeTrial& trial, const dra::AllocationRequest& request,
                         model::ResourceId lacking, std::int64_t preference_before,
                         DeviceExclusion& leaving_out) {
    for (int i = 0; i < kDevicesLeftOutMax; ++i) {
      if (!leaving_out.exclude_largest_consumer(lacking)) return false;
      dra::AllocationVerdict verdict = allocate(trial, request);
      auto* found = std::get_if<dra::Allocations>(&verdict);
      if (!found) return false;
      retake(trial, *found, preference_before);
      const auto still_lacking = shortage_by_devices(trial);
      if (!still_lacking) return true;
      lacking = *still_lacking;
    }
    return false;
  }

  static dra::AllocationVerdict allocate(const NodeTrial& trial, const dra::AllocationRequest& request) {
    return trial.query.context->allocator.allocate(request, trial.node, dra::Explain::Nothing);
  }

  static void retake(const NodeTrial& trial, dra::Allocations& found, std::int64_t preference_before) {
    trial.choice.slots.write<NodeDevices>().allocations.clear();
    trial.choice.preference = preference_before;
    take(trial, found);
  }

  static void take(const NodeTrial& trial, dra::Allocations& found) {
    NodeDevices& devices = trial.choice.slots.write<NodeDevices>();
    for (dra::ClaimResult& result : found.claims) {
      trial.choice.preference += preference_of(result);
      devices.allocations.push_back(std::move(result.allocation));
    }
  }

  static bool found_devices(const NodeTrial& trial, const dra::AllocationRequest& request) {
    dra::AllocationVerdict verdict = allocate(trial, request);
    if (auto* found = std::get_if<dra::Allocations>(&verdict)) {
      take(trial, *found);
      return true;
    }
    if (const auto* no = std::get_if<dra::Impossible>(&verdict))
      return trial.refuse(no->invalid_pools ? reason_row("InvalidResourcePools")
                                            : reason_row("CannotAllocateClaims"));
    if (const auto* failed = std::get_if<dra::AllocationError>(&verdict)) {
      trial.diagnosis.fail(kDynamicResources, std::string(kDynamicResourcesError) + failed->error,
                           failed->hint);
      return false;
    }
    return trial.refuse(reason_row("SearchEnded"));
  }
};

}  // namespace

std::unique_ptr<PreEnqueue> claims_exist() {
  return std::make_unique<ClaimsExist>();
}
std::unique_ptr<PreFilter> dynamic_resources_claims() {
  return std::make_unique<DynamicResourcesClaims>();
}
std::unique_ptr<Filter> dynamic_resources_allocated() {
  return std::make_unique<DynamicResourcesAllocated>();
}
std::unique_ptr<LazyFilter> dynamic_resources() {
  return std::make_unique<DynamicResources>();
}

}  // namespace berth::placement::plugins
