// The gang barrier of a tree of groups: one outcome for all its groups, in the root.
#include <gtest/gtest.h>

#include <algorithm>

#include "api/types/gang_decision.h"
#include "binding/testing/binder_fixture.h"

namespace berth::binding {
namespace {

using api::Kind;
using testing::BinderFixture;
using testing::kNodeN1;
using testing::pod_key;
using testing::request_key;

constexpr Duration kLong = Duration::minutes(30);  // beyond every limit of the barrier

struct TreeCluster : BinderFixture {
  TreeCluster() : BinderFixture({.composite_groups = true}) { put(Kind::Node, kNodeN1); }

  void add_composite(const std::string& name, int minimum, const std::string& parent = "") {
    add_tree_object(Kind::CompositePodGroup, name, "minGroupCount", minimum, parent);
  }
  void add_group(const std::string& name, int minimum, const std::string& parent) {
    add_tree_object(Kind::PodGroup, name, "minCount", minimum, parent);
  }
  // A pod of the group; its UID is "u-NAME".
  void add_pod_of(const std::string& group, const std::string& name) {
    put(Kind::Pod, R"({"metadata":{"namespace":"d","name":")" + name + R"(","uid":"u-)" + name +
                       R"("},"spec":{"schedulingGroup":{"podGroupName":")" + group + R"("}}})");
  }
  // With a request of decision "x", which has `size` members.
  void add_member(const std::string& group, const std::string& name, int size) {
    add_pod_of(group, name);
    add_request(group, name, size);
  }
  void add_request(const std::string& group, const std::string& name, int size) {
    put(Kind::BindRequest, R"({"metadata":{"namespace":"d","name":")" + name + R"(","uid":"b-)" + name +
                               R"("},"spec":{"podName":")" + name + R"(","podUID":"u-)" + name +
                               R"(","selectedNode":"n1","decisionID":"x","group":{"name":")" + group +
                               R"(","uid":"u-)" + group + R"(","size":)" + std::to_string(size) +
                               R"(,"root":{"name":"root","uid":"u-root"}}}})");
  }
  // "a b": pods that are bound.
  std::string bound() const {
    std::string text;
    for (const auto& [name, pod] : view().pods.all())
      if (pod->bound()) text.append(text.empty() ? "" : " ").append(name.name);
    return text;
  }
  std::string outcome() const {
    const api::CompositePodGroup* root = view().composite_groups.find("d", "root");
    const api::Condition* told = root ? api::find_condition(root->conditions, api::kGangCommitted) : nullptr;
    return told ? told->reason : "";
  }

 private:
  void add_tree_object(Kind kind, const std::string& name, const std::string& field, int minimum,
                       const std::string& parent) {
    put(kind, R"({"metadata":{"namespace":"d","name":")" + name + R"(","uid":"u-)" + name +
                  R"("},"spec":{"schedulingPolicy":{"gang":{")" + field + "\":" + std::to_string(minimum) +
                  "}}" + (parent.empty() ? "" : R"(,"parentCompositePodGroupName":")" + parent + "\"") +
                  "}}");
  }
};

// "root" wants two groups: "g" two pods, "h" one.
struct TwoGroups : TreeCluster {
  explicit TwoGroups(int minimum = 2) {
    add_composite("root", minimum);
    add_group("g", 2, "root");
    add_group("h", 1, "root");
  }
};

TEST(GangTree, AllGroupsAreBoundOnceTheLastMemberIsThere) {
  TwoGroups cluster;
  cluster.add_member("g", "a", 3);
  cluster.add_member("g", "b", 3);
  cluster.add_pod_of("h", "c");
  cluster.run_until_idle(cluster.now() + Duration::seconds(5));
  EXPECT_EQ(cluster.bound(), "") << "the minimum of g alone is not enough";
  cluster.add_request("h", "c", 3);
  cluster.run_until_idle(cluster.now() + Duration::seconds(5));
  EXPECT_EQ(cluster.bound(), "a b c");
  ASSERT_EQ(cluster.outcome(), "Committed");
  EXPECT_TRUE(api::is_scheduled(*cluster.view().composite_groups.find("d", "root")));
  EXPECT_EQ(api::find_condition(cluster.view().pod_groups.find("d", "g")->conditions, api::kGangCommitted),
            nullptr);
}

TEST(GangTree, ACommitIsForgottenWhenItsRequestsHaveEnded) {
  TwoGroups cluster;
  for (const char* name : {"a", "b"}) cluster.add_member("g", name, 3);
  cluster.add_member("h", "c", 3);
  std::size_t known_most = 0;
  cluster.on_write = [&](const client::ApiRequest&) {
    known_most = std::max(known_most, cluster.binder().known_commits());
  };
  cluster.run_until_idle(cluster.now() + Duration::seconds(5));
  ASSERT_EQ(cluster.bound(), "a b c");
  EXPECT_EQ(known_most, 1u);
  EXPECT_EQ(cluster.all(Kind::BindRequest).size(), 3u);
  EXPECT_EQ(cluster.binder().known_commits(), 0u);
}

// A process died after the first binding, and the root with the outcome was deleted since.
TEST(GangTree, ARootThatIsDeletedAfterTheCommitLeavesNobodyBehind) {
  for (const bool one_is_bound : {true, false}) {
    TreeCluster cluster;
    cluster.add_group("g", 2, "root");
    cluster.add_group("h", 1, "root");
    for (const char* name : {"a", "b"}) cluster.add_member("g", name, 3);
    cluster.add_member("h", "c", 3);
    if (one_is_bound) cluster.change(pod_key("a"), R"({"spec":{"nodeName":"n1"}})");
    cluster.run_until_idle(cluster.now() + kLong);
    EXPECT_EQ(cluster.bound(), one_is_bound ? "a b c" : "");
  }
}

// "a" and "b" of "g" and "c" of "h" are prepared; one of them is withdrawn.
std::function<void(TreeCluster&)> two_groups_without(const char* withdrawn, int minimum) {
  return [=](TreeCluster& cluster) {
    cluster.add_composite("root", minimum);
    cluster.add_group("g", 2, "root");
    cluster.add_group("h", 1, "root");
    for (const char* name : {"a", "b"}) cluster.add_member("g", name, 3);
    cluster.add_member("h", "c", 3);
    cluster.change(request_key(withdrawn), R"({"spec":{"withdrawn":true}})");
  };
}

struct MinimaRow {
  std::string what;
  std::function<void(TreeCluster&)> make;
  std::string bound, outcome;
};

const std::vector<MinimaRow> kMinimaRows = {
    {"a group below its minimum aborts all", two_groups_without("b", 1), "", "Aborted"},
    {"a group of which nothing is left holds nobody where the root needs it not", two_groups_without("c", 1),
     "a b", "Committed"},
    {"and aborts all where it does", two_groups_without("c", 2), "", "Aborted"},
    {"a group of groups below its minimum aborts all",
     [](TreeCluster& cluster) {
       cluster.add_composite("root", 1);
       cluster.add_composite("inner", 2, "root");
       cluster.add_group("g", 1, "inner");
       cluster.add_group("h", 1, "inner");
       cluster.add_group("k", 1, "root");
       cluster.add_member("g", "a", 3);
       cluster.add_member("h", "b", 3);
       cluster.add_member("k", "c", 3);
       cluster.change(request_key("a"), R"({"spec":{"withdrawn":true}})");
     },
     "", "Aborted"},
    {"members that are bound already count",
     [](TreeCluster& cluster) {
       cluster.add_composite("root", 2);
       cluster.add_group("g", 2, "root");
       cluster.add_group("h", 1, "root");
       cluster.add_pod_of("h", "c");
       cluster.change(pod_key("c"), R"({"spec":{"nodeName":"n1"}})");
       for (const char* name : {"a", "b"}) cluster.add_member("g", name, 2);
     },
     "a b c", "Committed"},
    {"a request that never comes is waited for, then its group is not there",
     [](TreeCluster& cluster) {
       cluster.add_composite("root", 2);
       cluster.add_group("g", 1, "root");
       cluster.add_group("h", 1, "root");
       cluster.add_member("g", "a", 2);
       cluster.add_pod_of("h", "b");
     },
     "", "Aborted"},
    {"a group that is gone has no minimum",
     [](TreeCluster& cluster) {
       cluster.add_composite("root", 1);
       cluster.add_group("g", 1, "root");
       cluster.add_member("g", "a", 2);
       cluster.add_member("h", "b", 2);
     },
     "", "Aborted"},
    {"a root that is gone",
     [](TreeCluster& cluster) {
       cluster.add_group("g", 1, "root");
       cluster.add_group("h", 1, "root");
       cluster.add_member("g", "a", 2);
       cluster.add_member("h", "b", 2);
     },
     "", ""},
};

TEST(GangTree, WhatTheMinimaSay) {
  for (const MinimaRow& row : kMinimaRows) {
    TreeCluster cluster;
    row.make(cluster);
    cluster.run_until_idle(cluster.now() + kLong);
    EXPECT_EQ(cluster.bound(), row.bound) << row.what;
    EXPECT_EQ(cluster.outcome(), row.outcome) << row.what;
    for (const auto& [name, request] : cluster.view().bind_requests.all())
      EXPECT_NE(request->phase, api::BindPhase::Pending) << row.what << ": " << name.name;
  }
}

// The process dies after each of its writes in turn: afterwards all are bound, or none.
TEST(GangTree, AProcessThatDiesAtAnyWriteLeavesAllOrNothing) {
  for (std::size_t dies_at = 1; dies_at <= 12; ++dies_at) {
    TwoGroups cluster;
    cluster.add_member("g", "a", 3);
    cluster.add_member("g", "b", 3);
    cluster.add_member("h", "c", 3);
    cluster.deliver();
    for (std::size_t answered = 0; answered < dies_at && cluster.in_flight() > 0; ++answered)
      cluster.answer(answered);
    cluster.crash();
    const bool committed_before = cluster.outcome() == "Committed";
    cluster.run_until_idle(cluster.now() + kLong);
    EXPECT_EQ(cluster.bound(), "a b c") << dies_at << " " << committed_before;
  }
}

// A second decision waits until the members of the first one are bound: the root holds one outcome.
TEST(GangTree, ARootHasOneDecisionAtATime) {
  TwoGroups cluster(1);
  cluster.add_member("g", "a", 2);
  cluster.add_member("g", "b", 2);
  cluster.run_until_idle(cluster.now() + Duration::seconds(5));
  ASSERT_EQ(cluster.bound(), "a b");
  cluster.add_group("k", 2, "root");
  for (const char* name : {"c", "e"}) {
    cluster.add_member("k", name, 2);
    cluster.change(request_key(name), R"({"spec":{"decisionID":"y"}})");
  }
  cluster.run_until_idle(cluster.now() + Duration::seconds(5));
  EXPECT_EQ(cluster.bound(), "a b c e");
}

}  // namespace
}  // namespace berth::binding
