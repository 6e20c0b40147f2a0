// GroupVictimSearch against a judge that tries every set of victims by plain sums, on small random worlds;
// and rows worked out by hand.
#include "placement/preemption/group_victim_search.h"

#include <gtest/gtest.h>

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
};

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

std::string occupant_json(const Occupant& pod, std::size_t at) {
  const std::string name = name_of_pod(at);
  std::string text =
      R"({"metadata":{"name":")" + name + R"(","namespace":"ns","uid":")" + name + "\"" +
      (pod.guarded ? R"(,"labels":{"guarded":"yes"})" : "") +
      (pod.again ? R"(,"ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"r","uid":"r",)"
                   R"("controller":true}])"
                 : "") +
      R"(},"spec":{"nodeName":")" + name_of_node(pod.node) + R"(","priority":)" +
      std::to_string(pod.priority) + (pod.in_gang ? R"(,"schedulingGroup":{"podGroupName":"victims"})" : "") +
      (pod.devices > 0 ? R"(,"resourceClaims":[{"name":"c","resourceClaimName":")" + name + "\"}]" : "") +
      R"(,"containers":[{"name":"c","resources":{"requests":{)" + amounts_json(pod.cpu, pod.ignored) +
      R"(}}}]},"status":{"phase":"Running","startTime":")" +
      format_time(Time::from_seconds(1'800'000'000 + static_cast<std::int64_t>(at))) +
      R"(","conditions":[{"type":"Ready","status":"True"}]}})";
  return text;
}

// The device's number on each node grows with the pods.
void put_occupants(PluginBench& bench, const Racks& world) {
  std::map<int, int> used;
  for (std::size_t at = 0; at < world.pods.size(); ++at) {
    const Occupant& pod = world.pods[at];
    if (pod.devices > 0) {
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
    bench.put(api::Kind::Pod, occupant_json(pod, at));
  }
}

void put_nodes(PluginBench& bench, const Racks& world) {
  for (int i = 0; i < world.racks * world.nodes; ++i) {
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

std::unique_ptr<PluginBench> build_racks(const Racks& world) {
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
  put_occupants(*bench, world);
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

// Budget, highest priority, number: what the cheapest set of victims costs.
using Price = std::tuple<int, int, int>;

Price price_of(const Racks& world, const std::set<std::size_t>& gone) {
  int guarded = 0, top = -1;
  for (const std::size_t at : gone) {
    guarded += world.pods[at].guarded ? 1 : 0;
    top = std::max(top, world.pods[at].priority);
  }
  return {std::max(0, guarded - world.permitted), top, static_cast<int>(gone.size())};
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

// The victims that the search names; none: it finds none.
std::optional<std::set<std::size_t>> search_racks(const Racks& world) {
  const auto bench = build_racks(world);
  Profile profile;
  profile.arguments.resources_fit.ignored_resources = {"example.com/ignored"};
  DecisionOptions options;
  options.profiles = {&profile, 1};
  DecisionCore core(bench->cluster, bench->selectors, options);
  const SchedulingContext context{bench->view, bench->cluster, core.allocator()};
  const GroupQuestions questions{[](const api::Pod&) { return true; },
                                 [](const std::string&) { return false; },
                                 [](const std::string&) { return false; }};
  const GroupInput input = group_input(*bench->view.pod_groups.find("ns", "g"),
                                       group_members(bench->view, bench->cluster, questions, "ns", "g"),
                                       [](const api::Pod&) { return AvoidSet{}; });
  model::Ledger::Transaction transaction(bench->cluster.ledger());
  const std::string before = bench->cluster.to_text();
  Preempting preempting;
  preempting.searches = true;
  const GroupOutcome outcome = core.decide_group(context, input, transaction, preempting);
  EXPECT_EQ(outcome.kind, GroupOutcome::Kind::Unschedulable);
  EXPECT_EQ(bench->cluster.to_text(), before) << "a search changes nothing";
  if (!outcome.preemption) return std::nullopt;
  EXPECT_FALSE(outcome.preemption->ended);
  std::set<std::size_t> gone;
  for (const PreemptionVictim& victim : outcome.preemption->victims)
    gone.insert(static_cast<std::size_t>(std::stoi(victim.uid.substr(1))));
  for (const NodeId node : outcome.preemption->nodes) EXPECT_TRUE(node.valid());
  return gone;
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
            (pod.in_gang ? " gang" : "") + (pod.ignored > 0 ? " i" + std::to_string(pod.ignored) : "") + "]";
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
    const auto [refused, top, number] = price_of(world, *found);
    const auto [least_refused, least_top, least_number] = *cheapest;
    RC_ASSERT(refused == least_refused);
    RC_ASSERT(top == least_top);
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

}  // namespace
}  // namespace berth::placement
