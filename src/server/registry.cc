#include "server/registry.h"

#include "server/access.h"
#include "server/admission_webhooks.h"
#include "server/certificate_signer.h"
#include "server/flow_control.h"
#include "server/metadata.h"
#include "server/token_secrets.h"

namespace berth::server {
namespace {

std::vector<store::ObjectPtr> objects_of(const store::Store& store, const store::ListQuery& query) {
  Result<store::ListPage> page = store.list(query);
  BERTH_ASSERT(page.ok(), "the newest state can always be listed");
  return std::move(page->objects);
}

}  // namespace

std::vector<store::ObjectPtr> Registry::stored(std::string_view resource, std::string_view ns,
                                               std::size_t limit) const {
  store::ListQuery query;
  query.resource = resource;
  query.ns = ns;
  query.limit = limit;
  return objects_of(store(), query);
}

std::vector<store::ObjectPtr> Registry::stored_with(std::string_view resource, std::string_view text) const {
  store::ListQuery query;
  query.resource = resource;
  query.accept = [text](const store::Object& object) { return object.bytes.find(text) != std::string::npos; };
  return objects_of(store(), query);
}

ApiResult<Answer> Registry::get(const ObjectTarget& target) const {
  store::ObjectPtr object = dependencies_.store.get(key_of(target));
  if (!object) return not_found(target.resource_name(), target.name);
  return Answer{.object = std::move(object)};
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
  const auto list = [this](std::string_view resource, std::string_view text) {
    std::vector<Json> found;
    for (const store::ObjectPtr& object : stored_with(resource, text))
      if (Result<Json> json = document_of(*object)) found.push_back(std::move(json).value());
    return found;
  };
  api::RuleContext ctx{
      dependencies_.gates, dependencies_.check_cel, dependencies_.clock.now(), options.user.name, read, list};
  ctx.subresource = target.subresource;
  ctx.request_group = target.resource->group;
  ctx.user_groups = options.user.groups;
  ctx.user_uid = options.user.uid;
  ctx.user_extra = &options.user.extra;
  ctx.empty_lists = options.empty_lists;
  ctx.resource = target.resource;
  ctx.pod_accounts = pod_accounts_;
  return ctx;
}

const api::Admission* Registry::admission_of(const ObjectTarget& target) const {
  const bool is_pod = is_core(target, "pods");
  return is_pod && target.subresource.empty() ? dependencies_.pod_admission : nullptr;
}

void Registry::note_written(const ObjectTarget& target) const {
  if (webhooks_) webhooks_->noted(target);
  if (access_) access_->noted(target);
  if (signer_) signer_->noted(target);
  if (token_secrets_) token_secrets_->noted(target);
  if (flows_) flows_->noted(target);
}

void Registry::keep(const store::Object& object, Json written) {
  if (!recent_->keeps()) return;
  set_revision(written, std::to_string(object.revision));
  // A copy: a document that was just written to cannot be shared with its readers.
  recent_->wrote(object, Json(std::as_const(written)));
}

}  // namespace berth::server
