// Malicious slices and claims, and those of broken drivers: each ends in the error that the reference gives,
// or is stored as the reference stores it. Sizes are large enough to expose superlinear work.
#include <gtest/gtest.h>

#include "api/decode.h"
#include "api/gates.h"
#include "api/kind_rules.h"
#include "api/kinds/document.h"
#include "api/test_rules.h"

namespace berth::api {
namespace {

constexpr const char* kVersion = "resource.k8s.io/v1";
constexpr std::size_t kBodyBytes = 256u << 10;  // enough to expose quadratic work

class Hostile : public testing::Test {
 protected:
  // "path: text" of each refusal, or the decoder's error.
  std::string refusals(const char* kind, const std::string& text, std::size_t shown_max = 4) {
    const Result<Decoded> decoded = decode_json(*find_kind(kVersion, kind), text);
    if (!decoded) return "decode: " + std::string(decoded.error().message());
    Json object = decoded->document;
    const KindRules& rules =
        rules_of("resource.k8s.io", find_resource_of_kind("resource.k8s.io", "v1", kind)->plural);
    if (rules.set_defaults) rules.set_defaults(object);
    rules.prepare_create(object, ctx);
    const FieldErrors errors = rules.validate_create(object, ctx);
    std::string all;
    for (std::size_t i = 0; i < errors.size() && i < shown_max; ++i)
      all += (i > 0 ? "\n" : "") + errors[i].path + ": " + errors[i].body;
    if (errors.size() > shown_max) all += "\nand more";
    return all;
  }
  std::string slice(const std::string& spec) {
    return refusals("ResourceSlice",
                    R"({"metadata":{"name":"s"},"spec":{"driver":"d.io","pool":{"name":"p","generation":1,)"
                    R"("resourceSliceCount":1},"nodeName":"n",)" +
                        spec + "}}");
  }
  std::string device(const std::string& members) {
    return slice(R"("devices":[{"name":"a",)" + members + "}]");
  }
  std::string policy(const std::string& value, const std::string& policy) {
    return device(R"("allowMultipleAllocations":true,"capacity":{"m":{"value":")" + value +
                  R"(","requestPolicy":{)" + policy + "}}}");
  }
  std::string claim(const std::string& devices) {
    return refusals("ResourceClaim", R"({"spec":{"devices":{)" + devices + "}}}");
  }
  std::string status(const std::string& text) {
    const std::string head =
        R"({"spec":{"devices":{"requests":[{"name":"r","exactly":{"deviceClassName":"x"}}]}},"status":{)";
    const TypeInfo& type = *find_kind(kVersion, "ResourceClaim");
    const Json old = decode_json(type, head + "}}").value().document;
    Json next = decode_json(type, head + text + "}}").value().document;
    const KindRules& rules = rules_of("resource.k8s.io", "resourceclaims");
    rules.prepare_status_update(next, old, ctx);
    const FieldErrors errors = rules.validate_status_update(next, old, ctx);
    return errors.empty() ? "" : errors[0].path + ": " + errors[0].body;
  }

  Gates gates{GateDefaults::Up};
  RuleContext ctx = context_of_empty_cluster(gates);
};

// `item` with '#' as its number, comma separated.
std::string repeated(const std::string& item, std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) {
    if (i > 0) text += ",";
    for (const char c : item) text += c == '#' ? std::to_string(i) : std::string(1, c);
  }
  return text;
}

std::string as_many_as_fit(const std::string& item) {
  return repeated(item, kBodyBytes / (item.size() + 6));
}

TEST_F(Hostile, NamesThatAppearTwice) {
  EXPECT_EQ(slice(R"("devices":[{"name":"a"},{"name":"a"}])"), "spec.devices[1]: Duplicate value: \"a\"");
  EXPECT_NE(slice(R"("sharedCounters":[{"name":"s","counters":{"m":{"value":"1"}}},)"
                  R"({"name":"s","counters":{"m":{"value":"1"}}}])")
                .find("spec.sharedCounters[1]: Duplicate value"),
            std::string::npos);
  EXPECT_NE(device(R"("consumesCounters":[{"counterSet":"s","counters":{"m":{"value":"1"}}},)"
                   R"({"counterSet":"s","counters":{"m":{"value":"1"}}}])")
                .find("spec.devices[0].consumesCounters[1]: Duplicate value"),
            std::string::npos);
  EXPECT_NE(claim(R"("requests":[{"name":"r","exactly":{"deviceClassName":"x"}},)"
                  R"({"name":"r","exactly":{"deviceClassName":"x"}}])")
                .find("spec.devices.requests[1]: Duplicate value"),
            std::string::npos);
  EXPECT_EQ(claim(R"("requests":[{"name":"r","exactly":{"deviceClassName":"x"}}],)"
                  R"("constraints":[{"requests":["r","r"],"matchAttribute":"d.io/n"}])"),
            "spec.devices.constraints[0].requests[1]: Duplicate value: \"r\"");
}

// Counter sets may be in another slice of the pool: only the allocator can know that one is missing. A set
// consumes nothing, so there are no cycles to refuse.
TEST_F(Hostile, CountersThatLeadNowhereAreStored) {
  EXPECT_EQ(device(R"("consumesCounters":[{"counterSet":"nowhere","counters":{"m":{"value":"1"}}}])"), "");
  EXPECT_EQ(slice(R"("sharedCounters":[{"name":"s","counters":{"m":{"value":"-1"}}}])"), "");
  EXPECT_EQ(
      device(R"("consumesCounters":[{"counterSet":"s","counters":{"m":{"value":"-9223372036854775809"}}}])"),
      "");
}

TEST_F(Hostile, QuantitiesAtTheEdges) {
  constexpr const char* kForm =
      "decode: quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
  for (const char* text : {"NaN", "Inf", "-Infinity", "0x10", "1 Gi", "", "1e", "--1", "1KiB"})
    EXPECT_NE(device(std::string(R"("capacity":{"m":{"value":")") + text + R"("}})").find("decode: "),
              std::string::npos)
        << text;
  EXPECT_EQ(device(R"("capacity":{"m":{"value":"NaN"}})"), kForm);
  for (const char* text : {"9223372036854775807", "9223372036854775808", "-9223372036854775808", "1m", "100E",
                           "0.0000000001", "1e18", "00007"})
    EXPECT_EQ(device(std::string(R"("capacity":{"m":{"value":")") + text + R"("}})"), "") << text;
}

TEST_F(Hostile, PoliciesAtTheEdges) {
  const std::string path = "spec.devices[0].capacity[m].requestPolicy.validRange.";
  EXPECT_EQ(policy("20E", R"("default":"1","validRange":{"min":"0","step":"1","max":"10E"})"),
            path + "max: Invalid value: \"10E\": must not be larger than 9223372036854775807");
  EXPECT_EQ(policy("20E", R"("default":"1","validRange":{"min":"0","step":"18446744073709551616"})"),
            path +
                "step: Invalid value: \"18446744073709551616\": must not be larger than "
                "9223372036854775807");
  EXPECT_EQ(policy("4", R"("default":"-1","validRange":{"min":"-1","step":"1"})"),
            path + "default: Invalid value: \"-1\": must be greater than or equal to 0\n" + path +
                "min: Invalid value: \"-1\": must be greater than or equal to 0");
  EXPECT_EQ(policy("4", R"("default":"1","validRange":{"min":"0","step":"-1"})"),
            path + "step: Invalid value: \"-1\": must be greater than zero");
  EXPECT_EQ(policy("4", R"("default":"1","validRange":{"min":"0","step":"1u"})"),
            path + "step: Invalid value: \"1u\": value cannot be represented as a milli value");
  EXPECT_EQ(policy("10E", R"("default":"1","validRange":{"min":"500m","step":"1","max":"9E"})"),
            path + "max: Invalid value: \"9E\": value cannot be represented as a milli value");
  EXPECT_EQ(policy("4", R"("default":"1500m","validValues":["1500m","1500m"])"),
            "spec.devices[0].capacity[m].requestPolicy.validValues[1]: Duplicate value: \"1.500\"");
}

TEST_F(Hostile, ListsThatAreTooLong) {
  EXPECT_EQ(slice("\"devices\":[" + as_many_as_fit(R"({"name":"d-#"})") + "]")
                .substr(0, std::string("spec.devices: Too many: ").size()),
            "spec.devices: Too many: ");
  EXPECT_EQ(
      slice("\"devices\":[" + repeated(R"({"name":"d-#","taints":[{"key":"k","effect":"None"}]})", 65) + "]"),
      "spec.devices: Too many: 65: must have at most 64 items");
  EXPECT_EQ(slice("\"devices\":[" + repeated(R"({"name":"d-#"})", 128) + "]"), "");
  EXPECT_EQ(device("\"taints\":[" + as_many_as_fit(R"({"key":"k-#","effect":"Odd"})") + "]").find('\n'),
            std::string::npos);
  EXPECT_EQ(
      slice("\"sharedCounters\":[" + repeated(R"({"name":"s-#","counters":{"m":{"value":"1"}}})", 9) + "]"),
      "spec.sharedCounters: Too many: 9: must have at most 8 items");
  EXPECT_EQ(
      slice(R"("sharedCounters":[{"name":"s","counters":{)" + repeated(R"("c-#":{"value":"1"})", 33) + "}}]"),
      "spec.sharedCounters[0].counters: Too many: 33: must have at most 32 items");
  EXPECT_EQ(device("\"attributes\":{" + repeated(R"("a#":{"int":1})", 33) + "}"),
            "spec.devices[0]: Invalid value: 33: the total number of attributes and capacities must not "
            "exceed 32");
  EXPECT_EQ(
      claim("\"requests\":[" + as_many_as_fit(R"({"name":"r-#","exactly":{"deviceClassName":"x"}})") + "]")
          .substr(0, std::string("spec.devices.requests: Too many: ").size()),
      "spec.devices.requests: Too many: ");
  // Each of many derived attributes searches the constraints; a refused list is not searched.
  EXPECT_NE(
      claim(R"("requests":[{"name":"r","exactly":{"deviceClassName":"x","derivedAttributes":[)" +
            repeated(R"({"name":"d.io/a#","expression":"1"})", 32) + R"(]}}],"constraints":[{"requests":[)" +
            as_many_as_fit("\"x-#\"") + R"(],"matchAttribute":"d.io/a0"}])"),
      "");
  EXPECT_EQ(
      status("\"reservedFor\":[" + as_many_as_fit(R"({"resource":"pods","name":"p","uid":"u-#"})") + "]")
          .substr(0, std::string("status.reservedFor: Too many: ").size()),
      "status.reservedFor: Too many: ");
  EXPECT_EQ(status("\"devices\":[" + as_many_as_fit(R"({"driver":"d.io","pool":"p","device":"d-#"})") + "]")
                .substr(0, std::string("status.devices[0]: Invalid value: ").size()),
            "status.devices[0]: Invalid value: ");
}

TEST_F(Hostile, ConditionsInBothLists) {
  const std::string names = as_many_as_fit("\"c#\"");
  const std::string both =
      R"("bindingConditions":[)" + names + R"(],"bindingFailureConditions":[)" + names + "]";
  EXPECT_TRUE(device(both).starts_with("spec.devices[0].bindingConditions: Too many: "))
      << device(both).substr(0, 200);
}

TEST_F(Hostile, ReferencesThatNameNothing) {
  constexpr const char* kUnknown =
      "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'";
  const auto constraint = [&](const std::string& name) {
    return claim(R"("requests":[{"name":"r","firstAvailable":[{"name":"s","deviceClassName":"x"}]}],)"
                 R"("constraints":[{"requests":[")" +
                 name + R"("],"matchAttribute":"d.io/n"}])");
  };
  const std::string path = "spec.devices.constraints[0].requests[0]: Invalid value: ";
  EXPECT_EQ(constraint("r/s"), "");
  EXPECT_EQ(constraint("r/s/t"), path + "\"r/s/t\": " + kUnknown);
  EXPECT_EQ(constraint("r/t"), path + "\"r/t\": " + kUnknown);
  EXPECT_NE(constraint("R"), path + "\"R\": " + kUnknown);  // its form is refused as well
}

TEST_F(Hostile, ExpressionsOfHostileSizeAreNotCompiled) {
  ctx.check_cel = [](std::string_view expression, CelUse, const Gates&) {
    EXPECT_LE(expression.size(), 10240u);
    CelVerdict verdict;
    verdict.cost_max = 400000;
    return verdict;
  };
  const auto derived = [&](std::size_t count) {
    return claim(R"("requests":[{"name":"r","exactly":{"deviceClassName":"x","derivedAttributes":[)" +
                 repeated(R"({"name":"d.io/a#","expression":"1"})", count) + R"(]}}],"constraints":[)" +
                 repeated(R"({"matchAttribute":"d.io/a#"})", count) + "]");
  };
  EXPECT_EQ(
      claim(
          R"("requests":[{"name":"r","exactly":{"deviceClassName":"x","selectors":[{"cel":{"expression":")" +
          std::string(10241, '1') + R"("}}]}}])"),
      "spec.devices.requests[0].exactly.selectors[0].cel.expression: Too long: may not be more than "
      "10240 bytes");
  EXPECT_EQ(derived(2), "");
  EXPECT_EQ(derived(3),
            "spec.devices: Forbidden: too complex, total cost of derived attribute CEL expressions in the "
            "claim exceeds cost limit");
}

// A class keeps the expressions that an earlier release compiled; any change of the list makes all of it new.
TEST_F(Hostile, StoredSelectorsAreCompiledAgainOnlyWhenTheirListChanges) {
  static int compiled = 0;
  compiled = 0;
  ctx.check_cel = [](std::string_view, CelUse, const Gates&) {
    ++compiled;
    CelVerdict verdict;
    verdict.too_complex = true;
    return verdict;
  };
  const auto object = [](const char* selectors) {
    return decode_json(*find_kind(kVersion, "DeviceClass"),
                       R"({"metadata":{"name":"c"},"spec":{"selectors":[)" + std::string(selectors) + "]}}")
        .value()
        .document;
  };
  const KindRules& rules = rules_of("resource.k8s.io", "deviceclasses");
  constexpr const char* kTwo = R"({"cel":{"expression":"a"}},{"cel":{"expression":"b"}})";
  constexpr const char* kTurned = R"({"cel":{"expression":"b"}},{"cel":{"expression":"a"}})";
  EXPECT_EQ(rules.validate_update(object(kTwo), object(kTwo), ctx).size(), 0u);
  EXPECT_EQ(compiled, 0);
  const FieldErrors errors = rules.validate_update(object(kTurned), object(kTwo), ctx);
  ASSERT_EQ(errors.size(), 2u);
  EXPECT_EQ(errors[1].path, "spec.selectors[1].cel.expression");
  EXPECT_EQ(errors[1].body, "Forbidden: too complex, exceeds cost limit");
  EXPECT_EQ(compiled, 2);
}

TEST_F(Hostile, WhatNodesGiveIsMappedFromKnownCapacities) {
  const auto mapped = [&](const std::string& text) {
    return device(R"("capacity":{"m":{"value":"1"}},"nodeAllocatableResources":{)" + text + "}");
  };
  const std::string path = "spec.devices[0].nodeAllocatableResources[cpu]";
  EXPECT_EQ(mapped(R"("cpu":{"mapping":{"capacityKey":"m","capacityMultiplier":"2"}})"), "");
  EXPECT_EQ(mapped(R"("cpu":{})"),
            path + ": Required value: at least one of mapping or overhead must be set");
  EXPECT_EQ(mapped(R"("cpu":{"mapping":{"capacityKey":"x","capacityMultiplier":"2"}})"),
            path + ".mapping.capacityKey: Not found: \"x\"");
  EXPECT_EQ(mapped(R"("cpu":{"mapping":{"capacityKey":"m"}})"),
            path +
                ".mapping.capacityMultiplier: Required value: capacityMultiplier is required when "
                "capacityKey is set");
  EXPECT_EQ(mapped(R"("cpu":{"mapping":{"deviceMultiplier":"-1"}})"),
            path + ".mapping.deviceMultiplier: Invalid value: \"-1\": must be positive");
  EXPECT_EQ(mapped(R"("cpu":{"overhead":{"perPod":"-1"}})"),
            path + ".overhead.perPod: Invalid value: \"-1\": must be non-negative");
  EXPECT_EQ(mapped(R"("pods":{"mapping":{"deviceMultiplier":"1"}})"),
            "spec.devices[0].nodeAllocatableResources[pods]: Invalid value: \"pods\": must be a node "
            "allocatable resource name");
}

TEST_F(Hostile, NestingIsBoundedBeforeAnyRuleRuns) {
  std::string deep = R"({"spec":{"devices":{"config":[{"opaque":{"driver":"d.io","parameters":)";
  deep += std::string(100000, '[') + std::string(100000, ']') + "}}]}}}";
  EXPECT_NE(refusals("ResourceClaim", deep).find("decode: "), std::string::npos);
}

}  // namespace
}  // namespace berth::api
