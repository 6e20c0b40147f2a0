// PlacementPolicies and Topologies in the loop: gates, statuses, reads of owners.
#include <gtest/gtest.h>

#include <set>

#include "base/random.h"
#include "scheduling/test_bench.h"

namespace berth::scheduling {
namespace {

constexpr int kHistories = 40, kChangesOfOne = 60;

class PolicyWorld {
 public:
  PolicyWorld() {
    for (const char* node : {"n1", "n2"}) bench.put_node({node, "8", "8Gi", "110", {{"rack", "r1"}}});
    bench.put_node({"n3", "8", "8Gi", "110", {{"rack", "r2"}}});
  }
  void put_topology(const std::string& name, const std::string& level = "rack") {
    bench.put(api::Kind::Topology, R"({"metadata":{"name":")" + name + R"(","generation":)" +
                                       next_generation() + R"(},"spec":{"levels":[{"name":")" + level +
                                       R"(","nodeLabel":"rack"}]}})");
  }
  void put_policy(const std::string& name, const std::string& kind, const std::string& target,
                  const std::string& more) {
    const std::string api = kind == "PodGroup" ? "scheduling.k8s.io"
                            : kind == "Job"    ? "batch"
                                               : "jobset.x-k8s.io";
    bench.put(api::Kind::PlacementPolicy, R"({"metadata":{"namespace":"default","name":")" + name +
                                              R"(","generation":)" + next_generation() +
                                              R"(},"spec":{"targetRef":{"group":")" + api + R"(","kind":")" +
                                              kind + R"(","name":")" + target + "\"}" + more + "}}");
  }
  void put_gang(const std::string& name, int pods) {
    bench.put_group(name, pods);
    for (int i = 0; i < pods; ++i) bench.put_pod({name + "-" + std::to_string(i), "1", name});
  }
  std::string next_generation() { return std::to_string(++generation_); }
  // As time passes, statuses are written again.
  void settle() {
    bench.run();
    bench.now = bench.now + kTopologyStatusEvery;
    bench.run();
  }
  Json status(const std::string& policy) {
    return bench.view.placement_policies.find("default", policy)->status;
  }
  std::string reason(const std::string& policy) {
    const JsonArray& conditions = status(policy).items_at("conditions");
    return conditions.empty() ? "" : std::string(conditions.front().string_at("reason"));
  }

  // After any history: the statuses are those that a new process computes, and no group without a fault
  // waits.
  void expect_settled(std::uint64_t seed) {
    const placement::OwnersOf none = [](const std::string&, const api::OwnerReference&) {
      return placement::KnownOwners{};
    };
    std::map<std::string, std::set<GroupKey>> groups;
    for (const auto& [key, group] : bench.view.pod_groups.all()) {
      const placement::WishAnswer answer = placement::wish_of(bench.view, none, *group);
      for (const api::PlacementPolicy* policy : answer.policies)
        groups[policy->meta.name].insert({key.ns, key.name, EntityKind::Group});
      if (!answer.fault) {
        EXPECT_NE(bench.node_of(key.name + "-0"), "") << "seed " << seed << ", group " << key.name;
      }
    }
    for (const auto& [key, policy] : bench.view.placement_policies.all()) {
      const Json wanted = status_of_policy(bench.view, *policy, groups[key.name], {}, {}, bench.now);
      EXPECT_TRUE(says_status(policy->status, wanted))
          << "seed " << seed << ", policy " << key.name << ": " << to_string(policy->status) << " instead of "
          << to_string(wanted);
    }
  }

  TestBench bench;

 private:
  int generation_ = 0;
};

class Policies : public testing::Test, protected PolicyWorld {};

TEST_F(Policies, AFaultHoldsItsGroupAndNoOther) {
  put_policy("near", "PodGroup", "a", R"(,"preferred":["rack"])");
  put_gang("a", 2);
  put_gang("b", 2);
  settle();
  EXPECT_EQ(bench.node_of("a-0"), "");
  EXPECT_NE(bench.node_of("b-0"), "");
  EXPECT_NE(bench.group_message("a").find("PlacementPolicy near names Topology default"), std::string::npos)
      << bench.group_message("a");
  EXPECT_EQ(reason("near"), "TopologyNotFound");
  ASSERT_FALSE(bench.events.empty());
  put_topology("default");
  settle();
  EXPECT_NE(bench.node_of("a-0"), "");
  EXPECT_EQ(reason("near"), "Accepted");
  EXPECT_EQ(status("near").string_at("wish"), "rack, else anywhere");
}

TEST_F(Policies, TwoPoliciesHoldTheirGroupUntilOneGoes) {
  put_topology("default");
  put_policy("p", "PodGroup", "a", R"(,"preferred":["rack"])");
  put_policy("q", "PodGroup", "a", R"(,"required":"rack")");
  put_gang("a", 2);
  settle();
  EXPECT_EQ(bench.node_of("a-0"), "");
  EXPECT_EQ(reason("p"), "ConflictingPolicies");
  EXPECT_EQ(reason("q"), "ConflictingPolicies");
  bench.erase(api::Kind::PlacementPolicy, "q");
  settle();
  EXPECT_NE(bench.node_of("a-0"), "");
  EXPECT_EQ(reason("p"), "Accepted");
}

TEST_F(Policies, AGroupWaitsUntilItsOwnersAreRead) {
  put_topology("default");
  put_policy("set", "JobSet", "all", R"(,"preferred":["rack"])");
  bench.put(
      api::Kind::PodGroup,
      R"({"metadata":{"name":"a","namespace":"default","uid":"g","ownerReferences":[{"apiVersion":)"
      R"("batch/v1","kind":"Job","name":"train","uid":"j"}]},"spec":{"schedulingPolicy":{"basic":{}}}})");
  bench.put_pod({"a-0", "1", "a"});
  bench.others["jobs/train"] =
      R"({"metadata":{"name":"train","namespace":"default","uid":"j","ownerReferences":[{"apiVersion":)"
      R"("jobset.x-k8s.io/v1","kind":"JobSet","name":"all","uid":"s"}]}})";
  const client::Effects first = bench.decide();
  EXPECT_EQ(first.decision_id, kOwnerReads);
  EXPECT_EQ(bench.node_of("a-0"), "");
  bench.carry_out(first);
  settle();
  EXPECT_NE(bench.node_of("a-0"), "");
  EXPECT_EQ(reason("set"), "Accepted");
  EXPECT_EQ(status("set").items_at("groups").front().string_at("name"), "a");
}

TEST_F(Policies, SayWhereTheirGroupsAre) {
  put_topology("default");
  put_policy("near", "PodGroup", "a", R"(,"required":"rack")");
  settle();
  EXPECT_EQ(reason("near"), "TargetNotFound");
  put_gang("a", 2);
  settle();
  EXPECT_EQ(status("near").string_at("reached"), "waits");
  for (const char* pod : {"a-0", "a-1"}) {
    Json object = *parse_json(*bench.view.pods.find("default", pod)->raw);
    object["spec"]["nodeName"] = "n1";
    object["status"]["phase"] = "Running";
    bench.put_json(api::Kind::Pod, std::move(object));
  }
  settle();
  EXPECT_EQ(status("near").string_at("reached"), "rack");
  const Json group = status("near").items_at("groups").front();
  EXPECT_EQ(group.string_at("message"), "2 pods in r1");
  EXPECT_EQ(status("near").string_at("pods"), "2/2");
  EXPECT_EQ(status("near").string_at("domain"), "r1");
  EXPECT_EQ(group.items_at("domains").front().as_string(), "r1");
  const Json topology = bench.view.topologies.find("", "default")->status;
  EXPECT_EQ(topology.items_at("levels").front().int_at("domains"), 2);
  EXPECT_EQ(topology.int_at("nodes"), 3);
}

// Two racks for two groups are no miss of a wish for one rack.
TEST_F(Policies, SayWhatEachOfSeveralGroupsReached) {
  put_topology("default");
  put_policy("near", "Job", "train", R"(,"preferred":["rack"])");
  bench.others["jobs/train"] = R"({"metadata":{"name":"train","namespace":"default","uid":"j"}})";
  const auto put = [&](const std::string& group, const char* first, const char* second) {
    bench.put(api::Kind::PodGroup,
              R"({"metadata":{"name":")" + group + R"(","namespace":"default","uid":")" + group +
                  R"(","ownerReferences":[{"apiVersion":"batch/v1","kind":"Job","name":"train","uid":"j"}]},)"
                  R"("spec":{"schedulingPolicy":{"basic":{}}}})");
    const auto in = [](const char* rack) {
      return R"(,"nodeSelector":{"rack":")" + std::string(rack) + "\"}";
    };
    bench.put_pod({group + "-0", "1", group, in(first)});
    bench.put_pod({group + "-1", "1", group, in(second)});
  };
  put("a", "r1", "r1");
  put("b", "r2", "r2");
  put("c", "r1", "r2");
  settle();
  EXPECT_EQ(status("near").string_at("reached"), "waits");
  const auto reached = [&](const std::string& bound) {
    for (const char* pod : {"-0", "-1"}) bench.bind(bound + pod);
    settle();
    return std::string(status("near").string_at("reached"));
  };
  EXPECT_EQ(reached("a"), "1 group in one rack, 2 wait");
  EXPECT_EQ(reached("b"), "2 groups in one rack each, 1 waits");
  EXPECT_EQ(reached("c"), "1 group anywhere, 2 in one rack each");
  bench.erase(api::Kind::Pod, "c-1");
  settle();
  EXPECT_EQ(status("near").string_at("reached"), "one rack each");
}

// Rack r1 has room for two members of three; all nodes are in one hall.
TEST_F(Policies, AnEditWakesTheGroupThatItIsAboutAndNoOther) {
  for (const auto& [node, rack] : {std::pair("n1", "r1"), std::pair("n2", "r1"), std::pair("n3", "r2")})
    bench.put_node({node, "8", "8Gi", "110", {{"rack", rack}, {"hall", "h1"}}});
  put_topology("default");
  put_topology("net");
  put_policy("p", "PodGroup", "a", R"(,"required":"rack")");
  put_policy("q", "PodGroup", "b", R"(,"required":"rack","topology":"net")");
  bench.put_group("a", 3);
  for (const char* pod : {"a-0", "a-1", "a-2"}) bench.put_pod({pod, "6", "a"});
  settle();
  ASSERT_EQ(bench.node_of("a-0"), "");
  const auto decisions_after = [&](const auto& edit) {
    bench.now = bench.now + Duration::seconds(20);
    const std::size_t before = bench.decisions.records().size();
    edit();
    settle();
    return bench.decisions.records().size() - before;
  };
  EXPECT_EQ(
      decisions_after([&] { put_policy("q", "PodGroup", "b", R"(,"preferred":["rack"],"topology":"net")"); }),
      0u);
  EXPECT_EQ(decisions_after([&] { put_topology("net", "row"); }), 0u);
  EXPECT_GE(decisions_after(
                [&] { put_policy("p", "PodGroup", "a", R"(,"required":"rack","distribution":"Balanced")"); }),
            1u);
  EXPECT_EQ(bench.node_of("a-0"), "");
  EXPECT_GE(decisions_after([&] {
              bench.put(api::Kind::Topology,
                        R"({"metadata":{"name":"default","generation":)" + next_generation() +
                            R"(},"spec":{"levels":[{"name":"rack","nodeLabel":"hall"}]}})");
            }),
            1u);
  EXPECT_NE(bench.node_of("a-0"), "") << bench.group_message("a");
}

void change_one(PolicyWorld& history, SeededRandom& random) {
  const auto pick = [&](const char* prefix, std::uint64_t count) {
    return prefix + std::to_string(random.below(count));
  };
  TestBench& bench = history.bench;
  switch (random.below(7)) {
    case 0:
      return history.put_topology(random.below(2) == 0 ? "default" : "net",
                                  random.below(3) == 0 ? "row" : "rack");
    case 1:
      if (bench.view.topologies.find("", "default")) bench.erase(api::Kind::Topology, "default", "");
      return;
    case 2: {
      const std::string policy = pick("p", 4);
      if (bench.view.placement_policies.find("default", policy))
        bench.erase(api::Kind::PlacementPolicy, policy);
      return;
    }
    case 3:
      return history.put_gang(pick("g", 5), 2);
    case 4: {
      const std::string group = pick("g", 5);
      if (bench.view.pod_groups.find("default", group)) bench.erase(api::Kind::PodGroup, group);
      return;
    }
    default:
      return history.put_policy(
          pick("p", 4), "PodGroup", pick("g", 5),
          random.below(2) == 0 ? R"(,"preferred":["rack"])" : R"(,"preferred":["rack"],"topology":"net")");
  }
}

TEST_F(Policies, StatusesAndGatesFollowEveryChange) {
  for (std::uint64_t seed = 0; seed < kHistories; ++seed) {
    SeededRandom random(seed);
    PolicyWorld history;
    for (int change = 0; change < kChangesOfOne; ++change) {
      change_one(history, random);
      if (random.below(3) == 0) history.bench.run();
    }
    history.settle();
    history.expect_settled(seed);
  }
}

}  // namespace
}  // namespace berth::scheduling
