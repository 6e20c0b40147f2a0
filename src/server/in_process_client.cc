#include "server/in_process_client.h"

#include "client/api_path.h"

namespace berth::server {
namespace {

using client::ApiReply;
using client::ApiRequest;

class ReplyExchange final : public HttpExchange {
 public:
  explicit ReplyExchange(std::function<void(ApiReply)> done) : done_(std::move(done)) {}
  void respond(HttpResponse response) override {
    done_(client::answered_reply(response.status, std::move(response.body)));
  }
  void refuse_unsent() {
    ApiReply refused;
    refused.delivery = client::Delivery::NotSent;
    refused.message = "this process does not lead any more";
    done_(std::move(refused));
  }
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

// A watch directly on the store. Lists again after it left the window.
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
      receiver_.on_list({std::move(objects), page->revision});
      auto handle = store_.watch(resource_, page->revision, *this);
      if (!handle) continue;
      handle_ = std::move(handle).value();
      return;
    }
  }

  void on_events(std::span<const store::WatchEventPtr> events, store::Revision) override {
    std::vector<client::RawChange> changes;
    changes.reserve(events.size());
    for (const store::WatchEventPtr& event : events) {
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
    const client::VerbForm form = client::form_of(request.verb);
    HttpRequest http;
    http.method = form.method;
    http.path = client::path_of(request);
    if (!form.content_type.empty()) http.headers.emplace_back("Content-Type", form.content_type);
    http.body = std::move(request.body);
    http.user = {user_, {"system:masters"}};
    http.in_process = true;
    auto exchange = std::make_shared<ReplyExchange>(std::move(done));
    server_.registry().dependencies().executor.post([this, http = std::move(http),
                                                     permit = std::move(request.permit),
                                                     exchange = std::move(exchange)]() mutable {
      if (permit && !permit->granted()) return exchange->refuse_unsent();
      server_.handle(std::move(http), std::move(exchange));
    });
  }

  std::unique_ptr<client::Subscription> list_and_watch(api::ResourceRef resource,
                                                       client::WatchReceiver& receiver) override {
    auto subscription =
        std::make_unique<StoreSubscription>(server_.registry().store(), stored_as(resource), receiver);
    subscription->start();
    return subscription;
  }

 private:
  ApiServer& server_;
  const std::string user_;
};

}  // namespace

std::string stored_as(const api::ResourceRef& resource) {
  const api::ResourceInfo* row = api::find_resource(resource.group, resource.version, resource.resource);
  return row ? storage_resource(*row) : resource.resource + "." + resource.group;
}

std::unique_ptr<client::ApiClient> make_in_process_client(ApiServer& server, std::string user) {
  return std::make_unique<InProcessClient>(server, std::move(user));
}

}  // namespace berth::server
