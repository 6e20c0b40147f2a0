#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <set>

#include "dra_health_v1.pb.h"
#include "health/plugin_client.h"
#include "node_health.pb.h"
#include "registration.grpc.pb.h"

namespace berth::health {
namespace {

struct ServiceRow {
  HealthService service;
  const char* method;
};

constexpr ServiceRow kServices[] = {
    {HealthService::V1, "/v1.DRAResourceHealth/NodeWatchResources"},
    {HealthService::V1Alpha1, "/v1alpha1.DRAResourceHealth/NodeWatchResources"},
    {HealthService::Kep, "/v1alpha1.NodeHealth/WatchResources"},
};

const char* method_of(HealthService service) {
  for (const ServiceRow& row : kServices)
    if (row.service == service) return row.method;
  BERTH_ASSERT(false, "every service has a method");
}

Error error_of(const grpc::Status& status) {
  const bool unsupported = status.error_code() == grpc::StatusCode::UNIMPLEMENTED;
  const std::string text = status.ok() ? "the stream was closed by the plugin" : status.error_message();
  return Error(unsupported ? ErrorCode::Unsupported : ErrorCode::Unavailable, text);
}

// A separate channel for each use: a replaced socket must not get the connection of the previous one.
std::shared_ptr<grpc::Channel> channel_to(const std::string& socket) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetMaxReceiveMessageSize(kStreamMessageBytesMax);
  return grpc::CreateCustomChannel("unix:" + socket, grpc::InsecureChannelCredentials(), arguments);
}

template <class Request, class Response>
struct Unary {
  Unary(std::shared_ptr<grpc::Channel> channel, Duration timeout)
      : stub(pluginregistration::Registration::NewStub(channel)) {
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::microseconds(timeout.micros()));
  }
  std::unique_ptr<pluginregistration::Registration::Stub> stub;
  grpc::ClientContext context;
  Request request;
  Response response;
};

// gRPC 1.51 counts the channels that use its callback threads and ends their queue when the last channel is
// destroyed, on the destroying thread: a crash if that thread is one of the queue's own. One channel that is
// never destroyed keeps the count up.
void keep_callback_threads() {
  static const bool kept = [] {
    using Call = Unary<pluginregistration::InfoRequest, pluginregistration::PluginInfo>;
    static auto& call = *new Call(channel_to("/nonexistent"), Duration());
    call.stub->async()->GetInfo(&call.context, &call.request, &call.response, [](const grpc::Status&) {});
    return true;
  }();
  (void)kept;
}

// The calls in flight, so that they can be cancelled and waited for.
class Calls {
 public:
  void begin(grpc::ClientContext* context) {
    const std::lock_guard lock(mutex_);
    contexts_.insert(context);
  }
  void end(grpc::ClientContext* context) {
    const std::lock_guard lock(mutex_);
    contexts_.erase(context);
    ended_.notify_all();
  }
  void cancel_and_wait() {
    std::unique_lock lock(mutex_);
    for (grpc::ClientContext* context : contexts_) context->TryCancel();
    ended_.wait(lock, [this] { return contexts_.empty(); });
  }

 private:
  std::mutex mutex_;
  std::condition_variable ended_;
  std::set<grpc::ClientContext*> contexts_;
};

Health health_of(v1::HealthStatus status) {
  if (status == v1::HEALTHY) return Health::Healthy;
  return status == v1::UNHEALTHY ? Health::Unhealthy : Health::Unknown;
}

bool parse(const std::string& bytes, HealthService service, Reports& reports) {
  if (service == HealthService::Kep) {
    berth::kep4680::WatchResourcesResponse message;
    if (!message.ParseFromString(bytes)) return false;
    for (const auto& device : message.devices()) {
      const std::string& text = device.health_status();
      const Health health = text == "Healthy"     ? Health::Healthy
                            : text == "Unhealthy" ? Health::Unhealthy
                                                  : Health::Unknown;
      reports.push_back(
          {{device.pool_name(), device.device_name()}, {health, ""}, device.health_check_timeout_seconds()});
    }
    return true;
  }
  v1::NodeWatchResourcesResponse message;
  if (!message.ParseFromString(bytes)) return false;
  for (const auto& device : message.devices())
    reports.push_back({{device.device().pool_name(), device.device().device_name()},
                       {health_of(device.health()), device.message()},
                       device.health_check_timeout_seconds()});
  return true;
}

std::string bytes_of(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  std::string bytes;
  if (!buffer.Dump(&slices).ok()) return bytes;
  for (const grpc::Slice& slice : slices)
    bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  return bytes;
}

// One stream. A hold keeps the call open while no read is pending; it is released exactly once. The object
// deletes itself when gRPC is done with it.
class WatchCall final : public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  WatchCall(Calls& calls, const std::string& socket, HealthService service,
            PluginClient::StreamHandlers handlers)
      : calls_(calls), service_(service), handlers_(std::move(handlers)), stub_(channel_to(socket)) {
    calls_.begin(&context_);
    stub_.PrepareBidiStreamingCall(&context_, method_of(service), {}, this);
    const grpc::Slice empty("", 0);
    request_ = grpc::ByteBuffer(&empty, 1);
    AddHold();
    StartWriteLast(&request_, grpc::WriteOptions());
    StartCall();
  }

  void next() {
    {
      const std::lock_guard lock(mutex_);
      if (released_ || reading_) return;
      reading_ = true;
    }
    StartRead(&response_);
  }
  // After it returns no handler is called; the call may be deleted.
  void close() {
    context_.TryCancel();
    bool release = false;
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
      if (!reading_) release = !std::exchange(released_, true);
    }
    if (release) RemoveHold();
    leave();
  }

  void OnReadDone(bool ok) override {
    Reports reports;
    const bool parsed = ok && parse(bytes_of(response_), service_, reports);
    bool release = false;
    {
      const std::lock_guard lock(mutex_);
      reading_ = false;
      if (closed_ || !parsed) release = !std::exchange(released_, true);
      if (!closed_ && parsed) handlers_.message(std::move(reports));
    }
    if (ok && !parsed) context_.TryCancel();
    if (release) RemoveHold();
  }
  void OnDone(const grpc::Status& status) override {
    calls_.end(&context_);
    {
      const std::lock_guard lock(mutex_);
      if (!closed_) handlers_.end(error_of(status));
    }
    leave();
  }

 private:
  // The owner and gRPC each call it once; the last one deletes.
  void leave() {
    if (users_.fetch_sub(1) == 1) delete this;
  }

  Calls& calls_;
  HealthService service_;
  std::mutex mutex_;
  PluginClient::StreamHandlers handlers_;
  bool reading_ = false, closed_ = false, released_ = false;
  std::atomic<int> users_{2};
  grpc::GenericStub stub_;
  grpc::ClientContext context_;
  grpc::ByteBuffer request_, response_;
};

class GrpcStream final : public PluginClient::Stream {
 public:
  explicit GrpcStream(WatchCall* call) : call_(call) {}
  ~GrpcStream() override { call_->close(); }
  void next() override { call_->next(); }

 private:
  WatchCall* call_;
};

class GrpcPluginClient final : public PluginClient {
 public:
  GrpcPluginClient() { keep_callback_threads(); }
  ~GrpcPluginClient() override { calls_.cancel_and_wait(); }

  void introduce(const std::string& socket, std::function<void(Result<PluginInfo>)> answer) override {
    using Call = Unary<pluginregistration::InfoRequest, pluginregistration::PluginInfo>;
    const auto call = std::make_shared<Call>(channel_to(socket), kIntroduceTimeout);
    calls_.begin(&call->context);
    call->stub->async()->GetInfo(
        &call->context, &call->request, &call->response,
        [this, call, answer = std::move(answer)](const grpc::Status& status) {
          if (status.ok()) {
            const auto& info = call->response;
            answer(PluginInfo{info.type(),
                              info.name(),
                              info.endpoint(),
                              {info.supported_versions().begin(), info.supported_versions().end()}});
          } else {
            answer(error_of(status));
          }
          calls_.end(&call->context);
        });
  }

  void notify(const std::string& socket, Registered registered, const std::string& error,
              std::function<void(Status)> answer) override {
    using Call =
        Unary<pluginregistration::RegistrationStatus, pluginregistration::RegistrationStatusResponse>;
    const auto call = std::make_shared<Call>(channel_to(socket), kNotifyTimeout);
    call->request.set_plugin_registered(registered == Registered::Yes);
    call->request.set_error(error);
    calls_.begin(&call->context);
    call->stub->async()->NotifyRegistrationStatus(
        &call->context, &call->request, &call->response,
        [this, call, answer = std::move(answer)](const grpc::Status& status) {
          answer(status.ok() ? Status() : Status(error_of(status)));
          calls_.end(&call->context);
        });
  }

  std::unique_ptr<Stream> watch(const std::string& socket, HealthService service,
                                StreamHandlers handlers) override {
    return std::make_unique<GrpcStream>(new WatchCall(calls_, socket, service, std::move(handlers)));
  }

 private:
  Calls calls_;
};

}  // namespace

std::unique_ptr<PluginClient> make_grpc_plugin_client() {
  return std::make_unique<GrpcPluginClient>();
}

}  // namespace berth::health
