#include "binding/volume_binding.h"

#include <gtest/gtest.h>

#include "binding/binder.h"
#include "binding/testing/binder_fixture.h"

namespace berth::binding {
namespace {

using api::Kind;
using testing::BinderFixture;
using testing::InjectedFault;
using testing::pod_key;
using testing::request_key;

const api::ObjectKey kVolumeClaim{Kind::PersistentVolumeClaim, "d", "c", {}};
const api::ObjectKey kVolume{Kind::PersistentVolume, "", "v", {}};
constexpr const char* kBound =
    R"({"metadata":{"annotations":{"pv.kubernetes.io/bind-completed":"yes"}},"spec":{"volumeName":"v"}})";

enum class Binding { Static, Provisioned };

// Of pod "p" with claim "c", decided for node n1 with volume "v", or with one to be provisioned.
std::string request_text(Binding binding) {
  const std::string volume = binding == Binding::Static ? R"(,"volumeName":"v")" : "";
  return R"({"metadata":{"namespace":"d","name":"p","uid":"b-p"},"spec":{"podName":"p","podUID":"u-p",)"
         R"("selectedNode":"n1","decisionID":"d-p","volumeBindings":[{"claimName":"c","claimUID":"u-c")" +
         volume + "}]}}";
}

void add_pod(BinderFixture& cluster, Binding binding) {
  cluster.put(Kind::Pod, R"({"metadata":{"namespace":"d","name":"p","uid":"u-p"}})");
  cluster.put(Kind::BindRequest, request_text(binding));
}

void add_volume(BinderFixture& cluster, const std::string& node, const std::string& spec = "") {
  cluster.put(Kind::PersistentVolume,
              R"({"metadata":{"name":"v","uid":"u-v"},"status":{"phase":"Available"},"spec":{)" + spec +
                  R"("nodeAffinity":{"required":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"host",)"
                  R"("operator":"In","values":[")" +
                  node + R"("]}]}]}}}})");
}

void add_world(BinderFixture& cluster) {
  cluster.put(Kind::Node, R"({"metadata":{"name":"n1","labels":{"host":"n1"}}})");
  cluster.put(Kind::PersistentVolumeClaim,
              R"({"metadata":{"namespace":"d","name":"c","uid":"u-c"},"spec":{}})");
}

std::string text_at(const BinderFixture& cluster, const api::ObjectKey& key,
                    std::initializer_list<std::string_view> path) {
  const Json* object = cluster.find(key);
  const Json* found = object ? object->find_path(path) : nullptr;
  return found && found->is_string() ? std::string(found->as_string()) : "";
}

std::string reason_of(const BinderFixture& cluster) {
  return text_at(cluster, request_key("p"), {"status", "reason"});
}

std::string selected_node(const BinderFixture& cluster) {
  return text_at(cluster, kVolumeClaim, {"metadata", "annotations", api::kSelectedNodeAnnotation});
}

std::string reserved_for(const BinderFixture& cluster) {
  return text_at(cluster, kVolume, {"spec", "claimRef", "uid"});
}

void run(BinderFixture& cluster, Duration time = Duration::seconds(30)) {
  const Time until = cluster.now() + time;
  cluster.run_until_idle(until);
  if (cluster.now() < until) cluster.advance_to(until);
}

TEST(VolumeBinding, ReservesTheVolumeThenWaitsForTheController) {
  BinderFixture cluster;
  add_world(cluster);
  add_volume(cluster, "n1");
  add_pod(cluster, Binding::Static);
  run(cluster);
  EXPECT_EQ(cluster.log, (std::vector<std::string>{"patch persistentvolumes v", "patch bindrequests p/status",
                                                   "patch pods p/status"}));
  EXPECT_EQ(reserved_for(cluster), "u-c");
  EXPECT_EQ(text_at(cluster, kVolume, {"metadata", "annotations", api::kBoundByControllerAnnotation}), "yes");
  EXPECT_EQ(text_at(cluster, request_key("p"), {"status", "step"}), "WaitingForVolumes");
  EXPECT_EQ(text_at(cluster, kVolumeClaim, {"spec", "volumeName"}), "");  // the controller's
  cluster.change(kVolumeClaim, kBound);
  run(cluster);
  EXPECT_EQ(text_at(cluster, pod_key("p"), {"spec", "nodeName"}), "n1");
  EXPECT_EQ(reserved_for(cluster), "u-c");
}

TEST(VolumeBinding, SelectsTheNodeAndBindsOnceTheProvisionedVolumeReachesIt) {
  BinderFixture cluster;
  add_world(cluster);
  add_pod(cluster, Binding::Provisioned);
  run(cluster);
  EXPECT_EQ(selected_node(cluster), "n1");
  EXPECT_EQ(text_at(cluster, pod_key("p"), {"spec", "nodeName"}), "");
  cluster.change(kVolumeClaim, kBound);  // ahead of the volume's watch
  run(cluster);
  EXPECT_EQ(text_at(cluster, pod_key("p"), {"spec", "nodeName"}), "");
  add_volume(cluster, "n1");
  run(cluster);
  EXPECT_EQ(text_at(cluster, pod_key("p"), {"spec", "nodeName"}), "n1");
}

TEST(VolumeBinding, APodWithoutVolumesHasNoFurtherWrite) {
  BinderFixture cluster;
  add_world(cluster);
  cluster.put(Kind::Pod, R"({"metadata":{"namespace":"d","name":"p","uid":"u-p"}})");
  cluster.put(Kind::BindRequest,
              R"({"metadata":{"namespace":"d","name":"p"},"spec":{"podName":"p","podUID":"u-p",)"
              R"("selectedNode":"n1"}})");
  run(cluster);
  EXPECT_EQ(cluster.log.size(), 2u);
}

TEST(VolumeBinding, ARequestThatLeavesOutAClaimIsRefused) {
  BinderFixture cluster;
  add_world(cluster);
  cluster.put(Kind::StorageClass, R"({"metadata":{"name":"fast"},"provisioner":"p.example.com",
      "volumeBindingMode":"WaitForFirstConsumer"})");
  cluster.put(Kind::PersistentVolumeClaim, R"({"metadata":{"namespace":"d","name":"other","uid":"u-o"},
      "spec":{"storageClassName":"fast"}})");
  cluster.put(Kind::Pod, R"({"metadata":{"namespace":"d","name":"p","uid":"u-p"},"spec":{"volumes":[
      {"name":"x","persistentVolumeClaim":{"claimName":"other"}}]}})");
  cluster.put(Kind::BindRequest, request_text(Binding::Provisioned));
  run(cluster);
  EXPECT_EQ(reason_of(cluster), "InvalidRequest");
  EXPECT_EQ(selected_node(cluster), "") << "nothing was written for the claim that it has";
}

TEST(VolumeBinding, AWaitOfARequestInMemoryIsAnObject) {
  BinderFixture cluster({}, testing::Requests::InMemory);
  add_world(cluster);
  cluster.put(Kind::Pod, R"({"metadata":{"namespace":"d","name":"p","uid":"u-p"}})");
  cluster.deliver();
  cluster.decide(request_text(Binding::Provisioned));
  cluster.deliver();
  EXPECT_EQ(cluster.find(request_key("p")), nullptr);
  run(cluster);
  EXPECT_EQ(text_at(cluster, request_key("p"), {"status", "step"}), "WaitingForVolumes");
  EXPECT_EQ(cluster.view().bind_requests.find("d", "p")->volumes.size(), 1u);
}

struct FailureCase {
  const char* name;
  Binding binding;
  const char* volume_node;  // null: the volume does not exist
  const char* volume_spec;
  const char* reason;
};

TEST(VolumeBinding, FailsForAnotherPlacement) {
  const FailureCase cases[] = {
      {"another claim has it", Binding::Static, "n1",
       R"("claimRef":{"namespace":"d","name":"other","uid":"u-other"},)", "VolumeTaken"},
      {"the volume is gone", Binding::Static, nullptr, "", "VolumeNotFound"},
      {"its node is another", Binding::Static, "n2",
       R"("claimRef":{"namespace":"d","name":"c","uid":"u-c"},)", "VolumeElsewhere"},
  };
  for (const FailureCase& test : cases) {
    SCOPED_TRACE(test.name);
    BinderFixture cluster;
    add_world(cluster);
    if (test.volume_node) add_volume(cluster, test.volume_node, test.volume_spec);
    const std::string before = reserved_for(cluster);
    add_pod(cluster, test.binding);
    run(cluster);
    EXPECT_EQ(reason_of(cluster), test.reason);
    EXPECT_TRUE(api::failed_for_good(*cluster.view().bind_requests.find("d", "p")));
    EXPECT_EQ(reserved_for(cluster), before);
  }
}

TEST(VolumeBinding, AnAnnotationThatIsTakenAwayIsAFailureOfTheProvisioner) {
  BinderFixture cluster;
  add_world(cluster);
  add_pod(cluster, Binding::Provisioned);
  run(cluster);
  cluster.change(kVolumeClaim, R"({"metadata":{"annotations":{"volume.kubernetes.io/selected-node":null}}})");
  run(cluster);
  EXPECT_EQ(reason_of(cluster), api::kProvisioningFailed);
  EXPECT_EQ(selected_node(cluster), "");
}

TEST(VolumeBinding, AReferenceThatIsTakenAwayIsAFailure) {
  BinderFixture cluster;
  add_world(cluster);
  add_volume(cluster, "n1");
  add_pod(cluster, Binding::Static);
  run(cluster);
  cluster.change(kVolume, R"({"spec":{"claimRef":null}})");
  run(cluster);
  EXPECT_EQ(reason_of(cluster), "ClaimRefReset");
  EXPECT_EQ(reserved_for(cluster), "");
}

TEST(VolumeBinding, TheWaitEndsAfterTheTimeout) {
  for (const Binding binding : {Binding::Static, Binding::Provisioned}) {
    BinderFixture cluster;
    add_world(cluster);
    add_volume(cluster, "n1");
    add_pod(cluster, binding);
    run(cluster, Duration::seconds(590));
    EXPECT_EQ(reason_of(cluster), "");
    run(cluster, Duration::seconds(20));
    EXPECT_EQ(reason_of(cluster), api::kVolumeBindingTimeout);
    EXPECT_EQ(reserved_for(cluster), "");
    EXPECT_EQ(selected_node(cluster), "");
  }
}

// What counts is when the decision wrote, not when a process first saw it.
TEST(VolumeBinding, TheTimeoutCountsAcrossProcesses) {
  for (const Binding binding : {Binding::Static, Binding::Provisioned}) {
    BinderFixture cluster;
    add_world(cluster);
    add_volume(cluster, "n1");
    add_pod(cluster, binding);
    run(cluster, Duration::seconds(400));
    cluster.crash();
    run(cluster, Duration::seconds(190));
    EXPECT_EQ(reason_of(cluster), "");
    cluster.crash();
    run(cluster, Duration::seconds(20));
    EXPECT_EQ(reason_of(cluster), api::kVolumeBindingTimeout);
    for (const api::ObjectKey& key : {kVolumeClaim, kVolume})
      EXPECT_EQ(text_at(cluster, key, {"metadata", "annotations", kBindingSinceAnnotation}), "");
  }
}

constexpr const char* kWithProvisioner =
    R"({"metadata":{"annotations":{"volume.kubernetes.io/storage-provisioner":"csi.example.com"}}})";

// The provisioner may be at work for the node; it takes the node away itself once it has failed.
TEST(VolumeBinding, AClaimThatItsProvisionerKnowsKeepsItsNode) {
  enum class Told { BeforeRollback, AmidRollback };
  for (const Told told : {Told::BeforeRollback, Told::AmidRollback}) {
    BinderFixture cluster;
    add_world(cluster);
    add_pod(cluster, Binding::Provisioned);
    run(cluster);
    ASSERT_EQ(selected_node(cluster), "n1");
    if (told == Told::BeforeRollback) cluster.change(kVolumeClaim, kWithProvisioner);
    cluster.change(request_key("p"), R"({"spec":{"withdrawn":true}})");
    cluster.deliver();
    if (told == Told::AmidRollback) cluster.change(kVolumeClaim, kWithProvisioner);
    run(cluster);
    EXPECT_EQ(reason_of(cluster), api::kWithdrawn);
    EXPECT_TRUE(api::failed_for_good(*cluster.view().bind_requests.find("d", "p")));
    EXPECT_EQ(selected_node(cluster), "n1");
  }
}

// The volume that a provisioner made meanwhile stays its claim's.
TEST(VolumeBinding, AVolumeThatWasMadeIsNotGivenUp) {
  BinderFixture cluster;
  add_world(cluster);
  add_pod(cluster, Binding::Provisioned);
  run(cluster);
  add_volume(cluster, "n1", R"("claimRef":{"namespace":"d","name":"c","uid":"u-c"},)");
  cluster.change(request_key("p"), R"({"spec":{"withdrawn":true}})");
  run(cluster);
  EXPECT_EQ(reason_of(cluster), api::kWithdrawn);
  EXPECT_EQ(selected_node(cluster), "n1");
  EXPECT_EQ(reserved_for(cluster), "u-c");
}

// What a volume controller has completed, or a person reserved, is not this decision's to release.
TEST(VolumeBinding, ReleasesOnlyWhatItWrote) {
  const struct {
    const char* name;
    const char* spec;
    const char* change;
    const char* left;
  } cases[] = {
      {"reserved by this decision", "", "{}", ""},
      {"the controller has bound it", "", R"({"status":{"phase":"Bound"}})", "u-c"},
      {"reserved by hand", R"("claimRef":{"namespace":"d","name":"c"},)", "{}", "u-c"},
  };
  for (const auto& test : cases) {
    SCOPED_TRACE(test.name);
    BinderFixture cluster;
    add_world(cluster);
    add_volume(cluster, "n1", test.spec);
    add_pod(cluster, Binding::Static);
    run(cluster);
    ASSERT_EQ(reserved_for(cluster), "u-c");
    cluster.change(kVolume, test.change);
    cluster.change(request_key("p"), R"({"spec":{"withdrawn":true}})");
    run(cluster);
    EXPECT_EQ(reason_of(cluster), api::kWithdrawn);
    EXPECT_EQ(reserved_for(cluster), test.left);
  }
}

// A write that was given up may still arrive: the seal has given its object another version.
TEST(VolumeBinding, ALateWriteOfARolledBackDecisionIsRefused) {
  for (const Binding binding : {Binding::Static, Binding::Provisioned}) {
    BinderFixture cluster;
    add_world(cluster);
    add_volume(cluster, "n1");
    add_pod(cluster, binding);
    cluster.deliver();
    ASSERT_EQ(cluster.in_flight(), 1u);
    cluster.crash();  // the write stays on its way
    cluster.change(request_key("p"), R"({"spec":{"withdrawn":true}})");
    cluster.deliver();
    while (cluster.in_flight() > 1) cluster.answer(1);
    EXPECT_TRUE(api::failed_for_good(*cluster.view().bind_requests.find("d", "p")));
    cluster.answer(0);
    EXPECT_EQ(reserved_for(cluster), "");
    EXPECT_EQ(selected_node(cluster), "");
  }
}

// One fault at each write, with and without a crash after it: the pod is bound, with its volume, once.
TEST(VolumeBinding, EveryLostAnswerIsSurvived) {
  constexpr InjectedFault kFaults[] = {InjectedFault::LostDone, InjectedFault::LostNotDone,
                                       InjectedFault::ServerError, InjectedFault::Conflict};
  constexpr std::size_t kWrites = 6;
  for (const Binding binding : {Binding::Static, Binding::Provisioned})
    for (const InjectedFault fault : kFaults)
      for (std::size_t faulty = 0; faulty < 2 * kWrites; ++faulty) {
        SCOPED_TRACE(std::to_string(static_cast<int>(fault)) + " at " + std::to_string(faulty));
        BinderFixture cluster;
        add_world(cluster);
        add_volume(cluster, "n1");
        add_pod(cluster, binding);
        cluster.deliver();
        for (std::size_t n = 0; n < kWrites && cluster.in_flight() > 0; ++n) {
          cluster.answer(0, n == faulty / 2 ? fault : InjectedFault::None);
          if (n == faulty / 2 && faulty % 2 == 1) cluster.crash();
          const bool asked = reserved_for(cluster) == "u-c" || selected_node(cluster) == "n1";
          if (asked && text_at(cluster, kVolumeClaim, {"spec", "volumeName"}).empty())
            cluster.change(kVolumeClaim, kBound);
          cluster.deliver();
        }
        run(cluster, Duration::minutes(2));
        if (text_at(cluster, kVolumeClaim, {"spec", "volumeName"}).empty())
          cluster.change(kVolumeClaim, kBound);
        run(cluster, Duration::minutes(2));
        EXPECT_EQ(text_at(cluster, pod_key("p"), {"spec", "nodeName"}), "n1");
        EXPECT_EQ(text_at(cluster, request_key("p"), {"status", "phase"}), "Succeeded");
      }
}

}  // namespace
}  // namespace berth::binding
