#include "install/apply.h"

#include <algorithm>
#include <array>
#include <optional>

#include "api/types/node_device_health.h"
#include "install/objects.h"

namespace berth::install {
namespace {

constexpr std::string_view kApplyType = "application/apply-patch+yaml";
// Fields, as paths of conflicts, that an operator may choose.
constexpr std::string_view kOperatorsFields[] = {".spec.replicas", "].resources."};

bool is_operators(std::string_view field) {
  return std::any_of(std::begin(kOperatorsFields), std::end(kOperatorsFields),
                     [&](std::string_view part) { return field.find(part) != std::string_view::npos; });
}

// The item of a list that `[key="value"]` selects; null for other forms and without one.
Json* item_of(Json& list, std::string_view selector) {
  const std::size_t equals = selector.find("=\"");
  if (!list.is_array() || equals == std::string_view::npos || !selector.ends_with('"')) return nullptr;
  const std::string_view key = selector.substr(0, equals);
  const std::string_view value = selector.substr(equals + 2, selector.size() - equals - 3);
  for (Json& item : list.as_array())
    if (item.string_at(key) == value) return &item;
  return nullptr;
}

// Removes the member at a conflict's path: ".spec.template.spec.containers[name=\"a\"].resources.limits".
void erase_field(Json& object, std::string_view path) {
  Json* at = &object;
  while (at && !path.empty()) {
    if (path.front() == '[') {
      const std::size_t end = path.find(']');
      if (end == std::string_view::npos) return;
      at = item_of(*at, path.substr(1, end - 1));
      path.remove_prefix(end + 1);
      continue;
    }
    path.remove_prefix(1);
    const std::size_t end = path.find_first_of(".[");
    const std::string_view name = path.substr(0, end);
    if (end == std::string_view::npos) {
      if (at->is_object()) at->as_object().erase(name);
      return;
    }
    at = at->find(name);
    path.remove_prefix(end);
  }
}

client::HttpReply send_apply(const ServerCall& call, const Json& object, bool force) {
  const std::string target = path_of(object) + "?fieldManager=" + std::string(kFieldManager) +
                             (force ? "&force=true" : "&force=false");
  return send_json(call, "PATCH", target, object, kApplyType);
}

// Removes the fields that other managers keep from `object` and returns them.
std::vector<std::string> leave_to_operators(const client::HttpReply& conflict, Json& object) {
  std::vector<std::string> left;
  const Result<Json> status = parse_json(conflict.body);
  if (!status) return left;
  for (const Json& cause : status->part("details").items_at("causes")) {
    const std::string field(cause.string_at("field"));
    if (cause.string_at("reason") != "FieldManagerConflict" || !is_operators(field)) continue;
    erase_field(object, field);
    left.push_back(field);
  }
  return left;
}

std::string_view manager_of(const Json& object) {
  return object.part("metadata").part("labels").string_at(kManagedByLabel);
}

std::string_view version_of(const Json& object) {
  return object.part("metadata").string_at("resourceVersion");
}

// Whether there are objects of the kind that somebody would miss.
Result<bool> has_objects(const ServerCall& call, const Json& definition) {
  const Json& spec = definition.part("spec");
  const std::string_view plural = spec.part("names").string_at("plural");
  if (plural == api::node_device_health_resource().resource) return false;
  const Json list = TRY(get_json(call, "/apis/" + std::string(spec.string_at("group")) + "/" +
                                           std::string(spec.items_at("versions")[0].string_at("name")) + "/" +
                                           std::string(plural) + "?limit=1"));
  return !list.items_at("items").empty();
}

// "BindRequests", "DeviceHealthPolicies".
std::string objects_of(const Json& definition) {
  std::string kind(definition.part("spec").part("names").string_at("kind"));
  if (!kind.ends_with('y')) return kind + "s";
  kind.pop_back();
  return kind + "ies";
}

bool is_being_deleted(const Json& object) {
  return !object.part("metadata").string_at("deletionTimestamp").empty();
}

Applied kept(std::string note) {
  return {Change::Kept, std::move(note)};
}

}  // namespace

std::string_view name_of(Change change) {
  constexpr std::array<std::string_view, 5> kNames = {"created", "configured", "unchanged", "deleted",
                                                      "kept"};
  return kNames[static_cast<std::size_t>(change)];
}

Result<Applied> apply_object(const ServerCall& call, const Json& object) {
  const Json before = TRY(get_json(call, path_of(object)));
  if (is_being_deleted(before))
    return Error(ErrorCode::Unavailable, title_of(object),
                 "is being deleted: run the command again once it is gone");
  if (object.string_at("kind") == "Namespace" && !before.is_null() && manager_of(before) != kFieldManager)
    return Applied{Change::Unchanged, "it was there before, and stays as it is"};
  Json wanted = object;
  client::HttpReply reply = send_apply(call, wanted, false);
  std::string note;
  if (reply.delivery == client::Delivery::Answered && reply.status == 409) {
    for (const std::string& field : leave_to_operators(reply, wanted))
      note += (note.empty() ? "left to who set it: " : ", ") + field;
    reply = send_apply(call, wanted, true);
  }
  const Json after = TRY(answered_json(reply, title_of(object)));
  if (after.is_null())
    return Error(ErrorCode::Unsupported, title_of(object), "the API server does not serve this kind");
  if (before.is_null()) return Applied{Change::Created, note};
  return Applied{version_of(before) == version_of(after) ? Change::Unchanged : Change::Configured, note};
}

Status wait_established(const ServerCall& call, const Json& definition,
                        const std::function<void(Duration)>& pause) {
  for (int look = 0; look < kEstablishedChecksMax; ++look) {
    if (look > 0) pause(kEstablishedPause);
    const Json found = TRY(get_json(call, path_of(definition)));
    for (const Json& condition : found.part("status").items_at("conditions"))
      if (condition.string_at("type") == "Established" && condition.string_at("status") == "True") return {};
  }
  return Error(ErrorCode::Unavailable, title_of(definition),
               "is not established: `kubectl describe` shows which of its conditions is not met");
}

Result<Applied> remove_object(const ServerCall& call, const Json& object, Definitions definitions) {
  const Json found = TRY(get_json(call, path_of(object)));
  if (found.is_null() || is_being_deleted(found)) return Applied{};
  if (manager_of(found) != kFieldManager)
    return kept("its label " + std::string(kManagedByLabel) + " does not say " + std::string(kFieldManager));
  const bool definition = object.string_at("kind") == "CustomResourceDefinition";
  if (definition && definitions == Definitions::KeepWhileUsed && TRY(has_objects(call, object)))
    return kept("there are " + objects_of(object) + "; --crds deletes it with them");
  const Json options =
      Json::object({{"propagationPolicy", "Background"},
                    {"preconditions", Json::object({{"uid", found.part("metadata").string_at("uid")}})}});
  const client::HttpReply reply = send_json(call, "DELETE", path_of(object), options);
  TRY(answered_json(reply, title_of(object)));
  return Applied{Change::Deleted, ""};
}

}  // namespace berth::install
