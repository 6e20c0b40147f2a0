#include "api/types/group_membership.h"

#include <gtest/gtest.h>

#include "api/types/pod.h"

namespace berth::api {
namespace {

Pod pod_with(const std::string& metadata, const std::string& spec = "{}") {
  return decode_pod(
      *parse_json(R"({"metadata":{"name":"p","namespace":"d",)" + metadata + R"(},"spec":)" + spec + "}"),
      nullptr);
}

TEST(GroupMembership, FollowsTheFirstLabelThatNamesAGroup) {
  struct Row {
    const char* metadata;
    GroupSource source;
    const char *object, *group;
  };
  const Row rows[] = {
      {R"("labels":{"scheduling.x-k8s.io/pod-group":"g"})", GroupSource::SchedulerPlugins, "g", "g"},
      {R"("labels":{"kueue.x-k8s.io/pod-group-name":"g"})", GroupSource::Kueue, "g", "g"},
      {R"("annotations":{"scheduling.k8s.io/group-name":"g"})", GroupSource::Volcano, "g", "g"},
      {R"("annotations":{"scheduling.volcano.sh/group-name":"g"})", GroupSource::Volcano, "g", "g"},
      {R"("annotations":{"pod-group-name":"g"})", GroupSource::Kai, "g", "g"},
      {R"("annotations":{"pod-group-name":"g"},"labels":{"kai.scheduler/subgroup-name":"w"})",
       GroupSource::Kai, "g", "g-w"},
      {R"("labels":{"grove.io/podgang":"g"})", GroupSource::Grove, "g", "g"},
      {R"("labels":{"grove.io/podgang":"g","grove.io/podclique":"g-decode"})", GroupSource::Grove, "g",
       "g-decode"},
      {R"("labels":{"scheduling.x-k8s.io/pod-group":"b","kueue.x-k8s.io/pod-group-name":"c"},)"
       R"("annotations":{"scheduling.k8s.io/group-name":"a"})",
       GroupSource::Volcano, "a", "a"},
      {R"("labels":{"scheduling.x-k8s.io/pod-group":"b","kueue.x-k8s.io/pod-group-name":"c"})",
       GroupSource::SchedulerPlugins, "b", "b"},
      {R"("labels":{"scheduling.x-k8s.io/pod-group":"","kueue.x-k8s.io/pod-group-name":"c"})",
       GroupSource::Kueue, "c", "c"},
  };
  for (const Row& row : rows) {
    const Pod pod = pod_with(row.metadata);
    const LabelledGroup wanted{row.source, row.object, row.group};
    EXPECT_EQ(labelled_group(pod.meta), wanted) << row.metadata;
    EXPECT_EQ(pod.group, row.group) << row.metadata;
    EXPECT_EQ(pod.group_source, row.source) << row.metadata;
  }
}

TEST(GroupMembership, IsWhatTheSpecSaysIfItSaysSomething) {
  const Pod pod = pod_with(R"("labels":{"scheduling.x-k8s.io/pod-group":"b"})",
                           R"({"schedulingGroup":{"podGroupName":"a"}})");
  EXPECT_EQ(pod.group, "a");
  EXPECT_EQ(pod.group_source, GroupSource::Kubernetes);
  const Pod plain = pod_with(R"("labels":{"app":"web"})");
  EXPECT_EQ(plain.group, "");
  EXPECT_FALSE(labelled_group(plain.meta));
}

TEST(GroupMembership, AMadeGroupSaysForWhat) {
  ObjectMeta meta;
  EXPECT_FALSE(made_from(meta));
  for (const GroupSource source :
       {GroupSource::Grove, GroupSource::Kai, GroupSource::Volcano, GroupSource::SchedulerPlugins}) {
    const MadeFrom wanted{source, "g"};
    meta.annotations[std::string(kMadeFromAnnotation)] = to_text(wanted);
    EXPECT_EQ(made_from(meta), wanted);
  }
  for (const char* text : {"volcano", "nobody/g", ""}) {
    meta.annotations[std::string(kMadeFromAnnotation)] = text;
    EXPECT_FALSE(made_from(meta)) << text;
  }
}

}  // namespace
}  // namespace berth::api
