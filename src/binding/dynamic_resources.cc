#include "binding/dynamic_resources.h"

#include <algorithm>
#include <tuple>

#include "api/types/device_readiness.h"
#include "base/known_defects.h"
#include "binding/extended_claim.h"
#include "binding/pending_allocations.h"
#include "binding/reservation.h"
#include "binding/seal.h"
#include "client/claim_writes.h"

namespace berth::binding {
namespace {

using api::FailureClass;
using client::Chain;

using DeviceKey = std::tuple<std::string, std::string, std::string, std::string, std::string, bool>;

DeviceKey key_of_result(const api::DeviceResult& result) {
  return {result.request, result.driver, result.pool, result.device, result.share_id, result.admin_access};
}

std::vector<const api::DeviceResult*> sorted(const api::Allocation& allocation) {
  std::vector<const api::DeviceResult*> results;
  for (const api::DeviceResult& result : allocation.results) results.push_back(&result);
  std::sort(results.begin(), results.end(),
            [](const auto* a, const auto* b) { return key_of_result(*a) < key_of_result(*b); });
  return results;
}

Failed choose_again(std::string reason, std::string message) {
  return {FailureClass::OtherPlacement, std::move(reason), std::move(message)};
}

const api::ResourceClaim* find_claim(const BindContext& context, const api::ClaimAllocation& wanted) {
  if (wanted.extended) return find_extended_claim(context, wanted);
  const api::ResourceClaim* claim = context.view.claims.find(context.request.meta.ns, wanted.claim_name);
  return claim && claim->meta.uid == wanted.claim_uid ? claim : nullptr;
}

bool was_reserved_once(const BindContext& context) {
  const api::BindStep step = context.request.step;
  return !context.committed &&
         (step == api::BindStep::WaitingForDevices || step == api::BindStep::WaitingForGang);
}

bool is_mapped(const api::BindRequest& request, const std::string& claim) {
  return std::any_of(
      request.node_allocatable.begin(), request.node_allocatable.end(),
      [&](const api::NodeAllocatableClaim& one) { return one.claim_name == claim && !one.mapping.empty(); });
}

// The name of another claim that has the device or a pending allocation of it; empty: none.
std::string holder_of(const BindContext& context, const api::DeviceResult& device,
                      std::string_view claim_uid) {
  for (const api::ResourceClaim* holder : context.view.claims_holding_device(device))
    if (holder->meta.uid != claim_uid) return holder->meta.name;
  return context.pending ? context.pending->holder_of(context.view, device, claim_uid) : "";
}

// The failure if this claim can no longer be used as decided.
std::optional<Failed> lost(const BindContext& context, const api::ClaimAllocation& wanted,
                           const api::ResourceClaim& claim) {
  const std::string name = "claim " + wanted.claim_name;
  if (claim.meta.deleting()) return choose_again("ClaimDeleting", name + " is being deleted");
  if (claim.allocation && !same_devices(*claim.allocation, wanted.allocation) &&
      !has(KnownDefect::DifferentAllocationKept))
    return choose_again("ClaimAllocatedElsewhere", name + " got allocated elsewhere");
  if (is_reserved(context, wanted, claim)) return std::nullopt;
  if (!claim.allocation)
    for (const api::DeviceResult& device : wanted.allocation.results)
      if (const std::string holder = holder_of(context, device, claim.meta.uid); !holder.empty())
        return choose_again(
            std::string(api::kDeviceTaken),
            name + " cannot get device " + device.device + ": claim " + holder + " has it, or is about to");
  if (!claim.reserved_for.empty() && is_mapped(context.request, wanted.claim_name))
    return choose_again("ClaimNotShareable", name +
                                                 " has a device that is itself a resource of the node, and " +
                                                 claim.reserved_for.front().name + " has it");
  if (was_reserved_once(context))
    return choose_again("ClaimDeallocated", name + " was taken from the pod while it waited to be bound");
  if (claim.reserved_for.size() >= api::kReservedForMax)
    return choose_again("ClaimFullyReserved", name + " is reserved for " +
                                                  std::to_string(api::kReservedForMax) +
                                                  " consumers already, the most a claim can have");
  return std::nullopt;
}

// kube-scheduler's sentence, followed by condition, device and node.
Failed conditions_failed(const BindContext& context, const std::string& claim,
                         const api::ConditionFailure& failure) {
  const std::vector<std::string>& benign = context.options.benign_failure_conditions;
  const bool is_benign = std::find(benign.begin(), benign.end(), failure.condition) != benign.end();
  return choose_again(std::string(is_benign ? api::kBenignConditionsFailed : api::kBindingConditionsFailed),
                      api::failure_text(claim, failure) + ": condition " + failure.condition + " of device " +
                          failure.device + " on node " + context.request.node + " is True");
}

Failed conditions_timed_out(const BindContext& context, const std::string& claim,
                            const api::DeviceReadiness& readiness) {
  const std::int64_t seconds = context.options.binding_timeout.whole_seconds();
  return choose_again(std::string(api::kBindingTimeout),
                      "device binding timeout: claim=" + claim + ": condition " +
                          readiness.pending_condition + " of device " + readiness.pending_device +
                          " on node " + context.request.node + " was not True within " +
                          std::to_string(seconds) + "s");
}

Time deadline_of(const BindContext& context, const api::ResourceClaim& claim) {
  const Time own = api::binding_deadline(claim, context.options.binding_timeout);
  return own.is_set() ? own : context.first_seen + context.options.binding_timeout;
}

struct Found {
  const api::ClaimAllocation* wanted;
  const api::ResourceClaim* claim;
};

// A failure of any claim precedes a timeout of another.
PreBindResult device_verdict(const BindContext& context, const std::vector<Found>& claims) {
  Waiting waiting{{}, "", "BindingConditionsPending"};
  std::optional<Failed> late;
  for (const auto& [wanted, claim] : claims) {
    const api::DeviceReadiness readiness = api::readiness_of(*claim);
    if (readiness.failure) return conditions_failed(context, wanted->claim_name, *readiness.failure);
    if (readiness.ready()) continue;
    const Time deadline = deadline_of(context, *claim);
    if (deadline.is_set() && context.now >= deadline && !late)
      late = conditions_timed_out(context, wanted->claim_name, readiness);
    if (deadline.is_set() && (!waiting.until.is_set() || deadline < waiting.until)) waiting.until = deadline;
    if (waiting.why.empty())
      waiting.why = "waiting for binding conditions for device on node " + context.request.node;
  }
  if (late) return *late;
  if (waiting.why.empty()) return Ready{};
  return waiting;
}

// `creates`: chains for extended-resource claims that do not exist yet.
PreBindResult find_claims(const BindContext& context, std::vector<Found>& found,
                          std::vector<Chain>& creates) {
  for (const api::ClaimAllocation& wanted : context.request.claims) {
    const api::ResourceClaim* claim = find_claim(context, wanted);
    if (!claim && wanted.extended && !was_reserved_once(context)) {
      if (extended_name_is_taken(context, wanted))
        return Failed{FailureClass::Permanent, "ClaimNameTaken",
                      "claim " + wanted.claim_name + " belongs to another object"};
      creates.push_back(create_extended_claim(context, wanted));
      continue;
    }
    if (!claim && context.now < context.first_seen + kInformerLagGrace)
      return Waiting{context.first_seen + kInformerLagGrace, "claim " + wanted.claim_name + " is not seen",
                     ""};
    if (!claim)
      return choose_again("ClaimNotFound", "claim " + wanted.claim_name + " with UID " + wanted.claim_uid +
                                               " does not exist any more");
    if (auto failed = lost(context, wanted, *claim)) return *std::move(failed);
    found.push_back({&wanted, claim});
  }
  return Ready{};
}

// Writes what the pod's devices take of the node (KEP-5517) to the pod's status. None if it is there.
std::optional<client::Write> write_node_allocatable(const api::Pod& pod,
                                                    const api::NodeAllocatableClaims& wanted) {
  if (pod.node_allocatable == wanted) return std::nullopt;
  const Json status = Json::object({{"nodeAllocatableResourceClaimStatuses", api::to_json(wanted)}});
  return client::merge_patch(client::key_of(api::Kind::Pod, pod.meta), Json::object({{"status", status}}),
                             pod.meta.uid, pod.meta.resource_version, "status");
}

class DynamicResources final : public Plugin {
 public:
  std::string_view name() const override { return kDynamicResourcesName; }
  api::FieldErrors validate(const api::Pod& pod, const BinderOptions&) const override;
  PreBindStep pre_bind(const BindContext& context) const override;
  std::vector<client::Write> before_binding(const BindContext& context) const override;
  std::vector<Chain> rollback(const BindContext& context) const override;
};

api::FieldErrors DynamicResources::validate(const api::Pod& pod, const BinderOptions&) const {
  api::FieldErrors errors;
  const api::FieldPath spec("spec");
  for (std::size_t i = 0; i < pod.claims.size(); ++i)
    if (pod.claims[i].claim_name.empty() == pod.claims[i].template_name.empty())
      errors.push_back(api::invalid(spec.child("resourceClaims").index(i), pod.claims[i].name,
                                    "must name either a claim or a template"));
  const auto is_listed = [&pod](const api::ContainerClaim& used) {
    return std::any_of(pod.claims.begin(), pod.claims.end(),
                       [&used](const api::PodClaim& claim) { return claim.name == used.name; });
  };
  const auto check = [&](std::string_view list, const std::vector<api::Container>& containers) {
    for (std::size_t i = 0; i < containers.size(); ++i)
      for (const api::ContainerClaim& used : containers[i].claims)
        if (!is_listed(used))
          errors.push_back(api::not_found(
              spec.child(list).index(i).child("resources").child("claims"), used.name,
              "container " + containers[i].name + " uses a claim that spec.resourceClaims does not list"));
  };
  check("initContainers", pod.init_containers);
  check("containers", pod.containers);
  return errors;
}

PreBindStep DynamicResources::pre_bind(const BindContext& context) const {
  PreBindStep step{{}, Ready{}};
  std::vector<Found> found;
  std::vector<Chain> creates;
  step.verdict = find_claims(context, found, creates);
  if (!std::holds_alternative<Ready>(step.verdict)) return step;
  PreBindResult devices =
      context.options.binding_conditions ? device_verdict(context, found) : PreBindResult(Ready{});
  if (std::holds_alternative<Failed>(devices)) return {{}, std::move(devices)};
  std::optional<Waiting> opening;
  for (const auto& [wanted, claim] : found) {
    if (claim->allocation && is_reserved(context, *wanted, *claim)) {
      auto told = wanted->extended ? tell_pod(context, *wanted) : std::nullopt;
      if (told) step.chains.push_back(*std::move(told));
    } else if (const auto until = wait_for_opening(context, *claim)) {
      opening =
          Waiting{*until, "claim " + wanted->claim_name + " is about to be reserved for another pod", ""};
    } else {
      step.chains.push_back(reserve(context, *claim, *wanted));
    }
  }
  for (Chain& create : creates) step.chains.push_back(std::move(create));
  if (!step.chains.empty()) return step;
  step.verdict = opening ? PreBindResult(*std::move(opening)) : std::move(devices);
  return step;
}

std::vector<client::Write> DynamicResources::before_binding(const BindContext& context) const {
  std::vector<client::Write> writes;
  if (auto write = write_node_allocatable(*context.pod, context.request.node_allocatable))
    writes.push_back(*std::move(write));
  return writes;
}

std::vector<Chain> DynamicResources::rollback(const BindContext& context) const {
  std::vector<Chain> chains;
  for (const api::ClaimAllocation& wanted : context.request.claims) {
    const api::ResourceClaim* claim = find_claim(context, wanted);
    if (!claim || has(KnownDefect::FailedBindingKeepsClaims)) continue;
    const bool ours = claim->reserved_by(context.request.pod_uid);
    const api::ObjectKey key = client::key_of(api::Kind::ResourceClaim, claim->meta);
    if (wanted.extended && !ours) {
      if (!claim->meta.deleting()) chains.push_back({key, {client::delete_object(key, claim->meta.uid)}});
      continue;
    }
    if (!ours && !claim->allocation) {
      if (has(KnownDefect::LateAllocationNotSealed)) continue;
      if (auto sealed = seal(context, api::Kind::ResourceClaim, claim->meta))
        chains.push_back(*std::move(sealed));
      continue;
    }
    const bool unusable = !api::readiness_of(*claim).ready();
    if (!ours && !unusable) continue;
    const bool as_decided = claim->allocation && same_devices(*claim->allocation, wanted.allocation);
    if (auto chain =
            release(context, *claim, as_decided ? LastOneOut::Deallocates : LastOneOut::KeepsAllocation))
      chains.push_back(*std::move(chain));
  }
  if (context.pod && !context.request.node_allocatable.empty())
    if (auto cleared = write_node_allocatable(*context.pod, {}))
      chains.push_back({client::key_of(api::Kind::Pod, context.pod->meta), {*std::move(cleared)}});
  return chains;
}

}  // namespace

bool same_devices(const api::Allocation& a, const api::Allocation& b) {
  const auto left = sorted(a), right = sorted(b);
  return std::equal(left.begin(), left.end(), right.begin(), right.end(), [](const auto* x, const auto* y) {
    return key_of_result(*x) == key_of_result(*y) && x->consumed_capacity == y->consumed_capacity;
  });
}

std::unique_ptr<const Plugin> make_dynamic_resources() {
  return std::make_unique<DynamicResources>();
}

}  // namespace berth::binding
