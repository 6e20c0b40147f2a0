#include "groups/source.h"

#include <gtest/gtest.h>

namespace berth::groups {
namespace {

Parsed object_of(const std::string& spec, const std::string& status = "{}") {
  Parsed parsed;
  parsed.meta.name = "g";
  parsed.document = Json::object({{"spec", *parse_json(spec)}, {"status", *parse_json(status)}});
  return parsed;
}

// "g[2]" for a group of two pods, "(g 2: …)" for a group of groups; "@rack" and "~rack" for keys that are
// required and preferred. Or the error.
std::string drawn(const WantedTree& tree, const WantedGroup& group) {
  std::string keys = group.required.empty() ? "" : "@" + group.required;
  for (const std::string& key : group.preferred) keys += "~" + key;
  if (!group.composite) return group.name + "[" + std::to_string(group.minimum) + "]" + keys;
  std::string text = "(" + group.name + " " + std::to_string(group.minimum) + keys + ":";
  for (const WantedGroup& child : tree.groups)
    if (child.parent == group.name) text += " " + drawn(tree, child);
  return text + ")";
}

std::string tree_of(GroupSource id, const std::string& spec) {
  const Parsed object = object_of(spec);
  const View view;
  const Result<WantedTree> tree = source_of(id).wanted({view, "d", "g", &object});
  if (!tree) return tree.error().text();
  return drawn(*tree, tree->root());
}

TEST(GroupSources, SayWhatTheirObjectsAskFor) {
  struct Row {
    GroupSource source;
    const char *spec, *tree;
  };
  const Row rows[] = {
      {GroupSource::SchedulerPlugins, R"({"minMember":4,"scheduleTimeoutSeconds":60})", "g[4]"},
      {GroupSource::SchedulerPlugins, "{}", "g[1]"},
      {GroupSource::SchedulerPlugins, R"({"minMember":0})", "g[1]"},
      {GroupSource::SchedulerPlugins, R"({"minMember":-2})", "spec.minMember: must be a count of 0 or more"},
      {GroupSource::SchedulerPlugins, R"({"minMember":"2"})", "spec.minMember: must be a count of 0 or more"},
      {GroupSource::Volcano, R"({"minMember":3,"queue":"q","priorityClassName":"high"})", "g[3]"},
      {GroupSource::Kai, R"({"minMember":2})", "g[2]"},
      {GroupSource::Kai,
       R"({"minMember":2,"topologyConstraint":{"requiredTopologyLevel":"block",
          "preferredTopologyLevel":"rack"}})",
       "g[2]@block~rack"},
      {GroupSource::Kai,
       R"({"minSubGroup":1,"subGroups":[{"name":"a","minMember":2},{"name":"b","minMember":1,
          "topologyConstraint":{"requiredTopologyLevel":"rack"}}]})",
       "(g 1: g-a[2] g-b[1]@rack)"},
      {GroupSource::Kai,
       R"({"subGroups":[{"name":"w1","parent":"w","minMember":3},{"name":"w"},{"name":"l"}]})",
       "(g 2: (g-w 1: g-w1[3]) g-l[1])"},
      {GroupSource::Kai, R"({"subGroups":[{"name":"a","parent":"b"},{"name":"b","parent":"a"}]})",
       "spec.subGroups: each parent must be a subgroup that leads to the root"},
      {GroupSource::Kai, R"({"subGroups":[{"name":"a"},{"minMember":1}]})",
       "spec.subGroups[1].name: must name the subgroup"},
      {GroupSource::Kai,
       R"({"subGroups":[{"name":"a"},{"name":"b","parent":"a"},{"name":"c","parent":"b"},
          {"name":"d","parent":"c"}]})",
       "spec.subGroups: must form a tree of at most 4 levels"},
      {GroupSource::Grove,
       R"({"podgroups":[{"name":"p","minReplicas":1},{"name":"d","minReplicas":3}],
          "topologyConstraint":{"packConstraint":{"required":"block"}},"priorityClassName":"high"})",
       "(g 2@block: p[1] d[3])"},
      {GroupSource::Grove,
       R"({"podgroups":[{"name":"p","minReplicas":2,
          "topologyConstraint":{"packConstraint":{"preferred":"rack"}}}]})",
       "p[2]~rack"},
      {GroupSource::Grove,
       R"({"podgroups":[{"name":"a"},{"name":"b"},{"name":"c"}],"topologyConstraintGroupConfigs":
          [{"name":"ab","podGroupNames":["a","b"],
            "topologyConstraint":{"packConstraint":{"required":"rack"}}}]})",
       "(g 2: (g-ab 2@rack: a[1] b[1]) c[1])"},
      {GroupSource::Grove, R"({"podgroups":[]})", "spec.podgroups: must have 1 to 1000 items"},
      {GroupSource::Grove,
       R"({"podgroups":[{"name":"a"}],
          "topologyConstraintGroupConfigs":[{"name":"x","podGroupNames":["z"]}]})",
       "spec.topologyConstraintGroupConfigs[0].podGroupNames: must name podgroups of the gang, each in one "
       "entry at most"},
  };
  for (const Row& row : rows) EXPECT_EQ(tree_of(row.source, row.spec), row.tree) << row.spec;
}

api::Pod kueue_pod(const std::string& name, const std::string& annotations) {
  return api::decode_pod(*parse_json(R"({"metadata":{"name":")" + name + R"(","annotations":{)" +
                                     annotations + R"(},"labels":{"kueue.x-k8s.io/pod-group-name":"g"}}})"),
                         nullptr);
}

TEST(GroupSources, KueueCountsThePods) {
  const std::string three = R"("kueue.x-k8s.io/pod-group-total-count":"3")";
  const std::string two = R"("kueue.x-k8s.io/pod-group-total-count":"2")";
  const std::string serving = R"(,"kueue.x-k8s.io/pod-group-serving":"true")";
  struct Row {
    std::string first, second, tree;
  };
  const std::string path = "metadata.annotations[kueue.x-k8s.io/pod-group-total-count]: ";
  const Row rows[] = {
      {three, three, "g[3]"},
      {three + serving, three + serving, "g[0]"},
      {"", three, path + "of pod a must be the number of pods of the group, 1 or more"},
      {three, two, path + "must be the same on all pods of the group: 3 and 2 on pod b"},
  };
  for (const Row& row : rows) {
    const api::Pod a = kueue_pod("a", row.first), b = kueue_pod("b", row.second);
    const View view;
    const Result<WantedTree> tree = kueue_tree({view, "d", "g", nullptr, {&a, &b}});
    EXPECT_EQ(tree ? drawn(*tree, tree->root()) : tree.error().text(), row.tree);
  }
}

std::string status_of(GroupSource id, const std::string& before, PodCounts counts, bool placed = false) {
  const Parsed object = object_of("{}", before);
  const WantedTree tree{{{.name = "g", .minimum = 2}}};
  return to_string(Json(source_of(id).status(object, tree, {counts, {}, placed, {}})));
}

TEST(GroupSources, WriteWhatTheirControllersWaitFor) {
  struct Row {
    GroupSource source;
    const char* before;
    PodCounts counts;  // pods, scheduled, running, succeeded, failed
    const char* phase;
  };
  const Row rows[] = {
      {GroupSource::SchedulerPlugins, "{}", {1, 0, 0, 0, 0}, "Pending"},
      {GroupSource::SchedulerPlugins, "{}", {2, 0, 0, 0, 0}, "Scheduling"},
      {GroupSource::SchedulerPlugins, "{}", {2, 2, 2, 0, 0}, "Running"},
      {GroupSource::SchedulerPlugins, "{}", {2, 2, 1, 1, 0}, "Running"},
      {GroupSource::SchedulerPlugins, "{}", {2, 2, 0, 2, 0}, "Finished"},
      {GroupSource::SchedulerPlugins, "{}", {2, 2, 1, 0, 1}, "Failed"},
      {GroupSource::Volcano, "{}", {0, 0, 0, 0, 0}, "Inqueue"},
      {GroupSource::Volcano, "{}", {2, 1, 0, 0, 0}, "Inqueue"},
      {GroupSource::Volcano, "{}", {2, 2, 0, 0, 0}, "Running"},
      {GroupSource::Volcano, R"({"phase":"Running"})", {1, 1, 1, 0, 0}, "Unknown"},
      {GroupSource::Volcano, "{}", {2, 2, 0, 1, 1}, "Completed"},
      {GroupSource::Kai, "{}", {2, 0, 0, 0, 0}, "Pending"},
  };
  for (const Row& row : rows) {
    const std::string status = status_of(row.source, row.before, row.counts);
    EXPECT_NE(status.find("\"phase\":\"" + std::string(row.phase) + "\""), std::string::npos) << status;
  }
  EXPECT_EQ(status_of(GroupSource::SchedulerPlugins, R"({"phase":"Finished"})", {}), "{}")
      << "a group that has ended stays so";
  EXPECT_EQ(status_of(GroupSource::Grove, "{}", {2, 0, 0, 0, 0}),
            R"({"phase":"Pending","placementScore":null})");
  EXPECT_EQ(status_of(GroupSource::Grove, "{}", {2, 2, 1, 0, 0}, true),
            R"({"phase":"Starting","placementScore":1})");
  EXPECT_EQ(status_of(GroupSource::Grove, "{}", {2, 2, 2, 0, 0}, true),
            R"({"phase":"Running","placementScore":1})");
}

}  // namespace
}  // namespace berth::groups
