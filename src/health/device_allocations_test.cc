#include "health/device_allocations.h"

#include <gtest/gtest.h>

namespace berth::health {
namespace {

using Runs = ContainerNeeds::Runs;

constexpr const char* kGpu = "example.com/gpu";

PluginResources gpus(const std::vector<std::string>& allocatable, const std::vector<std::string>& sick = {}) {
  PluginResources resources;
  PluginResource& resource = resources[kGpu];
  resource.registered = true;
  for (const std::string& id : allocatable) resource.devices[id] = {{Health::Healthy, ""}, true, {}};
  for (const std::string& id : sick) resource.devices[id] = {{Health::Unhealthy, ""}, false, {}};
  return resources;
}

NodePod pod(const std::string& uid, std::vector<ContainerNeeds> containers) {
  return {uid, "d", uid, std::move(containers)};
}

ContainerNeeds container(const std::string& name, std::int64_t amount, Runs runs = Runs::Regular) {
  return {name, runs, {{kGpu, amount}, {"unknown.example.com/x", 1}}, {}};
}

// Gives every container of the pod what it lacks; "a:gpu-1,gpu-2 b:…", or the refusal.
std::string served(DeviceAllocations& allocations, const NodePod& pod, const PluginResources& resources) {
  std::string text;
  while (const auto missing = allocations.missing(pod, resources)) {
    const auto choice = allocations.candidates(*missing, resources.at(kGpu));
    if (!choice) return text + choice.error().message();
    std::vector<std::string> ids = DeviceAllocations::chosen(*choice, missing->amount);
    text += missing->container->name + ":";
    for (const std::string& id : ids) text += id + " ";
    const bool first = missing->container->runs == Runs::First;
    allocations.hold({pod.uid, missing->container->name}, missing->resource, {ids, first, ""});
  }
  return text;
}

TEST(DeviceAllocations, EachContainerGetsFreeHealthyDevicesOnce) {
  DeviceAllocations allocations;
  const PluginResources resources = gpus({"1", "3", "4", "5"}, {"2"});
  EXPECT_EQ(served(allocations, pod("u1", {container("a", 2), container("b", 1)}), resources), "a:1 3 b:4 ");
  EXPECT_EQ(served(allocations, pod("u2", {container("a", 2)}), resources),
            "requested number of devices unavailable for example.com/gpu. Requested: 2, Available: 1");
  EXPECT_EQ(served(allocations, pod("u3", {container("a", 0)}), resources), "");
  EXPECT_TRUE(allocations.retain({pod("u3", {})}));
  EXPECT_FALSE(allocations.retain({pod("u3", {})}));
  EXPECT_EQ(served(allocations, pod("u2", {container("a", 2)}), resources), "a:1 3 ");
}

TEST(DeviceAllocations, ContainersTakeOverWhatInitContainersHadButNotSidecars) {
  DeviceAllocations allocations;
  const PluginResources resources = gpus({"1", "2", "3", "4"});
  const NodePod one = pod("u1", {container("init", 2, Runs::First), container("side", 1, Runs::Beside),
                                 container("later", 3, Runs::First), container("work", 3)});
  EXPECT_EQ(served(allocations, one, resources), "init:1 2 side:1 later:2 3 4 work:2 3 4 ");
  EXPECT_EQ(served(allocations, pod("u2", {container("a", 1)}), resources),
            "requested number of devices unavailable for example.com/gpu. Requested: 1, Available: 0");
}

TEST(DeviceAllocations, ADeviceThatFellSickStaysWithItsHolder) {
  DeviceAllocations allocations;
  const NodePod one = pod("u1", {container("init", 1, Runs::First), container("work", 1)});
  EXPECT_EQ(served(allocations, pod("u1", {container("init", 1, Runs::First)}), gpus({"1", "2"})), "init:1 ");
  EXPECT_EQ(served(allocations, one, gpus({"2"}, {"1"})), "work:1 ") << "as kubelet reuses it";
}

}  // namespace
}  // namespace berth::health
