#include <gtest/gtest.h>

#include "controllers/controllers.h"
#include "engine/testing/engine_fixture.h"

namespace berth::controllers {
namespace {

using api::Kind;
using engine::testing::EngineFixture;

struct Case {
  const char* name;
  const char* on_claim;
  const char* on_pod;
  const char* on_class;
  int due_after_s;   // -1: never
  const char* sets;  // condition types, in order
};

std::string annotations(const char* text) {
  return std::string(R"("annotations":)") + text;
}

// Device 0 waits for two conditions, device 1 for none.
void fill(EngineFixture& fixture, const Case& test) {
  fixture.api.put(Kind::DeviceClass, R"({"metadata":{"name":"k",)" + annotations(test.on_class) + "}}");
  fixture.api.put(Kind::Pod,
                  R"({"metadata":{"namespace":"d","name":"p","uid":"u1",)" + annotations(test.on_pod) + "}}");
  fixture.api.put(
      Kind::ResourceClaim,
      R"({"metadata":{"namespace":"d","name":"c",)" + annotations(test.on_claim) +
          R"(},"spec":{"devices":{"requests":[{"name":"r","exactly":{"deviceClassName":"k"}}]}},"status":{)"
          R"("allocation":{"allocationTimestamp":"2027-01-15T08:00:00Z","devices":{"results":[)"
          R"({"request":"r","driver":"x","pool":"p","device":"0","bindingConditions":["A","B"],)"
          R"("bindingFailureConditions":["F"]},{"request":"r","driver":"x","pool":"p","device":"1"}]}},)"
          R"("devices":[{"driver":"x","pool":"p","device":"1","data":{"kept":true}}],)"
          R"("reservedFor":[{"resource":"pods","name":"p","uid":"u1"}]}})");
}

std::string conditions_of(const EngineFixture& fixture) {
  const JsonArray& devices =
      fixture.api.find(Kind::ResourceClaim, "d", "c")->find("status")->items_at("devices");
  EXPECT_EQ(to_string(devices.at(0)), R"({"driver":"x","pool":"p","device":"1","data":{"kept":true}})");
  std::string text;
  for (std::size_t i = 1; i < devices.size(); ++i)
    for (const Json& condition : devices[i].items_at("conditions"))
      text +=
          std::string(devices[i].string_at("device")) + ":" + std::string(condition.string_at("type")) + " ";
  return text;
}

TEST(SimulatedFabric, AttachesWhatIsAnnotatedAfterItsTime) {
  const char* ready3 = R"({"berth.dev/fabric-ready-after":"3s"})";
  const char* ready5 = R"({"berth.dev/fabric-ready-after":"5s"})";
  const char* fail2 = R"({"berth.dev/fabric-fail-after":"2s"})";
  const Case cases[] = {
      {"nothing annotated", "{}", "{}", "{}", -1, ""},
      {"the class", "{}", "{}", ready3, 3, "0:A 0:B "},
      {"the pod stands over the class", "{}", ready5, ready3, 5, "0:A 0:B "},
      {"the claim stands over both", ready3, ready5, ready5, 3, "0:A 0:B "},
      {"a failure", "{}", fail2, "{}", 2, "0:F "},
      {"the earlier of both", R"({"berth.dev/fabric-ready-after":"3s","berth.dev/fabric-fail-after":"9s"})",
       "{}", "{}", 3, "0:A 0:B "},
      {"no duration", R"({"berth.dev/fabric-ready-after":"soon"})", "{}", "{}", -1, ""},
  };
  for (const Case& test : cases) {
    SCOPED_TRACE(test.name);
    EngineFixture fixture;
    fixture.engine.add(make_simulated_fabric());
    fill(fixture, test);
    fixture.start();
    fixture.run_until_idle();
    EXPECT_EQ(conditions_of(fixture), "");
    if (test.due_after_s > 0) {
      fixture.advance(Duration::seconds(test.due_after_s) - Duration::millis(1));
      EXPECT_EQ(conditions_of(fixture), "");
    }
    fixture.advance(Duration::minutes(1));
    EXPECT_EQ(conditions_of(fixture), test.sets);
    EXPECT_EQ(fixture.api.log.size(), test.due_after_s < 0 ? 0u : 1u);
  }
}

}  // namespace
}  // namespace berth::controllers
