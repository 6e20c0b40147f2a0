// The Kubernetes API over one store: routes requests to discovery, the registry, lists and watches.
//
// Thread-safe; `handle` runs on any pool thread. Owner: the process that also owns the store and the
// transport.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "server/http.h"
#include "server/registry.h"
#include "server/watch_hub.h"

namespace berth::server {

// One line of the audit log.
struct AuditRecord {
  Time time;
  std::string user;
  std::string verb;  // get, list, watch, create, update, patch, delete, deletecollection
  std::string resource;
  std::string ns;
  std::string name;
  int code = 0;
  store::Revision revision = 0;
};

struct ApiServerOptions {
  // Called once per request, from any thread.
  std::function<void(const AuditRecord&)> audit;
  // Resources whose creation is answered with a Warning: nothing here acts on them.
  bool warn_unacted = false;
  // The text of /metrics, in Prometheus' form; any thread. Empty: there is no such page.
  std::function<std::string()> metrics;
  // The JSON of further pages, by path; any thread. None: no such page.
  std::function<std::optional<std::string>(std::string_view path)> pages;
  // Of JSON text whose parsed form is kept (recent_documents.h); 0: none.
  std::size_t recent_documents_bytes = 0;
};

class ApiServer final : public HttpHandler {
 public:
  ApiServer(Registry::Dependencies world, ApiServerOptions options);

  void handle(HttpRequest request, std::shared_ptr<HttpExchange> exchange) override;
  // Makes the namespaces and priority classes that a new cluster has. Waits for the store; not on a
  // synchronous store's callback.
  Status make_default_objects();
  // Watch timeouts and bookmarks; about every 200 ms.
  void tick(Time monotonic_now) { watches_.tick(monotonic_now); }
  std::size_t open_watches() const { return watches_.open_count(); }
  void close_watches() { watches_.close_all(); }
  // What /readyz says from now on.
  void set_ready(bool ready) { ready_ = ready; }

  Registry& registry() { return registry_; }

 private:
  struct Call;  // one resource request
  Status make_default_object(const api::ResourceInfo& resource, Json object);
  void handle_resource(std::shared_ptr<Call> call);
  void handle_collection(std::shared_ptr<Call> call);
  void handle_object(std::shared_ptr<Call> call);
  void handle_subresource(std::shared_ptr<Call> call);
  void get(const std::shared_ptr<Call>& call);
  void create(std::shared_ptr<Call> call);
  void replace(std::shared_ptr<Call> call);
  void patch(std::shared_ptr<Call> call);
  void remove(std::shared_ptr<Call> call);
  void remove_collection(std::shared_ptr<Call> call);
  void list_or_watch(std::shared_ptr<Call> call);
  void bind(std::shared_ptr<Call> call);
  void evict(std::shared_ptr<Call> call);
  void scale(std::shared_ptr<Call> call);
  void answer_scale(const std::shared_ptr<Call>& call, ApiResult<Answer> made);
  // What a node would answer of its pod.
  void log(const std::shared_ptr<Call>& call);
  void connect(const std::shared_ptr<Call>& call);
  ApiResult<bool> is_bound(const ObjectTarget& target) const;
  void answer_done(const std::shared_ptr<Call>& call, ApiResult<Answer> done);
  // Every resource request ends in one of these; each writes one audit record.
  void answer(const std::shared_ptr<Call>& call, ApiResult<Answer> made);
  void respond(const std::shared_ptr<Call>& call, HttpResponse response, store::Revision revision = 0) const;
  void audit(const Call& call, int code, store::Revision revision) const;
  static void warn(Call& call, std::vector<std::string> warnings);
  static bool is_watch(const Call& call);

  Registry registry_;
  WatchHub watches_;
  ApiServerOptions options_;
  std::atomic<bool> ready_{false};
};

}  // namespace berth::server
