#include <gtest/gtest.h>

#include <algorithm>

#include "api/gates.h"
#include "api/test_rules.h"

namespace berth::api {
namespace {

constexpr std::size_t kNodePorts = 32767 - 30000 + 1;

// Other Services have the whole range, and every question is counted.
class FullRange final : public ServiceAllocations {
 public:
  mutable std::size_t questions = 0;
  bool has_address(std::string_view, std::string_view) const override { return false; }
  bool has_node_port(std::int64_t, std::string_view) const override {
    ++questions;
    return true;
  }
};

Json service_with(std::size_t ports, std::int64_t first_node_port) {
  JsonArray all;
  for (std::size_t i = 0; i < ports; ++i) {
    const auto number = static_cast<std::int64_t>(i);
    Json port = Json::object({{"name", "p" + std::to_string(i)}, {"protocol", "TCP"}, {"port", 1 + number}});
    if (first_node_port != 0) port["nodePort"] = first_node_port + number;
    all.push_back(std::move(port));
  }
  return Json::object({{"metadata", Json::object({{"namespace", "d"}, {"name", "s"}, {"uid", "u"}})},
                       {"spec", Json::object({{"type", "NodePort"}, {"ports", std::move(all)}})}});
}

struct NodePorts : testing::Test {
  Gates gates{GateDefaults::Up};
  FullRange others;
  RuleContext ctx = context_of_empty_cluster(gates);
  const KindRules& rules = rules_of("", "services");
  void SetUp() override { ctx.services = &others; }
};

TEST_F(NodePorts, AFullRangeIsSearchedOnceHoweverManyPortsAsk) {
  Json service = service_with(500, 0);
  rules.prepare_create(service, ctx);
  EXPECT_EQ(service.part("spec").items_at("ports").front().int_at("nodePort"), 0);
  EXPECT_LE(others.questions, kNodePorts);
}

TEST_F(NodePorts, AnUpdateWithoutThemKeepsEachPortsOwn) {
  const Json stored = service_with(400, 30100);
  Json next = service_with(400, 0);
  std::reverse(next["spec"]["ports"].as_array().begin(), next["spec"]["ports"].as_array().end());
  rules.prepare_update(next, stored, ctx);
  for (const Json& port : next.part("spec").items_at("ports"))
    EXPECT_EQ(port.int_at("nodePort"), 30099 + port.int_at("port"));
  EXPECT_EQ(others.questions, 0u) << "none is looked for";
}

TEST_F(NodePorts, AnUpdateMayGiveAPortTheNumberOfAnother) {
  const Json stored = service_with(2, 30100);
  Json next = service_with(2, 0);
  next["spec"]["ports"].as_array()[0]["nodePort"] = 30101;
  rules.prepare_update(next, stored, ctx);
  const JsonArray& ports = next.part("spec").items_at("ports");
  EXPECT_EQ(ports[0].int_at("nodePort"), 30101);
  EXPECT_EQ(ports[1].int_at("nodePort"), 0) << "its own is taken, and the range is full";
}

}  // namespace
}  // namespace berth::api
