// Preemption of pods through the scheduler: what it writes, in which order, and what ends it.
#include <gtest/gtest.h>

#include "scheduling/test_bench.h"

namespace berth::scheduling {
namespace {

std::string with_priority(int priority, const std::string& rest = "") {
  return R"(,"priority":)" + std::to_string(priority) + rest;
}

class Preempts : public testing::Test {
 protected:
  // Bound pods of `node`, in the order of their start.
  void run_pod(const std::string& name, const std::string& node, int priority, const std::string& cpu = "2",
               const std::string& rest = "") {
    bench.put_pod({name, cpu, "", R"(,"nodeName":")" + node + "\"" + with_priority(priority, rest)});
    Json pod = *parse_json(*bench.view.pods.find("default", name)->raw);
    pod["status"]["phase"] = "Running";
    pod["status"]["startTime"] = format_time(bench.now + Duration::seconds(++started));
    bench.put_json(api::Kind::Pod, std::move(pod));
  }
  std::string nominated(const std::string& pod) const {
    return bench.view.pods.find("default", pod)->nominated_node;
  }
  std::string event(const std::string& pod, const std::string& reason) const {
    for (const client::EventNote& one : bench.events)
      if (one.regarding.name == pod && one.reason == reason) return one.message;
    return "";
  }
  std::size_t holds() const { return bench.scheduler.cluster().ledger().holds().size(); }

  TestBench bench;
  int started = 0;
};

TEST_F(Preempts, TheLessImportantPodGoesAndThePreemptorFollows) {
  bench.put_node({"n1"});
  run_pod("old", "n1", 5);
  run_pod("young", "n1", 5);
  bench.put_pod({"high", "2", "", with_priority(10)});
  bench.run();
  EXPECT_EQ(bench.evictions, std::vector<std::string>{"evict young"});
  EXPECT_EQ(nominated("high"), "n1");
  EXPECT_EQ(holds(), 1u);
  const api::Condition* target =
      api::find_condition(bench.view.pods.find("default", "young")->conditions, "DisruptionTarget");
  ASSERT_NE(target, nullptr);
  EXPECT_EQ(target->reason, "PreemptionByScheduler");
  EXPECT_EQ(target->message, "berth: preempting to accommodate a higher priority pod");
  EXPECT_EQ(event("young", "Preempted"), "Preempted by pod uid-high on node n1");
  EXPECT_EQ(event("high", "RoomReserved"),
            "Room on node n1 is reserved until these pods have ended: default/young");

  // An equal priority does not get the room, and nobody is evicted twice.
  bench.put_pod({"equal", "2", "", with_priority(10)});
  bench.now = bench.now + Duration::seconds(20);
  bench.run();
  EXPECT_EQ(bench.evictions, (std::vector<std::string>{"evict young", "evict old"}));
  bench.erase(api::Kind::Pod, "young");
  bench.now = bench.now + Duration::seconds(20);
  bench.run();
  EXPECT_EQ(bench.node_of("high"), "n1");
  EXPECT_EQ(bench.node_of("equal"), "");
  EXPECT_EQ(holds(), 1u);
}

TEST_F(Preempts, KubernetesSaysWhatWasFound) {
  bench.put_node({"n1"});
  run_pod("low", "n1", 0, "3");
  bench.put_pod({"high", "2", "", with_priority(10)});
  bench.run();
  EXPECT_EQ(bench.message_of("high"),
            "0/1 nodes are available: 1 Insufficient cpu. preemption: found a potential placement for pod on "
            "node n1, preempting 1 victims");
  bench.put_node({"n2", "1"});
  bench.now = bench.now + Duration::seconds(20);
  bench.run();
  EXPECT_EQ(bench.message_of("high"),
            "0/2 nodes are available: 2 Insufficient cpu. preemption: not eligible due to a terminating pod "
            "on the nominated node.");
}

struct NoVictimsCase {
  const char* name;
  const char* preemptor;  // more members of its spec
  const char* cpu;
  const char* wanted;
};

TEST_F(Preempts, KubernetesSaysWhyNobodyIsEvicted) {
  for (const char* node : {"n1", "n2", "n3"}) bench.put_node({node});
  run_pod("low", "n1", 0, "3");
  run_pod("mid", "n2", 20, "3");
  run_pod("both", "n3", 20, "3");
  run_pod("little", "n3", 0, "1");
  const NoVictimsCase cases[] = {
      {"too-large", R"(,"priority":10)", "4",
       "0/3 nodes are available: 3 Insufficient cpu. preemption: found a potential placement for pod on node "
       "n1, preempting 1 victims"},
      {"never", R"(,"priority":10,"preemptionPolicy":"Never")", "4",
       "0/3 nodes are available: 3 Insufficient cpu. preemption: not eligible due to "
       "preemptionPolicy=Never."},
      {"elsewhere", R"(,"priority":10,"nodeSelector":{"kubernetes.io/hostname":"n3"})", "2",
       "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) didn't match Pod's node affinity/selector. "
       "preemption: 0/3 nodes are available: 1 Insufficient cpu, 2 Preemption is not helpful for "
       "scheduling."},
      {"lowest", "", "4",
       "0/3 nodes are available: 3 Insufficient cpu. preemption: 0/3 nodes are available: 3 No preemption "
       "victims found for incoming pod."},
  };
  for (const NoVictimsCase& row : cases) {
    bench.put_pod({row.name, row.cpu, "", row.preemptor});
    bench.run();
    EXPECT_EQ(bench.message_of(row.name), row.wanted) << row.name;
    bench.erase(api::Kind::Pod, row.name);
    bench.run();
  }
}

struct NominatedCase {
  const char* name;
  int priority;  // of the nominated pod; the other one has 5
  const char* node;
  const char* other_gets;
};

TEST_F(Preempts, RoomIsKeptForAPodThatOthersNominated) {
  const NominatedCase rows[] = {
      {"a higher priority keeps its room", 9, "n1", ""},
      {"an equal one, too", 5, "n1", ""},
      {"a lower one does not", 1, "n1", "n1"},
      {"a node that is not there has no room", 9, "gone", "n1"},
  };
  for (const NominatedCase& row : rows) {
    TestBench one;
    one.put_node({"n1"});
    one.put_pod({"gated", "3", "", with_priority(row.priority, R"(,"schedulingGates":[{"name":"g"}])")});
    one.nominate("gated", row.node);
    one.put_pod({"other", "3", "", with_priority(5)});
    one.run();
    EXPECT_EQ(one.node_of("other"), row.other_gets) << row.name;
  }
}

// n1 and n2 have a device each; n1 is the first by name.
TEST_F(Preempts, DevicesAreKeptForAPodThatOthersNominated) {
  const NominatedCase rows[] = {
      {"a higher priority keeps its device", 9, "n1", "n2"},
      {"an equal one, too", 5, "n1", "n2"},
      {"a lower one does not", 1, "n1", "n1"},
      {"a node without a device", 9, "n3", "n1"},
  };
  for (const NominatedCase& row : rows) {
    SCOPED_TRACE(row.name);
    TestBench one;
    for (const char* node : {"n1", "n2", "n3"}) one.put_node({node, "8"});
    for (const char* node : {"n1", "n2"}) one.put_slice("s-" + std::string(node), node, 1);
    one.put_class("gpu", "true");
    const auto with_claim = [](const std::string& claim) {
      return R"(,"resourceClaims":[{"name":"c","resourceClaimName":")" + claim + R"("}])";
    };
    one.put_pod({"gated", "1", "",
                 with_priority(row.priority, R"(,"schedulingGates":[{"name":"g"}])" + with_claim("mine"))});
    one.nominate("gated", row.node);
    one.run();
    one.put_claim("mine", "gpu");  // after the nomination
    one.put_claim("its", "gpu");
    one.run();
    const HeldRooms held = one.scheduler.held_rooms();
    ASSERT_EQ(held.total, 1u);
    EXPECT_EQ(name_of(held.rooms[0].purpose), "Nomination");
    EXPECT_EQ(held.rooms[0].nodes, std::vector<std::string>{row.node});
    EXPECT_EQ(held.rooms[0].devices.size(), row.node == std::string("n3") ? 0u : 1u);
    one.put_pod({"other", "1", "", with_priority(5, with_claim("its"))});
    one.run();
    EXPECT_EQ(one.node_of("other"), row.other_gets);
  }
}

// It takes the device that was kept for it, and a third pod gets none.
TEST_F(Preempts, ANominatedPodTakesItsDevice) {
  bench.put_node({"n1", "8"});
  bench.put_slice("s", "n1", 1);
  bench.put_class("gpu", "true");
  for (const char* claim : {"mine", "its"}) bench.put_claim(claim, "gpu");
  const auto put = [&](const std::string& name, const std::string& claim, const std::string& more) {
    bench.put_pod({name, "1", "",
                   with_priority(5, R"(,"resourceClaims":[{"name":"c","resourceClaimName":")" + claim +
                                        R"("}])" + more)});
  };
  put("gated", "mine", R"(,"schedulingGates":[{"name":"g"}])");
  bench.nominate("gated", "n1");
  bench.run();
  put("other", "its", R"(,"preemptionPolicy":"Never")");
  bench.run();
  EXPECT_EQ(bench.node_of("other"), "");
  put("gated", "mine", "");
  bench.nominate("gated", "n1");
  bench.run();
  EXPECT_EQ(bench.node_of("gated"), "n1");
  bench.now = bench.now + Duration::seconds(30);
  bench.run();
  EXPECT_EQ(bench.node_of("other"), "");
}

struct ExpectedCase {
  const char* name;
  const char* expected;  // more members of the spec of the nominated pod, which has the label app=a
  const char* other;     // of another one, with the label app=b
  const char* other_gets;
};

constexpr const char* kPort = R"(,"ports":[{"containerPort":80,"hostPort":80}])";
constexpr const char* kRepelsA =
    R"(,"affinity":{"podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"labelSelector":)"
    R"({"matchLabels":{"app":"a"}},"topologyKey":"zone"}]}})";
constexpr const char* kRepelsB =
    R"(,"affinity":{"podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"labelSelector":)"
    R"({"matchLabels":{"app":"b"}},"topologyKey":"zone"}]}})";
constexpr const char* kWantsA =
    R"(,"affinity":{"podAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"labelSelector":)"
    R"({"matchLabels":{"app":"a"}},"topologyKey":"zone"}]}})";

// n2 is in the zone of n1.
TEST_F(Preempts, WhatANominatedPodMayNotShareIsKept) {
  const ExpectedCase rows[] = {
      {"nothing in common", "", "", "n2"},
      {"anti-affinity of the other one", "", kRepelsA, ""},
      {"its own anti-affinity", kRepelsB, "", ""},
      {"anti-affinity against nobody there", "", kRepelsB, "n2"},
      {"nobody is attracted before it is there", "", kWantsA, ""},
  };
  for (const ExpectedCase& row : rows) {
    TestBench one;
    one.put_node({"n1", "4", "8Gi", "110", {{"zone", "z"}}});
    one.put_node({"n2", "2", "8Gi", "110", {{"zone", "z"}}});
    const auto put = [&](const std::string& name, const std::string& app, const std::string& cpu,
                         const std::string& spec) {
      one.put_pod({name, cpu, "", spec});
      Json pod = *parse_json(*one.view.pods.find("default", name)->raw);
      pod["metadata"]["labels"]["app"] = app;
      one.put_json(api::Kind::Pod, std::move(pod));
    };
    put("gated", "a", "3",
        with_priority(9, R"(,"schedulingGates":[{"name":"g"}])" + std::string(row.expected)));
    one.nominate("gated", "n1");
    put("other", "b", "2", with_priority(9, row.other));
    one.run();
    EXPECT_EQ(one.node_of("other"), row.other_gets) << row.name;
    one.erase(api::Kind::Pod, "gated");
    one.now = one.now + Duration::seconds(20);
    one.run();
    EXPECT_EQ(one.node_of("other") != "", std::string_view(row.other) != kWantsA) << row.name;
  }
}

TEST_F(Preempts, TheHostPortOfANominatedPodIsKept) {
  bench.put_node({"n1", "8"});
  const auto put = [&](const std::string& name, const std::string& more) {
    bench.put(api::Kind::Pod,
              R"({"metadata":{"name":")" + name + R"(","namespace":"default","uid":")" + name +
                  R"("},"spec":{"schedulerName":"berth","priority":5,"containers":[{"name":"c")" + kPort +
                  "}]" + more + "}}");
  };
  put("gated", R"(,"schedulingGates":[{"name":"g"}])");
  bench.nominate("gated", "n1");
  put("other", "");
  bench.run();
  EXPECT_EQ(bench.node_of("other"), "");
  bench.nominate("gated", "");
  bench.now = bench.now + Duration::seconds(20);
  bench.run();
  EXPECT_EQ(bench.node_of("other"), "n1");
}

// Two of 2 CPUs fit where one of 4 leaves.
TEST_F(Preempts, WhoIsEvictedAnywayCostsTheNextOneNothing) {
  bench.put_node({"n1"});
  run_pod("old", "n1", 0, "4");
  bench.put_pod({"first", "2", "", with_priority(10)});
  bench.run();
  ASSERT_EQ(bench.evictions, std::vector<std::string>{"evict old"});
  bench.put_node({"n2"});
  run_pod("young", "n2", 0, "4");
  bench.put_pod({"second", "2", "", with_priority(10)});
  bench.run();
  EXPECT_EQ(bench.evictions, std::vector<std::string>{"evict old"});
  EXPECT_EQ(nominated("second"), "n1");
  bench.put_pod({"third", "2", "", with_priority(10)});
  bench.run();
  EXPECT_EQ(bench.evictions, (std::vector<std::string>{"evict old", "evict young"})) << "the room is taken";
  EXPECT_EQ(nominated("third"), "n2");
  bench.erase(api::Kind::Pod, "old");
  bench.now = bench.now + Duration::seconds(20);
  bench.run();
  EXPECT_EQ(bench.node_of("first"), "n1");
  EXPECT_EQ(bench.node_of("second"), "n1");
}

// The pod "again" is made anew by its controller, and fits only where "guarded" is; "large" fits nowhere
// else.
TEST_F(Preempts, WhatAVictimWouldEvictInTurnCounts) {
  const std::string made = R"(,"ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"r",)"
                           R"("uid":"r","controller":true}])";
  const auto run_made = [&](const std::string& name, const std::string& node, int priority,
                            const std::string& cpu, const std::string& meta) {
    run_pod(name, node, priority, cpu);
    std::string text(*bench.view.pods.find("default", name)->raw);
    Json pod = *parse_json(text);
    const Json more = *parse_json("{" + meta.substr(1) + "}");
    for (const auto& [key, value] : more.as_object()) pod["metadata"][key] = value;
    pod["status"]["conditions"] = *parse_json(R"([{"type":"Ready","status":"True"}])");
    bench.put_json(api::Kind::Pod, std::move(pod));
  };
  for (const bool protects : {true, false}) {
    for (const char* node : {"n1", "n2", "n3"}) bench.put_node({node, *(node + 1) == '2' ? "2" : "4"});
    if (protects)
      bench.put(
          api::Kind::PodDisruptionBudget,
          R"({"metadata":{"name":"b","namespace":"default","uid":"b","generation":1},"spec":{"selector":)"
          R"({"matchLabels":{"app":"b"}}},"status":{"observedGeneration":1,"disruptionsAllowed":0,)"
          R"("currentHealthy":1,"desiredHealthy":1}})");
    else
      bench.erase(api::Kind::PodDisruptionBudget, "b");
    run_made("again", "n1", 5, "2", made);
    run_pod("high1", "n1", 20, "2");
    run_made("guarded", "n2", 3, "2", R"(,"labels":{"app":"b"})");
    run_made("large", "n3", 6, "3", made);
    bench.put_pod({"high", "2", "", with_priority(10)});
    bench.evictions.clear();
    bench.run();
    EXPECT_EQ(bench.evictions, std::vector<std::string>{protects ? "evict large" : "evict guarded"});
    for (const char* pod : {"again", "high1", "guarded", "large", "high"}) bench.erase(api::Kind::Pod, pod);
    bench.run();
  }
}

// What the profile ignores is no room that pods must leave.
TEST(PreemptsByProfile, AnIgnoredResourceNeedsNoVictims) {
  placement::Profile profile{"berth"};
  profile.arguments.resources_fit.ignored_resources = {"example.com/x"};
  SchedulerOptions options;
  options.profiles = {profile};
  TestBench one(options);
  one.put_node({"n1", "4", "8Gi", "110", {}, "{}", R"(,"example.com/x":"1")"});
  const auto put = [&](const std::string& name, const std::string& requests, const std::string& spec) {
    one.put(api::Kind::Pod,
            R"({"metadata":{"name":")" + name + R"(","namespace":"default","uid":")" + name +
                R"("},"spec":{"schedulerName":"berth","containers":[{"name":"c","resources":)" +
                R"({"requests":{)" + requests + "}}}]" + spec + "}}");
  };
  put("stays", R"("cpu":"1","example.com/x":"1")", R"(,"nodeName":"n1","priority":20)");
  put("low", R"("cpu":"3")", R"(,"nodeName":"n1","priority":0)");
  put("high", R"("cpu":"2","example.com/x":"1")", with_priority(10));
  one.run();
  EXPECT_EQ(one.evictions, std::vector<std::string>{"evict low"});
}

TEST_F(Preempts, ANominatedPodGetsItsOwnRoomAndLeavesNothingBehind) {
  bench.put_node({"n1"});
  bench.put_pod({"mine", "3", "", with_priority(5)});
  bench.nominate("mine", "n1");
  bench.run();
  EXPECT_EQ(bench.node_of("mine"), "n1");
  EXPECT_EQ(holds(), 0u);
}

TEST_F(Preempts, AClearedNominationGivesTheRoomBack) {
  bench.put_node({"n1"});
  bench.put_pod({"gated", "3", "", with_priority(9, R"(,"schedulingGates":[{"name":"g"}])")});
  bench.nominate("gated", "n1");
  bench.put_pod({"other", "3", "", with_priority(5)});
  bench.run();
  ASSERT_EQ(bench.node_of("other"), "");
  bench.nominate("gated", "");
  bench.now = bench.now + Duration::seconds(20);
  bench.run();
  EXPECT_EQ(bench.node_of("other"), "n1");
  EXPECT_EQ(holds(), 0u);
}

TEST_F(Preempts, ALowerNominationOnTheNodeIsCleared) {
  bench.put_node({"n1"});
  run_pod("low", "n1", 0, "3");
  bench.put_pod({"nominated", "3", "", with_priority(5, R"(,"preemptionPolicy":"Never")")});
  bench.nominate("nominated", "n1");
  bench.put_pod({"high", "3", "", with_priority(10)});
  bench.run();
  EXPECT_EQ(nominated("high"), "n1");
  EXPECT_EQ(nominated("nominated"), "");
  EXPECT_EQ(holds(), 1u);
}

TEST_F(Preempts, AnotherPlaceEndsThePlanBeforeAnybodyIsEvicted) {
  bench.put_node({"n1"});
  run_pod("low", "n1", 0, "3");
  bench.put_pod({"high", "2", "", with_priority(10)});
  const client::Effects refused = bench.decide();  // nothing is written yet
  ASSERT_EQ(holds(), 1u);
  bench.carry_out(refused);
  bench.put_node({"n2"});
  bench.now = bench.now + Duration::seconds(20);
  bench.run();
  EXPECT_EQ(bench.node_of("high"), "n2");
  EXPECT_EQ(holds(), 0u);
}

TEST_F(Preempts, APodThatIsGoneFreesTheRoom) {
  bench.put_node({"n1"});
  run_pod("low", "n1", 0, "3");
  bench.put_pod({"high", "2", "", with_priority(10)});
  bench.run();
  ASSERT_EQ(holds(), 1u);
  bench.erase(api::Kind::Pod, "high");
  bench.run();
  EXPECT_EQ(holds(), 0u);
}

TEST_F(Preempts, AVictimThatNeverEndsIsGivenUp) {
  for (const char* node : {"n1", "n2"}) bench.put_node({node});
  run_pod("stuck", "n1", 0, "3");
  run_pod("better", "n2", 5, "3");
  bench.put_pod({"high", "2", "", with_priority(10)});
  bench.run();
  EXPECT_EQ(bench.evictions, std::vector<std::string>{"evict stuck"});
  bench.now = bench.now + Duration::minutes(7);
  bench.run();
  EXPECT_EQ(bench.evictions, (std::vector<std::string>{"evict stuck", "evict better"}));
  EXPECT_EQ(nominated("high"), "n2");
}

TEST_F(Preempts, ADelayIsWaitedFor) {
  bench.put_node({"n1"});
  run_pod("low", "n1", 0, "3");
  bench.put_pod({"high", "2", "", with_priority(10)});
  Json pod = *parse_json(*bench.view.pods.find("default", "high")->raw);
  pod["metadata"]["creationTimestamp"] = format_time(bench.now);
  pod["metadata"]["annotations"]["scheduling.berth.dev/preemption-delay"] = "90s";
  bench.put_json(api::Kind::Pod, std::move(pod));
  bench.run();
  bench.now = bench.now + Duration::seconds(60);
  bench.run();
  EXPECT_EQ(bench.evictions, std::vector<std::string>{});
  bench.now = bench.now + Duration::seconds(30);
  bench.run();
  EXPECT_EQ(bench.evictions, std::vector<std::string>{"evict low"});
}

TEST(Evictions, ADelayEndsWithItsPod) {
  Evictions evictions;
  const EntityKey pod{"default", "high", EntityKind::Pod};
  evictions.not_before(pod, Time::from_micros(90));
  EXPECT_FALSE(evictions.forget(pod)) << "it has no plan";
  EXPECT_EQ(evictions.next_time(), Time::from_micros(90)) << "a refusal does not end the delay";
  evictions.leave(pod);
  EXPECT_FALSE(evictions.next_time());
  EXPECT_TRUE(evictions.expire(Time::from_micros(90)).empty());
}

TEST_F(Preempts, WhatAnEarlierProcessEvictedIsNotEvictedAgain) {
  for (const char* node : {"n1", "n2"}) bench.put_node({node});
  run_pod("ends", "n2", 0, "3");
  run_pod("stays", "n1", 0, "3");
  bench.put_pod({"high", "2", "", with_priority(10)});
  bench.run();
  ASSERT_EQ(bench.evictions, std::vector<std::string>{"evict stays"}) << "the youngest";
  // Its successor knows the API's objects alone.
  TestBench next;
  next.now = bench.now;
  for (const auto& [name, node] : bench.view.nodes.all()) next.put(api::Kind::Node, std::string(*node->raw));
  for (const auto& [name, one] : bench.view.pods.all()) next.put(api::Kind::Pod, std::string(*one->raw));
  next.run();
  EXPECT_EQ(next.evictions, std::vector<std::string>{});
  EXPECT_EQ(next.view.pods.find("default", "high")->nominated_node, "n1");
  EXPECT_EQ(next.scheduler.cluster().ledger().holds().size(), 1u);
}

// A device is free when the claim of its last user is: the pod is gone before that.
TEST_F(Preempts, ADeviceIsWaitedForAfterItsPod) {
  for (const char* node : {"n1", "n2"}) {
    bench.put_node({node});
    bench.put_slice("s" + std::string(node), node, 1);
  }
  bench.put_class("gpu", "true");
  for (const char* pod : {"a", "b"}) {
    const std::string pool = *pod == 'a' ? "pool-sn1" : "pool-sn2";
    bench.put_claim(pod, "gpu");
    Json claim = *parse_json(*bench.view.claims.find("default", pod)->raw);
    claim["status"] = *parse_json(
        R"({"allocation":{"devices":{"results":[{"request":"r","driver":"gpu.example.com","pool":")" + pool +
        R"(","device":"d0"}]}},"reservedFor":[{"resource":"pods","name":")" + pod + R"(","uid":"uid-)" + pod +
        R"("}]})");
    bench.put_json(api::Kind::ResourceClaim, std::move(claim));
    bench.put_pod({pod, "1", "",
                   R"(,"resourceClaims":[{"name":"c","resourceClaimName":")" + std::string(pod) + R"("}])"});
    bench.run();
    bench.bind(pod);
  }
  bench.put_claim("high", "gpu");
  bench.put_pod(
      {"high", "1", "", with_priority(10, R"(,"resourceClaims":[{"name":"c","resourceClaimName":"high"}])")});
  bench.run();
  ASSERT_EQ(bench.evictions.size(), 1u);
  const std::string victim = bench.evictions.front().substr(6), node = nominated("high");
  bench.erase(api::Kind::Pod, victim);
  for (int i = 0; i < 3; ++i) {
    bench.now = bench.now + Duration::seconds(20);
    bench.run();
    EXPECT_EQ(bench.evictions.size(), 1u) << "its claim is allocated still";
    EXPECT_EQ(nominated("high"), node);
  }
  bench.erase(api::Kind::ResourceClaim, victim);
  bench.now = bench.now + Duration::seconds(20);
  bench.run();
  EXPECT_EQ(bench.node_of("high"), node);
}

// The only device is that of the claim "c" of the group "g" with this priority; `members` run and use it. The
// pod "high" with priority 10 asks for a device.
void put_claim_of_a_group(TestBench& bench, int priority, const std::vector<std::string>& members) {
  bench.put_node({"n1"});
  bench.put_slice("s", "n1", 1);
  bench.put_class("gpu", "true");
  bench.put(api::Kind::PodGroup,
            R"({"metadata":{"name":"g","namespace":"default","uid":"uid-g"},"spec":{"priority":)" +
                std::to_string(priority) + R"(,"schedulingPolicy":{"basic":{}},)" +
                R"("resourceClaims":[{"name":"dev","resourceClaimName":"c"}]}})");
  bench.put_claim("c", "gpu");
  Json claim = *parse_json(*bench.view.claims.find("default", "c")->raw);
  claim["status"] = *parse_json(
      R"({"allocation":{"devices":{"results":[{"request":"r","driver":"gpu.example.com","pool":"pool-s",)"
      R"("device":"d0"}]}},"reservedFor":[{"apiGroup":"scheduling.k8s.io","resource":"podgroups",)"
      R"("name":"g","uid":"uid-g"}]})");
  bench.put_json(api::Kind::ResourceClaim, std::move(claim));
  for (const std::string& member : members)
    bench.put_pod(
        {member, "1", "g", R"(,"nodeName":"n1","resourceClaims":[{"name":"dev","resourceClaimName":"c"}])"});
  bench.put_claim("high", "gpu");
  bench.put_pod(
      {"high", "1", "", with_priority(10, R"(,"resourceClaims":[{"name":"c","resourceClaimName":"high"}])")});
}

// Its controller would keep it until the group is gone.
TEST_F(Preempts, TheClaimOfAGroupIsGivenBackWithItsLastMember) {
  put_claim_of_a_group(bench, 0, {"a", "b"});
  const auto is_allocated = [&] { return bench.view.claims.find("default", "c")->allocation.has_value(); };
  bench.run();
  EXPECT_EQ(bench.evictions.size(), 2u);
  EXPECT_EQ(nominated("high"), "n1");
  bench.erase(api::Kind::Pod, "a");
  bench.run();
  EXPECT_TRUE(is_allocated()) << "b uses it";
  bench.erase(api::Kind::Pod, "b");
  bench.run();
  EXPECT_FALSE(is_allocated());
  EXPECT_EQ(bench.node_of("high"), "n1");
  EXPECT_EQ(bench.evictions.size(), 2u);
}

// As after a restart between the last eviction and the return of the claim.
TEST_F(Preempts, AClaimThatAGroupKeepsWithoutMembersIsGivenBack) {
  put_claim_of_a_group(bench, 0, {});
  bench.run();
  EXPECT_TRUE(bench.evictions.empty());
  EXPECT_EQ(bench.node_of("high"), "n1");
}

TEST_F(Preempts, AClaimOfAGroupOfTheSamePriorityStays) {
  put_claim_of_a_group(bench, 10, {});
  bench.run();
  EXPECT_EQ(bench.node_of("high"), "");
  EXPECT_TRUE(bench.view.claims.find("default", "c")->allocation.has_value());
}

// Without need of devices a group keeps them for its next members.
TEST_F(Preempts, WhoAsksForNoDeviceLeavesTheClaimOfAGroup) {
  put_claim_of_a_group(bench, 0, {});
  bench.put_node({"n1", "1"});
  bench.erase(api::Kind::Pod, "high");
  bench.put_pod(
      {"a", "1", "g", R"(,"nodeName":"n1","resourceClaims":[{"name":"dev","resourceClaimName":"c"}])"});
  bench.put_pod({"big", "1", "", with_priority(10)});
  bench.run();
  EXPECT_EQ(bench.evictions.size(), 1u);
  bench.erase(api::Kind::Pod, "a");
  bench.run();
  EXPECT_EQ(bench.node_of("big"), "n1");
  EXPECT_TRUE(bench.view.claims.find("default", "c")->allocation.has_value());
}

TEST_F(Preempts, ARefusalByABudgetGivesThePlanUp) {
  bench.put_node({"n1"});
  bench.put(
      api::Kind::PodDisruptionBudget,
      R"({"metadata":{"name":"b","namespace":"default","uid":"b","generation":1},"spec":{"selector":{}},)"
      R"("status":{"observedGeneration":1,"disruptionsAllowed":1}})");
  run_pod("low", "n1", 0, "3");
  bench.put_pod({"high", "2", "", with_priority(10)});
  client::Effects effects = bench.decide();
  while (effects.decision_id != kEvictionWrites) {
    bench.carry_out(effects);
    effects = bench.decide();
  }
  client::Outcome outcome{effects.decision_id, {{effects.chains[0].key, false, 1, {}}}};
  outcome.chains[0].last.code = 429;
  outcome.chains[0].last.message = std::string(client::kBudgetRefuses);
  // Somebody else used the budget up.
  bench.put(
      api::Kind::PodDisruptionBudget,
      R"({"metadata":{"name":"b","namespace":"default","uid":"b","generation":1},"spec":{"selector":{}},)"
      R"("status":{"observedGeneration":1,"disruptionsAllowed":0}})");
  bench.scheduler.on_outcome(bench.view, outcome, bench.now);
  EXPECT_EQ(holds(), 0u);
  bench.now = bench.now + Duration::seconds(20);
  bench.run();
  // The only way left hurts the budget, as kube-scheduler does.
  EXPECT_EQ(bench.evictions, std::vector<std::string>{"delete low"});
}

// A place that is decided and not bound is taken back; nothing is deleted.
TEST_F(Preempts, ADecisionThatIsNotBoundIsWithdrawn) {
  bench.put_node({"n1"});
  bench.put_pod({"low", "3"});
  bench.run();
  ASSERT_EQ(bench.node_of("low"), "n1");
  bench.put_pod({"high", "2", "", with_priority(10)});
  bench.run();
  EXPECT_EQ(bench.evictions, std::vector<std::string>{});
  EXPECT_TRUE(bench.view.bind_requests.all().begin()->second->withdrawn);
}

}  // namespace
}  // namespace berth::scheduling
