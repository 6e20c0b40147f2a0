// Profiles: which pods they are of, and a decision for each argument of a plugin.
#include "placement/profiles.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "placement/plugin_bench.h"

namespace berth::placement {
namespace {

using enum ExtensionPoint;

// n0 to n2: hosts h0 to h2 in the zones z0, z0 and z1.
void put_three_nodes(PluginBench& bench) {
  for (int i = 0; i < 3; ++i) {
    const std::string n = std::to_string(i);
    bench.put_node("n" + n, R"("kubernetes.io/hostname":"h)" + n + R"(","topology.kubernetes.io/zone":"z)" +
                                std::to_string(i / 2) + "\"");
  }
}

// A pod with these requests: "cpu":"2".
const api::Pod& put_asking(PluginBench& bench, const std::string& name, const std::string& requests,
                           const std::string& spec = "") {
  bench.put(api::Kind::Pod, R"({"metadata":{"name":")" + name + R"(","namespace":"ns","uid":")" + name +
                                R"("},"spec":{"containers":[{"name":"c","resources":{"requests":{)" +
                                requests + "}}}]" + spec + "}}");
  return *bench.view.pods.find("ns", name);
}

// A bench with one profile of these arguments.
struct ArgumentsBench : PluginBench {
  explicit ArgumentsBench(const PluginArguments& arguments) {
    plugins = default_plugins(arguments);
    put_three_nodes(*this);
  }
  std::string place(const std::string& name, const std::string& meta, const std::string& spec = "") {
    return node_of(put_pod(name, meta, spec));
  }
  std::string node_of(const api::Pod& pod) {
    const std::string chosen = choose(pod);
    EXPECT_EQ(choose_anew(pod), chosen);
    return chosen;
  }
};

api::NodeSelector on_host(const std::string& host) {
  api::NodeSelector selector;
  selector.terms.push_back({{{"kubernetes.io/hostname", "In", {host}}}, {}});
  return selector;
}

std::string of_replica_set(const std::string& name) {
  return R"(,"labels":{"app":"a","set":")" + name +
         R"("},"ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":")" + name +
         R"(","uid":")" + name + R"(","controller":true}])";
}

void put_replica_sets(PluginBench& bench) {
  for (const std::string name : {"r", "s"})
    bench.put(api::Kind::Other,
              R"({"metadata":{"name":")" + name + R"(","namespace":"ns","uid":")" + name +
                  R"("},"spec":{"selector":{"matchLabels":{"set":")" + name + R"("}}}})",
              {"apps", "v1", "replicasets"});
}

TEST(PluginArguments, AddedAffinityKeepsPodsFromOtherNodes) {
  PluginArguments arguments;
  arguments.node_affinity.added_required = on_host("h2");
  ArgumentsBench bench(arguments);
  EXPECT_EQ(bench.place("any", ""), "n2");
  EXPECT_EQ(
      bench.place("other", "", R"(,"nodeSelector":{"kubernetes.io/hostname":"h0"})"),
      "0/3 nodes are available: 1 node(s) didn't match Pod's node affinity/selector, 2 node(s) didn't match "
      "scheduler-enforced node affinity.");
}

TEST(PluginArguments, AddedAffinityPrefersNodes) {
  PluginArguments arguments;
  arguments.node_affinity.added_preferences = {{10, on_host("h1")}};
  ArgumentsBench bench(arguments);
  EXPECT_EQ(bench.place("any", ""), "n1");
}

TEST(PluginArguments, IgnoredResourcesAreNotCounted) {
  const auto node_for = [](const ResourcesFitArguments& fit, const std::string& requests) {
    PluginArguments arguments;
    arguments.resources_fit = fit;
    ArgumentsBench bench(arguments);
    return bench.node_of(put_asking(bench, "p", requests));
  };
  ResourcesFitArguments by_name, by_group, cpu;
  by_name.ignored_resources = {"a.com/x"};
  by_group.ignored_groups = {"a.com"};
  cpu.ignored_resources = {"cpu"};
  EXPECT_EQ(node_for({}, R"("a.com/x":"1")"), "0/3 nodes are available: 3 Insufficient a.com/x.");
  EXPECT_EQ(node_for(by_name, R"("a.com/x":"1")"), "n0");
  EXPECT_EQ(node_for(by_name, R"("a.com/y":"1")"), "0/3 nodes are available: 3 Insufficient a.com/y.");
  EXPECT_EQ(node_for(by_group, R"("a.com/y":"1")"), "n0");
  // Only extended resources are ignored.
  EXPECT_EQ(node_for(cpu, R"("cpu":"5")"), "0/3 nodes are available: 3 Insufficient cpu.");
}

TEST(PluginArguments, StrategiesOfNodeResourcesFit) {
  const auto best_of = [](const PluginArguments& arguments) {
    ArgumentsBench bench(arguments);
    bench.put_pod("there", "", R"(,"nodeName":"n1")");
    return bench.place("p", "");
  };
  PluginArguments arguments;
  EXPECT_EQ(best_of(arguments), "n0");
  arguments.resources_fit.strategy = FitStrategy::MostAllocated;
  EXPECT_EQ(best_of(arguments), "n1");
  arguments.resources_fit.strategy = FitStrategy::RequestedToCapacityRatio;
  arguments.resources_fit.shape = {{0, 0}, {100, 10}};
  EXPECT_EQ(best_of(arguments), "n1");
  arguments.resources_fit.shape = {{0, 10}, {100, 0}};
  EXPECT_EQ(best_of(arguments), "n0");
}

// With what runs on n1 the pod takes 3 of 4 cpus and 6 of 8 GiB there.
TEST(PluginArguments, ResourcesOfBalancedAllocation) {
  const auto best_of = [](std::vector<WeightedResource> resources) {
    PluginArguments arguments;
    arguments.balanced_allocation.resources = std::move(resources);
    arguments.resources_fit.resources = {{"a.com/none"}};
    ArgumentsBench bench(arguments);
    put_asking(bench, "on-n1", R"("cpu":"2")", R"(,"nodeName":"n1")");
    put_asking(bench, "on-n2", R"("cpu":"4")", R"(,"nodeName":"n2")");
    return bench.node_of(put_asking(bench, "p", R"("cpu":"1","memory":"6Gi")"));
  };
  EXPECT_EQ(best_of({{"cpu"}, {"memory"}}), "n1");
  EXPECT_EQ(best_of({{"cpu"}}), "n0");
}

TEST(PluginArguments, DefaultConstraintsOfAList) {
  PluginArguments arguments;
  arguments.topology_spread.system_defaults = false;
  ArgumentsBench none(arguments);
  put_replica_sets(none);
  none.put_pod("there", of_replica_set("r"), R"(,"nodeName":"n2")");
  // Not spread, but the emptiest by resources.
  EXPECT_EQ(none.place("p", of_replica_set("r")), "n0");

  api::SpreadConstraint zones;
  zones.topology_key = "topology.kubernetes.io/zone";
  arguments.topology_spread.required = {zones};
  ArgumentsBench required(arguments);
  put_replica_sets(required);
  required.put_pod("there", of_replica_set("r"), R"(,"nodeName":"n0")");
  EXPECT_EQ(required.place("p", of_replica_set("r")), "n2");
  EXPECT_EQ(required.place("other", of_replica_set("s")), "n1");
  EXPECT_EQ(required.place("bare", R"(,"labels":{"app":"a"})"), "n1");

  arguments.topology_spread.required.clear();
  arguments.topology_spread.preferred = {zones};
  ArgumentsBench preferred(arguments);
  put_replica_sets(preferred);
  for (const char* name : {"a", "b"}) preferred.put_pod(name, of_replica_set("r"), R"(,"nodeName":"n2")");
  preferred.put_pod("c", of_replica_set("r"), R"(,"nodeName":"n0")");
  EXPECT_EQ(preferred.place("p", of_replica_set("r")), "n1");
}

std::string affinity_to_app(const char* kind, const char* app) {
  const std::string term = R"({"labelSelector":{"matchLabels":{"app":")" + std::string(app) +
                           R"("}},"topologyKey":"kubernetes.io/hostname"})";
  const bool required = std::string_view(kind) == "required";
  return R"(,"affinity":{"podAffinity":{")" + std::string(kind) +
         R"(DuringSchedulingIgnoredDuringExecution":[)" +
         (required ? term : R"({"weight":50,"podAffinityTerm":)" + term + "}") + "]}}";
}

TEST(PluginArguments, WeightOfRequiredTermsOfOthers) {
  const auto place = [](std::int64_t weight) {
    PluginArguments arguments;
    arguments.inter_pod_affinity.hard_pod_affinity_weight = weight;
    ArgumentsBench bench(arguments);
    bench.put_pod("there", R"(,"labels":{"app":"a"})",
                  R"(,"nodeName":"n2")" + affinity_to_app("required", "a"));
    return bench.place("p", R"(,"labels":{"app":"a"})");
  };
  EXPECT_EQ(place(1), "n2");
  EXPECT_EQ(place(0), "n0");
}

TEST(PluginArguments, PreferredTermsOfOthersAreIgnored) {
  for (const bool ignored : {false, true}) {
    PluginArguments arguments;
    arguments.inter_pod_affinity.ignore_preferred_terms_of_existing_pods = ignored;
    ArgumentsBench bench(arguments);
    bench.put_pod("there", R"(,"labels":{"app":"a"})",
                  R"(,"nodeName":"n2")" + affinity_to_app("preferred", "b"));
    EXPECT_EQ(bench.place("p", R"(,"labels":{"app":"b"})"), ignored ? "n0" : "n2");
    // A pod with preferred terms of its own counts those of the others too.
    EXPECT_EQ(bench.place("q", R"(,"labels":{"app":"b"})", affinity_to_app("preferred", "c")), "n2");
  }
}

EnabledPlugins all_enabled() {
  EnabledPlugins enabled;
  for (const char* name : {"NodeName", "NodeUnschedulable", "TaintToleration", "NodeAffinity", "NodePorts",
                           "NodeResourcesFit", "NodeResourcesBalancedAllocation", "PodTopologySpread",
                           "InterPodAffinity", "DynamicResources", "DefaultPreemption", "ImageLocality"})
    for (auto& point : enabled.points) point.push_back({name, 1});
  return enabled;
}

void disable(EnabledPlugins& enabled, ExtensionPoint point, const std::string& name) {
  std::erase_if(enabled.at(point), [&](const EnabledPlugin& one) { return one.name == name; });
}

Profile named(const std::string& name) {
  Profile profile;
  profile.scheduler_name = name;
  profile.enabled = all_enabled();
  return profile;
}

// Two profiles in one cluster: each pod is judged by its own, from warm caches too.
TEST(Profiles, APodIsJudgedByTheProfileOfItsSchedulerName) {
  PluginBench bench;
  bench.put_node("n0", R"("kubernetes.io/hostname":"h0")");
  bench.put_node("n1", R"("kubernetes.io/hostname":"h1")");
  bench.put_pod("there", "", R"(,"nodeName":"n0")");
  std::vector<Profile> all = {named("spreads"), named("packs"), named("unfiltered"), named("weighted")};
  all[1].arguments.resources_fit.strategy = FitStrategy::MostAllocated;
  disable(*all[1].enabled, Score, "NodeResourcesBalancedAllocation");
  disable(*all[2].enabled, Filter, "NodeResourcesFit");
  for (const char* name : {"NodeResourcesFit", "NodeResourcesBalancedAllocation"})
    disable(*all[2].enabled, Score, name);
  all[3].arguments.node_affinity.added_preferences = {{1, on_host("h0")}};
  for (EnabledPlugin& one : all[3].enabled->at(Score)) one.weight = one.name == "NodeAffinity" ? 1000 : 1;
  const Profiles profiles(all, default_plugins);
  const PodCycle pods(profiles, bench.domains);
  SignatureCache cache(pods, bench.domains);
  const auto choose = [&](const std::string& scheduler, const std::string& cpu) {
    const api::Pod& pod =
        put_asking(bench, "p", R"("cpu":")" + cpu + "\"", R"(,"schedulerName":")" + scheduler + "\"");
    pods.begin(bench.state, bench.context, pod, nullptr);
    const NodeId node = cache.choose(bench.state, {});
    return node.valid() ? bench.cluster.node(node).name : std::string("none");
  };
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(choose("spreads", "1"), "n1");
    EXPECT_EQ(choose("packs", "1"), "n0");
    EXPECT_EQ(choose("unfiltered", "100"), "n0");
    EXPECT_EQ(choose("spreads", "100"), "none");
    EXPECT_EQ(choose("weighted", "1"), "n0");
    EXPECT_EQ(choose("of-no-profile", "1"), "n1");  // the first one's
  }
}

TEST(Profiles, TheOrderOfFiltersGivesTheReason) {
  EnabledPlugins enabled = all_enabled();
  std::ranges::reverse(enabled.at(Filter));
  PluginBench bench;
  bench.put(api::Kind::Node, R"({"metadata":{"name":"n0"},"spec":{"unschedulable":true},)"
                             R"("status":{"allocatable":{"cpu":"4","pods":"0"}}})");
  const api::Pod& pod = bench.put_pod("p");
  EXPECT_NE(bench.choose(pod).find("unschedulable"), std::string::npos) << bench.choose(pod);
  select(bench.plugins, enabled);
  EXPECT_NE(bench.choose_anew(pod).find("Too many pods"), std::string::npos) << bench.choose_anew(pod);
}

TEST(Profiles, WithoutDefaultPreemptionNothingIsEvicted) {
  PluginSet set = default_plugins();
  EnabledPlugins enabled = all_enabled();
  select(set, enabled);
  EXPECT_TRUE(set.preempts);
  disable(enabled, PostFilter, "DefaultPreemption");
  select(set, enabled);
  EXPECT_FALSE(set.preempts);
}

}  // namespace
}  // namespace berth::placement
