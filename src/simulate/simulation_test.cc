// Small scripts in virtual time, the draw from a trace, and its errors.
#include "simulate/simulation.h"

#include <gtest/gtest.h>

#include <array>

#include "base/random.h"
#include "simulate/runs.h"
#include "simulate/tasks.h"
#include "simulate/test_scripts.h"

namespace berth::simulate {
namespace {

RunResult run(const Script& script) {
  Result<RunResult> result = simulate(script, options());
  EXPECT_TRUE(result.ok()) << (result ? "" : result.error().text());
  return result ? *result : RunResult{};
}

TEST(Simulation, APodWaitsUntilAnotherEnds) {
  Script script = two_nodes();
  arrive(script, "long", 0, 100, {1000, 1024, 4});
  arrive(script, "short", 0, 30, {1000, 1024, 4});
  arrive(script, "late", 10, 5, {1000, 1024, 4});
  const RunResult result = run(script);
  EXPECT_EQ(result.placed, 3);
  EXPECT_EQ(result.refused, 0);
  EXPECT_EQ(result.wait_p50, Duration());
  EXPECT_EQ(result.wait_p99, Duration::seconds(20));
  EXPECT_EQ(result.allocated_gpu_percent, 100) << "at the last arrival";
}

TEST(Simulation, WhatFitsNowhereIsRefusedAndDoesNotHinderOthers) {
  Script script = two_nodes();
  arrive(script, "huge", 0, {}, {1000, 1024, 5});
  arrive(script, "small", 1, {}, {1000, 1024, 1, 50});
  const RunResult result = run(script);
  EXPECT_EQ(result.placed, 1);
  EXPECT_EQ(result.refused, 1);
  EXPECT_EQ(result.allocated_gpu_percent, 6.25);
}

TEST(Simulation, AFailedNodesPodsStartAgainAndTheirWorkIsLost) {
  Script script = two_nodes();
  arrive(script, "x", 0, 100, {1000, 1024, 4});
  arrive(script, "y", 0, 100, {1000, 1024, 4});
  script.failures.push_back({Duration::seconds(40), Duration::seconds(10), {"b"}});
  const RunResult result = run(script);
  EXPECT_EQ(result.placed, 2);
  EXPECT_EQ(result.evictions, 1);
  EXPECT_EQ(result.lost_chip_seconds, 160);
  script.restarts_lost = false;
  EXPECT_NE(run(script).digest, result.digest);
}

TEST(Simulation, AHigherPriorityEvictsAndTheVictimComesBack) {
  Script script = two_nodes();
  arrive(script, "low-x", 0, 100, {1000, 1024, 4});
  arrive(script, "low-y", 0, 100, {1000, 1024, 4});
  PodShape high{1000, 1024, 4};
  high.priority = 10;
  arrive(script, "high", 50, 20, high);
  const RunResult result = run(script);
  EXPECT_EQ(result.evictions, 1);
  EXPECT_EQ(result.lost_chip_seconds, 200);
  EXPECT_EQ(result.placed, 3);
}

TEST(Simulation, AGangStartsAsAWholeAndItsRacksAreCounted) {
  Script script = two_nodes();
  arrive(script, "blocker", 0, 50, {1000, 1024, 2});
  arrive(script, "gang", 1, 10, {1000, 1024, 2}, 4);
  const RunResult result = run(script);
  EXPECT_EQ(result.placed, 5);
  EXPECT_EQ(result.wait_p99, Duration::seconds(49));
  EXPECT_EQ(result.gangs, 1);
  EXPECT_EQ(result.racks_mean, 2);
  EXPECT_EQ(result.racks_minimum, 2);
}

// Forty nodes with eight GPUs each, which are a resource or devices, and pods for more of them than there
// are.
Script script_with_gpus(bool by_claims) {
  constexpr int kNodes = 40, kPods = 160;
  Script script;
  if (by_claims)
    script.objects.push_back(
        {api::Kind::DeviceClass,
         *parse_json(R"({"metadata":{"name":"gpu"},"spec":{"selectors":[{"cel":{"expression":)"
                     R"("device.driver == 'gpu.example.com'"}}]}})")});
  for (int node = 0; node < kNodes; ++node) {
    const std::string name = "n" + std::to_string(node);
    script.objects.push_back(node_document(name, {64'000, 524'288, by_claims ? 0 : 8}));
    std::string devices;
    for (int i = 0; i < 8; ++i)
      devices += (i == 0 ? R"({"name":"d)" : R"(,{"name":"d)") + std::to_string(i) + "\"}";
    if (by_claims)
      script.objects.push_back(
          {api::Kind::ResourceSlice,
           *parse_json(R"({"metadata":{"name":")" + name +
                       R"("},"spec":{"driver":"gpu.example.com","nodeName":")" + name +
                       R"(","pool":{"name":")" + name +
                       R"(","generation":1,"resourceSliceCount":1},"devices":[)" + devices + "]}}")});
  }
  SeededRandom random(5);
  for (int pod = 0; pod < kPods; ++pod) {
    const std::int64_t gpus = std::array{1, 1, 1, 2, 4, 8}[random.below(6)];
    const std::string name = "p" + std::to_string(pod);
    Arrival arrival = equal_pods(name, {4000 * gpus, 8192, by_claims ? 0 : gpus}, 1, {});
    arrival.at = Duration::seconds(pod);
    arrival.alike.clear();
    if (by_claims) {
      arrival.objects.front().object["spec"]["resourceClaims"] =
          Json::array({Json::object({{"name", "gpus"}, {"resourceClaimName", name}})});
      arrival.objects.push_back(
          {api::Kind::ResourceClaim,
           *parse_json(R"({"metadata":{"name":")" + name +
                       R"(","namespace":"default"},"spec":{"devices":{"requests":[{"name":"r","exactly":)" +
                       R"({"deviceClassName":"gpu","allocationMode":"ExactCount","count":)" +
                       std::to_string(gpus) + "}}]}}}")});
    }
    script.arrivals.push_back(std::move(arrival));
  }
  return script;
}

TEST(Simulation, WholeDevicesAreGivenOutLikeGpus) {
  const RunResult by_resource = run(script_with_gpus(false)), by_claims = run(script_with_gpus(true));
  EXPECT_GT(by_resource.allocated_gpu_percent, 95);
  EXPECT_EQ(by_claims.placed, by_resource.placed);
  EXPECT_EQ(by_claims.digest, by_resource.digest);
}

// Two racks of two nodes. A pod is on one of them when the gangs arrive.
TEST(Simulation, AGangPrefersOneRackAndWaitsForNone) {
  const auto racks_of_gang = [](std::int64_t pods) {
    Script script;
    for (const auto& [name, rack] :
         {std::pair{"a0", "rack-a"}, {"b0", "rack-b"}, {"a1", "rack-a"}, {"b1", "rack-b"}})
      script.objects.push_back(node_document(name, {32'000, 65'536, 4, {{"example.com/rack", rack}}}));
    script.rack_label = "example.com/rack";
    arrive(script, "first", 0, {}, {1000, 1024, 3});
    script.arrivals.push_back(equal_pods("gang", {1000, 1024, 4}, pods, {.prefers = "example.com/rack"}));
    script.arrivals.back().at = Duration::seconds(1);
    const RunResult result = run(script);
    EXPECT_EQ(result.placed, pods + 1);
    return result.racks_mean;
  };
  EXPECT_EQ(racks_of_gang(2), 1);
  EXPECT_EQ(racks_of_gang(3), 2);
}

// The second failure keeps b away when the first ends at 20.
TEST(Simulation, ANodeReturnsAfterTheLastOfItsFailures) {
  Script script = two_nodes();
  arrive(script, "x", 0, {}, {1000, 1024, 4});
  arrive(script, "y", 15, {}, {1000, 1024, 4});
  script.failures.push_back({Duration::seconds(10), Duration::seconds(10), {"a", "b"}});
  script.failures.push_back({Duration::seconds(12), Duration::seconds(30), {"b"}});
  EXPECT_EQ(run(script).wait_p99, Duration::seconds(27));
  script.failures.back().lasts = {};
  EXPECT_EQ(run(script).refused, 1);
}

// At 15 the lost pod of "first" is tried before "second", and cannot join the other one in rack-a.
TEST(Simulation, AGangThatWaitsForOnePodDoesNotStandForAWholeOne) {
  Script script;
  for (const auto& [name, rack] :
       {std::pair{"a0", "rack-a"}, {"a1", "rack-a"}, {"b0", "rack-b"}, {"b1", "rack-b"}})
    script.objects.push_back(node_document(name, {32'000, 65'536, 4, {{"rack", rack}}}));
  PodShape blocker{1000, 1024, 4};
  blocker.label = "rack";
  blocker.values = {"rack-b"};
  arrive(script, "blocker", 0, 15, blocker);
  arrive(script, "first", 1, {}, {1000, 1024, 4}, 2, "rack");
  arrive(script, "second", 12, {}, {1000, 1024, 4}, 2, "rack");
  script.failures.push_back({Duration::seconds(10), {}, {"a1"}});
  const RunResult result = run(script);
  EXPECT_EQ(result.evictions, 1);
  EXPECT_EQ(result.placed, 5);
  EXPECT_EQ(result.refused, 0);
}

// It has a decision that is not carried out yet, loses it, and goes to the other node.
TEST(Simulation, APodFromTheStartMayFindAnotherNode) {
  Script script = two_nodes();
  planning::Document waits = pod_document("waits", {1000, 1024, 1}, "");
  waits.object["metadata"]["uid"] = "u";
  planning::Document runs = pod_document("runs", {1000, 1024, 1, 100, 100}, "");
  runs.object["spec"]["nodeName"] = "b";
  script.objects.push_back(std::move(waits));
  script.objects.push_back(std::move(runs));
  script.objects.push_back(
      {api::Kind::BindRequest,
       Json::object(
           {{"apiVersion", api::ref_of(api::Kind::BindRequest).api_version()},
            {"kind", "BindRequest"},
            {"metadata", Json::object({{"name", "waits"}, {"namespace", "default"}})},
            {"spec", Json::object({{"podName", "waits"}, {"podUID", "u"}, {"selectedNode", "a"}})}})});
  PodShape high{1000, 1024, 4};
  high.priority = 10;
  arrive(script, "high", 0, {}, high);
  const RunResult result = run(script);
  EXPECT_EQ(result.placed, 1);
  EXPECT_EQ(result.evictions, 1);
  EXPECT_EQ(result.allocated_gpu_percent, 75);
}

// 60 s by its annotation; the arrival says nothing.
TEST(Simulation, APodEndsAfterItsExpectedDuration) {
  Script script = two_nodes();
  script.objects.pop_back();
  arrive(script, "first", 0, {}, {1000, 1024, 4});
  script.arrivals.back().objects.back().object["metadata"]["annotations"]
                                              ["scheduling.berth.dev/expected-duration"] = "60s";
  arrive(script, "second", 10, {}, {1000, 1024, 4});
  EXPECT_EQ(run(script).wait_p99, Duration::seconds(50));
}

TEST(Simulation, UnknownNodesOfFailuresAreNamed) {
  Script script = two_nodes();
  script.failures.push_back({Duration::seconds(1), {}, {"c"}});
  const Result<RunResult> result = simulate(script, options());
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().text(), "spec.failures[0]: there is no node \"c\"");
}

TEST(SimulatedRuns, AreTheSameForAnyNumberOfThreads) {
  Trace trace = openb_statistics(20);
  trace.nodes.resize(30);
  const MakeScript make = [&trace](std::uint64_t seed) -> Result<Script> {
    Script script;
    add_nodes(trace, script);
    Draw draw{1.2, seed};
    draw.gangs = Gangs::Drawn;
    draw.runs = Duration::seconds(40);
    TRY(add_drawn_arrivals(trace, draw, script));
    return script;
  };
  RunPlan plan;
  for (const Policy& policy : policies()) plan.policies.push_back(&policy);
  plan.seeds = {1, 2};
  plan.options = options();
  std::string first;
  for (const std::size_t threads : {1, 2, 5}) {
    plan.threads = threads;
    const auto runs = simulate_all(plan, make);
    ASSERT_TRUE(runs.ok()) << runs.error().text();
    const std::string text = to_pretty_string(to_json(*runs));
    if (first.empty()) first = text;
    EXPECT_EQ(text, first) << threads << " threads";
  }
}

TEST(TraceFiles, AreReadByColumns) {
  const auto nodes =
      read_trace_nodes("sn,cpu_milli,memory_mib,gpu,model\nn,64000,262144,2,P100\r\n", "n.csv");
  ASSERT_TRUE(nodes.ok());
  EXPECT_EQ(nodes->front().shape.gpus, 2);
  EXPECT_EQ(nodes->front().shape.labels.front().second, "P100");
  const auto tasks = read_trace_tasks(
      "name,gpu_spec,cpu_milli,memory_mib,num_gpu,gpu_milli\np,V100|T4|V100,6000,12288,1,460\n", "p.csv");
  ASSERT_TRUE(tasks.ok());
  EXPECT_EQ(tasks->front().hundredths, 46);
  EXPECT_EQ(tasks->front().values, (std::vector<std::string>{"T4", "V100"}));
}

TEST(TraceFiles, ErrorsNameLineAndColumn) {
  const struct {
    const char* csv;
    const char* error;
  } rows[] = {
      {"", "p.csv: is empty: a header with column names is missing"},
      {"name,cpu_milli\n", "p.csv:1: has no column \"memory_mib\""},
      {"cpu_milli,memory_mib,num_gpu,gpu_milli\n", "p.csv: has no tasks"},
      {"cpu_milli,memory_mib,num_gpu,gpu_milli\n1,2,3\n", "p.csv:2: has 3 fields: the header has 4"},
      {"cpu_milli,memory_mib,num_gpu,gpu_milli\n1,2,1,x\n",
       "p.csv:2: gpu_milli: is \"x\": a whole number from 0 to 1000 is needed"},
      {"cpu_milli,memory_mib,num_gpu,gpu_milli\n1,2,1,0\n",
       "p.csv:2: gpu_milli: is 0 with num_gpu 1: 1 to 1000 is needed"},
      {"cpu_milli,memory_mib,num_gpu,gpu_milli\n-1,2,1,0\n",
       "p.csv:2: cpu_milli: is \"-1\": a whole number from 0 to 1000000000 is needed"},
  };
  for (const auto& row : rows) {
    const auto tasks = read_trace_tasks(row.csv, "p.csv");
    ASSERT_FALSE(tasks.ok()) << row.csv;
    EXPECT_EQ(tasks.error().text(), row.error);
  }
  const auto twice = read_trace_nodes("sn,cpu_milli,memory_mib,gpu\nn,1,1,1\nn,1,1,1\n", "n.csv");
  ASSERT_FALSE(twice.ok());
  EXPECT_EQ(twice.error().text(), "n.csv:3: sn: is \"n\" a second time: names of nodes differ");
}

}  // namespace
}  // namespace berth::simulate
