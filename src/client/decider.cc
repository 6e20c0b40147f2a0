#include "client/decider.h"

#include <array>

#include "base/known_defects.h"

namespace berth::client {
namespace {

constexpr std::array<std::string_view, 7> kVerbWords = {
    "create", "update", "merge-patch", "strategic-patch", "json-patch", "delete", "get"};

void append(std::string& out, const MemoryWrite& write) {
  out.append(" in-memory ").append(write.uid).append("@").append(std::to_string(write.version));
  if (!write.wanted) return;
  Json object = api::bind_request_object(*write.wanted);
  object["status"] = api::bind_request_status(*write.wanted);
  out.append(" ").append(to_string(object));
}

void append(std::string& out, const Write& write) {
  const ApiRequest& request = write.request;
  out.append("  ").append(kVerbWords[static_cast<std::size_t>(request.verb)]).append(" ");
  out.append(request.resource.api_version()).append("/").append(request.resource.resource).append(" ");
  if (!request.ns.empty()) out.append(request.ns).append("/");
  out += request.name;
  if (!request.subresource.empty()) out.append("/").append(request.subresource);
  if (write.on_previous_version) out += " on-previous-version";
  if (!write.stop_if_uid.empty()) out.append(" unless:").append(write.stop_if_uid);
  if (write.mark) out.append(" mark:").append(write.mark->text);
  for (const std::string& reason : write.fine_reasons) out.append(" fine:").append(reason);
  if (!request.body.empty()) out.append(" ").append(request.body);
  if (request.in_memory) append(out, *request.in_memory);
  out += '\n';
}

ApiRequest request_for(Verb verb, const api::ObjectKey& key) {
  ApiRequest request;
  request.verb = verb;
  request.resource = key.kind == api::Kind::Other ? key.resource : api::ref_of(key.kind);
  request.ns = key.ns;
  request.name = key.name;
  return request;
}

}  // namespace

Effects Effects::write(const api::ObjectKey& key, Write write) {
  Effects effects;
  effects.chains.push_back({key, {std::move(write)}});
  return effects;
}

Effects& Effects::then(Write write) {
  BERTH_ASSERT(!chains.empty(), "then() continues a chain");
  chains.back().writes.push_back(std::move(write));
  return *this;
}

std::string to_text(const Effects& effects) {
  std::string out;
  if (!effects.decision_id.empty()) out.append("decision ").append(effects.decision_id).append("\n");
  if (effects.stop_on_failure) out += "stop-on-failure\n";
  for (const Chain& chain : effects.chains) {
    out.append("chain ").append(api::to_text(chain.key)).append("\n");
    for (const Write& write : chain.writes) append(out, write);
  }
  for (const EventNote& event : effects.events) {
    out.append(event.warning ? "warning " : "event ").append(api::to_text(event.regarding)).append(" ");
    if (!event.field_path.empty()) out.append(event.field_path).append(" ");
    out.append(event.reason).append("/").append(event.action).append(": ").append(event.message).append("\n");
  }
  if (effects.wake_at) out.append("wake ").append(format_micro_time(*effects.wake_at)).append("\n");
  if (effects.retry) out += "retry\n";
  return out;
}

void Reconciler::on_outcome(const View&, const api::ObjectKey&, const Outcome&, Time) {}

Interest itself(api::Kind kind) {
  return {kind, {}, [](const View&, const Delta& delta, std::vector<api::ObjectKey>& keys) {
            keys.push_back(delta.key);
          }};
}

Write create(api::Kind kind, std::string ns, const Json& object) {
  Write write;
  write.request.verb = Verb::Create;
  write.request.resource = api::ref_of(kind);
  write.request.ns = std::move(ns);
  write.request.body = to_string(object);
  if (const Json* name = object.find_path({"metadata", "name"}); name && name->is_string())
    write.request.name = name->as_string();
  return write;
}

Write merge_patch(const api::ObjectKey& key, Json patch, std::string_view uid, std::uint64_t if_version,
                  std::string subresource) {
  Write write;
  write.request = request_for(Verb::MergePatch, key);
  write.request.subresource = std::move(subresource);
  if (!uid.empty()) patch["metadata"]["uid"] = uid;
  if (if_version != 0) patch["metadata"]["resourceVersion"] = std::to_string(if_version);
  write.request.body = to_string(patch);
  return write;
}

Write json_patch(const api::ObjectKey& key, const Json& operations, std::string subresource) {
  Write write;
  write.request = request_for(Verb::JsonPatch, key);
  write.request.subresource = std::move(subresource);
  write.request.body = to_string(operations);
  return write;
}

Write condition_patch(const api::ObjectKey& key, const api::ObjectMeta& seen,
                      const api::Condition& condition) {
  return conditions_patch(key, seen, {&condition, 1});
}

Write conditions_patch(const api::ObjectKey& key, const api::ObjectMeta& seen,
                       std::span<const api::Condition> conditions) {
  JsonArray items;
  for (const api::Condition& condition : conditions) {
    Json& item = items.emplace_back(api::to_json(condition));
    if (condition.reason.empty()) item["reason"] = nullptr;
    if (condition.message.empty() && !has(KnownDefect::TrueKeepsOldMessage)) item["message"] = nullptr;
  }
  Write write;
  write.request = request_for(Verb::StrategicPatch, key);
  write.request.subresource = "status";
  write.request.body = to_string(Json::object(
      {{"metadata",
        Json::object({{"uid", seen.uid}, {"resourceVersion", std::to_string(seen.resource_version)}})},
       {"status", Json::object({{"conditions", Json(std::move(items))}})}}));
  return write;
}

Write nomination_patch(const api::ObjectKey& key, const api::ObjectMeta& seen, const std::string& node) {
  const Json named = node.empty() ? Json() : Json(node);
  return merge_patch(key, Json::object({{"status", Json::object({{"nominatedNodeName", named}})}}), seen.uid,
                     seen.resource_version, "status");
}

Write delete_object(const api::ObjectKey& key, std::string_view uid, std::int64_t grace_s,
                    std::string_view propagation, std::uint64_t if_version) {
  Write write;
  write.request = request_for(Verb::Delete, key);
  Json options = Json::object();
  if (!uid.empty()) options["preconditions"] = Json::object({{"uid", uid}});
  if (if_version > 0) options["preconditions"]["resourceVersion"] = std::to_string(if_version);
  if (grace_s >= 0) options["gracePeriodSeconds"] = grace_s;
  if (!propagation.empty()) options["propagationPolicy"] = propagation;
  write.request.body = to_string(options);
  write.fine_reasons = {"NotFound"};
  return write;
}

Write evict(const api::ObjectKey& pod, std::string_view uid) {
  Write write;
  write.request = request_for(Verb::Create, pod);
  write.request.subresource = "eviction";
  write.request.body = to_string(
      Json::object({{"apiVersion", "policy/v1"},
                    {"kind", "Eviction"},
                    {"metadata", Json::object({{"name", pod.name}, {"namespace", pod.ns}})},
                    {"deleteOptions", Json::object({{"preconditions", Json::object({{"uid", uid}})}})}}));
  write.fine_reasons = {"NotFound"};
  write.budget_refusal_is_final = true;
  return write;
}

Write unless_exists(const api::ObjectKey& key, std::string_view uid) {
  Write write;
  write.request = request_for(Verb::Get, key);
  write.fine_reasons = {"NotFound"};
  write.stop_if_uid = uid;
  return write;
}

api::ObjectKey key_of(api::Kind kind, const api::ObjectMeta& meta) {
  return {kind, meta.ns, meta.name, {}};
}

}  // namespace berth::client
