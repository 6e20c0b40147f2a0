// What changes of a group's members cost: a look at all of them only where one may change what is decided.
#include <gtest/gtest.h>

#include "api/serialized.h"
#include "scheduling/test_bench.h"

namespace berth::scheduling {
namespace {

constexpr int kMembersOfTheGroup = 40;

// Every look at a waiting member asks it.
class CountedGate final : public placement::PreEnqueue {
 public:
  explicit CountedGate(int& looks) : looks_(looks) {}
  std::string_view name() const override { return "CountedGate"; }
  std::optional<placement::PodGate> check(const client::View&, const api::Pod&) const override {
    ++looks_;
    return std::nullopt;
  }

 private:
  int& looks_;
};

class GroupCost : public testing::Test {
 protected:
  GroupCost() {
    SchedulerOptions options;
    options.composite_groups = true;
    options.plugins = [this](const placement::PluginArguments& arguments) {
      placement::PluginSet set = placement::default_plugins(arguments);
      set.gates.push_back(std::make_unique<CountedGate>(looks_));
      return set;
    };
    bench_.emplace(std::move(options));
    bench_->put_node({"n1", "1"});
    bench_->put_group("g", kMembersOfTheGroup);
    for (int i = 0; i < kMembersOfTheGroup; ++i) put_member("g", member(i));
    bench_->run();
    EXPECT_FALSE(bench_->message_of(member(0)).empty()) << "the group is refused";
    looks_ = 0;
  }
  static std::string member(int i) { return "p" + std::to_string(i); }
  void put_member(const std::string& group, const std::string& name) {
    bench_->put(api::Kind::Pod,
                R"({"metadata":{"namespace":"default","generation":1,"name":")" + name +
                    R"("},"spec":{"schedulerName":"berth","schedulingGroup":{"podGroupName":")" + group +
                    R"("},"containers":[{"name":"c","resources":{"requests":{"cpu":"1"}}}]},)"
                    R"("status":{"phase":"Pending"}})");
  }
  // A watch shows the pod with this change, and the scheduler decides.
  template <class Change>
  void change(int i, Change change) {
    Json object = *api::parse_object(*bench_->view.pods.find("default", member(i))->raw);
    change(object);
    bench_->put_json(api::Kind::Pod, std::move(object));
    bench_->decide();
  }

  int looks_ = 0;
  std::optional<TestBench> bench_;
};

TEST_F(GroupCost, ReportsOfMembersLookAtNobody) {
  for (int i = 0; i < kMembersOfTheGroup; ++i)
    change(i, [](Json& pod) { pod["status"]["qosClass"] = "Burstable"; });
  EXPECT_EQ(looks_, 0);
}

TEST_F(GroupCost, AMemberThatArrivesIsLookedAtAlone) {
  bench_->put_group("late", kMembersOfTheGroup);
  for (int i = 0; i + 1 < kMembersOfTheGroup; ++i) {
    put_member("late", "late" + std::to_string(i));
    bench_->decide();
    ASSERT_EQ(looks_, i + 1);
  }
  put_member("late", "last");
  bench_->run();
  EXPECT_GE(looks_, 2 * kMembersOfTheGroup - 1) << "now the group is tried";
  EXPECT_FALSE(bench_->message_of("late0").empty());
  EXPECT_FALSE(bench_->message_of("last").empty());
}

// A member that left before the group is complete does not count.
TEST_F(GroupCost, ArrivalsAreCountedAfterOthersLeft) {
  bench_->put_group("late", 3);
  put_member("late", "a");
  bench_->decide();
  put_member("late", "b");
  bench_->decide();
  bench_->erase(api::Kind::Pod, "a");
  bench_->decide();
  put_member("late", "c");
  bench_->run();
  EXPECT_TRUE(bench_->message_of("c").empty()) << "two of three";
  put_member("late", "a");
  bench_->run();
  EXPECT_FALSE(bench_->message_of("c").empty()) << "refused: the node takes one";
}

TEST_F(GroupCost, AMemberThatJoinsARefusedGroupIsLookedAtAlone) {
  for (int i = 0; i < kMembersOfTheGroup; ++i) {
    put_member("g", "more" + std::to_string(i));
    bench_->run();
    ASSERT_EQ(looks_, i + 1);
  }
  EXPECT_FALSE(bench_->message_of("more3").empty()) << "the group was tried with it";
}

// The root names the groups that are not complete, with their counts.
TEST_F(GroupCost, AMemberThatJoinsATreeIsLookedAtAlone) {
  const auto put = [&](api::Kind kind, const std::string& name, const std::string& spec) {
    bench_->put(kind,
                R"({"metadata":{"namespace":"default","name":")" + name + R"("},"spec":{)" + spec + "}}");
  };
  put(api::Kind::CompositePodGroup, "root", R"("schedulingPolicy":{"gang":{"minGroupCount":2}})");
  for (const std::string group : {"a", "b"})
    put(api::Kind::PodGroup, group,
        R"("parentCompositePodGroupName":"root","schedulingPolicy":{"gang":{"minCount":)" +
            std::to_string(kMembersOfTheGroup) + "}}");
  put_member("a", "a0");
  bench_->run();
  looks_ = 0;
  for (int i = 1; i + 1 < kMembersOfTheGroup; ++i) {
    put_member("a", "a" + std::to_string(i));
    bench_->run();
    ASSERT_EQ(looks_, i);
  }
  bench_->now = bench_->now + Duration::minutes(1);
  bench_->run();
  const auto& conditions = bench_->view.composite_groups.find("default", "root")->conditions;
  const api::Condition* told = api::find_condition(conditions, api::kCompositeScheduled);
  ASSERT_NE(told, nullptr);
  EXPECT_NE(told->message.find("PodGroup a has 39 of 40 pods"), std::string::npos) << told->message;
}

TEST_F(GroupCost, AChangeThatMattersLooksAtAll) {
  change(3, [](Json& pod) { pod["metadata"]["labels"]["app"] = "x"; });
  EXPECT_GE(looks_, kMembersOfTheGroup);
}

}  // namespace
}  // namespace berth::scheduling
