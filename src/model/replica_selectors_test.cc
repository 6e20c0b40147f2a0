// Which changes of Services and controllers change what default constraints count. The selectors themselves
// are compared with a slow twin in placement (pod_topology_spread_test.cc).
#include "model/replica_selectors.h"

#include <gtest/gtest.h>

namespace berth::model {
namespace {

struct Written {
  const char* resource;
  int generation;
  const char* spec;
};

class ReplicaSelectorsTest : public testing::Test {
 protected:
  // Null: it is gone.
  void put(const std::string& resource, const Written* written) {
    const bool core = resource == "services" || resource == "replicationcontrollers";
    const api::ObjectKey key{api::Kind::Other, "ns", "web", {core ? "" : "apps", "v1", resource}};
    std::optional<api::TypedObject> object;
    if (written)
      object = *api::decode_typed(
          api::Kind::Other, std::make_shared<const std::string>(
                                R"({"metadata":{"name":"web","namespace":"ns","uid":"u","generation":)" +
                                std::to_string(written->generation) + R"(},"spec":)" + written->spec + "}"));
    auto& known = known_[resource];
    selectors_.apply({key, known, object});
    known = object;
  }
  std::string selected(const std::string& owner = "") const {
    api::Pod pod;
    pod.meta.ns = "ns";
    pod.meta.labels = {{"app", "web"}};
    if (!owner.empty())
      pod.meta.owners = {{owner == "ReplicationController" ? "v1" : "apps/v1", owner, "web", "u", true}};
    const ReplicaSelectorPtr selector = selectors_.selector_of(pod);
    if (!selector) return "nothing";
    std::string text;
    for (const api::LabelRequirement& one : selector->labels.requirements())
      text += one.key + "=" + one.values.front() + " ";
    if (selector->controller)
      for (const api::LabelRequirement& one : selector->controller->requirements()) text += "&" + one.key;
    return text;
  }

  ReplicaSelectors selectors_;
  std::map<std::string, std::optional<api::TypedObject>> known_;
};

constexpr const char* kMap = R"({"selector":{"app":"web"}})";
constexpr const char* kSet = R"({"selector":{"matchLabels":{"app":"web"}}})";

TEST_F(ReplicaSelectorsTest, AStatusChangesNothing) {
  const Written first{"replicasets", 1, kSet}, second{"replicasets", 2, R"({"selector":{}})"};
  put("replicasets", &first);
  const std::uint64_t stamp = selectors_.stamp();
  put("replicasets", &first);
  EXPECT_EQ(selectors_.stamp(), stamp);
  EXPECT_EQ(selected("ReplicaSet"), "&app");
  put("replicasets", &second);
  EXPECT_NE(selectors_.stamp(), stamp);
  EXPECT_EQ(selected("ReplicaSet"), "nothing");
}

// A controller that is scaled, or a Service with another annotation, wakes nobody.
TEST_F(ReplicaSelectorsTest, TheStampIsThatOfTheSelectors) {
  const Written service{"services", 0, kMap}, other_service{"services", 0, R"({"selector":{"app":"api"}})"};
  const Written set{"replicasets", 1, kSet}, scaled{"replicasets", 2,
                                                    R"({"replicas":3,"selector":)"
                                                    R"({"matchLabels":{"app":"web"}}})"};
  put("services", &service);
  put("replicasets", &set);
  const std::uint64_t stamp = selectors_.stamp();
  put("services", &service);
  put("replicasets", &scaled);
  put("statefulsets", nullptr);
  EXPECT_EQ(selectors_.stamp(), stamp);
  put("services", &other_service);
  EXPECT_EQ(selectors_.stamp(), stamp + 1);
  EXPECT_EQ(selected("ReplicaSet"), "&app");
  put("replicasets", nullptr);
  EXPECT_EQ(selectors_.stamp(), stamp + 2);
}

TEST_F(ReplicaSelectorsTest, ServicesAndControllersAddUp) {
  const Written service{"services", 0, kMap}, set{"statefulsets", 1, kSet},
      controller{"replicationcontrollers", 1, R"({"selector":{"tier":"x"}})"};
  EXPECT_EQ(selected(), "nothing");
  put("services", &service);
  put("statefulsets", &set);
  put("replicationcontrollers", &controller);
  EXPECT_EQ(selected(), "app=web ");
  EXPECT_EQ(selected("StatefulSet"), "app=web &app");
  EXPECT_EQ(selected("ReplicationController"), "app=web tier=x ");
  EXPECT_EQ(selected("DaemonSet"), "app=web ");
  put("services", nullptr);
  EXPECT_EQ(selected(), "nothing");
  put("statefulsets", nullptr);
  EXPECT_EQ(selected("StatefulSet"), "nothing");
}

TEST_F(ReplicaSelectorsTest, WhatCannotBeReadSelectsNothing) {
  for (const char* spec : {R"({"selector":{"app":7}})", R"({"selector":null})", R"({"selector":{}})", "{}"}) {
    const Written service{"services", 0, spec};
    put("services", &service);
    EXPECT_EQ(selected(), "nothing") << spec;
  }
  for (const char* spec : {R"({"selector":{"matchExpressions":[{"key":"a","operator":"Near"}]}})",
                           R"({"selector":null})", "{}"}) {
    const Written set{"replicasets", 0, spec};
    put("replicasets", &set);
    EXPECT_EQ(selected("ReplicaSet"), "nothing") << spec;
  }
}

}  // namespace
}  // namespace berth::model
