#include "server/deletion.h"

#include "crd/definition_rules.h"
#include "crd/names.h"
#include "server/metadata.h"

namespace berth::server {
namespace {

constexpr std::string_view kGraceMember = "deletionGracePeriodSeconds";

// Whether a deleted object must wait: for finalizers, for a namespace also those of its spec, or for its
// grace period.
bool holds_deletion(const ObjectTarget& target, const Json& object) {
  if (has_finalizers(object) || metadata_of(object).int_at(kGraceMember, 0) > 0) return true;
  return is_core(target, "namespaces") && !object.part("spec").items_at("finalizers").empty();
}

std::int64_t pod_grace_s(const Json& pod, const DeleteOptions& options) {
  const Json& spec = pod.part("spec");
  const std::string_view phase = pod.part("status").string_at("phase");
  if (spec.string_at("nodeName").empty() || phase == "Succeeded" || phase == "Failed") return 0;
  const std::int64_t grace = options.grace_s.value_or(spec.int_at("terminationGracePeriodSeconds", 30));
  return grace < 0 ? 1 : grace;
}

void begin_grace_period(Json& pod, Time now, const DeleteOptions& options) {
  const std::int64_t grace_s = pod_grace_s(pod, options);
  if (!is_deleting(pod)) return mark_deleted(pod, now, grace_s);
  Json& metadata = metadata_of(pod);
  const std::int64_t running_s = metadata.int_at(kGraceMember);
  const Result<Time> ends = parse_time(metadata.string_at("deletionTimestamp"));
  if (!options.grace_s || grace_s >= running_s || !ends) return;
  metadata["deletionTimestamp"] = format_time(*ends + Duration::seconds(grace_s - running_s));
  metadata[kGraceMember] = grace_s;
}

void apply_propagation(Json& object, const DeleteOptions& options, const api::KindRules& rules) {
  const bool orphan =
      options.propagation == "Orphan" || (options.propagation.empty() && rules.orphans_by_default);
  if (!options.propagation.empty() || orphan) {
    drop_finalizer(object, kOrphanFinalizer);
    drop_finalizer(object, kForegroundFinalizer);
  }
  if (orphan) set_finalizer(object, kOrphanFinalizer);
  if (options.propagation == "Foreground") set_finalizer(object, kForegroundFinalizer);
}

}  // namespace

ApiResult<void> check_preconditions(const ObjectTarget& target, const DeleteOptions& options,
                                    const store::Object& current) {
  const auto refuse = [&](std::string_view what, std::string_view asked, std::string_view found,
                          std::string_view guess) {
    std::string text = "the ";
    text.append(what).append(" in the precondition (").append(asked).append(") does not match the ");
    text.append(what).append(" in record (").append(found).append("). The object might have been ");
    return conflict({target.resource->group, target.resource->kind}, target.name, text.append(guess));
  };
  if (!options.uid.empty() && options.uid != current.uid)
    return refuse("UID", options.uid, current.uid, "deleted and then recreated");
  const std::string version = std::to_string(current.revision);
  if (!options.resource_version.empty() && options.resource_version != version)
    return refuse("ResourceVersion", options.resource_version, version, "modified");
  return {};
}

Deletion begin_deletion(const ObjectTarget& target, const DeleteOptions& options, const Json& before,
                        Time now) {
  Deletion deletion{before, false, is_core(target, "pods")};
  Json& object = deletion.object;
  apply_propagation(object, options, rules_of(target));
  if (deletion.graceful) begin_grace_period(object, now, options);
  if (crd::is_definition(*target.resource) && !is_deleting(object)) {
    set_finalizer(object, crd::kCleanupFinalizer);
    crd::set_condition(
        object, "Terminating", true, "InstanceDeletionPending",
        "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon", now);
  }
  deletion.waits = holds_deletion(target, object);
  if (!deletion.waits) return deletion;
  if (!is_deleting(object)) mark_deleted(object, now, 0);
  if (is_core(target, "namespaces")) {
    metadata_of(object).as_object().erase(kGraceMember);
    object["status"]["phase"] = "Terminating";
  }
  return deletion;
}

bool deletion_is_complete(const ObjectTarget& target, const Json& object) {
  return is_deleting(object) && !holds_deletion(target, object);
}

}  // namespace berth::server
