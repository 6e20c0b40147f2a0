#include "health/kubelet_server.h"

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <cstdio>
#include <tuple>

#include "device_plugin_v1beta1.grpc.pb.h"
#include "health/socket_watcher.h"
#include "pod_resources_v1.grpc.pb.h"

namespace berth::health {
namespace {

grpc::ServerUnaryReactor* finished(grpc::CallbackServerContext* context, const grpc::Status& status) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(status);
  return reactor;
}

class RegistrationService final : public v1beta1::Registration::CallbackService {
 public:
  explicit RegistrationService(KubeletServer::Registered registered) : registered_(std::move(registered)) {}
  grpc::ServerUnaryReactor* Register(grpc::CallbackServerContext* context,
                                     const v1beta1::RegisterRequest* request, v1beta1::Empty*) override {
    PluginRegistration registration{request->version(), request->endpoint(), request->resource_name(),
                                    request->options().pre_start_required(),
                                    request->options().get_preferred_allocation_available()};
    if (const std::string problem = registration_problem(registration); !problem.empty())
      return finished(context, grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, problem));
    registered_(std::move(registration));
    return finished(context, grpc::Status::OK);
  }

 private:
  KubeletServer::Registered registered_;
};

// Devices of one resource, those of the same NUMA nodes together.
template <class Add>
void add_devices(const std::string& resource, const PluginResource* listed,
                 const std::vector<std::string>& ids, const Add& add) {
  std::map<std::vector<std::int64_t>, std::vector<std::string>> by_topology;
  for (const std::string& id : ids) {
    std::vector<std::int64_t> nodes;
    if (listed)
      if (const auto device = listed->devices.find(id); device != listed->devices.end())
        nodes = device->second.numa_nodes;
    by_topology[nodes].push_back(id);
  }
  for (const auto& [nodes, together] : by_topology) {
    v1::ContainerDevices& devices = *add();
    devices.set_resource_name(resource);
    for (const std::string& id : together) devices.add_device_ids(id);
    for (const std::int64_t node : nodes) devices.mutable_topology()->add_nodes()->set_id(node);
  }
}

// What the claim's driver prepared for the device; null when it did not tell.
const PreparedDevice* prepared_as(const NodePod& pod, const ClaimedDevice& wanted,
                                  const HealthSnapshot& health) {
  for (const NeededClaim& claim : pod.claims) {
    if (claim.id.name != wanted.claim || !health.claims) continue;
    const auto info = health.claims->find(claim.id.uid);
    if (info == health.claims->end()) continue;
    const auto driver = info->second.drivers.find(wanted.driver);
    if (driver == info->second.drivers.end()) continue;
    for (const PreparedDevice& device : driver->second.devices)
      if (std::tie(device.pool, device.device, device.share_id) ==
          std::tie(wanted.pool, wanted.device, wanted.share_id))
        return &device;
  }
  return nullptr;
}

void fill(v1::ContainerResources& out, const ContainerNeeds& container, const NodePod& pod,
          const HealthSnapshot& health) {
  out.set_name(container.name);
  if (const auto held = health.held.find({pod.uid, container.name}); held != health.held.end())
    for (const auto& [resource, devices] : held->second) {
      const auto listed = health.resources.find(resource);
      add_devices(resource, listed == health.resources.end() ? nullptr : &listed->second, devices.ids,
                  [&out] { return out.add_devices(); });
    }
  std::map<std::string, v1::DynamicResource*> claims;
  for (const ClaimedDevice& device : container.claimed) {
    v1::DynamicResource*& claim = claims[device.claim];
    if (!claim) {
      claim = out.add_dynamic_resources();
      claim->set_claim_name(device.claim);
      claim->set_claim_namespace(pod.ns);
    }
    v1::ClaimResource& resource = *claim->add_claim_resources();
    resource.set_driver_name(device.driver);
    resource.set_pool_name(device.pool);
    resource.set_device_name(device.device);
    if (!device.share_id.empty()) resource.set_share_id(device.share_id);
    if (const PreparedDevice* prepared = prepared_as(pod, device, health))
      for (const std::string& id : prepared->cdi_ids) resource.add_cdi_devices()->set_name(id);
  }
}

// Init containers that end before the others start hold nothing any more.
void fill(v1::PodResources& out, const NodePod& pod, const HealthSnapshot& health) {
  out.set_name(pod.name);
  out.set_namespace_(pod.ns);
  for (const ContainerNeeds& container : pod.containers)
    if (container.runs != ContainerNeeds::Runs::First) fill(*out.add_containers(), container, pod, health);
}

class PodResourcesService final : public v1::PodResourcesLister::CallbackService {
 public:
  PodResourcesService(std::string node, HealthFeed& feed) : node_(std::move(node)), feed_(feed) {}

  grpc::ServerUnaryReactor* List(grpc::CallbackServerContext* context, const v1::ListPodResourcesRequest*,
                                 v1::ListPodResourcesResponse* response) override {
    const HealthFeed::Snapshot health = snapshot();
    for (const NodePod& pod : *pods()) fill(*response->add_pod_resources(), pod, *health);
    return finished(context, grpc::Status::OK);
  }

  grpc::ServerUnaryReactor* Get(grpc::CallbackServerContext* context,
                                const v1::GetPodResourcesRequest* request,
                                v1::GetPodResourcesResponse* response) override {
    for (const NodePod& pod : *pods()) {
      if (pod.name != request->pod_name() || pod.ns != request->pod_namespace()) continue;
      fill(*response->mutable_pod_resources(), pod, *snapshot());
      return finished(context, grpc::Status::OK);
    }
    return finished(
        context, grpc::Status(grpc::StatusCode::NOT_FOUND, "pod " + request->pod_name() + " in namespace " +
                                                               request->pod_namespace() + " not found"));
  }

  grpc::ServerUnaryReactor* GetAllocatableResources(grpc::CallbackServerContext* context,
                                                    const v1::AllocatableResourcesRequest*,
                                                    v1::AllocatableResourcesResponse* response) override {
    const HealthFeed::Snapshot health = snapshot();
    for (const auto& [name, resource] : health->resources) {
      std::vector<std::string> ids;
      for (const auto& [id, device] : resource.devices)
        if (device.allocatable) ids.push_back(id);
      add_devices(name, &resource, ids, [response] { return response->add_devices(); });
    }
    return finished(context, grpc::Status::OK);
  }

 private:
  HealthFeed::Snapshot snapshot() const {
    const HealthFeed::Snapshot health = feed_.peek(node_);
    return health ? health : std::make_shared<const HealthSnapshot>();
  }
  HealthFeed::Pods pods() const {
    const HealthFeed::Pods pods = feed_.pods(node_);
    return pods ? pods : std::make_shared<const NodePods>();
  }

  const std::string node_;
  HealthFeed& feed_;
};

class GrpcKubeletServer final : public KubeletServer {
 public:
  GrpcKubeletServer(std::string node, HealthFeed& feed, Registered registered)
      : registration_(std::move(registered)), pod_resources_(std::move(node), feed) {}
  ~GrpcKubeletServer() override {
    for (const auto& server : {&registration_server_, &pod_resources_server_})
      if (*server) (*server)->Shutdown(std::chrono::system_clock::now());
  }

  Status start(const std::string& folder) {
    TRY(listen(folder + "/device-plugins", registration_, registration_server_));
    return listen(folder + "/pod-resources", pod_resources_, pod_resources_server_);
  }

 private:
  static Status listen(const std::string& folder, grpc::Service& service,
                       std::unique_ptr<grpc::Server>& server) {
    const std::string socket = folder + "/kubelet.sock";
    if (socket.size() > kSocketPathBytesMax)
      return Error(ErrorCode::Invalid, socket, "the path is too long for a unix socket");
    TRY(make_folder(folder));
    TRY(remove_sockets(folder));
    grpc::ServerBuilder builder;
    builder.AddListeningPort("unix:" + socket, grpc::InsecureServerCredentials());
    builder.RegisterService(&service);
    server = builder.BuildAndStart();
    if (!server) return Error(ErrorCode::Unavailable, socket, "the socket cannot be served");
    return {};
  }

  RegistrationService registration_;
  PodResourcesService pod_resources_;
  std::unique_ptr<grpc::Server> registration_server_, pod_resources_server_;
};

}  // namespace

Result<std::unique_ptr<KubeletServer>> KubeletServer::serve(const std::string& node_folder, std::string node,
                                                            HealthFeed& feed, Registered registered) {
  auto server = std::make_unique<GrpcKubeletServer>(std::move(node), feed, std::move(registered));
  TRY(server->start(node_folder));
  return std::unique_ptr<KubeletServer>(std::move(server));
}

}  // namespace berth::health
