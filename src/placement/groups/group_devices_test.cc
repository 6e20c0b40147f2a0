#include "placement/groups/group_devices.h"

#include <gtest/gtest.h>

#include "placement/plugin_bench.h"

namespace berth::placement {
namespace {

// Two GPUs and six NICs of one driver; a class for each kind, by an attribute.
class OneDriver : public ::testing::Test {
 protected:
  OneDriver() {
    bench_.put(api::Kind::Node,
               R"({"metadata":{"name":"n"},"status":{"allocatable":{"cpu":"9","memory":"9Gi","pods":"9"}}})");
    std::string devices;
    for (int i = 0; i < 8; ++i)
      devices += std::string(i == 0 ? "" : ",") + R"({"name":"d)" + std::to_string(i) +
                 R"(","attributes":{"kind":{"string":")" + (i < 2 ? "gpu" : "nic") + R"("}}})";
    bench_.put(
        api::Kind::ResourceSlice,
        R"({"metadata":{"name":"s"},"spec":{"driver":"x.example.com","nodeName":"n","pool":{"name":"n",)"
        R"("generation":1,"resourceSliceCount":1},"devices":[)" +
            devices + "]}}");
    for (const std::string kind : {"gpu", "nic"})
      bench_.put(api::Kind::DeviceClass,
                 R"({"metadata":{"name":")" + kind +
                     R"("},"spec":{"selectors":[{"cel":{"expression":"device.kind == ')" + kind +
                     R"('"}}]}})");
  }
  void put_member(const std::string& name, const std::string& requests) {
    bench_.put(api::Kind::ResourceClaim, R"({"metadata":{"name":")" + name +
                                             R"(","namespace":"ns","uid":"c)" + name +
                                             R"("},"spec":{"devices":{"requests":[)" + requests + "]}}}");
    bench_.put(api::Kind::Pod,
               R"({"metadata":{"name":")" + name + R"(","namespace":"ns","uid":"u)" + name +
                   R"("},"spec":{"containers":[{"name":"c"}],"resourceClaims":[{"name":"c",)" +
                   R"("resourceClaimName":")" + name + "\"}]}}");
    members_.push_back(bench_.view.pods.find("ns", name));
  }
  static std::string request(const std::string& device_class, int count) {
    return R"({"name":"r)" + device_class + R"(","exactly":{"deviceClassName":")" + device_class +
           R"(","allocationMode":"ExactCount","count":)" + std::to_string(count) + "}}";
  }
  std::int64_t room() {
    const SchedulingContext context{bench_.view, bench_.cluster, bench_.allocator};
    return GroupDevices(context, members_).room(bench_.cluster.find_node("n"), 100);
  }

  PluginBench bench_;
  std::vector<const api::Pod*> members_;
};

TEST_F(OneDriver, CountsDevicesByTheSelectorsOfTheirClass) {
  put_member("a", request("gpu", 1));
  EXPECT_EQ(room(), 2);
}

TEST_F(OneDriver, CountsEachRequestOfAClaim) {
  put_member("a", request("gpu", 1) + "," + request("nic", 4));
  EXPECT_EQ(room(), 1);
}

TEST_F(OneDriver, CountsTheLeastThatAnyMemberAsks) {
  put_member("a", request("nic", 3));
  put_member("b", request("nic", 2));
  EXPECT_EQ(room(), 3);
  put_member("c", request("gpu", 1));
  EXPECT_EQ(room(), 8);  // no kind is asked by all
}

}  // namespace
}  // namespace berth::placement
