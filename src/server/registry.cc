#include "server/registry.h"

#include <map>

#include "base/assert.h"
#include "server/metadata.h"

namespace berth::server {
namespace {

constexpr std::string_view kGraceMember = "deletionGracePeriodSeconds";
constexpr std::string_view kOrphanWarning =
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove "
    "them or set propagationPolicy=Orphan to suppress this warning";

Answer of_object(int code, store::ObjectPtr object, std::vector<std::string> warnings = {}) {
  Answer answer;
  answer.code = code;
  answer.object = std::move(object);
  answer.warnings = std::move(warnings);
  return answer;
}

Answer of_document(int code, std::string document, std::vector<std::string> warnings) {
  Answer answer;
  answer.code = code;
  answer.document = std::move(document);
  answer.warnings = std::move(warnings);
  return answer;
}

Answer of_document(int code, const Json& document, std::vector<std::string> warnings = {}) {
  return of_document(code, to_string(document), std::move(warnings));
}

ApiStatus of_rejection(const ObjectTarget& target, const api::Rejection& rejection) {
  ApiStatus status = forbidden(target.resource_name(), target.name, rejection.message);
  status.code = rejection.code;
  status.reason = rejection.reason;
  if (rejection.code != 403) status.message = rejection.message;
  return status;
}

ApiStatus of_store_error(const ObjectTarget& target, const Error& error) {
  switch (error.code()) {
    case ErrorCode::Exists:
      return already_exists(target.resource_name(), target.name);
    case ErrorCode::NotFound:
      return not_found(target.resource_name(), target.name);
    case ErrorCode::Conflict:
      return stale(target.resource_name(), target.name);
    case ErrorCode::Unavailable:
      return unavailable(error.text());
    default:
      return internal_error(error.text());
  }
}

ApiStatus invalid_object(const ObjectTarget& target, const api::FieldErrors& errors) {
  return invalid(storage_of(*target.resource).group, target.resource->kind, target.name, errors);
}

// A PUT must say which version it replaces: refused in the name of the resource, not of the kind.
ApiStatus needs_version(const ObjectTarget& target) {
  return invalid(target.resource->group, target.resource->plural, target.name,
                 {api::invalid("metadata.resourceVersion", 0, "must be specified for an update")});
}

const api::KindRules& rules_of(const ObjectTarget& target) {
  const api::ResourceInfo& stored = storage_of(*target.resource);
  return api::rules_of(stored.group, stored.plural);
}

bool is_pod(const ObjectTarget& target) {
  return target.resource->group.empty() && target.resource->plural == "pods";
}

bool is_namespace(const ObjectTarget& target) {
  return target.resource->group.empty() && target.resource->plural == "namespaces";
}

// Whether a deleted object has to wait: for finalizers, of a namespace also those of its spec, or for its
// grace period.
bool holds_deletion(const ObjectTarget& target, const Json& object) {
  if (has_finalizers(object) || metadata_of(object).int_at(kGraceMember, 0) > 0) return true;
  return is_namespace(target) && !object.part("spec").items_at("finalizers").empty();
}

// The deletion of an object whose last finalizer has gone.
bool deletion_is_complete(const ObjectTarget& target, const Json& object) {
  return is_deleting(object) && !holds_deletion(target, object);
}

std::int64_t pod_grace_s(const Json& pod, const DeleteOptions& options) {
  const Json& spec = pod.part("spec");
  const std::string_view phase = pod.part("status").string_at("phase");
  if (spec.string_at("nodeName").empty() || phase == "Succeeded" || phase == "Failed") return 0;
  const std::int64_t grace = options.grace_s.value_or(spec.int_at("terminationGracePeriodSeconds", 30));
  return grace < 0 ? 1 : grace;
}

// Marks the object as deleted. A grace period that runs already is only ever shortened, and by a request that
// names one.
void begin_deletion(Json& object, Time now, std::int64_t grace_s, const DeleteOptions& options) {
  if (!is_deleting(object)) return mark_deleted(object, now, grace_s);
  Json& metadata = metadata_of(object);
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
    drop_finalizer(object, "orphan");
    drop_finalizer(object, "foregroundDeletion");
  }
  if (orphan) set_finalizer(object, "orphan");
  if (options.propagation == "Foreground") set_finalizer(object, "foregroundDeletion");
}

// What the client says of the object it means to delete does not hold.
std::optional<ApiStatus> failed_precondition(const ObjectTarget& target, const DeleteOptions& options,
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
  return std::nullopt;
}

// How the reference's storage names an object: a few messages show it.
std::string registry_key(const ObjectTarget& target) {
  struct Renamed {
    std::string_view resource, stored_as;
  };
  static constexpr Renamed kRenamed[] = {{"nodes", "minions"}, {"services", "services/specs"}};
  std::string_view resource = target.resource->plural;
  for (const Renamed& row : kRenamed)
    if (row.resource == resource) resource = row.stored_as;
  std::string key = "/registry/" + std::string(resource) + "/";
  if (!target.ns.empty()) key += target.ns + "/";
  return key + target.name;
}

}  // namespace

Answer Answer::failed(ApiStatus status) {
  Answer answer;
  answer.code = status.code;
  answer.status = std::move(status);
  return answer;
}

namespace {

// Of each row of the table, the row that its objects are stored as: the first of its group and plural.
std::vector<const api::ResourceInfo*> storage_rows() {
  const std::span<const api::ResourceInfo> rows = api::resources();
  std::map<std::pair<std::string_view, std::string_view>, const api::ResourceInfo*> first;
  for (const api::ResourceInfo& row : rows) first.try_emplace({row.group, row.plural}, &row);
  std::vector<const api::ResourceInfo*> stored;
  for (const api::ResourceInfo& row : rows) {
    const std::string_view group = row.group == "events.k8s.io" ? std::string_view() : row.group;
    stored.push_back(first.at({group, row.plural}));
  }
  return stored;
}

}  // namespace

const api::ResourceInfo& storage_of(const api::ResourceInfo& resource) {
  static const std::vector<const api::ResourceInfo*> kStored = storage_rows();
  const std::ptrdiff_t row = &resource - api::resources().data();
  BERTH_ASSERT(row >= 0 && static_cast<std::size_t>(row) < kStored.size(), "resources are rows of the table");
  return *kStored[static_cast<std::size_t>(row)];
}

std::string api_version_of(const api::ResourceInfo& resource) {
  return api::ResourceRef{std::string(resource.group), std::string(resource.version), ""}.api_version();
}

std::string storage_resource(const api::ResourceInfo& resource) {
  const api::ResourceInfo& stored = storage_of(resource);
  return qualified({stored.group, stored.plural});
}

store::Key key_of(const ObjectTarget& target) {
  return {storage_resource(*target.resource), target.ns, target.name};
}

struct Registry::Update {
  ObjectTarget target;
  Change change;
  WriteOptions options;
  Done done;
  bool replaces = false;  // a PUT
  int tries_left = kUpdateTriesMax;
  std::vector<std::string> warnings;
};

ApiStatus Registry::uid_conflict(const ObjectTarget& target, std::string_view asked, std::string_view found) {
  std::string text = "StorageError: invalid object, Code: 4, Key: " + registry_key(target);
  text.append(", ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: ");
  text.append(asked).append(", UID in object meta: ").append(found);
  return conflict(target.resource_name(), target.name, text);
}

api::RuleContext Registry::context(const ObjectTarget& target, const WriteOptions& options) const {
  const auto read = [this](std::string_view resource, std::string_view ns,
                           std::string_view name) -> std::optional<Json> {
    const store::ObjectPtr found =
        dependencies_.store.get({std::string(resource), std::string(ns), std::string(name)});
    if (!found) return std::nullopt;
    Result<Json> json = document_of(*found);
    return json ? std::optional(std::move(json).value()) : std::nullopt;
  };
  const auto list = [this](std::string_view resource, std::string_view ns) {
    std::vector<Json> found;
    store::ListQuery query;
    query.resource = resource;
    query.ns = ns;
    if (Result<store::ListPage> page = dependencies_.store.list(query))
      for (const store::ObjectPtr& object : page->objects)
        if (Result<Json> json = document_of(*object)) found.push_back(std::move(json).value());
    return found;
  };
  api::RuleContext ctx{dependencies_.gates, dependencies_.clock.now(), options.user, read, list};
  ctx.subresource = target.subresource;
  ctx.request_group = target.resource->group;
  ctx.empty_lists = options.empty_lists;
  return ctx;
}

std::optional<ApiStatus> Registry::check_namespace(const ObjectTarget& target) const {
  if (!target.resource->namespaced) return std::nullopt;
  const store::ObjectPtr ns = dependencies_.store.get({"namespaces", "", target.ns});
  if (!ns) return not_found({"", "namespaces"}, target.ns);
  if (ns->bytes.find("\"deletionTimestamp\"") == std::string::npos) return std::nullopt;
  const Result<Json> object = document_of(*ns);
  if (!object || !is_deleting(*object)) return std::nullopt;
  const std::string detail =
      "unable to create new content in namespace " + target.ns + " because it is being terminated";
  ApiStatus status = forbidden(target.resource_name(), target.name, detail);
  status.causes.push_back(
      {"NamespaceTerminating", "namespace " + target.ns + " is being terminated", "metadata.namespace"});
  return status;
}

void Registry::create(ObjectTarget target, Json body, WriteOptions options, Done done) {
  const api::KindRules& rules = rules_of(target);
  const api::RuleContext ctx = context(target, options);
  Json& metadata = metadata_of(body);
  if (!metadata.string_at("resourceVersion").empty()) {
    ApiStatus status;
    status.message = "resourceVersion should not be set on objects to be created";
    return done(Answer::failed(std::move(status)));
  }
  const std::string_view ns_said = metadata.string_at("namespace");
  if (target.resource->namespaced && !ns_said.empty() && ns_said != target.ns)
    return done(Answer::failed(bad_request(
        "the namespace of the provided object does not match the namespace sent on the request")));
  target.name = metadata.string_at("name");
  const std::string prefix(metadata.string_at("generateName"));
  const bool generated = target.name.empty() && !prefix.empty();
  if (generated) {
    target.name = prefix.substr(0, 58) + dependencies_.random.name_suffix(5);
    metadata["name"] = target.name;
  }
  if (auto refused = check_namespace(target)) return done(Answer::failed(std::move(*refused)));
  if (target.resource->namespaced) metadata["namespace"] = target.ns;
  metadata["uid"] = dependencies_.random.uuid();
  metadata["creationTimestamp"] = format_time(ctx.now);
  for (std::string_view key :
       {"deletionTimestamp", "deletionGracePeriodSeconds", "managedFields", "selfLink"})
    metadata.as_object().erase(key);
  if (rules.has_generation) metadata["generation"] = 1;

  if (rules.admit_create)
    if (const auto rejection = rules.admit_create(body, ctx))
      return done(Answer::failed(of_rejection(target, *rejection)));
  if (rules.prepare_create) rules.prepare_create(body, ctx);
  api::FieldErrors errors = api::validate_meta(body, target.resource->namespaced, rules.name_rule);
  if (rules.validate_create) api::append(errors, rules.validate_create(body, ctx));
  if (!errors.empty()) return done(Answer::failed(invalid_object(target, errors)));
  std::vector<std::string> warnings;
  if (rules.warnings) warnings = rules.warnings(body, nullptr, ctx);

  if (options.dry_run) {
    const store::ObjectPtr existing = dependencies_.store.get(key_of(target));
    if (existing) return done(Answer::failed(already_exists(target.resource_name(), target.name)));
    return done(of_document(201, body, std::move(warnings)));
  }
  submit_create(std::move(target), std::move(body), generated ? kGenerateNameTriesMax : 1,
                std::move(warnings), std::move(done));
}

void Registry::submit_create(ObjectTarget target, Json object, int tries_left,
                             std::vector<std::string> warnings, Done done) {
  store::Write write;
  write.kind = store::Write::Kind::Create;
  write.key = key_of(target);
  write.uid = metadata_of(object).string_at("uid");
  Json written = in_stored_order(object);
  write.draft = draft_of(written);
  dependencies_.store.submit(std::move(write), [this, written = std::move(written),
                                                target = std::move(target), object = std::move(object),
                                                tries_left, warnings = std::move(warnings),
                                                done = std::move(done)](store::WriteResult result) mutable {
    if (result) {
      keep(**result, std::move(written));
      return done(of_object(201, *result, std::move(warnings)));
    }
    const bool taken = result.error().code() == ErrorCode::Exists;
    if (taken && tries_left > 1) {
      dependencies_.executor.post([this, target = std::move(target), object = std::move(object), tries_left,
                                   warnings = std::move(warnings), done = std::move(done)]() mutable {
        const std::string prefix(metadata_of(object).string_at("generateName").substr(0, 58));
        target.name = prefix + dependencies_.random.name_suffix(5);
        metadata_of(object)["name"] = target.name;
        submit_create(std::move(target), std::move(object), tries_left - 1, std::move(warnings),
                      std::move(done));
      });
      return;
    }
    ApiStatus status = of_store_error(target, result.error());
    if (taken) {
      const store::ObjectPtr existing = dependencies_.store.get(key_of(target));
      const Result<Json> json = existing ? document_of(*existing) : Result<Json>(Json());
      if (json && is_deleting(*json)) status.message = "object is being deleted: " + status.message;
    }
    done(Answer::failed(std::move(status)));
  });
}

void Registry::update(ObjectTarget target, Json body, WriteOptions options, Done done) {
  auto update = std::make_shared<Update>();
  update->replaces = true;
  update->change = [body = std::move(body)](const Json&) -> ApiResult<Json> { return body; };
  update->target = std::move(target);
  update->options = std::move(options);
  update->done = std::move(done);
  attempt(std::move(update));
}

void Registry::modify(ObjectTarget target, Change change, WriteOptions options, Done done) {
  auto update = std::make_shared<Update>();
  update->target = std::move(target);
  update->change = std::move(change);
  update->options = std::move(options);
  update->done = std::move(done);
  attempt(std::move(update));
}

void Registry::attempt(std::shared_ptr<Update> update) {
  const ObjectTarget& target = update->target;
  const store::ObjectPtr current = dependencies_.store.get(key_of(target));
  const auto fail = [&](ApiStatus status) { update->done(Answer::failed(std::move(status))); };
  if (!current) {
    if (!update->replaces || !rules_of(target).create_on_update)
      return fail(not_found(target.resource_name(), target.name));
    return create(target, update->change(Json()).value(), update->options, update->done);
  }
  const Result<Json> before = document_of(*current);
  if (!before) return fail(internal_error("stored object does not parse: " + before.error().text()));
  ApiResult<Json> changed = update->change(*before);
  if (!changed) return fail(changed.error());
  Json next = std::move(changed).value();

  const Json& metadata = metadata_of(std::as_const(next));
  const std::string_view name = metadata.string_at("name"), ns = metadata.string_at("namespace");
  if (!name.empty() && name != target.name)
    return fail(bad_request("the name of the object (" + std::string(name) +
                            ") does not match the name on the URL (" + target.name + ")"));
  if (!ns.empty() && ns != target.ns)
    return fail(
        bad_request("the namespace of the provided object does not match the namespace sent on the request"));
  const std::string_view uid = metadata.string_at("uid");
  // PUT takes the uid as a precondition; a patch would change it.
  if (!uid.empty() && uid != current->uid)
    return fail(update->replaces
                    ? uid_conflict(target, uid, current->uid)
                    : invalid_object(target, {api::invalid("metadata.uid", uid, "field is immutable")}));
  const std::string_view version = metadata.string_at("resourceVersion");
  const bool unversioned = version.empty() || version == "0";
  if (unversioned && update->replaces && rules_of(target).needs_version_on_update)
    return fail(needs_version(target));
  if (!unversioned && version != std::to_string(current->revision))
    return fail(stale(target.resource_name(), target.name));
  submit_update(std::move(update), current, *before, std::move(next));
}

void Registry::submit_update(std::shared_ptr<Update> update, const store::ObjectPtr& current,
                             const Json& before, Json next) {
  const ObjectTarget& target = update->target;
  const api::KindRules& rules = rules_of(target);
  const api::RuleContext ctx = context(target, update->options);
  const bool status_only = target.subresource == "status";
  restore_system_fields(next, before);
  metadata_of(next)["resourceVersion"] = std::to_string(current->revision);
  if (status_only) {
    if (rules.prepare_status_update) {
      rules.prepare_status_update(next, before, ctx);
    } else {
      Json kept = before;
      if (const Json* status = next.find("status"))
        kept["status"] = *status;
      else
        kept.as_object().erase("status");
      next = std::move(kept);
    }
  } else {
    if (target.resource->has_subresource("status") && target.subresource != "binding") {
      if (const Json* status = before.find("status"))
        next["status"] = *status;
      else
        next.as_object().erase("status");
    }
    if (rules.admit_update)
      if (const auto rejection = rules.admit_update(next, before, ctx))
        return update->done(Answer::failed(of_rejection(target, *rejection)));
    if (rules.prepare_update) rules.prepare_update(next, before, ctx);
  }
  const bool counts = rules.has_generation && target.subresource != "binding";
  if (counts && spec_differs(next, before))
    metadata_of(next)["generation"] = metadata_of(before).int_at("generation") + 1;

  api::FieldErrors errors = api::validate_meta_update(next, before);
  const auto validate = status_only ? rules.validate_status_update : rules.validate_update;
  if (validate && target.subresource != "binding") api::append(errors, validate(next, before, ctx));
  if (!errors.empty()) return update->done(Answer::failed(invalid_object(target, errors)));
  if (rules.warnings) update->warnings = rules.warnings(next, &before, ctx);

  if (next == before) return update->done(of_object(200, current, std::move(update->warnings)));
  if (update->options.dry_run) return update->done(of_document(200, next, std::move(update->warnings)));
  store::Write write;
  write.kind = deletion_is_complete(target, next) ? store::Write::Kind::Delete : store::Write::Kind::Update;
  write.key = key_of(target);
  write.expected = current->revision;
  Json written = in_stored_order(std::move(next));
  write.draft = draft_of(written);
  finish(std::move(update), std::move(write), std::move(written));
}

void Registry::finish(std::shared_ptr<Update> update, store::Write write, Json written) {
  const bool removes = write.kind == store::Write::Kind::Delete;
  // The answer of the update that ends a deletion keeps the version it was based on.
  std::string last_state =
      removes ? write.draft.head + std::to_string(write.expected) + write.draft.tail : "";
  const store::Revision replaced = write.expected;
  dependencies_.store.submit(
      std::move(write), [this, update, last_state = std::move(last_state), removes, replaced,
                         written = std::move(written)](store::WriteResult result) mutable {
        if (result) {
          recent_->forget(replaced);
          if (!removes) keep(**result, std::move(written));
          Answer answer = of_object(200, *result, std::move(update->warnings));
          if (removes) {
            answer.object = nullptr;
            answer.document = std::move(last_state);
          }
          return update->done(std::move(answer));
        }
        const bool raced = result.error().code() == ErrorCode::Conflict && --update->tries_left > 0;
        if (raced) return dependencies_.executor.post([this, update] { attempt(update); });
        update->done(Answer::failed(of_store_error(update->target, result.error())));
      });
}

void Registry::remove(ObjectTarget target, DeleteOptions options, WriteOptions write_options, Done done) {
  const api::KindRules& rules = rules_of(target);
  const store::ObjectPtr current = dependencies_.store.get(key_of(target));
  if (!current) return done(Answer::failed(not_found(target.resource_name(), target.name)));
  if (auto refused = failed_precondition(target, options, *current))
    return done(Answer::failed(std::move(*refused)));
  Result<Json> parsed = document_of(*current);
  if (!parsed) return done(Answer::failed(internal_error("stored object does not parse")));
  const Json before = std::move(parsed).value();
  if (rules.admit_delete)
    if (const auto rejection = rules.admit_delete(before, context(target, write_options)))
      return done(Answer::failed(of_rejection(target, *rejection)));
  std::vector<std::string> warnings;
  if (rules.orphans_by_default && options.propagation.empty()) warnings.emplace_back(kOrphanWarning);

  Json object = before;
  apply_propagation(object, options, rules);
  const bool graceful = is_pod(target);
  const std::int64_t grace_s = graceful ? pod_grace_s(object, options) : 0;
  if (graceful) begin_deletion(object, dependencies_.clock.now(), grace_s, options);
  const bool pending = holds_deletion(target, object);
  if (pending) {
    if (!is_deleting(object)) mark_deleted(object, dependencies_.clock.now(), grace_s);
    if (is_namespace(target)) {
      metadata_of(object).as_object().erase(kGraceMember);
      object["status"]["phase"] = "Terminating";
    }
    if (object == before) return done(of_object(200, current, std::move(warnings)));
    if (options.dry_run) return done(of_document(200, object, std::move(warnings)));
  }
  Removal removal{std::move(target), std::move(options), std::move(write_options), {}, {}};
  if (!pending && !graceful)
    removal.response_body =
        to_string(rules.answers_deleted_object
                      ? before
                      : deleted_status(removal.target.resource_name(), removal.target.name, current->uid));
  if (removal.options.dry_run)
    return done(graceful ? of_document(200, object, std::move(warnings))
                         : of_document(200, std::move(removal.response_body), std::move(warnings)));
  removal.warnings = std::move(warnings);
  store::Write write;
  write.kind = pending ? store::Write::Kind::Update : store::Write::Kind::Delete;
  write.key = key_of(removal.target);
  write.expected = current->revision;
  write.draft = draft_of(in_stored_order(std::move(object)));
  submit_removal(std::move(removal), std::move(write), std::move(done));
}

// On the committer's thread.
void Registry::keep(const store::Object& object, Json written) {
  if (!recent_->keeps()) return;
  set_revision(written, std::to_string(object.revision));
  // A copy: what was just written to would not be shared by its readers.
  recent_->wrote(object, Json(std::as_const(written)));
}

void Registry::submit_removal(Removal removal, store::Write write, Done done) {
  dependencies_.store.submit(std::move(write), [this, removal = std::move(removal),
                                                done = std::move(done)](store::WriteResult result) mutable {
    const bool raced = !result && result.error().code() == ErrorCode::Conflict;
    if (raced && --removal.options.tries_left > 0)
      return dependencies_.executor.post(
          [this, removal = std::move(removal), done = std::move(done)]() mutable {
            remove(std::move(removal.target), std::move(removal.options), std::move(removal.write_options),
                   std::move(done));
          });
    if (!result) return done(Answer::failed(of_store_error(removal.target, result.error())));
    if (removal.response_body.empty()) return done(of_object(200, *result, std::move(removal.warnings)));
    done(of_document(200, std::move(removal.response_body), std::move(removal.warnings)));
  });
}

Answer Registry::get(const ObjectTarget& target) const {
  store::ObjectPtr object = dependencies_.store.get(key_of(target));
  if (!object) return Answer::failed(not_found(target.resource_name(), target.name));
  return of_object(200, std::move(object));
}

}  // namespace berth::server
