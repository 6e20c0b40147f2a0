// What FlowSchemas and priority levels may say, in the words of Kubernetes.
#include <gtest/gtest.h>

#include "api/decode.h"
#include "api/gates.h"
#include "api/kind_rules.h"
#include "api/test_rules.h"

namespace berth::api {
namespace {

struct FlowKind {
  const char *kind, *plural, *good;
};
constexpr FlowKind kSchemas{
    "FlowSchema", "flowschemas",
    R"("priorityLevelConfiguration":{"name":"l"},"matchingPrecedence":100,"distinguisherMethod":)"
    R"({"type":"ByUser"},"rules":[{"subjects":[{"kind":"User","user":{"name":"*"}}],"resourceRules":)"
    R"([{"verbs":["*"],"apiGroups":["*"],"resources":["*"],"clusterScope":true}]}])"};
constexpr FlowKind kLevels{"PriorityLevelConfiguration", "prioritylevelconfigurations",
                           R"("type":"Limited","limited":{"limitResponse":{"type":"Queue","queuing":{}}})"};

// The object with its defaults, and what is refused: "path: body" lines.
std::pair<Json, std::string> judged_flow(const FlowKind& of, const std::string& name,
                                         const std::string& spec) {
  static const Gates kGates(GateDefaults::Release);
  const std::string_view version = "flowcontrol.apiserver.k8s.io/v1";
  const KindRules& rules = rules_of("flowcontrol.apiserver.k8s.io", of.plural);
  Json object = decode_json(*find_kind(version, of.kind),
                            R"({"metadata":{"name":")" + name + R"("},"spec":{)" + spec + "}}")
                    .value()
                    .document;
  rules.set_defaults(object);
  std::string text;
  for (const FieldError& error : rules.validate_create(object, context_of_empty_cluster(kGates)))
    text += error.path + ": " + error.body + "\n";
  return {object.part("spec"), text};
}

std::string schema_errors(const std::string& spec, const std::string& name = "f") {
  return judged_flow(kSchemas, name, spec).second;
}
std::string level_errors(const std::string& spec, const std::string& name = "l") {
  return judged_flow(kLevels, name, spec).second;
}
// Of a schema with these members of its only set of rules.
std::string rules_errors(const std::string& rules) {
  return schema_errors(R"("priorityLevelConfiguration":{"name":"l"},"rules":[{)" + rules + "}]");
}

TEST(FlowControlRules, GoodObjectsPassWithDefaults) {
  EXPECT_EQ(schema_errors(kSchemas.good), "");
  EXPECT_EQ(
      schema_errors(R"("priorityLevelConfiguration":{"name":"exempt"},"matchingPrecedence":1)", "exempt"),
      "");
  const auto [level, errors] = judged_flow(kLevels, "l", kLevels.good);
  EXPECT_EQ(errors, "");
  EXPECT_EQ(level.part("limited"),
            *parse_json(R"({"nominalConcurrencyShares":30,"limitResponse":{"type":"Queue","queuing":)"
                        R"({"queues":64,"handSize":8,"queueLengthLimit":50}},"lendablePercent":0})"));
  EXPECT_EQ(level_errors(R"("type":"Exempt","exempt":{})", "exempt"), "");
  EXPECT_EQ(judged_flow(kSchemas, "f", "").first.int_at("matchingPrecedence"), 1000);
}

TEST(FlowControlRules, BadSchemasAreRefusedByField) {
  EXPECT_EQ(schema_errors(R"("matchingPrecedence":-1,"distinguisherMethod":{"type":"ByHat"})"),
            "spec.matchingPrecedence: Invalid value: -1: must be a positive value\n"
            "spec.distinguisherMethod.type: Unsupported value: {\"Type\":\"ByHat\"}: supported values: "
            "\"ByNamespace\", \"ByUser\"\n"
            "spec.priorityLevelConfiguration.name: Required value: must reference a priority level\n");
  EXPECT_EQ(schema_errors(R"("priorityLevelConfiguration":{"name":"l"},"matchingPrecedence":10001)"),
            "spec.matchingPrecedence: Invalid value: 10001: must not be greater than 10000\n");
  EXPECT_EQ(schema_errors(R"("priorityLevelConfiguration":{"name":"l"},"matchingPrecedence":1)"),
            "spec.matchingPrecedence: Invalid value: 1: only the schema named 'exempt' may have "
            "matchingPrecedence 1\n");
  EXPECT_EQ(rules_errors(""),
            "spec.rules[0].subjects: Required value: subjects must contain at least one value\n"
            "spec.rules[0]: Required value: at least one of resourceRules and nonResourceRules has to be "
            "non-empty\n");
}

TEST(FlowControlRules, BadRulesAreRefusedByField) {
  const std::string anybody = R"("subjects":[{"kind":"Group","group":{"name":"g"}}],)";
  EXPECT_EQ(rules_errors(anybody + R"("resourceRules":[{"verbs":["eat"]}])"),
            "spec.rules[0].resourceRules[0].verbs: Unsupported value: [\"eat\"]: supported values: "
            "\"create\", \"delete\", \"deletecollection\", \"get\", \"list\", \"patch\", \"proxy\", "
            "\"update\", \"watch\"\n"
            "spec.rules[0].resourceRules[0].apiGroups: Required value: resource rules must supply at least "
            "one api group\n"
            "spec.rules[0].resourceRules[0].resources: Required value: resource rules must supply at least "
            "one resource\n"
            "spec.rules[0].resourceRules[0].namespaces: Required value: resource rules that are not cluster "
            "scoped must supply at least one namespace\n");
  EXPECT_EQ(rules_errors(anybody + R"("nonResourceRules":[{"verbs":["get","*"],"nonResourceURLs":)"
                                   R"(["/","/a/*","a","/a b","//","/*/b","/a*"]}])"),
            "spec.rules[0].nonResourceRules[0].verbs: Invalid value: [\"get\",\"*\"]: if '*' is present, "
            "must not specify other verbs\n"
            "spec.rules[0].nonResourceRules[0].nonResourceURLs[2]: Invalid value: \"a\": must start with "
            "slash\n"
            "spec.rules[0].nonResourceRules[0].nonResourceURLs[3]: Invalid value: \"/a b\": must not contain "
            "white-space\n"
            "spec.rules[0].nonResourceRules[0].nonResourceURLs[4]: Invalid value: \"//\": must not contain "
            "double slash\n"
            "spec.rules[0].nonResourceRules[0].nonResourceURLs[5]: Invalid value: \"/*/b\": wildcard can "
            "only do suffix matching\n"
            "spec.rules[0].nonResourceRules[0].nonResourceURLs[6]: Invalid value: \"/a*\": wildcard can only "
            "do suffix matching\n");
  const std::string everything = R"("nonResourceRules":[{"verbs":["*"],"nonResourceURLs":["*"]}],)";
  EXPECT_EQ(rules_errors(everything + R"("subjects":[{"kind":"User","group":{"name":"g"}},{"kind":"Cat"},)"
                                      R"({"kind":"ServiceAccount","serviceAccount":{"name":"*"}}])"),
            "spec.rules[0].subjects[0].user: Required value: user is required when subject kind is 'User'\n"
            "spec.rules[0].subjects[0].group: Forbidden: group is forbidden when subject kind is not "
            "'Group'\n"
            "spec.rules[0].subjects[1].kind: Unsupported value: \"Cat\": supported values: \"Group\", "
            "\"ServiceAccount\", \"User\"\n"
            "spec.rules[0].subjects[2].serviceAccount.namespace: Required value: must specify namespace for "
            "service account\n");
}

TEST(FlowControlRules, BadLevelsAreRefusedByField) {
  EXPECT_EQ(level_errors(R"("type":"Exempt")"),
            "spec.type: Invalid value: \"Exempt\": must be 'Exempt' if and only if `name` is 'exempt'\n");
  EXPECT_EQ(level_errors(R"("type":"Some")"),
            "spec.type: Unsupported value: \"Some\": supported values: \"Exempt\", \"Limited\"\n");
  EXPECT_EQ(level_errors(R"("type":"Limited","exempt":{})"),
            "spec.exempt: Forbidden: must be nil if the type is Limited\n"
            "spec.limited: Required value: must not be empty when type is Limited\n");
  EXPECT_EQ(level_errors(R"("type":"Limited","limited":{"nominalConcurrencyShares":-1,"lendablePercent":101,)"
                         R"("limitResponse":{"type":"Reject","queuing":{}}})"),
            "spec.limited.nominalConcurrencyShares: Invalid value: -1: must be a non-negative integer\n"
            "spec.limited.limitResponse.queuing: Forbidden: must be nil if limited.limitResponse.type is not "
            "Limited\n"
            "spec.limited.lendablePercent: Invalid value: 101: must be between 0 and 100, inclusive\n");
  const auto queuing_errors = [](const std::string& queuing) {
    return level_errors(R"("type":"Limited","limited":{"limitResponse":{"type":"Queue","queuing":{)" +
                        queuing + "}}}");
  };
  const std::string at = "spec.limited.limitResponse.queuing.";
  EXPECT_EQ(queuing_errors(R"("queues":4)"),
            at + "handSize: Invalid value: 8: should not be greater than queues (4)\n");
  EXPECT_EQ(queuing_errors(R"("queues":10000001,"handSize":1,"queueLengthLimit":-1)"),
            at + "queueLengthLimit: Invalid value: -1: must be positive\n" + at +
                "queues: Invalid value: 10000001: must not be greater than 10000000\n");
  EXPECT_EQ(queuing_errors(R"("queues":512,"handSize":7)"),
            at +
                "handSize: Invalid value: 7: required entropy bits of deckSize 512 and handSize 7 should not "
                "be greater than 60\n");
}

}  // namespace
}  // namespace berth::api
