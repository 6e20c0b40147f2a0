#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <set>

#include "device_plugin_v1beta1.grpc.pb.h"
#include "dra_v1.pb.h"
#include "health/plugin_client.h"
#include "health/plugin_devices.h"
#include "health/plugin_messages.h"
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
    {HealthService::DevicePlugin, "/v1beta1.DevicePlugin/ListAndWatch"},
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

template <class Request, class Response, class Service = pluginregistration::Registration>
struct Unary {
  Unary(std::shared_ptr<grpc::Channel> channel, Duration timeout) : stub(Service::NewStub(channel)) {
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::microseconds(timeout.micros()));
  }
  std::unique_ptr<typename Service::Stub> stub;
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

// The calls in flight, so that they can be cancelled and waited for. A call that an answer begins after that
// is cancelled before it starts.
class Calls {
 public:
  void begin(grpc::ClientContext* context) {
    const std::lock_guard lock(mutex_);
    contexts_.insert(context);
    if (cancelled_) context->TryCancel();
  }
  void end(grpc::ClientContext* context) {
    const std::lock_guard lock(mutex_);
    contexts_.erase(context);
    ended_.notify_all();
  }
  void cancel_and_wait() {
    std::unique_lock lock(mutex_);
    cancelled_ = true;
    for (grpc::ClientContext* context : contexts_) context->TryCancel();
    ended_.wait(lock, [this] { return contexts_.empty(); });
  }

 private:
  std::mutex mutex_;
  std::condition_variable ended_;
  std::set<grpc::ClientContext*> contexts_;
  bool cancelled_ = false;
};

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
    std::optional<Reports> reports;
    if (ok) reports = reports_in(bytes_of(response_), service_);
    const bool parsed = reports.has_value();
    bool release = false;
    {
      const std::lock_guard lock(mutex_);
      reading_ = false;
      if (closed_ || !parsed) release = !std::exchange(released_, true);
      if (!closed_ && parsed) handlers_.message(std::move(*reports));
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

// Whether the ids are a choice that the call allows.
bool is_valid_choice(const AllocateCall& call, const std::vector<std::string>& ids) {
  const std::set<std::string_view> given(ids.begin(), ids.end());
  std::set<std::string_view> allowed(call.available.begin(), call.available.end());
  allowed.insert(call.must_include.begin(), call.must_include.end());
  const auto has = [](const auto& set) { return [&set](const auto& id) { return set.contains(id); }; };
  return given.size() == ids.size() && static_cast<std::int64_t>(ids.size()) == call.amount &&
         std::all_of(ids.begin(), ids.end(), has(allowed)) &&
         (call.must_include.size() > ids.size() ||
          std::all_of(call.must_include.begin(), call.must_include.end(), has(given)));
}

// The calls of one allocation, each made when the one before was answered.
class Allocation : public std::enable_shared_from_this<Allocation> {
 public:
  using Answer = std::function<void(Result<AllocateAnswer>)>;
  Allocation(Calls& calls, std::string socket, AllocateCall call, Answer answer)
      : calls_(calls), socket_(std::move(socket)), call_(std::move(call)), answer_(std::move(answer)) {}

  void start() {
    if (!call_.ask_preference) return allocate();
    v1beta1::PreferredAllocationRequest request;
    auto& one = *request.add_container_requests();
    for (const std::string& id : call_.must_include) {
      one.add_must_include_deviceids(id);
      one.add_available_deviceids(id);
    }
    for (const std::string& id : call_.available) one.add_available_deviceids(id);
    one.set_allocation_size(static_cast<std::int32_t>(call_.amount));
    send(&Plugin::GetPreferredAllocation, std::move(request),
         [](Allocation& self, const v1beta1::PreferredAllocationResponse& response) {
           if (response.container_responses_size() == 1) {
             const auto& ids = response.container_responses(0).deviceids();
             std::vector<std::string> preferred(ids.begin(), ids.end());
             if (is_valid_choice(self.call_, preferred)) self.call_.chosen = std::move(preferred);
           }
           self.allocate();
         });
  }

 private:
  using Plugin = v1beta1::DevicePlugin::StubInterface::async_interface;

  void allocate() {
    v1beta1::AllocateRequest request;
    auto& one = *request.add_container_requests();
    for (const std::string& id : call_.chosen) one.add_devices_ids(id);
    send(&Plugin::Allocate, std::move(request),
         [](Allocation& self, const v1beta1::AllocateResponse& response) {
           if (response.container_responses_size() != 1)
             return self.answer_(
                 Error(ErrorCode::Invalid, "the device plugin answered for " +
                                               std::to_string(response.container_responses_size()) +
                                               " containers, not for one"));
           self.response_ = response.container_responses(0).SerializeAsString();
           if (self.response_.size() > kAllocateAnswerBytesMax)
             return self.answer_(Error(ErrorCode::TooLarge, "the device plugin's answer is larger than " +
                                                                std::to_string(kAllocateAnswerBytesMax) +
                                                                " bytes"));
           self.pre_start();
         });
  }
  void pre_start() {
    if (!call_.pre_start) return finish();
    v1beta1::PreStartContainerRequest request;
    for (const std::string& id : call_.chosen) request.add_devices_ids(id);
    send(&Plugin::PreStartContainer, std::move(request),
         [](Allocation& self, const v1beta1::PreStartContainerResponse&) { self.finish(); });
  }
  void finish() {
    std::sort(call_.chosen.begin(), call_.chosen.end());
    answer_(AllocateAnswer{std::move(call_.chosen), std::move(response_)});
  }
  // An error ends the allocation.
  template <class Request, class Response, class Then>
  void send(void (Plugin::*method)(grpc::ClientContext*, const Request*, Response*,
                                   std::function<void(grpc::Status)>),
            Request request, Then then) {
    using Call = Unary<Request, Response, v1beta1::DevicePlugin>;
    const auto call = std::make_shared<Call>(channel_to(socket_), kAllocateTimeout);
    call->request = std::move(request);
    calls_.begin(&call->context);
    Plugin* plugin = call->stub->async();
    (plugin->*method)(&call->context, &call->request, &call->response,
                      [self = shared_from_this(), call, then](const grpc::Status& status) {
                        if (status.ok())
                          then(*self, call->response);
                        else
                          self->answer_(error_of(status));
                        self->calls_.end(&call->context);
                      });
  }

  Calls& calls_;
  const std::string socket_;
  AllocateCall call_;
  const Answer answer_;
  std::string response_;
};

namespace dra = k8s::io::kubelet::pkg::apis::dra::v1;

std::string method_of(const ClaimCall& call) {
  const char* version = call.service == ClaimService::V1 ? "v1" : "v1beta1";
  const char* name =
      call.operation == ClaimOperation::Prepare ? "NodePrepareResources" : "NodeUnprepareResources";
  return "/k8s.io.kubelet.pkg.apis.dra." + std::string(version) + ".DRAPlugin/" + name;
}

ClaimResult result_of(const dra::NodePrepareResourceResponse& response) {
  if (response.ByteSizeLong() > kClaimAnswerBytesMax)
    return {"the driver's answer is larger than " + std::to_string(kClaimAnswerBytesMax) + " bytes", {}};
  ClaimResult result{response.error(), {}};
  for (const dra::Device& device : response.devices())
    result.devices.push_back({{device.request_names().begin(), device.request_names().end()},
                              device.pool_name(),
                              device.device_name(),
                              device.share_id(),
                              {device.cdi_device_ids().begin(), device.cdi_device_ids().end()}});
  return result;
}
ClaimResult result_of(const dra::NodeUnprepareResourceResponse& response) {
  return {response.error(), {}};
}

// The messages of v1, whose fields those of v1beta1 are too.
template <class Request, class Response>
void call_driver(Calls& calls, const std::string& socket, const ClaimCall& what,
                 std::function<void(Result<ClaimResults>)> answer) {
  struct Call {
    explicit Call(const std::string& socket) : stub(channel_to(socket)) {}
    grpc::TemplatedGenericStub<Request, Response> stub;
    grpc::ClientContext context;
    Request request;
    Response response;
  };
  const auto call = std::make_shared<Call>(socket);
  call->context.set_deadline(std::chrono::system_clock::now() +
                             std::chrono::microseconds(kClaimCallTimeout.micros()));
  for (const ClaimId& claim : what.claims) {
    dra::Claim& asked = *call->request.add_claims();
    asked.set_uid(claim.uid);
    asked.set_namespace_(claim.ns);
    asked.set_name(claim.name);
  }
  calls.begin(&call->context);
  call->stub.UnaryCall(&call->context, method_of(what), {}, &call->request, &call->response,
                       [&calls, call, answer = std::move(answer)](const grpc::Status& status) {
                         if (status.ok()) {
                           ClaimResults results;
                           for (const auto& [uid, one] : call->response.claims())
                             results.emplace(uid, result_of(one));
                           answer(std::move(results));
                         } else {
                           answer(error_of(status));
                         }
                         calls.end(&call->context);
                       });
}

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

  void allocate(const std::string& socket, AllocateCall call,
                std::function<void(Result<AllocateAnswer>)> answer) override {
    std::make_shared<Allocation>(calls_, socket, std::move(call), std::move(answer))->start();
  }

  void call(const std::string& socket, const ClaimCall& call,
            std::function<void(Result<ClaimResults>)> answer) override {
    if (call.operation == ClaimOperation::Prepare)
      call_driver<dra::NodePrepareResourcesRequest, dra::NodePrepareResourcesResponse>(calls_, socket, call,
                                                                                       std::move(answer));
    else
      call_driver<dra::NodeUnprepareResourcesRequest, dra::NodeUnprepareResourcesResponse>(
          calls_, socket, call, std::move(answer));
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
