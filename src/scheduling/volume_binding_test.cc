// The choice of volumes in decisions: what a BindRequest carries, and what other decisions then may not have.
#include <gtest/gtest.h>

#include <set>

#include "scheduling/test_bench.h"

namespace berth::scheduling {
namespace {

using api::Kind;

std::string uses(const std::string& claim) {
  return R"(,"volumes":[{"name":"v","persistentVolumeClaim":{"claimName":")" + claim + R"("}}])";
}

void put_class(TestBench& bench, const std::string& name, const std::string& provisioner) {
  bench.put(Kind::StorageClass, R"({"metadata":{"name":")" + name + R"("},"provisioner":")" + provisioner +
                                    R"(","volumeBindingMode":"WaitForFirstConsumer"})");
}

void put_claim(TestBench& bench, const std::string& name, const std::string& storage_class,
               const std::string& annotations = "{}", const std::string& volume = "") {
  bench.put(Kind::PersistentVolumeClaim,
            R"({"metadata":{"namespace":"default","name":")" + name + R"(","uid":"uid-)" + name +
                R"(","annotations":)" + annotations + R"(},"spec":{"storageClassName":")" + storage_class +
                R"(","accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"2Gi"}})" + volume +
                "}}");
}

// `node` empty: any.
void put_volume(TestBench& bench, const std::string& name, const std::string& node) {
  const std::string affinity =
      node.empty()
          ? std::string()
          : R"(,"nodeAffinity":{"required":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"host",)"
            R"("operator":"In","values":[")" +
                node + R"("]}]}]}})";
  bench.put(Kind::PersistentVolume,
            R"({"metadata":{"name":")" + name +
                R"("},"status":{"phase":"Available"},"spec":{"storageClassName":"local",)"
                R"("accessModes":["ReadWriteOnce"],"capacity":{"storage":"5Gi"})" +
                affinity + "}}");
}

void put_nodes(TestBench& bench, int count) {
  for (int i = 1; i <= count; ++i) {
    const std::string name = "n" + std::to_string(i);
    bench.put_node({name, "8", "8Gi", "110", {{"host", name}}});
  }
  put_class(bench, "local", "kubernetes.io/no-provisioner");
  put_class(bench, "made", "drv");
}

const api::BindRequest& request_of(const TestBench& bench, const std::string& pod) {
  return *bench.view.bind_requests_of_pod("default", pod).front();
}

TEST(VolumeBinding, TheBindRequestSaysWhichVolumeOrThatOneIsMade) {
  TestBench bench;
  put_nodes(bench, 2);
  put_volume(bench, "disk", "n2");
  put_claim(bench, "a", "local");
  put_claim(bench, "b", "made");
  bench.put_pod({"p", "1", "", uses("a")});
  bench.put_pod({"q", "1", "", uses("b")});
  bench.run();
  EXPECT_EQ(bench.node_of("p"), "n2");
  EXPECT_EQ(request_of(bench, "p").volumes, (std::vector<api::VolumeBinding>{{"a", "uid-a", "disk"}}));
  EXPECT_EQ(request_of(bench, "q").volumes, (std::vector<api::VolumeBinding>{{"b", "uid-b", ""}}));
}

// The pods of one gang are decided in one transaction, the others one after another.
TEST(VolumeBinding, NoVolumeIsGivenTwice) {
  for (const bool gang : {false, true}) {
    TestBench bench;
    put_nodes(bench, 2);
    if (gang) bench.put_group("g", 3);
    for (const char* disk : {"d1", "d2", "d3"}) put_volume(bench, disk, "");
    for (const char* name : {"a", "b", "c"}) {
      put_claim(bench, name, "local");
      bench.put_pod({name, "1", gang ? "g" : "", uses(name)});
    }
    bench.run();
    std::set<std::string> given;
    for (const char* name : {"a", "b", "c"}) {
      ASSERT_EQ(bench.view.bind_requests_of_pod("default", name).size(), 1u) << bench.message_of(name);
      given.insert(request_of(bench, name).volumes.at(0).volume);
    }
    EXPECT_EQ(given, (std::set<std::string>{"d1", "d2", "d3"}));
  }
}

TEST(VolumeBinding, AGangOfWhichOneMemberLacksAVolumeIsNotPlaced) {
  TestBench bench;
  put_nodes(bench, 2);
  bench.put_group("g", 2);
  put_volume(bench, "d1", "");
  for (const char* name : {"a", "b"}) {
    put_claim(bench, name, "local");
    bench.put_pod({name, "1", "g", uses(name)});
  }
  bench.run();
  EXPECT_EQ(bench.view.bind_requests.size(), 0u);
}

// A scheduler that starts again finds the choice in the stored BindRequest.
TEST(VolumeBinding, AStoredDecisionKeepsItsVolume) {
  TestBench bench;
  put_nodes(bench, 2);
  put_volume(bench, "disk", "");
  put_claim(bench, "a", "local");
  put_claim(bench, "b", "local");
  bench.put(Kind::Pod, R"({"metadata":{"namespace":"default","name":"p","uid":"uid-p"},"spec":{}})");
  bench.put(Kind::BindRequest,
            R"({"metadata":{"namespace":"default","name":"p-uid"},"spec":{"podName":"p","podUID":"uid-p",)"
            R"("selectedNode":"n1","decisionID":"x","volumeBindings":[{"claimName":"a","claimUID":"uid-a",)"
            R"("volumeName":"disk"}]}})");
  bench.put_pod({"q", "1", "", uses("b")});
  bench.run();
  EXPECT_TRUE(bench.message_of("q").starts_with(
      "0/2 nodes are available: 2 node(s) didn't find available persistent volumes to bind."))
      << bench.message_of("q");
}

TEST(VolumeBinding, TheNodeOfAClaimIsThatOfTheFirstDecision) {
  TestBench bench;
  put_nodes(bench, 3);
  put_claim(bench, "a", "made");
  bench.put_pod({"p", "1", "", uses("a") + R"(,"nodeSelector":{"host":"n3"})"});
  bench.put_pod({"q", "1", "", uses("a")});
  put_claim(bench, "b", "made", R"({"volume.kubernetes.io/selected-node":"n2"})");
  bench.put_pod({"r", "1", "", uses("b")});
  bench.run();
  EXPECT_EQ(bench.node_of("p"), "n3");
  EXPECT_EQ(bench.node_of("q"), "n3");
  EXPECT_EQ(bench.node_of("r"), "n2");
}

TEST(VolumeBinding, SaysWhatEachNodeLacks) {
  TestBench bench;
  put_nodes(bench, 2);
  put_volume(bench, "disk", "n1");
  const char* const bound = R"({"pv.kubernetes.io/bind-completed":"yes"})";
  put_claim(bench, "there", "local", bound, R"(,"volumeName":"disk")");
  put_claim(bench, "gone", "local", bound, R"(,"volumeName":"nothing")");
  bench.put_pod({"p", "1", "", uses("there") + R"(,"nodeSelector":{"host":"n2"})"});
  bench.put_pod({"q", "1", "", uses("gone")});
  bench.put_pod({"r", "1", "", uses("absent")});
  bench.run();
  EXPECT_TRUE(
      bench.message_of("p").starts_with("0/2 nodes are available: 1 node(s) didn't match "
                                        "PersistentVolume's node affinity, 1 node(s) didn't match Pod's "
                                        "node affinity/selector."))
      << bench.message_of("p");
  EXPECT_TRUE(
      bench.message_of("q").starts_with(R"(0/2 nodes are available: persistentvolume "nothing" not found.)"))
      << bench.message_of("q");
  EXPECT_TRUE(bench.message_of("r").starts_with(
      R"(0/2 nodes are available: persistentvolumeclaim "absent" not found.)"))
      << bench.message_of("r");
}

TEST(VolumeBinding, AChangeOfVolumesWakesThePodsThatWait) {
  TestBench bench;
  put_nodes(bench, 1);
  put_claim(bench, "a", "local");
  bench.put_pod({"p", "1", "", uses("a")});
  bench.run();
  EXPECT_EQ(bench.node_of("p"), "");
  put_volume(bench, "disk", "");
  bench.now = bench.now + Duration::seconds(20);
  bench.run();
  EXPECT_EQ(bench.node_of("p"), "n1");
}

}  // namespace
}  // namespace berth::scheduling
