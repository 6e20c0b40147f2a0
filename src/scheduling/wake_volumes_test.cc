// No wake-up of a pod that waits for volumes is lost: claims, volumes, classes, capacities, drivers, limits
// and attachments.
#include <gtest/gtest.h>

#include "scheduling/test_wakes.h"

namespace berth::scheduling {
namespace {

using api::Kind;

// Class "local" has volumes made by hand, "made" has them made by "drv", "now" is bound at once.
class VolumeWorld final : public WakeWorld {
 public:
  explicit VolumeWorld(std::uint64_t seed) : WakeWorld(seed) {
    put_storage_class("local");
    put_storage_class("made");
    put_storage_class("now");
  }

  void step() override {
    switch (below(18)) {
      case 0:
      case 1:
        return put_disk();
      case 2:
        return erase(Kind::PersistentVolume, pick("disk", 4), "");
      case 3:
        return change_storage_class();
      case 4:
        return put_driver();
      case 5:
        return put_capacity();
      case 6:
        return erase(Kind::CSIStorageCapacity, pick("cap", 2));
      case 7:
      case 8:
        return put_csi_node();
      case 9:
        return put_attachment();
      case 10:
        return erase(Kind::VolumeAttachment, pick("va", 2), "");
      case 11:
        return bind_immediately();
      case 12:
      case 13:
        return end_pod();
      case 14:
      case 15:
      case 16:
        return put_pod();
      default:
        return WakeWorld::step();
    }
  }

 protected:
  std::string asks(const std::string& pod) override {
    if (sometimes(6)) return "";
    if (sometimes(5)) return mount(pick("old", 2));
    if (!sometimes(8)) put_claim(pod);
    return mount(pod);
  }
  void ended(const api::Pod& pod) override {
    const auto* claim = bench.view.volume_claims.find("default", pod.meta.name);
    if (!claim || sometimes(3)) return;
    const std::string volume = claim->volume_name;
    erase(Kind::PersistentVolumeClaim, pod.meta.name);
    if (volume.starts_with("disk") && !sometimes(3)) return put_disk(volume);
    if (!volume.empty()) erase(Kind::PersistentVolume, volume, "");
  }
  void bound(const api::Pod& pod, const api::BindRequest& request) override {
    WakeWorld::bound(pod, request);
    for (const api::VolumeBinding& one : request.volumes) bind_claim(one.claim_name, one.volume);
  }

 private:
  static std::string mount(const std::string& claim) {
    return R"(,"volumes":[{"name":"v","persistentVolumeClaim":{"claimName":")" + claim + R"("}}])";
  }
  void put_claim(const std::string& name) {
    const char* classes[] = {"local", "made", "now"};
    put(Kind::PersistentVolumeClaim,
        R"({"metadata":{"namespace":"default","name":")" + name + R"("},"spec":{"storageClassName":")" +
            classes[below(3)] + R"(","accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":")" +
            std::to_string(1 + below(4)) + R"(Gi"}}}})");
  }
  // Free, or kept for a claim of this name.
  void put_disk(const std::string& name) {
    put(Kind::PersistentVolume,
        R"({"metadata":{"name":")" + name +
            R"("},"status":{"phase":"Available"},"spec":{"storageClassName":"local","accessModes":)" +
            R"(["ReadWriteOnce"],"capacity":{"storage":")" + std::to_string(1 + below(5)) + "Gi\"}" +
            (sometimes(3) ? R"(,"csi":{"driver":"drv","volumeHandle":")" + name + "\"}" : "") +
            (sometimes(4) ? R"(,"claimRef":{"namespace":"default","name":")" + pick("p", 20) + "\"}" : "") +
            R"(,"nodeAffinity":{"required":{)" + zone_affinity() + "}}}}");
  }
  void put_disk() {
    const std::string name = pick("disk", 4);
    if (bench.view.claims_of_volume(name).empty()) put_disk(name);
  }
  void put_storage_class(const std::string& name) {
    const bool made = name == "made";
    put(Kind::StorageClass,
        R"({"metadata":{"name":")" + name + R"("},"provisioner":")" +
            (made ? "drv" : "kubernetes.io/no-provisioner") + R"(","volumeBindingMode":")" +
            (name == "now" ? "Immediate" : "WaitForFirstConsumer") + "\"" +
            (made && sometimes(3)
                 ? R"(,"allowedTopologies":[{"matchLabelExpressions":[{"key":"zone","values":[")" +
                       pick("z", 2) + R"("]}]}])"
                 : "") +
            "}");
  }
  void change_storage_class() {
    const std::string name = sometimes(2) ? "made" : "local";
    if (sometimes(3)) return erase(Kind::StorageClass, name, "");
    put_storage_class(name);
  }
  void put_driver() {
    if (sometimes(4)) return erase(Kind::CSIDriver, "drv", "");
    put(Kind::CSIDriver, std::string(R"({"metadata":{"name":"drv"},"spec":{"storageCapacity":)") +
                             (sometimes(2) ? "true" : "false") + R"(,"preventPodSchedulingIfMissing":)" +
                             (sometimes(3) ? "true" : "false") + "}}");
  }
  void put_capacity() {
    put(Kind::CSIStorageCapacity,
        R"({"metadata":{"namespace":"default","name":")" + pick("cap", 2) +
            R"("},"storageClassName":"made","nodeTopology":{"matchLabels":{"zone":")" + pick("z", 2) +
            R"("}},"capacity":")" + std::to_string(1 + below(5)) + R"(Gi"})");
  }
  void put_csi_node() {
    const std::string node = pick("n", 5);
    if (sometimes(4)) return erase(Kind::CSINode, node, "");
    put(Kind::CSINode,
        R"({"metadata":{"name":")" + node + R"("},"spec":{"drivers":[{"name":")" +
            (sometimes(5) ? "other" : "drv") + R"(","nodeID":"n")" +
            (sometimes(5) ? "" : R"(,"allocatable":{"count":)" + std::to_string(below(3)) + "}") + "}]}}");
  }
  void put_attachment() {
    std::vector<std::string> volumes;
    for (const auto& [name, volume] : bench.view.volumes.all()) volumes.push_back(volume->meta.name);
    if (volumes.empty()) return;
    put(Kind::VolumeAttachment, R"({"metadata":{"name":")" + pick("va", 2) +
                                    R"("},"spec":{"attacher":"drv","nodeName":")" + pick("n", 5) +
                                    R"(","source":{"persistentVolumeName":")" +
                                    volumes[below(volumes.size())] + R"("}}})");
  }
  // As the volume controller does. `volume` empty: one is made.
  void bind_claim(const std::string& claim, std::string volume) {
    const auto* found = bench.view.volume_claims.find("default", claim);
    if (!found) return;
    if (volume.empty()) {
      volume = "pv-" + claim;
      put(Kind::PersistentVolume, R"({"metadata":{"name":")" + volume +
                                      R"("},"spec":{"csi":{"driver":"drv","volumeHandle":")" + volume +
                                      R"("},"capacity":{"storage":"4Gi"},"storageClassName":")" +
                                      found->traits.storage_class + R"("}})");
    }
    if (const auto* stored = bench.view.volumes.find("", volume))
      change(Kind::PersistentVolume, stored->raw, [&](Json& object) {
        object["spec"]["claimRef"] = Json::object({{"namespace", "default"}, {"name", claim}});
        object["status"]["phase"] = "Bound";
      });
    change(Kind::PersistentVolumeClaim, bench.view.volume_claims.find("default", claim)->raw,
           [&](Json& object) {
             object["metadata"]["annotations"]["pv.kubernetes.io/bind-completed"] = "yes";
             object["spec"]["volumeName"] = volume;
           });
  }
  void bind_immediately() {
    for (const auto& [name, claim] : std::map(bench.view.volume_claims.all())) {
      if (claim->bound() || claim->traits.storage_class != "now") continue;
      note("bind " + claim->meta.name);
      return bind_claim(claim->meta.name, "");
    }
  }
};

class NoVolumeIsMissed : public testing::TestWithParam<std::uint64_t> {};

TEST_P(NoVolumeIsMissed, WhateverChanges) {
  expect_no_wake_up_lost<VolumeWorld>(GetParam(), 150, 60);
}
INSTANTIATE_TEST_SUITE_P(Shards, NoVolumeIsMissed, testing::Range<std::uint64_t>(0, 4));

}  // namespace
}  // namespace berth::scheduling
