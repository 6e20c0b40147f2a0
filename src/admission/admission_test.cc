// Which webhooks see a request, what they are asked, how their answers are judged, and which configurations
// are accepted.
#include <gtest/gtest.h>

#include "admission/configuration_rules.h"
#include "admission/mutation.h"
#include "admission/policy.h"
#include "admission/policy_evaluation.h"
#include "admission/policy_rules.h"
#include "admission/review.h"
#include "admission/type_check.h"
#include "api/gates.h"
#include "api/test_cel.h"
#include "base/base64.h"
#include "crd/resource_schema.h"

namespace berth::admission {
namespace {

Json json(const std::string& text) {
  return parse_json(text).value();
}

Attributes attributes_of(Operation operation, GroupVersionResource resource, std::string subresource = "",
                         std::string ns = "default") {
  Attributes attributes;
  attributes.operation = operation;
  attributes.resource = resource;
  attributes.kind = {resource.group, resource.version, "Kind"};
  attributes.subresource = std::move(subresource);
  attributes.ns = std::move(ns);
  return attributes;
}

std::string rule_text(const std::string& operations, const std::string& groups, const std::string& versions,
                      const std::string& resources, const std::string& scope) {
  return R"({"operations":[)" + operations + R"(],"apiGroups":[)" + groups + R"(],"apiVersions":[)" +
         versions + R"(],"resources":[)" + resources + R"(],"scope":")" + scope + R"("})";
}

TEST(Rules, NameOperationsResourcesAndScopes) {
  constexpr GroupVersionResource kPods{"", "v1", "pods"}, kJobs{"batch", "v1", "jobs"},
      kNodes{"", "v1", "nodes"}, kNamespaces{"", "v1", "namespaces"};
  const Attributes create = attributes_of(Operation::Create, kPods);
  const Attributes status = attributes_of(Operation::Update, kPods, "status");
  const Attributes node = attributes_of(Operation::Delete, kNodes, "", "");
  const Attributes ns = attributes_of(Operation::Create, kNamespaces, "", "made");
  struct Row {
    std::string rule;
    const Attributes& attributes;
    bool matches;
  };
  const Row rows[] = {
      {rule_text(R"("CREATE")", R"("")", R"("v1")", R"("pods")", "*"), create, true},
      {rule_text(R"("*")", R"("*")", R"("*")", R"("*")", "*"), create, true},
      {rule_text(R"("UPDATE","DELETE")", R"("")", R"("v1")", R"("pods")", "*"), create, false},
      {rule_text(R"("CREATE")", R"("apps")", R"("v1")", R"("pods")", "*"), create, false},
      {rule_text(R"("CREATE")", R"("")", R"("v2")", R"("pods")", "*"), create, false},
      {rule_text(R"("CREATE")", R"("")", R"("v1")", R"("pods/status")", "*"), create, false},
      {rule_text(R"("CREATE")", R"("")", R"("v1")", R"("pods/*")", "*"), create, true},
      {rule_text(R"("UPDATE")", R"("")", R"("v1")", R"("pods")", "*"), status, false},
      {rule_text(R"("UPDATE")", R"("")", R"("v1")", R"("*")", "*"), status, false},
      {rule_text(R"("UPDATE")", R"("")", R"("v1")", R"("*/*")", "*"), status, true},
      {rule_text(R"("UPDATE")", R"("")", R"("v1")", R"("*/status")", "*"), status, true},
      {rule_text(R"("UPDATE")", R"("")", R"("v1")", R"("pods/scale","pods/status")", "*"), status, true},
      {rule_text(R"("CREATE")", R"("")", R"("v1")", R"("pods")", "Namespaced"), create, true},
      {rule_text(R"("CREATE")", R"("")", R"("v1")", R"("pods")", "Cluster"), create, false},
      {rule_text(R"("*")", R"("")", R"("v1")", R"("nodes")", "Cluster"), node, true},
      {rule_text(R"("*")", R"("")", R"("v1")", R"("nodes")", "Namespaced"), node, false},
      {rule_text(R"("*")", R"("")", R"("v1")", R"("namespaces")", "Cluster"), ns, true},
      {rule_text(R"("*")", R"("")", R"("v1")", R"("namespaces")", "Namespaced"), ns, false},
  };
  for (const Row& row : rows)
    EXPECT_EQ(matches(read_rule(json(row.rule)), row.attributes, row.attributes.resource), row.matches)
        << row.rule;
  EXPECT_FALSE(matches(read_rule(json(rows[0].rule)), create, kJobs));
}

Webhook webhook_of(const std::string& members, Phase phase = Phase::Mutating) {
  const Json configuration = json(R"({"metadata":{"name":"c"},"webhooks":[{"name":"w.example.com",)" +
                                  members + R"(,"admissionReviewVersions":["v9","v1"]}]})");
  return *read_webhooks(configuration, phase).front();
}

const std::string kJobsRule =
    R"("rules":[)" + rule_text(R"("CREATE")", R"("batch")", R"("v1beta1")", R"("jobs")", "*") + "]";

TEST(Webhook, SeesAnEquivalentVersionUnlessItsPolicyIsExact) {
  const Attributes attributes = attributes_of(Operation::Create, {"batch", "v1", "jobs"});
  const std::vector<GroupVersionResource> equivalents{{"batch", "v2", "jobs"}, {"batch", "v1beta1", "jobs"}};
  const Webhook equivalent = webhook_of(kJobsRule),
                exact = webhook_of(kJobsRule + R"(,"matchPolicy":"Exact")");
  const GroupVersionResource* seen = seen_resource(equivalent.match, attributes, equivalents);
  ASSERT_NE(seen, nullptr);
  EXPECT_EQ(seen->version, "v1beta1");
  EXPECT_EQ(seen_resource(equivalent.match, attributes, {}), nullptr);
  EXPECT_EQ(seen_resource(exact.match, attributes, equivalents), nullptr);
}

TEST(Webhook, DoesNotSeeWhatConfiguresAdmission) {
  EXPECT_TRUE(is_exempt({"admissionregistration.k8s.io", "v1", "MutatingWebhookConfiguration"}));
  EXPECT_TRUE(is_exempt({"admissionregistration.k8s.io", "v1", "ValidatingAdmissionPolicyBinding"}));
  EXPECT_FALSE(is_exempt({"example.com", "v1", "MutatingWebhookConfiguration"}));
}

MatchResult evaluated(const std::string& conditions) {
  const Json object = json(R"({"metadata":{"name":"a","labels":{"x":"1"}},"spec":{"n":3}})");
  const Attributes attributes = attributes_of(Operation::Create, {"", "v1", "pods"});
  const Json request = request_of(attributes, {attributes.resource, attributes.kind});
  const Json list = json(conditions), none;
  return MatchConditions(condition_environment(), list.as_array())
      .evaluate(values_of({request, object, none, none, none}, false));
}

TEST(MatchConditions, AllMustHoldAndOneThatIsFalseDecides) {
  const auto expression = [](const std::string& text) {
    return R"({"name":"c","expression":")" + text + R"("})";
  };
  const std::string yes = expression("object.spec.n == 3"), no = expression("request.operation == 'UPDATE'"),
                    broken = expression("object.spec.absent == 1");
  EXPECT_EQ(evaluated("[" + yes + "]").match, Match::Yes);
  EXPECT_EQ(evaluated("[" + yes + "," + no + "]").match, Match::No);
  EXPECT_EQ(evaluated("[" + broken + "," + no + "]").match, Match::No);
  const MatchResult failed = evaluated("[" + yes + "," + broken + "]");
  EXPECT_EQ(failed.match, Match::Failed);
  EXPECT_EQ(failed.errors, "expression 'object.spec.absent == 1' resulted in error: no such key: absent");
  EXPECT_EQ(evaluated("[" + expression("oldObject == null && has(object.metadata.labels.x)") + "]").match,
            Match::Yes);
  EXPECT_EQ(
      evaluated("[" + expression("authorizer.group('').resource('pods').check('get').allowed()") + "]").match,
      Match::Failed);
}

// Says yes to one question, and what was asked.
class OneRight final : public cel::Authorizer {
 public:
  cel::AccessAnswer answer(const cel::AccessQuestion& asked) const override {
    const std::string text = asked.account_ns + "/" + asked.account + " " + asked.verb + " " + asked.group +
                             "/" + asked.resource + "/" + asked.subresource + " " + asked.ns + "/" +
                             asked.name + asked.path;
    return {text == right, text};
  }
  std::string right;
};

struct Asked {
  const char* expression;
  const char* right;  // what it asks; empty: it fails
};

TEST(Authorizer, AnswersWhatExpressionsAsk) {
  const Asked rows[] = {
      {"authorizer.group('').resource('pods').check('get').allowed()", "/ get /pods/ /"},
      {"authorizer.group('apps').resource('deployments').subresource('scale').namespace('a').name('b')"
       ".check('patch').allowed()",
       "/ patch apps/deployments/scale a/b"},
      {"authorizer.path('/metrics').check('get').allowed()", "/ get // //metrics"},
      {"authorizer.serviceAccount('a', 'b').group('').resource('pods').check('get').allowed()",
       "a/b get /pods/ /"},
      {"authorizer.requestResource.check('create').allowed()", "/ create /pods/ default/x"},
      {"authorizer.requestResource.subresource('log').check('get').allowed()", "/ get /pods/log default/x"},
      {"authorizer.group('').resource('pods').check('get').reason() == '/ get /pods/ /'", "any"},
      {"!authorizer.group('').resource('pods').check('get').errored()", "any"},
      {"authorizer.path(' ').check('get').allowed()", ""},
  };
  const Json none;
  for (const Asked& row : rows) {
    OneRight authorizer;
    authorizer.right = row.right;
    cel::AccessQuestion resource;
    resource.resource = "pods";
    resource.ns = "default";
    resource.name = "x";
    const Json conditions = Json::array({Json::object({{"name", "c"}, {"expression", row.expression}})});
    const MatchResult result =
        MatchConditions(condition_environment(), conditions.as_array())
            .evaluate(values_of({none, none, none, none, none, cel::authorizer_value(authorizer, resource)},
                                false));
    EXPECT_EQ(result.match, *row.right ? Match::Yes : Match::Failed)
        << row.expression << ": " << result.errors;
  }
}

TEST(MatchConditions, WhatIsNoConditionIsNamed) {
  EXPECT_EQ(condition_problem(condition_environment(), "object.metadata.name == 'a'"), "");
  EXPECT_EQ(condition_problem(condition_environment(), " request.userInfo.groups.exists(g, g == 'a') "), "");
  EXPECT_EQ(condition_problem(condition_environment(), "'text'"), "must evaluate to bool but got string");
  EXPECT_TRUE(condition_problem(condition_environment(), "request.nothing == 1")
                  .starts_with("compilation failed: ERROR"))
      << condition_problem(condition_environment(), "request.nothing == 1");
  EXPECT_TRUE(
      condition_problem(condition_environment(), "object.a +").starts_with("compilation failed: ERROR"));
  EXPECT_TRUE(
      condition_problem(condition_environment(), "params.a").starts_with("compilation failed: ERROR"));
}

TEST(Review, HasEveryMemberInTheOrderOfTheReference) {
  Attributes attributes = attributes_of(Operation::Update, {"apps", "v1", "deployments"}, "scale");
  attributes.name = "web";
  attributes.user.name = "me";
  attributes.user.groups = {"g"};
  attributes.options = json(R"({"kind":"UpdateOptions"})");
  const Json request =
      request_of(attributes, {{"apps", "v1beta1", "deployments"}, {"autoscaling", "v1", "Scale"}});
  EXPECT_EQ(
      review_body("v1", "u", request, json(R"({"a":1})"), Json()),
      R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"u",)"
      R"("kind":{"group":"autoscaling","version":"v1","kind":"Scale"},)"
      R"("resource":{"group":"apps","version":"v1beta1","resource":"deployments"},"subResource":"scale",)"
      R"("requestKind":{"group":"apps","version":"v1","kind":"Kind"},)"
      R"("requestResource":{"group":"apps","version":"v1","resource":"deployments"},)"
      R"("requestSubResource":"scale","name":"web","namespace":"default","operation":"UPDATE",)"
      R"("userInfo":{"username":"me","groups":["g"]},"object":{"a":1},"oldObject":null,)"
      R"("dryRun":false,"options":{"kind":"UpdateOptions"}}})");
}

std::string answer_text(const std::string& response) {
  return R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","response":{"uid":"u",)" + response +
         "}}";
}

TEST(Review, AnswersAreReadOrNamed) {
  const Webhook mutating = webhook_of(kJobsRule), validating = webhook_of(kJobsRule, Phase::Validating);
  const std::string patch = base64_encode(R"([{"op":"add","path":"/a","value":1}])");
  const Result<ReviewAnswer> read =
      read_answer(mutating, "u",
                  answer_text(R"("allowed":true,"patchType":"JSONPatch","patch":")" + patch +
                              R"(","warnings":["w"],"auditAnnotations":{"k":"v"})"));
  ASSERT_TRUE(read.ok());
  EXPECT_TRUE(read->allowed);
  EXPECT_EQ(read->patch.as_array().size(), 1u);
  EXPECT_EQ(read->warnings, std::vector<std::string>{"w"});
  EXPECT_EQ(read->annotations, (AuditAnnotations{{"w.example.com/k", "v"}}));

  struct Row {
    const Webhook& webhook;
    std::string body, problem;
  };
  const std::string envelope = R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1")";
  const Row rows[] = {
      {mutating, envelope + "}", "received invalid webhook response: webhook response was absent"},
      {mutating, envelope + R"(,"response":{"uid":"x","allowed":true}})",
       R"(received invalid webhook response: expected response.uid="u", got "x")"},
      {mutating, R"({"kind":"Review","apiVersion":"v1","response":{"uid":"u","allowed":true}})",
       "received invalid webhook response: expected webhook response of admission.k8s.io/v1, "
       "Kind=AdmissionReview, got v1, Kind=Review"},
      {mutating, answer_text(R"("allowed":true,"patch":"W10=")"),
       "received invalid webhook response: webhook returned response.patch but not response.patchType"},
      {mutating, answer_text(R"("allowed":true,"patchType":"JSONPatch")"),
       "received invalid webhook response: webhook returned response.patchType but not response.patch"},
      {mutating, answer_text(R"("allowed":true,"patchType":"Merge","patch":"W10=")"),
       "unsupported patch type \"Merge\""},
      {validating, answer_text(R"("allowed":true,"patchType":"JSONPatch")"),
       "received invalid webhook response: validating webhook may not return response.patchType"},
  };
  for (const Row& row : rows) {
    const Result<ReviewAnswer> refused = read_answer(row.webhook, "u", row.body);
    ASSERT_FALSE(refused.ok()) << row.body;
    EXPECT_EQ(refused.error().message(), row.problem);
  }
}

TEST(Review, AnnotationsHaveBounds) {
  std::string annotations;
  for (std::size_t i = 0; i < kAuditAnnotationsMax + 5; ++i)
    annotations +=
        (i ? ",\"" : "\"") + std::to_string(i) + "\":\"" + std::string(kAuditValueBytesMax + 1, 'x') + "\"";
  const Result<ReviewAnswer> read = read_answer(
      webhook_of(kJobsRule), "u", answer_text(R"("allowed":true,"auditAnnotations":{)" + annotations + "}"));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->annotations.size(), kAuditAnnotationsMax);
  EXPECT_EQ(read->annotations.front().second.size(), kAuditValueBytesMax);
}

TEST(Review, RefusalsHaveTheWordsOfTheReference) {
  const Webhook webhook = webhook_of(kJobsRule);
  const std::string prefix = R"(admission webhook "w.example.com" denied the request)";
  const auto said = [&](const std::string& status) {
    const Denial denial = denial_of(webhook, status.empty() ? Json() : json(status));
    return std::to_string(denial.code) + " " + denial.message;
  };
  EXPECT_EQ(said(""), "400 " + prefix + " without explanation");
  EXPECT_EQ(said(R"({"code":200,"message":"no"})"), "400 " + prefix + ": no");
  EXPECT_EQ(said(R"({"code":409,"reason":"Conflict"})"), "409 " + prefix + ": Conflict");
}

PolicyVerdict verdict_of(const std::string& spec, const std::string& params = "null") {
  const PolicyPtr policy =
      read_policy(json(R"({"metadata":{"name":"p"},"spec":)" + spec + "}"), Phase::Validating);
  const Json object = json(R"({"metadata":{"name":"a"},"spec":{"replicas":6}})"), none, given = json(params),
             ns = json(R"({"metadata":{"name":"default","labels":{"team":"x"}}})");
  const Attributes attributes = attributes_of(Operation::Create, {"apps", "v1", "deployments"});
  const Json request = request_of(attributes, {attributes.resource, attributes.kind});
  std::uint64_t cost_left = kPolicyCostMax;
  return judge(*policy, {request, object, none, given, ns}, cost_left);
}

std::vector<std::string> denials_of(const PolicyVerdict& verdict) {
  std::vector<std::string> texts;
  for (const PolicyDenial& denial : verdict.denials) texts.push_back(denial.reason + ": " + denial.message);
  return texts;
}

using Texts = std::vector<std::string>;

TEST(Policy, DeniesInTheWordsOfTheReference) {
  const auto said = [](const std::string& validation, const std::string& more = "") {
    return denials_of(verdict_of("{" + more + R"("validations":[{)" + validation + "}]}"));
  };
  EXPECT_EQ(said(R"("expression":"object.spec.replicas <= 9")"), Texts());
  EXPECT_EQ(said(R"("expression":"object.spec.replicas <= 5")"),
            Texts{"Invalid: failed expression: object.spec.replicas <= 5"});
  EXPECT_EQ(said(R"("expression":"false","message":"said","reason":"Forbidden")"), Texts{"Forbidden: said"});
  EXPECT_EQ(said(R"j("expression":"false","messageExpression":"'has ' + string(object.spec.replicas)")j"),
            Texts{"Invalid: has 6"});
  EXPECT_EQ(said(R"("expression":"object.spec.absent")"),
            Texts{": compilation error: must evaluate to bool but got dyn"});
  const std::string broken = R"("expression":"object.spec.absent == 1")";
  EXPECT_EQ(said(broken),
            Texts{": expression 'object.spec.absent == 1' resulted in error: no such key: absent"});
  EXPECT_EQ(said(broken, R"("failurePolicy":"Ignore",)"), Texts());
}

TEST(Policy, ReadsVariablesParametersAndTheNamespace) {
  const auto said = [](const std::string& more, const std::string& expression,
                       const std::string& params = "null") {
    return denials_of(
        verdict_of("{" + more + R"("validations":[{"expression":")" + expression + R"("}]})", params));
  };
  const std::string variables = R"("variables":[{"name":"count","expression":"object.spec.replicas"},)"
                                R"({"name":"isLarge","expression":"variables.count > 5"},)"
                                R"({"name":"broken","expression":"object.x.y"}],)";
  EXPECT_EQ(said(variables, "!variables.isLarge"), Texts{"Invalid: failed expression: !variables.isLarge"});
  EXPECT_EQ(
      said(variables, "variables.broken == 1"),
      Texts{": expression 'variables.broken == 1' resulted in error: composited variable \"broken\" fails "
            "to evaluate: no such key: x"});
  EXPECT_EQ(said(R"("paramKind":{"apiVersion":"v1","kind":"ConfigMap"},)",
                 "object.spec.replicas <= int(params.data.max)", R"({"data":{"max":"3"}})"),
            Texts{"Invalid: failed expression: object.spec.replicas <= int(params.data.max)"});
  EXPECT_EQ(said("", "namespaceObject.metadata.labels.team == 'y'").size(), 1u);
  EXPECT_EQ(said(R"("matchConditions":[{"name":"c","expression":"false"}],)", "false"), Texts());
}

// The compiler declares earlier variables alone, but dyn() and a repeated name reach others.
TEST(Policy, VariablesThatReadThemselvesFail) {
  const auto said = [](const std::string& variables) {
    return denials_of(verdict_of(R"({"variables":[)" + variables +
                                 R"(],"validations":[{"expression":"variables.x == 1"}]})"));
  };
  const Texts fails{
      ": expression 'variables.x == 1' resulted in error: composited variable \"x\" fails to evaluate: "
      "composited variable \"x\" reads itself"};
  EXPECT_EQ(said(R"({"name":"x","expression":"dyn(variables).x"})"), fails);
  EXPECT_EQ(said(R"({"name":"x","expression":"1"},{"name":"x","expression":"variables.x + 1"})"), fails);
}

TEST(Policy, VariablesReadEachOtherToABound) {
  std::string variables = R"({"name":"v0","expression":"1"})";
  for (std::size_t i = 1; i <= kPolicyVariableNestingMax; ++i)
    variables += R"(,{"name":"v)" + std::to_string(i) + R"(","expression":"variables.v)" +
                 std::to_string(i - 1) + R"("})";
  const auto said = [&](const std::string& expression) {
    return denials_of(verdict_of(R"({"variables":[)" + variables + R"(],"validations":[{"expression":")" +
                                 expression + R"("}]})"));
  };
  const std::string last = std::to_string(kPolicyVariableNestingMax);
  EXPECT_EQ(said("variables.v" + std::to_string(kPolicyVariableNestingMax - 1) + " == 1"), Texts());
  const Texts refused = said("variables.v" + last + " == 1");
  ASSERT_EQ(refused.size(), 1u);
  EXPECT_TRUE(refused[0].ends_with("composited variable \"v0\" is read through more than 32 others"))
      << refused[0];
}

TEST(Policy, FailuresHaveTheTypesOfTheReference) {
  const auto types = [](const std::string& expression, const std::string& more = "") {
    const PolicyVerdict verdict =
        verdict_of("{" + more + R"("validations":[{"expression":")" + expression + R"("}]})");
    Texts found;
    for (const PolicyDenial& denial : verdict.denials) found.emplace_back(policy_error_type(denial.message));
    for (const std::string& message : verdict.ignored)
      found.push_back("ignored " + std::string(policy_error_type(message)));
    return found;
  };
  const std::string ignore = R"("failurePolicy":"Ignore",)";
  EXPECT_EQ(types("true"), Texts());
  EXPECT_EQ(types("false", ignore), Texts{"invalid_error"});
  EXPECT_EQ(types("object.spec.absent == 1"), Texts{"invalid_error"});
  EXPECT_EQ(types("object.spec.absent == 1", ignore), Texts{"ignored invalid_error"});
  EXPECT_EQ(types("object +"), Texts{"compile_error"});
  EXPECT_EQ(policy_error_type(kOutOfBudget), "out_of_budget");
}

TEST(Policy, AnnotatesTheAudit) {
  const PolicyVerdict verdict = verdict_of(
      R"j({"auditAnnotations":[{"key":"count","valueExpression":"string(object.spec.replicas)"},)j"
      R"j({"key":"none","valueExpression":"null"},{"key":"bad","valueExpression":"string(object.x)"}]})j");
  EXPECT_EQ(verdict.annotations, (AuditAnnotations{{"count", "6"}}));
  EXPECT_EQ(verdict.annotation_errors,
            Texts{"expression 'string(object.x)' resulted in error: no such key: x"});
}

// A policy cannot hold up the server: what all of them may cost on one request is bounded.
TEST(Policy, EndsWithItsBudget) {
  const PolicyPtr policy = read_policy(
      json(R"j({"metadata":{"name":"p"},"spec":{"validations":[{"expression":"[1, 2].all(x, x < 9)"}]}})j"),
      Phase::Validating);
  const Json object = json("{}"), none;
  const Attributes attributes = attributes_of(Operation::Create, {"", "v1", "pods"});
  const Json request = request_of(attributes, {attributes.resource, attributes.kind});
  std::uint64_t cost_left = 3;
  EXPECT_EQ(
      denials_of(judge(*policy, {request, object, none, none, none}, cost_left)),
      Texts{": validation failed due to running out of cost budget, no further validation rules will be "
            "run"});
  EXPECT_EQ(cost_left, 0u);
}

constexpr PolicyKind kPolicy{Phase::Validating, false}, kBinding{Phase::Validating, true},
    kMutatingPolicy{Phase::Mutating, false}, kMutatingBinding{Phase::Mutating, true};

std::string policy_problems(PolicyKind kind, const std::string& spec) {
  Json object = json(R"({"metadata":{"name":"p"},"spec":)" + spec + "}");
  policy_rules(kind).set_defaults(object);
  const api::Gates gates(api::GateDefaults::Release);
  const api::RuleContext ctx{gates, api::accept_any_cel, Time(), "", {}, {}};
  return to_text(policy_rules(kind).validate_create(object, ctx));
}

// Stored objects are canonical: a default has its place among the members.
TEST(Policy, DefaultsKeepTheOrderOfTheType) {
  const auto with_defaults = [](PolicyKind kind, const std::string& spec) {
    Json object = json(R"({"spec":)" + spec + "}");
    policy_rules(kind).set_defaults(object);
    return to_string(object.part("spec"));
  };
  const std::string selectors = R"("namespaceSelector":{},"objectSelector":{},)",
                    rules = R"("resourceRules":[{"resourceNames":["a"],"operations":["*"],"scope":"*"}],)";
  EXPECT_EQ(
      with_defaults(kPolicy,
                    R"({"matchConstraints":{"resourceRules":[{"resourceNames":["a"],"operations":["*"]}]},)"
                    R"("variables":[]})"),
      R"({"matchConstraints":{)" + selectors + rules +
          R"("matchPolicy":"Equivalent"},"failurePolicy":"Fail","variables":[]})");
  EXPECT_EQ(
      with_defaults(kBinding, R"({"matchResources":{},"validationActions":["Deny"]})"),
      R"({"matchResources":{)" + selectors + R"("matchPolicy":"Equivalent"},"validationActions":["Deny"]})");
}

// "place: the first line of what is wrong".
Texts warnings_of(const std::string& validations, const std::string& resources = R"("deployments")") {
  const Json policy = json(R"({"metadata":{"name":"p"},"spec":{"matchConstraints":{"resourceRules":[)" +
                           rule_text(R"("CREATE")", R"("apps")", R"("v1")", resources, "*") +
                           R"(]},"paramKind":{"apiVersion":"v1","kind":"ConfigMap"},"variables":[)"
                           R"({"name":"n","expression":"object.spec.replicas"}],"validations":[)" +
                           validations + "]}}");
  const auto of_resource = [](const GroupVersionResource& resource) -> std::optional<KindSchema> {
    const api::ResourceInfo* row = api::find_resource(resource.group, resource.version, resource.resource);
    if (!row) return std::nullopt;
    return KindSchema{std::string(row->kind), crd::schema_of_type(row->type())};
  };
  const auto of_kind = [](std::string_view version, std::string_view kind) -> std::optional<crd::Schema> {
    return crd::schema_of_type(*api::find_kind(version, kind));
  };
  Texts texts;
  for (const Json& warning : expression_warnings(policy, {of_resource, of_kind})) {
    const std::string_view text = warning.string_at("warning");
    texts.push_back(std::string(warning.string_at("fieldRef")) + " " +
                    std::string(text.substr(0, text.find('\n'))));
  }
  return texts;
}

TEST(TypeCheck, NamesWhatNoObjectOfTheKindHas) {
  const std::string prefix =
      "spec.validations[0].expression apps/v1, Kind=Deployment: compilation failed: ERROR: <input>:1:";
  const auto check = [](const std::string& expression, const std::string& resources = R"("deployments")") {
    return warnings_of(R"({"expression":")" + expression + R"("})", resources);
  };
  for (const char* fine :
       {"object.spec.replicas > 1 && has(object.spec.template.spec.containers[0].image)",
        "oldObject == null || object.metadata.labels['a'] == 'b'", "variables.n > 1",
        "object.metadata.creationTimestamp < timestamp('2027-01-01T00:00:00Z')",
        "params.data.max == request.userInfo.username", "namespaceObject.metadata.name == 'x'",
        "object.kind == 'Deployment'", "object.spec.template.spec.containers.all(c, c.name != '')"})
    EXPECT_EQ(check(fine), Texts()) << fine;
  const Texts absent = check("object.spec.replica > 1");
  ASSERT_EQ(absent.size(), 1u);
  EXPECT_TRUE(absent[0].starts_with(prefix + "12: undefined field 'replica'")) << absent[0];
  EXPECT_EQ(check("object.spec.replicas == '1'"),
            Texts{prefix + "22: found no matching overload for '_==_' applied to '(int, string)'"});
  EXPECT_EQ(check("variables.n == '1'").size(), 1u);
  EXPECT_EQ(check("params.datas.max == '1'").size(), 1u);
  EXPECT_EQ(check("object.spec.replica > 1", R"("*")"), Texts());
  EXPECT_EQ(check("object.spec.replica > 1", R"("deployments/status","unknown")"), Texts());
  // One text for both kinds.
  EXPECT_EQ(check("object.spec.replica > 1", R"("deployments","daemonsets")").size(), 1u);
  EXPECT_EQ(warnings_of(R"({"expression":"true","messageExpression":"object.x"})").size(), 1u);
  std::string unknown;
  for (std::size_t i = 1; i < kResourcesTriedMax; ++i) unknown += "\"a" + std::to_string(i) + "\",";
  EXPECT_EQ(check("object.spec.replica > 1", unknown + R"("deployments")").size(), 1u);
  EXPECT_EQ(check("object.spec.replica > 1", unknown + R"("b","deployments")"), Texts());
}

TEST(Policy, WhatIsWrongIsNamed) {
  const std::string match = R"("matchConstraints":{"resourceRules":[)" +
                            rule_text(R"("CREATE")", R"("apps")", R"("v1")", R"("deployments")", "*") + "]}";
  EXPECT_EQ(policy_problems(kPolicy, "{" + match + R"(,"validations":[{"expression":"true"}]})"), "");
  EXPECT_EQ(
      policy_problems(kPolicy, "{" + match + "}"),
      "[spec.validations: Required value: validations or auditAnnotations must contain at least one item, "
      "spec.auditAnnotations: Required value: validations or auditAnnotations must contain at least one "
      "item]");
  EXPECT_EQ(
      policy_problems(kPolicy, R"({"validations":[{"expression":"1"}]})"),
      "[spec.matchConstraints: Required value, spec.validations[0].expression: Invalid value: \"1\": must "
      "evaluate to bool but got int]");
  EXPECT_EQ(policy_problems(kBinding, R"({"policyName":"p","validationActions":["Deny"]})"), "");
  EXPECT_EQ(policy_problems(kBinding, R"({"paramRef":{"name":"a"}})"),
            "[spec.policyName: Required value, spec.paramRef.parameterNotFoundAction: Required value, "
            "spec.validationActions: Required value: at least one validation action is required]");
}

// What the one mutation makes of a Deployment with six replicas, as JSON, or why it makes nothing.
std::string made_by(const std::string& type, const std::string& expression) {
  const std::string member = type == kJsonPatch ? "jsonPatch" : "applyConfiguration";
  const Json spec = Json::object(
      {{"variables",
        Json::array({Json::object({{"name", "count"}, {"expression", "object.spec.replicas"}})})},
       {"mutations", Json::array({Json::object(
                         {{"patchType", type}, {member, Json::object({{"expression", expression}})}})})}});
  const PolicyPtr policy = read_policy(
      Json::object({{"metadata", Json::object({{"name", "p"}})}, {"spec", spec}}), Phase::Mutating);
  const Json object = json(R"({"metadata":{"name":"a"},"spec":{"replicas":6}})"), none;
  const Attributes attributes = attributes_of(Operation::Create, {"apps", "v1", "deployments"});
  const Json request = request_of(attributes, {attributes.resource, attributes.kind});
  std::uint64_t cost_left = kPolicyCostMax;
  const Result<Json> made =
      patch_made_by(*policy, policy->mutations.front(), {request, object, none, none, none}, cost_left);
  return made ? to_string(*made) : made.error().message();
}

TEST(Mutation, MakesConfigurations) {
  const auto made = [](const std::string& expression) { return made_by("ApplyConfiguration", expression); };
  EXPECT_EQ(made("Object{metadata: Object.metadata{labels: {'a': 'b'}}, spec: Object.spec{replicas: "
                 "variables.count + 1}}"),
            R"({"metadata":{"labels":{"a":"b"}},"spec":{"replicas":7}})");
  EXPECT_EQ(made("Object{spec: Object.spec{containers: [Object.spec.containers{name: 'c'}], ?paused: "
                 "object.?spec.?paused}}"),
            R"({"spec":{"containers":[{"name":"c"}]}})");
  EXPECT_EQ(made("Object{spec: Object.spec{copy: object.spec, d: duration('1h'), b: b'ab', n: null, u: 1u}}"),
            R"({"spec":{"copy":{"replicas":6},"d":"3600s","b":"YWI=","n":null,"u":1}})");
  EXPECT_EQ(made("Object{spec: Object.status{replicas: 1}}"),
            "type mismatch: unexpected type name \"Object.status\", expected \"Object.spec\", which matches "
            "field name path from root Object type");
  EXPECT_EQ(made("{'spec': 1}"), "must evaluate to Object but got map(string, int)");
  EXPECT_EQ(made("Object{spec: object.absent}"),
            "expression 'Object{spec: object.absent}' resulted in error: no such key: absent");
  EXPECT_EQ(made("Object{spec: {1: 2}}"),
            "the value of the expression has a map with the key 1, which is no text");
  EXPECT_EQ(made("Object{spec: type(1)}"),
            "the value of the expression has a type, which JSON does not have");
}

TEST(Mutation, MakesJsonPatches) {
  const auto made = [](const std::string& expression) { return made_by("JSONPatch", expression); };
  EXPECT_EQ(
      made("[JSONPatch{op: 'add', path: '/metadata/labels/' + jsonpatch.escapeKey('a/b'), value: "
           "Object.metadata{x: [Object.metadata.x{y: 1}]}}, JSONPatch{op: 'move', from: '/a', path: '/b'}]"),
      R"([{"op":"add","path":"/metadata/labels/a~1b","value":{"x":[{"y":1}]}},)"
      R"({"op":"move","from":"/a","path":"/b"}])");
  EXPECT_EQ(
      made("[JSONPatch{op: 'add', path: '/spec', value: Object.spec{a: Object.b{}}}]"),
      "type mismatch: unexpected type name \"Object.b\", expected \"Object.spec.a\", which matches field "
      "name path from root Object type");
  EXPECT_EQ(made("[]"), "must evaluate to list(JSONPatch) but got list(dyn)");
  EXPECT_EQ(made("has(object.spec.absent) ? [JSONPatch{op: 'remove', path: '/spec/absent'}] : []"), "[]");
}

// An expression of few parts may name one of them often.
TEST(Mutation, MakesNoGiants) {
  std::string text = "'" + std::string(1000, 'x') + "'";
  const std::string many = "lists.range(4000).map(i, " + text + ")";
  EXPECT_EQ(made_by("ApplyConfiguration", "Object{spec: " + many + "}"),
            "the value of the expression has more than 3145728 bytes");
  const std::string wrong =
      made_by("ApplyConfiguration", "Object{spec: lists.range(4000).map(i, Object.b{})}");
  EXPECT_TRUE(wrong.starts_with("type mismatch: unexpected type name \"Object.b\"")) << wrong;
  EXPECT_LT(wrong.size(), 2 * kTypeProblemsBytesMax);
}

TEST(Mutation, WhatIsWrongWithAPolicyIsNamed) {
  const std::string match = R"("matchConstraints":{"resourceRules":[)" +
                            rule_text(R"("CREATE")", R"("apps")", R"("v1")", R"("deployments")", "*") + "]}";
  const auto problems = [&](const std::string& mutation) {
    return policy_problems(kMutatingPolicy,
                           "{" + match + R"(,"reinvocationPolicy":"Never","mutations":[)" + mutation + "]}");
  };
  const std::string first = "spec.mutations[0].";
  EXPECT_EQ(problems(R"({"patchType":"JSONPatch","jsonPatch":{"expression":"[JSONPatch{op: 'test'}]"}})"),
            "");
  EXPECT_EQ(problems(R"({"patchType":"ApplyConfiguration","applyConfiguration":{"expression":"Object{}"}})"),
            "");
  EXPECT_EQ(problems(R"({"jsonPatch":{"expression":"[]"}})"), first + "patchType: Required value");
  EXPECT_EQ(
      problems(R"({"patchType":"Merge"})"),
      first +
          R"(patchType: Unsupported value: "Merge": supported values: "ApplyConfiguration", "JSONPatch")");
  EXPECT_EQ(problems(R"({"patchType":"JSONPatch","applyConfiguration":{"expression":"Object{}"}})"),
            "[" + first + "jsonPatch: Required value: must be specified when patchType is JSONPatch, " +
                first +
                R"(applyConfiguration: Invalid value: "{applyConfiguration}": must not be specified when )"
                "patchType is JSONPatch]");
  EXPECT_EQ(
      problems(R"({"patchType":"ApplyConfiguration","applyConfiguration":{"expression":" 1 "}})"),
      first + R"(applyConfiguration.expression: Invalid value: "1": must evaluate to Object but got int)");
  EXPECT_EQ(policy_problems(kMutatingPolicy, "{" + match + "}"),
            "[spec.mutations: Required value: mutations must contain at least one item, "
            "spec.reinvocationPolicy: Required value]");
  const std::string deletes = R"({"policyName":"p","matchResources":{"resourceRules":[)" +
                              rule_text(R"("DELETE")", R"("")", R"("v1")", R"("pods")", "*") + "]}}";
  EXPECT_EQ(policy_problems(kMutatingBinding, deletes),
            R"(spec.matchResources.resourceRules.operations: Unsupported value: "DELETE": supported values: )"
            R"("*", "CONNECT", "CREATE", "UPDATE")");
  EXPECT_EQ(policy_problems(kMutatingBinding, R"({"policyName":"p"})"), "");
}

std::string problems(const std::string& members) {
  const Json webhook =
      json(R"({"name":"w.example.com","sideEffects":"None","admissionReviewVersions":["v1"],)"
           R"("clientConfig":{"url":"https://h/p"}})");
  Json changed = webhook;
  const Json more = json("{" + members + "}");
  for (const JsonMember& member : more.as_object()) changed[member.key] = member.value;
  const Json configuration = Json::object({{"webhooks", Json::array({changed})}});
  const api::Gates gates(api::GateDefaults::Release);
  const api::RuleContext ctx{gates, api::accept_any_cel, Time(), "", {}, {}};
  return to_text(configuration_rules(Phase::Mutating).validate_create(configuration, ctx));
}

TEST(Configurations, WhatIsWrongIsNamed) {
  EXPECT_EQ(problems(""), "");
  EXPECT_EQ(
      problems(R"("name":"w.x")"),
      "webhooks[0].name: Invalid value: \"w.x\": should be a domain with at least three segments separated "
      "by dots");
  EXPECT_EQ(
      problems(R"("timeoutSeconds":0)"),
      "webhooks[0].timeoutSeconds: Invalid value: 0: the timeout value must be between 1 and 30 seconds");
  EXPECT_EQ(
      problems(R"("sideEffects":"Some")"),
      "webhooks[0].sideEffects: Unsupported value: \"Some\": supported values: \"None\", \"NoneOnDryRun\"");
  EXPECT_EQ(problems(R"("clientConfig":{})"),
            "webhooks[0].clientConfig: Required value: exactly one of url or service is required");
  EXPECT_EQ(problems(R"("admissionReviewVersions":["v2"])"),
            "webhooks[0].admissionReviewVersions: Invalid value: [\"v2\"]: must include at least one of v1, "
            "v1beta1");
  EXPECT_EQ(
      problems(R"("rules":[{"operations":["CREATE"],"apiGroups":["*","a"],"apiVersions":["v1"],)"
               R"("resources":["pods/*","pods/status"]}])"),
      "[webhooks[0].rules[0].apiGroups: Invalid value: [\"*\",\"a\"]: if '*' is present, must not specify "
      "other API groups, webhooks[0].rules[0].resources[1]: Invalid value: \"pods/status\": if 'pods/*' is "
      "present, must not specify pods/status]");
  EXPECT_EQ(
      problems(R"("matchConditions":[{"name":"a","expression":"true"},{"name":"a","expression":""}])"),
      "[webhooks[0].matchConditions[1].expression: Required value, webhooks[0].matchConditions[1].name: "
      "Duplicate value: \"a\"]");
}

// What an update leaves as it was is not refused.
TEST(Configurations, AnUpdateKeepsWhatWasAccepted) {
  const auto configuration = [](const std::string& effects, const std::string& versions) {
    return json(R"({"webhooks":[{"name":"w.example.com","sideEffects":")" + effects +
                R"(","admissionReviewVersions":[")" + versions +
                R"("],"clientConfig":{"url":"https://h/p"}}]})");
  };
  const api::Gates gates(api::GateDefaults::Release);
  const api::RuleContext ctx{gates, api::accept_any_cel, Time(), "", {}, {}};
  const auto validate = configuration_rules(Phase::Validating).validate_update;
  EXPECT_TRUE(validate(configuration("Some", "v9"), configuration("Some", "v9"), ctx).empty());
  EXPECT_EQ(validate(configuration("Some", "v9"), configuration("None", "v1"), ctx).size(), 2u);
}

}  // namespace
}  // namespace berth::admission
