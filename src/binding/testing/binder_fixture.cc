#include "binding/testing/binder_fixture.h"

#include <algorithm>

#include "binding/gpu_reservation.h"
#include "client/request_writes.h"
#include "engine/testing/engine_fixture.h"

namespace berth::binding::testing {
namespace {

using client::ApiRequest;
using client::Verb;

bool is_event(const ApiRequest& request) {
  return request.resource.resource == "events";
}

std::string log_line(const ApiRequest& request) {
  std::string line = request.verb == Verb::Create   ? "create "
                     : request.verb == Verb::Get    ? "get "
                     : request.verb == Verb::Delete ? "delete "
                                                    : "patch ";
  line += request.resource.resource + " " + request.name;
  if (!request.subresource.empty()) line += "/" + request.subresource;
  return line;
}

bool same_write(const ApiRequest& a, const ApiRequest& b) {
  return a.verb == b.verb && a.name == b.name && a.resource == b.resource && a.subresource == b.subresource;
}

}  // namespace

BinderFixture::BinderFixture(BinderOptions options, Requests requests)
    : options_(std::move(options)), requests_(requests) {
  api_.on_accepted = [this](const ApiRequest& request) { accepted(request); };
  crash(requests);
}

void BinderFixture::accepted(const ApiRequest& request) {
  if (!is_event(request)) {
    log.push_back(log_line(request));
    if (on_write) on_write(request);
  } else if (request.verb == Verb::Create) {
    const Json body = *parse_json(request.body);
    events.push_back({std::string(body.string_at("reason")), std::string(body.string_at("action")),
                      std::string(body.string_at("message"))});
  } else {
    ++repeated_events;
  }
}

void BinderFixture::crash(Requests next) {
  requests_ = next;
  engine_.reset();
  informers_.reset();
  memory_ = requests_ == Requests::InMemory ? std::make_unique<MemoryRequests>(api_) : nullptr;
  client::ApiClient& client = memory_ ? static_cast<client::ApiClient&>(*memory_) : api_;
  informers_ = std::make_unique<engine::SharedInformers>(client);
  engine_ = std::make_unique<engine::Engine>(client, engine::EngineOptions{});
  auto binder = *Binder::make(options_);
  binder_ = binder.get();
  engine_->add(make_gang_barrier(options_, *binder_));
  engine_->add(std::move(binder));
  if (options_.gpu_reservations == GpuReservations::Pods) engine_->add(make_gpu_reservation_keeper());
  engine_->add(memory_ ? make_memory_request_collector() : make_gang_record_collector());
  engine_->attach_to(*informers_);
  informers_->start();
}

void BinderFixture::put(api::Kind kind, std::string_view object) {
  api_.put(kind, object);
}

void BinderFixture::change(const api::ObjectKey& key, std::string_view merge_patch) {
  api_.change(key.kind, key.ns, key.name, merge_patch);
}

void BinderFixture::remove(const api::ObjectKey& key) {
  if (find(key)) api_.remove(api::ref_of(key.kind), key.ns, key.name);
}

const Json* BinderFixture::find(const api::ObjectKey& key) const {
  return api_.find(key.kind, key.ns, key.name);
}

void BinderFixture::decide(std::string_view bind_request) {
  const Result<Json> object = parse_json(bind_request);
  BERTH_ASSERT(object.ok(), "tests write JSON");
  client::Write write = client::keep_request(api::decode_bind_request(*object, nullptr));
  memory_->submit(std::move(write.request), [](client::ApiReply) {});
  memory_->flush(clock_.now());
}

void BinderFixture::relist_requests() {
  api_.relist(api::ref_of(api::Kind::BindRequest));
}

client::Effects BinderFixture::decide(const api::ObjectKey& key) const {
  client::View view;
  for (const api::Kind kind :
       {api::Kind::Node, api::Kind::Pod, api::Kind::PodGroup, api::Kind::CompositePodGroup,
        api::Kind::ResourceClaim, api::Kind::BindRequest})
    for (const Json* object : api_.all(api::ref_of(kind)))
      engine::testing::put(view, kind, to_string(*object));
  return (*Binder::make(options_))->reconcile(view, key, now());
}

void BinderFixture::answer_events() {
  for (std::size_t n = 0; n < api_.requests_waiting();)
    if (!is_event(api_.waiting(n)))
      ++n;
    else
      api_.answer(n);
}

void BinderFixture::run_keys() {
  engine::testing::step_to_rest(*engine_, clock_.now());
  answer_events();
}

void BinderFixture::deliver() {
  api_.deliver_all();
  run_keys();
}

void BinderFixture::deliver(api::Kind kind) {
  api_.deliver(api::ref_of(kind));
  run_keys();
}

void BinderFixture::answer(std::size_t nth, InjectedFault fault) {
  const std::size_t at = nth % in_flight();
  const ApiRequest request = api_.waiting(at);
  const bool repeats = fault == InjectedFault::ServerError;
  api_.fault = [&](const ApiRequest& sent) {
    return same_write(sent, request) ? fault : InjectedFault::None;
  };
  api_.answer(at);
  run_keys();
  for (std::uint32_t attempt = 1; repeats && attempt < engine::kWriteAttemptsMax; ++attempt) {
    if (const auto wake = engine_->next_wake()) clock_.advance_to(std::max(*wake, clock_.now()));
    run_keys();
    for (std::size_t n = 0; n < in_flight(); ++n)
      if (same_write(api_.waiting(n), request)) {
        api_.answer(n);
        break;
      }
    run_keys();
  }
  api_.fault = nullptr;
}

void BinderFixture::answer(std::string_view line, InjectedFault fault) {
  for (std::size_t n = 0; n < in_flight(); ++n)
    if (log_line(api_.waiting(n)) == line) return answer(n, fault);
  BERTH_ASSERT(false, "such a write waits");
}

void BinderFixture::answer_create(api::Kind kind) {
  for (std::size_t n = 0; n < in_flight(); ++n) {
    const ApiRequest& request = api_.waiting(n);
    if (request.verb == client::Verb::Create && request.resource == api::ref_of(kind)) return answer(n);
  }
  BERTH_ASSERT(false, "such a create waits");
}

void BinderFixture::run_until_idle(Time until) {
  constexpr int kRoundsMax = 100'000;
  for (int round = 0; round < kRoundsMax; ++round) {
    run_keys();
    bool moved = api_.answer();
    moved |= api_.deliver_all();
    if (moved) continue;
    const std::optional<Time> wake = engine_->next_wake();
    if (!wake || *wake > until) return;
    clock_.advance_to(std::max(*wake, clock_.now()));
  }
  BERTH_ASSERT(false, "the binder never comes to rest");
}

namespace {

class Telling final : public Plugin {
 public:
  std::string_view name() const override { return "Telling"; }
  std::vector<client::Write> post_bind(const BindContext& context) const override {
    const Json told = Json::object({{std::string(kTold), context.request.node}});
    return {client::merge_patch(client::key_of(api::Kind::Pod, context.pod->meta),
                                Json::object({{"metadata", Json::object({{"annotations", told}})}}),
                                context.pod->meta.uid, 0)};
  }
};

}  // namespace

BinderOptions with_telling_plugin(BinderOptions options) {
  const Status added = options.registry.add("Telling", [] { return std::make_unique<Telling>(); });
  BERTH_ASSERT(added.ok(), "no plugin of Berth has that name");
  return options;
}

void add_claim(BinderFixture& cluster, const std::string& name, const std::string& rest) {
  cluster.put(api::Kind::ResourceClaim, R"({"metadata":{"namespace":"d","name":")" + name + R"(","uid":"u-)" +
                                            name + R"("})" + rest + "}");
}

}  // namespace berth::binding::testing
