#include <gtest/gtest.h>

#include <set>

#include "workloads/job_state.h"
#include "workloads/pod_names.h"
#include "workloads/rollout.h"

namespace berth::workloads {
namespace {

TEST(NumberedNames, DifferAndAreReadBack) {
  const NumberedNames names("web-", "5e6cf7a1-2d3c-4f4e-8a0e-1f6f0d0c7a11");
  std::set<std::string> seen;
  for (std::uint32_t n = 0; n < 20'000; ++n) {
    const std::string name = names.name(n);
    EXPECT_TRUE(seen.insert(name).second) << name;
    ASSERT_EQ(names.number_of(name), n);
  }
  EXPECT_EQ(names.name(NumberedNames::kCount), names.name(0));
  EXPECT_NE(names.name(0), NumberedNames("web-", "another").name(0));
  EXPECT_EQ(names.name(7), NumberedNames("web-", "5e6cf7a1-2d3c-4f4e-8a0e-1f6f0d0c7a11").name(7));
}

TEST(NumberedNames, RefuseOtherForms) {
  const NumberedNames names("web-", "u");
  for (const char* name : {"web-", "web-1", "api-bcdfg", "web-bcdfgh", "web-aeiou", "web"})
    EXPECT_FALSE(names.number_of(name)) << name;
  const std::string longest = NumberedNames(std::string(80, 'x'), "u").name(3);
  EXPECT_EQ(longest.size(), 63u);
}

TEST(Controllers, AreNamedAsKubeControllerManagerHasIt) {
  struct Case {
    std::vector<std::string> names;
    bool replica_set, deployment;
  };
  const Case cases[] = {{{"*"}, true, true},
                        {{"*", "-deployment"}, true, false},
                        {{"*", "-deployment-controller"}, true, false},
                        {{"-deployment", "*"}, true, false},
                        {{"replicaset"}, true, false},
                        {{"deployment-controller", "-replicaset"}, false, true},
                        {{}, false, false}};
  for (const Case& test : cases)
    for (const WorkloadRow& row : workload_rows()) {
      EXPECT_TRUE(row.alias != "replicaset" || is_enabled(row, test.names) == test.replica_set);
      EXPECT_TRUE(row.alias != "deployment" || is_enabled(row, test.names) == test.deployment);
    }
}

TEST(IndexRanges, AreReadAndWrittenAsKubernetesDoes) {
  struct Case {
    const char* text;
    std::vector<std::int64_t> added;
    const char* wanted;
  };
  const Case cases[] = {{"", {}, ""},
                        {"", {3}, "3"},
                        {"0,1", {2}, "0-2"},
                        {"0-3,5", {4}, "0-5"},
                        {"1,3,5", {0}, "0,1,3,5"},
                        {"1,3", {2, 9, 8}, "1-3,8,9"},
                        {"0-99", {}, "0-9"},
                        {"4-2,x,7,12,-1", {}, "7"},
                        {"5,3", {5}, "5"}};
  for (const Case& test : cases) {
    IndexRanges ranges = IndexRanges::parse(test.text, 10);
    for (std::int64_t index : test.added) ranges.add(index);
    EXPECT_EQ(ranges.text(), test.wanted) << test.text;
    for (std::int64_t index : test.added) EXPECT_TRUE(ranges.has(index));
  }
  EXPECT_EQ(IndexRanges::parse("0-3,7", 10).count(), 5);
  EXPECT_FALSE(IndexRanges::parse("0-3,7", 10).has(4));
}

TEST(SuccessPolicy, TheFirstRuleThatHolds) {
  struct Case {
    const char* rules;
    const char* completed;
    int wanted;  // -1: none
  };
  const Case cases[] = {{R"([{"succeededIndexes":"0"}])", "1-3", -1},
                        {R"([{"succeededIndexes":"0"}])", "0", 0},
                        {R"([{"succeededIndexes":"0-2","succeededCount":2}])", "1,3", -1},
                        {R"([{"succeededIndexes":"0-2","succeededCount":2}])", "0,2", 0},
                        {R"([{"succeededIndexes":"0"},{"succeededCount":3}])", "1-3", 1},
                        {R"([{"succeededCount":3}])", "1,2", -1}};
  for (const Case& test : cases) {
    Json policy = Json::object();
    policy["rules"] = *parse_json(test.rules);
    const auto rule = holding_success_rule(policy, IndexRanges::parse(test.completed, 5), 5);
    EXPECT_EQ(rule ? static_cast<int>(*rule) : -1, test.wanted) << test.rules << " " << test.completed;
  }
}

TEST(FailurePolicy, TheFirstRuleThatMatches) {
  api::Pod pod;
  pod.meta.ns = "d";
  pod.meta.name = "p";
  pod.conditions = {{"DisruptionTarget", "True", "", "", Time(), 0}};
  pod.raw = std::make_shared<const std::string>(
      R"({"status":{"containerStatuses":[{"name":"main","state":{"terminated":{"exitCode":42}}}]}})");
  struct Case {
    const char* rule;
    const char* wanted;
  };
  const Case cases[] = {
      {R"({"action":"FailJob","onExitCodes":{"operator":"In","values":[1,42]}})",
       "FailJob: Container main for pod d/p failed with exit code 42 matching FailJob rule at index 0"},
      {R"({"action":"FailJob","onExitCodes":{"operator":"NotIn","values":[42]}})", "none"},
      {R"({"action":"Count","onExitCodes":{"containerName":"other","operator":"In","values":[42]}})", "none"},
      {R"({"action":"Ignore","onPodConditions":[{"type":"DisruptionTarget"}]})",
       "Ignore: Pod d/p has condition DisruptionTarget matching Ignore rule at index 0"},
      {R"({"action":"Ignore","onPodConditions":[{"type":"DisruptionTarget","status":"False"}]})", "none"}};
  for (const Case& test : cases) {
    Json policy = Json::object();
    policy["rules"] = Json::array({*parse_json(test.rule)});
    const auto match = match_failure_rule(policy, pod);
    EXPECT_EQ(match ? match->action + ": " + match->message : "none", test.wanted);
  }
}

TEST(ScaledAmount, NumbersAndPercentages) {
  EXPECT_EQ(scaled_amount(3, 10, true), 3);
  EXPECT_EQ(scaled_amount("25%", 10, true), 3);
  EXPECT_EQ(scaled_amount("25%", 10, false), 2);
  EXPECT_EQ(scaled_amount("0%", 10, true), 0);
  EXPECT_EQ(scaled_amount("many", 10, true), 0);
  EXPECT_EQ(scaled_amount(Json(), 10, true), 0);
}

// A rollout from sizes: "replicas/available" of each revision, older first; the last one is new.
struct Size {
  std::int64_t replicas, available, sized_for = 0;
};
Rollout rollout_with(std::int64_t replicas, std::int64_t surge, std::int64_t unavailable,
                     const std::vector<Size>& sizes) {
  Rollout rollout;
  rollout.replicas = replicas;
  rollout.max_surge = surge;
  rollout.max_unavailable = unavailable;
  for (const Size& size : sizes) {
    Revision revision;
    revision.replicas = size.replicas;
    revision.available = size.available;
    revision.set.document["spec"]["replicas"] = size.replicas;
    revision.set.meta.created = Time::from_seconds(static_cast<std::int64_t>(rollout.revisions.size()));
    if (size.sized_for > 0) {
      revision.set.meta.annotations[std::string(kDesiredReplicas)] = std::to_string(size.sized_for);
      revision.set.meta.annotations[std::string(kMaxReplicas)] = std::to_string(size.sized_for + surge);
    }
    rollout.revisions.push_back(std::move(revision));
  }
  rollout.revisions.back().is_new = true;
  return rollout;
}

std::string sizes_of(const Rollout& rollout) {
  std::string text;
  for (const Revision& revision : rollout.revisions)
    text += (text.empty() ? "" : " ") + std::to_string(revision.replicas);
  return text;
}

TEST(Rollout, GrowsTheNewAndShrinksTheOld) {
  struct Case {
    const char* name;
    std::int64_t replicas, surge, unavailable;
    std::vector<Size> sizes;
    const char* after;
  };
  const Case cases[] = {
      {"surge first", 10, 3, 2, {{10, 10}, {0, 0}}, "10 3"},
      {"then the old one", 10, 3, 2, {{10, 10}, {3, 0}}, "8 3"},
      {"and no further until new ones serve", 10, 3, 2, {{8, 8}, {5, 0}}, "8 5"},
      {"what serves nobody goes first", 10, 0, 2, {{4, 0}, {8, 8}, {0, 0}}, "0 8 0"},
      {"the last step", 4, 1, 1, {{1, 1}, {4, 4}}, "0 4"},
      {"nothing is left", 4, 1, 1, {{0, 0}, {4, 4}}, "0 4"},
      {"no surge", 4, 0, 1, {{4, 4}, {0, 0}}, "3 0"},
      {"the new one was too large", 2, 1, 0, {{0, 0}, {5, 5}}, "0 2"},
  };
  for (const Case& test : cases) {
    Rollout rollout = rollout_with(test.replicas, test.surge, test.unavailable, test.sizes);
    if (!roll_new_up(rollout)) roll_old_down(rollout);
    EXPECT_EQ(sizes_of(rollout), test.after) << test.name;
  }
}

TEST(Rollout, ScalesInProportion) {
  struct Case {
    const char* name;
    std::int64_t replicas, surge;
    std::vector<Size> sizes;
    const char* after;
  };
  const Case cases[] = {
      {"one alone", 7, 1, {{3, 3, 3}}, "7"},
      {"up", 20, 0, {{5, 5, 10}, {5, 5, 10}}, "10 10"},
      {"down", 5, 0, {{8, 8, 10}, {2, 2, 10}}, "4 1"},
      {"the rest to the largest", 11, 0, {{8, 8, 10}, {2, 2, 10}}, "9 2"},
      {"the new one is complete", 4, 1, {{2, 2, 4}, {4, 4, 4}}, "0 4"},
      {"to nothing", 0, 1, {{3, 3, 5}, {2, 2, 5}}, "0 0"},
  };
  for (const Case& test : cases) {
    Rollout rollout = rollout_with(test.replicas, test.surge, 1, test.sizes);
    scale_in_proportion(rollout);
    EXPECT_EQ(sizes_of(rollout), test.after) << test.name;
  }
}

}  // namespace
}  // namespace berth::workloads
