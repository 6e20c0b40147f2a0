#include "placement/wishes/policy_wishes.h"

#include <gtest/gtest.h>

#include "placement/wishes/reached.h"

namespace berth::placement {
namespace {

constexpr const char* kGroups = "scheduling.k8s.io";

class PolicyWishes : public testing::Test {
 protected:
  void put(api::Kind kind, Json object) {
    object["metadata"]["resourceVersion"] = std::to_string(++version_);
    const std::string name(object.part("metadata").string_at("name"));
    const bool namespaced = api::info_of(kind).namespaced;
    if (namespaced) object["metadata"]["namespace"] = "ns";
    view_.put({kind, namespaced ? "ns" : "", name, {}},
              *api::decode_typed(kind, std::make_shared<const std::string>(to_string(object))));
  }
  void put_topology(const std::string& name, const std::string& levels) {
    put(api::Kind::Topology,
        *parse_json(R"({"metadata":{"name":")" + name + R"("},"spec":{"levels":[)" + levels + "]}}"));
  }
  void put_policy(const std::string& name, const std::string& group, const std::string& kind,
                  const std::string& target, const std::string& more = "") {
    put(api::Kind::PlacementPolicy,
        *parse_json(R"({"metadata":{"name":")" + name + R"("},"spec":{"targetRef":{"group":")" + group +
                    R"(","kind":")" + kind + R"(","name":")" + target + "\"}" + more + "}}"));
  }
  void put_group(api::Kind kind, const std::string& name, const std::string& parent = "",
                 const std::string& owner_kind = "", const std::string& workload = "") {
    Json object = Json::object({{"metadata", Json::object({{"name", name}})}});
    if (!owner_kind.empty())
      object["metadata"]["ownerReferences"] = Json::array({Json::object(
          {{"apiVersion", "batch/v1"}, {"kind", owner_kind}, {"name", "train"}, {"uid", "u1"}})});
    if (!parent.empty()) object["spec"]["parentCompositePodGroupName"] = parent;
    if (!workload.empty()) object["spec"]["workloadRef"]["workloadName"] = workload;
    put(kind, std::move(object));
  }
  WishAnswer answer(const std::string& group) {
    return wish_of(
        view_,
        [this](const std::string&, const api::OwnerReference& object) {
          const auto found = owners_.find(object.kind + "/" + object.name);
          return found == owners_.end() ? KnownOwners{} : found->second;
        },
        *view_.pod_groups.find("ns", group));
  }
  // The policy of the group's wish, or the fault in words; "-" for neither.
  std::string named(const std::string& group) {
    const WishAnswer found = answer(group);
    if (found.fault) return words_of(*found.fault);
    return found.wish ? found.wish->policy : "-";
  }

  client::View view_;
  std::map<std::string, KnownOwners> owners_;
  int version_ = 0;
};

constexpr const char* kBlockAndRack =
    R"({"name":"block","nodeLabel":"example.com/block"},{"name":"rack","nodeLabel":"example.com/rack"})";

TEST_F(PolicyWishes, NameAGroupByItsKindItsWorkloadOrAnOwner) {
  put_topology("default", kBlockAndRack);
  put_group(api::Kind::PodGroup, "direct");
  put_group(api::Kind::PodGroup, "owned", "", "Job");
  put_group(api::Kind::PodGroup, "shaped", "", "", "w");
  put_group(api::Kind::PodGroup, "free");
  put_policy("a", kGroups, "PodGroup", "direct");
  put_policy("b", "batch", "Job", "train");
  put_policy("c", kGroups, "Workload", "w");
  put_policy("d", "apps", "Job", "train");  // another API group
  EXPECT_EQ(named("direct"), "a");
  EXPECT_EQ(named("owned"), "b");
  EXPECT_EQ(named("shaped"), "c");
  EXPECT_EQ(named("free"), "-");
}

TEST_F(PolicyWishes, NameAGroupByTheOwnersOfItsOwners) {
  put_topology("default", kBlockAndRack);
  put_group(api::Kind::PodGroup, "g", "", "Job");
  put_policy("set", "jobset.x-k8s.io", "JobSet", "all");
  owners_["Job/train"] = {KnownOwners::State::Unread, {}};
  EXPECT_EQ(named("g"), "PlacementPolicy set may name it: its owner Job.batch/train is being read");
  owners_["Job/train"] = {KnownOwners::State::Refused, {}};
  EXPECT_EQ(named("g"), "-");  // a policy about another object does not hold the group
  owners_["Job/train"] = {KnownOwners::State::Known, {{"jobset.x-k8s.io/v1", "JobSet", "all", "u2"}}};
  EXPECT_EQ(named("g"), "set");
  // A circle of owners ends.
  owners_["JobSet/all"] = {KnownOwners::State::Known, {{"batch/v1", "Job", "train", "u1"}}};
  EXPECT_EQ(named("g"), "set");
}

TEST_F(PolicyWishes, OfAnOwnerOfATreeNamesTheRootAlone) {
  put_topology("default", kBlockAndRack);
  put_group(api::Kind::CompositePodGroup, "root", "", "Job");
  put_group(api::Kind::PodGroup, "leaf", "root", "Job");
  put_policy("tree", "batch", "Job", "train");
  const OwnersOf none = [](const std::string&, const api::OwnerReference&) { return KnownOwners{}; };
  EXPECT_EQ(wish_of(view_, none, *view_.composite_groups.find("ns", "root")).wish->policy, "tree");
  EXPECT_EQ(named("leaf"), "-");
  put_policy("own", kGroups, "PodGroup", "leaf");
  EXPECT_EQ(named("leaf"), "own");
}

TEST_F(PolicyWishes, TellWhatIsWrong) {
  put_group(api::Kind::PodGroup, "g");
  const auto with = [&](const std::string& more) {
    put_policy("p", kGroups, "PodGroup", "g", more);
    return named("g");
  };
  EXPECT_EQ(with(R"(,"preferred":["rack"])"),
            "PlacementPolicy p names Topology default, which does not exist: create it, or let `berth "
            "topology --write` create it");
  // Labels are levels without a Topology.
  EXPECT_EQ(with(R"(,"preferred":["example.com/rack"])"), "p");
  put_topology("default", kBlockAndRack);
  EXPECT_EQ(with(R"(,"required":"row")"),
            "PlacementPolicy p names level row in spec.required, and Topology default has block and rack");
  EXPECT_EQ(with(R"(,"segments":{"level":"row","size":{"max":2}})"),
            "PlacementPolicy p names level row in spec.segments.level, and Topology default has block and "
            "rack");
  EXPECT_EQ(with(R"(,"required":"example.com/block","preferred":["rack"])"), "p");
  put_policy("q", kGroups, "PodGroup", "g");
  EXPECT_EQ(named("g"), "PlacementPolicy p and q name the same group: delete all but one");
}

TEST_F(PolicyWishes, OfCompositesHaveOnlyWhatTheSearchReads) {
  put_topology("default", kBlockAndRack);
  put_group(api::Kind::CompositePodGroup, "root");
  put_group(api::Kind::CompositePodGroup, "below", "root");
  put_group(api::Kind::PodGroup, "leaf", "below");
  const OwnersOf none = [](const std::string&, const api::OwnerReference&) { return KnownOwners{}; };
  const auto with = [&](const std::string& group, const std::string& more) {
    put_policy("p", kGroups, "CompositePodGroup", group, more);
    const WishAnswer found = wish_of(view_, none, *view_.composite_groups.find("ns", group));
    return found.fault ? words_of(*found.fault) : found.wish->policy;
  };
  const std::string segments = R"(,"segments":{"level":"rack","size":{"max":2}})";
  const auto refused = [](const std::string& field) {
    return "PlacementPolicy p sets " + field +
           " for CompositePodGroup below, which only PodGroups can have, or the root of their tree: write "
           "policies for its PodGroups";
  };
  EXPECT_EQ(with("root", R"(,"required":"block","preferred":["rack"])"), "p");
  EXPECT_EQ(with("root", segments), "p");
  EXPECT_EQ(with("below", segments), refused("spec.segments"));
  EXPECT_EQ(with("below", R"(,"ranks":"Contiguous")"), refused("spec.ranks"));
  EXPECT_EQ(with("below", R"(,"sameDevices":{"claim":"c","attribute":"a/b"})"), refused("spec.sameDevices"));
  EXPECT_EQ(with("below", R"(,"distribution":"Balanced")"), refused("spec.distribution"));
  EXPECT_EQ(with("below", R"(,"preferred":["rack"])"), refused("spec.preferred"));
  EXPECT_EQ(with("below", R"(,"required":"rack")"), "p");

  const std::string replaced = R"(,"replaceFailedNodes":"WithinDomain")";
  const auto of_groups = [](const std::string& field) {
    return "PlacementPolicy p sets " + field +
           " for CompositePodGroup root, which only PodGroups can have: write policies for its PodGroups";
  };
  EXPECT_EQ(with("root", replaced), "p");
  EXPECT_EQ(with("below", replaced), "p");
  EXPECT_EQ(with("root", replaced + R"(,"whenNoSpare":"Wait")"), "p");
  EXPECT_EQ(with("root", replaced + R"(,"whenNoSpare":"Widen")"), of_groups("spec.whenNoSpare"));
  EXPECT_EQ(with("root", replaced + segments),
            of_groups("spec.replaceFailedNodes together with spec.segments"));
  EXPECT_EQ(with("root", replaced + R"(,"sameDevices":{"claim":"c","attribute":"a/b"})"),
            of_groups("spec.replaceFailedNodes together with spec.sameDevices"));
}

TEST_F(PolicyWishes, AboutThePartsOfATreeLeaveNoDomainToItsGroups) {
  put_topology("default", kBlockAndRack);
  put_group(api::Kind::CompositePodGroup, "root");
  put_group(api::Kind::CompositePodGroup, "below", "root");
  put_group(api::Kind::PodGroup, "leaf", "below");
  put_policy("p", kGroups, "CompositePodGroup", "root", R"(,"segments":{"level":"rack","size":{"max":2}})");
  put_policy("own", kGroups, "PodGroup", "leaf", R"(,"required":"rack")");
  const OwnersOf none = [](const std::string&, const api::OwnerReference&) { return KnownOwners{}; };
  const auto root = [&] { return wish_of(view_, none, *view_.composite_groups.find("ns", "root")); };
  ASSERT_TRUE(root().fault);
  EXPECT_EQ(
      words_of(*root().fault),
      "PlacementPolicy p sets spec.segments for CompositePodGroup root, and PodGroup leaf below it asks "
      "for a domain or has a policy: remove one of the two");
  put_policy("p", kGroups, "CompositePodGroup", "root", R"(,"ranks":"Contiguous")");
  EXPECT_TRUE(root().wish);
}

TEST_F(PolicyWishes, HaveTheLevelsOfTheirTopology) {
  put_topology("default", kBlockAndRack);
  put_group(api::Kind::PodGroup, "g");
  put_policy("p", kGroups, "PodGroup", "g",
             R"(,"required":"block","preferred":["rack"],"distribution":"Balanced","ranks":"Contiguous",)"
             R"("segments":{"level":"example.com/rack","size":{"min":4}})");
  const GroupWishPtr wish = answer("g").wish;
  ASSERT_NE(wish, nullptr);
  EXPECT_EQ(wish->required, std::optional<std::size_t>(0));
  EXPECT_EQ(wish->preferred, std::vector<std::size_t>{1});
  ASSERT_TRUE(wish->segments);
  EXPECT_EQ(wish->segments->level, 1u);
  EXPECT_EQ(wish->segments->min, 4);
  EXPECT_EQ(wish->segments->max, INT64_MAX);
  EXPECT_EQ(wish_text(*wish), "rack, in one block; 4 or more pods a rack; balanced; contiguous ranks");
}

struct PlacedPod {
  const char* name;
  const char* block;
  const char* rack;
};

WishResult reached(const GroupWish& wish, const std::vector<PlacedPod>& placed) {
  std::vector<api::Pod> pods(placed.size());
  std::vector<api::StringMap> labels(placed.size());
  std::vector<WishMember> members;
  for (std::size_t i = 0; i < placed.size(); ++i) {
    pods[i].meta.name = placed[i].name;
    labels[i] = {{"block", placed[i].block}, {"rack", placed[i].rack}};
    if (labels[i]["rack"].empty()) labels[i].erase("rack");
    members.push_back({&pods[i], &labels[i]});
  }
  return reached_by(wish, members);
}

TEST(Reached, IsTheNarrowestWishedLevelWithOneDomain) {
  GroupWish wish;
  wish.levels = {{"block", "block"}, {"rack", "rack"}};
  wish.preferred = {1, 0};
  WishResult result = reached(wish, {{"a-0", "b1", "r1"}, {"a-1", "b1", "r1"}});
  EXPECT_EQ(result.reached, "rack");
  EXPECT_EQ(result.score, 1);
  result = reached(wish, {{"a-0", "b1", "r1"}, {"a-1", "b1", "r2"}});
  EXPECT_EQ(result.level, "rack");
  EXPECT_EQ(result.reached, "block");
  EXPECT_EQ(result.score, 0.5);
  EXPECT_EQ(result.domains, (std::vector<std::string>{"b1/r1", "b1/r2"}));
  EXPECT_EQ(result.segments, (std::vector<std::int64_t>{1, 1}));
  // One value under two parents names two domains.
  result = reached(wish, {{"a-0", "b1", "r1"}, {"a-1", "b2", "r1"}});
  EXPECT_EQ(result.reached, "");
  EXPECT_EQ(result.score, 0);
  EXPECT_EQ(reached(wish, {}).score, 0);
  // A node without the label is in no domain.
  EXPECT_EQ(reached(wish, {{"a-0", "b1", ""}, {"a-1", "b1", ""}}).reached, "block");
}

TEST(Reached, CountsCrossingsOfTheRing) {
  GroupWish wish;
  wish.levels = {{"block", "block"}, {"rack", "rack"}};
  wish.preferred = {1};
  wish.contiguous_ranks = true;
  std::vector<PlacedPod> placed = {
      {"a-0", "b", "r1"}, {"a-1", "b", "r1"}, {"a-2", "b", "r2"}, {"a-9", "b", "r3"}, {"a-10", "b", "r3"}};
  EXPECT_EQ(reached(wish, placed).rank_crossings, 3);
  placed[1].rack = "r2";
  placed[2].rack = "r1";
  const WishResult result = reached(wish, placed);
  EXPECT_EQ(result.rank_crossings, 4);
  EXPECT_EQ(reached_text(result), "2 pods in b/r1, 1 in b/r2, 2 in b/r3; 4 rank crossings");
}

}  // namespace
}  // namespace berth::placement
