// KubeSchedulerConfiguration: what a file gives, and the exact message for what it must not contain.
#include "cli/kube_scheduler_configuration.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "base/testing/source_dir.h"
#include "cli/configuration.h"
#include "cli/scheduler_plugins.h"

namespace berth::cli {
namespace {

using placement::EnabledPlugins;
using placement::ExtensionPoint;
using placement::PluginArguments;
using enum placement::ExtensionPoint;

constexpr const char* kKubeHead =
    "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n";

Configuration read_kube(const std::string& text, Component component = Component::Scheduler) {
  Configuration config = default_configuration(component);
  const Status read = apply_configuration(component, kKubeHead + text, "f", config);
  EXPECT_TRUE(read.ok()) << read.error().text();
  return config;
}

std::string names_at(const EnabledPlugins& enabled, ExtensionPoint point) {
  std::string all;
  for (const placement::EnabledPlugin& one : enabled.at(point))
    all += (all.empty() ? "" : " ") + one.name + (point == Score ? ":" + std::to_string(one.weight) : "");
  return all;
}

// `plugins` of the only profile, as a flow map.
EnabledPlugins enabled_by(const std::string& plugins) {
  const Configuration config = read_kube("profiles: [{plugins: " + plugins + "}]\n");
  if (config.kube_scheduler.profiles.empty()) return {};
  return *config.kube_scheduler.profiles.front().enabled;
}

constexpr const char* kScores =
    "TaintToleration:3 NodeAffinity:2 NodeResourcesFit:1 VolumeBinding:1 PodTopologySpread:2 "
    "InterPodAffinity:2 "
    "DynamicResources:2 NodeResourcesBalancedAllocation:1 ImageLocality:1 GpuSharing:4 GpuFragmentation:1";

TEST(KubeSchedulerConfiguration, ExpandsPluginSetsAsKubeScheduler) {
  EXPECT_EQ(names_at(enabled_by("{}"), Score), kScores);
  EXPECT_EQ(
      names_at(enabled_by("{score: {enabled: [{name: ImageLocality, weight: 7}, {name: NodeAffinity}]}}"),
               Score),
      "ImageLocality:7 NodeAffinity:1 TaintToleration:3 NodeResourcesFit:1 VolumeBinding:1 "
      "PodTopologySpread:2 "
      "InterPodAffinity:2 DynamicResources:2 NodeResourcesBalancedAllocation:1 GpuSharing:4 "
      "GpuFragmentation:1");
  EXPECT_EQ(
      names_at(
          enabled_by("{score: {disabled: [{name: '*'}], enabled: [{name: NodeResourcesFit, weight: 5}]}}"),
          Score),
      "NodeResourcesFit:5");
  // Re-configured at multiPoint it keeps its place, and without a weight it has 1.
  const EnabledPlugins moved = enabled_by("{multiPoint: {enabled: [{name: TaintToleration}]}}");
  EXPECT_EQ(names_at(moved, Score).substr(0, 17), "TaintToleration:1");
  const EnabledPlugins without =
      enabled_by("{multiPoint: {disabled: [{name: NodePorts}, {name: DefaultPreemption}]}}");
  EXPECT_EQ(without.find(Filter, "NodePorts"), nullptr);
  EXPECT_EQ(without.find(PreFilter, "NodePorts"), nullptr);
  EXPECT_EQ(names_at(without, PostFilter), "DynamicResources");
  // A point of its own is above multiPoint.
  const EnabledPlugins both = enabled_by(
      "{multiPoint: {disabled: [{name: ImageLocality}]}, score: {enabled: [{name: ImageLocality, weight: "
      "2}]}}");
  EXPECT_EQ(both.at(Score).back(), (placement::EnabledPlugin{"ImageLocality", 2}));
}

TEST(KubeSchedulerConfiguration, PluginsThatAreNeededStayWhenAllAreDisabled) {
  const Configuration config = read_kube(
      "profiles: [{plugins: {multiPoint: {disabled: [{name: '*'}], enabled: [{name: PrioritySort}, "
      "{name: DefaultBinder}, {name: NodeResourcesFit}]}}}]\n");
  const EnabledPlugins& enabled = *config.kube_scheduler.profiles.front().enabled;
  EXPECT_EQ(names_at(enabled, Filter), "NodeResourcesFit DynamicResources");
  EXPECT_EQ(names_at(enabled, Score), "NodeResourcesFit:1");
  EXPECT_EQ(names_at(enabled, QueueSort), "PrioritySort");
  ASSERT_FALSE(config.kube_scheduler.notes.empty());
  EXPECT_EQ(
      config.kube_scheduler.notes.front(),
      "profiles[0].plugins.preEnqueue: DynamicResources stays enabled: Berth allocates the devices of every "
      "claim");
}

// What a profile without `plugins` runs is what one with an empty `plugins` selects.
TEST(KubeSchedulerConfiguration, AnEmptyPluginSetKeepsEveryPlugin) {
  placement::PluginSet all = placement::default_plugins(), selected = placement::default_plugins();
  placement::select(selected, default_enabled(scheduler_plugins(all)));
  EXPECT_EQ(selected.gates.size(), all.gates.size());
  EXPECT_EQ(selected.prefilters.size(), all.prefilters.size());
  EXPECT_EQ(selected.filters.size(), all.filters.size());
  EXPECT_EQ(selected.domain_filters.size(), all.domain_filters.size());
  EXPECT_EQ(selected.lazy_filters.size(), all.lazy_filters.size());
  EXPECT_EQ(selected.reserves.size(), all.reserves.size());
  EXPECT_EQ(selected.post_filters.size(), all.post_filters.size());
  EXPECT_EQ(selected.placement_scorers.size(), all.placement_scorers.size());
  EXPECT_EQ(selected.preference_weight, all.preference_weight);
  EXPECT_TRUE(selected.preempts);
  const auto same_weights = [](const auto& a, const auto& b) {
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
      EXPECT_EQ(a[i].score->name(), b[i].score->name());
      EXPECT_EQ(a[i].weight, b[i].weight) << a[i].score->name();
    }
  };
  same_weights(selected.scores, all.scores);
  same_weights(selected.domain_scores, all.domain_scores);
  same_weights(selected.normalized_scores, all.normalized_scores);
}

constexpr const char* kAllArguments = R"(
profiles:
- schedulerName: default-scheduler
  pluginConfig:
  - name: NodeAffinity
    args:
      apiVersion: kubescheduler.config.k8s.io/v1
      kind: NodeAffinityArgs
      addedAffinity:
        requiredDuringSchedulingIgnoredDuringExecution:
          nodeSelectorTerms: [{matchExpressions: [{key: pool, operator: In, values: [a]}]}]
        preferredDuringSchedulingIgnoredDuringExecution:
        - {weight: 7, preference: {matchExpressions: [{key: disk, operator: Exists}]}}
  - name: NodeResourcesFit
    args:
      ignoredResources: [a.com/x]
      ignoredResourceGroups: [b.com]
      scoringStrategy:
        type: RequestedToCapacityRatio
        resources: [{name: cpu, weight: 3}, {name: a.com/gpu}]
        requestedToCapacityRatio: {shape: [{utilization: 0, score: 0}, {utilization: 80, score: 10}]}
  - name: NodeResourcesBalancedAllocation
    args: {resources: [{name: memory, weight: 1}]}
  - name: PodTopologySpread
    args:
      defaultingType: List
      defaultConstraints:
      - {maxSkew: 2, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}
      - {maxSkew: 3, topologyKey: host, whenUnsatisfiable: ScheduleAnyway}
  - name: InterPodAffinity
    args: {hardPodAffinityWeight: 9, ignorePreferredTermsOfExistingPods: true}
  - name: VolumeBinding
    args: {bindTimeoutSeconds: 30, shape: [{utilization: 0, score: 1}, {utilization: 100, score: 9}]}
  - name: DynamicResources
    args: {filterTimeout: 5s, bindingTimeout: 40s}
  - name: DefaultPreemption
    args: {minCandidateNodesPercentage: 20}
)";

TEST(KubeSchedulerConfiguration, ReadsArguments) {
  const Configuration config = read_kube(kAllArguments);
  ASSERT_EQ(config.kube_scheduler.profiles.size(), 1u);
  const PluginArguments& read = config.kube_scheduler.profiles.front().arguments;
  ASSERT_TRUE(read.node_affinity.added_required.has_value());
  EXPECT_EQ(read.node_affinity.added_required->terms.front().expressions.front().key, "pool");
  ASSERT_EQ(read.node_affinity.added_preferences.size(), 1u);
  EXPECT_EQ(read.node_affinity.added_preferences.front().weight, 7);
  EXPECT_EQ(read.resources_fit.strategy, placement::FitStrategy::RequestedToCapacityRatio);
  ASSERT_EQ(read.resources_fit.resources.size(), 2u);
  EXPECT_EQ(read.resources_fit.resources[0].weight, 3);
  EXPECT_EQ(read.resources_fit.resources[1].weight, 1);
  ASSERT_EQ(read.resources_fit.shape.size(), 2u);
  EXPECT_EQ(read.resources_fit.shape[1].utilization, 80);
  EXPECT_TRUE(read.resources_fit.ignores("a.com/x"));
  EXPECT_TRUE(read.resources_fit.ignores("b.com/y"));
  ASSERT_EQ(read.balanced_allocation.resources.size(), 1u);
  EXPECT_EQ(read.balanced_allocation.resources.front().name, "memory");
  EXPECT_FALSE(read.topology_spread.system_defaults);
  ASSERT_EQ(read.topology_spread.required.size(), 1u);
  EXPECT_EQ(read.topology_spread.required.front().max_skew, 2);
  ASSERT_EQ(read.topology_spread.preferred.size(), 1u);
  EXPECT_EQ(read.topology_spread.preferred.front().topology_key, "host");
  EXPECT_EQ(read.inter_pod_affinity.hard_pod_affinity_weight, 9);
  EXPECT_EQ(read.volume_binding.shape.at(1).score, 9);
  EXPECT_TRUE(read.inter_pod_affinity.ignore_preferred_terms_of_existing_pods);
  EXPECT_EQ(config.volume_timeout, Duration::seconds(30));
  EXPECT_EQ(config.binding_timeout, Duration::seconds(40));
  EXPECT_EQ(
      config.kube_scheduler.notes,
      (std::vector<std::string>{
          "profiles[0].pluginConfig[6].args.filterTimeout has no effect: Berth bounds the search on a node "
          "by "
          "its steps, not by time",
          "profiles[0].pluginConfig[7].args.minCandidateNodesPercentage has no effect: Berth considers every "
          "node that victims may help on"}));
}

TEST(KubeSchedulerConfiguration, SetsWhatBerthHasToo) {
  const std::string text =
      "leaderElection: {leaderElect: true, resourceName: kube-scheduler, leaseDuration: 20s, renewDeadline: "
      "12s}\n"
      "clientConnection: {kubeconfig: /k, qps: 50, burst: 100}\n"
      "podInitialBackoffSeconds: 2\npodMaxBackoffSeconds: 30\n"
      "profiles: [{schedulerName: a}, {schedulerName: b}]\n";
  const Configuration config = read_kube(text);
  EXPECT_EQ(config.scheduler_names, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(config.lease_name, "kube-scheduler");
  EXPECT_EQ(config.lease_namespace, "kube-system");
  EXPECT_EQ(config.kubeconfig, "/k");
  EXPECT_EQ(config.kube_scheduler.lease, Duration::seconds(20));
  EXPECT_EQ(config.kube_scheduler.backoff_first, Duration::seconds(2));
  EXPECT_EQ(config.kube_scheduler.backoff_max, Duration::seconds(30));
  const Configuration up = read_kube(text, Component::Up);
  EXPECT_EQ(up.scheduler_names, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(up.lease_name, default_configuration(Component::Up).lease_name);
  EXPECT_EQ(read_kube("").scheduler_names, std::vector<std::string>{"default-scheduler"});
}

constexpr const char* kBerthHead = "apiVersion: config.berth.dev/v1alpha1\nkind: BerthConfiguration\n";

TEST(KubeSchedulerConfiguration, ComesWithABerthConfigurationAndIsPrinted) {
  const std::string kube = std::string(kKubeHead) +
                           "profiles: [{schedulerName: a, pluginConfig: [{name: DynamicResources, args: "
                           "{bindingTimeout: 40s}}]}]\n";
  for (const std::string& text : {kube + "---\n" + kBerthHead + "binding: {bindingTimeout: 50s}\n",
                                  std::string(kBerthHead) + "binding: {bindingTimeout: 50s}\n---\n" + kube}) {
    Configuration config = default_configuration(Component::Scheduler);
    const Status applied = apply_configuration(Component::Scheduler, text, "f", config);
    ASSERT_TRUE(applied.ok()) << applied.error().text();
    EXPECT_EQ(config.binding_timeout, Duration::seconds(50)) << "Berth's own document decides";
    const std::string printed = configuration_text(Component::Scheduler, config);
    Configuration again = default_configuration(Component::Scheduler);
    const Status read = apply_configuration(Component::Scheduler, printed, "f", again);
    ASSERT_TRUE(read.ok()) << read.error().text() << printed;
    EXPECT_EQ(configuration_text(Component::Scheduler, again), printed);
  }
}

struct WrongKube {
  std::string text;   // after the head, unless it has its own
  std::string error;  // after "f:3: document 1: "
  int line = 3;
};

// `fields` of the only profile, of the scheduler s.
std::string profile_with(const std::string& fields) {
  return "profiles: [{schedulerName: s, " + fields + "}]\n";
}
std::string plugins_with(const std::string& sets) {
  return profile_with("plugins: {" + sets + "}");
}
std::string args_of(const std::string& plugin, const std::string& args) {
  return profile_with("pluginConfig: [{name: " + plugin + ", args: {" + args + "}}]");
}

void expect_kube_refused(const std::vector<WrongKube>& table) {
  for (const WrongKube& wrong : table) {
    Configuration config = default_configuration(Component::Scheduler);
    const bool headed = wrong.text.find("apiVersion:") == 0;
    const Status read =
        apply_configuration(Component::Scheduler, (headed ? "" : kKubeHead) + wrong.text, "f", config);
    ASSERT_FALSE(read.ok()) << wrong.text;
    EXPECT_EQ(read.error().text(), "f:" + std::to_string(wrong.line) + ": document 1: " + wrong.error)
        << wrong.text;
  }
}

TEST(KubeSchedulerConfiguration, RefusesFieldsByName) {
  expect_kube_refused({
      {"apiVersion: kubescheduler.config.k8s.io/v1beta3\nkind: KubeSchedulerConfiguration\n",
       "apiVersion: is \"kubescheduler.config.k8s.io/v1beta3\": Berth reads kubescheduler.config.k8s.io/v1 "
       "alone",
       1},
      {"extenders: [{urlPrefix: http://x}]\n",
       "extenders: HTTP extenders are not supported: Berth decides a pod in microseconds from cached "
       "verdicts, and "
       "an extender's answers can be neither cached nor undone. Write a plugin instead "
       "(docs/writing-scheduler-plugins.md), or describe the resource with dynamic resource allocation"},
      {"metricsBindAddress: 0.0.0.0:1\n",
       "metricsBindAddress: is no field of v1: serve health and metrics with `listen` of a "
       "BerthConfiguration"},
      {"algorithmSource: {}\n",
       "algorithmSource: is no field of a KubeSchedulerConfiguration, which has apiVersion, kind, "
       "parallelism, "
       "leaderElection, clientConnection, enableProfiling, enableContentionProfiling, "
       "percentageOfNodesToScore, "
       "podInitialBackoffSeconds, podMaxBackoffSeconds, profiles, extenders, delayCacheUntilActive"},
      {"parallelism: many\n", "parallelism: wants a whole number, not \"many\""},
      {"parallelism: 0\n", "parallelism: Invalid value: 0: should be an integer value greater than zero"},
      {"percentageOfNodesToScore: 101\n",
       "percentageOfNodesToScore: Invalid value: 101: not in valid range [0-100]"},
      {"podInitialBackoffSeconds: 0\n", "podInitialBackoffSeconds: Invalid value: 0: must be greater than 0"},
      {"podMaxBackoffSeconds: 5\npodInitialBackoffSeconds: 6\n",
       "podMaxBackoffSeconds: Invalid value: 5: must be greater than or equal to PodInitialBackoffSeconds"},
      {"leaderElection: {resourceLock: endpoints}\n",
       "leaderElection.resourceLock: Invalid value: \"endpoints\": resourceLock value must be \"leases\""},
      {"leaderElection: {leaseDuration: 10s}\n",
       "leaderElection.leaseDuration: must be greater than `RenewDeadline`"},
      {"leaderElection: {leaseDuration: 10}\n",
       "leaderElection.leaseDuration: wants a duration such as 90s or 1h30m, not 10"},
      {"clientConnection: {burst: -1}\n", "clientConnection.burst: Invalid value: -1: must be non-negative"},
      {"clientConnection: {host: x}\n",
       "clientConnection.host: is no field of clientConnection, which has kubeconfig, acceptContentTypes, "
       "contentType, qps, burst"},
      {"profiles: {}\n", "profiles: wants a list, not a map"},
      {"profiles: [{schedulerName: a}, {schedulerName: a}]\n",
       "profiles[1].schedulerName: Duplicate value: \"profiles[0].schedulerName\""},
      {"profiles: [{schedulerName: a}, {}]\n", "profiles[1].schedulerName: Required value"},
      {"profiles: [{percentageOfNodesToScore: -1}]\n",
       "profiles[0].percentageOfNodesToScore: Invalid value: -1: not in valid range [0-100]"},
      {"profiles: [{name: a}]\n",
       "profiles[0].name: is no field of a profile, which has schedulerName, percentageOfNodesToScore, "
       "plugins, "
       "pluginConfig"},
  });
}

TEST(KubeSchedulerConfiguration, RefusesPluginSets) {
  const std::string names =
      "SchedulingGates, PrioritySort, NodeName, NodeUnschedulable, TaintToleration, NodeAffinity, NodePorts, "
      "DeferredPodScheduling, NodeResourcesFit, VolumeRestrictions, NodeVolumeLimits, VolumeBinding, "
      "VolumeZone, "
      "PodTopologySpread, InterPodAffinity, DynamicResources, DefaultPreemption, "
      "NodeResourcesBalancedAllocation, "
      "ImageLocality, DefaultBinder, NodeDeclaredFeatures, GangScheduling, TopologyPlacementGenerator, "
      "PodGroupPodsCount, GpuSharing, GpuFragmentation";
  expect_kube_refused({
      {plugins_with("filter: {enabled: [{name: Teleport}]}"),
       "profiles[0].plugins.filter.enabled[0].name: \"Teleport\" is no plugin of Berth: remove the entry. "
       "Its plugins "
       "are " +
           names},
      {plugins_with("multiPoint: {disabled: [{name: EBSLimits}]}"),
       "profiles[0].plugins.multiPoint.disabled[0].name: \"EBSLimits\" is no plugin of Berth: remove the "
       "entry. Its "
       "plugins are " +
           names},
      {plugins_with("filter: {enabled: [{name: ImageLocality}]}"),
       "profiles[0].plugins.filter.enabled[0].name: plugin \"ImageLocality\" does not extend filter: enable "
       "it at "
       "multiPoint"},
      {plugins_with("score: {enabled: [{name: ImageLocality}, {name: ImageLocality}]}"),
       "profiles[0].plugins.score.enabled[1].name: plugin \"ImageLocality\" is already enabled here: keep "
       "one entry"},
      {plugins_with("queueSort: {enabled: [{name: PrioritySort}, {name: PrioritySort}]}"),
       "profiles[0].plugins.queueSort.enabled[1].name: plugin \"PrioritySort\" is already enabled here: keep "
       "one "
       "entry"},
      {plugins_with("score: {enabled: [{name: ImageLocality, weight: -1}]}"),
       "profiles[0].plugins.score.enabled[0].weight: -1 is out of bounds: 0 to 2147483647, and 0 means 1"},
      {plugins_with("score: {enabled: [{name: ImageLocality, weight: 1.5}]}"),
       "profiles[0].plugins.score.enabled[0].weight: wants a whole number, not 1.5"},
      {plugins_with("multiPoint: {disabled: [{name: '*'}]}"),
       "profiles[0].plugins.multiPoint: leaves queueSort without a plugin: enable PrioritySort, for no other "
       "plugin "
       "orders the queue"},
      {plugins_with("bind: {disabled: [{name: DefaultBinder}]}"),
       "profiles[0].plugins.bind.disabled: \"DefaultBinder\" cannot be disabled: no other plugin binds pods; "
       "remove "
       "it"},
      {plugins_with("multiPoint: {disabled: [{name: DynamicResources}]}"),
       "profiles[0].plugins.multiPoint.disabled: \"DynamicResources\" cannot be disabled: Berth allocates "
       "the devices "
       "of every claim; remove it"},
      {plugins_with("preFilter: {disabled: [{name: NodePorts}]}"),
       "profiles[0].plugins.preFilter: disables \"NodePorts\", which filter enables: Berth runs both as one "
       "step; "
       "disable it at both, or at neither"},
      {plugins_with("reserve: {disabled: [{name: VolumeBinding}]}"),
       "profiles[0].plugins.reserve: disables \"VolumeBinding\", which filter enables: Berth runs both as "
       "one step; "
       "disable it at both, or at neither"},
      {plugins_with("normalize: {}"),
       "profiles[0].plugins.normalize: is no extension point: these are multiPoint, preEnqueue, queueSort, "
       "preFilter, "
       "filter, postFilter, preScore, score, reserve, permit, preBind, bind, postBind, placementGenerate, "
       "placementScore, podGroupPostFilter"},
      {plugins_with("score: {enable: []}"),
       "profiles[0].plugins.score.enable: is no field of a plugin set, which has enabled, disabled"},
  });
}

TEST(KubeSchedulerConfiguration, RefusesArgumentsOfScores) {
  const std::string at = "profiles[0].pluginConfig[0].args";
  expect_kube_refused({
      {args_of("Teleport", ""),
       "profiles[0].pluginConfig[0].name: \"Teleport\" is no plugin of Berth: remove the entry"},
      {args_of("NodePorts", "x: 1"), at + ": plugin NodePorts takes no arguments: remove them"},
      {profile_with("pluginConfig: [{name: NodePorts}, {name: NodePorts}]"),
       "profiles[0].pluginConfig[1]: Duplicate value: \"NodePorts\""},
      {args_of("NodeAffinity", "kind: NodeResourcesFitArgs"),
       at + ".kind: args for plugin NodeAffinity were not of type "
            "NodeAffinityArgs.kubescheduler.config.k8s.io, got "
            "NodeResourcesFitArgs"},
      {args_of("InterPodAffinity", "hardPodAffinityWeight: 101"),
       at + ".hardPodAffinityWeight: Invalid value: 101: not in valid range [0, 100]"},
      {args_of("InterPodAffinity", "weight: 1"),
       at +
           ".weight: is no field of InterPodAffinityArgs, which has apiVersion, kind, hardPodAffinityWeight, "
           "ignorePreferredTermsOfExistingPods"},
      {args_of("NodeResourcesFit", "scoringStrategy: {type: Best}"),
       at + ".scoringStrategy.type: Unsupported value: \"Best\": supported values: \"LeastAllocated\", "
            "\"MostAllocated\", \"RequestedToCapacityRatio\""},
      {args_of("NodeResourcesFit",
               "scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 101}]}"),
       at + ".scoringStrategy.resources[0].weight: Invalid value: 101: resource weight of cpu not in valid "
            "range (0, "
            "100]"},
      {args_of("NodeResourcesFit", "scoringStrategy: {type: RequestedToCapacityRatio}"),
       at + ".scoringStrategy.requestedToCapacityRatio: Required value: must be specified when type is "
            "RequestedToCapacityRatio"},
      {args_of("NodeResourcesFit",
               "scoringStrategy: {type: RequestedToCapacityRatio, requestedToCapacityRatio: {shape: "
               "[{utilization: "
               "5, score: 1}, {utilization: 5, score: 2}]}}"),
       at + ".scoringStrategy.requestedToCapacityRatio.shape[1].utilization: Invalid value: 5: values must "
            "be sorted "
            "in increasing order"},
      {args_of("NodeResourcesFit",
               "scoringStrategy: {type: RequestedToCapacityRatio, requestedToCapacityRatio: {shape: "
               "[{utilization: "
               "5, score: 11}]}}"),
       at + ".scoringStrategy.requestedToCapacityRatio.shape[0].score: Invalid value: 11: not in valid range "
            "[0, 10]"},
      {args_of("NodeResourcesFit", "ignoredResourceGroups: [a.com/x]"),
       at + ".ignoredResourceGroups[0]: Invalid value: \"a.com/x\": resource group name can't contain '/'"},
      {args_of("NodeResourcesBalancedAllocation", "resources: [{name: cpu, weight: 2}]"),
       at + ".resources[0].weight: Invalid value: 2: must be 1"},
  });
}

TEST(KubeSchedulerConfiguration, RefusesArgumentsOfRulesAndTimes) {
  const std::string at = "profiles[0].pluginConfig[0].args";
  expect_kube_refused({
      {args_of("PodTopologySpread",
               "defaultConstraints: [{maxSkew: 1, topologyKey: z, whenUnsatisfiable: "
               "ScheduleAnyway}]"),
       at + ".defaultingType: Invalid value: \"System\": when .defaultConstraints are not empty"},
      {args_of("PodTopologySpread",
               "defaultingType: List, defaultConstraints: [{maxSkew: 0, topologyKey: z, "
               "whenUnsatisfiable: ScheduleAnyway}]"),
       at + ".defaultConstraints[0].maxSkew: Invalid value: 0: must be greater than zero"},
      {args_of("PodTopologySpread",
               "defaultingType: List, defaultConstraints: [{maxSkew: 1, topologyKey: z, "
               "whenUnsatisfiable: ScheduleAnyway, labelSelector: {}}]"),
       at + ".defaultConstraints[0].labelSelector: Forbidden: constraint must not define a selector, as they "
            "deduced "
            "for each pod"},
      {args_of("NodeAffinity", "addedAffinity: {required: {}}"),
       at + ".addedAffinity: strict decoding error: unknown field \"nodeAffinity.required\""},
      {args_of("NodeAffinity",
               "addedAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: []}}"),
       at + ".addedAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms: Required "
            "value: must "
            "have at least one node selector term"},
      {args_of("VolumeBinding", "bindTimeoutSeconds: -1"),
       at + ".bindTimeoutSeconds: Invalid value: -1: invalid BindTimeoutSeconds, should not be a negative "
            "value"},
      {args_of("VolumeBinding", "bindTimeoutSeconds: 0"),
       at + ".bindTimeoutSeconds: 0 is out of bounds: Berth's binder waits 1 to 86400 seconds"},
      {args_of("DynamicResources", "bindingTimeout: 10ms"),
       at + ".bindingTimeout: Invalid value: \"10ms\": must be at least 1 second"},
      {args_of("DefaultPreemption", "minCandidateNodesPercentage: 0, minCandidateNodesAbsolute: 0"),
       at + ".minCandidateNodesPercentage: Invalid value: 0: cannot be zero at the same time as "
            "minCandidateNodesAbsolute"},
      {"profiles: [{schedulerName: a, pluginConfig: [{name: VolumeBinding, args: {bindTimeoutSeconds: 5}}]}, "
       "{schedulerName: b}]\n",
       "profiles[1].pluginConfig: bindTimeoutSeconds of VolumeBinding and bindingTimeout of DynamicResources "
       "must be "
       "the same for all profiles: one binder serves them"},
  });
}

TEST(KubeSchedulerConfiguration, NotesArgumentsOfADisabledPlugin) {
  const Configuration config = read_kube(
      "profiles: [{plugins: {multiPoint: {disabled: [{name: InterPodAffinity}]}}, pluginConfig: [{name: "
      "InterPodAffinity, args: {hardPodAffinityWeight: 5}}]}]\n");
  EXPECT_EQ(
      config.kube_scheduler.notes,
      std::vector<std::string>{"profiles[0].pluginConfig[0].args has no effect: the profile does not enable "
                               "InterPodAffinity"});
}

TEST(KubeSchedulerConfiguration, RefusesOtherPartsNamesAndSecondDocuments) {
  const auto error_of = [](Component component, const std::string& text) {
    Configuration config = default_configuration(component);
    const Status read = apply_configuration(component, text, "f", config);
    return read.ok() ? std::string() : read.error().text();
  };
  const std::string kube = kKubeHead;
  EXPECT_EQ(
      error_of(Component::Binder, kube),
      "f:2: document 1: kind: is KubeSchedulerConfiguration, which berth binder does not read: only berth "
      "scheduler and berth up do");
  EXPECT_EQ(error_of(Component::Scheduler, kube + "---\n" + kube),
            "f:4: document 2: is one too many: a file holds one KubeSchedulerConfiguration");
  EXPECT_EQ(
      error_of(Component::Scheduler, kube + "---\n" + kBerthHead + "scheduler: {schedulerNames: [x]}\n"),
      "f:6: document 2: scheduler.schedulerNames: differ from those of the KubeSchedulerConfiguration's "
      "profiles: give each name a profile, or leave the names out");
}

TEST(KubeSchedulerConfiguration, StandsOnItsPage) {
  std::ifstream file(source_path("docs/configuration.md"));
  std::stringstream page;
  page << file.rdbuf();
  EXPECT_NE(page.str().find(kube_scheduler_reference()), std::string::npos)
      << "docs/configuration.md wants this table:\n"
      << kube_scheduler_reference();
}

}  // namespace
}  // namespace berth::cli
