// The sockets that a kubelet serves on its node, for nodes that have none: device plugin registration v1beta1
// on <node>/device-plugins/kubelet.sock, pod resources v1 on <node>/pod-resources/kubelet.sock.
//
// Calls arrive on gRPC's threads. Its destructor ends the calls in flight. Refuses paths that are too long
// for a unix socket. Cost: two descriptors. Source: kubelet's device manager and pod resources API.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "health/device_plugins.h"
#include "health/health_feed.h"

namespace berth::health {

class KubeletServer {
 public:
  // Called with a sound registration, on a thread of gRPC.
  using Registered = std::function<void(PluginRegistration)>;
  // Replaces the sockets of an earlier process. `feed` outlives it.
  static Result<std::unique_ptr<KubeletServer>> serve(const std::string& node_folder, std::string node,
                                                      HealthFeed& feed, Registered registered);
  virtual ~KubeletServer() = default;
};

}  // namespace berth::health
