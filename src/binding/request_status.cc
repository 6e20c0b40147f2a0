#include "binding/request_status.h"

#include "client/request_writes.h"

namespace berth::binding {
namespace {

// The status as stored: decoding drops that of an earlier decision, but the write must replace it.
Json stored_status(const api::BindRequest& request) {
  if (!request.status_is_stale || !request.raw) {
    Json status = api::bind_request_status(request);
    if (!request.status_names_decision) status.as_object().erase("decisionID");
    return status;
  }
  return parse_json(*request.raw).value_or(Json::object()).part("status");
}

std::optional<client::Write> kept_status_write(const api::BindRequest& now, api::BindRequest wanted) {
  wanted.status_is_stale = false;
  wanted.status_names_decision = !wanted.decision_id.empty();
  const api::BindStatus &before = now, &after = wanted;
  if (before == after) return std::nullopt;
  return client::change_kept_request(now, std::move(wanted), "status");
}

}  // namespace

std::optional<client::Write> status_write(const api::BindRequest& now, const api::BindRequest& wanted,
                                          IfChanged if_changed) {
  if (now.in_memory) return kept_status_write(now, wanted);
  const Json before = stored_status(now);
  const Json after = api::bind_request_status(wanted);
  Json changes = Json::object();
  for (const JsonMember& field : after.as_object())
    if (const Json* old = before.find(field.key); !old || !(*old == field.value))
      changes[field.key] = field.value;
  for (const JsonMember& field : before.as_object())
    if (!after.find(field.key)) changes[field.key] = nullptr;
  if (changes.as_object().empty()) return std::nullopt;
  changes["phase"] = api::name_of(wanted.phase);
  const std::uint64_t version = if_changed == IfChanged::Refuse ? now.meta.resource_version : 0;
  return client::merge_patch(client::key_of(api::Kind::BindRequest, now.meta),
                             Json::object({{"status", std::move(changes)}}), now.meta.uid, version, "status");
}

api::Condition bound_condition(const api::BindRequest& status) {
  const std::string type(api::kBound);
  if (status.phase == api::BindPhase::Succeeded) return {type, "True", "Bound", ""};
  if (!status.reason.empty()) return {type, "False", status.reason, ""};
  const std::string_view step = api::name_of(status.step);
  return {type, "False", std::string(step.empty() ? "Pending" : step), ""};
}

std::string sealing_message(const api::BindRequest& failed) {
  return failed.message + " (decision " + failed.decision_id + ")";
}

bool is_sealed(const api::Pod& pod, const api::BindRequest& failed) {
  const api::Condition* told = api::find_condition(pod.conditions, "PodScheduled");
  return told && told->message == sealing_message(failed);
}

}  // namespace berth::binding
