// Shares of GPUs through BindRequests: what pods are told, reservation pods and their end, every crash.
#include "binding/gpu_sharing.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "api/types/gpu_share.h"
#include "binding/binder.h"
#include "binding/gpu_reservation.h"
#include "binding/testing/binder_fixture.h"

namespace berth::binding {
namespace {

using api::Kind;
using testing::BinderFixture;
using testing::InjectedFault;
using testing::kNodeN1;
using testing::pod_key;
using testing::request_key;

BinderOptions sharing(GpuReservations reservations) {
  BinderOptions options;
  options.gpu_sharing = true;
  options.gpu_reservations = reservations;
  return options;
}

api::ObjectKey gpu_reservation_key(const std::string& group = "gpu-0") {
  return {Kind::Pod, std::string(api::kGpuReservationNamespace), api::gpu_reservation_name("n1", group), {}};
}

// `groups`: "gpu-0","gpu-1". Members of the spec of a BindRequest, each with a comma before it.
std::string fraction(const std::string& groups, int count = 1) {
  return R"(,"receivedResourceType":"Fraction","receivedGPU":{"count":)" + std::to_string(count) +
         R"(,"portion":"0.50"},"selectedGPUGroups":[)" + groups + "]";
}

// Node n1, and pods that ask for half a GPU.
class GpuCluster : public BinderFixture {
 public:
  explicit GpuCluster(GpuReservations reservations) : BinderFixture(sharing(reservations)) {
    put(Kind::Node, kNodeN1);
  }

  void add_pod(const std::string& name, int devices = 1) {
    put(Kind::Pod, R"({"metadata":{"namespace":"d","name":")" + name + R"(","uid":"u-)" + name +
                       R"(","annotations":{"gpu-fraction":"0.5","gpu-fraction-num-devices":")" +
                       std::to_string(devices) + R"("}},"spec":{"containers":[{"name":"c"}]}})");
  }
  // `share`: members of the spec, each with a comma before it.
  void add_request(const std::string& pod, const std::string& share) {
    put(Kind::BindRequest, R"({"metadata":{"namespace":"d","name":")" + pod + R"(","uid":"b-)" + pod +
                               R"("},"spec":{"podName":")" + pod + R"(","podUID":"u-)" + pod +
                               R"(","selectedNode":"n1","decisionID":"d-)" + pod + "\"" + share + "}}");
  }
  void add_half(const std::string& name) {
    add_pod(name);
    add_request(name, fraction(R"("gpu-0")"));
  }
  // What kubelet does once its device plugin gave the device.
  void tell_device(const std::string& device, const std::string& group = "gpu-0") {
    change(gpu_reservation_key(group),
           R"({"status":{"phase":"Running","containerStatuses":[{"name":"reservation",)"
           R"("allocatedResourcesStatus":[{"name":"nvidia.com/gpu","resources":[{"resourceID":")" +
               device + R"("}]}]}]}})");
  }
  void run(Duration time = Duration::seconds(5)) {
    const Time until = now() + time;
    run_until_idle(until);
    if (now() < until) advance_to(until);
    deliver();
  }

  std::string text_at(const api::ObjectKey& key, std::initializer_list<std::string_view> path) const {
    const Json* object = find(key);
    const Json* found = object ? object->find_path(path) : nullptr;
    return found && found->is_string() ? std::string(found->as_string()) : "";
  }
  std::string annotation(const api::ObjectKey& key, std::string_view name) const {
    return text_at(key, {"metadata", "annotations", name});
  }
  // Of the user's entry on the reservation pod of gpu-0.
  std::string entry_of(const std::string& pod) const {
    return annotation(gpu_reservation_key(), std::string(kGpuUserPrefix) + "u-" + pod);
  }
  std::string reservation_node() const { return text_at(gpu_reservation_key(), {"spec", "nodeName"}); }
  bool reservation_ends() const {
    return !text_at(gpu_reservation_key(), {"metadata", "deletionTimestamp"}).empty();
  }
  std::string node_of(const std::string& pod) const { return text_at(pod_key(pod), {"spec", "nodeName"}); }
  std::string devices_of(const std::string& pod) const {
    return annotation(pod_key(pod), kGpuDevicesAnnotation);
  }
  std::string status_of(const std::string& pod, std::string_view field) const {
    return text_at(request_key(pod), {"status", field});
  }
};

TEST(GpuSharing, ThePodSaysItsShareBeforeItIsBound) {
  GpuCluster cluster(GpuReservations::Ledger);
  cluster.add_pod("p", 2);
  cluster.add_request("p", fraction(R"("gpu-1","gpu-0")", 2));
  cluster.run();
  EXPECT_EQ(cluster.log, (std::vector<std::string>{"patch pods p", "create pods p/binding",
                                                   "patch bindrequests p/status"}));
  EXPECT_EQ(cluster.annotation(pod_key("p"), api::kGpuGroupsAnnotation), "gpu-1,gpu-0");
  EXPECT_EQ(cluster.annotation(pod_key("p"), api::kGpuPortionAnnotation), "0.50");
  EXPECT_EQ(cluster.node_of("p"), "n1");
}

TEST(GpuSharing, ARequestHasTheShareThatThePodAsksFor) {
  struct Row {
    std::string share;
    std::string error;
  };
  const std::string type = R"(,"receivedResourceType":"Fraction")";
  const Row rows[] = {
      {"", "spec.receivedResourceType: Invalid value: \"\": the pod asks for a share"},
      {type + R"(,"receivedGPU":{"count":1,"portion":"0.40"},"selectedGPUGroups":["g"])",
       "spec.receivedGPU.portion: Invalid value: \"0.40\": must be what the pod asks for, 0.50"},
      {type + R"(,"receivedGPU":{"count":1,"portion":"half"},"selectedGPUGroups":["g"])",
       "spec.receivedGPU.portion: Invalid value: \"\""},
      {fraction(R"("g")", 2), "spec.receivedGPU.count: Invalid value: 2: must be what the pod asks for, 1"},
      {fraction(R"("g","h")"), "spec.selectedGPUGroups: Invalid value: 2: must name 1 different groups"},
      {fraction(""), "spec.selectedGPUGroups: Invalid value: 0"},
  };
  for (const Row& row : rows) {
    GpuCluster cluster(GpuReservations::Ledger);
    cluster.add_pod("p");
    cluster.add_request("p", row.share);
    cluster.run();
    EXPECT_EQ(cluster.status_of("p", "reason"), "InvalidRequest");
    EXPECT_NE(cluster.status_of("p", "message").find(row.error), std::string::npos)
        << cluster.status_of("p", "message");
  }
}

TEST(GpuSharing, AFullGpuTakesNoRequestOfAnybody) {
  for (const GpuReservations mode : {GpuReservations::Ledger, GpuReservations::Pods}) {
    GpuCluster cluster(mode);
    for (const char* pod : {"a", "b"}) cluster.add_half(pod);
    cluster.run();
    if (mode == GpuReservations::Pods) cluster.tell_device("GPU-1");
    cluster.run();
    EXPECT_EQ(cluster.node_of("a") + cluster.node_of("b"), "n1n1");
    cluster.add_half("c");
    cluster.run();
    EXPECT_EQ(cluster.status_of("c", "reason"), api::kGpuShareTaken);
    EXPECT_NE(cluster.status_of("c", "message").find("gpu-0 on node n1 has 0.00 of a GPU left"),
              std::string::npos);
    EXPECT_EQ(cluster.annotation(pod_key("c"), api::kGpuGroupsAnnotation), "");
  }
}

TEST(GpuReservation, AllUsersOfAGroupGetTheDeviceOfItsReservationPod) {
  GpuCluster cluster(GpuReservations::Pods);
  for (const char* pod : {"a", "b"}) cluster.add_half(pod);
  cluster.run();
  const Json* reservation = cluster.find(gpu_reservation_key());
  ASSERT_NE(reservation, nullptr);
  EXPECT_EQ(to_string(reservation->part("spec").items_at("containers")[0].part("resources").part("limits")),
            R"({"nvidia.com/gpu":"1"})");
  EXPECT_EQ(cluster.entry_of("a"), "0.50 d/a");
  EXPECT_EQ(cluster.entry_of("b"), "0.50 d/b");
  EXPECT_EQ(cluster.node_of("a") + cluster.node_of("b"), "");
  EXPECT_EQ(cluster.text_at(request_key("a"), {"status", "step"}), "WaitingForDevices");
  cluster.tell_device("GPU-4711");
  cluster.run();
  for (const char* pod : {"a", "b"}) {
    EXPECT_EQ(cluster.node_of(pod), "n1");
    EXPECT_EQ(cluster.devices_of(pod), "GPU-4711");
  }
}

TEST(GpuReservation, SeveralDevicesComeInTheOrderOfTheGroups) {
  GpuCluster cluster(GpuReservations::Pods);
  cluster.add_pod("p", 2);
  cluster.add_request("p", fraction(R"("gpu-1","gpu-0")", 2));
  cluster.run();
  cluster.tell_device("GPU-b", "gpu-1");
  cluster.run();
  cluster.tell_device("GPU-a", "gpu-0");
  cluster.run();
  EXPECT_EQ(cluster.devices_of("p"), "GPU-b,GPU-a");
}

TEST(GpuReservation, ADeviceThatTheContainerWritesIsTaken) {
  GpuCluster cluster(GpuReservations::Pods);
  cluster.add_half("p");
  cluster.run();
  cluster.change(gpu_reservation_key(),
                 R"({"metadata":{"annotations":{"scheduling.berth.dev/gpu-device":"GPU-own"}}})");
  cluster.run();
  EXPECT_EQ(cluster.devices_of("p"), "GPU-own");
}

TEST(GpuReservation, ItEndsWithItsLastUserAndNoUserIsDeleted) {
  GpuCluster cluster(GpuReservations::Pods);
  for (const char* pod : {"a", "b"}) cluster.add_half(pod);
  cluster.run();
  cluster.tell_device("GPU-1");
  cluster.run();
  cluster.change(pod_key("a"), R"({"status":{"phase":"Succeeded"}})");
  cluster.run();
  EXPECT_FALSE(cluster.reservation_ends());
  EXPECT_EQ(cluster.entry_of("a"), "");
  cluster.remove(pod_key("b"));
  cluster.remove(request_key("b"));
  cluster.run();
  EXPECT_TRUE(cluster.reservation_ends());
  for (const std::string& line : cluster.log)
    EXPECT_TRUE(line.find("delete pods ") == std::string::npos ||
                line == "delete pods " + gpu_reservation_key().name)
        << line;
}

// KAI Scheduler kills users whose reservation pod its stale view lacks; a delete on a stale view must fail.
TEST(GpuReservation, ADeleteThatWasDecidedBeforeAUserEnteredIsRefused) {
  GpuCluster cluster(GpuReservations::Pods);
  cluster.add_half("a");
  cluster.run();
  cluster.tell_device("GPU-1");
  cluster.run();
  cluster.change(pod_key("a"), R"({"status":{"phase":"Succeeded"}})");
  cluster.deliver();
  ASSERT_EQ(cluster.in_flight(), 1u);  // the delete is on its way
  cluster.change(gpu_reservation_key(),
                 R"({"metadata":{"annotations":{"gpu-user.scheduling.berth.dev/u-b":"0.50 d/b"}}})");
  cluster.add_half("b");
  cluster.deliver();
  cluster.run();
  EXPECT_FALSE(cluster.reservation_ends());
  EXPECT_EQ(cluster.node_of("b"), "n1");
}

// The watch of a user may be behind: a pod that the view lacks is read before it counts as gone.
TEST(GpuReservation, AUserThatTheViewLacksIsReadFirst) {
  GpuCluster cluster(GpuReservations::Pods);
  cluster.put(Kind::Pod, R"({"metadata":{"namespace":"kube-system","name":")" + gpu_reservation_key().name +
                             R"(","uid":"u-r","annotations":{"scheduling.berth.dev/gpu-group":"gpu-0",)"
                             R"("gpu-user.scheduling.berth.dev/u-a":"0.50 d/a"}},"spec":{"nodeName":"n1"}})");
  cluster.deliver();
  ASSERT_EQ(cluster.in_flight(), 1u);
  cluster.put(Kind::Pod, R"({"metadata":{"namespace":"d","name":"a","uid":"u-a","annotations":{
      "gpu-fraction":"0.5","scheduling.berth.dev/gpu-groups":"gpu-0",
      "scheduling.berth.dev/gpu-portion":"0.50"}},
      "spec":{"nodeName":"n1"}})");
  cluster.answer(0);  // the read, ahead of the watch
  cluster.run();
  EXPECT_TRUE(cluster.log.empty()) << cluster.log.front();
}

// A request that was kept in memory is gone before the watch shows its binding.
TEST(GpuReservation, AUserWhoseBindingTheViewLacksKeepsItsReservation) {
  GpuCluster cluster(GpuReservations::Pods);
  cluster.add_pod("a");
  cluster.put(Kind::Pod, R"({"metadata":{"namespace":"kube-system","name":")" + gpu_reservation_key().name +
                             R"(","uid":"u-r","annotations":{"scheduling.berth.dev/gpu-group":"gpu-0",)"
                             R"("gpu-user.scheduling.berth.dev/u-a":"0.50 d/a"}},"spec":{"nodeName":"n1"}})");
  cluster.deliver();
  ASSERT_EQ(cluster.in_flight(), 1u);  // a write on the version of the pod
  cluster.change(pod_key("a"), R"({"metadata":{"annotations":{"scheduling.berth.dev/gpu-groups":"gpu-0",
      "scheduling.berth.dev/gpu-portion":"0.50"}},"spec":{"nodeName":"n1"}})");
  cluster.answer(0);
  cluster.run();
  EXPECT_TRUE(cluster.log.empty()) << cluster.log.front();
  EXPECT_EQ(cluster.entry_of("a"), "0.50 d/a");
}

TEST(GpuReservation, ANodeWithoutAFreeGpuFailsAtOnce) {
  GpuCluster cluster(GpuReservations::Pods);
  cluster.add_half("p");
  cluster.run();
  cluster.change(gpu_reservation_key(),
                 R"({"status":{"phase":"Failed","reason":"UnexpectedAdmissionError"}})");
  cluster.run(Duration::seconds(1));
  EXPECT_EQ(cluster.status_of("p", "reason"), "GpuReservationFailed");
  EXPECT_EQ(cluster.text_at(request_key("p"), {"status", "failureClass"}), "OtherPlacement");
  EXPECT_TRUE(cluster.reservation_ends()) << "it is cleared away";
}

// The writes of a killed process may land when its successor has rolled the decision back.
class LateReservation : public ::testing::Test {
 protected:
  LateReservation() {
    cluster.add_half("p");
    cluster.deliver();
  }
  void roll_back_in_a_new_process() {
    cluster.crash();
    cluster.change(request_key("p"), R"({"spec":{"withdrawn":true}})");
    cluster.deliver();
    for (int i = 0; i < 9 && cluster.status_of("p", "phase") != "Failed"; ++i) {
      cluster.answer(cluster.in_flight() - 1);
      cluster.deliver();
    }
    ASSERT_EQ(cluster.status_of("p", "phase"), "Failed");
  }

  GpuCluster cluster{GpuReservations::Pods};
  const std::string name = gpu_reservation_key().name;
};

TEST_F(LateReservation, ACreateTakesNoGpu) {
  roll_back_in_a_new_process();
  cluster.answer("create pods " + name);
  ASSERT_NE(cluster.find(gpu_reservation_key()), nullptr);
  EXPECT_EQ(cluster.reservation_node(), "");
  cluster.run();
  EXPECT_TRUE(!cluster.find(gpu_reservation_key()) || cluster.reservation_ends());
}

TEST_F(LateReservation, ABindingIsRefused) {
  cluster.answer("create pods " + name);
  cluster.deliver();
  roll_back_in_a_new_process();
  cluster.answer("create pods " + name + "/binding");
  EXPECT_EQ(cluster.reservation_node(), "");
}

TEST(GpuReservation, ADeviceThatIsNotToldEndsTheWait) {
  GpuCluster cluster(GpuReservations::Pods);
  cluster.add_half("p");
  cluster.run(Duration::seconds(39));
  EXPECT_EQ(cluster.status_of("p", "reason"), "");
  cluster.run(Duration::seconds(3));
  EXPECT_EQ(cluster.status_of("p", "reason"), "GpuReservationTimeout");
  EXPECT_EQ(cluster.status_of("p", "phase"), "Failed") << "the rollback came to its end";
  EXPECT_EQ(cluster.entry_of("p"), "");
}

TEST(GpuReservation, AGroupWhoseReservationSomebodyDeletedTakesNoPodUntilItsUsersEnd) {
  GpuCluster cluster(GpuReservations::Pods);
  cluster.add_half("a");
  cluster.run();
  cluster.tell_device("GPU-1");
  cluster.run();
  cluster.remove(gpu_reservation_key());
  cluster.run();
  EXPECT_EQ(cluster.node_of("a"), "n1");
  cluster.add_half("b");
  cluster.run();
  EXPECT_EQ(cluster.status_of("b", "reason"), "GpuReservationLost");
  EXPECT_EQ(cluster.text_at(pod_key("a"), {"metadata", "deletionTimestamp"}), "") << "its user runs on";
}

TEST(GpuReservation, AnEarlierReservationThatEndsIsWaitedFor) {
  GpuCluster cluster(GpuReservations::Pods);
  cluster.add_half("a");
  cluster.run();
  cluster.tell_device("GPU-1");
  cluster.run();
  cluster.change(pod_key("a"), R"({"status":{"phase":"Succeeded"}})");
  cluster.run();
  cluster.add_half("b");
  cluster.run();
  EXPECT_EQ(cluster.status_of("b", "reason"), "");
  cluster.remove(gpu_reservation_key());  // kubelet is done with it
  cluster.run();
  cluster.tell_device("GPU-2");
  cluster.run();
  EXPECT_EQ(cluster.devices_of("b"), "GPU-2");
}

TEST(GpuSharing, TheSharingContainerReadsItsDevicesFromThePod) {
  const auto plugin = make_gpu_sharing();
  const Json pod = *parse_json(R"({"metadata":{"annotations":{"gpu-fraction":"0.5",
      "gpu-fraction-container-name":"work"}},"spec":{"initContainers":[{"name":"setup"}],"containers":[
      {"name":"side"},{"name":"work","env":[{"name":"A","value":"1"},
      {"name":"NVIDIA_VISIBLE_DEVICES","value":"all"}]}]}})");
  const Json mutated = plugin->mutate(pod, sharing(GpuReservations::Pods));
  const JsonArray& containers = mutated.part("spec").items_at("containers");
  EXPECT_EQ(containers[0].find("env"), nullptr);
  EXPECT_EQ(to_string(*containers[1].find("env")),
            R"([{"name":"A","value":"1"},)"
            R"({"name":"NVIDIA_VISIBLE_DEVICES","valueFrom":{"fieldRef":{"apiVersion":"v1",)"
            R"("fieldPath":"metadata.annotations['scheduling.berth.dev/gpu-devices']"}}},)"
            R"({"name":"GPU_PORTION","valueFrom":{"fieldRef":{"apiVersion":"v1",)"
            R"("fieldPath":"metadata.annotations['scheduling.berth.dev/gpu-portion']"}}},)"
            R"({"name":"RUNAI_NUM_OF_GPUS","valueFrom":{"fieldRef":{"apiVersion":"v1",)"
            R"("fieldPath":"metadata.annotations['scheduling.berth.dev/gpu-portion']"}}}])");
  EXPECT_EQ(to_string(plugin->mutate(mutated, sharing(GpuReservations::Pods))), to_string(mutated))
      << "a webhook may be called again";
  EXPECT_EQ(to_string(plugin->mutate(pod, {})), to_string(pod)) << "sharing is off";
}

// One fault at each write, with and without a crash after it: both pods are bound to one device, and a
// rollback leaves nothing.
TEST(GpuReservation, EveryLostAnswerIsSurvived) {
  constexpr InjectedFault kFaults[] = {InjectedFault::LostDone, InjectedFault::LostNotDone,
                                       InjectedFault::ServerError, InjectedFault::Conflict};
  constexpr std::size_t kWrites = 12;
  for (const InjectedFault fault : kFaults)
    for (std::size_t faulty = 0; faulty < 2 * kWrites; ++faulty) {
      SCOPED_TRACE(std::to_string(static_cast<int>(fault)) + " at " + std::to_string(faulty));
      GpuCluster cluster(GpuReservations::Pods);
      for (const char* pod : {"a", "b"}) cluster.add_half(pod);
      cluster.deliver();
      for (std::size_t n = 0; n < kWrites; ++n) {
        if (cluster.in_flight() > 0) cluster.answer(0, n == faulty / 2 ? fault : InjectedFault::None);
        if (n == faulty / 2 && faulty % 2 == 1) cluster.crash();
        if (cluster.find(gpu_reservation_key())) cluster.tell_device("GPU-1");
        cluster.deliver();
      }
      cluster.run(Duration::minutes(2));
      for (const char* pod : {"a", "b"}) {
        EXPECT_EQ(cluster.node_of(pod), "n1");
        EXPECT_EQ(cluster.devices_of(pod), "GPU-1");
        EXPECT_EQ(cluster.text_at(request_key(pod), {"status", "phase"}), "Succeeded");
      }
    }
}

// Random histories of one GPU: answers in any order, lost or late, crashes, pods that end, decisions that are
// withdrawn, and a kubelet that gives a new device to each new reservation pod.
class GpuHarness {
 public:
  explicit GpuHarness(std::vector<std::uint8_t> tape) : tape_(std::move(tape)) {
    for (const char* pod : {"a", "b", "c", "d"}) cluster_.add_half(pod);
    cluster_.on_write = [this](const client::ApiRequest& request) { watch(request); };
  }

  void play() {
    while (next_ < tape_.size()) act();
    cluster_.run_until_idle(cluster_.now() + Duration::minutes(10));
    for (const char* pod : {"a", "b", "c", "d"}) cluster_.remove(pod_key(pod));
    for (const char* pod : {"a", "b", "c", "d"}) cluster_.remove(request_key(pod));
    for (int i = 0; i < 3; ++i) {
      cluster_.run_until_idle(cluster_.now() + Duration::minutes(10));
      kubelet();
    }
    cluster_.run_until_idle(cluster_.now() + Duration::minutes(10));
    RC_ASSERT(!cluster_.find(gpu_reservation_key()));
  }

 private:
  std::size_t below(std::size_t bound) { return next_ < tape_.size() ? tape_[next_++] % bound : 0; }

  void act() {
    const std::size_t what = below(16), which = below(8);
    const bool flying = cluster_.in_flight() > 0;
    const std::string pod(1, static_cast<char>('a' + which % 4));
    if (what < 3) return cluster_.deliver();
    if (what < 9 && flying) return cluster_.answer(which);
    if (what == 9 && flying) return cluster_.answer(which, InjectedFault::LostDone);
    if (what == 10 && flying) return cluster_.answer(which, InjectedFault::LostNotDone);
    if (what == 11) return cluster_.crash();
    if (what == 12) return kubelet();
    if (what == 13)
      return cluster_.advance_to(cluster_.now() + Duration::seconds(static_cast<std::int64_t>(which) * 3));
    if (what == 14 && cluster_.find(pod_key(pod)) && !cluster_.node_of(pod).empty())
      return cluster_.change(pod_key(pod), R"({"status":{"phase":"Succeeded"}})");
    if (what == 15 && which == 0) cluster_.change(request_key(pod), R"({"spec":{"withdrawn":true}})");
    if (what == 15 && which == 5) cluster_.remove(pod_key(pod));
  }

  // A pod that was asked to end ends; a new one gets a device of its own.
  void kubelet() {
    if (!cluster_.find(gpu_reservation_key())) return;
    if (cluster_.reservation_ends()) return cluster_.remove(gpu_reservation_key());
    if (cluster_.reservation_node().empty()) return;
    const std::string uid = cluster_.text_at(gpu_reservation_key(), {"metadata", "uid"});
    cluster_.tell_device("GPU-of-" + uid);
  }

  bool runs(const std::string& pod) const {
    return cluster_.find(pod_key(pod)) && !cluster_.node_of(pod).empty() &&
           cluster_.text_at(pod_key(pod), {"status", "phase"}) != "Succeeded";
  }

  void watch(const client::ApiRequest& request) {
    if (request.resource.resource == "pods" && request.verb == client::Verb::Delete)
      RC_ASSERT(request.name == gpu_reservation_key().name);
    int running = 0;
    std::set<std::string> devices;
    for (const std::string pod : {"a", "b", "c", "d"}) {
      if (!runs(pod)) continue;
      ++running;
      devices.insert(cluster_.devices_of(pod));
    }
    RC_ASSERT(running <= 2);
    RC_ASSERT(devices.size() <= 1);
    if (running == 0) return;
    RC_ASSERT(cluster_.reservation_node() == "n1");
    RC_ASSERT(!cluster_.reservation_ends());
    RC_ASSERT(devices.count("GPU-of-" + cluster_.text_at(gpu_reservation_key(), {"metadata", "uid"})) == 1);
  }

  std::vector<std::uint8_t> tape_;
  std::size_t next_ = 0;
  GpuCluster cluster_{GpuReservations::Pods};
};

RC_GTEST_PROP(GpuReservationProperty, AGpuInUseIsHeldAndNeverOvercommitted, ()) {
  GpuHarness harness(*rc::gen::scale(4.0, rc::gen::arbitrary<std::vector<std::uint8_t>>()));
  harness.play();
}

}  // namespace
}  // namespace berth::binding
