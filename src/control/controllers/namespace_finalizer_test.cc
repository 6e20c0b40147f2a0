#include <gtest/gtest.h>

#include "control/controllers/controllers.h"
#include "control/testing/engine_fixture.h"

namespace berth::control {
namespace {

using api::Kind;

TEST(NamespaceFinalizer, EmptiesThenFinalizes) {
  const api::ResourceRef maps{"", "v1", "configmaps"};
  testing::World world;
  world.engine.add(make_namespace_finalizer({{maps, "ConfigMap", true},
                                             {api::ref_of(Kind::Pod), "Pod", true},
                                             {api::ref_of(Kind::Node), "Node", false}}));
  for (const char* ns : {"gone", "stays"}) {
    const std::string name(ns);
    world.api.put(Kind::Namespace,
                  R"({"metadata":{"name":")" + name + R"("},"spec":{"finalizers":["kubernetes"]}})");
    world.api.put(maps, *parse_json(R"({"metadata":{"namespace":")" + name + R"(","name":"m"}})"));
    world.api.put(Kind::Pod,
                  R"({"metadata":{"namespace":")" + name + R"(","name":"p"},"spec":{"nodeName":"n"}})");
  }
  world.start();
  world.advance(Duration::seconds(5));
  EXPECT_TRUE(world.api.log.empty());

  world.api.submit({client::Verb::Delete, api::ref_of(Kind::Namespace), "", "gone", "", ""},
                   [](client::ApiReply) {});
  world.advance(Duration::seconds(1));
  EXPECT_EQ(world.api.find(maps, "gone", "m"), nullptr);
  ASSERT_NE(world.api.find(Kind::Pod, "gone", "p"), nullptr) << "a bound pod ends with its grace";
  ASSERT_NE(world.api.find(Kind::Namespace, "", "gone"), nullptr) << "it is not empty yet";

  world.api.remove(api::ref_of(Kind::Pod), "gone", "p");
  world.advance(Duration::seconds(1));
  EXPECT_EQ(world.api.find(Kind::Namespace, "", "gone"), nullptr);
  EXPECT_EQ(world.api.log.back(), "update v1/namespaces gone/finalize");
  EXPECT_NE(world.api.find(maps, "stays", "m"), nullptr);
  EXPECT_NE(world.api.find(Kind::Namespace, "", "stays"), nullptr);
}

}  // namespace
}  // namespace berth::control
