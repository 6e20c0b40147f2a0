#include <gtest/gtest.h>

#include "controllers/controllers.h"
#include "engine/testing/engine_fixture.h"

namespace berth::controllers {
namespace {

using api::Kind;

TEST(NamespaceFinalizer, EmptiesThenFinalizes) {
  const api::ResourceRef maps{"", "v1", "configmaps"};
  engine::testing::EngineFixture fixture;
  fixture.engine.add(make_namespace_finalizer({{maps, "ConfigMap", true},
                                               {api::ref_of(Kind::Pod), "Pod", true},
                                               {api::ref_of(Kind::Node), "Node", false}}));
  for (const char* ns : {"gone", "stays"}) {
    const std::string name(ns);
    fixture.api.put(Kind::Namespace,
                    R"({"metadata":{"name":")" + name + R"("},"spec":{"finalizers":["kubernetes"]}})");
    fixture.api.put(maps, *parse_json(R"({"metadata":{"namespace":")" + name + R"(","name":"m"}})"));
    fixture.api.put(Kind::Pod,
                    R"({"metadata":{"namespace":")" + name + R"(","name":"p"},"spec":{"nodeName":"n"}})");
  }
  fixture.start();
  fixture.advance(Duration::seconds(5));
  EXPECT_TRUE(fixture.api.log.empty());

  fixture.api.submit({client::Verb::Delete, api::ref_of(Kind::Namespace), "", "gone", "", ""},
                     [](client::ApiReply) {});
  fixture.advance(Duration::seconds(1));
  ASSERT_NE(fixture.api.find(Kind::Pod, "gone", "p"), nullptr) << "a bound pod ends with its grace";
  EXPECT_NE(fixture.api.find(maps, "gone", "m"), nullptr) << "which the pod may need to its end";
  ASSERT_NE(fixture.api.find(Kind::Namespace, "", "gone"), nullptr) << "it is not empty yet";

  fixture.api.remove(api::ref_of(Kind::Pod), "gone", "p");
  fixture.advance(Duration::seconds(1));
  EXPECT_EQ(fixture.api.find(maps, "gone", "m"), nullptr);
  EXPECT_EQ(fixture.api.find(Kind::Namespace, "", "gone"), nullptr);
  EXPECT_EQ(fixture.api.log.back(), "update v1/namespaces gone/finalize");
  EXPECT_NE(fixture.api.find(maps, "stays", "m"), nullptr);
  EXPECT_NE(fixture.api.find(Kind::Namespace, "", "stays"), nullptr);
}

TEST(NamespaceFinalizer, SaysWhatRemainsAndWhoHoldsIt) {
  const api::ResourceRef maps{"", "v1", "configmaps"};
  engine::testing::EngineFixture fixture;
  fixture.engine.add(
      make_namespace_finalizer({{maps, "ConfigMap", true}, {api::ref_of(Kind::Pod), "Pod", true}}));
  fixture.api.put(Kind::Namespace, R"({"metadata":{"name":"gone"},"spec":{"finalizers":["kubernetes"]}})");
  for (const char* name : {"m", "n"})
    fixture.api.put(maps, *parse_json(R"({"metadata":{"namespace":"gone","name":")" + std::string(name) +
                                      R"(","finalizers":["example.com/hold"]}})"));
  fixture.api.put(Kind::Pod, R"({"metadata":{"namespace":"gone","name":"p"},"spec":{"nodeName":"n"}})");
  fixture.start();
  fixture.api.submit({client::Verb::Delete, api::ref_of(Kind::Namespace), "", "gone", "", ""},
                     [](client::ApiReply) {});
  const auto condition = [&](std::string_view type) {
    std::string text = "none";
    const Json* ns = fixture.api.find(Kind::Namespace, "", "gone");
    for (const Json& one : ns->part("status").items_at("conditions"))
      if (one.string_at("type") == type)
        text = std::string(one.string_at("status")) + " " + std::string(one.string_at("reason")) + ": " +
               std::string(one.string_at("message"));
    return text;
  };
  fixture.advance(Duration::seconds(1));
  EXPECT_EQ(condition("NamespaceContentRemaining"), "none") << "most namespaces are empty by then";
  fixture.advance(Duration::seconds(2));
  EXPECT_EQ(condition("NamespaceContentRemaining"),
            "True SomeResourcesRemain: Some resources are remaining: pods. has 1 resource instances");
  EXPECT_EQ(condition("NamespaceFinalizersRemaining"),
            "False ContentHasNoFinalizers: All content-preserving finalizers finished");
  EXPECT_EQ(condition("NamespaceDeletionDiscoveryFailure"),
            "False ResourcesDiscovered: All resources successfully discovered");
  EXPECT_EQ(condition("NamespaceDeletionContentFailure"),
            "False ContentDeleted: All content successfully deleted, may be waiting on finalization");
  const std::size_t writes = fixture.api.log.size();
  fixture.advance(Duration::minutes(1));
  EXPECT_EQ(fixture.api.log.size(), writes) << "nothing changes";

  fixture.api.remove(api::ref_of(Kind::Pod), "gone", "p");
  fixture.advance(Duration::seconds(3));
  EXPECT_EQ(condition("NamespaceContentRemaining"),
            "True SomeResourcesRemain: Some resources are remaining: configmaps. has 2 resource instances");
  EXPECT_EQ(condition("NamespaceFinalizersRemaining"),
            "True SomeFinalizersRemain: Some content in the namespace has finalizers remaining: "
            "example.com/hold in 2 resource instances");
  for (const char* name : {"m", "n"}) fixture.api.remove(maps, "gone", name);
  fixture.advance(Duration::seconds(3));
  EXPECT_EQ(fixture.api.find(Kind::Namespace, "", "gone"), nullptr);
}

}  // namespace
}  // namespace berth::controllers
