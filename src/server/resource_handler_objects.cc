// The verbs on one object: get, create, update, patch, delete.
#include "server/apply.h"
#include "server/list_options.h"
#include "server/metadata.h"
#include "server/patch_change.h"
#include "server/request_body.h"
#include "server/resource_handler.h"
#include "server/reviews.h"
#include "server/served.h"
#include "server/write_errors.h"

namespace berth::server {
namespace {

// The options and the document of a POST or PUT.
struct ObjectWrite {
  WriteOptions options;
  Json document;
};

ApiResult<ObjectWrite> read_write(ResourceCall& call, std::string_view options_kind) {
  WriteOptions options = TRY(write_options_of(call.request, options_kind));
  const FieldValidation validation = TRY(field_validation_of(call.request, options_kind));
  ApiResult<ReadBody> read = read_object(call.request, *call.target.resource, validation);
  if (!read) {
    if (validation == FieldValidation::Warn)
      call.warn(unknown_in_version(call.request, *call.target.resource));
    return read.error();
  }
  ReadBody body = *std::move(read);
  call.warn(std::move(body.warnings));
  options.empty_lists = std::move(body.empty_lists);
  return ObjectWrite{std::move(options), std::move(body.document)};
}

// The namespace and the name in the body of a PUT, against those of its path.
ApiResult<void> check_name(const ObjectTarget& target, Json& document) {
  Json& metadata = metadata_of(document);
  const std::string_view ns = metadata.string_at("namespace");
  if (target.ns.empty())
    metadata.as_object().erase("namespace");
  else if (!ns.empty() && ns != target.ns)
    return bad_request(
        "the namespace of the provided object does not match the namespace sent on the request");
  const std::string_view name = metadata.string_at("name");
  if (name.empty()) return no_name(target.name);
  return name == target.name ? ApiResult<void>() : other_name(name, target.name);
}

// Who approves waits for somebody who acts on it.
bool is_status_writer(const ObjectTarget& target) {
  return !target.subresource.empty() && target.subresource == rules_of(target).status_writer;
}

}  // namespace

void ResourceHandler::warn_if_unacted(ResourceCall& call) const {
  if (warn_unacted_ && is_unacted(*call.target.resource))
    call.warnings.push_back("no controller here acts on " + qualified(call.target.resource_name()) +
                            ": it is only stored");
}

ApiResult<void> ResourceHandler::get(const Call& call) {
  ApiResult<std::optional<store::Revision>> asked = read_version(call->request);
  // The reference reads events past its cache, whose words these are not.
  if (!asked && call->target.resource->plural == "events")
    return bad_request("invalid resource version: " + asked.error().message);
  const std::optional<store::Revision> version = TRY(std::move(asked));
  const store::Revision newest = registry_.store().revision();
  if (version && *version > newest) return too_large_version(*version, newest);
  if (is_measured_usage(*call->target.resource)) {
    answer(call, usage_.get(call->target));
    return {};
  }
  answer(call, registry_.get(call->target));
  return {};
}

ApiResult<void> ResourceHandler::create(const Call& call) {
  const api::ResourceInfo& resource = *call->target.resource;
  if (resource.group.empty() && resource.plural == "bindings") return bind(call);
  ObjectWrite write = TRY(read_write(*call, "CreateOptions"));
  call->created = metadata_of(write.document).string_at("name");
  const ReviewContext context{access_, tokens_, call->request.user, call->target.ns,
                              registry_.dependencies().clock.now()};
  if (std::optional<Answer> reviewed = TRY(review(resource, write.document, context))) {
    answer(call, *std::move(reviewed));
    return {};
  }
  registry_.create(call->target, std::move(write.document), noted(call, std::move(write.options)),
                   [this, call](ApiResult<Answer> made) {
                     if (made && made->object) call->created = made->object->key.name;
                     if (made) warn_if_unacted(*call);
                     answer(call, std::move(made));
                   });
  return {};
}

ApiResult<void> ResourceHandler::replace(const Call& call) {
  ObjectWrite write = TRY(read_write(*call, "UpdateOptions"));
  TRY(check_name(call->target, write.document));
  registry_.update(call->target, std::move(write.document), noted(call, std::move(write.options)),
                   [this, call](ApiResult<Answer> made) {
                     if (made && is_status_writer(call->target)) warn_if_unacted(*call);
                     answer(call, std::move(made));
                   });
  return {};
}

ApiResult<void> ResourceHandler::patch(const Call& call) {
  WriteOptions options = TRY(write_options_of(call->request, "PatchOptions"));
  const FieldValidation validation = TRY(field_validation_of(call->request, "PatchOptions"));
  Registry::Change change =
      options.is_apply
          ? TRY(apply_change(call->request, call->target, options, validation,
                             registry_.dependencies().clock.now(), call->patch_warnings))
          : patch_change(call->request, *call->target.resource, validation, call->patch_warnings);
  registry_.modify(call->target, std::move(change), noted(call, std::move(options)),
                   [this, call](ApiResult<Answer> made) {
                     call->warn(std::move(call->patch_warnings));
                     if (made && is_status_writer(call->target)) warn_if_unacted(*call);
                     answer(call, std::move(made));
                   });
  return {};
}

ApiResult<void> ResourceHandler::remove(const Call& call) {
  DeleteOptions options = TRY(read_delete_options(call->request));
  WriteOptions write_options;
  write_options.user = call->request.user;
  registry_.remove(call->target, std::move(options), noted(call, std::move(write_options)),
                   [this, call](ApiResult<Answer> made) {
                     const api::ResourceInfo& resource = *call->target.resource;
                     if (resource.group.empty() && resource.plural == "namespaces") custom_.wake();
                     answer(call, std::move(made));
                   });
  return {};
}

}  // namespace berth::server
