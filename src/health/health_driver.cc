#include "health/health_driver.h"

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>

#include "dra_health_v1.grpc.pb.h"
#include "dra_health_v1alpha1.grpc.pb.h"
#include "dra_v1.grpc.pb.h"
#include "dra_v1beta1.grpc.pb.h"
#include "registration.grpc.pb.h"

namespace berth::health {
namespace {

constexpr std::chrono::milliseconds kCancelCheckPeriod(20);

// The devices' state with a version, so that each stream sends every version that it has not sent yet.
struct Board {
  std::mutex mutex;
  std::condition_variable changed;
  std::map<DeviceName, DeviceReport> devices;
  std::uint64_t version = 0;
  std::size_t streams = 0;
  bool closing = false;
  std::vector<std::string> answers;
  std::vector<std::string> calls;
  std::string claim_error;
  std::chrono::milliseconds claim_delay{};
};

class Registration final : public pluginregistration::Registration::Service {
 public:
  Registration(Board& board, const HealthDriverOptions& options) : board_(board), options_(options) {}
  grpc::Status GetInfo(grpc::ServerContext*, const pluginregistration::InfoRequest*,
                       pluginregistration::PluginInfo* info) override {
    info->set_type(options_.type);
    info->set_name(options_.name);
    for (const std::string& service : options_.services) info->add_supported_versions(service);
    return grpc::Status::OK;
  }
  grpc::Status NotifyRegistrationStatus(grpc::ServerContext*,
                                        const pluginregistration::RegistrationStatus* status,
                                        pluginregistration::RegistrationStatusResponse*) override {
    const std::lock_guard lock(board_.mutex);
    board_.answers.push_back(status->plugin_registered() ? "registered" : status->error());
    return grpc::Status::OK;
  }

 private:
  Board& board_;
  const HealthDriverOptions& options_;
};

// Both versions of the service have the same shape.
template <class Service, class Request, class Response>
class HealthServiceOf final : public Service {
 public:
  explicit HealthServiceOf(Board& board) : board_(board) {}
  grpc::Status NodeWatchResources(grpc::ServerContext* context, const Request*,
                                  grpc::ServerWriter<Response>* writer) override {
    std::uint64_t sent = 0;
    std::unique_lock lock(board_.mutex);
    ++board_.streams;
    while (!board_.closing && !context->IsCancelled()) {
      if (sent == board_.version) {
        board_.changed.wait_for(lock, kCancelCheckPeriod);
        continue;
      }
      sent = board_.version;
      const Response message = message_of(board_.devices);
      lock.unlock();
      const bool written = writer->Write(message);
      lock.lock();
      if (!written) break;
    }
    --board_.streams;
    return grpc::Status::OK;
  }

 private:
  static Response message_of(const std::map<DeviceName, DeviceReport>& devices) {
    Response message;
    for (const auto& [name, report] : devices) {
      auto* device = message.add_devices();
      device->mutable_device()->set_pool_name(name.pool);
      device->mutable_device()->set_device_name(name.device);
      const int health = report.health.health == Health::Healthy     ? 1
                         : report.health.health == Health::Unhealthy ? 2
                                                                     : 0;
      device->set_health(static_cast<decltype(device->health())>(health));
      device->set_health_check_timeout_seconds(report.timeout_s);
      device->set_message(report.health.message);
    }
    return message;
  }
  Board& board_;
};

// Both versions of the service have the same shape but for share ids, which this driver has not.
template <class Service, class PrepareRequest, class PrepareResponse, class UnprepareRequest,
          class UnprepareResponse>
class ClaimServiceOf final : public Service {
 public:
  ClaimServiceOf(Board& board, const std::string& driver) : board_(board), driver_(driver) {}
  grpc::Status NodePrepareResources(grpc::ServerContext*, const PrepareRequest* request,
                                    PrepareResponse* response) override {
    const std::unique_lock lock = begin("NodePrepareResources", *request);
    for (const auto& claim : request->claims()) {
      auto& result = (*response->mutable_claims())[claim.uid()];
      result.set_error(board_.claim_error);
      if (!board_.claim_error.empty()) continue;
      for (const auto& [name, report] : board_.devices) {
        auto* device = result.add_devices();
        device->set_pool_name(name.pool);
        device->set_device_name(name.device);
        device->add_cdi_device_ids(driver_ + "/device=" + name.device);
      }
    }
    return grpc::Status::OK;
  }
  grpc::Status NodeUnprepareResources(grpc::ServerContext*, const UnprepareRequest* request,
                                      UnprepareResponse* response) override {
    const std::unique_lock lock = begin("NodeUnprepareResources", *request);
    for (const auto& claim : request->claims())
      (*response->mutable_claims())[claim.uid()].set_error(board_.claim_error);
    return grpc::Status::OK;
  }

 private:
  std::unique_lock<std::mutex> begin(const char* method, const auto& request) {
    std::string call = method;
    for (const auto& claim : request.claims())
      call += (&claim == &request.claims(0) ? " " : ",") + claim.namespace_() + "/" + claim.name();
    std::unique_lock lock(board_.mutex);
    board_.calls.push_back(std::move(call));
    const auto delay = board_.claim_delay;
    board_.changed.wait_for(lock, delay, [this] { return board_.closing; });
    return lock;
  }
  Board& board_;
  const std::string& driver_;
};

namespace dra_v1 = k8s::io::kubelet::pkg::apis::dra::v1;
namespace dra_v1beta1 = k8s::io::kubelet::pkg::apis::dra::v1beta1;
using ClaimsV1 = ClaimServiceOf<dra_v1::DRAPlugin::Service, dra_v1::NodePrepareResourcesRequest,
                                dra_v1::NodePrepareResourcesResponse, dra_v1::NodeUnprepareResourcesRequest,
                                dra_v1::NodeUnprepareResourcesResponse>;
using ClaimsV1Beta1 =
    ClaimServiceOf<dra_v1beta1::DRAPlugin::Service, dra_v1beta1::NodePrepareResourcesRequest,
                   dra_v1beta1::NodePrepareResourcesResponse, dra_v1beta1::NodeUnprepareResourcesRequest,
                   dra_v1beta1::NodeUnprepareResourcesResponse>;
using V1 = HealthServiceOf<v1::DRAResourceHealth::Service, v1::NodeWatchResourcesRequest,
                           v1::NodeWatchResourcesResponse>;
using V1Alpha1 = HealthServiceOf<v1alpha1::DRAResourceHealth::Service, v1alpha1::NodeWatchResourcesRequest,
                                 v1alpha1::NodeWatchResourcesResponse>;

}  // namespace

struct HealthDriver::Parts {
  explicit Parts(HealthDriverOptions given)
      : options(std::move(given)),
        registration(board, options),
        v1(board),
        v1alpha1(board),
        claims_v1(board, options.name),
        claims_v1beta1(board, options.name) {}
  HealthDriverOptions options;
  Board board;
  Registration registration;
  V1 v1;
  V1Alpha1 v1alpha1;
  ClaimsV1 claims_v1;
  ClaimsV1Beta1 claims_v1beta1;
  std::unique_ptr<grpc::Server> server;
};

HealthDriver::HealthDriver(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

Result<std::unique_ptr<HealthDriver>> HealthDriver::serve(HealthDriverOptions options) {
  if (options.socket.size() > kSocketPathBytesMax)
    return Error(ErrorCode::Invalid, options.socket, "the path is too long for a unix socket");
  auto parts = std::make_unique<Parts>(std::move(options));
  grpc::ServerBuilder builder;
  builder.AddListeningPort("unix:" + parts->options.socket, grpc::InsecureServerCredentials());
  builder.RegisterService(&parts->registration);
  for (const std::string& service : parts->options.services) {
    if (service == "v1.DRAResourceHealth") builder.RegisterService(&parts->v1);
    if (service == "v1alpha1.DRAResourceHealth") builder.RegisterService(&parts->v1alpha1);
    if (service == "v1.DRAPlugin") builder.RegisterService(&parts->claims_v1);
    if (service == "v1beta1.DRAPlugin") builder.RegisterService(&parts->claims_v1beta1);
  }
  parts->server = builder.BuildAndStart();
  if (!parts->server)
    return Error(ErrorCode::Unavailable, parts->options.socket, "the socket cannot be served");
  return std::unique_ptr<HealthDriver>(new HealthDriver(std::move(parts)));
}

HealthDriver::~HealthDriver() {
  {
    const std::lock_guard lock(parts_->board.mutex);
    parts_->board.closing = true;
    parts_->board.changed.notify_all();
  }
  parts_->server->Shutdown(std::chrono::system_clock::now());
  parts_->server->Wait();
}

void HealthDriver::report(const Reports& reports) {
  Board& board = parts_->board;
  const std::lock_guard lock(board.mutex);
  for (const DeviceReport& report : reports) board.devices[report.name] = report;
  ++board.version;
  board.changed.notify_all();
}

std::vector<std::string> HealthDriver::answers() const {
  const std::lock_guard lock(parts_->board.mutex);
  return parts_->board.answers;
}

std::size_t HealthDriver::streams() const {
  const std::lock_guard lock(parts_->board.mutex);
  return parts_->board.streams;
}

std::vector<std::string> HealthDriver::calls() const {
  const std::lock_guard lock(parts_->board.mutex);
  return parts_->board.calls;
}

void HealthDriver::answer_claims(const std::string& error, std::chrono::milliseconds delay) {
  const std::lock_guard lock(parts_->board.mutex);
  parts_->board.claim_error = error;
  parts_->board.claim_delay = delay;
}

}  // namespace berth::health
