// Any history of deltas, decisions and undone attempts gives the state of a rebuild from the live objects.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <functional>
#include <optional>

#include "model/cluster.h"
#include "model/scoped_hold.h"

namespace berth::model {
namespace {

constexpr int kNames = 3;

// Everything that a decision reads of one node, as stamps: its row, its charges, its own pools and theirs.
std::vector<std::uint64_t> stamps_of(const Cluster& cluster, NodeId id) {
  const NodeRow& row = cluster.node(id);
  std::vector<std::uint64_t> stamps = {reinterpret_cast<std::uintptr_t>(row.live.get()), row.labels_stamp,
                                       row.slices_stamp, cluster.ledger().node_stamp(id)};
  for (const PoolId pool : cluster.pools_of(id)) stamps.push_back(cluster.ledger().pool_stamp(pool));
  return stamps;
}
std::vector<std::vector<std::uint64_t>> stamps_of(const Cluster& cluster) {
  std::vector<std::vector<std::uint64_t>> all;
  for (std::uint32_t i = 0; i < cluster.nodes().size(); ++i) all.push_back(stamps_of(cluster, NodeId(i)));
  return all;
}

class History {
 public:
  // Every device and capacity has been seen, so that decisions may choose it.
  History() {
    api::ResourceClaim all;
    all.meta.name = "all";
    all.meta.ns = "ns";
    all.allocation.emplace();
    for (int i = 0; i < kNames; ++i) {
      api::DeviceResult result;
      result.driver = "d";
      result.pool = "p";
      result.device = name("g", i);
      result.share_id = "share";
      result.consumed_capacity["mem"] = Quantity::of(1);
      all.allocation->results.push_back(result);
    }
    put(api::Kind::ResourceClaim, all);
    erase(api::Kind::ResourceClaim, "ns", "all");
  }

  std::function<void()> between = [] {};  // called inside transactions, after every action

  // One random change; every choice is drawn from rapidcheck, so that failures shrink.
  void step() {
    switch (pick(10)) {
      case 8:
        return put_reservation_pod();
      case 0:
        return erase_something();
      case 1:
        return put_node();
      case 2:
      case 3:
        return put_pod();
      case 4:
        return put_claim();
      case 5:
        return put_request();
      case 6:
        return decide();
      case 7:
        return forget();
      default:
        return put_slice();
    }
  }

  std::string rebuilt() const {
    Cluster fresh(NodeAllocatable::Counted);
    // Feeds kinds in another order than they arrived in.
    feed(fresh, view.bind_requests, api::Kind::BindRequest);
    feed(fresh, view.claims, api::Kind::ResourceClaim);
    feed(fresh, view.pods, api::Kind::Pod);
    feed(fresh, view.slices, api::Kind::ResourceSlice);
    feed(fresh, view.nodes, api::Kind::Node);
    for (const auto& [uid, assumption] : cluster.assumptions()) fresh.assume(assumption);
    for (const ClaimId claim : cluster.late_claims()) {
      const ClaimRow& row = cluster.claim(claim);
      fresh.expect_late(fresh.find_claim(row.key.ns, row.key.name), row.late);
    }
    return fresh.to_text();
  }

  client::View view;
  Cluster cluster{NodeAllocatable::Counted};

 private:
  static int pick(int bound) { return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange(0, bound)); }
  static std::string name(const char* prefix, int i) { return prefix + std::to_string(i); }
  std::string any_node() { return name("n", pick(kNames)); }

  template <class T>
  static void feed(Cluster& to, const client::Indexer<T>& table, api::Kind kind) {
    for (const auto& [key, object] : table.all())
      to.apply({{kind, key.ns, key.name}, std::nullopt, api::TypedObject(object)});
  }
  template <class T>
  void put(api::Kind kind, T object) {
    object.meta.resource_version = ++version_;
    const api::ObjectKey key{kind, object.meta.ns, object.meta.name};
    const auto delta = view.put(key, std::make_shared<const T>(std::move(object)));
    if (delta) cluster.apply(*delta);
  }
  void erase(api::Kind kind, const std::string& ns, const std::string& name) {
    if (const auto delta = view.erase({kind, ns, name}, ~std::uint64_t{0})) cluster.apply(*delta);
  }

  void erase_something() {
    const int i = pick(kNames);
    switch (pick(5)) {
      case 0:
        return erase(api::Kind::Node, "", name("n", i));
      case 1:
        return erase(api::Kind::Pod, "ns", name("p", i));
      case 2:
        return erase(api::Kind::ResourceClaim, "ns", name("k", i));
      case 3:
        return erase(api::Kind::BindRequest, "ns", name("b", i));
      default:
        return erase(api::Kind::ResourceSlice, "", name("s", i));
    }
  }
  void put_node() {
    api::Node node;
    node.meta.name = any_node();
    node.allocatable["cpu"] = Quantity::of(pick(9));
    put(api::Kind::Node, node);
  }
  void put_pod() {
    api::Pod pod;
    const int i = pick(kNames);
    pod.meta.name = name("p", i);
    pod.meta.ns = "ns";
    pod.meta.uid = uid_of("p", i);
    pod.containers.emplace_back();
    pod.containers[0].requests["cpu"] = Quantity::of(i + 1);
    pod.claims.push_back({"c", name("k", i), ""});
    if (pick(3) == 0) pod.node_name = any_node();
    if (pick(5) == 0) pod.phase = "Succeeded";
    pod.node_allocatable = taken();
    if (pick(3) == 0) {
      pod.meta.annotations = api::gpu_share_annotations(share());
      pod.meta.annotations[std::string(api::kGpuFraction)] = "0.5";
    }
    put(api::Kind::Pod, pod);
  }
  // Asks for a whole GPU, which is charged as that of its group.
  void put_reservation_pod() {
    api::Pod pod;
    pod.node_name = any_node();
    const std::string group = name("gpu-", pick(kNames));
    pod.meta.ns = api::kGpuReservationNamespace;
    pod.meta.name = api::gpu_reservation_name(pod.node_name, group);
    pod.meta.uid = pod.meta.name;
    pod.meta.annotations[std::string(api::kGpuGroupAnnotation)] = group;
    pod.containers.emplace_back().requests[std::string(api::kGpuResource)] = Quantity::of(1);
    if (pick(3) == 0) return erase(api::Kind::Pod, pod.meta.ns, pod.meta.name);
    put(api::Kind::Pod, pod);
  }
  api::GpuShare share() {
    api::GpuShare share{{name("gpu-", pick(kNames))}, 1 + pick(99)};
    const std::string second = name("gpu-", pick(kNames));
    if (second != share.groups[0]) share.groups.push_back(second);
    return share;
  }
  std::string uid_of(const char* prefix, int i) {
    return name(prefix, i) + "-uid" + std::to_string(pick(4) / 3);
  }

  api::NodeAllocatableClaims taken() {
    api::NodeAllocatableClaims taken;
    if (pick(2) == 0) return taken;
    taken.push_back({name("k", pick(kNames)), {"c"}, {{"cpu", Quantity::millis(pick(5))}}, {}});
    if (pick(2) == 0) taken.back().overhead["memory"] = {Quantity::of(pick(3)), Quantity::of(pick(3))};
    return taken;
  }
  api::Allocation allocation() {
    api::Allocation allocation;
    const int count = 1 + pick(2);
    for (int i = 0; i < count; ++i) {
      api::DeviceResult result;
      result.driver = "d";
      result.pool = "p";
      result.device = name("g", pick(kNames));
      const int kind = pick(4);
      if (kind == 0) result.admin_access = true;
      if (kind == 1) {
        result.share_id = "share";
        result.consumed_capacity["mem"] = Quantity::of(1 + pick(3));
      }
      allocation.results.push_back(result);
    }
    return allocation;
  }
  void put_claim() {
    api::ResourceClaim claim;
    const int i = pick(kNames);
    claim.meta.name = name("k", i);
    claim.meta.ns = "ns";
    claim.meta.uid = uid_of("k", i);
    if (pick(2) == 0) claim.allocation = allocation();
    put(api::Kind::ResourceClaim, claim);
  }
  void put_request() {
    api::BindRequest request;
    const int i = pick(kNames);
    const int pod = pick(kNames);
    request.meta.name = name("b", i);
    request.meta.ns = "ns";
    request.meta.uid = uid_of("b", i);
    request.pod_name = name("p", pod);
    request.pod_uid = uid_of("p", pod);
    request.node = any_node();
    request.decision_id = name("decision", pick(2));
    if (pick(3) > 0) request.claims.push_back({"c", name("k", pod), uid_of("k", pod), allocation()});
    request.node_allocatable = taken();
    if (pick(3) == 0) request.gpu_share = share();
    request.phase = static_cast<api::BindPhase>(pick(3));
    if (request.phase == api::BindPhase::Failed) request.failed_attempts = pick(2) * 9;
    put(api::Kind::BindRequest, request);
  }
  void put_slice() {
    api::ResourceSlice slice;
    slice.meta.name = name("s", pick(kNames));
    slice.driver = "d";
    slice.pool = pick(2) ? "p" : "q";
    if (pick(2)) slice.node_name = any_node();
    slice.devices.emplace_back();
    slice.devices[0].name = name("g", pick(kNames));
    put(api::Kind::ResourceSlice, slice);
  }

  // A transaction with savepoints: what is undone leaves no trace, the rest becomes an assumption.
  void decide() {
    std::optional<ScopedHold> hold;
    if (pick(2) == 0 && !cluster.nodes().empty()) hold.emplace(cluster.ledger(), random_hold());
    const std::string before = cluster.to_text();
    const auto stamps_before = stamps_of(cluster);
    Ledger::Transaction transaction(cluster.ledger());
    transaction.lift_holds(pick(2), {});
    std::vector<Ledger::Transaction::Savepoint> savepoints = {transaction.savepoint()};
    std::vector<std::string> texts = {cluster.to_text()};
    const int actions = pick(6);
    for (int i = 0; i < actions; ++i) {
      if (pick(3) == 0) {
        savepoints.push_back(transaction.savepoint());
        texts.push_back(cluster.to_text());
      } else if (pick(4) == 0) {
        const std::string after = cluster.to_text();
        const auto from = static_cast<std::size_t>(pick(static_cast<int>(savepoints.size())));
        const Plan plan = transaction.take_since(savepoints[from]);
        RC_ASSERT(cluster.to_text() == texts[from]);
        cluster.redo(plan, transaction);
        RC_ASSERT(cluster.to_text() == after);
        savepoints.resize(from + 1);
        texts.resize(from + 1);
      } else if (pick(4) == 0) {
        const auto to = static_cast<std::size_t>(pick(static_cast<int>(savepoints.size())));
        transaction.roll_back_to(savepoints[to]);
        RC_ASSERT(cluster.to_text() == texts[to]);
        savepoints.resize(to + 1);
        texts.resize(to + 1);
      } else {
        act(transaction);
      }
      between();
    }
    if (pick(2) == 0) {
      const std::size_t nodes = stamps_before.size();
      transaction.end();
      RC_ASSERT(cluster.to_text() == before);
      auto stamps = stamps_of(cluster);
      stamps.resize(nodes);
      RC_ASSERT(stamps == stamps_before);
    } else {
      cluster.commit(transaction, name("decision", pick(2)));
    }
  }
  Hold random_hold() {
    const auto node = NodeId(static_cast<std::uint32_t>(pick(static_cast<int>(cluster.nodes().size()))));
    auto group = pick(2) == 0 ? std::make_shared<const api::GpuShare>(share()) : nullptr;
    const auto devices = cluster.reservation_for(std::make_shared<api::Allocation>(allocation()));
    return {pick(2),
            {{{node, ResourceAmounts{{kCpu, pick(100)}}, std::move(group), {}}, {}}},
            devices->devices,
            {}};
  }
  void act(Ledger::Transaction& transaction) {
    const PodId pod = cluster.find_pod("ns", name("p", pick(kNames)));
    const ClaimId claim = cluster.find_claim("ns", name("k", pick(kNames)));
    const NodeId node = cluster.find_node(any_node());
    switch (pick(5)) {
      case 4:
        if (cluster.device_count() > 0)
          transaction.hide(
              DeviceId(static_cast<std::uint32_t>(pick(static_cast<int>(cluster.device_count())))));
        return;
      case 0:
        if (pod.valid() && node.valid() && cluster.pod(pod).live) place(transaction, pod, node);
        return;
      case 1:
        if (pod.valid() && claim.valid() && cluster.pod(pod).live)
          transaction.allocate(claim,
                               cluster.reservation_for(std::make_shared<api::Allocation>(allocation())));
        return;
      case 2:
        if (pod.valid()) transaction.remove_pod(pod);
        return;
      default:
        if (claim.valid()) transaction.remove_claim(claim);
    }
  }
  void place(Ledger::Transaction& transaction, PodId pod, NodeId node) {
    Reservation reserved;
    if (pick(2) == 0) reserved.node_allocatable = std::make_shared<const api::NodeAllocatableClaims>(taken());
    if (pick(2) == 0) reserved.gpu_share = std::make_shared<const api::GpuShare>(share());
    if (const ClaimId claim = cluster.find_claim("ns", name("k", pick(kNames)));
        claim.valid() && pick(2) == 0) {
      reserved.claims.push_back({"c", claim, std::make_shared<api::Allocation>(allocation())});
      transaction.allocate(claim, cluster.reservation_for(reserved.claims.back().allocation));
    }
    const ResourceAmounts requests = cluster.charges(pod, reserved.node_allocatable);
    transaction.place(pod, node, requests, std::make_shared<const Reservation>(std::move(reserved)));
  }
  void forget() {
    if (pick(2) == 0) return cluster.forget(name("decision", pick(2)));
    cluster.forget(name("decision", pick(2)), uid_of("p", pick(kNames)));
  }

  std::uint64_t version_ = 0;
};

std::uint64_t wide_charges(const Cluster& cluster) {
  std::uint64_t sum = cluster.shared_pools_stamp();
  for (const auto& [key, pool] : cluster.shared_pools()) sum += cluster.ledger().pool_stamp(pool);
  return sum;
}

TEST(ClusterProperty, AReaderOfChangesMissesNoNode) {
  EXPECT_TRUE(rc::check("every node that changed is listed", [] {
    History history;
    const int steps = *rc::gen::resize(rc::kNominalSize, rc::gen::inRange(0, 40));
    for (int i = 0; i < steps; ++i) {
      const Cluster& cluster = history.cluster;
      const auto before = stamps_of(cluster);
      const std::uint64_t wide = wide_charges(cluster), shared_pools_stamp = cluster.shared_pools_stamp();
      const Changes::Position from = cluster.ledger().changes().end();
      history.step();
      std::vector<NodeId> changed;
      const Cluster::ChangeScope reach = cluster.changed_since(from, changed);
      RC_ASSERT(reach != Cluster::ChangeScope::Unknown);
      for (std::uint32_t n = 0; n < before.size(); ++n)
        if (stamps_of(cluster, NodeId(n)) != before[n])
          RC_ASSERT(std::find(changed.begin(), changed.end(), NodeId(n)) != changed.end());
      if (wide_charges(cluster) != wide)
        RC_ASSERT(reach == Cluster::ChangeScope::AllDevices ||
                  cluster.shared_pools_stamp() != shared_pools_stamp);
    }
  }));
}

TEST(Changes, AReaderThatFellBehindIsTold) {
  Changes changes;
  for (std::uint32_t i = 0; i < kChangesMax + 2; ++i) changes.note(NodeId(i));
  std::vector<NodeId> seen;
  const auto on_node = [&](NodeId node) { seen.push_back(node); };
  const auto on_pool = [](PoolId) { ADD_FAILURE() << "only nodes were noted"; };
  EXPECT_FALSE(changes.visit_since({1}, on_node, on_pool));
  EXPECT_TRUE(seen.empty());
  EXPECT_TRUE(changes.visit_since({2}, on_node, on_pool));
  ASSERT_EQ(seen.size(), kChangesMax);
  EXPECT_EQ(seen.front(), NodeId(2));
}

// The nodes that a reader visits, and its new position.
std::vector<NodeId> visit(const Changes& changes, Changes::Position& position) {
  std::vector<NodeId> seen;
  EXPECT_TRUE(changes.visit_since(position, [&](NodeId node) { seen.push_back(node); }, [](PoolId) {}));
  position = changes.end();
  return seen;
}

TEST(Changes, ATrialConcernsOnlyReadersThatLookInside) {
  Changes changes;
  Changes::Position outside = changes.end(), inside = outside;
  const auto trial = [&](std::uint32_t nodes) {
    for (std::uint32_t i = 0; i < nodes; ++i) changes.note(NodeId(i));
  };
  changes.begin_trial();
  trial(100'000);
  EXPECT_EQ(visit(changes, inside).size(), 100'000u);
  changes.note(NodeId(7));
  EXPECT_EQ(visit(changes, inside), std::vector{NodeId(7)}) << "the rest of the open trial";
  trial(3);
  changes.end_trial();
  EXPECT_TRUE(visit(changes, outside).empty());
  changes.note(NodeId(8));
  EXPECT_EQ(visit(changes, outside), std::vector{NodeId(8)});
  EXPECT_EQ(visit(changes, inside).size(), 100'002u) << "what it saw was undone, and there is a fact";

  Changes::Position both = changes.end();
  for (std::uint32_t i = 0; i < 100; ++i) {
    changes.begin_trial();
    trial(100'000);
    changes.end_trial();
  }
  EXPECT_TRUE(visit(changes, both).empty()) << "trials that nobody reads take no space";
}

TEST(Changes, AReaderLearnsThatATrialItSawWasOverwritten) {
  Changes changes;
  Changes::Position position;
  changes.begin_trial();
  changes.note(NodeId(1));
  position = changes.end();
  changes.end_trial();
  for (std::uint32_t i = 0; i < kChangesMax; ++i) {
    changes.begin_trial();
    changes.note(NodeId(i));
    static_cast<void>(changes.end());
    changes.end_trial();
  }
  EXPECT_FALSE(changes.visit_since(position, [](NodeId) {}, [](PoolId) {}));
}

// A reader of changes that compares what it visits with the stamps that it saw.
class Reader {
 public:
  explicit Reader(const Cluster& cluster)
      : cluster_(cluster), position_(cluster.ledger().changes().end()), seen_(stamps_of(cluster)) {}

  void read() {
    std::vector<NodeId> changed;
    RC_ASSERT(cluster_.changed_since(position_, changed) != Cluster::ChangeScope::Unknown);
    for (std::uint32_t n = 0; n < seen_.size(); ++n)
      if (stamps_of(cluster_, NodeId(n)) != seen_[n])
        RC_ASSERT(std::find(changed.begin(), changed.end(), NodeId(n)) != changed.end());
    position_ = cluster_.ledger().changes().end();
    seen_ = stamps_of(cluster_);
  }

 private:
  const Cluster& cluster_;
  Changes::Position position_;
  std::vector<std::vector<std::uint64_t>> seen_;
};

TEST(ClusterProperty, ReadersInsideAndOutsideOfTransactionsMissNoNode) {
  EXPECT_TRUE(rc::check("every node that differs from what a reader saw is listed", [] {
    History history;
    std::vector<Reader> readers(3, Reader(history.cluster));
    const auto some_read = [&] {
      for (Reader& reader : readers)
        if (*rc::gen::inRange(0, 3) == 0) reader.read();
    };
    history.between = some_read;
    const int steps = *rc::gen::resize(rc::kNominalSize, rc::gen::inRange(0, 40));
    for (int i = 0; i < steps; ++i) {
      history.step();
      some_read();
    }
  }));
}

TEST(ClusterProperty, AnyHistoryEqualsItsRebuild) {
  EXPECT_TRUE(rc::check("a history leaves what a rebuild gives", [] {
    History history;
    const int steps = *rc::gen::resize(rc::kNominalSize, rc::gen::inRange(0, 40));
    for (int i = 0; i < steps; ++i) {
      history.step();
      RC_ASSERT(history.cluster.to_text() == history.rebuilt());
    }
  }));
}

}  // namespace
}  // namespace berth::model
