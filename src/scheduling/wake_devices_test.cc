// No wake-up of a pod that waits for devices is lost: claims, classes, slices, taint rules, extended
// resources.
#include <gtest/gtest.h>

#include "scheduling/test_wakes.h"

namespace berth::scheduling {
namespace {

class DeviceWorld final : public WakeWorld {
 public:
  explicit DeviceWorld(std::uint64_t seed) : WakeWorld(seed) {
    for (int i = 0; i < 2; ++i) put_shared_claim();
  }

  void step() override {
    switch (below(16)) {
      case 0:
      case 1:
      case 2:
        return put_slice();
      case 3:
        return erase(api::Kind::ResourceSlice, pick("s", 4), "");
      case 4:
        return put_class();
      case 5:
        return erase(api::Kind::DeviceClass, pick("c", 4), "");
      case 6:
        return put_taint_rule();
      case 7:
        return erase(api::Kind::DeviceTaintRule, pick("r", 2), "");
      case 8:
        return put_shared_claim();
      case 9:
        return end_pod();
      case 10:
        return free_claim();
      case 11:
      case 12:
        return put_pod();
      default:
        return WakeWorld::step();
    }
  }

 protected:
  std::string asks(const std::string& pod) override {
    const std::string shared = pick("shared", 2);
    if (sometimes(4)) return R"(,"resourceClaims":[{"name":"d","resourceClaimName":")" + shared + R"("}])";
    if (sometimes(5)) return "";
    put(api::Kind::ResourceClaim, R"({"metadata":{"name":")" + pod +
                                      R"(","namespace":"default"},"spec":{"devices":{"requests":[)" +
                                      request("r") + (sometimes(3) ? "," + request("q") : "") + "]}}}");
    return R"(,"resourceClaims":[{"name":"d","resourceClaimName":")" + pod + R"("}])";
  }
  void ended(const api::Pod& pod) override {
    WakeWorld::ended(pod);
    for (const auto& [name, claim] : std::map(bench.view.claims.all())) {
      if (!claim->reserved_by(pod.meta.uid)) continue;
      note("release " + claim->meta.name);
      change(api::Kind::ResourceClaim, claim->raw, [&](Json& object) {
        std::erase_if(object["status"]["reservedFor"].as_array(),
                      [&](const Json& user) { return user.string_at("uid") == pod.meta.uid; });
      });
    }
    if (!pod.extended_claim.empty()) erase(api::Kind::ResourceClaim, pod.extended_claim);
  }
  void bound(const api::Pod& pod, const api::BindRequest& request) override {
    for (const api::ClaimAllocation& one : request.claims) {
      if (bench.view.claims.find("default", one.claim_name)) continue;
      put(api::Kind::ResourceClaim,
          R"({"metadata":{"name":")" + one.claim_name +
              R"(","namespace":"default","ownerReferences":[{"controller":true,"kind":"Pod","name":")" +
              pod.meta.name + R"(","uid":")" + pod.meta.uid +
              R"("}]},"spec":{"devices":{"requests":[{"name":"r","exactly":{"deviceClassName":"c3"}}]}}})");
      change(api::Kind::Pod, pod.raw, [&](Json& object) {
        object["status"]["extendedResourceClaimStatus"]["resourceClaimName"] = one.claim_name;
      });
    }
    WakeWorld::bound(pod, request);
  }

 private:
  std::string driver() { return sometimes(2) ? "fast.example.com" : "gpu.example.com"; }

  std::string exactly(const std::string& name) {
    const bool all = sometimes(8);
    return (name.empty() ? "" : R"("name":")" + name + "\",") + R"("deviceClassName":")" + pick("c", 4) +
           R"(","allocationMode":")" +
           (all ? R"(All")" : R"(ExactCount","count":)" + std::to_string(1 + below(2))) +
           (sometimes(4) ? R"(,"selectors":[{"cel":{"expression":"device.driver == ')" + driver() + "'\"}}]"
                         : "");
  }
  std::string request(const std::string& name) {
    if (!sometimes(4)) return R"({"name":")" + name + R"(","exactly":{)" + exactly("") + "}}";
    return R"({"name":")" + name + R"(","firstAvailable":[{)" + exactly("a") + "},{" + exactly("b") + "}]}";
  }

  // On a node, or on those of a zone.
  void put_slice() {
    const std::string name = pick("s", 4), of = driver();
    if (!sometimes(3)) {
      note("slice " + name + " " + of);
      return bench.put_slice(name, pick("n", 5), static_cast<int>(below(4)), of);
    }
    put(api::Kind::ResourceSlice, R"({"metadata":{"name":")" + name + R"("},"spec":{"driver":")" + of +
                                      R"(","pool":{"name":"pool-)" + name +
                                      R"(","generation":1,"resourceSliceCount":1},"nodeSelector":{)" +
                                      zone_affinity() + R"(},"devices":[{"name":"d0"},{"name":"d1"}]}})");
  }
  // c0 and c1 name a driver, c2 none; c3 serves the extended resource that some nodes have themselves.
  void put_class() {
    const std::string name = pick("c", 4);
    const std::string selector = name == "c2" ? "true" : "device.driver == '" + driver() + "'";
    put(api::Kind::DeviceClass,
        R"({"metadata":{"name":")" + name + R"("},"spec":{"selectors":[{"cel":{"expression":")" + selector +
            "\"}}]" + (name == "c3" ? R"(,"extendedResourceName":"example.com/x")" : "") + "}}");
  }
  void put_taint_rule() {
    put(api::Kind::DeviceTaintRule, R"({"metadata":{"name":")" + pick("r", 2) + R"(","generation":)" +
                                        std::to_string(++generation_) + R"(},"spec":{"deviceSelector":{)" +
                                        (sometimes(2) ? R"("driver":")" + driver() + "\"" : "") +
                                        R"(},"taint":{"key":"k","effect":"NoSchedule"}}})");
  }
  void put_shared_claim() {
    const std::string name = pick("shared", 2);
    if (bench.view.claims.find("default", name)) return;
    put(api::Kind::ResourceClaim, R"({"metadata":{"name":")" + name +
                                      R"(","namespace":"default"},"spec":{"devices":{"requests":[)" +
                                      request("r") + "]}}}");
  }
  // As the controller deallocates what nobody uses, or somebody deletes it.
  void free_claim() {
    const std::string name = pick("shared", 2);
    const api::ResourceClaim* claim = bench.view.claims.find("default", name);
    if (!claim || !claim->reserved_for.empty()) return;
    if (sometimes(3)) return erase(api::Kind::ResourceClaim, name);
    note("free " + name);
    change(api::Kind::ResourceClaim, claim->raw,
           [](Json& object) { object["status"] = Json(Json::object()); });
  }

  int generation_ = 0;
};

class NoDeviceIsMissed : public testing::TestWithParam<std::uint64_t> {};

TEST_P(NoDeviceIsMissed, WhateverChanges) {
  expect_no_wake_up_lost<DeviceWorld>(GetParam(), 150, 60);
}
INSTANTIATE_TEST_SUITE_P(Shards, NoDeviceIsMissed, testing::Range<std::uint64_t>(0, 4));

}  // namespace
}  // namespace berth::scheduling
