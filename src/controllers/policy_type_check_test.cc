#include <gtest/gtest.h>

#include "controllers/controllers.h"
#include "engine/testing/engine_fixture.h"

namespace berth::controllers {
namespace {

const api::ResourceRef kPolicies{"admissionregistration.k8s.io", "v1", "validatingadmissionpolicies"};
const api::ResourceRef kDefinitions{"apiextensions.k8s.io", "v1", "customresourcedefinitions"};

Json policy_for(const char* group, const char* resource, const char* expression) {
  Json policy = *parse_json(R"({"metadata":{"name":"p","uid":"u","generation":1},"spec":{
    "matchConstraints":{"resourceRules":[{"apiVersions":["v1"],"operations":["CREATE"]}]},
    "validations":[{}]}})");
  Json& rule = policy["spec"]["matchConstraints"]["resourceRules"].as_array()[0];
  rule["apiGroups"] = Json::array({group});
  rule["resources"] = Json::array({resource});
  policy["spec"]["validations"].as_array()[0]["expression"] = expression;
  return policy;
}

TEST(PolicyTypeCheck, WritesOnceForEachGeneration) {
  engine::testing::EngineFixture fixture;
  fixture.engine.add(make_policy_type_check());
  fixture.api.put(kDefinitions, *parse_json(R"({"metadata":{"name":"things.example.com"},"spec":{
    "group":"example.com","names":{"plural":"things","kind":"Thing"},"versions":[{"name":"v1","served":true,
    "schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":{
    "size":{"type":"integer"}}}}}}}]}})"));
  fixture.api.put(kPolicies, policy_for("example.com", "things", "object.spec.width > 1"));
  fixture.start();
  fixture.run_until_idle();
  const auto status = [&] { return fixture.api.find(kPolicies, "", "p")->part("status"); };
  const JsonArray warnings = status().part("typeChecking").items_at("expressionWarnings");
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_EQ(warnings[0].string_at("fieldRef"), "spec.validations[0].expression");
  EXPECT_TRUE(warnings[0].string_at("warning").starts_with(
      "example.com/v1, Kind=Thing: compilation failed: ERROR: <input>:1:12: undefined field 'width'"))
      << warnings[0].string_at("warning");
  EXPECT_EQ(status().int_at("observedGeneration"), 1);

  Json next = *fixture.api.find(kPolicies, "", "p");
  next["metadata"]["generation"] = 2;
  next["spec"]["validations"].as_array()[0]["expression"] = "object.spec.size > 1";
  fixture.api.put(kPolicies, std::move(next));
  fixture.run_until_idle();
  EXPECT_EQ(status().int_at("observedGeneration"), 2);
  EXPECT_TRUE(status().part("typeChecking").items_at("expressionWarnings").empty());
  const std::size_t writes = fixture.api.log.size();
  fixture.advance(Duration::minutes(10));
  EXPECT_EQ(fixture.api.log.size(), writes);
}

// Another group that ends with the same words is another group.
TEST(PolicyTypeCheck, ParametersAreOfTheirOwnGroup) {
  engine::testing::EngineFixture fixture;
  fixture.engine.add(make_policy_type_check());
  for (const std::string group : {"example.com", "a.example.com"})
    fixture.api.put(
        kDefinitions,
        *parse_json(R"({"metadata":{"name":"limits.)" + group + R"("},"spec":{"group":")" + group +
                    R"(","names":{"plural":"limits","kind":"Limit"},"versions":[{"name":"v1",)"
                    R"("served":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{)" +
                    (group == "example.com" ? R"("most")" : R"("least")") + R"(:{"type":"integer"}}}}}]}})"));
  Json policy = policy_for("apps", "deployments", "params.most > 1");
  policy["spec"]["paramKind"] = Json::object({{"apiVersion", "example.com/v1"}, {"kind", "Limit"}});
  fixture.api.put(kPolicies, std::move(policy));
  fixture.start();
  fixture.run_until_idle();
  const Json& status = fixture.api.find(kPolicies, "", "p")->part("status");
  EXPECT_EQ(status.int_at("observedGeneration"), 1);
  EXPECT_TRUE(status.part("typeChecking").items_at("expressionWarnings").empty())
      << to_string(status.part("typeChecking"));
}

}  // namespace
}  // namespace berth::controllers
