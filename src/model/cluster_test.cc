#include "model/cluster.h"

#include <gtest/gtest.h>

#include "model/scoped_hold.h"

namespace berth::model {
namespace {

// Feeds objects through a View, as the engine does.
class ClusterFixture {
 public:
  void put(api::Kind kind, const std::string& text) {
    auto typed = api::decode_typed(kind, std::make_shared<const std::string>(text));
    const api::ObjectMeta& meta = api::meta_of(*typed);
    if (auto delta = view.put({kind, meta.ns, meta.name}, *typed)) cluster.apply(*delta);
  }
  void erase(api::Kind kind, const std::string& ns, const std::string& name) {
    if (auto delta = view.erase({kind, ns, name}, ~0ull)) cluster.apply(*delta);
  }
  client::View view;
  Cluster cluster;
};

std::string meta(const std::string& name, const std::string& ns, int version) {
  return R"("metadata":{"name":")" + name + R"(","namespace":")" + ns + R"(","uid":"uid-)" + name +
         R"(","resourceVersion":")" + std::to_string(version) + "\"}";
}

std::string node(const std::string& name) {
  return "{" + meta(name, "", 1) + R"(,"status":{"allocatable":{"cpu":"4","memory":"8Gi","pods":"110"}}})";
}

std::string pod(const std::string& name, const std::string& node, int version,
                const std::string& claim = "") {
  std::string spec = R"("containers":[{"name":"c","resources":{"requests":{"cpu":"500m"}}}])";
  if (!node.empty()) spec += R"(,"nodeName":")" + node + "\"";
  if (!claim.empty()) spec += R"(,"resourceClaims":[{"name":"c","resourceClaimName":")" + claim + "\"}]";
  return "{" + meta(name, "default", version) + ",\"spec\":{" + spec + "}}";
}

std::string slice_with_gpu_0() {
  return "{" + meta("s", "", 1) +
         R"(,"spec":{"driver":"d","nodeName":"n1","pool":{"name":"p","generation":1,"resourceSliceCount":1},)"
         R"("devices":[{"name":"gpu-0"}]}})";
}

std::string allocation(const std::string& device) {
  return R"("allocation":{"devices":{"results":[{"request":"r","driver":"d","pool":"p","device":")" + device +
         "\"}]}}";
}

std::string claim(const std::string& name, int version, const std::string& device = "") {
  return "{" + meta(name, "default", version) + ",\"spec\":{},\"status\":{" +
         (device.empty() ? "" : allocation(device)) + "}}";
}

std::string request(const std::string& pod, const std::string& node, int version, const std::string& phase,
                    const std::string& claim, const std::string& device) {
  return "{" + meta("br-" + pod, "default", version) + R"(,"spec":{"podName":")" + pod +
         R"(","podUID":"uid-)" + pod + R"(","selectedNode":")" + node +
         R"(","decisionID":"d1","resourceClaimAllocations":[{"name":"c","claimName":")" + claim +
         R"(","claimUID":"uid-)" + claim + "\"," + allocation(device) + R"(}]},"status":{"phase":")" + phase +
         "\"}}";
}

TEST(Cluster, CountsABoundPodOnItsNode) {
  ClusterFixture world;
  world.put(api::Kind::Pod, pod("a", "n1", 1));
  world.put(api::Kind::Node, node("n1"));
  const NodeId n1 = world.cluster.find_node("n1");
  EXPECT_EQ(amount_in(world.cluster.ledger().node(n1).requested, kCpu), 500);
  EXPECT_EQ(amount_in(world.cluster.ledger().node(n1).requested, kPodSlots), 1);
  EXPECT_EQ(amount_in(world.cluster.node(n1).allocatable, kCpu), 4000);
  world.erase(api::Kind::Pod, "default", "a");
  EXPECT_EQ(amount_in(world.cluster.ledger().node(n1).requested, kCpu), 0);
  EXPECT_FALSE(world.cluster.find_pod("default", "a").valid());
}

ReservationPtr claims_of(std::vector<ClaimChoice> claims) {
  return std::make_shared<const Reservation>(Reservation{std::move(claims), nullptr, nullptr, nullptr});
}

TEST(Cluster, AssumptionThenRequestThenBoundPodCountOnce) {
  ClusterFixture world;
  Cluster& cluster = world.cluster;
  world.put(api::Kind::Node, node("n1"));
  world.put(api::Kind::ResourceSlice, slice_with_gpu_0());
  world.put(api::Kind::ResourceClaim, claim("k", 1));
  world.put(api::Kind::Pod, pod("a", "", 2, "k"));
  const PodId a = cluster.find_pod("default", "a");
  const NodeId n1 = cluster.find_node("n1");
  auto chosen = std::make_shared<api::Allocation>();
  chosen->results.push_back({.request = "r", .driver = "d", .pool = "p", .device = "gpu-0"});
  {
    Ledger::Transaction transaction(cluster.ledger());
    const ClaimId k = cluster.find_claim("default", "k");
    transaction.allocate(k, cluster.reservation_for(chosen));
    transaction.place(a, n1, cluster.pod(a).requests, claims_of({{"k", k, chosen}}));
    cluster.commit(transaction, "d1");
  }
  const DeviceId gpu = cluster.find_device("d", "p", "gpu-0");
  const auto taken_once = [&] {
    EXPECT_EQ(amount_in(cluster.ledger().node(n1).requested, kCpu), 500);
    EXPECT_EQ(cluster.ledger().device(gpu).dedicated, 1);
  };
  taken_once();
  EXPECT_EQ(cluster.assumptions().size(), 1u);
  world.put(api::Kind::BindRequest, request("a", "n1", 3, "Pending", "k", "gpu-0"));
  taken_once();
  EXPECT_TRUE(cluster.assumptions().empty());
  world.put(api::Kind::BindRequest, request("a", "n1", 4, "Succeeded", "k", "gpu-0"));
  world.erase(api::Kind::BindRequest, "default", "br-a");
  taken_once();
  world.put(api::Kind::Pod, pod("a", "n1", 5, "k"));
  taken_once();
  world.put(api::Kind::ResourceClaim, claim("k", 6, "gpu-0"));
  taken_once();
  EXPECT_TRUE(cluster.assumptions().empty());
  world.put(api::Kind::ResourceClaim, claim("k", 7));
  EXPECT_TRUE(cluster.ledger().device(gpu).free());
}

// As when requests are in memory: the watch of claims lags behind that of pods.
TEST(Cluster, ARequestThatGoesAfterItsBindingLeavesItsDevicesTaken) {
  ClusterFixture world;
  world.put(api::Kind::ResourceClaim, claim("k", 1));
  world.put(api::Kind::Pod, pod("a", "", 2, "k"));
  world.put(api::Kind::BindRequest, request("a", "n1", 3, "Pending", "k", "gpu-0"));
  world.put(api::Kind::Pod, pod("a", "n1", 5, "k"));
  world.erase(api::Kind::BindRequest, "default", "br-a");
  const DeviceId gpu = world.cluster.find_device("d", "p", "gpu-0");
  EXPECT_TRUE(world.cluster.ledger().busy(gpu));
  world.put(api::Kind::ResourceClaim, claim("k", 6, "gpu-0"));
  EXPECT_TRUE(world.cluster.ledger().busy(gpu));
  EXPECT_TRUE(world.cluster.assumptions().empty());
}

TEST(Cluster, ARequestThatFailedForGoodTakesNothing) {
  ClusterFixture world;
  world.put(api::Kind::Pod, pod("a", "", 1, "k"));
  world.put(api::Kind::BindRequest, request("a", "n1", 2, "Pending", "k", "gpu-0"));
  const NodeId n1 = world.cluster.find_node("n1");
  EXPECT_EQ(world.cluster.ledger().node(n1).pods.size(), 1u);
  EXPECT_TRUE(world.cluster.ledger().busy(world.cluster.find_device("d", "p", "gpu-0")));
  api::BindRequest failed = *world.view.bind_requests.find("default", "br-a");
  failed.phase = api::BindPhase::Failed;
  failed.failed_attempts = 99;
  failed.meta.resource_version = 3;
  const auto delta = world.view.put({api::Kind::BindRequest, "default", "br-a"},
                                    std::make_shared<const api::BindRequest>(failed));
  world.cluster.apply(*delta);
  EXPECT_TRUE(world.cluster.ledger().node(n1).pods.empty());
  EXPECT_FALSE(world.cluster.ledger().busy(world.cluster.find_device("d", "p", "gpu-0")));
}

TEST(Ledger, NestedSavepointsRestoreWhatWasThere) {
  ClusterFixture world;
  Cluster& cluster = world.cluster;
  world.put(api::Kind::Node, node("n1"));
  world.put(api::Kind::Pod, pod("a", "", 1));
  world.put(api::Kind::Pod, pod("b", "n1", 2));
  const std::string before = cluster.to_text();
  {
    Ledger::Transaction transaction(cluster.ledger());
    const NodeId n1 = cluster.find_node("n1");
    const PodId a = cluster.find_pod("default", "a");
    const auto outer = transaction.savepoint();
    transaction.place(a, n1, cluster.pod(a).requests);
    const std::string placed = cluster.to_text();
    const auto inner = transaction.savepoint();
    transaction.remove_pod(cluster.find_pod("default", "b"));
    EXPECT_NE(cluster.to_text(), placed);
    transaction.roll_back_to(inner);
    EXPECT_EQ(cluster.to_text(), placed);
    transaction.roll_back_to(outer);
    EXPECT_EQ(cluster.to_text(), before);
    transaction.place(a, n1, cluster.pod(a).requests);
  }
  EXPECT_EQ(cluster.to_text(), before);
}

// The binder may have sent the allocation before it learns that the pod is gone.
TEST(Cluster, DevicesOfAPodThatIsGoneStayTakenUntilItsClaimChanges) {
  ClusterFixture world;
  Cluster& cluster = world.cluster;
  const auto decide = [&](int version) {
    world.put(api::Kind::Node, node("n1"));
    world.put(api::Kind::ResourceClaim, claim("c", version));
    world.put(api::Kind::Pod, pod("a", "", version + 1, "c"));
    world.put(api::Kind::BindRequest, request("a", "n1", version + 2, "Pending", "c", "gpu-0"));
  };
  const auto is_taken = [&] { return cluster.ledger().busy(cluster.find_device("d", "p", "gpu-0")); };
  decide(1);
  world.erase(api::Kind::Pod, "default", "a");
  world.erase(api::Kind::BindRequest, "default", "br-a");
  EXPECT_TRUE(is_taken()) << "the write may be in flight";
  EXPECT_TRUE(cluster.ledger().node(cluster.find_node("n1")).pods.empty());
  world.put(api::Kind::ResourceClaim, claim("c", 10));
  EXPECT_FALSE(is_taken()) << "a write on the earlier version cannot land any more";
  decide(11);
  world.erase(api::Kind::Pod, "default", "a");
  world.put(api::Kind::ResourceClaim, claim("c", 20, "gpu-0"));
  EXPECT_TRUE(is_taken()) << "it has landed";
  EXPECT_TRUE(cluster.late_claims().empty());
  world.erase(api::Kind::ResourceClaim, "default", "c");
  EXPECT_FALSE(is_taken());
  decide(31);
  world.erase(api::Kind::Pod, "default", "a");
  cluster.forget_late(cluster.find_claim("default", "c"));
  EXPECT_FALSE(is_taken()) << "the binder has written nothing";
}

std::string shared_claim(int version, const std::string& consumers) {
  return "{" + meta("shared", "default", version) + R"(,"spec":{},"status":{)" + allocation("gpu-0") +
         R"(,"reservedFor":[)" + consumers + "]}}";
}
std::string consumer(const std::string& pod) {
  return R"({"resource":"pods","name":")" + pod + R"(","uid":"uid-)" + pod + R"("})";
}

// Two pods with one claim: its device comes free in a what-if without both.
TEST(Cluster, AClaimIsFreedWithItsLastConsumer) {
  ClusterFixture world;
  Cluster& cluster = world.cluster;
  world.put(api::Kind::Node, node("n1"));
  for (const char* name : {"a", "b"}) world.put(api::Kind::Pod, pod(name, "n1", 2, "shared"));
  world.put(api::Kind::ResourceClaim, shared_claim(3, consumer("a") + "," + consumer("b")));
  const DeviceId gpu = cluster.find_device("d", "p", "gpu-0");
  const auto remove = [&](const char* name, Ledger::Transaction& transaction) {
    cluster.remove(cluster.find_pod("default", name), GroupClaims::Kept, transaction);
  };
  ASSERT_TRUE(cluster.ledger().busy(gpu));
  const std::string before = cluster.to_text();
  {
    Ledger::Transaction transaction(cluster.ledger());
    remove("a", transaction);
    EXPECT_TRUE(cluster.ledger().busy(gpu)) << "b still uses it";
    remove("b", transaction);
    EXPECT_FALSE(cluster.ledger().busy(gpu));
  }
  EXPECT_EQ(cluster.to_text(), before);
  world.put(api::Kind::ResourceClaim,
            shared_claim(4, consumer("a") + "," + consumer("b") + "," + consumer("c")));
  Ledger::Transaction transaction(cluster.ledger());
  for (const char* name : {"a", "b"}) remove(name, transaction);
  EXPECT_TRUE(cluster.ledger().busy(gpu)) << "c, which no what-if removes, has it reserved";
}

// A claim that is reserved for a group outlives its members, unless the what-if asks otherwise.
TEST(Cluster, AGroupsClaimIsFreedWithItsLastMemberOnRequest) {
  ClusterFixture world;
  Cluster& cluster = world.cluster;
  world.put(api::Kind::Node, node("n1"));
  for (const char* name : {"a", "b"}) world.put(api::Kind::Pod, pod(name, "n1", 2, "shared"));
  world.put(
      api::Kind::ResourceClaim,
      shared_claim(3, R"({"apiGroup":"scheduling.k8s.io","resource":"podgroups","name":"g","uid":"uid-g"})"));
  const DeviceId gpu = cluster.find_device("d", "p", "gpu-0");
  for (const GroupClaims claims : {GroupClaims::Kept, GroupClaims::Freed}) {
    Ledger::Transaction transaction(cluster.ledger());
    cluster.remove(cluster.find_pod("default", "b"), claims, transaction);
    EXPECT_TRUE(cluster.ledger().busy(gpu));
    cluster.remove(cluster.find_pod("default", "a"), claims, transaction);
    EXPECT_EQ(cluster.ledger().busy(gpu), claims == GroupClaims::Kept);
  }
}

// A hold is in use for lower priorities alone, and has no pods or claims.
TEST(Ledger, AHoldBindsEntriesBelowItsPriority) {
  ClusterFixture world;
  Cluster& cluster = world.cluster;
  world.put(api::Kind::Node, node("n1"));
  world.put(api::Kind::ResourceSlice, slice_with_gpu_0());
  world.put(api::Kind::Pod, pod("a", "", 1, "own"));
  world.put(api::Kind::ResourceClaim, claim("own", 2));
  const NodeId n1 = cluster.find_node("n1");
  const PodId a = cluster.find_pod("default", "a");
  const std::string before = cluster.to_text();
  const auto cpu = [&] { return amount_in(cluster.ledger().node(n1).requested, kCpu); };
  Hold room;
  {
    Ledger::Transaction transaction(cluster.ledger());
    const auto start = transaction.savepoint();
    const auto chosen = std::make_shared<const api::Allocation>(
        api::Allocation{.results = {{.request = "r", .driver = "d", .pool = "p", .device = "gpu-0"}}});
    transaction.allocate(cluster.find_claim("default", "own"), cluster.reservation_for(chosen));
    transaction.place(a, n1, cluster.pod(a).requests,
                      std::make_shared<const Reservation>(
                          Reservation{{{"c", cluster.find_claim("default", "own"), chosen}}}));
    room = cluster.hold_for(transaction.take_since(start), 10);
  }
  const DeviceId gpu = cluster.find_device("d", "p", "gpu-0");
  EXPECT_EQ(cluster.to_text(), before);
  {
    const ScopedHold kept(cluster.ledger(), room);
    EXPECT_EQ(cpu(), 500);
    EXPECT_TRUE(cluster.ledger().busy(gpu));
    EXPECT_FALSE(cluster.ledger().node_of(a).valid());
    EXPECT_FALSE(cluster.ledger().reservation(cluster.find_claim("default", "own")));
    Ledger::Transaction transaction(cluster.ledger());
    transaction.lift_holds(9, {});
    EXPECT_EQ(cpu(), 500);
    transaction.lift_holds(10, {});
    EXPECT_EQ(cpu(), 0);
    EXPECT_FALSE(cluster.ledger().busy(gpu));
  }
  EXPECT_EQ(cluster.to_text(), before);
}

// Which holds an entry passes: hold by hold, from the rule alone.
TEST(Ledger, LiftsTheHoldsThatDoNotBind) {
  ClusterFixture world;
  world.put(api::Kind::Node, node("n1"));
  Ledger& ledger = world.cluster.ledger();
  const NodeId n1 = world.cluster.find_node("n1");
  std::vector<ScopedHold> holds;
  for (int i = 0; i < 12; ++i) {
    Hold hold{i % 4, {{{n1, ResourceAmounts{{kCpu, 1 << i}}, nullptr, {}}, {}}}, {}, {}};
    hold.binds_equals = i % 3 == 0;
    holds.emplace_back(ledger, std::move(hold));
  }
  const auto binds = [&](const ScopedHold& one, std::int32_t priority, const HoldsPassed& passed) {
    const Hold& hold = one.hold();
    const bool came_first =
        passed.own && *passed.own <= one.id() && hold.priority <= ledger.holds().at(*passed.own).priority;
    if (came_first || passed.backfilled == one.id() || std::ranges::count(passed.rooms, one.id()) > 0)
      return false;
    return hold.priority > priority ||
           (hold.priority == priority && hold.binds_equals && passed.open != one.id());
  };
  for (std::int32_t priority = -1; priority < 5; ++priority)
    for (std::size_t at = 0; at < holds.size(); ++at) {
      const HoldId one = holds[at].id(), other = holds[(at * 5 + 3) % holds.size()].id();
      const std::vector<HoldId> rooms = {other, one};
      for (const HoldsPassed& passed :
           {HoldsPassed{}, HoldsPassed{.own = one}, HoldsPassed{.own = one, .open = other},
            HoldsPassed{.open = one, .backfilled = other}, HoldsPassed{.backfilled = one, .rooms = rooms}}) {
        std::int64_t kept = 0;
        for (std::size_t i = 0; i < holds.size(); ++i)
          if (binds(holds[i], priority, passed)) kept += 1 << i;
        Ledger::Transaction transaction(ledger);
        transaction.lift_holds(priority, passed);
        EXPECT_EQ(amount_in(ledger.node(n1).requested, kCpu), kept) << priority << " " << at;
      }
    }
}

}  // namespace
}  // namespace berth::model
