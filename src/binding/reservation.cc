#include "binding/reservation.h"

#include <algorithm>
#include <set>

#include "base/known_defects.h"
#include "binding/gang.h"
#include "binding/request_status.h"
#include "client/claim_writes.h"

namespace berth::binding {
namespace {

using client::Write;

// A claim in use: a consumer can be added without any other write.
bool is_open(const api::ResourceClaim& claim) {
  return claim.allocation && !claim.reserved_for.empty() && claim.meta.has_finalizer(api::kClaimFinalizer);
}

Write add_finalizer(const api::ObjectKey& key, const api::ResourceClaim& claim) {
  std::vector<std::string> finalizers = claim.meta.finalizers;
  finalizers.emplace_back(api::kClaimFinalizer);
  Json patch = Json::object();
  patch["metadata"]["finalizers"] = api::to_json(finalizers);
  return client::merge_patch(key, std::move(patch), claim.meta.uid, claim.meta.resource_version);
}

Write reserve_on_version(const BindContext& context, const api::ObjectKey& key,
                         const api::ResourceClaim& claim, const api::ClaimAllocation& wanted) {
  Json status = Json::object();
  if (!claim.allocation) {
    api::Allocation allocation = wanted.allocation;
    allocation.timestamp = context.options.binding_conditions ? context.now : Time();
    status["allocation"] = api::to_json(allocation);
  }
  JsonArray consumers;
  for (const api::ClaimConsumer& consumer : claim.reserved_for) consumers.push_back(api::to_json(consumer));
  consumers.push_back(api::to_json(consumer_for(context, wanted, claim)));
  status["reservedFor"] = std::move(consumers);
  return client::merge_patch(key, Json::object({{"status", std::move(status)}}), claim.meta.uid,
                             claim.meta.resource_version, "status");
}

// The request is rolling back and no binding of it has landed or can land, so its pod will not use the
// reservation.
bool gives_back(const client::View& view, const api::BindRequest& request) {
  if (has_ended(request) || request.step != api::BindStep::RollingBack) return false;
  const api::Pod* pod = view.pods.find(request.meta.ns, request.pod_name);
  if (!pod || pod->meta.uid != request.pod_uid) return true;
  if (pod->bound()) return false;
  const bool may_be_bound = Gang(view, request).committed() && !pod->meta.deleting() && !pod->finished();
  return !may_be_bound || is_sealed(*pod, request);
}

std::vector<const api::BindRequest*> requests_of(const BindContext& context,
                                                 const api::ResourceClaim& claim) {
  return context.view.bind_requests_of_claim(claim.meta.ns, claim.meta.name);
}

}  // namespace

api::ClaimConsumer consumer_for(const BindContext& context, const api::ClaimAllocation& wanted,
                                const api::ResourceClaim& claim) {
  const api::PodGroup* group = group_of(context.view, context.request);
  if (group && api::is_claim_of(*group, wanted.name, claim)) return api::consumer_of(*group);
  return {"", "pods", context.request.pod_name, context.request.pod_uid};
}

bool is_reserved(const BindContext& context, const api::ClaimAllocation& wanted,
                 const api::ResourceClaim& claim) {
  return claim.reserved_by(context.request.pod_uid) ||
         claim.reserved_by(consumer_for(context, wanted, claim).uid);
}

std::optional<Time> wait_for_opening(const BindContext& context, const api::ResourceClaim& claim) {
  if (is_open(claim)) return std::nullopt;
  const Time until = context.first_seen + kOpeningGrace;
  if (context.now >= until) return std::nullopt;
  for (const api::BindRequest* request : requests_of(context, claim))
    if (!has_ended(*request) && !is_failing(*request))
      return request == &context.request ? std::nullopt : std::optional(until);
  return std::nullopt;
}

client::Chain reserve(const BindContext& context, const api::ResourceClaim& claim,
                      const api::ClaimAllocation& wanted) {
  const api::ObjectKey key = client::key_of(api::Kind::ResourceClaim, claim.meta);
  if (is_open(claim) && !context.on_version)
    return {key, {client::add_consumer(claim, consumer_for(context, wanted, claim))}};
  client::Chain chain{key, {}};
  Write status = reserve_on_version(context, key, claim, wanted);
  if (!claim.meta.has_finalizer(api::kClaimFinalizer) && !has(KnownDefect::ClaimWithoutFinalizer)) {
    chain.writes.push_back(add_finalizer(key, claim));
    status.on_previous_version = true;
  }
  chain.writes.push_back(std::move(status));
  return chain;
}

bool allocates_claim(const client::Chain& chain) {
  return chain.key.kind == api::Kind::ResourceClaim && !chain.writes.empty() &&
         chain.writes.back().request.subresource == "status" &&
         chain.writes.back().request.verb == client::Verb::MergePatch;
}

std::optional<client::Chain> release(const BindContext& context, const api::ResourceClaim& claim,
                                     LastOneOut last) {
  std::set<std::string_view> leaving = {context.request.pod_uid};
  for (const api::BindRequest* request : requests_of(context, claim))
    if (gives_back(context.view, *request)) leaving.insert(request->pod_uid);
  std::vector<api::ClaimConsumer> staying;
  for (const api::ClaimConsumer& consumer : claim.reserved_for)
    if (!leaving.contains(consumer.uid)) staying.push_back(consumer);
  const api::ObjectKey key = client::key_of(api::Kind::ResourceClaim, claim.meta);
  if (staying.empty() && last == LastOneOut::Deallocates && claim.allocation)
    return client::Chain{key, {client::clear_allocation(claim)}};
  if (!claim.reserved_by(context.request.pod_uid)) return std::nullopt;
  return client::Chain{key, {client::keep_consumers(claim, staying)}};
}

}  // namespace berth::binding
