#include "health/device_plugin.h"

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "device_plugin_v1beta1.grpc.pb.h"
#include "health/plugin_client.h"

namespace berth::health {
namespace {

constexpr std::chrono::milliseconds kListCheckPeriod(20);
constexpr std::chrono::seconds kRegisterTimeout(5);

std::string joined(const google::protobuf::RepeatedPtrField<std::string>& ids) {
  std::string text;
  for (const std::string& id : ids) text += (text.empty() ? "" : ",") + id;
  return text;
}

class PluginService final : public v1beta1::DevicePlugin::Service {
 public:
  explicit PluginService(DevicePluginOptions options) : options(std::move(options)) {}

  grpc::Status ListAndWatch(grpc::ServerContext* context, const v1beta1::Empty*,
                            grpc::ServerWriter<v1beta1::ListAndWatchResponse>* writer) override {
    std::uint64_t sent = 0;
    std::unique_lock lock(mutex);
    while (!closing && !context->IsCancelled()) {
      if (sent == version) {
        changed.wait_for(lock, kListCheckPeriod);
        continue;
      }
      sent = version;
      const v1beta1::ListAndWatchResponse message = list();
      lock.unlock();
      const bool written = writer->Write(message);
      lock.lock();
      if (!written) break;
    }
    return grpc::Status::OK;
  }
  grpc::Status GetPreferredAllocation(grpc::ServerContext*,
                                      const v1beta1::PreferredAllocationRequest* request,
                                      v1beta1::PreferredAllocationResponse* response) override {
    const std::lock_guard lock(mutex);
    for (const auto& container : request->container_requests()) {
      calls.push_back("GetPreferredAllocation " + std::to_string(container.allocation_size()) + " of " +
                      joined(container.available_deviceids()));
      auto* preferred = response->add_container_responses();
      for (const std::string& id : options.preferred) preferred->add_deviceids(id);
    }
    return grpc::Status::OK;
  }
  grpc::Status Allocate(grpc::ServerContext*, const v1beta1::AllocateRequest* request,
                        v1beta1::AllocateResponse* response) override {
    const std::lock_guard lock(mutex);
    if (!options.allocate_error.empty())
      return grpc::Status(grpc::StatusCode::INTERNAL, options.allocate_error);
    for (const auto& container : request->container_requests()) {
      calls.push_back("Allocate " + joined(container.devices_ids()));
      (*response->add_container_responses()->mutable_envs())["VISIBLE_DEVICES"] =
          joined(container.devices_ids());
    }
    return grpc::Status::OK;
  }
  grpc::Status PreStartContainer(grpc::ServerContext*, const v1beta1::PreStartContainerRequest* request,
                                 v1beta1::PreStartContainerResponse*) override {
    const std::lock_guard lock(mutex);
    calls.push_back("PreStartContainer " + joined(request->devices_ids()));
    return grpc::Status::OK;
  }

  DevicePluginOptions options;
  std::mutex mutex;
  std::condition_variable changed;
  std::uint64_t version = 1;
  bool closing = false;
  std::vector<std::string> calls;

 private:
  v1beta1::ListAndWatchResponse list() const {
    v1beta1::ListAndWatchResponse message;
    for (const auto& [id, healthy] : options.devices) {
      auto* device = message.add_devices();
      device->set_id(id);
      device->set_health(healthy ? "Healthy" : "Unhealthy");
      if (const auto node = options.numa_nodes.find(id); node != options.numa_nodes.end())
        device->mutable_topology()->add_nodes()->set_id(node->second);
    }
    return message;
  }
};

}  // namespace

struct DevicePlugin::Parts {
  explicit Parts(DevicePluginOptions options) : service(std::move(options)) {}
  PluginService service;
  std::unique_ptr<grpc::Server> server;
};

DevicePlugin::DevicePlugin(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

Result<std::unique_ptr<DevicePlugin>> DevicePlugin::serve(DevicePluginOptions options) {
  const std::string socket = options.folder + "/" + options.endpoint;
  if (socket.size() > kSocketPathBytesMax)
    return Error(ErrorCode::Invalid, socket, "the path is too long for a unix socket");
  auto parts = std::make_unique<Parts>(std::move(options));
  grpc::ServerBuilder builder;
  builder.AddListeningPort("unix:" + socket, grpc::InsecureServerCredentials());
  builder.RegisterService(&parts->service);
  parts->server = builder.BuildAndStart();
  if (!parts->server) return Error(ErrorCode::Unavailable, socket, "the socket cannot be served");
  return std::unique_ptr<DevicePlugin>(new DevicePlugin(std::move(parts)));
}

DevicePlugin::~DevicePlugin() {
  {
    const std::lock_guard lock(parts_->service.mutex);
    parts_->service.closing = true;
    parts_->service.changed.notify_all();
  }
  parts_->server->Shutdown(std::chrono::system_clock::now());
  parts_->server->Wait();
}

Status DevicePlugin::register_again() {
  const DevicePluginOptions& options = parts_->service.options;
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  const auto stub = v1beta1::Registration::NewStub(grpc::CreateCustomChannel(
      "unix:" + options.folder + "/kubelet.sock", grpc::InsecureChannelCredentials(), arguments));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kRegisterTimeout);
  v1beta1::RegisterRequest request;
  request.set_version(options.version);
  request.set_endpoint(options.endpoint);
  request.set_resource_name(options.resource);
  request.mutable_options()->set_pre_start_required(options.pre_start);
  request.mutable_options()->set_get_preferred_allocation_available(!options.preferred.empty());
  v1beta1::Empty response;
  const grpc::Status status = stub->Register(&context, request, &response);
  if (status.ok()) return {};
  const bool refused = status.error_code() == grpc::StatusCode::INVALID_ARGUMENT;
  return Error(refused ? ErrorCode::Invalid : ErrorCode::Unavailable, status.error_message());
}

void DevicePlugin::list(std::map<std::string, bool> devices) {
  const std::lock_guard lock(parts_->service.mutex);
  parts_->service.options.devices = std::move(devices);
  ++parts_->service.version;
  parts_->service.changed.notify_all();
}

void DevicePlugin::fail_allocations(const std::string& error) {
  const std::lock_guard lock(parts_->service.mutex);
  parts_->service.options.allocate_error = error;
}

std::vector<std::string> DevicePlugin::calls() const {
  const std::lock_guard lock(parts_->service.mutex);
  return parts_->service.calls;
}

}  // namespace berth::health
