#include "scheduling/writes.h"

namespace berth::scheduling {
namespace {

client::Chain condition_chain(const api::ObjectKey& key, const std::string& uid,
                              const api::Condition& condition) {
  client::Write write;
  write.request.verb = client::Verb::StrategicPatch;
  write.request.resource = api::ref_of(key.kind);
  write.request.ns = key.ns;
  write.request.name = key.name;
  write.request.subresource = "status";
  const Json patch =
      Json::object({{"metadata", Json::object({{"uid", uid}})},
                    {"status", Json::object({{"conditions", Json::array({api::to_json(condition)})}})}});
  write.request.body = to_string(patch);
  return {key, {std::move(write)}, {}};
}

bool says(const api::Condition* now, const api::Condition& wanted) {
  return now && now->status == wanted.status && now->reason == wanted.reason &&
         now->message == wanted.message;
}

}  // namespace

std::vector<api::ClaimAllocation> claim_allocations(const World& world,
                                                    const std::vector<ClaimChoice>& claims) {
  std::vector<api::ClaimAllocation> allocations;
  for (const ClaimChoice& choice : claims) {
    const model::ClaimRow& row = world.cluster.claim(choice.claim);
    allocations.push_back(
        {choice.pod_claim, row.key.name, row.live ? row.live->meta.uid : "", *choice.allocation});
    if (choice.extended) allocations.back().extended = *choice.extended;
  }
  return allocations;
}

client::Chain bind_chain(const Binding& binding, const api::BindGroup& group, const std::string& decision) {
  const api::ObjectMeta& pod = binding.pod->meta;
  api::BindRequest request;
  request.meta.ns = pod.ns;
  request.meta.name = api::bind_request_name(pod.name, pod.uid);
  request.pod_name = pod.name;
  request.pod_uid = pod.uid;
  request.node = binding.node;
  request.group = group;
  request.decision_id = decision;
  request.claims = binding.claims;
  if (binding.node_allocatable) request.node_allocatable = *binding.node_allocatable;
  request.backoff_limit = binding.backoff_limit;
  client::Chain chain;
  chain.key = {api::Kind::BindRequest, pod.ns, request.meta.name, {}};
  client::Write create = client::create(api::Kind::BindRequest, pod.ns, api::bind_request_object(request));
  create.fine_reasons = {"AlreadyExists"};
  chain.writes.push_back(std::move(create));
  chain.undo.push_back(client::delete_object(chain.key, ""));
  chain.undo.back().of_created_uid = true;
  return chain;
}

std::optional<client::Chain> pod_condition(const api::Pod& pod, const std::string& reason,
                                           const std::string& message, Time now) {
  const api::Condition wanted{"PodScheduled", "False", reason, message, now, pod.meta.generation};
  if (says(api::find_condition(pod.conditions, wanted.type), wanted)) return std::nullopt;
  return condition_chain(client::key_of(api::Kind::Pod, pod.meta), pod.meta.uid, wanted);
}

std::optional<client::Chain> group_condition(const api::PodGroup& group, bool scheduled,
                                             const std::string& reason, const std::string& message,
                                             Time now) {
  const api::Condition wanted{
      "PodGroupInitiallyScheduled", scheduled ? "True" : "False", reason, message, now, 0};
  const api::Condition* standing = api::find_condition(group.conditions, wanted.type);
  if (says(standing, wanted) || (standing && standing->status == "True")) return std::nullopt;
  return condition_chain(client::key_of(api::Kind::PodGroup, group.meta), group.meta.uid, wanted);
}

void add(client::Effects& effects, std::optional<client::Chain> chain) {
  if (chain) effects.chains.push_back(std::move(*chain));
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
