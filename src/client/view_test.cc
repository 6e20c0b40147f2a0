#include <gtest/gtest.h>

#include "client/decider.h"

namespace berth::client {
namespace {

api::TypedObject pod(const std::string& name, int version, const std::string& node) {
  auto raw = std::make_shared<const std::string>(
      R"({"metadata":{"namespace":"d","uid":"u-)" + name + R"(","name":")" + name +
      R"(","resourceVersion":")" + std::to_string(version) + R"("},"spec":{"nodeName":")" + node + R"("}})");
  return *api::decode_typed(api::Kind::Pod, raw);
}

TEST(View, AnOlderVersionNeverReplacesANewerOne) {
  View view;
  const api::ObjectKey key{api::Kind::Pod, "d", "a", {}};
  EXPECT_TRUE(view.put(key, pod("a", 5, "n1")).has_value());
  EXPECT_FALSE(view.put(key, pod("a", 4, "")).has_value());
  EXPECT_FALSE(view.put(key, pod("a", 5, "n1")).has_value());
  EXPECT_EQ(view.pods.find("d", "a")->node_name, "n1");
  EXPECT_FALSE(view.erase(key, 4).has_value());
  EXPECT_TRUE(view.erase(key, 6).has_value());
  EXPECT_EQ(view.pods.size(), 0u);
}

TEST(View, IndexesFollowEveryChange) {
  View view;
  view.put({api::Kind::Pod, "d", "b", {}}, pod("b", 1, ""));
  view.put({api::Kind::Pod, "d", "a", {}}, pod("a", 2, "n1"));
  EXPECT_EQ(view.pods_on_node("n1").size(), 1u);
  view.put({api::Kind::Pod, "d", "b", {}}, pod("b", 3, "n1"));
  ASSERT_EQ(view.pods_on_node("n1").size(), 2u);
  EXPECT_EQ(view.pods_on_node("n1").front()->meta.name, "a");
  view.put({api::Kind::Pod, "d", "a", {}}, pod("a", 4, "n2"));
  EXPECT_EQ(view.pods_on_node("n1").size(), 1u);
  view.erase({api::Kind::Pod, "d", "b", {}}, 9);
  EXPECT_TRUE(view.pods_on_node("n1").empty());
  EXPECT_EQ(view.keys(api::Kind::Pod).size(), 1u);
}

TEST(Effects, TheirTextIsCanonical) {
  Effects effects =
      Effects::write({api::Kind::ResourceClaim, "d", "c", {}},
                     merge_patch({api::Kind::ResourceClaim, "d", "c", {}}, Json::object({{"a", 1}}), "u", 7));
  effects.wake_at = Time::from_seconds(0);
  EXPECT_EQ(to_text(effects),
            "chain ResourceClaim d/c\n"
            "  merge-patch resource.k8s.io/v1/resourceclaims d/c "
            "{\"a\":1,\"metadata\":{\"uid\":\"u\",\"resourceVersion\":\"7\"}}\n"
            "wake 1970-01-01T00:00:00.000000Z\n");
}

}  // namespace
}  // namespace berth::client
