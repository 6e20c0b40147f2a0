#include "api/conversions.h"

#include <gtest/gtest.h>

namespace berth::api {
namespace {

struct ConversionRow {
  const char* name;
  const char *group, *version, *resource;
  const char* served;  // a canonical document of that version
  const char* stored;
};

class Conversions : public testing::TestWithParam<ConversionRow> {};

TEST_P(Conversions, LeadToTheStoredShapeAndBack) {
  const ConversionRow& row = GetParam();
  const ResourceInfo* resource = find_resource(row.group, row.version, row.resource);
  ASSERT_TRUE(resource);
  EXPECT_TRUE(needs_conversion(*resource));
  const Json served = parse_json(row.served).value(), stored = parse_json(row.stored).value();
  const Json made = to_stored_shape(*resource, served);
  EXPECT_EQ(made, stored) << to_string(made);
  const Json back = to_served_shape(*resource, made);
  EXPECT_EQ(back, served) << to_string(back);
}

constexpr ConversionRow kConversionRows[] = {
    {"Event", "events.k8s.io", "v1", "events",
     R"({"kind":"Event","apiVersion":"events.k8s.io/v1","metadata":{"name":"e","namespace":"d"},
         "eventTime":"2026-01-01T00:00:00.000000Z","reportingController":"c.io/x","reportingInstance":"i",
         "regarding":{"kind":"Pod","name":"p"},"note":"n","deprecatedSource":{},
         "deprecatedFirstTimestamp":null,"deprecatedLastTimestamp":null})",
     R"({"kind":"Event","apiVersion":"v1","metadata":{"name":"e","namespace":"d"},
         "involvedObject":{"kind":"Pod","name":"p"},"message":"n","source":{},"firstTimestamp":null,
         "lastTimestamp":null,"eventTime":"2026-01-01T00:00:00.000000Z","reportingComponent":"c.io/x",
         "reportingInstance":"i"})"},
    {"Autoscaler", "autoscaling", "v1", "horizontalpodautoscalers",
     R"({"kind":"HorizontalPodAutoscaler","apiVersion":"autoscaling/v1","metadata":{"name":"h","annotations":{
         "own":"x",)"
     R"("autoscaling.alpha.kubernetes.io/metrics":"[{\"type\":\"Resource\",\"resource\":{\"name\":)"
     R"(\"memory\",\"targetAverageValue\":\"1Gi\"}},{\"type\":\"Pods\",\"pods\":{\"metricName\":\"m\",)"
     R"(\"targetAverageValue\":\"10\"}},{\"type\":\"Object\",\"object\":{\"target\":{\"kind\":\"Service\",)"
     R"(\"name\":\"s\"},\"metricName\":\"o\",\"targetValue\":\"3\"}},{\"type\":\"External\",\"external\":)"
     R"({\"metricName\":\"e\",\"metricSelector\":{\"matchLabels\":{\"a\":\"b\"}},)"
     R"(\"targetAverageValue\":\"5\"}}]","autoscaling.alpha.kubernetes.io/current-metrics":"[{\"type\":)"
     R"(\"Resource\",\"resource\":{\"name\":\"cpu\",\"currentAverageValue\":\"60m\",)"
     R"(\"currentAverageUtilization\":60}}]",)"
     R"("autoscaling.alpha.kubernetes.io/behavior":"{\"ScaleDown\":{\"SelectPolicy\":\"Min\",\"Policies\":[)"
     R"({\"Type\":\"Pods\",\"Value\":1,\"PeriodSeconds\":60}]}}",)"
     R"("autoscaling.alpha.kubernetes.io/conditions":"[{\"type\":\"AbleToScale\",\"status\":\"True\",)"
     R"(\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"}]"}},
         "spec":{"scaleTargetRef":{"kind":"Deployment","name":"d","apiVersion":"apps/v1"},"minReplicas":1,
         "maxReplicas":3,"targetCPUUtilizationPercentage":80},"status":{"currentReplicas":2,
         "desiredReplicas":2,"currentCPUUtilizationPercentage":60}})",
     R"({"kind":"HorizontalPodAutoscaler","apiVersion":"autoscaling/v2","metadata":{"name":"h","annotations":{
         "own":"x"}},"spec":{"scaleTargetRef":{"kind":"Deployment","name":"d","apiVersion":"apps/v1"},
         "minReplicas":1,"maxReplicas":3,"metrics":[{"type":"Resource","resource":{"name":"memory",
         "target":{"type":"AverageValue","averageValue":"1Gi"}}},{"type":"Pods","pods":{"metric":{"name":"m"},
         "target":{"type":"AverageValue","averageValue":"10"}}},{"type":"Object","object":{
         "describedObject":{"kind":"Service","name":"s"},"target":{"type":"Value","value":"3"},
         "metric":{"name":"o"}}},{"type":"External","external":{"metric":{"name":"e","selector":{
         "matchLabels":{"a":"b"}}},"target":{"type":"AverageValue","averageValue":"5"}}},
         {"type":"Resource","resource":{"name":"cpu","target":{"type":"Utilization",
         "averageUtilization":80}}}],"behavior":{"scaleDown":{"selectPolicy":"Min","policies":[{"type":"Pods",
         "value":1,"periodSeconds":60}]}}},"status":{"currentReplicas":2,"desiredReplicas":2,
         "currentMetrics":[{"type":"Resource","resource":{"name":"cpu","current":{"averageValue":"60m",
         "averageUtilization":60}}}],"conditions":[{"type":"AbleToScale","status":"True",
         "lastTransitionTime":"2026-01-01T00:00:00Z"}]}})"},
    {"Slice", "resource.k8s.io", "v1beta1", "resourceslices",
     R"({"kind":"ResourceSlice","apiVersion":"resource.k8s.io/v1beta1","metadata":{"name":"s"},
         "spec":{"driver":"d.io","pool":{"name":"p","generation":1,"resourceSliceCount":1},
         "devices":[{"name":"a","basic":{"attributes":{"x":{"int":1}}}},{"name":"b","basic":{}}]}})",
     R"({"kind":"ResourceSlice","apiVersion":"resource.k8s.io/v1","metadata":{"name":"s"},
         "spec":{"driver":"d.io","pool":{"name":"p","generation":1,"resourceSliceCount":1},
         "devices":[{"name":"a","attributes":{"x":{"int":1}}},{"name":"b"}]}})"},
    {"Claim", "resource.k8s.io", "v1beta1", "resourceclaims",
     R"({"kind":"ResourceClaim","apiVersion":"resource.k8s.io/v1beta1","metadata":{"name":"c",
         "namespace":"d"},"spec":{"devices":{"requests":[{"name":"r","deviceClassName":"x","count":2},
         {"name":"f","deviceClassName":"","firstAvailable":[{"name":"a","deviceClassName":"y"}]}]}},
         "status":{}})",
     R"({"kind":"ResourceClaim","apiVersion":"resource.k8s.io/v1","metadata":{"name":"c","namespace":"d"},
         "spec":{"devices":{"requests":[{"name":"r","exactly":{"deviceClassName":"x","count":2}},
         {"name":"f","firstAvailable":[{"name":"a","deviceClassName":"y"}]}]}},"status":{}})"},
    {"Template", "resource.k8s.io", "v1beta1", "resourceclaimtemplates",
     R"({"kind":"ResourceClaimTemplate","apiVersion":"resource.k8s.io/v1beta1","metadata":{"name":"c"},
         "spec":{"metadata":{},"spec":{"devices":{"requests":[{"name":"r","deviceClassName":"x"}]}}}})",
     R"({"kind":"ResourceClaimTemplate","apiVersion":"resource.k8s.io/v1","metadata":{"name":"c"},
         "spec":{"metadata":{},"spec":{"devices":{"requests":
         [{"name":"r","exactly":{"deviceClassName":"x"}}]}}}})"},
    {"Group", "scheduling.k8s.io", "v1alpha2", "podgroups",
     R"({"kind":"PodGroup","apiVersion":"scheduling.k8s.io/v1alpha2","metadata":{"name":"g"},
         "spec":{"podGroupTemplateRef":{"workload":{"workloadName":"w","podGroupTemplateName":"t"}},
         "schedulingPolicy":{"gang":{"minCount":4}},
         "schedulingConstraints":{"topology":[{"key":"rack"}]},"disruptionMode":"PodGroup",
         "priorityClassName":"high"},
         "status":{"conditions":[{"type":"PodGroupScheduled","status":"True","lastTransitionTime":null,
         "reason":"Scheduled","message":""}]}})",
     R"({"kind":"PodGroup","apiVersion":"scheduling.k8s.io/v1beta1","metadata":{"name":"g"},
         "spec":{"workloadRef":{"workloadName":"w","templateName":"t"},
         "schedulingPolicy":{"gang":{"minCount":4}},
         "schedulingConstraints":{"topology":[{"key":"rack"}]},"disruptionMode":{"all":{}},
         "priorityClassName":"high"},
         "status":{"conditions":[{"type":"PodGroupInitiallyScheduled","status":"True",
         "lastTransitionTime":null,"reason":"Scheduled","message":""}]}})"},
    {"Workload", "scheduling.k8s.io", "v1alpha2", "workloads",
     R"({"kind":"Workload","apiVersion":"scheduling.k8s.io/v1alpha2","metadata":{"name":"w"},
         "spec":{"controllerRef":{"kind":"Job","name":"j"},"podGroupTemplates":[{"name":"t",
         "schedulingPolicy":{"gang":{"minCount":4}},"disruptionMode":"Pod"},
         {"name":"u","schedulingPolicy":{"basic":{}}}]}})",
     R"({"kind":"Workload","apiVersion":"scheduling.k8s.io/v1beta1","metadata":{"name":"w"},
         "spec":{"controllerRef":{"kind":"Job","name":"j"},"podGroupTemplates":[{"name":"t",
         "schedulingPolicy":{"gang":{"minCount":4}},"schedulingConstraints":null,
         "disruptionMode":{"single":{}}},
         {"name":"u","schedulingPolicy":{"basic":{}},"schedulingConstraints":null}]}})"},
};

INSTANTIATE_TEST_SUITE_P(Rows, Conversions, testing::ValuesIn(kConversionRows),
                         [](const auto& row) { return std::string(row.param.name); });

TEST(ConversionsOfOneShape, OnlyNameAnotherVersion) {
  const ResourceInfo* beta = find_resource("resource.k8s.io", "v1beta2", "resourceclaims");
  ASSERT_TRUE(beta);
  EXPECT_FALSE(needs_conversion(*beta));
  const Json stored =
      to_stored_shape(*beta, Json::object({{"kind", "ResourceClaim"}, {"spec", Json::object()}}));
  EXPECT_EQ(stored.string_at("apiVersion"), "resource.k8s.io/v1");
}

TEST(Deprecation, NamesTheReleases) {
  EXPECT_EQ(deprecation_of(*find_resource("resource.k8s.io", "v1beta1", "resourceslices")),
            "resource.k8s.io/v1beta1 ResourceSlice is deprecated in v1.35+, unavailable in v1.38+");
  EXPECT_EQ(deprecation_of(*find_resource("resource.k8s.io", "v1", "resourceslices")), std::nullopt);
}

}  // namespace
}  // namespace berth::api
