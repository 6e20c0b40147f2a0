#include "workloads/pod_set.h"

#include <algorithm>
#include <tuple>

namespace berth::workloads {
namespace {

constexpr std::string_view kDeletionCost = "controller.kubernetes.io/pod-deletion-cost";

// Orders the later time first; unset ones last.
std::int64_t later_first(Time time) {
  return time.is_set() ? -time.micros() : 0;
}

int phase_rank(const api::Pod& pod) {
  if (pod.phase == "Pending" || pod.phase.empty()) return 0;
  return pod.phase == "Running" ? 2 : 1;
}

}  // namespace

Json pod_from_template(const Json& pod_template, const api::OwnerReference& owner, std::string_view ns,
                       std::string name, std::string_view generate_name) {
  const Json& wanted = pod_template.part("metadata");
  Json metadata = Json::object({{"name", std::move(name)}, {"namespace", ns}});
  if (!generate_name.empty()) metadata["generateName"] = generate_name;
  for (std::string_view field : {"labels", "annotations", "finalizers"})
    if (const Json* value = wanted.find(field)) metadata[field] = *value;
  metadata["ownerReferences"] = Json::array({api::to_json(owner)});
  return Json::object({{"apiVersion", "v1"},
                       {"kind", "Pod"},
                       {"metadata", std::move(metadata)},
                       {"spec", pod_template.part("spec")}});
}

std::vector<std::string> next_names(const View& view, std::string_view ns, const NumberedNames& names,
                                    const PodsOfOwner& standing, std::uint32_t begin, std::size_t count) {
  std::uint32_t next = begin;
  const auto gone = standing.next_numbers.find(names);
  if (gone != standing.next_numbers.end()) next = std::max(next, gone->second);
  for (const auto& [name, pod] : standing.pods)
    if (const auto number = names.number_of(name)) next = std::max(next, *number + 1);
  std::vector<std::string> found;
  // Every number is tried once at most.
  for (std::uint32_t tried = 0; found.size() < count && tried < NumberedNames::kCount; ++tried, ++next) {
    std::string name = names.name(next);
    if (!view.pods.find(ns, name)) found.push_back(std::move(name));
  }
  return found;
}

bool takes_pods(const View& view, const std::string& ns) {
  const api::Namespace* found = view.namespaces.find("", ns);
  return !found || !found->meta.deleting();
}

std::size_t creates_of_run(std::size_t missing, std::size_t standing) {
  return std::min({missing, kPodsPerRunMax, std::max(kFirstPodsMax, standing)});
}

void create_pod(Effects& effects, const Parsed& owner, const Json& pod) {
  client::Write write = client::create(Kind::Pod, owner.meta.ns, pod);
  const std::string name = write.request.name;
  effects.chains.push_back({{Kind::Pod, owner.meta.ns, name, {}}, {std::move(write)}});
  if (effects.events.size() < kEventsPerRunMax)
    effects.events.push_back(event_about(owner, false, "SuccessfulCreate", "Created pod: " + name));
}

void delete_pod(Effects& effects, const Parsed& owner, const api::Pod& pod) {
  if (pod.meta.deleting()) return;
  const api::ObjectKey key = client::key_of(Kind::Pod, pod.meta);
  effects.chains.push_back({key, {client::delete_object(key, pod.meta.uid)}});
  if (effects.events.size() < kEventsPerRunMax)
    effects.events.push_back(event_about(owner, false, "SuccessfulDelete", "Deleted pod: " + pod.meta.name));
}

std::vector<const api::Pod*> in_order_of_deletion(std::vector<const api::Pod*> pods) {
  std::map<std::string_view, std::int64_t> on_node;
  for (const api::Pod* pod : pods) ++on_node[pod->node_name];
  const auto rank = [&](const api::Pod* pod) {
    return std::tuple(pod->bound(), phase_rank(*pod), is_ready(*pod),
                      number_in(pod->meta, kDeletionCost).value_or(0), -on_node[pod->node_name],
                      later_first(ready_since(*pod)), later_first(pod->meta.created),
                      std::string_view(pod->meta.name));
  };
  std::sort(pods.begin(), pods.end(),
            [&](const api::Pod* a, const api::Pod* b) { return rank(a) < rank(b); });
  return pods;
}

void RefusedWrites::note(const api::ObjectKey& key, const client::Outcome& outcome) {
  for (const client::ChainOutcome& chain : outcome.chains) {
    const client::ApiReply& reply = chain.last;
    const bool refused = !chain.ok && reply.delivery == client::Delivery::Answered && reply.code >= 400 &&
                         reply.reason != "Conflict" && reply.reason != "AlreadyExists" &&
                         reply.reason != "NotFound";
    if (refused) messages_[key] = reply.message;
  }
}

std::string RefusedWrites::take(const api::ObjectKey& key) {
  const auto found = messages_.find(key);
  if (found == messages_.end()) return "";
  std::string message = std::move(found->second);
  messages_.erase(found);
  return message;
}

}  // namespace berth::workloads
