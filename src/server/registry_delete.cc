// DELETE: an object is removed at once, or marked until its finalizers and its grace period end.
#include "server/access.h"
#include "server/deletion.h"
#include "server/metadata.h"
#include "server/object_versions.h"
#include "server/registry_steps.h"
#include "server/write_errors.h"

namespace berth::server {
namespace {

constexpr std::string_view kOrphanWarning =
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove "
    "them or set propagationPolicy=Orphan to suppress this warning";

}  // namespace

void Registry::remove(ObjectTarget target, DeleteOptions options, WriteOptions write_options, Done done) {
  auto removal = std::make_shared<Removal>();
  removal->target = std::move(target);
  removal->options = std::move(options);
  removal->write_options = std::move(write_options);
  removal->done = std::move(done);
  attempt_removal(removal);
}

void Registry::attempt_removal(const std::shared_ptr<Removal>& removal) {
  answer_refusal(try_remove(removal), removal->done);
}

ApiResult<void> Registry::try_remove(const std::shared_ptr<Removal>& removal) {
  const ObjectTarget& target = removal->target;
  const DeleteOptions& options = removal->options;
  const api::KindRules& rules = rules_of(target);
  store::ObjectPtr current = dependencies_.store.get(key_of(target));
  if (!current) return not_found(target.resource_name(), target.name);
  if (options.unsafe) return not_corrupt(target);
  TRY(check_preconditions(target, options, *current));
  const Result<Json> before = document_of(*current);
  if (!before) return internal_error("stored object does not parse");
  if (rules.admit_delete)
    TRY(check_admission(target, rules.admit_delete(*before, context(target, removal->write_options))));
  if (access_) TRY(access_->check_write(target, removal->write_options, nullptr, &*before));
  removal->current = current;
  removal->before = *before;
  return ask_about_removal(removal);
}

ApiResult<void> Registry::finish_remove(const std::shared_ptr<Removal>& removal) {
  const ObjectTarget& target = removal->target;
  const DeleteOptions& options = removal->options;
  const api::KindRules& rules = rules_of(target);
  const store::ObjectPtr current = std::exchange(removal->current, nullptr);
  const Json before = std::exchange(removal->before, {});
  removal->warnings.clear();
  // ReplicationControllers orphan by default too, without a word.
  if (rules.orphans_by_default && rules.resource == "jobs" && options.propagation.empty())
    removal->warnings.emplace_back(kOrphanWarning);

  Deletion deletion = begin_deletion(target, options, before, dependencies_.clock.now());
  if (deletion.waits && deletion.object == before) {
    removal->done(Answer{.object = current, .warnings = std::move(removal->warnings)});
    return {};
  }
  removal->response_body.clear();
  if (!deletion.waits && !deletion.graceful)
    removal->response_body = to_string(
        rules.answers_deleted_object ? before
                                     : deleted_status(target.resource_name(), target.name, current->uid));
  if (options.dry_run) {
    std::string& body = removal->response_body;
    // An object in its stored shape: the answer converts it.
    if (body.empty() && is_shaped_by_reads(target)) {
      removal->done(Answer{.object = current, .warnings = std::move(removal->warnings)});
      return {};
    }
    removal->done(Answer{.document = body.empty() ? to_string(deletion.object) : std::move(body),
                         .warnings = std::move(removal->warnings)});
    return {};
  }
  store::WriteRequest write;
  write.kind = deletion.waits ? store::WriteRequest::Kind::Update : store::WriteRequest::Kind::Delete;
  write.key = key_of(target);
  write.expected = current->revision;
  write.draft = draft_of(in_stored_order(std::move(deletion.object)));
  submit_removal(removal, std::move(write));
  return {};
}

void Registry::submit_removal(std::shared_ptr<Removal> removal, store::WriteRequest write) {
  dependencies_.store.submit(std::move(write), [this, removal = std::move(removal)](store::WriteResult made) {
    const bool raced = !made && made.error().code() == ErrorCode::Conflict;
    if (raced && --removal->tries_left > 0)
      return post_for(removal->target, dependencies_.executor, [this, removal] { attempt_removal(removal); });
    if (!made) return removal->done(store_error(removal->target, made.error()));
    note_written(removal->target);
    Answer answer{.warnings = std::move(removal->warnings)};
    if (removal->response_body.empty())
      answer.object = *made;
    else
      answer.document = std::move(removal->response_body);
    removal->done(std::move(answer));
  });
}

}  // namespace berth::server
