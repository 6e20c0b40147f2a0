// An API server with its default objects over a store that answers inline, as in a simulated world.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "api/gates.h"
#include "api/test_cel.h"
#include "base/executor.h"
#include "base/random.h"
#include "server/api_server.h"
#include "store/store.h"

namespace berth::server {

inline const std::string kDefinitionsPath = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

enum class StoreThread {
  Callers,  // each request is answered inline
  Own,      // where waiting work writes on threads of its own
};

// What a request was answered, as it comes.
class Said : public HttpExchange {
 public:
  void respond(HttpResponse said) override { response = std::move(said); }
  void begin_stream(int status, Headers) override { response.status = status; }
  bool send(std::string chunk) override {
    response.body += chunk;
    return true;
  }
  void end_stream() override { ended = true; }
  void on_close(std::function<void()>) override {}

  HttpResponse response{0, {}, ""};
  bool ended = false;
};

// `disk` and `pods`, the admission of pods, (or null: none) outlive it; the directory is that of
// `store_options`.
struct ServerBench {
  explicit ServerBench(store::StoreOptions store_options = {}, ApiServerOptions options = {},
                       store::Disk* disk = nullptr, const api::Admission* pods = nullptr,
                       StoreThread thread = StoreThread::Callers)
      : store(open(std::move(store_options), disk, thread)),
        random(random_for(thread)),
        server({*store, executor, clock, *random, gates, api::accept_any_cel, pods}, std::move(options)) {
    EXPECT_TRUE(server.make_default_objects().ok());
  }
  ~ServerBench() {
    server.stop_webhooks();
    store.reset();  // its thread calls the server
  }

  static std::unique_ptr<store::Store> open(store::StoreOptions options, store::Disk* disk,
                                            StoreThread thread) {
    options.synchronous = thread == StoreThread::Callers;
    return store::open_store(std::move(options), disk).value();
  }

  static std::unique_ptr<Random> random_for(StoreThread thread) {
    if (thread == StoreThread::Own) return std::make_unique<SystemRandom>();
    return std::make_unique<SeededRandom>(7);
  }

  // As the administrator.
  void ask(std::string method, std::string path, Headers query, std::string body,
           std::shared_ptr<HttpExchange> exchange) {
    HttpRequest request;
    request.method = std::move(method);
    request.path = std::move(path);
    request.query = std::move(query);
    request.body = std::move(body);
    request.user = {"root", {"system:masters"}};
    server.handle(std::move(request), std::move(exchange));
  }

  std::unique_ptr<store::Store> store;
  InlineExecutor executor;
  ManualClock clock{Time::from_seconds(1'700'000'000)};
  std::unique_ptr<Random> random;
  api::Gates gates{api::GateDefaults::Up};
  ApiServer server;
};

}  // namespace berth::server
