// What annotations ask for, and what bound pods say that they have.
#include "api/types/gpu_share.h"

#include <gtest/gtest.h>

#include <optional>

namespace berth::api {
namespace {

ObjectMeta pod_with(StringMap annotations) {
  ObjectMeta meta;
  meta.annotations = std::move(annotations);
  return meta;
}

TEST(GpuShare, ARequestIsAFractionOrAnAmountOfMemory) {
  const auto half = gpu_share_request(pod_with({{"gpu-fraction", "0.5"}}));
  ASSERT_TRUE(half);
  EXPECT_EQ(half->hundredths, 50);
  EXPECT_EQ(half->devices, 1u);
  const auto memory =
      gpu_share_request(pod_with({{"gpu-memory", "4096"}, {"gpu-fraction-num-devices", "2"}}));
  ASSERT_TRUE(memory);
  EXPECT_EQ(memory->memory_mib, 4096u);
  EXPECT_EQ(memory->devices, 2u);
  EXPECT_FALSE(gpu_share_request(pod_with({})));
  for (const StringMap& broken :
       {StringMap{{"gpu-fraction", "0.5"}, {"gpu-memory", "1"}}, StringMap{{"gpu-fraction", "nan"}},
        StringMap{{"gpu-fraction", "0.004"}}, StringMap{{"gpu-fraction", "0.996"}},
        StringMap{{"gpu-memory", "0"}}, StringMap{{"gpu-memory", "1"}, {"gpu-fraction-num-devices", "33"}}}) {
    EXPECT_FALSE(gpu_share_request(pod_with(broken)));
    EXPECT_TRUE(asks_for_gpu_share(pod_with(broken)));
  }
}

TEST(GpuShare, MemoryIsRoundedUpToHundredthsOfTheNodesGpus) {
  const auto hundredths = [](std::uint64_t mib, const std::string& of) {
    return gpu_hundredths({0, mib, 1}, {{"nvidia.com/gpu.memory", of}});
  };
  EXPECT_EQ(hundredths(4096, "8192"), 50);
  EXPECT_EQ(hundredths(1, "8192"), 1);
  EXPECT_EQ(hundredths(4097, "8192"), 51);
  EXPECT_EQ(hundredths(8192, "8192"), 100);
  EXPECT_EQ(hundredths(8193, "8192"), std::nullopt);
  for (const char* broken : {"", "0", "8Gi", "-1", "18446744073709551615"})
    EXPECT_EQ(hundredths(1, broken), std::nullopt) << broken;
  EXPECT_EQ(gpu_hundredths({0, 1, 1}, {}), std::nullopt);
  EXPECT_EQ(gpu_hundredths({30, 0, 1}, {}), 30);
}

TEST(GpuShare, PortionsHaveTwoDecimals) {
  for (const std::int32_t hundredths : {1, 9, 10, 50, 99, 100})
    EXPECT_EQ(parse_gpu_portion(gpu_portion(hundredths)), hundredths);
  EXPECT_EQ(gpu_portion(5), "0.05");
  EXPECT_EQ(gpu_portion(100), "1.00");
  for (const char* broken : {"", "0.5", "0.00", "1.01", "0.500", "+.50", "0,50", "-.10", "0.-5"})
    EXPECT_FALSE(parse_gpu_portion(broken)) << broken;
}

TEST(GpuShare, ABoundPodSaysWhatItHas) {
  const GpuShare share{{"gpu-0", "gpu-3"}, 25};
  Pod pod;
  pod.meta.annotations = gpu_share_annotations(share);
  EXPECT_EQ(gpu_share_of(pod), nullptr) << "it asked for none";
  pod.meta.annotations["gpu-fraction"] = "0.25";
  ASSERT_NE(gpu_share_of(pod), nullptr);
  EXPECT_EQ(*gpu_share_of(pod), share);
  for (const char* groups : {"", ",", "gpu-0,gpu-0", "gpu-0,,gpu-1", "GPU", "a/b"}) {
    pod.meta.annotations[std::string(kGpuGroupsAnnotation)] = groups;
    EXPECT_EQ(gpu_share_of(pod), nullptr) << groups;
  }
}

TEST(GpuShare, AReservationPodHasItsGroupAndNoShareOfIt) {
  Pod pod;
  pod.node_name = "node.example.com";
  pod.meta.ns = kGpuReservationNamespace;
  pod.meta.name = gpu_reservation_name("node.example.com", "gpu-1");
  EXPECT_EQ(pod.meta.name.size(), std::string("gpu-reservation-").size() + 16)
      << "whatever the node's name is";
  EXPECT_FALSE(is_gpu_reservation(pod));
  pod.meta.annotations[std::string(kGpuGroupAnnotation)] = "gpu-1";
  EXPECT_TRUE(is_gpu_reservation(pod));
  ASSERT_NE(gpu_share_of(pod), nullptr);
  EXPECT_EQ(*gpu_share_of(pod), (GpuShare{{"gpu-1"}, 0}));
  pod.node_name = "other";
  EXPECT_FALSE(is_gpu_reservation(pod));
}

}  // namespace
}  // namespace berth::api
