// A device plugin with scripted devices (v1beta1): for tests and experiments.
//
// Thread-safe. Registers when it starts, and again when the agent's socket is another one (register_again()).
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"

namespace berth::health {

struct DevicePluginOptions {
  std::string folder;  // the node's device-plugins folder
  std::string endpoint = "plugin.sock";
  std::string resource = "example.com/gpu";
  std::string version = "v1beta1";
  std::map<std::string, bool> devices;                  // by id: whether it is healthy
  std::map<std::string, std::int64_t> numa_nodes = {};  // by id
  std::vector<std::string> preferred = {};              // offered as preference when not empty
  bool pre_start = false;
  std::string allocate_error = {};  // Allocate fails with it
};

class DevicePlugin {
 public:
  // Serves; registers nothing yet.
  static Result<std::unique_ptr<DevicePlugin>> serve(DevicePluginOptions options);
  // Ends the streams and removes the socket.
  ~DevicePlugin();

  // The refusal of the agent, if any.
  Status register_again();
  // Replaces the devices and sends the list.
  void list(std::map<std::string, bool> devices);
  void fail_allocations(const std::string& error);
  // "Allocate gpu-1,gpu-2", "PreStartContainer gpu-1": the calls so far.
  std::vector<std::string> calls() const;

 private:
  struct Parts;
  explicit DevicePlugin(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace berth::health
