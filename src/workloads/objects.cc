#include "workloads/objects.h"

#include <algorithm>

#include "api/serialized.h"

namespace berth::workloads {

const api::ResourceRef& replica_sets() {
  static const api::ResourceRef kRef{"apps", "v1", "replicasets"};
  return kRef;
}
const api::ResourceRef& replication_controllers() {
  static const api::ResourceRef kRef{"", "v1", "replicationcontrollers"};
  return kRef;
}
const api::ResourceRef& deployments() {
  static const api::ResourceRef kRef{"apps", "v1", "deployments"};
  return kRef;
}
const api::ResourceRef& stateful_sets() {
  static const api::ResourceRef kRef{"apps", "v1", "statefulsets"};
  return kRef;
}
const api::ResourceRef& daemon_sets() {
  static const api::ResourceRef kRef{"apps", "v1", "daemonsets"};
  return kRef;
}
const api::ResourceRef& jobs() {
  static const api::ResourceRef kRef{"batch", "v1", "jobs"};
  return kRef;
}
const api::ResourceRef& cron_jobs() {
  static const api::ResourceRef kRef{"batch", "v1", "cronjobs"};
  return kRef;
}
const api::ResourceRef& controller_revisions() {
  static const api::ResourceRef kRef{"apps", "v1", "controllerrevisions"};
  return kRef;
}

api::ObjectKey key_in(const api::ResourceRef& resource, std::string_view ns, std::string_view name) {
  return {Kind::Other, std::string(ns), std::string(name), resource};
}

client::Interest wakes_controller(Kind kind, const api::ResourceRef& resource, const api::ResourceRef& owners,
                                  std::string_view owner_kind) {
  return {kind, resource, [owners, owner_kind](const View&, const Delta& delta, Keys& keys) {
            for (const auto* side : {&delta.before, &delta.after}) {
              if (!*side) continue;
              const api::OwnerReference* owner = api::meta_of(**side).controller();
              if (owner && owner->kind == owner_kind)
                keys.push_back(key_in(owners, delta.key.ns, owner->name));
            }
          }};
}

const api::AnyObject* find_other(const View& view, const api::ResourceRef& resource, std::string_view ns,
                                 std::string_view name) {
  const auto table = view.others.find(resource);
  return table == view.others.end() ? nullptr : table->second.find(ns, name);
}

std::optional<Parsed> parse_other(const api::ObjectKey& key, const api::AnyObject& object) {
  Result<Json> document = api::parse_object(*object.raw);
  if (!document) return std::nullopt;
  return Parsed{key, object.meta, std::move(document).value()};
}

std::optional<Parsed> find_parsed(const View& view, const api::ObjectKey& key) {
  const api::AnyObject* object = find_other(view, key.resource, key.ns, key.name);
  return object ? parse_other(key, *object) : std::nullopt;
}

std::vector<const api::AnyObject*> controlled_others(const View& view, const api::ResourceRef& resource,
                                                     std::string_view ns, std::string_view uid) {
  std::vector<const api::AnyObject*> found;
  const auto table = view.others.find(resource);
  if (table == view.others.end()) return found;
  const auto& all = table->second.all();
  for (auto at = all.lower_bound({std::string(ns), ""}); at != all.end() && at->first.ns == ns; ++at)
    if (const api::OwnerReference* owner = at->second->meta.controller(); owner && owner->uid == uid)
      found.push_back(at->second.get());
  return found;
}

api::OwnerReference controller_reference(const Parsed& owner, std::string_view api_version,
                                         std::string_view kind) {
  return {std::string(api_version), std::string(kind), owner.meta.name, owner.meta.uid, true, true};
}

client::Write create_other(const api::ResourceRef& resource, const Json& object) {
  client::Write write;
  write.request.verb = client::Verb::Create;
  write.request.resource = resource;
  write.request.ns = object.part("metadata").string_at("namespace");
  write.request.name = object.part("metadata").string_at("name");
  write.request.body = to_string(object);
  return write;
}

client::Write replace_other(const api::ObjectKey& key, const Json& object) {
  client::Write write;
  write.request.verb = client::Verb::Update;
  write.request.resource = key.resource;
  write.request.ns = key.ns;
  write.request.name = key.name;
  write.request.body = to_string(object);
  return write;
}

std::optional<Json> difference(const Json& standing, const JsonObject& wanted) {
  Json changed = Json::object();
  for (const JsonMember& member : wanted) {
    const Json& now = standing.part(member.key);
    if (now == member.value) continue;
    const bool both_empty = now.is_null() && member.value.is_array() && member.value.as_array().empty();
    if (!both_empty) changed[member.key] = member.value;
  }
  if (changed.as_object().empty()) return std::nullopt;
  return changed;
}

std::optional<client::Write> status_write(const Parsed& object, const JsonObject& wanted) {
  std::optional<Json> changed = difference(object.status(), wanted);
  if (!changed) return std::nullopt;
  return client::merge_patch(object.key, Json::object({{"status", std::move(*changed)}}), object.meta.uid,
                             object.meta.resource_version, "status");
}

Json unless_zero(std::int64_t count) {
  return count == 0 ? Json() : Json(count);
}

std::int64_t scaled_amount(const Json& amount, std::int64_t total, bool round_up) {
  if (amount.is_int()) return amount.as_int();
  if (!amount.is_string()) return 0;
  std::string_view text = amount.as_string();
  if (!text.ends_with('%')) return 0;
  text.remove_suffix(1);
  const std::int64_t percent = api::to_int(text).value_or(0);
  return (percent * total + (round_up ? 99 : 0)) / 100;
}

client::EventNote event_about(const Parsed& object, bool warning, std::string_view reason,
                              std::string message) {
  client::EventNote note;
  note.regarding = object.key;
  note.regarding_uid = object.meta.uid;
  note.warning = warning;
  note.reason = reason;
  note.message = std::move(message);
  return note;
}

std::optional<std::int64_t> number_in(const api::ObjectMeta& meta, std::string_view annotation) {
  return api::to_int(meta.annotation(annotation));
}

void wake_by(Effects& effects, Time at) {
  if (!effects.wake_at || at < *effects.wake_at) effects.wake_at = at;
}

}  // namespace berth::workloads
