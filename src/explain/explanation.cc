#include "explain/explanation.h"

#include <algorithm>

#include "api/types/bind_request.h"
#include "api/types/cluster.h"
#include "api/types/device_readiness.h"
#include "api/types/placement_policy.h"
#include "api/types/pod.h"
#include "explain/decision_line.h"
#include "explain/start_waits.h"
#include "placement/refusal/berth_words.h"

namespace berth::explain {
namespace {

using api::BindPhase;
using api::BindRequest;
using api::BindStep;

constexpr std::string_view kNotServed =
    "the scheduler's record is not served here: name the scheduler's own address (its --listen) with "
    "--server";

std::string age(Time since, Time now) {
  return human_age(std::max(Duration(), now - since));
}

// Without the decisions about an earlier object of that name: it had another UID, or they are older than this
// one.
Json own_record(Json record, const api::ObjectMeta& meta, bool by_uid) {
  if (record.items_at("decisions").empty()) return record;
  JsonArray& decisions = record["decisions"].as_array();
  const std::size_t dropped = std::erase_if(decisions, [&](const Json& decision) {
    const std::string_view uid = decision.string_at("uid");
    if (by_uid && !uid.empty()) return uid != meta.uid;
    const Result<Time> at = parse_time(decision.string_at("time"));
    return at && meta.created.is_set() && *at < meta.created;
  });
  if (dropped > 0) record["attempts"] = static_cast<std::int64_t>(decisions.size());
  return record;
}

std::string_view event_time(const Json& event) {
  const std::string_view last = event.string_at("lastTimestamp");
  return last.empty() ? event.string_at("eventTime") : last;
}

// Whether the scheduler has turned to the pod again since the binding failed: a decision or a gate is on
// record, or where no record is served an event about the pod is newer.
bool is_superseded(const BindRequest& request, const Json& record, const Json& events,
                   const std::string& pod_uid) {
  if (request.phase != BindPhase::Failed) return false;
  if (!record.part("gate").is_null()) return true;
  for (const Json& decision : record.items_at("decisions")) {
    if (decision.string_at("id") == request.decision_id) return false;
    if (decision.string_at("result") != "Undone") return true;
  }
  const api::Condition* bound = api::find_condition(request.conditions, api::kBound);
  if (!bound || !bound->last_transition.is_set()) return false;
  const JsonArray& told = events.items_at("items");
  return std::any_of(told.begin(), told.end(), [&](const Json& event) {
    const Result<Time> at = parse_time(event_time(event));
    return event.part("involvedObject").string_at("uid") == pod_uid && at && *at > bound->last_transition;
  });
}

// One pod, decoded, with its related objects.
struct Sight {
  explicit Sight(const PodFacts& facts)
      : facts(facts),
        pod(api::decode_pod(facts.pod, nullptr)),
        record(pod.group.empty() ? own_record(facts.record, pod.meta, true)
                                 : own_record(facts.group_record, pod.meta, false)) {
    if (!facts.bind_request.is_null()) {
      request = api::decode_bind_request(facts.bind_request, nullptr);
      if (is_superseded(*request, record, facts.events, pod.meta.uid)) request.swap(failed_before);
    }
    for (const Json& claim : facts.claims) claims.push_back(api::decode_resource_claim(claim, nullptr));
  }
  const PodFacts& facts;
  api::Pod pod;
  Json record;  // of the pod, or of its group
  std::optional<BindRequest> request;
  std::optional<BindRequest> failed_before;  // the latest binding failed, and a newer decision is on record
  std::vector<api::ResourceClaim> claims;
};

// The decision that the bind request carries out, else the latest; null without one.
const Json* decision_of(const Json& record, std::string_view id) {
  const JsonArray& decisions = record.items_at("decisions");
  for (const Json& decision : decisions)
    if (!id.empty() && decision.string_at("id") == id) return &decision;
  return decisions.empty() ? nullptr : &decisions.front();
}

// Berth's explanation for one member of the decided group; empty where none is recorded.
std::string_view member_explanation(const Json* decision, std::string_view pod) {
  if (!decision) return "";
  for (const Json& member : decision->items_at("members"))
    if (member.string_at("pod") == pod) return member.string_at("explanation");
  return "";
}

// The first member that the group's decision refused, if it is another pod: its group waits for it. Null:
// none.
Json first_refused_member(const api::Pod& pod, const Json* decision) {
  if (pod.group.empty() || !decision || decision->string_at("result") != "Unschedulable") return {};
  const JsonArray& refused = decision->items_at("members");
  return refused.empty() || refused.front().string_at("pod") == pod.meta.name ? Json() : refused.front();
}

// The message for the pod: the latest event about its condition, which extends the condition's sentence; else
// the condition's alone.
std::string told_of(const Sight& sight, const api::Condition& condition) {
  const Json* latest = nullptr;
  for (const Json& event : sight.facts.events.items_at("items")) {
    const bool about_it = event.part("involvedObject").string_at("uid") == sight.pod.meta.uid &&
                          event.string_at("message").starts_with(condition.message);
    if (about_it && (!latest || event_time(event) > event_time(*latest))) latest = &event;
  }
  return latest ? std::string(latest->string_at("message")) : condition.message;
}

void put(Json& json, std::string_view key, std::string_view text) {
  if (!text.empty()) json[key] = text;
}

// Of a group or a tree that is not tried yet.
template <class Facts>
void put_start_waits(Json& json, const Facts& facts) {
  if (json.string_at("state") != "Gated") return;
  if (Json waiting = start_waits(facts); !waiting.as_array().empty()) json["startWaits"] = std::move(waiting);
}

Json decision_json(const Json& decision, const Json& record) {
  Json json = Json::object({{"id", decision.string_at("id")},
                            {"time", decision.string_at("time")},
                            {"result", decision.string_at("result")},
                            {"reason", decision.string_at("reason")}});
  if (const std::int64_t attempts = record.int_at("attempts")) json["attempts"] = attempts;
  put(json, "sentence", sentence_in(decision));
  put(json, "explanation", decision.string_at("explanation"));
  return json;
}

Json request_json(const BindRequest& request) {
  Json json = Json::object({{"name", request.meta.name}, {"phase", api::name_of(request.phase)}});
  put(json, "step", api::name_of(request.step));
  put(json, "reason", request.reason);
  put(json, "message", request.message);
  if (request.failed_attempts > 0) json["failedAttempts"] = std::int64_t{request.failed_attempts};
  if (request.next_attempt.is_set()) json["nextAttemptTime"] = format_time(request.next_attempt);
  return json;
}

// Adds the binding that failed to the row of its decision, which may be forgotten.
void put_failed_binding(Json& history, const BindRequest& failed) {
  JsonArray& rows = history.as_array();
  auto row = std::find_if(rows.begin(), rows.end(), [&](const Json& known) {
    return known.string_at("id") == failed.decision_id && known.string_at("result") == "Placed";
  });
  if (row == rows.end())
    row = rows.insert(row, Json::object({{"id", failed.decision_id}, {"result", "Placed"}}));
  (*row)["said"] = "on " + failed.node + ", but could not be bound: " + failed.message;
  (*row)["bindRequest"] = request_json(failed);
}

Json history_json(const Json& record) {
  Json history = Json::array();
  for (const Json& decision : record.items_at("decisions")) {
    Json row = Json::object({{"id", decision.string_at("id")},
                             {"time", decision.string_at("time")},
                             {"result", decision.string_at("result")}});
    std::string nodes;
    for (const Json& placed : decision.items_at("placed"))
      nodes.append(nodes.empty() ? "" : ", ").append(placed.string_at("node"));
    put(row, "said", nodes.empty() ? sentence_in(decision) : "on " + nodes);
    history.as_array().push_back(std::move(row));
  }
  return history;
}

// Decision, refused nodes and history of a record.
void put_record(Json& json, const Json& record, std::string_view id,
                const std::optional<BindRequest>& failed_before) {
  const Json* decision = decision_of(record, id);
  if (decision) json["decision"] = decision_json(*decision, record);
  if (decision && !decision->items_at("refused").empty()) json["refused"] = *decision->find("refused");
  if (record.items_at("decisions").size() <= 1 && !failed_before) return;
  json["history"] = history_json(record);
  if (failed_before) put_failed_binding(json["history"], *failed_before);
}

// Calls `visit` with every entry of allocatedResourcesStatus[].resources in the pod's status.
template <class Visit>
void visit_health(const Json& pod, const Visit& visit) {
  const Json& status = pod.part("status");
  const auto visit_lists = [&](const Json& owner) {
    for (const Json& entry : owner.items_at("allocatedResourcesStatus"))
      for (const Json& one : entry.items_at("resources")) visit(one);
  };
  visit_lists(status);
  for (const char* field : {"initContainerStatuses", "containerStatuses"})
    for (const Json& container : status.items_at(field)) visit_lists(container);
}

// The rules that taint the device now; one of a DeviceHealthPolicy says which.
Json taints_of(const Json& rules, const api::DeviceResult& result) {
  Json taints = Json::array();
  const auto fits = [](const Json& selector, const char* field, const std::string& name) {
    const std::string_view wanted = selector.string_at(field);
    return wanted.empty() || wanted == name;
  };
  for (const Json& rule : rules.items_at("items")) {
    const Json& selector = rule.part("spec").part("deviceSelector");
    const Json& taint = rule.part("spec").part("taint");
    if (!fits(selector, "driver", result.driver) || !fits(selector, "pool", result.pool) ||
        !fits(selector, "device", result.device))
      continue;
    Json one = Json::object({{"rule", rule.part("metadata").string_at("name")},
                             {"key", taint.string_at("key")},
                             {"effect", taint.string_at("effect")}});
    put(one, "cause", rule.part("metadata").part("annotations").string_at("berth.dev/cause"));
    taints.as_array().push_back(std::move(one));
  }
  return taints;
}

// What the agent beside the node's kubelet reports of the device; null: nothing.
const Json* report_of(const PodFacts& facts, const api::DeviceResult& result) {
  for (const Json& device : facts.node_health.part("spec").items_at("devices"))
    if (device.string_at("driver") == result.driver && device.string_at("pool") == result.pool &&
        device.string_at("device") == result.device)
      return &device;
  return nullptr;
}

// What the pod's status says of the device, of several entries the last that is not Healthy; where the
// kubelet says nothing, the node's report.
void put_health(Json& device, const Sight& sight, const api::DeviceResult& result) {
  const std::string id = result.driver + "/" + result.pool + "/" + result.device;
  visit_health(sight.facts.pod, [&](const Json& one) {
    if (one.string_at("resourceID") != id) return;
    if (!device.string_at("health").empty() && one.string_at("health") == "Healthy") return;
    put(device, "health", one.string_at("health"));
    put(device, "healthMessage", one.string_at("message"));
  });
  const Json* report = report_of(sight.facts, result);
  if (report && device.string_at("health").empty()) {
    put(device, "health", report->string_at("health"));
    put(device, "healthMessage", report->string_at("message"));
  }
  if (Json taints = taints_of(sight.facts.taint_rules, result); !taints.as_array().empty())
    device["taints"] = std::move(taints);
}

Json devices_json(const Sight& sight) {
  Json devices = Json::array();
  const auto add = [&](std::string_view claim, const api::Allocation& allocation) {
    for (const api::DeviceResult& result : allocation.results) {
      Json device = Json::object({{"claim", claim},
                                  {"request", result.request},
                                  {"driver", result.driver},
                                  {"pool", result.pool},
                                  {"device", result.device}});
      put(device, "shareID", result.share_id);
      put_health(device, sight, result);
      for (const auto& [name, amount] : result.consumed_capacity)
        device["consumedCapacity"][name] = amount.text();
      devices.as_array().push_back(std::move(device));
    }
  };
  if (sight.request) {
    for (const api::ClaimAllocation& claim : sight.request->claims) add(claim.claim_name, claim.allocation);
  } else if (sight.pod.bound()) {
    for (const api::ResourceClaim& claim : sight.claims)
      if (claim.allocation) add(claim.meta.name, *claim.allocation);
  }
  return devices;
}

// Null: the pod has no share of a GPU.
Json gpu_share_json(const Sight& sight) {
  const api::GpuSharePtr bound = sight.pod.bound() ? api::gpu_share_of(sight.pod) : nullptr;
  const api::GpuShare share = bound ? *bound : sight.request ? sight.request->gpu_share : api::GpuShare{};
  if (share.empty()) return Json();
  Json json =
      Json::object({{"groups", api::to_json(share.groups)}, {"portion", api::gpu_portion(share.hundredths)}});
  const std::optional<api::GpuShareRequest> asked = api::gpu_share_request(sight.pod.meta);
  if (asked && asked->memory_mib > 0) json["asked"] = std::to_string(asked->memory_mib) + " MiB";
  return json;
}

// The binding condition that a bind request waits for.
Json waits_for(const Sight& sight) {
  if (!sight.request || sight.request->phase != BindPhase::Pending) return {};
  for (const api::ResourceClaim& claim : sight.claims) {
    const api::DeviceReadiness readiness = api::readiness_of(claim);
    if (readiness.ready() || readiness.failure) continue;
    Json json = Json::object({{"claim", claim.meta.name},
                              {"device", readiness.pending_device},
                              {"condition", readiness.pending_condition}});
    put(json, "since", format_time(claim.allocation ? claim.allocation->timestamp : Time()));
    return json;
  }
  return {};
}

struct Step {
  std::string_view name;
  Time time;
};

// When the last binding condition became true; not set while one is missing, and without conditions.
Time ready_at(const std::vector<api::ResourceClaim>& claims) {
  Time latest;
  for (const api::ResourceClaim& claim : claims) {
    if (!api::readiness_of(claim).ready()) return {};
    if (!claim.allocation) continue;
    for (const api::DeviceResult& result : claim.allocation->results)
      for (const api::AllocatedDeviceStatus& device : claim.devices)
        for (const std::string& type : result.binding_conditions)
          if (const api::Condition* condition = api::find_condition(device.conditions, type))
            latest = std::max(latest, condition->last_transition);
  }
  return latest;
}

Time started_at(const Json& pod) {
  Time first;
  for (const Json& status : pod.part("status").items_at("containerStatuses")) {
    const Result<Time> at = parse_time(status.part("state").part("running").string_at("startedAt"));
    if (at && (!first.is_set() || *at < first)) first = *at;
  }
  return first;
}

// The steps with their times. Stored times are whole seconds; two in one second are less than one apart.
Json steps_json(const Sight& sight, const Json* decision) {
  std::vector<Step> steps = {{"created", sight.pod.meta.created}};
  if (decision)
    if (const Result<Time> at = parse_time(decision->string_at("time"))) steps.push_back({"decided", *at});
  if (sight.request) steps.push_back({"bind request made", sight.request->meta.created});
  Time allocated;
  for (const api::ResourceClaim& claim : sight.claims)
    if (claim.allocation && claim.allocation->timestamp.is_set())
      allocated = std::max(allocated, claim.allocation->timestamp);
  steps.push_back({"devices reserved", allocated});
  steps.push_back({"devices ready", ready_at(sight.claims)});
  const api::Condition* scheduled = api::find_condition(sight.pod.conditions, "PodScheduled");
  if (sight.pod.bound() && scheduled && scheduled->status == "True")
    steps.push_back({"bound", scheduled->last_transition});
  if (sight.pod.bound()) steps.push_back({"running", started_at(sight.facts.pod)});
  std::erase_if(steps, [](const Step& step) { return !step.time.is_set(); });
  Json json = Json::array();
  for (std::size_t i = 0; i < steps.size(); ++i) {
    Json row = Json::object({{"step", steps[i].name}, {"time", format_micro_time(steps[i].time)}});
    if (i > 0) {
      const Duration took = steps[i].time.to_second() - steps[i - 1].time.to_second();
      row["took"] = took < Duration::seconds(1) ? "<1s" : human_age(took);
    }
    json.as_array().push_back(std::move(row));
  }
  return json;
}

struct State {
  std::string name;
  std::string summary;
};

State binding_state(const BindRequest& request, const Json& waiting, Time now) {
  const std::string on = "is placed on " + request.node;
  if (request.phase == BindPhase::Failed)
    return {"BindingFailed", on + ", but could not be bound: " + request.message};
  if (!waiting.is_null()) {
    const Result<Time> since = parse_time(waiting.string_at("since"));
    return {"WaitingForDevices", on + "; the binder waits for condition " +
                                     std::string(waiting.string_at("condition")) + " of device " +
                                     std::string(waiting.string_at("device")) +
                                     (since ? ", for " + age(*since, now) + " so far" : "")};
  }
  if (request.step == BindStep::WaitingForVolumes)
    return {"WaitingForVolumes", on + "; the binder is " + request.message};
  if (request.step == BindStep::WaitingForGang)
    return {"WaitingForGang", on + "; the binder waits until every member of its gang can be bound"};
  if (request.step == BindStep::RollingBack)
    return {"RollingBack",
            on + ", but could not be bound, and what it held is given back: " + request.message};
  if (request.next_attempt.is_set())
    return {"Binding",
            on + "; " + request.message + "; the next attempt is at " + format_time(request.next_attempt)};
  return {"Binding", on + "; the binder is at work"};
}

// A member may fit where its group does not.
std::string no_place(const api::Pod& pod, const Json& decision) {
  if (pod.group.empty()) return "waits: no node takes it";
  const bool refused = !member_explanation(&decision, pod.meta.name).empty();
  return std::string("waits: ") + (refused ? "no node takes it, and " : "") + "its group " + pod.group +
         " was not placed";
}

State waiting_state(const Sight& sight, const Json* decision, const Json& gate, Time now) {
  if (!gate.is_null()) {
    Result<Time> since = parse_time(gate.string_at("time"));
    // An earlier pod of that name may have waited behind the same gate.
    if (since) since = std::max(*since, sight.pod.meta.created);
    return {"Gated", "is not tried yet" + (since ? ", for " + age(*since, now) + " so far: " : ": ") +
                         std::string(gate.string_at("why"))};
  }
  const api::Condition* config = api::find_condition(sight.pod.conditions, "PodScheduled");
  if (decision) {
    const std::string result(decision->string_at("result"));
    const Result<Time> at = parse_time(decision->string_at("time"));
    const std::string ago = at ? ", decided " + age(*at, now) + " ago" : "";
    if (result == "Unschedulable") return {result, no_place(sight.pod, *decision) + ago};
    if (result == "Error") return {result, "waits: the attempt ended with an error" + ago};
    if (result == "Undone") return {result, "waits: a decision was taken back" + ago};
    return {"Placing", "has a place, which is being written" + ago};
  }
  if (config && config->status == "False") return {config->reason, "waits: " + told_of(sight, *config)};
  const std::string name = "its scheduler is " + sight.pod.scheduler_name;
  if (sight.facts.record.is_null()) return {"Pending", "waits, " + name + "; " + std::string(kNotServed)};
  return {"Pending",
          "waits, and no decision about it is on record: " + name + ", which this scheduler may not serve"};
}

State state_of(const Sight& sight, const Json* decision, const Json& waiting, Time now) {
  const api::Pod& pod = sight.pod;
  if (pod.finished()) return {pod.phase, "has ended on " + (pod.bound() ? pod.node_name : "no node")};
  if (pod.bound()) {
    const bool runs = pod.phase == "Running";
    return {runs ? "Running" : "Bound", (runs ? "runs on " : "is bound to ") + pod.node_name};
  }
  if (sight.request) return binding_state(*sight.request, waiting, now);
  return waiting_state(sight, decision, sight.record.part("gate"), now);
}

std::string with_group(const api::Pod& pod, const Json* decision) {
  if (pod.group.empty()) return "";
  const std::size_t size = decision ? decision->items_at("placed").size() : 0;
  return size == 0 ? "" : ", decided with the " + std::to_string(size) + " pods of group " + pod.group;
}

}  // namespace

bool has_unhealthy_device(const PodFacts& facts) {
  const Sight sight(facts);
  const Json devices = devices_json(sight);
  bool found = std::any_of(devices.as_array().begin(), devices.as_array().end(), [](const Json& device) {
    return !device.string_at("health").empty() && device.string_at("health") != "Healthy";
  });
  visit_health(facts.pod, [&](const Json& one) { found |= one.string_at("health") != "Healthy"; });
  return found;
}

Json explain_pod(const PodFacts& facts, Time now) {
  const Sight sight(facts);
  const api::Pod& pod = sight.pod;
  const std::string id = sight.request ? sight.request->decision_id : "";
  const Json* decision = decision_of(sight.record, id);
  const Json waiting = waits_for(sight);
  const State state = state_of(sight, decision, waiting, now);
  Json json = Json::object({{"kind", "Pod"},
                            {"namespace", pod.meta.ns},
                            {"name", pod.meta.name},
                            {"state", state.name},
                            {"summary", state.summary + with_group(pod, decision)}});
  put(json, "node", pod.bound() ? pod.node_name : sight.request ? sight.request->node : "");
  put(json, "group", pod.group);
  if (pod.group_source != api::GroupSource::Kubernetes)
    put(json, "groupSource", std::string(api::name_of(pod.group_source)));
  put_record(json, sight.record, id, sight.failed_before);
  put(json, "member", member_explanation(pod.group.empty() ? nullptr : decision, pod.meta.name));
  if (Json first = first_refused_member(pod, decision); !first.is_null())
    json["firstRefused"] = std::move(first);
  if (facts.record.is_null()) json["note"] = kNotServed;
  if (!facts.missing.empty()) json["startWaits"] = api::to_json(facts.missing);
  if (!waiting.is_null()) json["waitsFor"] = waiting;
  if (sight.request) json["bindRequest"] = request_json(*sight.request);
  if (Json devices = devices_json(sight); !devices.as_array().empty()) json["devices"] = std::move(devices);
  if (Json share = gpu_share_json(sight); !share.is_null()) json["gpuShare"] = std::move(share);
  json["steps"] = steps_json(sight, decision);
  return json;
}

namespace {

// "PodGroup.scheduling.x-k8s.io/train (scheduler-plugins)"; empty for a group of Kubernetes' own.
std::string made_for(const api::ObjectMeta& meta) {
  const std::optional<api::MadeFrom> made = api::made_from(meta);
  if (!made) return "";
  const api::OwnerReference* owner = meta.controller();
  const std::string what = owner ? api::to_text(api::target_of(*owner)) : "labels of pods";
  return what + " (" + std::string(api::name_of(made->source)) + ")";
}

// What the policy that names the group says about it; null without one.
Json wish_of_group(const Json& policies, std::string_view kind, std::string_view group) {
  for (const Json& policy : policies.items_at("items"))
    for (const Json& placed : policy.part("status").items_at("groups")) {
      if (placed.string_at("kind") != kind || placed.string_at("name") != group) continue;
      return Json::object({{"policy", policy.part("metadata").string_at("name")},
                           {"wish", policy.part("status").string_at("wish")},
                           {"reached", placed.string_at("level")},
                           {"score", placed.part("score")},
                           {"message", placed.string_at("message")}});
    }
  return {};
}

}  // namespace

Json explain_group(const GroupFacts& facts, Time now) {
  const api::PodGroup group = api::decode_pod_group(facts.group, nullptr);
  const Json record = own_record(facts.record, group.meta, true);
  const Json* decision = decision_of(record, "");
  Json members = Json::array();
  std::size_t placed = 0;
  for (const PodFacts& member : facts.members) {
    PodFacts known = member;
    known.record = known.group_record = record;
    const Json whole = explain_pod(known, now);
    placed += whole.find("node") ? 1 : 0;
    Json row = Json::object({});
    for (const std::string_view key : {"name", "state", "summary", "node", "devices"})
      if (const Json* value = whole.find(key)) row[key] = *value;
    // The message for this member.
    if (const api::Pod pod = api::decode_pod(member.pod, nullptr); !pod.bound())
      if (const api::Condition* config = api::find_condition(pod.conditions, "PodScheduled")) {
        const std::string_view own = member_explanation(decision, pod.meta.name);
        put(row, "told", placement::joined(config->message, std::string(own)));
      }
    members.as_array().push_back(std::move(row));
  }
  const std::size_t count = facts.members.size();
  const std::string wants =
      group.gang_min ? "a gang of at least " + std::to_string(*group.gang_min) : "a group without a minimum";
  std::string summary = wants + ": " + std::to_string(count) + (count == 1 ? " pod, " : " pods, ") +
                        std::to_string(placed) + " with a node";
  const Json& gate = record.part("gate");
  const bool waits = placed < count || count == 0;
  if (waits && !gate.is_null()) summary.append("; not tried yet: ").append(gate.string_at("why"));
  std::string state = !waits ? "Placed" : !gate.is_null() ? "Gated" : "Pending";
  if (waits && gate.is_null() && decision) state = decision->string_at("result");
  Json json = Json::object({{"kind", "PodGroup"},
                            {"namespace", group.meta.ns},
                            {"name", group.meta.name},
                            {"state", state},
                            {"summary", summary}});
  put_start_waits(json, facts);
  put(json, "madeFrom", made_for(group.meta));
  put_record(json, record, "", std::nullopt);
  if (facts.record.is_null()) json["note"] = kNotServed;
  if (Json wish = wish_of_group(facts.policies, "PodGroup", group.meta.name); !wish.is_null())
    json["wish"] = std::move(wish);
  json["members"] = std::move(members);
  return json;
}

Json explain_tree(const TreeFacts& facts, Time now) {
  const api::CompositePodGroup asked = api::decode_composite_pod_group(facts.groups.front().object, nullptr);
  Json groups = Json::array();
  std::int64_t pods = 0, placed = 0;
  for (const TreeGroupFacts& group : facts.groups) {
    const Json& metadata = group.object.part("metadata");
    Json row = Json::object({{"name", metadata.string_at("name")},
                             {"kind", placement::group_kind(group.composite)},
                             {"level", static_cast<std::int64_t>(group.level)}});
    if (group.composite) {
      row["minimum"] = std::int64_t{api::decode_composite_pod_group(group.object, nullptr).minimum()};
    } else {
      row["minimum"] = std::int64_t{api::decode_pod_group(group.object, nullptr).minimum()};
      const auto of_group = static_cast<std::int64_t>(group.members.size());
      const std::int64_t with_node = std::count_if(
          group.members.begin(), group.members.end(),
          [&](const PodFacts& member) { return explain_pod(member, now).find("node") != nullptr; });
      row["pods"] = of_group;
      row["placed"] = with_node;
      pods += of_group;
      placed += with_node;
    }
    Json wish = wish_of_group(facts.policies, row.string_at("kind"), row.string_at("name"));
    if (!wish.is_null() && group.level > 0) row["wish"] = std::move(wish);
    groups.as_array().push_back(std::move(row));
  }
  const Json record = own_record(facts.record, asked.meta, facts.root == asked.meta.name);
  const Json* decision = decision_of(record, "");
  const Json& gate = record.part("gate");
  const std::string wants = asked.gang_min ? "at least " + std::to_string(*asked.gang_min) : "any";
  std::string summary = "wants " + wants + " of its groups: " + std::to_string(pods) +
                        (pods == 1 ? " pod, " : " pods, ") + std::to_string(placed) + " with a node";
  const bool waits = placed < pods || pods == 0;
  if (waits && !gate.is_null()) summary.append("; not tried yet: ").append(gate.string_at("why"));
  std::string state = !waits ? "Placed" : !gate.is_null() ? "Gated" : "Pending";
  if (waits && gate.is_null() && decision) state = decision->string_at("result");
  Json json = Json::object({{"kind", "CompositePodGroup"},
                            {"namespace", asked.meta.ns},
                            {"name", asked.meta.name},
                            {"state", state},
                            {"summary", summary}});
  put_start_waits(json, facts);
  if (facts.root != asked.meta.name) json["root"] = facts.root;
  put(json, "madeFrom", made_for(asked.meta));
  if (Json wish = wish_of_group(facts.policies, "CompositePodGroup", asked.meta.name); !wish.is_null())
    json["wish"] = std::move(wish);
  put_record(json, record, "", std::nullopt);
  if (facts.record.is_null()) json["note"] = kNotServed;
  json["groups"] = std::move(groups);
  return json;
}

}  // namespace berth::explain
