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
  EXPECT_EQ(fixture.api.find(maps, "gone", "m"), nullptr);
  ASSERT_NE(fixture.api.find(Kind::Pod, "gone", "p"), nullptr) << "a bound pod ends with its grace";
  ASSERT_NE(fixture.api.find(Kind::Namespace, "", "gone"), nullptr) << "it is not empty yet";

  fixture.api.remove(api::ref_of(Kind::Pod), "gone", "p");
  fixture.advance(Duration::seconds(1));
  EXPECT_EQ(fixture.api.find(Kind::Namespace, "", "gone"), nullptr);
  EXPECT_EQ(fixture.api.log.back(), "update v1/namespaces gone/finalize");
  EXPECT_NE(fixture.api.find(maps, "stays", "m"), nullptr);
  EXPECT_NE(fixture.api.find(Kind::Namespace, "", "stays"), nullptr);
}

}  // namespace
}  // namespace berth::controllers
