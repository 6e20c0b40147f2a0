// Reading and writing objects of kinds without a struct.
//
// Pure functions; the caller's thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "api/selectors.h"
#include "workloads/workloads.h"

namespace berth::workloads {

// Resources that several controllers name.
const api::ResourceRef& replica_sets();
const api::ResourceRef& replication_controllers();
const api::ResourceRef& deployments();
const api::ResourceRef& stateful_sets();
const api::ResourceRef& daemon_sets();
const api::ResourceRef& jobs();
const api::ResourceRef& cron_jobs();
const api::ResourceRef& controller_revisions();

// One version of an object, parsed: metadata decoded, spec and status as they are.
struct Parsed {
  api::ObjectKey key;
  api::ObjectMeta meta;
  Json document;
  const Json& spec() const { return document.part("spec"); }
  const Json& status() const { return document.part("status"); }
};
// Nothing when the view lacks it. Cost: a parse.
std::optional<Parsed> find_parsed(const View& view, const api::ObjectKey& key);
std::optional<Parsed> parse_other(const api::ObjectKey& key, const api::AnyObject& object);
api::ObjectKey key_in(const api::ResourceRef& resource, std::string_view ns, std::string_view name);

// A change of such an object wakes its controller, before and after the change, where that is an owner of
// this kind. `resource`: of objects of Kind::Other. `owner_kind` has static lifetime.
client::Interest wakes_controller(Kind kind, const api::ResourceRef& resource, const api::ResourceRef& owners,
                                  std::string_view owner_kind);

// The resource's object of this name; null when the view lacks it.
const api::AnyObject* find_other(const View& view, const api::ResourceRef& resource, std::string_view ns,
                                 std::string_view name);
// Those of a namespace whose controller has this UID. Cost: O(objects of the resource in the namespace).
std::vector<const api::AnyObject*> controlled_others(const View& view, const api::ResourceRef& resource,
                                                     std::string_view ns, std::string_view uid);

// The reference by which `owner` controls what it makes.
api::OwnerReference controller_reference(const Parsed& owner, std::string_view api_version,
                                         std::string_view kind);

client::Write create_other(const api::ResourceRef& resource, const Json& object);
// PUTs the object on its version.
client::Write replace_other(const api::ObjectKey& key, const Json& object);

// The members of `wanted` that differ from `standing`; null in `wanted` means absent. Nothing when none does.
std::optional<Json> difference(const Json& standing, const JsonObject& wanted);
// Brings the status of `object` to `wanted` on its version; nothing when it is so.
std::optional<client::Write> status_write(const Parsed& object, const JsonObject& wanted);

// 0 is absent, as Go's omitempty has it.
Json unless_zero(std::int64_t count);

// An amount that is a number or a percentage of `total`.
std::int64_t scaled_amount(const Json& amount, std::int64_t total, bool round_up);

client::EventNote event_about(const Parsed& object, bool warning, std::string_view reason,
                              std::string message);

// The integer of an annotation; nothing when it is absent or no number.
std::optional<std::int64_t> number_in(const api::ObjectMeta& meta, std::string_view annotation);

// The earlier of both.
void wake_by(Effects& effects, Time at);

}  // namespace berth::workloads
