#include <gtest/gtest.h>

#include "api/gates.h"
#include "api/patch.h"
#include "api/test_rules.h"

namespace berth::api {
namespace {

const KindRules& autoscaler_rules() {
  return rules_of("autoscaling", "horizontalpodautoscalers");
}

Json autoscaler_with(const char* patch) {
  Json scaler = *parse_json(R"({"kind":"HorizontalPodAutoscaler","apiVersion":"autoscaling/v2",
      "metadata":{"name":"h","namespace":"d"},"spec":{"scaleTargetRef":{"kind":"Deployment","name":"web",
      "apiVersion":"apps/v1"},"maxReplicas":5}})");
  return merge_patched(std::move(scaler), *parse_json(patch));
}

TEST(HorizontalPodAutoscaler, GetsTheDefaultsOfTheApi) {
  Json scaler = autoscaler_with(R"({"spec":{"behavior":{"scaleUp":{"stabilizationWindowSeconds":7}}}})");
  autoscaler_rules().set_defaults(scaler);
  const Json& spec = scaler.part("spec");
  EXPECT_EQ(spec.int_at("minReplicas"), 1);
  EXPECT_EQ(to_string(spec.part("metrics")),
            R"([{"type":"Resource","resource":{"name":"cpu","target":{"type":"Utilization",)"
            R"("averageUtilization":80}}}])");
  EXPECT_EQ(to_string(spec.part("behavior")),
            R"({"scaleUp":{"stabilizationWindowSeconds":7,"selectPolicy":"Max","policies":[{"type":"Pods",)"
            R"("value":4,"periodSeconds":15},{"type":"Percent","value":100,"periodSeconds":15}]},)"
            R"("scaleDown":{"selectPolicy":"Max","policies":[{"type":"Percent","value":100,)"
            R"("periodSeconds":15}]}})");
}

TEST(HorizontalPodAutoscaler, RefusesWhatCannotScale) {
  const Gates gates{GateDefaults::Up};
  const RuleContext context = context_of_empty_cluster(gates);
  struct Row {
    const char *patch, *errors;  // "": none
  };
  const Row rows[] = {
      {"{}", ""},
      {R"({"spec":{"minReplicas":0,"maxReplicas":0}})",
       "[spec.minReplicas: Invalid value: 0: must be greater than or equal to 1, spec.maxReplicas: Invalid "
       "value: 0: must be greater than 0]"},
      {R"({"spec":{"minReplicas":9}})",
       "spec.maxReplicas: Invalid value: 5: must be greater than or equal to `minReplicas`"},
      {R"({"spec":{"scaleTargetRef":{"kind":"","name":"a/b","apiVersion":"a/b/c"}}})",
       R"([spec.scaleTargetRef.kind: Required value, spec.scaleTargetRef.name: Invalid value: "a/b": may )"
       R"(not contain '/', spec.scaleTargetRef.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion )"
       R"(string: a/b/c])"},
      {R"({"spec":{"metrics":[{"type":"Resource","resource":{"name":"cpu",
           "target":{"type":"Utilization"}}}]}})",
       "spec.metrics[0].resource.target.averageUtilization: Required value: must set either a target raw "
       "value "
       "or a target utilization"},
      {R"({"spec":{"metrics":[{"type":"Resource","resource":{"name":"","target":{"type":"None",
           "averageUtilization":0}}}]}})",
       R"([spec.metrics[0].resource.name: Required value: must specify a resource name, )"
       R"(spec.metrics[0].resource.target.type: Invalid value: "None": must be either Utilization, Value, )"
       R"(or AverageValue, spec.metrics[0].resource.target.averageUtilization: Invalid value: 0: must be )"
       R"(greater than 0])"},
      {R"({"spec":{"metrics":[{"type":"Pods"},{"type":"Other"}]}})",
       R"([spec.metrics[0].pods: Required value: must populate information for the given metric source, )"
       R"(spec.metrics[1].type: Unsupported value: "Other": supported values: "ContainerResource", )"
       R"("External", "Object", "Pods", "Resource"])"},
      {R"({"spec":{"behavior":{"scaleUp":{"stabilizationWindowSeconds":3601,"selectPolicy":"Some"},
           "scaleDown":{"policies":[{"type":"Pods","value":0,"periodSeconds":1801}]}}}})",
       "[spec.behavior.scaleUp.stabilizationWindowSeconds: Invalid value: 3601: must be less than or equal "
       "to "
       "3600, spec.behavior.scaleUp.selectPolicy: Unsupported value: \"Some\": supported values: "
       "\"Disabled\", \"Max\", \"Min\", spec.behavior.scaleUp.policies: Required value: must specify at "
       "least one Policy, spec.behavior.scaleDown.policies[0].value: Invalid value: 0: must be greater than "
       "zero, spec.behavior.scaleDown.policies[0].periodSeconds: Invalid value: 1801: must be less than or "
       "equal to 1800]"},
  };
  for (const Row& row : rows) {
    const FieldErrors errors = autoscaler_rules().validate_create(autoscaler_with(row.patch), context);
    EXPECT_EQ(errors.empty() ? "" : to_text(errors), row.errors);
  }
}

}  // namespace
}  // namespace berth::api
