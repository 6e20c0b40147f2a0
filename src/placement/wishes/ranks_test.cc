#include "placement/wishes/ranks.h"

#include <gtest/gtest.h>

namespace berth::placement {
namespace {

api::Pod pod_named(const std::string& name) {
  api::Pod pod;
  pod.meta.name = name;
  return pod;
}

TEST(Ranks, ComeFromLabelsAnnotationsOrTheName) {
  EXPECT_EQ(member_rank(pod_named("w-12")), 12);
  EXPECT_EQ(member_rank(pod_named("worker")), std::nullopt);
  EXPECT_EQ(member_rank(pod_named("w-99999999999999999999")), std::nullopt);
  api::Pod job = pod_named("job-7-x8k2");
  job.meta.annotations["batch.kubernetes.io/job-completion-index"] = "7";
  EXPECT_EQ(member_rank(job), 7);
  api::Pod set = pod_named("set-1");
  set.meta.labels["apps.kubernetes.io/pod-index"] = "4";
  EXPECT_EQ(member_rank(set), 4);
  api::Pod worker = pod_named("lws-0-2");
  worker.meta.labels["apps.kubernetes.io/pod-index"] = "1";
  worker.meta.labels["leaderworkerset.sigs.k8s.io/worker-index"] = "2";
  EXPECT_EQ(member_rank(worker), 2);
}

TEST(Ranks, MembersWithoutOneComeLast) {
  const api::Pod a = pod_named("w-10"), b = pod_named("w-9"), c = pod_named("leader");
  const std::vector<const api::Pod*> pods = {&c, &a, &b};
  EXPECT_EQ(by_rank(pods), (std::vector<std::size_t>{2, 1, 0}));
}

TEST(Ranks, OfATreeGoOnFromGroupToGroup) {
  const auto of_group = [](const std::string& group, const std::string& name) {
    api::Pod pod = pod_named(name);
    pod.group = group;
    return pod;
  };
  const api::Pod a = of_group("w-10", "x-0"), b = of_group("w-9", "x-1"), c = of_group("w-9", "x-0"),
                 d = of_group("w-09", "x-5"), e = of_group("leader", "l");
  const std::vector<const api::Pod*> pods = {&a, &b, &c, &d, &e};
  EXPECT_EQ(by_rank(pods), (std::vector<std::size_t>{4, 3, 2, 1, 0}));
}

}  // namespace
}  // namespace berth::placement
