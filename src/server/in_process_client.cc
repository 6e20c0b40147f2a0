#include "server/in_process_client.h"

#include <array>

#include "base/log.h"

namespace berth::server {
namespace {

using client::ApiReply;
using client::ApiRequest;

struct VerbForm {
  std::string_view method;
  std::string_view content_type;
};

// By client::Verb.
constexpr std::array<VerbForm, 7> kVerbs = {{
    {"POST", "application/json"},
    {"PUT", "application/json"},
    {"PATCH", "application/merge-patch+json"},
    {"PATCH", "application/strategic-merge-patch+json"},
    {"PATCH", "application/json-patch+json"},
    {"DELETE", "application/json"},
    {"GET", ""},
}};

std::string path_of(const ApiRequest& request) {
  std::string path = request.resource.group.empty() ? "/api" : "/apis/" + request.resource.group;
  path += "/" + request.resource.version;
  if (!request.ns.empty()) path += "/namespaces/" + request.ns;
  path += "/" + request.resource.resource;
  const bool creates_object = request.verb == client::Verb::Create && request.subresource.empty();
  if (!request.name.empty() && !creates_object) path += "/" + request.name;
  if (!request.subresource.empty()) path += "/" + request.subresource;
  return path;
}

ApiReply reply_of(HttpResponse response) {
  ApiReply reply;
  reply.code = response.status;
  const bool is_status = response.body.find("\"kind\":\"Status\"") != std::string::npos &&
                         response.body.find("\"kind\":\"Status\"") < 4;
  if (!is_status) {
    reply.object = std::make_shared<const std::string>(std::move(response.body));
    return reply;
  }
  if (response.status < 400) return reply;
  if (const Result<Json> status = parse_json(response.body)) {
    reply.reason = status->string_at("reason");
    reply.message = status->string_at("message");
    if (const Json* details = status->find("details"))
      reply.retry_after_s = static_cast<int>(details->int_at("retryAfterSeconds"));
  }
  return reply;
}

class ReplyExchange final : public HttpExchange {
 public:
  explicit ReplyExchange(std::function<void(ApiReply)> done) : done_(std::move(done)) {}
  void respond(HttpResponse response) override { done_(reply_of(std::move(response))); }
  void begin_stream(int, Headers) override {}
  bool send(std::string) override { return false; }
  void end_stream() override {}
  void on_close(std::function<void()>) override {}

 private:
  std::function<void(ApiReply)> done_;
};

api::RawPtr raw_of(const store::ObjectPtr& object) {
  return api::RawPtr(object, &object->bytes);
}

// A watch straight on the store. Lists again when it fell out of the window.
class StoreSubscription final : public client::Subscription, public store::WatchSink {
 public:
  StoreSubscription(store::Store& store, std::string resource, client::WatchReceiver& receiver)
      : store_(store), resource_(std::move(resource)), receiver_(receiver) {}

  void start() {
    for (;;) {
      store::ListQuery query;
      query.resource = resource_;
      const Result<store::ListPage> page = store_.list(query);
      BERTH_ASSERT(page.ok(), "the newest state can always be listed");
      std::vector<api::RawPtr> objects;
      objects.reserve(page->objects.size());
      for (const store::ObjectPtr& object : page->objects) objects.push_back(raw_of(object));
      receiver_.on_list(std::move(objects), page->revision);
      auto handle = store_.watch(resource_, page->revision, *this);
      if (!handle) continue;
      handle_ = std::move(handle).value();
      return;
    }
  }

  void on_events(std::span<const store::EventPtr> events, store::Revision) override {
    std::vector<client::RawChange> changes;
    changes.reserve(events.size());
    for (const store::EventPtr& event : events) {
      const auto kind = static_cast<client::ChangeKind>(event->kind);
      changes.push_back({kind, raw_of(event->object)});
    }
    if (!changes.empty()) receiver_.on_changes(std::move(changes));
  }

 private:
  store::Store& store_;
  const std::string resource_;
  client::WatchReceiver& receiver_;
  std::unique_ptr<store::WatchHandle> handle_;
};

class InProcessClient final : public client::ApiClient {
 public:
  InProcessClient(ApiServer& server, std::string user) : server_(server), user_(std::move(user)) {}

  void submit(ApiRequest request, std::function<void(ApiReply)> done) override {
    const VerbForm& form = kVerbs[static_cast<std::size_t>(request.verb)];
    HttpRequest http;
    http.method = form.method;
    http.path = path_of(request);
    if (!form.content_type.empty()) http.headers.emplace_back("Content-Type", form.content_type);
    http.body = std::move(request.body);
    http.user = {user_, {"system:masters"}};
    auto exchange = std::make_shared<ReplyExchange>(std::move(done));
    server_.registry().world().executor.post(
        [this, http = std::move(http), exchange = std::move(exchange)]() mutable {
          server_.handle(std::move(http), std::move(exchange));
        });
  }

  std::unique_ptr<client::Subscription> list_and_watch(api::ResourceRef resource,
                                                       client::WatchReceiver& receiver) override {
    const api::ResourceInfo* info = api::find_resource(resource.group, resource.version, resource.resource);
    BERTH_ASSERT(info, "only served resources are watched");
    auto subscription =
        std::make_unique<StoreSubscription>(server_.registry().store(), storage_resource(*info), receiver);
    subscription->start();
    return subscription;
  }

 private:
  ApiServer& server_;
  const std::string user_;
};

}  // namespace

std::unique_ptr<client::ApiClient> make_in_process_client(ApiServer& server, std::string user) {
  return std::make_unique<InProcessClient>(server, std::move(user));
}

}  // namespace berth::server
