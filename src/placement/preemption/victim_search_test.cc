// VictimSearch against a judge that builds each cluster without the victims anew, and once more with those
// that come back, on small random worlds; and rows worked out by hand.
#include "placement/preemption/victim_search.h"

#include <gtest/gtest.h>

#include "placement/decision_core.h"
#include "placement/preemption/disruptions.h"
#include "placement/preemption/test_victims.h"
#include "placement/test_cluster.h"

namespace berth::placement {
namespace {

constexpr int kPreemptor = 5;  // its priority

// One pod that runs.
struct Running {
  std::string name;
  int node = 0;
  int priority = 0;
  int cpu = 1;
  int started = 0;       // seconds
  int claim = -1;        // of FullCluster::claims
  bool app = false;      // the preemptor keeps apart from these, where it does
  bool daemon = false;   // of a DaemonSet
  bool guarded = false;  // by the budget
  int port = 0;
  bool again = false;  // a ReplicaSet makes it anew
  int saved = -1;      // its last checkpoint, in seconds; -1: none
  bool operator==(const Running&) const = default;
};

// A world from which pods can be left out: its objects, without any ledger.
struct FullCluster {
  int nodes = 2;
  std::vector<Running> pods;
  std::vector<std::vector<std::string>> claims;  // the devices of each, "node/device"
  int devices = 0;                               // a node
  int permitted = 0;                             // by the budget
  int cpu = 1, wants = 0, port = 0;              // of the preemptor: cpu, devices, host port
  bool apart = false;
  int zones = 0;  // 0: each node is one
  VictimScoring scoring = VictimScoring::Reference;
};

std::string node_name(int node) {
  return "n" + std::to_string(node);
}

std::string pod_text(const Running& pod) {
  std::string labels = pod.app ? R"("app":"a")" : "";
  if (pod.guarded) labels += std::string(labels.empty() ? "" : ",") + R"("guarded":"yes")";
  std::string text = R"({"metadata":{"name":")" + pod.name + R"(","namespace":"ns","uid":")" + pod.name +
                     R"(","labels":{)" + labels + "}" + checkpoint_json(pod.saved);
  if (pod.daemon || pod.again)
    text += R"(,"ownerReferences":[{"apiVersion":"apps/v1","kind":")" +
            std::string(pod.daemon ? "DaemonSet" : "ReplicaSet") +
            R"(","name":"d","uid":"d","controller":true}])";
  text += R"(},"spec":{)" + (pod.node < 0 ? "" : R"("nodeName":")" + node_name(pod.node) + "\",") +
          R"("priority":)" + std::to_string(pod.priority) +
          R"(,"containers":[{"name":"c","resources":{"requests":{"cpu":")" + std::to_string(pod.cpu) +
          R"("}})";
  if (pod.port > 0) text += R"(,"ports":[{"containerPort":1,"hostPort":)" + std::to_string(pod.port) + "}]";
  text += "}]";
  if (pod.claim >= 0)
    text += R"(,"resourceClaims":[{"name":"c","resourceClaimName":"c)" + std::to_string(pod.claim) + R"("}])";
  return text + R"(},"status":{"phase":"Running","startTime":")" + format_time(victims_time(pod.started)) +
         R"(","conditions":[{"type":"Ready","status":"True"}]}})";
}

std::string claim_text(const FullCluster& world, std::size_t claim, const std::vector<Running>& pods) {
  std::string users, results;
  for (const Running& pod : pods)
    if (pod.claim == static_cast<int>(claim))
      users += std::string(users.empty() ? "" : ",") + R"({"resource":"pods","name":")" + pod.name +
               R"(","uid":")" + pod.name + "\"}";
  for (const std::string& device : world.claims[claim])
    results += std::string(results.empty() ? "" : ",") +
               R"({"request":"r","driver":"gpu.example.com","pool":")" + device.substr(0, device.find('/')) +
               R"(","device":")" + device.substr(device.find('/') + 1) + "\"}";
  std::string text = R"({"metadata":{"name":"c)" + std::to_string(claim) +
                     R"(","namespace":"ns","uid":"uid-c)" + std::to_string(claim) +
                     R"("},"spec":{"devices":{"requests":[{"name":"r","exactly":{"deviceClassName":"gpu",)" +
                     R"("allocationMode":"ExactCount","count":)" +
                     std::to_string(world.claims[claim].size()) + "}}]}}";
  if (!users.empty())
    text += R"(,"status":{"allocation":{"devices":{"results":[)" + results + R"(]}},"reservedFor":[)" +
            users + "]}";
  return text + "}";
}

std::string preemptor_text(const FullCluster& world) {
  std::string text = R"({"metadata":{"name":"high","namespace":"ns","uid":"high"},"spec":{"priority":)" +
                     std::to_string(kPreemptor) +
                     R"(,"containers":[{"name":"c","resources":{"requests":{"cpu":")" +
                     std::to_string(world.cpu) + R"("}})";
  if (world.port > 0)
    text += R"(,"ports":[{"containerPort":1,"hostPort":)" + std::to_string(world.port) + "}]";
  text += "}]";
  if (world.wants > 0) text += R"(,"resourceClaims":[{"name":"c","resourceClaimName":"high"}])";
  if (world.apart)
    text += R"(,"affinity":{"podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{)"
            R"("labelSelector":{"matchLabels":{"app":"a"}},"topologyKey":"zone"}]}})";
  return text + "}}";
}

int zone_of(const FullCluster& world, int node) {
  return world.zones == 0 ? node : node % world.zones;
}

// The world without the pods in `gone`; with those that wait to come back.
std::unique_ptr<PluginBench> build(const FullCluster& world, const std::set<std::string>& gone,
                                   const std::vector<Running>& returning = {}) {
  auto bench = std::make_unique<PluginBench>();
  for (int i = 0; i < world.nodes; ++i) {
    bench->put_node(node_name(i), R"("zone":"z)" + std::to_string(zone_of(world, i)) + "\"");
    std::string devices;
    for (int d = 0; d < world.devices; ++d)
      devices += std::string(d == 0 ? "" : ",") + R"({"name":"d)" + std::to_string(d) + "\"}";
    if (world.devices > 0)
      bench->put(api::Kind::ResourceSlice, R"({"metadata":{"name":"s)" + std::to_string(i) +
                                               R"("},"spec":{"driver":"gpu.example.com","pool":{"name":")" +
                                               node_name(i) +
                                               R"(","generation":1,"resourceSliceCount":1},"nodeName":")" +
                                               node_name(i) + R"(","devices":[)" + devices + "]}}");
  }
  put_class_and_budget(*bench, world.permitted);
  std::vector<Running> left;
  for (const Running& pod : world.pods)
    if (!gone.contains(pod.name)) left.push_back(pod);
  for (std::size_t i = 0; i < world.claims.size(); ++i)
    bench->put(api::Kind::ResourceClaim, claim_text(world, i, left));
  if (world.wants > 0)
    bench->put(api::Kind::ResourceClaim,
               R"({"metadata":{"name":"high","namespace":"ns","uid":"uid-high"},"spec":{"devices":)"
               R"({"requests":[{"name":"r","exactly":{"deviceClassName":"gpu","allocationMode":"ExactCount",)"
               R"("count":)" +
                   std::to_string(world.wants) + "}}]}}}");
  for (const Running& pod : left) bench->put(api::Kind::Pod, pod_text(pod));
  for (Running pod : returning) {
    pod.node = -1;
    bench->put(api::Kind::Pod, pod_text(pod));
  }
  bench->put(api::Kind::Pod, preemptor_text(world));
  return bench;
}

bool fits(const FullCluster& world, int node, const std::set<std::string>& gone) {
  const auto bench = build(world, gone);
  bench->begin(*bench->view.pods.find("ns", "high"));
  const NodeId id = bench->cluster.find_node(node_name(node));
  return bench->pods.prepare(bench->state) && bench->pods.choose(bench->state, {&id, 1}, {}).valid();
}

bool fits_somewhere(const FullCluster& world) {
  for (int node = 0; node < world.nodes; ++node)
    if (fits(world, node, {})) return true;
  return false;
}

// The judge: kube-scheduler's rules, one pod at a time.
struct Judged {
  int node = -1;
  std::vector<Running> victims;  // the most important first
  std::string text() const {
    std::string out = node < 0 ? "nobody" : node_name(node) + ":";
    for (const Running& pod : victims) out += " " + pod.name;
    return out;
  }
};

bool more_important(const Running& a, const Running& b) {
  if (a.priority != b.priority) return a.priority > b.priority;
  if (a.started != b.started) return a.started < b.started;
  return a.name < b.name;
}

// Those whose eviction the budget refuses, counted from the first on.
std::set<std::string> refused_of(const FullCluster& world, const std::vector<Running>& pods) {
  std::set<std::string> refused;
  int left = world.permitted;
  for (const Running& pod : pods)
    if (pod.guarded && --left < 0) refused.insert(pod.name);
  return refused;
}

// `far`: those that the preemptor keeps apart from, in the node's zone, count too.
std::vector<Running> victims_on(const FullCluster& world, int node, bool far) {
  std::vector<Running> lower;
  // Pods elsewhere count if they share a claim with one of the node.
  const auto shares = [&](const Running& pod) {
    return pod.claim >= 0 && world.wants > 0 && std::ranges::any_of(world.pods, [&](const Running& other) {
             return other.node == node && other.claim == pod.claim && other.priority < kPreemptor;
           });
  };
  for (const Running& pod : world.pods)
    if (pod.priority < kPreemptor &&
        (pod.node == node || shares(pod) ||
         (far && world.apart && pod.app && zone_of(world, pod.node) == zone_of(world, node))))
      lower.push_back(pod);
  std::ranges::sort(lower, more_important);
  return lower;
}

// A cluster that is built without some pods, in which the preemptor has its node. Those that come back are
// new pods.
struct Afterwards {
  Afterwards(const FullCluster& world, int node, const std::set<std::string>& gone,
             const std::vector<Running>& returning)
      : bench(build(world, gone, returning)),
        core(bench->cluster, bench->selectors, {}),
        context{bench->view, bench->cluster, core.allocator()},
        transaction(bench->cluster.ledger()) {
    std::vector<NodeId> others;
    for (const auto& [name, id] : bench->cluster.live_nodes())
      if (name != node_name(node)) others.push_back(id);
    EXPECT_TRUE(
        core.place_pod(context, *bench->view.pods.find("ns", "high"), others, transaction).has_value());
  }
  PodDecision decide(const std::string& pod) {
    return core.decide_pod(context, *bench->view.pods.find("ns", pod), {}, transaction, {.searches = true});
  }

  std::unique_ptr<PluginBench> bench;
  DecisionCore core;
  SchedulingContext context;
  model::Ledger::Transaction transaction;
};

std::set<std::string> names_of(const std::vector<Running>& pods) {
  std::set<std::string> names;
  for (const Running& pod : pods) names.insert(pod.name);
  return names;
}

// Whether it comes back and has room by itself, without any of these pods.
bool has_room(const FullCluster& world, int node, const std::vector<Running>& gone, const Running& pod) {
  if (!pod.again && !pod.daemon) return false;
  return Afterwards(world, node, names_of(gone), {pod}).decide(pod.name).node.valid();
}

enum class TakenBackLast : std::uint8_t { LeastImportant, MovesAmongEquals };

std::optional<std::vector<Running>> judge_node(const FullCluster& world, int node, bool far,
                                               TakenBackLast last) {
  std::vector<Running> order = victims_on(world, node, far);
  std::set<std::string> gone = names_of(order);
  if (order.empty() || !fits(world, node, gone)) return std::nullopt;
  const std::set<std::string> refused = refused_of(world, order);
  std::set<std::string> moves;
  if (last == TakenBackLast::MovesAmongEquals)
    for (const Running& pod : order)
      if (has_room(world, node, order, pod)) moves.insert(pod.name);
  std::ranges::stable_sort(order, {}, [&](const Running& pod) {
    const int turn = pod.daemon ? 0 : refused.contains(pod.name) ? 1 : 2;
    return std::tuple(turn, -pod.priority, moves.contains(pod.name));
  });
  for (const Running& pod : order) {
    gone.erase(pod.name);
    if (!fits(world, node, gone)) gone.insert(pod.name);
  }
  std::erase_if(order, [&](const Running& pod) { return !gone.contains(pod.name); });
  std::ranges::sort(order, more_important);
  return order;
}

Returned returns_of(const FullCluster& world, int node, const std::vector<Running>& victims) {
  std::vector<Running> returning;
  for (const Running& pod : victims)
    if (pod.again || pod.daemon) returning.push_back(pod);
  Returned returned{0, static_cast<int>(victims.size())};
  if (returning.empty()) return returned;
  Afterwards afterwards(world, node, names_of(victims), returning);
  for (const Running& pod : returning) {
    const PodDecision decision = afterwards.decide(pod.name);
    if (decision.preemption) returned.refused += static_cast<int>(decision.preemption->cost.refused);
    if (decision.node.valid()) --returned.without_room;
  }
  return returned;
}

std::vector<std::int64_t> cost_on(const FullCluster& world, int node, const std::vector<Running>& victims) {
  std::int64_t daemons = 0, sum = 0, earliest = INT64_MAX;
  for (const Running& pod : victims) {
    daemons += pod.daemon ? 1 : 0;
    sum += pod.priority + (std::int64_t{1} << 31);
    if (pod.priority == victims.front().priority) earliest = std::min<std::int64_t>(earliest, pod.started);
  }
  const Returned returned = returns_of(world, node, victims);
  return {daemons,
          static_cast<std::int64_t>(refused_of(world, victims).size()),
          returned.refused,
          victims.front().priority,
          returned.without_room,
          sum,
          static_cast<std::int64_t>(victims.size()),
          -earliest};
}

Judged judge(const FullCluster& world, bool far) {
  Judged best;
  std::vector<std::int64_t> best_cost;
  const auto try_node = [&](int node, TakenBackLast last) {
    const auto victims = judge_node(world, node, far, last);
    if (!victims) return;
    const std::vector<std::int64_t> cost = cost_on(world, node, *victims);
    if (best.node >= 0 && cost >= best_cost) return;
    best = {node, *victims};
    best_cost = cost;
  };
  for (int node = 0; node < world.nodes; ++node) try_node(node, TakenBackLast::LeastImportant);
  if (best.node >= 0) try_node(best.node, TakenBackLast::MovesAmongEquals);
  return best;
}

// Victims on the node itself, if they are enough on some node.
Judged judge(const FullCluster& world) {
  const Judged near = judge(world, false);
  return near.node < 0 ? judge(world, true) : near;
}

// The answer of the search.
Judged search(const FullCluster& world) {
  const auto bench = build(world, {});
  bench->context.now = victims_time(kVictimsNow);
  bench->context.victim_scoring = world.scoring;
  const api::Pod& pod = *bench->view.pods.find("ns", "high");
  VictimSearch victims(bench->pods, bench->domains);
  model::Ledger::Transaction transaction(bench->cluster.ledger());
  bench->begin(pod);
  EXPECT_FALSE(bench->index.choose(bench->state, {}).valid());
  const std::string before = bench->cluster.to_text();
  Judged found;
  if (!victims.may_find(bench->context, pod.priority)) return found;
  NoVictimsFound why;
  const auto plan =
      victims.find(bench->context, pod, bench->index.refused(bench->state), {}, transaction, why);
  EXPECT_EQ(bench->cluster.to_text(), before) << "a search changes nothing";
  if (!plan) return found;
  EXPECT_FALSE(plan->ended);
  found.node = std::stoi(bench->cluster.node(plan->node).name.substr(1));
  for (const PreemptionVictim& victim : plan->victims)
    for (const Running& pod_of_world : world.pods)
      if (pod_of_world.name == victim.uid) found.victims.push_back(pod_of_world);
  return found;
}

FullCluster random_full_cluster() {
  FullCluster world;
  world.nodes = 2 + random_below(2);
  world.devices = random_below(3);
  std::vector<std::vector<std::string>> free(static_cast<std::size_t>(world.nodes));
  for (std::size_t i = 0; i < free.size(); ++i)
    for (int d = 0; d < world.devices; ++d)
      free[i].push_back(node_name(static_cast<int>(i)) + "/d" + std::to_string(d));
  const int priorities[] = {0, 1, 2, 9};
  for (int node = 0; node < world.nodes; ++node) {
    int cpu = 4;
    for (int i = 0; i < 3 && cpu > 0; ++i) {
      Running pod{"p" + std::to_string(node) + std::to_string(i), node};
      pod.priority = priorities[one_in(8) ? 3 : random_below(3)];
      pod.cpu = 1 + random_below(cpu);
      pod.started = random_below(3);
      pod.app = one_in(3);
      pod.daemon = one_in(6);
      pod.guarded = one_in(3);
      pod.again = !pod.daemon && one_in(3);
      pod.port = one_in(4) ? 80 : 0;
      auto& devices = free[static_cast<std::size_t>(node)];
      if (!world.claims.empty() && one_in(3)) {
        pod.claim = random_below(static_cast<int>(world.claims.size()));
      } else if (!devices.empty() && one_in(2)) {
        pod.claim = static_cast<int>(world.claims.size());
        world.claims.push_back({devices.back()});
        devices.pop_back();
      }
      cpu -= pod.cpu;
      world.pods.push_back(pod);
    }
  }
  world.permitted = random_below(3);
  world.cpu = 1 + random_below(4);
  world.wants = world.devices > 0 && one_in(2) ? 1 + random_below(2) : 0;
  world.port = one_in(4) ? 80 : 0;
  world.apart = one_in(3);
  world.zones = random_below(3);
  return world;
}

TEST(VictimSearch, AgreesWithTheJudgeAndIsMinimal) {
  EXPECT_TRUE(rc::check("the cheapest minimal victims", [] {
    const FullCluster world = random_full_cluster();
    RC_PRE(!fits_somewhere(world));
    const Judged found = search(world), judged = judge(world);
    RC_ASSERT(found.text() == judged.text());
    if (found.node < 0) return;
    // No proper subset makes room on this node.
    const std::size_t subsets = std::size_t{1} << found.victims.size();
    for (std::size_t subset = 0; subset < subsets; ++subset) {
      std::set<std::string> gone;
      for (std::size_t i = 0; i < found.victims.size(); ++i)
        if ((subset >> i & 1) != 0) gone.insert(found.victims[i].name);
      RC_ASSERT(fits(world, found.node, gone) == (subset + 1 == subsets));
    }
  }));
}

// Refused, highest priority, lost work, sum, number, start: as PreemptionCost, of pods that do not come back.
std::vector<std::int64_t> cost_by_loss(const FullCluster& world, const std::vector<Running>& victims) {
  std::int64_t top = INT64_MIN, lost = 0, sum = 0, earliest = 0;
  for (const Running& pod : victims) {
    const std::size_t devices = pod.claim < 0 ? 0 : world.claims[static_cast<std::size_t>(pod.claim)].size();
    lost += static_cast<std::int64_t>(devices) * (kVictimsNow - std::max(pod.started, pod.saved));
    sum += pod.priority + (std::int64_t{1} << 31);
    if (pod.priority > top) earliest = pod.started;
    if (pod.priority >= top) earliest = std::min<std::int64_t>(earliest, pod.started);
    top = std::max<std::int64_t>(top, pod.priority);
  }
  return {static_cast<std::int64_t>(refused_of(world, victims).size()),
          top,
          lost,
          sum,
          static_cast<std::int64_t>(victims.size()),
          -earliest};
}

// Of all sets of pods that make room on the node; empty: none does.
std::vector<std::int64_t> least_cost_on(const FullCluster& world, int node) {
  const std::vector<Running> lower = victims_on(world, node, false);
  std::vector<std::int64_t> best;
  for (std::size_t subset = 1; subset < std::size_t{1} << lower.size(); ++subset) {
    std::vector<Running> victims;
    std::set<std::string> gone;
    for (std::size_t i = 0; i < lower.size(); ++i)
      if ((subset >> i & 1) != 0) victims.push_back(lower[i]);
    for (const Running& pod : victims) gone.insert(pod.name);
    const std::vector<std::int64_t> cost = cost_by_loss(world, victims);
    if ((best.empty() || cost < best) && fits(world, node, gone)) best = cost;
  }
  return best;
}

TEST(VictimSearch, LosesTheLeastWorkOfAllSets) {
  EXPECT_TRUE(rc::check("the least lost work", [] {
    FullCluster world = random_full_cluster();
    world.scoring = VictimScoring::LeastLostWork;
    world.apart = false;
    for (Running& pod : world.pods) {
      pod.daemon = pod.again = false;
      pod.saved = one_in(2) ? random_below(kVictimsNow) : -1;
    }
    RC_PRE(!fits_somewhere(world));
    int node = -1;
    std::vector<std::int64_t> least;
    for (int i = 0; i < world.nodes; ++i)
      if (const auto cost = least_cost_on(world, i); !cost.empty() && (least.empty() || cost < least)) {
        least = cost;
        node = i;
      }
    const Judged found = search(world);
    RC_ASSERT(found.node == node);
    if (node >= 0) RC_ASSERT(cost_by_loss(world, found.victims) == least);
  }));
}

struct Row {
  const char* name;
  FullCluster world;
  const char* wanted;
};

// On n0 and n1 a pod of four cpu and one of two, which are made again; on n2 a pod of `taken` cpu that stays.
FullCluster two_that_come_back(int taken) {
  return {3,
          {{"a", 0, 1, 4, 5, -1, false, false, false, 0, true},
           {"b", 1, 1, 2, 1, -1, false, false, false, 0, true},
           {"c", 2, 9, taken, 0}},
          {},
          0,
          0,
          3};
}

const Row kByHand[] = {
    {"P3: one victim is enough, and the smallest one that is",
     {1, {{"a", 0, 0, 1, 0}, {"b", 0, 0, 2, 1}, {"c", 0, 0, 1, 2}}, {}, 0, 0, 1},
     "n0: c"},
    {"P5: a DaemonSet's pod stays while another set exists, although that costs more",
     {2, {{"d", 0, 0, 4, 0, -1, false, true}, {"a", 1, 4, 4, 0}}, {}, 0, 0, 4},
     "n1: a"},
    {"P6: a device is free when all three holders of its claim are gone",
     {2,
      {{"a", 0, 0, 1, 0, 0}, {"b", 0, 0, 1, 0, 0}, {"c", 1, 0, 1, 0, 0}, {"d", 1, 1, 1, 0, 1}},
      {{"n0/d0"}, {"n1/d0"}},
      1,
      0,
      1,
      1},
     "n0: a b c"},
    {"P6: where one pod alone holds a device of the same priority, it goes",
     {2,
      {{"a", 0, 0, 1, 0, 0}, {"b", 0, 0, 1, 0, 0}, {"c", 1, 0, 1, 0, 0}, {"d", 1, 0, 1, 0, 1}},
      {{"n0/d0"}, {"n1/d0"}},
      1,
      0,
      1,
      1},
     "n1: d"},
    {"P7: the pod with the device and the one with the cpu",
     {1, {{"gpu", 0, 0, 1, 0, 0}, {"cpu", 0, 0, 3, 1}}, {{"n0/d0"}}, 1, 0, 4, 1},
     "n0: gpu cpu"},
    {"P8: two equal nodes: the first by name",
     {3, {{"a", 0, 9, 4, 0}, {"b", 1, 0, 4, 0}, {"c", 2, 0, 4, 0}}, {}, 0, 0, 4},
     "n1: b"},
    {"a budget that permits none costs more than a higher priority",
     {2, {{"a", 0, 0, 4, 0, -1, false, false, true}, {"b", 1, 3, 4, 0}}, {}, 0, 0, 4},
     "n1: b"},
    {"a budget that permits one is not hurt",
     {2, {{"a", 0, 0, 4, 0, -1, false, false, true}, {"b", 1, 3, 4, 0}}, {}, 0, 1, 4},
     "n0: a"},
    {"of two victims of the same budget that permits one, one is refused: the other node",
     {2,
      {{"a", 0, 0, 2, 0, -1, false, false, true},
       {"b", 0, 0, 2, 0, -1, false, false, true},
       {"c", 1, 0, 2, 0},
       {"d", 1, 3, 2, 0}},
      {},
      0,
      1,
      4},
     "n1: d c"},
    {"the lowest highest priority",
     {2, {{"a", 0, 2, 4, 0}, {"b", 1, 1, 2, 0}, {"c", 1, 1, 2, 0}}, {}, 0, 0, 4},
     "n1: b c"},
    {"then the fewest", {2, {{"b", 0, 1, 2, 0}, {"c", 0, 1, 2, 0}, {"a", 1, 1, 4, 0}}, {}, 0, 0, 4}, "n1: a"},
    {"then the one that started last", {2, {{"a", 0, 1, 4, 0}, {"b", 1, 1, 4, 5}}, {}, 0, 0, 4}, "n1: b"},
    {"a device behind a higher priority is not free",
     {1, {{"a", 0, 0, 1, 0, 0}, {"b", 0, 9, 1, 0, 0}}, {{"n0/d0"}}, 1, 0, 1, 1},
     "nobody"},
    {"a host port", {1, {{"a", 0, 0, 1, 0, -1, false, false, false, 80}}, {}, 0, 0, 1, 0, 80}, "n0: a"},
    {"anti-affinity",
     {1, {{"a", 0, 0, 1, 0, -1, true}, {"b", 0, 0, 1, 0}}, {}, 0, 0, 1, 0, 0, true},
     "n0: a"},
    {"P4: the pod that comes back would evict the one that the budget protects",
     {3,
      {{"a", 0, 1, 4, 0, -1, false, false, false, 0, true},
       {"b", 1, 0, 4, 0, -1, false, false, true},
       {"c", 2, 2, 4, 0}},
      {},
      0,
      0,
      4},
     "n2: c"},
    {"the same for a device",
     {3,
      {{"a", 0, 1, 1, 0, 0, false, false, false, 0, true},
       {"b", 1, 0, 1, 0, 1, false, false, true},
       {"c", 2, 2, 1, 0, 2}},
      {{"n0/d0"}, {"n1/d0"}, {"n2/d0"}},
      1,
      0,
      1,
      1},
     "n2: c"},
    {"a device that is free elsewhere is enough for the pod that comes back",
     {3,
      {{"a", 0, 1, 1, 0, 0, false, false, false, 0, true},
       {"b", 1, 0, 1, 0, 1, false, false, true},
       {"c", 2, 2, 3, 0}},
      {{"n0/d0"}, {"n1/d0"}},
      1,
      0,
      2,
      1},
     "n0: a"},
    {"a pod that fits elsewhere goes, although another started later", two_that_come_back(2), "n1: b"},
    {"of one node's pods, the one that fits elsewhere goes",
     {2,
      {{"a", 0, 1, 2, 1, -1, false, false, false, 0, true},
       {"b", 0, 1, 2, 5},
       {"c", 1, 9, 2, 0, -1, false, false, false, 80}},
      {},
      0,
      0,
      2,
      0,
      80},
     "n0: a"},
    {"nobody fits elsewhere: the one that started last goes", two_that_come_back(3), "n0: a"},
    {"anti-affinity in a zone: the pod on the other node goes, and the full node stays as it is",
     {2, {{"a", 0, 0, 1, 0, -1, true}, {"b", 1, 9, 1, 0}, {"c", 0, 9, 3, 0}}, {}, 0, 0, 2, 0, 0, true, 1},
     "n1: a"},
};

TEST(VictimSearch, ChoosesAsWorkedOutByHand) {
  for (const Row& row : kByHand) {
    EXPECT_EQ(search(row.world).text(), row.wanted) << row.name;
    EXPECT_EQ(judge(row.world).text(), row.wanted) << row.name;
  }
}

struct GangRow {
  const char* name;
  const char* group;  // spec of group g: three members of 2 cpu each, on n0, n0 and n1
  const char* cpu;    // of the preemptor, which needs n0
  const char* wanted;
};

TEST(VictimSearch, TakesOfAGangWhatItsMinimumLeaves) {
  const GangRow rows[] = {
      {"one beyond the minimum", R"("schedulingPolicy":{"gang":{"minCount":2}})", "2", "m1"},
      {"two would be too few: the gang goes", R"("schedulingPolicy":{"gang":{"minCount":2}})", "4",
       "m0 m1 m2"},
      {"no member beyond the minimum", R"("schedulingPolicy":{"gang":{"minCount":3}})", "2", "m0 m1 m2"},
      {"a basic group", R"("schedulingPolicy":{"basic":{}})", "4", "m0 m1"},
      {"disrupted as one", R"("schedulingPolicy":{"gang":{"minCount":1}},"disruptionMode":{"all":{}})", "2",
       "m0 m1 m2"},
  };
  for (const GangRow& row : rows) {
    PluginBench bench;
    for (const char* node : {"n0", "n1"}) bench.put_node(node, R"("host":")" + std::string(node) + "\"");
    bench.put(api::Kind::PodGroup, R"({"metadata":{"name":"g","namespace":"ns","uid":"g"},"spec":{)" +
                                       std::string(row.group) + "}}");
    for (int i = 0; i < 3; ++i)
      bench.put(
          api::Kind::Pod,
          R"({"metadata":{"name":"m)" + std::to_string(i) + R"(","namespace":"ns","uid":"m)" +
              std::to_string(i) + R"("},"spec":{"nodeName":"n)" + std::to_string(i / 2) +
              R"(","schedulingGroup":{"podGroupName":"g"},"containers":[{"name":"c","resources":)" +
              R"({"requests":{"cpu":"2"}}}]},"status":{"phase":"Running","startTime":"2026-01-01T00:00:0)" +
              std::to_string(i) + R"(Z"}})");
    bench.put(
        api::Kind::Pod,
        R"({"metadata":{"name":"high","namespace":"ns","uid":"high"},"spec":{"priority":5,"nodeSelector":)"
        R"({"host":"n0"},"containers":[{"name":"c","resources":{"requests":{"cpu":")" +
            std::string(row.cpu) + R"("}}}]}})");
    const api::Pod& pod = *bench.view.pods.find("ns", "high");
    VictimSearch victims(bench.pods, bench.domains);
    model::Ledger::Transaction transaction(bench.cluster.ledger());
    bench.begin(pod);
    ASSERT_FALSE(bench.index.choose(bench.state, {}).valid());
    ASSERT_TRUE(victims.may_find(bench.context, pod.priority));
    NoVictimsFound why;
    const auto plan =
        victims.find(bench.context, pod, bench.index.refused(bench.state), {}, transaction, why);
    ASSERT_TRUE(plan.has_value()) << row.name;
    std::string names;
    for (const PreemptionVictim& victim : plan->victims) names += (names.empty() ? "" : " ") + victim.uid;
    EXPECT_EQ(names, row.wanted) << row.name;
  }
}

struct BudgetRow {
  const char* name;
  const char* budget;  // spec and status
  const char* ready;   // of both pods
  bool first, second;  // whether the API would evict them, one after the other
};

TEST(Disruptions, CountsAsTheEvictionApiDoes) {
  const std::string selects = R"("selector":{"matchLabels":{"app":"a"}})";
  const BudgetRow rows[] = {
      {"one is permitted", R"("spec":{$},"status":{"disruptionsAllowed":1})", "True", true, false},
      {"none is", R"("spec":{$},"status":{"disruptionsAllowed":0})", "True", false, false},
      {"its controller has not read the spec",
       R"("spec":{$},"status":{"disruptionsAllowed":2,"observedGeneration":0})", "True", false, false},
      {"an empty selector selects all", R"("spec":{"selector":{}},"status":{"disruptionsAllowed":1})", "True",
       true, false},
      {"another selector", R"("spec":{"selector":{"matchLabels":{"app":"b"}}},"status":{})", "True", true,
       true},
      {"an eviction that is under way",
       R"("spec":{$},"status":{"disruptedPods":{"a1":"2026-01-01T00:00:00Z"}})", "True", true, false},
      {"pods that are not ready, while the others suffice",
       R"("spec":{$},"status":{"desiredHealthy":1,"currentHealthy":1})", "False", true, true},
      {"pods that are not ready, while too few are",
       R"("spec":{$},"status":{"desiredHealthy":2,"currentHealthy":1})", "False", false, false},
      {"pods that are not ready, always",
       R"("spec":{$,"unhealthyPodEvictionPolicy":"AlwaysAllow"},"status":{"desiredHealthy":2})", "False",
       true, true},
  };
  for (const BudgetRow& row : rows) {
    PluginBench bench;
    std::string budget = row.budget;
    if (const auto at = budget.find('$'); at != budget.npos) budget.replace(at, 1, selects);
    if (budget.find("observedGeneration") == budget.npos)
      budget.replace(budget.find(R"("status":{)"), 10, R"("status":{"observedGeneration":1,)");
    if (budget.ends_with(",}")) budget.replace(budget.size() - 2, 2, "}");
    bench.put(api::Kind::PodDisruptionBudget,
              R"({"metadata":{"name":"b","namespace":"ns","generation":1},)" + budget + "}");
    for (const char* pod : {"a1", "a2"})
      bench.put(api::Kind::Pod,
                R"({"metadata":{"name":")" + std::string(pod) + R"(","namespace":"ns","uid":")" + pod +
                    R"(","labels":{"app":"a"}},"spec":{"nodeName":"n"},"status":{"phase":"Running",)" +
                    R"("conditions":[{"type":"Ready","status":")" + row.ready + R"("}]}})");
    Disruptions disruptions(bench.view);
    EXPECT_EQ(disruptions.count(*bench.view.pods.find("ns", "a1")), row.first) << row.name;
    EXPECT_EQ(disruptions.count(*bench.view.pods.find("ns", "a2")), row.second) << row.name;
  }
}

}  // namespace
}  // namespace berth::placement
