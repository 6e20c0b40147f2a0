#include "scheduling/keepers/term_seals.h"

#include "api/types/claim_consumer.h"
#include "client/claim_writes.h"
#include "scheduling/writes.h"

namespace berth::scheduling {
namespace {

bool may_be_allocated_late(const api::ResourceClaim& claim) {
  return !claim.allocation && !claim.meta.deleting() && claim.meta.has_finalizer(api::kClaimFinalizer);
}

// A pod with a BindRequest is known to be decided and needs no seal.
bool may_be_bound_late(const client::View& view, const api::Pod& pod) {
  return !pod.bound() && !pod.finished() && !pod.meta.deleting() &&
         view.bind_requests_of_pod(pod.meta.ns, pod.meta.name).empty();
}

// The pods that this reservation is for.
std::vector<const api::Pod*> pods_of(const client::View& view, const api::ResourceClaim& claim,
                                     const api::ClaimConsumer& consumer) {
  if (!api::is_group(consumer)) {
    const api::Pod* pod =
        consumer.resource == "pods" ? view.pods.find(claim.meta.ns, consumer.name) : nullptr;
    return pod && pod->meta.uid == consumer.uid ? std::vector{pod} : std::vector<const api::Pod*>();
  }
  std::vector<const api::Pod*> members = view.pods_using_claim(claim.meta.ns, claim.meta.name);
  std::erase_if(members, [&](const api::Pod* pod) { return pod->group != consumer.name; });
  return members;
}

std::optional<client::Write> seal(const client::View& view, const api::ObjectKey& key,
                                  const std::string& term, Time now) {
  if (key.kind == api::Kind::ResourceClaim) {
    const api::ResourceClaim* claim = view.claims.find(key.ns, key.name);
    if (!claim || !may_be_allocated_late(*claim)) return std::nullopt;
    return client::seal_claim(*claim, term);
  }
  const api::Pod* pod = view.pods.find(key.ns, key.name);
  if (!pod || !may_be_bound_late(view, *pod)) return std::nullopt;
  return client::condition_patch(
      key, pod->meta,
      pod_unscheduled(*pod, "SchedulerError",
                      "the scheduler ended while it bound the pod; its devices are kept (" + term + ")",
                      now));
}

}  // namespace

void TermSeals::begin(const client::View& view, std::string term, Time now) {
  term_ = std::move(term);
  for (const auto& [name, claim] : view.claims.all()) {
    if (may_be_allocated_late(*claim))
      writes_.want(client::key_of(api::Kind::ResourceClaim, claim->meta), now);
    for (const api::ClaimConsumer& consumer : claim->reserved_for) {
      for (const api::Pod* pod : pods_of(view, *claim, consumer))
        if (may_be_bound_late(view, *pod)) writes_.want(client::key_of(api::Kind::Pod, pod->meta), now);
    }
  }
}

client::Effects TermSeals::due(const client::View& view, Time now) {
  client::Effects effects;
  while (effects.chains.size() < kSealsPerWriteMax) {
    const std::optional<api::ObjectKey> key = writes_.next(now);
    if (!key) break;
    if (std::optional<client::Write> write = seal(view, *key, term_, now))
      effects.chains.push_back({*key, {*std::move(write)}});
    else
      writes_.erase(*key);
  }
  return effects;
}

bool TermSeals::write_done(const api::ObjectKey& key, bool ok, Time now) {
  if (!writes_.write_done(key, ok, now)) return false;
  if (ok) writes_.erase(key);
  return true;
}

}  // namespace berth::scheduling
