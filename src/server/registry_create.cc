// POST of an object: system fields, admission, validation, and new names when a generated one exists.
#include "api/admission.h"
#include "api/new_objects.h"
#include "server/access.h"
#include "server/field_ownership.h"
#include "server/metadata.h"
#include "server/object_versions.h"
#include "server/registry_steps.h"
#include "server/write_errors.h"

namespace berth::server {
namespace {

constexpr std::size_t kPrefixBytesMax = 58;  // of a generateName
constexpr std::size_t kSuffixBytes = 5;

}  // namespace

ApiResult<void> check_new_metadata(const ObjectTarget& target, const Json& metadata) {
  const std::string_view ns = metadata.string_at("namespace");
  if (target.resource->namespaced && !ns.empty() && ns != target.ns)
    return bad_request(
        "the namespace of the provided object does not match the namespace sent on the request");
  return {};
}

void Registry::create(ObjectTarget target, Json body, WriteOptions options, Done done) {
  auto creation = std::make_shared<Creation>();
  creation->target = std::move(target);
  creation->object = std::move(body);
  creation->options = std::move(options);
  creation->done = std::move(done);
  answer_refusal(try_create(creation), creation->done);
}

// Asks the webhooks, or goes on at once.
ApiResult<void> Registry::try_create(const std::shared_ptr<Creation>& creation) {
  ObjectTarget& target = creation->target;
  Json& object = creation->object;
  const api::KindRules& rules = rules_of(target);
  const Time now = dependencies_.clock.now();
  Json& metadata = metadata_of(object);
  TRY(check_new_metadata(target, metadata));
  target.name = metadata.string_at("name");
  if (target.name.empty() && !metadata.string_at("generateName").empty()) {
    creation->tries_left = kGenerateNameTriesMax;
    target.name = generated_name(object);
    metadata["name"] = target.name;
    creation->is_name_generated = true;
  }
  if (target.name.empty() && rules.draws_name) {
    target.name = dependencies_.random.uuid();
    metadata["name"] = target.name;
  }
  TRY(check_namespace(target));
  for (std::string_view key : {"deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"})
    metadata.as_object().erase(key);
  if (!target.resource->namespaced) metadata.as_object().erase("namespace");
  track_fields(target, creation->options, now, Json(), object);
  if (target.resource->namespaced) metadata["namespace"] = target.ns;
  metadata["uid"] = dependencies_.random.uuid();
  metadata["creationTimestamp"] = format_time(now);
  if (rules.has_generation && rules.generation_rule != api::GenerationRule::BeginsWithFirstChange)
    metadata["generation"] = 1;

  object = TRY(admitted(*creation, std::move(object)));
  return mutate_create(creation);
}

ApiResult<Json> Registry::admitted(const Creation& creation, Json object) const {
  const ObjectTarget& target = creation.target;
  const api::KindRules& rules = rules_of(target);
  if (rules.admit_create)
    TRY(check_admission(target, rules.admit_create(object, context(target, creation.options))));
  const api::Admission* admission = admission_of(target);
  return admission ? mutated(target, *admission, std::move(object)) : ApiResult<Json>(std::move(object));
}

ApiResult<void> Registry::check_create(const std::shared_ptr<Creation>& creation) {
  const ObjectTarget& target = creation->target;
  Json& object = creation->object;
  const api::KindRules& rules = rules_of(target);
  if (access_) TRY(access_->check_write(target, creation->options, &object, nullptr));
  api::RuleContext ctx = context(target, creation->options);
  std::optional<ServiceAllocations::Turn> turn;
  if (is_core(target, "services")) ctx.services = &turn.emplace(service_allocations_);
  if (rules.prepare_create) rules.prepare_create(object, ctx);
  api::FieldErrors errors = api::validate_new(object, target.resource->namespaced, rules, ctx);
  if (const api::Admission* admission = admission_of(target))
    api::append(errors, admission->validate(object, nullptr));
  TRY(check_fields(target, errors));
  if (turn && !creation->options.dry_run) creation->hold = turn->hold(object);
  turn.reset();
  if (!creation->options.in_process && rules.warnings)
    creation->warnings = rules.warnings(object, nullptr, ctx);
  return validate_create(creation);
}

// Quotas are judged last, when nothing else refuses the object any more.
ApiResult<void> Registry::charge_create(const std::shared_ptr<Creation>& creation) {
  if (!quota_charges_.concern(creation->target)) return finish_create(creation);
  quota_charges_.charge(creation->target, creation->object, creation->options.dry_run,
                        [this, creation](const ApiResult<void>& charged) {
                          answer_refusal(charged ? finish_create(creation) : charged, creation->done);
                        });
  return {};
}

ApiResult<void> Registry::finish_create(const std::shared_ptr<Creation>& creation) {
  const ObjectTarget& target = creation->target;
  const Json& object = creation->object;
  if (!creation->options.dry_run) {
    // The reference's store refuses it, which a dry run does not reach.
    if (!metadata_of(object).string_at("resourceVersion").empty())
      return plain_error("resourceVersion should not be set on objects to be created");
    return submit_create(creation);
  }
  if (dependencies_.store.get(key_of(target))) return already_exists(target.resource_name(), target.name);
  creation->done(Answer{
      .code = 201, .document = to_string(in_api_order(object)), .warnings = std::move(creation->warnings)});
  return {};
}

ApiResult<Json> Registry::mutated(const ObjectTarget& target, const api::Admission& admission,
                                  Json object) const {
  Json changed = admission.mutate(object);
  if (changed == object) return object;
  const api::KindRules& rules = rules_of(target);
  if (rules.set_defaults) rules.set_defaults(changed);
  return canonical(target, std::move(changed), object);
}

std::string Registry::generated_name(const Json& object) const {
  const std::string_view prefix = metadata_of(object).string_at("generateName").substr(0, kPrefixBytesMax);
  return std::string(prefix) + dependencies_.random.name_suffix(kSuffixBytes);
}

ApiResult<void> Registry::check_namespace(const ObjectTarget& target) const {
  if (!target.resource->namespaced) return {};
  const store::ObjectPtr ns = dependencies_.store.get({"namespaces", "", target.ns});
  if (!ns) return not_found({"", "namespaces"}, target.ns);
  if (ns->bytes.find("\"deletionTimestamp\"") == std::string::npos) return {};
  const Result<Json> object = document_of(*ns);
  if (!object || !is_deleting(*object)) return {};
  const std::string detail =
      "unable to create new content in namespace " + target.ns + " because it is being terminated";
  ApiStatus status = forbidden(target.resource_name(), target.name, detail);
  status.causes.push_back(
      {"NamespaceTerminating", "namespace " + target.ns + " is being terminated", "metadata.namespace"});
  return status;
}

ApiResult<void> Registry::submit_create(std::shared_ptr<Creation> creation) {
  store::WriteRequest write;
  write.kind = store::WriteRequest::Kind::Create;
  write.key = key_of(creation->target);
  write.uid = metadata_of(std::as_const(creation->object)).string_at("uid");
  // Not left to the committer's thread, which would free what other threads allocate meanwhile.
  const bool may_try_again = creation->tries_left > 1;
  Json object = may_try_again ? creation->object : std::move(creation->object);
  Json written = in_stored_order(TRY(in_stored_version(creation->target, std::move(object))));
  write.draft = draft_of(written);
  if (!recent_->keeps()) written = {};
  dependencies_.store.submit(std::move(write), [this, creation = std::move(creation),
                                                written =
                                                    std::move(written)](store::WriteResult made) mutable {
    if (made) {
      note_written(creation->target);
      keep(**made, std::move(written));
      creation->hold.reset();
      return creation->done(Answer{.code = 201, .object = *made, .warnings = std::move(creation->warnings)});
    }
    const bool taken = made.error().code() == ErrorCode::Exists;
    if (!taken) return creation->done(store_error(creation->target, made.error()));
    if (--creation->tries_left <= 0) return creation->done(name_is_taken(creation->target));
    post_for(creation->target, dependencies_.executor, [this, creation] {
      creation->target.name = generated_name(creation->object);
      metadata_of(creation->object)["name"] = creation->target.name;
      answer_refusal(submit_create(creation), creation->done);
    });
  });
  return {};
}

ApiStatus Registry::name_is_taken(const ObjectTarget& target) const {
  ApiStatus status = already_exists(target.resource_name(), target.name);
  const store::ObjectPtr existing = dependencies_.store.get(key_of(target));
  const Result<Json> object = existing ? document_of(*existing) : Result<Json>(Json());
  if (object && is_deleting(*object)) status.message = "object is being deleted: " + status.message;
  return status;
}

}  // namespace berth::server
