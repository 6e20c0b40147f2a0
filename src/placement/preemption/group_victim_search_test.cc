// GroupVictimSearch against a judge that tries every set of victims by plain sums, on small random worlds;
// and rows worked out by hand.
#include "placement/preemption/group_victim_search.h"

#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <set>

#include "base/random.h"
#include "placement/decision_core.h"
#include "placement/preemption/test_victims.h"
#include "placement/test_cluster.h"

namespace berth::placement {
namespace {

constexpr int kGangPriority = 5;
constexpr int kCpuOfNode = 4, kIgnoredOfNode = 6;

// One pod that runs.
struct Occupant {
  int node = 0;
  int priority = 0;
  int cpu = 1;
  int devices = 0;
  bool guarded = false;  // by the budget
  bool in_gang = false;  // of the gang that is disrupted as one, of priority 1
  int ignored = 0;       // of the resource that the profile ignores
  bool again = false;    // a ReplicaSet makes it anew
  int started = -1;      // seconds; -1: as many as pods come before it
  int saved = -1;        // its last checkpoint, the same; -1: none
};

struct Racks {
  int racks = 2;
  int nodes = 2;           // of each
  int devices = 0;         // of each node
  int members = 2;         // of the preemptor; all must be placed
  int cpu = 2, wants = 0;  // of each
  int permitted = 0;       // by the budget
  bool in_one_rack = true;
  int ignored = 0;  // each member asks for so much of the resource that the profile ignores
  std::vector<Occupant> pods;
  VictimScoring scoring = VictimScoring::Reference;
  std::uint64_t order_seed = 0;  // in which nodes and pods are created; 0: by number
};

int start_in(const Racks& world, std::size_t at) {
  return world.pods[at].started < 0 ? static_cast<int>(at) : world.pods[at].started;
}

std::string name_of_node(int node) {
  return "n" + std::to_string(node);
}

std::string name_of_pod(std::size_t pod) {
  return "p" + std::to_string(pod);
}

std::string claim_json(const std::string& name, int count, const std::string& status) {
  return R"({"metadata":{"name":")" + name + R"(","namespace":"ns","uid":"uid-)" + name +
         R"("},"spec":{"devices":{"requests":[{"name":"r","exactly":{"deviceClassName":"gpu",)" +
         R"("allocationMode":"ExactCount","count":)" + std::to_string(count) + "}}]}}" + status + "}";
}

// Of a pod or a node.
std::string amounts_json(int cpu, int ignored) {
  return R"("cpu":")" + std::to_string(cpu) + R"(","example.com/ignored":")" + std::to_string(ignored) + "\"";
}

// `returns`: it has no node.
std::string occupant_json(const Racks& world, std::size_t at, bool returns = false) {
  const Occupant& pod = world.pods[at];
  const std::string name = name_of_pod(at);
  std::string text =
      R"({"metadata":{"name":")" + name + R"(","namespace":"ns","uid":")" + name + "\"" +
      checkpoint_json(pod.saved) + (pod.guarded ? R"(,"labels":{"guarded":"yes"})" : "") +
      (pod.again ? R"(,"ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"r","uid":"r",)"
                   R"("controller":true}])"
                 : "") +
      R"(},"spec":{)" + (returns ? "" : R"("nodeName":")" + name_of_node(pod.node) + "\",") +
      R"("priority":)" + std::to_string(pod.priority) +
      (pod.in_gang ? R"(,"schedulingGroup":{"podGroupName":"victims"})" : "") +
      (pod.devices > 0 ? R"(,"resourceClaims":[{"name":"c","resourceClaimName":")" + name + "\"}]" : "") +
      R"(,"containers":[{"name":"c","resources":{"requests":{)" + amounts_json(pod.cpu, pod.ignored) +
      "}}}]}";
  if (returns) return text + "}";
  return text + R"(,"status":{"phase":"Running","startTime":")" +
         format_time(victims_time(start_in(world, at))) +
         R"(","conditions":[{"type":"Ready","status":"True"}]}})";
}

// Positions in the order of creation.
std::vector<std::size_t> creation_order(const Racks& world, std::size_t count) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  SeededRandom random(world.order_seed);
  for (std::size_t i = count; world.order_seed != 0 && i > 1; --i)
    std::swap(order[i - 1], order[random.below(i)]);
  return order;
}

// The device's number on each node grows with the pods. Those in `gone` wait to come back, or are left out.
void put_occupants(PluginBench& bench, const Racks& world, const std::set<std::size_t>& gone = {}) {
  std::map<int, int> used;
  for (const std::size_t at : creation_order(world, world.pods.size())) {
    const Occupant& pod = world.pods[at];
    if (gone.contains(at) && !pod.again) continue;
    if (gone.contains(at) && pod.devices > 0)
      bench.put(api::Kind::ResourceClaim, claim_json(name_of_pod(at), pod.devices, ""));
    if (!gone.contains(at) && pod.devices > 0) {
      std::string results;
      for (int i = 0; i < pod.devices; ++i)
        results += std::string(i == 0 ? "" : ",") + R"({"request":"r","driver":"gpu.example.com","pool":")" +
                   name_of_node(pod.node) + R"(","device":"d)" + std::to_string(used[pod.node]++) + "\"}";
      bench.put(api::Kind::ResourceClaim,
                claim_json(name_of_pod(at), pod.devices,
                           R"(,"status":{"allocation":{"devices":{"results":[)" + results +
                               R"(]}},"reservedFor":[{"resource":"pods","name":")" + name_of_pod(at) +
                               R"(","uid":")" + name_of_pod(at) + "\"}]}"));
    }
    bench.put(api::Kind::Pod, occupant_json(world, at, gone.contains(at)));
  }
}

void put_nodes(PluginBench& bench, const Racks& world) {
  for (const std::size_t at : creation_order(world, static_cast<std::size_t>(world.racks * world.nodes))) {
    const int i = static_cast<int>(at);
    bench.put(api::Kind::Node, R"({"metadata":{"name":")" + name_of_node(i) + R"(","labels":{"rack":"r)" +
                                   std::to_string(i / world.nodes) + R"("}},"status":{"allocatable":{)" +
                                   amounts_json(kCpuOfNode, kIgnoredOfNode) + R"(,"pods":"9"}}})");
    std::string devices;
    for (int d = 0; d < world.devices; ++d)
      devices += std::string(d == 0 ? "" : ",") + R"({"name":"d)" + std::to_string(d) + "\"}";
    if (world.devices > 0)
      bench.put(api::Kind::ResourceSlice, R"({"metadata":{"name":"s)" + std::to_string(i) +
                                              R"("},"spec":{"driver":"gpu.example.com",)" +
                                              R"("pool":{"name":")" + name_of_node(i) +
                                              R"(","generation":1,"resourceSliceCount":1},"nodeName":")" +
                                              name_of_node(i) + R"(","devices":[)" + devices + "]}}");
  }
}

std::unique_ptr<PluginBench> build_racks(const Racks& world, const std::set<std::size_t>& gone = {}) {
  auto bench = std::make_unique<PluginBench>();
  put_nodes(*bench, world);
  put_class_and_budget(*bench, world.permitted);
  bench->put(api::Kind::PodGroup,
             R"({"metadata":{"name":"victims","namespace":"ns","uid":"victims"},"spec":{"priority":1,)"
             R"("schedulingPolicy":{"gang":{"minCount":1}},"disruptionMode":{"all":{}}}})");
  bench->put(api::Kind::PodGroup,
             R"({"metadata":{"name":"g","namespace":"ns","uid":"g"},"spec":{"priority":)" +
                 std::to_string(kGangPriority) + R"(,"schedulingPolicy":{"gang":{"minCount":)" +
                 std::to_string(world.members) + "}}" +
                 (world.in_one_rack ? R"(,"schedulingConstraints":{"topology":[{"key":"rack"}]})" : "") +
                 "}}");
  put_occupants(*bench, world, gone);
  for (int i = 0; i < world.members; ++i) {
    const std::string name = "g" + std::to_string(i);
    if (world.wants > 0) bench->put(api::Kind::ResourceClaim, claim_json(name, world.wants, ""));
    bench->put(
        api::Kind::Pod,
        R"({"metadata":{"name":")" + name + R"(","namespace":"ns","uid":")" + name +
            R"("},"spec":{"schedulingGroup":{"podGroupName":"g"},"priority":)" +
            std::to_string(kGangPriority) +
            (world.wants > 0 ? R"(,"resourceClaims":[{"name":"c","resourceClaimName":")" + name + "\"}]"
                             : "") +
            R"(,"containers":[{"name":"c","resources":{"requests":{)" +
            amounts_json(world.cpu, world.ignored) + "}}}]}}");
  }
  return bench;
}

// Whether the members fit without these pods, by sums.
bool gang_fits(const Racks& world, const std::set<std::size_t>& gone) {
  int anywhere = 0;
  for (int rack = 0; rack < world.racks; ++rack) {
    int here = 0;
    for (int node = rack * world.nodes; node < (rack + 1) * world.nodes; ++node) {
      int cpu = kCpuOfNode, devices = world.devices, slots = 9;
      for (std::size_t at = 0; at < world.pods.size(); ++at) {
        if (world.pods[at].node != node || gone.contains(at)) continue;
        cpu -= world.pods[at].cpu;
        devices -= world.pods[at].devices;
        --slots;
      }
      int room = std::min(cpu / world.cpu, slots);
      if (world.wants > 0) room = std::min(room, devices / world.wants);
      here += room;
    }
    if (here >= world.members) return true;
    anywhere += here;
  }
  return !world.in_one_rack && anywhere >= world.members;
}

// Devices, and units of the extended resource, times the seconds since the last checkpoint or the start.
std::int64_t work_of(const Racks& world, std::size_t at) {
  const Occupant& pod = world.pods[at];
  return std::int64_t{pod.devices + pod.ignored} * (kVictimsNow - std::max(start_in(world, at), pod.saved));
}

// Budget, highest priority, lost work where it counts, number: what the cheapest set of victims costs.
using Price = std::tuple<int, int, std::int64_t, int>;

Price price_of(const Racks& world, const std::set<std::size_t>& gone) {
  int guarded = 0, top = -1;
  std::int64_t lost = 0;
  for (const std::size_t at : gone) {
    guarded += world.pods[at].guarded ? 1 : 0;
    top = std::max(top, world.pods[at].priority);
    if (world.scoring == VictimScoring::LeastLostWork) lost += work_of(world, at);
  }
  return {std::max(0, guarded - world.permitted), top, lost, static_cast<int>(gone.size())};
}

// The gang goes as a whole or not at all.
bool is_allowed(const Racks& world, const std::set<std::size_t>& gone) {
  std::set<bool> gang;
  for (std::size_t at = 0; at < world.pods.size(); ++at) {
    if (world.pods[at].in_gang) gang.insert(gone.contains(at));
    if (gone.contains(at) && world.pods[at].priority >= kGangPriority) return false;
  }
  return gang.size() < 2;
}

std::optional<Price> cheapest_price(const Racks& world) {
  std::optional<Price> best;
  for (std::size_t subset = 1; subset < std::size_t{1} << world.pods.size(); ++subset) {
    std::set<std::size_t> gone;
    for (std::size_t at = 0; at < world.pods.size(); ++at)
      if ((subset >> at & 1) != 0) gone.insert(at);
    if (!is_allowed(world, gone) || !gang_fits(world, gone)) continue;
    const Price price = price_of(world, gone);
    if (!best || price < *best) best = price;
  }
  return best;
}

// A decision about the gang in a world of its own.
struct GangDecision {
  // `gone`: see put_occupants().
  explicit GangDecision(const Racks& world, const std::set<std::size_t>& gone = {})
      : bench(build_racks(world, gone)), scoring(world.scoring) {
    profile.arguments.resources_fit.ignored_resources = {"example.com/ignored"};
    options.profiles = {&profile, 1};
    core.emplace(bench->cluster, bench->selectors, options);
    core->begin(world.order_seed);
  }

  SchedulingContext context() {
    return {.view = bench->view,
            .cluster = bench->cluster,
            .allocator = core->allocator(),
            .now = victims_time(kVictimsNow),
            .victim_scoring = scoring};
  }
  GroupInput input() const {
    const GroupQuestions questions{[](const api::Pod&) { return true; },
                                   [](const std::string&) { return false; },
                                   [](const std::string&) { return false; }};
    return group_input(*bench->view.pod_groups.find("ns", "g"),
                       group_members(bench->view, bench->cluster, questions, "ns", "g"),
                       [](const api::Pod&) { return AvoidSet{}; });
  }
  // Null: it finds no victims.
  std::shared_ptr<const GroupPreemptionPlan> search() {
    model::Ledger::Transaction transaction(bench->cluster.ledger());
    const std::string before = bench->cluster.to_text();
    Preempting preempting;
    preempting.searches = true;
    const GroupOutcome outcome = core->decide_group(context(), input(), transaction, preempting);
    EXPECT_EQ(outcome.kind, GroupOutcome::Kind::Unschedulable);
    EXPECT_EQ(bench->cluster.to_text(), before) << "a search changes nothing";
    if (!outcome.preemption) return nullptr;
    EXPECT_FALSE(outcome.preemption->ended);
    for (const NodeId node : outcome.preemption->nodes) EXPECT_TRUE(node.valid());
    return outcome.preemption;
  }

  std::unique_ptr<PluginBench> bench;
  const VictimScoring scoring;
  Profile profile;
  DecisionOptions options;
  std::optional<DecisionCore> core;
};

std::set<std::size_t> victims_of(const GroupPreemptionPlan& plan) {
  std::set<std::size_t> gone;
  for (const PreemptionVictim& victim : plan.victims)
    gone.insert(static_cast<std::size_t>(std::stoi(victim.uid.substr(1))));
  return gone;
}

// The victims that the search names; none: it finds none.
std::optional<std::set<std::size_t>> search_racks(const Racks& world) {
  const auto plan = GangDecision(world).search();
  if (!plan) return std::nullopt;
  return victims_of(*plan);
}

Racks random_racks() {
  Racks world;
  world.nodes = 1 + random_below(2);
  world.racks = 2 + random_below(4 - world.nodes);
  world.devices = random_below(3);
  world.members = 2 + random_below(3);
  world.cpu = 1 + random_below(3);
  world.wants = world.devices > 0 && one_in(2) ? 1 : 0;
  world.permitted = random_below(3);
  world.in_one_rack = !one_in(3);
  world.ignored = one_in(4) ? kIgnoredOfNode : 0;
  if (one_in(2)) world.scoring = VictimScoring::LeastLostWork;
  const int priorities[] = {0, 1, 2, 9};
  for (int node = 0; node < world.racks * world.nodes; ++node) {
    int cpu = kCpuOfNode, devices = world.devices;
    for (int i = 0; i < 3 && cpu > 0 && world.pods.size() < 10; ++i) {
      Occupant pod{node};
      pod.priority = priorities[one_in(10) ? 3 : random_below(3)];
      pod.cpu = 1 + random_below(cpu);
      pod.devices = random_below(devices + 1);
      pod.guarded = one_in(4);
      pod.in_gang = one_in(5);
      pod.ignored = random_below(3);
      pod.saved = one_in(2) ? random_below(kVictimsNow) : -1;
      if (pod.in_gang) pod.priority = 1;
      cpu -= pod.cpu;
      devices -= pod.devices;
      world.pods.push_back(pod);
    }
  }
  return world;
}

std::string text_of(const Racks& world) {
  std::string text = std::to_string(world.racks) + "x" + std::to_string(world.nodes) + " devices " +
                     std::to_string(world.devices) + " members " + std::to_string(world.members) + " cpu " +
                     std::to_string(world.cpu) + " wants " + std::to_string(world.wants) + " permitted " +
                     std::to_string(world.permitted) + (world.in_one_rack ? " rack" : " anywhere");
  for (const Occupant& pod : world.pods)
    text += " [" + std::to_string(pod.node) + " p" + std::to_string(pod.priority) + " c" +
            std::to_string(pod.cpu) + " d" + std::to_string(pod.devices) + (pod.guarded ? " guarded" : "") +
            (pod.in_gang ? " gang" : "") + (pod.ignored > 0 ? " i" + std::to_string(pod.ignored) : "") +
            (pod.saved >= 0 ? " saved " + std::to_string(pod.saved) : "") + "]";
  return text;
}

TEST(GroupVictimSearch, VictimsAreMinimalAndAsCheapAsTheCheapest) {
  EXPECT_TRUE(rc::check("the cheapest minimal victims of a gang", [] {
    const Racks world = random_racks();
    RC_PRE(!gang_fits(world, {}));
    const std::optional<Price> cheapest = cheapest_price(world);
    const auto found = search_racks(world);
    RC_LOG() << text_of(world) << "\n";
    RC_ASSERT(found.has_value() == cheapest.has_value());
    if (!found) return;
    RC_ASSERT(is_allowed(world, *found));
    RC_ASSERT(gang_fits(world, *found));
    for (const std::size_t at : *found) {
      std::set<std::size_t> fewer = *found;
      fewer.erase(at);
      RC_ASSERT(!is_allowed(world, fewer) || !gang_fits(world, fewer));
    }
    const auto [refused, top, lost, number] = price_of(world, *found);
    const auto [least_refused, least_top, least_lost, least_number] = *cheapest;
    RC_ASSERT(refused == least_refused);
    RC_ASSERT(top == least_top);
    RC_ASSERT(lost == least_lost);
    RC_ASSERT(10 * number <= 11 * least_number);
  }));
}

// Members of 3 cpu, one a node. In rack 0 pod 0 of priority 2 is in the way, in rack 1 pod 1 of priority 3.
// Pod 0 needs a whole node, and then only pod 3 could make room for it, which the budget protects.
Racks three_racks(int devices, bool again) {
  Racks world{.racks = 3, .nodes = 2, .devices = devices, .members = 2, .cpu = 3, .wants = devices};
  world.pods = {{.node = 0, .priority = 2, .cpu = 4, .devices = devices, .again = again},
                {.node = 2, .priority = 3, .cpu = 2, .devices = devices},
                {.node = 3, .priority = 9, .cpu = 1},
                {.node = 4, .priority = 1, .cpu = 4, .devices = devices, .guarded = true},
                {.node = 5, .priority = 9, .cpu = 4, .devices = devices}};
  return world;
}

TEST(GroupVictimSearch, WhoComesBackEvictsInTurn) {
  for (const int devices : {0, 1}) {
    EXPECT_EQ(search_racks(three_racks(devices, false)), std::set<std::size_t>{0}) << devices;
    EXPECT_EQ(search_racks(three_racks(devices, true)), std::set<std::size_t>{1}) << devices;
  }
}

// One node a rack. Pod 0 needs a whole node; pod 1 fits beside pod 2, once it has left its node.
TEST(GroupVictimSearch, WhoFitsElsewhereGoes) {
  for (const bool again : {false, true}) {
    const Racks world{.racks = 3,
                      .nodes = 1,
                      .members = 1,
                      .cpu = 3,
                      .pods = {{.node = 0, .priority = 1, .cpu = 4, .again = again, .started = 5},
                               {.node = 1, .priority = 1, .cpu = 2, .again = again, .started = 1},
                               {.node = 2, .priority = 9, .cpu = 2}}};
    EXPECT_EQ(search_racks(world), std::set<std::size_t>{again ? 1U : 0U});
  }
}

struct MoveRow {
  const char* name;
  std::vector<Occupant> pods;
  int members;
  std::set<std::size_t> wanted;
};

// Members of 3 cpu, one a node. Rack 0 has the nodes 0 to 3, rack 1 the others, of which node 4 has two cpu
// free. Those that started later go, unless others fit there.
TEST(GroupVictimSearch, InOneDomainThoseThatFitElsewhereGo) {
  const auto runs = [](int node, int cpu, int started) {
    return Occupant{.node = node, .priority = 1, .cpu = cpu, .again = true, .started = started};
  };
  const Occupant whole = runs(0, 4, 9), half = runs(1, 2, 1), half_too = runs(2, 2, 2);
  Occupant higher = half, alone = half, guarded = half, ganged = half, with_device = half;
  higher.priority = 2;
  alone.again = false;
  guarded.guarded = true;
  ganged.in_gang = true;
  with_device.devices = 1;
  const MoveRow rows[] = {
      {"the one that fits elsewhere", {whole, half}, 1, {1}},
      {"not one of higher priority", {whole, higher}, 1, {0}},
      {"not one that nobody makes again", {whole, alone}, 1, {0}},
      {"not one that its budget protects", {whole, guarded}, 1, {0}},
      {"not one that goes with its group", {whole, ganged}, 1, {0}},
      {"its device is free for it elsewhere", {whole, with_device}, 1, {1}},
      {"of two that fit elsewhere, one has room there", {whole, half, half_too}, 2, {0, 1}},
  };
  for (const MoveRow& row : rows) {
    Racks world{.racks = 2, .nodes = 4, .devices = 1, .members = row.members, .cpu = 3, .pods = row.pods};
    const auto fill = [&](int node, int cpu) {
      world.pods.push_back({.node = node, .priority = 9, .cpu = cpu});
    };
    for (int node = static_cast<int>(row.pods.size()); node < 4; ++node) fill(node, 4);
    for (int node = 4; node < 8; ++node) fill(node, node == 4 ? 2 : 4);
    EXPECT_EQ(search_racks(world), row.wanted) << row.name;
  }
}

// Racks that are full of pods of one cpu and of this priority, by rack.
Racks full_racks(int nodes, std::initializer_list<int> priorities) {
  Racks world;
  world.racks = static_cast<int>(priorities.size());
  world.nodes = nodes;
  world.cpu = 1;
  int node = 0;
  for (const int priority : priorities)
    for (int i = 0; i < nodes; ++i, ++node)
      for (int pod = 0; pod < kCpuOfNode; ++pod) world.pods.push_back({node, priority});
  return world;
}

struct FullRow {
  const char* name;
  Racks world;
  int members, cpu;
  std::size_t victims;
  int rack;  // in which all of them are
};

TEST(GroupVictimSearch, FreesOneDomainOfMany) {
  Racks ignored{.nodes = 1, .ignored = kIgnoredOfNode, .pods = {{0, 1, 4}, {1, 1, 2}, {1, 1, 2}}};
  for (int i = 0; i < 3; ++i) ignored.pods.push_back({.node = 0, .priority = 1, .cpu = 0, .ignored = 2});
  const FullRow rows[] = {
      {"what the profile ignores needs no victims", ignored, 1, 4, 1, 0},
      {"P1: a gang of 11 over a clique of 17 nodes with 68 victims", full_racks(17, {3}), 11, 1, 11, 0},
      {"the rack of the lowest priority", full_racks(17, {3, 1, 2}), 11, 1, 11, 1},
      {"two equal racks: where the pods started last", full_racks(17, {2, 2}), 11, 1, 11, 1},
      {"whole nodes", full_racks(17, {3, 1, 2}), 11, 4, 44, 1},
      {"more than a thousand victims", full_racks(300, {1, 2}), 300, 4, 1200, 0},
      {"P2: 16 nodes of one clique", full_racks(18, {3, 3, 3, 2, 3, 3, 3, 3, 3, 3}), 16, 4, 64, 3},
  };
  for (const FullRow& row : rows) {
    Racks world = row.world;
    world.members = row.members;
    world.cpu = row.cpu;
    const auto found = search_racks(world);
    ASSERT_TRUE(found.has_value()) << row.name;
    EXPECT_EQ(found->size(), row.victims) << row.name;
    for (const std::size_t at : *found) EXPECT_EQ(world.pods[at].node / world.nodes, row.rack) << row.name;
    EXPECT_TRUE(gang_fits(world, *found)) << row.name;
  }
}

// P8: two racks of two nodes, full of pods that differ in nothing but their names.
TEST(GroupVictimSearch, TwoEqualRacksGiveOneAnswer) {
  Racks world{.racks = 2, .nodes = 2, .members = 2, .cpu = 3};
  for (int node = 0; node < 4; ++node)
    world.pods.push_back({.node = node, .priority = 1, .cpu = 4, .started = 0});
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    world.order_seed = seed;
    ASSERT_EQ(search_racks(world), (std::set<std::size_t>{0, 1})) << "seed " << seed;
  }
}

// One victim is enough in each rack. Rack 1 has more pods that leave, rack 2 more that stay: Kubernetes'
// tests of groups want the one that is fuller when all victims are gone.
TEST(GroupVictimSearch, OfEqualVictimsThoseInTheFullerRackGo) {
  constexpr int kHigh = kGangPriority + 1;
  Racks world{.racks = 2,
              .nodes = 2,
              .members = 1,
              .cpu = kCpuOfNode,
              .pods = {{.node = 0, .priority = 1, .cpu = kCpuOfNode, .started = 0},
                       {.node = 1, .priority = 1, .cpu = kCpuOfNode, .started = 0},
                       {.node = 2, .priority = 1, .cpu = kCpuOfNode, .started = 0},
                       {.node = 3, .priority = kHigh, .cpu = 3, .started = 0}}};
  EXPECT_EQ(search_racks(world), std::set<std::size_t>{2});
  world.pods[1] = {.node = 1, .priority = kHigh, .cpu = kCpuOfNode, .started = 0};
  EXPECT_EQ(search_racks(world), std::set<std::size_t>{0});
}

struct LossRow {
  const char* name;
  std::vector<Occupant> pods;
  std::set<std::size_t> wanted, by_reference;
};

// Members of 3 cpu, one a node. Rack 0 has the nodes 0 and 1, rack 1 has 2 and 3; nodes 1 and 3 are free.
// Times in seconds of 1000.
TEST(GroupVictimSearch, LosesTheLeastWork) {
  const auto holds = [](int node, int devices, int saved) {
    return Occupant{.node = node, .priority = 1, .cpu = 2, .devices = devices, .saved = saved};
  };
  Occupant higher = holds(2, 1, 999), guarded = higher;
  higher.priority = 2;
  guarded.guarded = true;
  const LossRow rows[] = {
      {"the older checkpoint loses more", {holds(0, 1, 500), holds(2, 1, 900)}, {1}, {1}},
      {"although it started later", {holds(0, 1, 900), holds(2, 1, 500)}, {0}, {1}},
      {"without a checkpoint: since the start", {holds(0, 1, 2), holds(2, 1, -1)}, {0}, {1}},
      {"four devices for 100 s are more than one for 300 s", {holds(0, 1, 700), holds(2, 4, 900)}, {0}, {1}},
      {"priorities come first", {holds(0, 1, 100), higher}, {0}, {0}},
      {"budgets come first", {holds(0, 1, 100), guarded}, {0}, {0}},
      {"two that lose less than one", {holds(0, 1, 100), holds(2, 1, 990), holds(2, 1, 990)}, {1, 2}, {0}},
  };
  for (const LossRow& row : rows)
    for (const VictimScoring scoring : {VictimScoring::Reference, VictimScoring::LeastLostWork}) {
      const Racks world{
          .racks = 2, .nodes = 2, .devices = 4, .members = 2, .cpu = 3, .pods = row.pods, .scoring = scoring};
      EXPECT_EQ(search_racks(world), scoring == VictimScoring::Reference ? row.by_reference : row.wanted)
          << row.name << ", " << name_of(scoring);
    }
}

// ---- whom victims evict when they come back ----

// Budget, the budget for those evicted in turn, highest priority, without room, number, sum of priorities.
using CascadePrice = std::tuple<int, int, int, int, int, int>;

CascadePrice cascade_price(const Racks& world, const std::set<std::size_t>& gone, const Returned& returned) {
  const auto [refused, top, lost, number] = price_of(world, gone);
  int sum = 0;
  for (const std::size_t at : gone) sum += world.pods[at].priority;
  return {refused, returned.refused, top, returned.without_room, number, sum};
}

// The judge: in a cluster that was built without the victims the gang takes its places; then each victim with
// a controller is a new pod, the most important first, and is decided by itself.
Returned returns_of(const Racks& world, const std::set<std::size_t>& gone) {
  std::vector<std::size_t> returning;
  for (const std::size_t at : gone)
    if (world.pods[at].again) returning.push_back(at);
  Returned returned{0, static_cast<int>(gone.size())};
  if (returning.empty()) return returned;
  std::ranges::stable_sort(returning, std::greater(),
                           [&](std::size_t at) { return world.pods[at].priority; });
  GangDecision decision(world, gone);
  const SchedulingContext context = decision.context();
  model::Ledger::Transaction transaction(decision.bench->cluster.ledger());
  const GroupOutcome placed = decision.core->place_group(context, decision.input(), transaction);
  EXPECT_EQ(placed.kind, GroupOutcome::Kind::Placed);
  Preempting preempting;
  preempting.searches = true;
  for (const std::size_t at : returning) {
    const api::Pod& pod = *decision.bench->view.pods.find("ns", name_of_pod(at));
    const PodDecision decided = decision.core->decide_pod(context, pod, {}, transaction, preempting);
    if (decided.preemption) returned.refused += static_cast<int>(decided.preemption->cost.refused);
    if (decided.node.valid()) --returned.without_room;
  }
  return returned;
}

// What the cheapest sets of one rack cost; several may cost the same but for what they evict in turn.
std::vector<CascadePrice> cheapest_in_rack(const Racks& world, int rack) {
  std::vector<std::size_t> there;
  for (std::size_t at = 0; at < world.pods.size(); ++at)
    if (world.pods[at].node / world.nodes == rack) there.push_back(at);
  std::optional<CascadePrice> best;
  std::vector<std::set<std::size_t>> sets;
  for (std::size_t subset = 1; subset < std::size_t{1} << there.size(); ++subset) {
    std::set<std::size_t> gone;
    for (std::size_t i = 0; i < there.size(); ++i)
      if ((subset >> i & 1) != 0) gone.insert(there[i]);
    if (!is_allowed(world, gone) || !gang_fits(world, gone)) continue;
    const CascadePrice price = cascade_price(world, gone, {});
    if (best && *best < price) continue;
    if (!best || price < *best) sets.clear();
    best = price;
    sets.push_back(gone);
  }
  std::vector<CascadePrice> prices;
  for (const std::set<std::size_t>& gone : sets)
    prices.push_back(cascade_price(world, gone, returns_of(world, gone)));
  return prices;
}

Racks random_cascade(SeededRandom& random) {
  const auto below = [&](int bound) {
    return static_cast<int>(random.below(static_cast<std::uint64_t>(bound)));
  };
  Racks world;
  world.nodes = 1 + below(2);
  world.racks = 2 + below(4 - world.nodes);
  world.devices = below(3);
  world.members = 1 + below(2);
  world.cpu = 2 + below(3);
  world.wants = world.devices > 0 ? below(2) : 0;
  world.permitted = below(2);
  for (int node = 0; node < world.racks * world.nodes; ++node) {
    int cpu = kCpuOfNode, devices = world.devices;
    for (int i = 0; i < 2 && cpu > 0; ++i) {
      Occupant pod{.node = node, .priority = below(4), .cpu = 1 + below(cpu), .devices = below(devices + 1)};
      pod.guarded = below(3) == 0;
      pod.again = below(2) == 0;
      cpu -= pod.cpu;
      devices -= pod.devices;
      world.pods.push_back(pod);
    }
  }
  return world;
}

// A member needs a whole node. Rack 0 is full of equal pods, most of which come back; rack 1 has some room.
Racks random_moves(SeededRandom& random) {
  const auto below = [&](int bound) {
    return static_cast<int>(random.below(static_cast<std::uint64_t>(bound)));
  };
  Racks world{.racks = 2, .nodes = 2, .members = 1, .cpu = kCpuOfNode};
  for (int node = 0; node < 2; ++node)
    for (int cpu = kCpuOfNode; cpu > 0;) {
      Occupant pod{.node = node, .priority = 1, .cpu = 1 + below(std::min(cpu, 3)), .again = below(4) > 0};
      cpu -= pod.cpu;
      world.pods.push_back(pod);
    }
  for (int node = 2; node < 4; ++node)
    world.pods.push_back({.node = node, .priority = 9, .cpu = 1 + below(3)});
  return world;
}

TEST(GroupVictimSearch, OfEqualSetsTheOneGoesThatFitsElsewhere) {
  int with_choice = 0, least_found = 0;
  SeededRandom random(11);
  for (int round = 0; round < 60; ++round) {
    const Racks world = random_moves(random);
    const std::vector<CascadePrice> prices = cheapest_in_rack(world, 0);
    const auto [least, dearest] = std::ranges::minmax_element(prices);
    const auto found = search_racks(world);
    ASSERT_TRUE(found.has_value()) << text_of(world);
    const CascadePrice price = cascade_price(world, *found, returns_of(world, *found));
    EXPECT_LE(price, *dearest) << text_of(world);
    if (*least == *dearest) continue;
    ++with_choice;
    least_found += price <= *least ? 1 : 0;
  }
  EXPECT_GT(with_choice, 5);
  EXPECT_GE(10 * least_found, 8 * with_choice);
}

TEST(GroupVictimSearch, CountsWhomVictimsEvictInTurn) {
  int compared = 0, in_turn = 0;
  SeededRandom random(7);
  for (int round = 0; round < 400; ++round) {
    const Racks world = random_cascade(random);
    if (gang_fits(world, {})) continue;
    const auto plan = GangDecision(world).search();
    std::optional<CascadePrice>
        dearest_best;  // the best rack's, where equal sets of a rack differ the dearest
    bool any_in_turn = false;
    std::map<int, std::vector<CascadePrice>> by_rack;
    for (int rack = 0; rack < world.racks; ++rack) {
      by_rack[rack] = cheapest_in_rack(world, rack);
      if (by_rack[rack].empty()) continue;
      const CascadePrice dearest = *std::ranges::max_element(by_rack[rack]);
      any_in_turn = any_in_turn || std::get<1>(dearest) > 0;
      if (!dearest_best || dearest < *dearest_best) dearest_best = dearest;
    }
    ASSERT_EQ(plan != nullptr, dearest_best.has_value()) << text_of(world);
    if (!plan) continue;
    const std::set<std::size_t> gone = victims_of(*plan);
    ASSERT_FALSE(gone.empty());
    const Returned returned = returns_of(world, gone);
    EXPECT_EQ(static_cast<int>(plan->cost.refused_later), returned.refused) << text_of(world);
    const CascadePrice price = cascade_price(world, gone, returned);
    const auto& own = by_rack[world.pods[*gone.begin()].node / world.nodes];
    EXPECT_GE(*std::ranges::max_element(own), price) << text_of(world);
    EXPECT_LE(price, *dearest_best) << text_of(world);
    ++compared;
    in_turn += any_in_turn ? 1 : 0;
  }
  EXPECT_GT(compared, 100);
  EXPECT_GT(in_turn, 20);
}

}  // namespace
}  // namespace berth::placement
