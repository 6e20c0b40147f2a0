// Room that is kept for an overtaken entry: what lower priorities may still use.
#include <gtest/gtest.h>

#include "scheduling/test_bench.h"

namespace berth::scheduling {
namespace {

// Two nodes of 4 cores that pods of low priority fill, a gang of two pods of 3 cores, and a third node where
// a small pod overtakes the gang: 21 s later the gang has a hold on 3 cores of each large node.
class KeptRoom : public testing::Test {
 protected:
  KeptRoom() {
    for (const char* name : {"n1", "n2"}) bench.put_node({name});
    bench.put_node({"n3", "1"});
    for (const char* name : {"a", "b"}) place({name, "4"});
    bench.put_group("gang", 2, "", 10);
    for (const char* name : {"g1", "g2"}) bench.put_pod({name, "3", "gang", R"(,"priority":10)"});
    bench.run();
    place({"small", "1"});
    bench.now = bench.now + Duration::seconds(21);
    bench.run();
  }
  void place(const PodSpec& pod) {
    bench.put_pod(pod);
    bench.run();
    ASSERT_NE(bench.node_of(pod.name), "");
    bench.bind(pod.name);
    bench.run();
  }
  void end(const std::string& pod) {
    bench.erase(api::Kind::Pod, pod);
    bench.now = bench.now + Duration::seconds(1);
    bench.run();
  }

  TestBench bench;
};

TEST_F(KeptRoom, IsNotGivenToLowerPriorities) {
  ASSERT_EQ(bench.scheduler.cluster().ledger().holds().size(), 1u);
  end("a");
  bench.put_pod({"two-cores", "2"});
  bench.run();
  EXPECT_EQ(bench.node_of("two-cores"), "");
  EXPECT_EQ(bench.message_of("two-cores").substr(0, 51),
            "0/3 nodes are available: 3 Insufficient cpu. preemp");
}

TEST_F(KeptRoom, LeavesTheRestOfItsNodesToAll) {
  end("a");
  bench.put_pod({"one-core", "1"});
  bench.run();
  EXPECT_EQ(bench.node_of("one-core"), "n1") << "3 of 4 cores are kept";
}

TEST_F(KeptRoom, IsOpenToHigherPriorities) {
  end("a");
  bench.put_pod({"higher", "2", "", R"(,"priority":20)"});
  bench.run();
  EXPECT_EQ(bench.node_of("higher"), "n1");
}

TEST_F(KeptRoom, EndsWhenTheGangIsPlaced) {
  for (const char* name : {"a", "b"}) end(name);
  EXPECT_EQ(bench.node_of("g1"), "n1");
  EXPECT_EQ(bench.node_of("g2"), "n2");
  EXPECT_TRUE(bench.scheduler.cluster().ledger().holds().empty());
  bench.put_pod({"one-core", "1"});
  bench.run();
  EXPECT_NE(bench.node_of("one-core"), "");
}

TEST_F(KeptRoom, LeavesTheModelAsTheAuditSaysItIs) {
  bench.now = bench.now + kAuditEvery * 4;
  bench.run();
  EXPECT_EQ(bench.decisions.repairs(), 0u);
}

// The same gang; the pods on the large nodes run for 10 and 60 minutes, so both are free in an hour.
class KeptUntilPodsEnd : public testing::Test {
 protected:
  KeptUntilPodsEnd() {
    for (const char* name : {"n1", "n2"}) bench.put_node({name});
    bench.put_node({"n3", "1"});
    place({.name = "short", .cpu = "4", .runs = "10m"});
    place({.name = "long", .cpu = "4", .runs = "60m"});
    bench.put_group("gang", 2, "", 10);
    for (const char* name : {"g1", "g2"})
      bench.put_pod({name, "3", "gang", R"(,"priority":10,"preemptionPolicy":"Never")"});
    bench.run();
    place({"small", "1"});
    pass(Duration::seconds(21));
  }
  void place(const PodSpec& pod) {
    bench.put_pod(pod);
    bench.run();
    ASSERT_NE(bench.node_of(pod.name), "");
    bench.bind(pod.name);
    bench.run();
  }
  void pass(Duration time) {
    bench.now = bench.now + time;
    bench.run();
  }
  void end(const std::string& pod) {
    bench.erase(api::Kind::Pod, pod);
    pass(Duration::seconds(1));
  }
  std::string node_of_new(const PodSpec& pod) {
    bench.put_pod(pod);
    bench.run();
    return bench.node_of(pod.name);
  }
  bool is_kept() const { return !bench.scheduler.cluster().ledger().holds().empty(); }

  TestBench bench;
};

TEST_F(KeptUntilPodsEnd, IsListedWithItsOwnerAndNodes) {
  const HeldRooms held = bench.scheduler.held_rooms();
  ASSERT_EQ(held.total, 1u);
  const HeldRoom& room = held.rooms.front();
  EXPECT_EQ(name_of(room.purpose), "Overtaken");
  EXPECT_EQ(room.owner.name, "gang");
  EXPECT_EQ(room.owner.kind, placement::EntityKind::Group);
  EXPECT_EQ(room.nodes, (std::vector<std::string>{"n1", "n2"}));
  EXPECT_EQ(room.device_count, 0u);
  EXPECT_GT(room.until, bench.now + Duration::minutes(50));
  for (const char* name : {"short", "long"}) end(name);
  EXPECT_EQ(bench.scheduler.held_rooms(), HeldRooms{});
}

TEST_F(KeptUntilPodsEnd, IsUsedByThoseThatEndBefore) {
  ASSERT_TRUE(is_kept());
  end("short");
  EXPECT_EQ(node_of_new({.name = "unknown", .cpu = "2"}), "");
  EXPECT_EQ(node_of_new({.name = "too-long", .cpu = "2", .runs = "61m"}), "");
  EXPECT_EQ(node_of_new({.name = "fits-before", .cpu = "2", .runs = "50m"}), "n1");
}

TEST_F(KeptUntilPodsEnd, IsUsedByAPodThatSaysLaterWhenItEnds) {
  end("short");
  EXPECT_EQ(node_of_new({.name = "p", .cpu = "2"}), "");
  EXPECT_EQ(node_of_new({.name = "p", .cpu = "2", .runs = "50m"}), "n1");
}

TEST_F(KeptUntilPodsEnd, IsUsedByAGroupOnlyIfAllItsMembersEndBefore) {
  end("short");
  for (const char* group : {"mixed", "before"}) bench.put_group(group, 2);
  EXPECT_EQ(node_of_new({.name = "m1", .cpu = "2", .group = "mixed", .runs = "50m"}), "");
  EXPECT_EQ(node_of_new({.name = "m2", .cpu = "2", .group = "mixed"}), "");
  EXPECT_EQ(node_of_new({.name = "b1", .cpu = "2", .group = "before", .runs = "50m"}), "");
  EXPECT_EQ(node_of_new({.name = "b2", .cpu = "2", .group = "before", .runs = "50m"}), "n1");
}

TEST_F(KeptUntilPodsEnd, LastsAlthoughNoPodLeavesItsNodes) {
  end("short");
  pass(kKeptMax * 2);
  EXPECT_TRUE(is_kept());
  pass(Duration::minutes(41) + kKeptStillMax);
  EXPECT_FALSE(is_kept()) << "the pod runs longer than expected";
}

TEST_F(KeptUntilPodsEnd, GoesToItsGangInTime) {
  end("short");
  ASSERT_EQ(node_of_new({.name = "fits-before", .cpu = "2", .runs = "50m"}), "n1");
  bench.bind("fits-before");
  pass(Duration::minutes(50));
  end("fits-before");
  EXPECT_EQ(bench.node_of("g1"), "");
  pass(Duration::minutes(9));
  end("long");
  EXPECT_NE(bench.node_of("g1"), "");
  EXPECT_NE(bench.node_of("g2"), "");
}

// Four nodes of 4 cores, full for 10, 20, 30 and 40 minutes: two of them are free in 20.
TEST(KeptRoomInTime, IsThatWhichIsFreeFirst) {
  TestBench bench;
  for (int i = 1; i <= 4; ++i) {
    bench.put_node({"n" + std::to_string(i)});
    const std::string name = "p" + std::to_string(i);
    bench.put_pod({.name = name, .cpu = "4", .runs = std::to_string((5 - i) * 10) + "m"});
    bench.run();
    bench.bind(name);
    bench.run();
  }
  bench.put_node({"n5", "1"});
  bench.put_group("gang", 2, "", 10);
  for (const char* name : {"g1", "g2"})
    bench.put_pod({name, "3", "gang", R"(,"priority":10,"preemptionPolicy":"Never")"});
  bench.run();
  bench.put_pod({"small", "1"});
  bench.run();
  bench.now = bench.now + Duration::seconds(21);
  bench.run();
  const auto& holds = bench.scheduler.cluster().ledger().holds();
  ASSERT_EQ(holds.size(), 1u);
  std::set<std::string> nodes, expected;
  for (const model::HeldPlace& place : holds.begin()->second.places)
    nodes.insert(bench.scheduler.cluster().node(place.node).name);
  for (const char* name : {"p3", "p4"}) expected.insert(bench.node_of(name));
  EXPECT_EQ(nodes, expected);
}

// A node of 4 cores on which pods of one core run 10 s each, one ends every 2.5 s, and the next is there at
// once; a pod of 4 cores that is older than most of them.
class Stream : public testing::Test {
 protected:
  explicit Stream() {
    bench.put_node({"n1"});
    for (int i = 0; i < 4; ++i) put_small();
    bench.put_pod({"large", "4", "", R"(,"preemptionPolicy":"Never")", "", "", 1000});
    bench.run();
  }
  // True if the large pod has its place.
  bool next() {
    if (const std::string oldest = oldest_running(); !oldest.empty()) bench.erase(api::Kind::Pod, oldest);
    put_small();
    bench.now = bench.now + Duration::millis(2500);
    bench.run();
    return !bench.node_of("large").empty();
  }
  void put_small() {
    const std::string name = "s" + std::to_string(100 + smalls++);
    bench.put_pod({name, "1", "", R"(,"preemptionPolicy":"Never")", "", "", 1000 + smalls});
    bench.run();
    for (const auto& [key, pod] : std::map(bench.view.pods.all()))
      if (!pod->bound() && !bench.node_of(pod->meta.name).empty()) bench.bind(pod->meta.name);
  }
  std::string oldest_running() const {
    for (const auto& [name, pod] : bench.view.pods.all())
      if (pod->meta.name != "large" && !bench.node_of(pod->meta.name).empty()) return pod->meta.name;
    return "";
  }

  TestBench bench;
  int smalls = 0;
};

// It is overtaken at 2.5 s and gets a reservation 20 s later. Then three more pods must end, one each 2.5 s.
TEST_F(Stream, OfYoungerEqualsLetsALargePodHaveItsTurn) {
  int turns = 1;
  while (!next() && turns < 100) ++turns;
  EXPECT_GE(turns, 9) << "the limit is 20 s";
  EXPECT_LE(turns, 14);
}

// Otherwise the room of one core would be idle, and the small pod wait for it.
TEST_F(Stream, OfPodsThatDoNotEndKeepsNoRoom) {
  bench.put_node({"n1", "6"});
  put_small();
  bench.now = bench.now + Duration::seconds(21);
  bench.run();
  EXPECT_TRUE(bench.scheduler.cluster().ledger().holds().empty());
  put_small();
  EXPECT_FALSE(bench.node_of("s" + std::to_string(99 + smalls)).empty());
}

// A card that can be shared and one that cannot draw ten lanes each, and a low pod has the second one. A pod
// of priority 10 with `cpu` wants a share of the first one, and has a hold on it.
class KeptShare : public testing::Test {
 protected:
  void start(const std::string& lanes, const std::string& cpu) {
    for (const char* name : {"n1", "n2"}) bench.put_node({name});
    for (const char* kind : {"shared", "whole"})
      bench.put_class(kind, "device.kind == '" + std::string(kind) + "'");
    put_slice("sets",
              R"("sharedCounters":[{"name":"lanes","counters":{"lanes":{"value":")" + lanes + R"("}}}])");
    put_slice("cards", R"("devices":[)" + card("shared", R"(,"allowMultipleAllocations":true)") + "," +
                           card("whole", "") + "]");
    place("low", "whole", "1");
    ASSERT_EQ(bench.node_of("low"), "n1");
    bench.bind("low");
    place("high", "shared", cpu, R"(,"priority":10,"preemptionPolicy":"Never")");
    ASSERT_EQ(bench.node_of("high"), "");
    bench.put_pod({"overtakes", "1", "", R"(,"nodeSelector":{"kubernetes.io/hostname":"n2"})"});
    bench.run();
    bench.now = bench.now + Duration::seconds(21);
    bench.run();
    ASSERT_EQ(bench.scheduler.cluster().ledger().holds().size(), 1u);
    place("other", "shared", "");
  }
  void place(const std::string& pod, const std::string& device_class, const std::string& cpu,
             const std::string& rest = "") {
    bench.put_claim(pod, device_class);
    bench.put_pod(
        {pod, cpu, "", R"(,"resourceClaims":[{"name":"card","resourceClaimName":")" + pod + R"("}])" + rest});
    bench.run();
  }

  TestBench bench;

 private:
  static std::string card(const std::string& kind, const std::string& rest) {
    return R"({"name":")" + kind + R"(","attributes":{"kind":{"string":")" + kind + R"("}},)" +
           R"("consumesCounters":[{"counterSet":"lanes","counters":{"lanes":{"value":"10"}}}])" + rest + "}";
  }
  void put_slice(const std::string& name, const std::string& rest) {
    bench.put(api::Kind::ResourceSlice, R"({"metadata":{"name":")" + name +
                                            R"("},"spec":{"driver":"gpu.example.com","nodeName":"n1",)" +
                                            R"("pool":{"name":"p","generation":1,"resourceSliceCount":2},)" +
                                            rest + "}}");
  }
};

TEST_F(KeptShare, IsSharedWithNobodyWhileItsCountersAreInUse) {
  start("16", "1");
  EXPECT_EQ(bench.node_of("other"), "");
  bench.erase(api::Kind::Pod, "low");
  bench.erase(api::Kind::ResourceClaim, "low");
  bench.now = bench.now + Duration::seconds(1);
  bench.run();
  EXPECT_EQ(bench.node_of("high"), "n1");
  bench.now = bench.now + Duration::seconds(30);
  bench.run();
  EXPECT_EQ(bench.node_of("other"), "n1");
}

TEST_F(KeptShare, IsSharedWhereItsCountersSuffice) {
  start("20", "4");
  EXPECT_EQ(bench.node_of("other"), "n1");
}

// Two nodes with a device each, both in use by pods of low priority. The claim on n1 is its group's, the one
// on n2 its pod's.
class KeptBesideAGroup : public testing::Test {
 protected:
  KeptBesideAGroup() {
    bench.put_class("gpu", "true");
    for (const char* name : {"n1", "n2", "n3"}) bench.put_node({name});
    bench.put_slice("p1", "n1", 1);
    bench.put_group("old", 0);
    put_claim("of-group", "n1", "p1",
              R"({"apiGroup":"scheduling.k8s.io","resource":"podgroups","name":"old","uid":"uid-old"})");
    put_bound("member", "n1", "of-group");
  }
  void put_claim(const std::string& name, const std::string& node, const std::string& pool,
                 const std::string& consumer) {
    bench.put(
        api::Kind::ResourceClaim,
        R"({"metadata":{"name":")" + name +
            R"(","namespace":"default"},"spec":{"devices":{"requests":[{"name":"r","exactly":)"
            R"({"deviceClassName":"gpu"}}]}},"status":{"allocation":{"devices":{"results":[{"request":"r",)"
            R"("driver":"gpu.example.com","pool":"pool-)" +
            pool +
            R"(","device":"d0"}]},"nodeSelector":{"nodeSelectorTerms":[{"matchFields":[{"key":)"
            R"("metadata.name","operator":"In","values":[")" +
            node + R"("]}]}]}},"reservedFor":[)" + consumer + "]}}");
  }
  void put_bound(const std::string& name, const std::string& node, const std::string& claim) {
    bench.put_pod({name, "1", "",
                   R"(,"nodeName":")" + node + R"(","resourceClaims":[{"name":"c","resourceClaimName":")" +
                       claim + "\"}]"});
  }
  // The node whose device is reserved for a pod of priority 10, once pods without devices have overtaken it.
  std::string kept_for_high() {
    bench.put_claim("high", "gpu");
    bench.put_pod({"high", "1", "",
                   R"(,"priority":10,"preemptionPolicy":"Never",)"
                   R"("resourceClaims":[{"name":"c","resourceClaimName":"high"}])"});
    bench.run();
    bench.put_pod({"overtakes"});
    bench.run();
    bench.now = bench.now + Duration::seconds(21);
    bench.run();
    const auto& holds = bench.scheduler.cluster().ledger().holds();
    return holds.empty() ? "" : bench.scheduler.cluster().node(holds.begin()->second.places.at(0).node).name;
  }

  TestBench bench;
};

TEST_F(KeptBesideAGroup, IsADeviceThatEndsWithItsPod) {
  bench.put_slice("p2", "n2", 1);
  put_claim("own", "n2", "p2", R"({"resource":"pods","name":"alone","uid":"uid-alone"})");
  put_bound("alone", "n2", "own");
  EXPECT_EQ(kept_for_high(), "n2") << "the other one ends with its group";
}

TEST_F(KeptBesideAGroup, IsTheGroupsWhereNoOtherIs) {
  EXPECT_EQ(kept_for_high(), "n1");
}

}  // namespace
}  // namespace berth::scheduling
