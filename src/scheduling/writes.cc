#include "scheduling/writes.h"

#include <algorithm>

#include "api/types/claim_consumer.h"
#include "base/known_defects.h"
#include "client/claim_writes.h"
#include "client/request_writes.h"
#include "placement/decision_core.h"
#include "placement/refusal/berth_words.h"
#include "placement/refusal/kubernetes_words.h"

namespace berth::scheduling {

namespace {

// `failed`: the pod's earlier decision; null: it has none.
client::Write decision_write(api::BindRequest request, const api::BindRequest* failed, bool in_memory) {
  if (failed && failed->in_memory) return client::change_kept_request(*failed, std::move(request));
  if (!failed && in_memory) return client::keep_request(std::move(request));
  client::Write write =
      client::create(api::Kind::BindRequest, request.meta.ns, api::bind_request_object(request));
  if (!failed) return write;
  write.request.verb = client::Verb::Update;
  write.request.body = to_string(api::replacing_object(*failed, request));
  return write;
}

}  // namespace

client::Chain bind_chain(const client::View& view, const BindRequestDraft& binding,
                         const api::BindGroup& group, const std::string& decision, const LoopState& loop) {
  const api::ObjectMeta& pod = binding.pod->meta;
  api::BindRequest request = placement::bind_request(binding, group, decision, loop.leadership);
  const api::BindRequest* known = view.bind_requests.find(pod.ns, request.meta.name);
  const api::BindRequest* failed = known && known->pod_uid == pod.uid ? known : nullptr;
  client::Chain chain{client::key_of(api::Kind::BindRequest, request.meta), {}};
  chain.writes.push_back(decision_write(std::move(request), failed, loop.options.records_in_memory));
  chain.writes.back().mark = client::Write::Mark{{"spec", "decisionID"}, decision};
  return chain;
}

void renew_reservations(const client::View& view, const BindRequestDraft& binding,
                        const std::string& decision, std::set<std::string>& renewed, client::Chain& chain) {
  if (has(KnownDefect::ReservationNotRenewed)) return;
  const api::ObjectMeta& pod = binding.pod->meta;
  for (const api::ClaimAllocation& kept : binding.reservation.claims) {
    const api::ResourceClaim* claim = view.claims.find(pod.ns, kept.claim_name);
    if (claim && api::is_reserved_for(*claim, *binding.pod) && renewed.insert(kept.claim_name).second)
      chain.writes.insert(chain.writes.begin(), client::renew_reservation(*claim, decision));
  }
}

void add_once(client::Effects& effects, const client::Chain& chain) {
  for (const client::Chain& one : effects.chains)
    if (one.key == chain.key) return;
  effects.chains.push_back(chain);
}

bool refused_by_budget(const client::ApiReply& reply) {
  constexpr int kTooManyRequests = 429;
  return reply.code == kTooManyRequests && reply.message == client::kBudgetRefuses;
}

bool has_minimum(const GroupInput& input) {
  const auto placed = std::max(input.scheduled, static_cast<std::int32_t>(input.placed.size()));
  return placed >= std::max(1, input.group->minimum());
}

api::Condition pod_unscheduled(const api::Pod& pod, const std::string& reason, const std::string& message,
                               Time now) {
  return {"PodScheduled", "False", reason, message, now, pod.meta.generation};
}

SchedulingFailure failure_of(const placement::Refusal& refusal, const std::string& decision,
                             Duration reword_after) {
  return {std::string(placement::condition_reason(refusal.result)), placement::kubernetes_sentence(refusal),
          placement::explanation_of(refusal), decision, reword_after};
}

SchedulingFailure failure_of_member(const placement::MemberOutcome& member, const placement::Refusal& group,
                                    const std::string& decision) {
  return {std::string(placement::condition_reason(group.result)),
          placement::kubernetes_sentence_of_member(member.refusal.get(), group),
          placement::explanation_of_member(member.closest.get(), group), decision, kMemberRewordAfter};
}

WantedCondition refused_pod(const api::Pod& pod, const SchedulingFailure& refusal, Time now,
                            std::string nominated) {
  const std::string message = placement::joined(refusal.sentence, refusal.explanation);
  return {client::key_of(api::Kind::Pod, pod.meta),
          pod.meta.uid,
          pod_unscheduled(pod, refusal.reason, refusal.sentence, now),
          wording_class(refusal.sentence),
          refusal.reword_after,
          failed_scheduling(pod, message, refusal.decision),
          std::move(nominated)};
}

client::EventNote failed_scheduling(const api::Pod& pod, const std::string& message,
                                    const std::string& decision) {
  client::EventNote event;
  event.regarding = client::key_of(api::Kind::Pod, pod.meta);
  event.regarding_uid = pod.meta.uid;
  event.warning = true;
  event.reason = "FailedScheduling";
  event.action = "Scheduling";
  event.message = message;
  event.decision_id = decision;
  event.component = pod.scheduler_name;
  return event;
}

}  // namespace berth::scheduling
