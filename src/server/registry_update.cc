// PUT and PATCH: reads, changes, checks and writes the current object, again after a concurrent write.
#include <algorithm>

#include "api/admission.h"
#include "crd/served_version.h"
#include "server/access.h"
#include "server/deletion.h"
#include "server/field_ownership.h"
#include "server/metadata.h"
#include "server/object_versions.h"
#include "server/registry_steps.h"
#include "server/write_errors.h"

namespace berth::server {

void Registry::update(ObjectTarget target, Json body, WriteOptions options, Done done) {
  auto update = std::make_shared<Update>();
  update->replaces = true;
  update->change = [body = std::move(body)](const Json&) -> ApiResult<Json> { return body; };
  update->target = std::move(target);
  update->options = std::move(options);
  update->done = std::move(done);
  attempt_update(update);
}

void Registry::modify(ObjectTarget target, Change change, WriteOptions options, Done done) {
  auto update = std::make_shared<Update>();
  update->target = std::move(target);
  update->change = std::move(change);
  update->options = std::move(options);
  update->done = std::move(done);
  attempt_update(update);
}

ApiResult<Json> Registry::current_document(const ObjectTarget& target,
                                           const store::ObjectPtr& current) const {
  const store::ObjectPtr shown = TRY(in_request_version(target, current));
  Result<Json> document = shown == current ? document_of(*current) : parse_json(shown->bytes);
  if (!document) return internal_error("stored object does not parse: " + document.error().text());
  if (has_webhook(target)) (*document)["apiVersion"] = api_version_of(storage_of(*target.resource));
  return std::move(document).value();
}

void Registry::attempt_update(const std::shared_ptr<Update>& update) {
  answer_refusal(try_update(update), update->done);
}

ApiResult<void> Registry::try_update(const std::shared_ptr<Update>& update) {
  const ObjectTarget& target = update->target;
  const store::ObjectPtr current = dependencies_.store.get(key_of(target));
  if (!current) return create_instead(update);
  update->current = current;
  update->before = TRY(current_document(target, current));
  const Json& before = update->before;
  Json next = TRY(update->change(before));
  TRY(update->check_identity(*current, next));
  track_fields(target, update->options, dependencies_.clock.now(), before, next);
  restore_system_fields(next, before);
  if (is_held(*update, *current, before, next)) set_finalizer(next, kForegroundFinalizer);
  metadata_of(next)["resourceVersion"] = std::to_string(current->revision);
  TRY(admit(*update, next, before));
  update->next = std::move(next);
  return mutate_update(update);
}

ApiResult<void> Registry::check_update(const std::shared_ptr<Update>& update) {
  if (access_) TRY(access_->check_write(update->target, update->options, &update->next, &update->before));
  TRY(apply_rules(*update, update->next, update->before));
  return validate_update(update);
}

ApiResult<void> Registry::finish_update(const std::shared_ptr<Update>& update) {
  const ObjectTarget& target = update->target;
  const store::ObjectPtr current = std::exchange(update->current, nullptr);
  const Json before = std::exchange(update->before, {});
  Json next = std::exchange(update->next, {});
  if ((next == before || differ_only_in_managed_times(next, before)) && is_stored_as_now(target, *current)) {
    update->done(Answer{.object = current, .warnings = std::move(update->warnings)});
    return {};
  }
  if (update->options.dry_run) {
    update->done(Answer{.document = to_string(next), .warnings = std::move(update->warnings)});
    return {};
  }
  store::WriteRequest write;
  write.kind = deletion_is_complete(target, next) ? store::WriteRequest::Kind::Delete
                                                  : store::WriteRequest::Kind::Update;
  write.key = key_of(target);
  write.expected = current->revision;
  // The response to the update that ends a deletion has the version that it was based on.
  const bool removes = write.kind == store::WriteRequest::Kind::Delete;
  const store::Draft shown = removes ? draft_of(in_stored_order(next)) : store::Draft();
  std::string last_state = removes ? shown.head + std::to_string(current->revision) + shown.tail : "";
  Json written = in_stored_order(TRY(in_stored_version(target, std::move(next))));
  write.draft = draft_of(written);
  if (!recent_->keeps()) written = {};
  submit_update(update, std::move(write), std::move(written), std::move(last_state));
  return {};
}

bool Registry::is_held(const Update& update, const store::Object& current, const Json& before,
                       const Json& next) const {
  const bool removes = update.options.in_process && !update.target.resource->custom && is_deleting(before) &&
                       has_finalizer(before, kForegroundFinalizer) &&
                       !has_finalizer(next, kForegroundFinalizer);
  return removes && foreground_hold_ && foreground_hold_->holds(update.target, current);
}

// An apply creates an object of any kind, a PUT one of those kinds that allow it. A subresource creates
// nothing.
ApiResult<void> Registry::create_instead(const std::shared_ptr<Update>& update) {
  ObjectTarget& target = update->target;
  const bool may_create = update->options.is_apply || (update->replaces && rules_of(target).create_on_update);
  if (!may_create || !target.subresource.empty()) return not_found(target.resource_name(), target.name);
  Json object = TRY(update->change(Json()));
  if (update->options.is_apply) metadata_of(object).as_object().erase("resourceVersion");
  create(target, std::move(object), update->options, [this, update](ApiResult<Answer> made) {
    // Somebody was faster: what was asked for is a change of their object.
    const bool raced = !made && made.error().reason == "AlreadyExists" && --update->tries_left > 0;
    if (!raced) return update->done(std::move(made));
    post_for(update->target, dependencies_.executor, [this, update] { attempt_update(update); });
  });
  return {};
}

namespace {

bool needs_version(const api::KindRules& rules, std::string_view version) {
  const auto& free = rules.unversioned_updates;
  return rules.needs_version_on_update && std::find(free.begin(), free.end(), version) == free.end();
}

}  // namespace

ApiResult<void> Registry::Update::check_identity(const store::Object& stored, const Json& wanted) const {
  const Json& metadata = metadata_of(wanted);
  const std::string_view name = metadata.string_at("name"), ns = metadata.string_at("namespace");
  // The body of a PUT was compared with its path before anything was read.
  if (!replaces && name.empty()) return no_name(target.name);
  if (!replaces && name != target.name) return other_name(name, target.name);
  if (!target.ns.empty() && !ns.empty() && ns != target.ns)
    return bad_request(
        "the namespace of the provided object does not match the namespace sent on the request");
  const std::string_view uid = metadata.string_at("uid");
  // PUT takes the uid as a precondition; a patch would change it.
  if (!uid.empty() && uid != stored.uid) {
    if (replaces) return uid_conflict(target, uid, stored.uid, options.dry_run);
    return check_fields(target, {api::invalid("metadata.uid", uid, "field is immutable")});
  }
  const std::string_view version = metadata.string_at("resourceVersion");
  const bool unversioned = version.empty() || version == "0";
  // The refusal names the resource, not the kind.
  if (unversioned && replaces && needs_version(rules_of(target), target.resource->version))
    return invalid(target.resource->group, target.resource->plural, target.name,
                   {api::invalid("metadata.resourceVersion", 0, "must be specified for an update")});
  if (version.find_first_not_of("0123456789") != std::string_view::npos)
    return plain_error("strconv.ParseUint: parsing \"" + std::string(version) + "\": invalid syntax");
  if (!unversioned && version != std::to_string(stored.revision))
    return stale(target.resource_name(), target.name);
  return {};
}

namespace {

// The status of a custom object without an endpoint for it is content like any other.
bool raises_generation(const ObjectTarget& target, const api::KindRules& rules, const Json& next,
                       const Json& before) {
  using api::GenerationRule;
  const crd::ServedVersion* custom = crd::served_version(*target.resource);
  if (custom && !custom->has_status && !(next.part("status") == before.part("status"))) return true;
  if (!rules.has_generation || rules.generation_rule == GenerationRule::Constant) return false;
  const Json& labels = metadata_of(next).part("labels");
  const Json& before_labels = metadata_of(before).part("labels");
  const auto counts = [](const Json& map) { return map.is_object() && !map.as_object().empty(); };
  if (rules.generation_rule == GenerationRule::ContentOrLabels && labels != before_labels &&
      (counts(labels) || counts(before_labels)))
    return true;
  return spec_differs(next, before);
}

// A write of the status changes no spec; metadata as far as the kind permits, and the owners of fields.
void keep_all_but_status(const api::KindRules& rules, Json& next, const Json& before,
                         const api::RuleContext& ctx) {
  const Json asked_metadata = metadata_of(std::as_const(next));
  if (rules.prepare_status_update) {
    rules.prepare_status_update(next, before, ctx);
  } else {
    const api::StatusMetadata taken = api::status_metadata(ctx.resource->group, ctx.resource->plural);
    Json kept = before;
    copy_or_erase(kept, next, "status");
    if (taken != api::StatusMetadata::None) kept["metadata"] = asked_metadata;
    if (taken == api::StatusMetadata::AllButLabels)
      copy_or_erase(metadata_of(kept), metadata_of(before), "labels");
    next = std::move(kept);
  }
  copy_or_erase(metadata_of(next), asked_metadata, "managedFields");
}

// What the body of a subresource, or a status alone, asks for.
bool is_of_status(const ObjectTarget& target, const api::KindRules& rules) {
  return target.subresource == "status" ||
         (!target.subresource.empty() && target.subresource == rules.status_writer);
}

}  // namespace

ApiResult<void> Registry::admit(const Update& update, Json& next, const Json& before) const {
  const ObjectTarget& target = update.target;
  const api::KindRules& rules = rules_of(target);
  if (is_of_status(target, rules)) return {};
  if (target.resource->has_subresource("status") && target.subresource != "binding")
    copy_or_erase(next, before, "status");
  if (!rules.admit_update) return {};
  return check_admission(target, rules.admit_update(next, before, context(target, update.options)));
}

// The kind's clearing, defaults and validation. A write of the status changes no spec, and other writes
// not the status; the binding is not checked.
ApiResult<void> Registry::apply_rules(Update& update, Json& next, const Json& before) {
  const ObjectTarget& target = update.target;
  const api::KindRules& rules = rules_of(target);
  api::RuleContext ctx = context(target, update.options);
  const bool binds = target.subresource == "binding";
  const bool status_only = is_of_status(target, rules);
  update.hold.reset();
  std::optional<ServiceAllocations::Turn> turn;
  if (is_core(target, "services") && !status_only) ctx.services = &turn.emplace(service_allocations_);
  if (status_only) {
    keep_all_but_status(rules, next, before, ctx);
  } else {
    if (target.resource->has_subresource("status") && !binds) copy_or_erase(next, before, "status");
    if (rules.prepare_update) rules.prepare_update(next, before, ctx);
  }
  if (!binds && !status_only && raises_generation(target, rules, next, before))
    metadata_of(next)["generation"] = metadata_of(before).int_at("generation") + 1;

  api::FieldErrors errors;
  if (access_) errors = access_->status_errors(target, update.options, next, before);
  if (status_only || binds) api::append(errors, api::validate_meta_update(next, before, rules));
  if (status_only && rules.validate_status_update)
    api::append(errors, rules.validate_status_update(next, before, ctx));
  if (!status_only && !binds) api::append(errors, api::validate_change(next, before, rules, ctx));
  if (const api::Admission* admission = admission_of(target))
    api::append(errors, admission->validate(next, &before));
  TRY(check_fields(target, errors));
  if (turn && !update.options.dry_run) update.hold = turn->hold(next);
  turn.reset();
  if (target.subresource.empty() && !update.options.in_process && rules.warnings)
    update.warnings = rules.warnings(next, &before, ctx);
  return {};
}

void Registry::submit_update(std::shared_ptr<Update> update, store::WriteRequest write, Json written,
                             std::string last_state) {
  const bool removes = write.kind == store::WriteRequest::Kind::Delete;
  const store::Revision replaced = write.expected;
  dependencies_.store.submit(
      std::move(write), [this, update = std::move(update), last_state = std::move(last_state), removes,
                         replaced, written = std::move(written)](store::WriteResult made) mutable {
        if (made) {
          note_written(update->target);
          recent_->forget(replaced);
          if (!removes) keep(**made, std::move(written));
          update->hold.reset();
          return update->done(Answer{.object = removes ? nullptr : *made,
                                     .document = std::move(last_state),
                                     .warnings = std::move(update->warnings)});
        }
        const bool raced = made.error().code() == ErrorCode::Conflict && --update->tries_left > 0;
        if (raced)
          return post_for(update->target, dependencies_.executor, [this, update] { attempt_update(update); });
        update->done(store_error(update->target, made.error()));
      });
}

}  // namespace berth::server
