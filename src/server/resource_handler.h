// Requests of resources: checks verb, access and form, then calls the registry, a list or a watch.
//
// Owner: ApiServer. Any pool thread. Every request gets one response and one audit record.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "server/access.h"
#include "server/admission_notes.h"
#include "server/audit_record.h"
#include "server/custom_resources.h"
#include "server/http.h"
#include "server/list_lane.h"
#include "server/registry.h"
#include "server/rendering.h"
#include "server/request_path.h"
#include "server/service_account_tokens.h"
#include "server/usage_metrics.h"
#include "server/watch_hub.h"

namespace berth::server {

// One request, until it is answered.
struct ResourceCall {
  HttpRequest request;
  std::shared_ptr<HttpExchange> exchange;
  ObjectTarget target;
  std::string_view verb;  // as in AuditRecord
  Rendering rendering;
  std::string created;  // the name in a create's body, or the generated one
  std::vector<std::string> warnings;
  std::vector<std::string> patch_warnings;  // of the latest attempt
  AdmissionNotes notes{request};

  void warn(std::vector<std::string> more);
};

// Kubernetes' verb of the request, for authorization, audit and priority.
std::string_view verb_of(const HttpRequest& request, const ResourcePath& path);

class ResourceHandler {
 public:
  // The first six outlive it; `tokens` may be null. `warn_unacted`, `unacted`: as in ApiServerOptions.
  ResourceHandler(Registry& registry, Access& access, ServiceAccountTokens* tokens, WatchHub& watches,
                  ListLane& lists, CustomResources& custom, Audit audit, bool warn_unacted,
                  std::vector<std::string> unacted);

  // `resource` is the one of `path`, and one of `served`.
  void handle(HttpRequest request, const api::ResourceInfo& resource, ServedPtr served,
              const ResourcePath& path, std::shared_ptr<HttpExchange> exchange);

 private:
  using Call = std::shared_ptr<ResourceCall>;

  // An accepted request is answered by itself, now or when the store has decided.
  ApiResult<void> route(const Call& call);
  ApiResult<void> route_collection(const Call& call);
  ApiResult<void> route_object(const Call& call);
  ApiResult<void> route_subresource(const Call& call);

  // Whether objects of the resource are only stored here.
  bool is_unacted(const api::ResourceInfo& resource) const;
  void warn_if_unacted(ResourceCall& call) const;

  // resource_handler_objects.cc
  ApiResult<void> get(const Call& call);
  ApiResult<void> create(const Call& call);
  ApiResult<void> replace(const Call& call);
  ApiResult<void> patch(const Call& call);
  ApiResult<void> remove(const Call& call);

  // resource_handler_collections.cc
  ApiResult<void> list_page(const Call& call);
  ApiResult<void> watch(const Call& call);
  ApiResult<void> remove_collection(const Call& call);
  ApiResult<ListRequest> list_request(const Call& call, ListOptions options);
  void remove_all(const Call& call, ListRequest answer, DeleteOptions options, store::ListPage page);

  // resource_handler_subresources.cc
  ApiResult<void> bind(const Call& call);
  ApiResult<void> bind_as(const Call& call, const ObjectTarget& pod, const WriteOptions& options,
                          const Json& binding);
  ApiResult<void> evict(const Call& call);
  ApiResult<void> scale(const Call& call);
  ApiResult<void> token(const Call& call);
  // The endpoints that a node serves for its pod.
  ApiResult<void> log(const Call& call);
  ApiResult<void> connect(const Call& call);
  ApiResult<bool> runs_on_a_node(const ObjectTarget& pod) const;
  ApiResult<std::string> start_time(const ObjectTarget& pod) const;
  void answer_scale(const Call& call, ApiResult<Answer> made);
  void answer_done(const Call& call, ApiResult<Answer> done);

  void answer_scale_now(const Call& call, const ApiResult<Answer>& made);

  // The options with the notes of the call, for admission webhooks.
  static WriteOptions noted(const Call& call, WriteOptions options);
  // Passes the body of a subresource by the webhooks, then carries it out.
  void admit_body(const Call& call, ObjectTarget target, const api::TypeInfo& type, Json body,
                  const WriteOptions& options, std::function<ApiResult<void>(const Json& body)> carry_out);

  // Every request ends in one of these. A written definition is carried out first.
  void answer(const Call& call, ApiResult<Answer> made);
  void answer_now(const Call& call, const ApiResult<Answer>& made);
  void carry_out_definitions(std::function<void()> then);
  // `then` with the object in the request's version, on a thread that may convert it.
  using Continuation = void (ResourceHandler::*)(const Call& call, const ApiResult<Answer>& made);
  void convert_then(const Call& call, ApiResult<Answer> made, Continuation then);
  void respond(const Call& call, HttpResponse response, store::Revision revision = 0) const;
  void audit(const ResourceCall& call, int code, store::Revision revision) const;

  Registry& registry_;
  Access& access_;
  ServiceAccountTokens* const tokens_;
  WatchHub& watches_;
  ListLane& lists_;
  CustomResources& custom_;
  const UsageMetrics usage_;
  const Audit audit_;
  const bool warn_unacted_;
  const std::vector<std::string> unacted_;
};

}  // namespace berth::server
