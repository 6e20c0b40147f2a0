// Admission webhooks between the steps of a write. Each function goes on at once where no webhook may see the
// write, and else when they have answered.
#include "api/type_table.h"
#include "crd/served_version.h"
#include "server/access.h"
#include "server/metadata.h"
#include "server/object_versions.h"
#include "server/registry_steps.h"
#include "server/scale.h"

namespace berth::server {
namespace {

using admission::Operation;
using admission::Phase;

// What the reference sets after its mutating webhooks.
constexpr std::string_view kSetLater[] = {"uid", "creationTimestamp", "generation"};

Json without_later_fields(Json object, bool is_name_generated) {
  Json& metadata = metadata_of(object);
  for (const std::string_view member : kSetLater) metadata.as_object().erase(member);
  if (is_name_generated) metadata.as_object().erase("name");
  return object;
}

Json delete_options_json(const DeleteOptions& options) {
  Json json = Json::object({{"kind", "DeleteOptions"}, {"apiVersion", "meta.k8s.io/v1"}});
  if (options.grace_s) json["gracePeriodSeconds"] = *options.grace_s;
  if (!options.uid.empty()) json["preconditions"]["uid"] = options.uid;
  if (!options.resource_version.empty()) json["preconditions"]["resourceVersion"] = options.resource_version;
  if (!options.propagation.empty()) json["propagationPolicy"] = options.propagation;
  if (options.dry_run) json["dryRun"] = Json::array({"All"});
  return json;
}

bool is_scale(const ObjectTarget& target) {
  return target.subresource == "scale";
}

const api::TypeInfo& scale_type() {
  static const api::TypeInfo& type = *api::find_type("autoscaling", "v1", "Scale");
  return type;
}

// The member that a Scale's replicas are.
std::vector<std::string> replicas_path(const ObjectTarget& target) {
  const crd::ServedVersion* custom = crd::served_version(*target.resource);
  return custom && custom->scale ? custom->scale->replicas.members
                                 : std::vector<std::string>{"spec", "replicas"};
}

AdmissionWrite write_of(const ObjectTarget& target, Operation operation, const WriteOptions& options) {
  AdmissionWrite write;
  write.target = target;
  write.operation = operation;
  write.notes = options.notes;
  write.dry_run = options.dry_run;
  return write;
}

}  // namespace

bool Registry::may_see(Phase phase, const ObjectTarget& target, const WriteOptions& options) const {
  return webhooks_ && webhooks_->may_see(phase, target, options);
}

ApiResult<void> Registry::mutate_create(const std::shared_ptr<Creation>& creation) {
  if (!may_see(Phase::Mutating, creation->target, creation->options)) return check_create(creation);
  AdmissionWrite write = write_of(creation->target, Operation::Create, creation->options);
  write.object = without_later_fields(creation->object, creation->is_name_generated);
  if (creation->is_name_generated) write.target.name.clear();
  const auto admit_again = [this, creation](Json object) { return admitted(*creation, std::move(object)); };
  webhooks_->mutate(std::move(write), admit_again, [this, creation](ApiResult<Json> object) {
    answer_refusal(object ? take_created(creation, *std::move(object)) : ApiResult<void>(object.error()),
                   creation->done);
  });
  return {};
}

// The object of the webhooks, with what they were not shown.
ApiResult<void> Registry::take_created(const std::shared_ptr<Creation>& creation, Json object) {
  ObjectTarget& target = creation->target;
  const Json shown = std::exchange(creation->object, std::move(object));
  Json& metadata = metadata_of(creation->object);
  for (const std::string_view member : kSetLater) copy_or_erase(metadata, metadata_of(shown), member);
  if (std::as_const(metadata).string_at("name").empty()) metadata["name"] = target.name;
  target.name = std::as_const(metadata).string_at("name");
  TRY(check_new_metadata(target, metadata));
  if (target.resource->namespaced) metadata["namespace"] = target.ns;
  return check_create(creation);
}

ApiResult<void> Registry::validate_create(const std::shared_ptr<Creation>& creation) {
  if (!may_see(Phase::Validating, creation->target, creation->options)) return charge_create(creation);
  AdmissionWrite write = write_of(creation->target, Operation::Create, creation->options);
  write.object = creation->object;
  webhooks_->validate(std::move(write), [this, creation](const ApiResult<void>& allowed) {
    answer_refusal(allowed ? charge_create(creation) : allowed, creation->done);
  });
  return {};
}

// Nothing for the binding: its body has been seen (admit_body).
std::optional<AdmissionWrite> Registry::update_write(const Update& update, Phase phase) const {
  const ObjectTarget& target = update.target;
  if (target.subresource == "binding" || !may_see(phase, target, update.options)) return std::nullopt;
  AdmissionWrite write = write_of(target, Operation::Update, update.options);
  write.object = update.next;
  write.old = update.before;
  if (!is_scale(target)) return write;
  write.body_type = &scale_type();
  const crd::ServedVersion* custom = crd::served_version(*target.resource);
  write.object = scale_of(update.next, custom);
  write.old = scale_of(update.before, custom);
  return write;
}

ApiResult<void> Registry::mutate_update(const std::shared_ptr<Update>& update) {
  std::optional<AdmissionWrite> write = update_write(*update, Phase::Mutating);
  if (!write) return check_update(update);
  const auto admit_again = [this, update](Json object) -> ApiResult<Json> {
    if (!is_scale(update->target)) TRY(admit(*update, object, update->before));
    return object;
  };
  webhooks_->mutate(*std::move(write), admit_again, [this, update](ApiResult<Json> object) {
    if (!object) return update->done(object.error());
    take_updated(*update, *std::move(object));
    answer_refusal(check_update(update), update->done);
  });
  return {};
}

void Registry::take_updated(Update& update, Json object) const {
  if (is_scale(update.target)) {
    if (const Json* replicas = std::as_const(object).part("spec").find("replicas"))
      place_at(update.next, replicas_path(update.target)) = *replicas;
    return;
  }
  update.next = std::move(object);
  restore_system_fields(update.next, update.before);
  metadata_of(update.next)["resourceVersion"] = std::to_string(update.current->revision);
}

ApiResult<void> Registry::validate_update(const std::shared_ptr<Update>& update) {
  std::optional<AdmissionWrite> write = update_write(*update, Phase::Validating);
  if (!write) return finish_update(update);
  webhooks_->validate(*std::move(write), [this, update](const ApiResult<void>& allowed) {
    answer_refusal(allowed ? finish_update(update) : allowed, update->done);
  });
  return {};
}

// Mutating webhooks have nothing to change here, but may refuse.
ApiResult<void> Registry::ask_about_removal(const std::shared_ptr<Removal>& removal) {
  const ObjectTarget& target = removal->target;
  const bool mutates = may_see(Phase::Mutating, target, removal->write_options);
  const bool validates = may_see(Phase::Validating, target, removal->write_options);
  if (!mutates && !validates) return finish_remove(removal);
  AdmissionWrite write = write_of(target, Operation::Delete, removal->write_options);
  write.dry_run = removal->options.dry_run;
  write.options = delete_options_json(removal->options);
  const store::ObjectPtr shown = TRY(in_request_version(target, removal->current));
  Result<Json> old = shown == removal->current ? removal->before : parse_json(shown->bytes);
  if (!old) return internal_error("stored object does not parse");
  write.old = *std::move(old);
  const auto validate = [this, removal, write](const ApiResult<Json>& seen) {
    if (!seen) return removal->done(seen.error());
    webhooks_->validate(write, [this, removal](const ApiResult<void>& allowed) {
      answer_refusal(allowed ? finish_remove(removal) : allowed, removal->done);
    });
  };
  if (mutates)
    webhooks_->mutate(write, [](Json object) { return ApiResult<Json>(std::move(object)); }, validate);
  else
    validate(Json());
  return {};
}

void Registry::admit_body(ObjectTarget target, const api::TypeInfo& type, Json body,
                          const WriteOptions& options, std::function<void(ApiResult<Json>)> then) {
  if (access_)
    if (const ApiResult<void> allowed = access_->check_body(target, options, body); !allowed)
      return then(allowed.error());
  const bool mutates = may_see(Phase::Mutating, target, options);
  const bool validates = may_see(Phase::Validating, target, options);
  if (!mutates && !validates) return then(std::move(body));
  AdmissionWrite write = write_of(target, Operation::Create, options);
  write.object = std::move(body);
  write.body_type = &type;
  const auto validate = [this, write, then](ApiResult<Json> mutated) {
    if (!mutated) return then(mutated.error());
    AdmissionWrite changed = write;
    changed.object = *mutated;
    webhooks_->validate(std::move(changed), [then, mutated](const ApiResult<void>& allowed) {
      then(allowed ? mutated : ApiResult<Json>(allowed.error()));
    });
  };
  if (mutates)
    webhooks_->mutate(write, [](Json object) { return ApiResult<Json>(std::move(object)); }, validate);
  else
    validate(write.object);
}

}  // namespace berth::server
