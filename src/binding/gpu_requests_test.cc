#include "binding/gpu_requests.h"

#include <gtest/gtest.h>

#include "binding/pod_admission.h"

namespace berth::binding {
namespace {

constexpr const char* kOneGpu = R"({"limits":{"nvidia.com/gpu":"1"},"requests":{"nvidia.com/gpu":"1"}})";

struct PodText {
  std::string annotations = {};                               // members: "gpu-fraction":"0.5"
  std::string resources = "{}";                               // of the container "main"
  std::string rest = {};                                      // members of the spec, each with a comma before
  std::string containers = R"({"name":"main","resources":)";  // up to the resources

  std::string text() const {
    return R"({"metadata":{"name":"p","namespace":"d","annotations":{)" + annotations +
           R"(}},"spec":{"schedulerName":"berth","containers":[)" + containers + resources + "}]" + rest +
           "}}";
  }
};

BinderOptions sharing() {
  BinderOptions options;
  options.gpu_sharing = true;
  return options;
}

std::vector<std::string> errors_of(const PodText& pod, const BinderOptions& options) {
  std::vector<std::string> found;
  const api::Pod decoded = api::decode_pod(*parse_json(pod.text()), nullptr);
  for (const api::FieldError& error : make_gpu_requests()->validate(decoded, options))
    found.push_back(error.path + ": " + error.body);
  return found;
}

// The only error begins like this; empty: none.
void expect(const PodText& pod, const std::string& begin, const BinderOptions& options = sharing()) {
  const std::vector<std::string> found = errors_of(pod, options);
  if (begin.empty()) {
    EXPECT_TRUE(found.empty()) << pod.text() << "\n" << found.front();
    return;
  }
  ASSERT_EQ(found.size(), 1u) << pod.text() << "\n" << ::testing::PrintToString(found);
  EXPECT_EQ(found.front().substr(0, begin.size()), begin) << pod.text();
}

TEST(GpuRequests, AcceptsWholeGpusAndShares) {
  expect({}, "");
  expect({.resources = kOneGpu}, "");
  for (const char* fraction : {"0.5", "0.01", "0.99", "0.005", "1e-1", "0.333"})
    expect({.annotations = R"("gpu-fraction":")" + std::string(fraction) + "\""}, "");
  expect({.annotations = R"("gpu-memory":"4096","mps":"true","gpu-fraction-num-devices":"2")"}, "");
  expect({.annotations = R"("gpu-fraction":"0.5","gpu-fraction-container-name":"setup")",
          .rest = R"(,"initContainers":[{"name":"setup"}])"},
         "");
}

TEST(GpuRequests, RefusesValuesThatAreNoShare) {
  for (const char* fraction :
       {"0", "1", "1.5", "-0.5", "nan", "NaN", "inf", "0x1p-1", "", "half", "0.5 ", "500m", "1e-999"})
    expect({.annotations = R"("gpu-fraction":")" + std::string(fraction) + "\""},
           "metadata.annotations[gpu-fraction]: Invalid value: \"" + std::string(fraction) +
               "\": must be a decimal number greater than 0 and less than 1");
  expect({.annotations = R"("gpu-fraction":"0.004")"},
         "metadata.annotations[gpu-fraction]: Invalid value: \"0.004\": is rounded to 0.00");
  expect({.annotations = R"("gpu-fraction":"0.996")"},
         "metadata.annotations[gpu-fraction]: Invalid value: \"0.996\": is rounded to 1.00");
  for (const char* memory : {"0", "-1", "4Gi", "", "0x10", "99999999999999999999"})
    expect({.annotations = R"("gpu-memory":")" + std::string(memory) + "\""},
           "metadata.annotations[gpu-memory]: Invalid value: \"" + std::string(memory) +
               "\": must be a positive whole number of MiB");
  for (const char* count : {"0", "33", "1.5", "-1", "two"})
    expect(
        {.annotations = R"("gpu-fraction":"0.5","gpu-fraction-num-devices":")" + std::string(count) + "\""},
        "metadata.annotations[gpu-fraction-num-devices]: Invalid value: \"" + std::string(count) +
            "\": must be a whole number between 1 and 32");
}

TEST(GpuRequests, RefusesWhatExcludesEachOther) {
  const std::string half = R"("gpu-fraction":"0.5")";
  expect({.annotations = half + R"(,"gpu-memory":"4096")"},
         "metadata.annotations[gpu-memory]: Forbidden: may not be set with gpu-fraction");
  for (const std::string& share : {half, std::string(R"("gpu-memory":"4096")")})
    expect({.annotations = share, .resources = kOneGpu},
           "spec.containers[0].resources.limits[nvidia.com/gpu]: Forbidden: may not be set with");
  expect({.annotations = half, .resources = R"({"limits":{"nvidia.com/gpu":"0"}})"},
         "spec.containers[0].resources.limits[nvidia.com/gpu]: Forbidden: may not be set with");
  expect({.annotations = half,
          .rest = R"(,"initContainers":[{"name":"i","resources":{"limits":{"nvidia.com/gpu":"1"}}}])"},
         "spec.initContainers[0].resources.limits[nvidia.com/gpu]: Forbidden: may not be set with");
  expect({.annotations = half, .rest = R"(,"resourceClaims":[{"name":"c","resourceClaimName":"c"}])"},
         "spec.resourceClaims: Forbidden: may not be set with");
  expect({.annotations = R"("mps":"true")", .resources = kOneGpu},
         "metadata.annotations[mps]: Forbidden: needs the annotation gpu-fraction or gpu-memory");
  expect({.annotations = R"("gpu-fraction-num-devices":"2")"},
         "metadata.annotations[gpu-fraction-num-devices]: Forbidden: needs the annotation");
}

TEST(GpuRequests, RequestsAreTheLimits) {
  expect({.resources = R"({"limits":{"nvidia.com/gpu":"2"},"requests":{"nvidia.com/gpu":"1"}})"},
         "spec.containers[0].resources.requests[nvidia.com/gpu]: Invalid value: \"1\": must be equal to the "
         "limit, 2, or absent");
  expect({.resources = R"({"requests":{"nvidia.com/gpu":"1"}})"},
         "spec.containers[0].resources.limits[nvidia.com/gpu]: Required value: GPUs are not overcommitted");
}

TEST(GpuRequests, AShareIsForAContainerOfThePod) {
  expect({.annotations = R"("gpu-fraction":"0.5","gpu-fraction-container-name":"other")"},
         "metadata.annotations[gpu-fraction-container-name]: Not found: \"other\"");
  const api::Pod empty = api::decode_pod(
      *parse_json(R"({"metadata":{"annotations":{"gpu-memory":"1"}},"spec":{"containers":[]}})"), nullptr);
  const api::FieldErrors errors = make_gpu_requests()->validate(empty, sharing());
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].path, "spec.containers");
}

TEST(GpuRequests, SharesAreRefusedWhileSharingIsOff) {
  expect({.annotations = R"("gpu-fraction":"0.5")"},
         "metadata.annotations[gpu-fraction]: Forbidden: GPU sharing is switched off", {});
  expect({.annotations = R"("gpu-memory":"1")"},
         "metadata.annotations[gpu-memory]: Forbidden: GPU sharing is switched off", {});
  expect({.resources = kOneGpu}, "", {});
}

TEST(GpuRequests, NamesEveryErrorAtOnce) {
  const std::vector<std::string> found =
      errors_of({.annotations = R"("gpu-fraction":"nan","gpu-memory":"0","gpu-fraction-num-devices":"0",)"
                                R"("gpu-fraction-container-name":"none")",
                 .resources = kOneGpu},
                {});
  std::vector<std::string> fields;
  for (const std::string& error : found) fields.push_back(error.substr(0, error.find(": ")));
  EXPECT_EQ(fields,
            (std::vector<std::string>{
                "spec.containers[0].resources.limits[nvidia.com/gpu]", "metadata.annotations[gpu-memory]",
                "metadata.annotations[gpu-fraction]", "metadata.annotations[gpu-memory]",
                "metadata.annotations[gpu-fraction-num-devices]", "metadata.annotations[gpu-fraction]",
                "metadata.annotations[gpu-fraction-container-name]"}));
}

// Marks pods, and refuses those that ask for it.
class Marking final : public Plugin {
 public:
  std::string_view name() const override { return "Marking"; }
  api::FieldErrors validate(const api::Pod& pod, const BinderOptions&) const override {
    if (pod.meta.annotation("refuse").empty()) return {};
    return {api::forbidden("metadata.annotations[refuse]", "as asked")};
  }
  Json mutate(Json pod, const BinderOptions&) const override {
    pod["metadata"]["annotations"]["marked"] = "yes";
    return pod;
  }
};

std::unique_ptr<const PodAdmission> marking_admission() {
  BinderOptions options;
  EXPECT_TRUE(options.registry.add("Marking", [] { return std::make_unique<Marking>(); }).ok());
  return PodAdmission::make(options, {"berth"}).value();
}

Json pod_of(const std::string& scheduler, const std::string& annotations) {
  return *parse_json(R"({"metadata":{"name":"p","annotations":{)" + annotations +
                     R"(}},"spec":{"schedulerName":")" + scheduler + R"(","containers":[{"name":"c"}]}})");
}

TEST(PodAdmission, CallsEveryPluginForPodsOfItsSchedulers) {
  const auto admission = marking_admission();
  EXPECT_EQ(to_string(admission->mutate(pod_of("berth", "")).part("metadata").part("annotations")),
            R"({"marked":"yes"})");
  EXPECT_EQ(admission->mutate(pod_of("other", "")), pod_of("other", ""));

  const std::string bad = R"("refuse":"me","gpu-fraction":"2")";
  EXPECT_EQ(
      api::to_text(admission->validate(pod_of("berth", bad), nullptr)),
      "[metadata.annotations[gpu-fraction]: Invalid value: \"2\": must be a decimal number greater than 0 "
      "and less than 1, as in \"0.5\"; whole GPUs are requested as the limit nvidia.com/gpu, "
      "metadata.annotations[gpu-fraction]: Forbidden: GPU sharing is switched off: request whole GPUs as "
      "the limit nvidia.com/gpu or with a resource claim, metadata.annotations[refuse]: Forbidden: as "
      "asked]");
  EXPECT_TRUE(admission->validate(pod_of("other", bad), nullptr).empty());
}

TEST(PodAdmission, AnUpdateIsRefusedOnlyForWhatItMakesWrong) {
  const auto admission = marking_admission();
  const Json standing = pod_of("berth", R"("gpu-memory":"1")");
  EXPECT_TRUE(admission->validate(pod_of("berth", R"("gpu-memory":"1","note":"new")"), &standing).empty());
  const api::FieldErrors errors =
      admission->validate(pod_of("berth", R"("gpu-memory":"1","refuse":"me")"), &standing);
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].path, "metadata.annotations[refuse]");
}

TEST(PluginRegistry, RefusesNamesThatAreUnknownTakenOrEmpty) {
  EXPECT_FALSE(PodAdmission::make({.plugins = {"Teleport"}}, {"berth"}).ok());
  EXPECT_FALSE(PodAdmission::make({.plugins = {"GpuRequests", "GpuRequests"}}, {"berth"}).ok());
  PluginRegistry registry = PluginRegistry::in_tree();
  EXPECT_FALSE(registry.add("GpuRequests", [] { return std::make_unique<Marking>(); }).ok());
  EXPECT_FALSE(registry.add("", [] { return std::make_unique<Marking>(); }).ok());
  std::size_t added = 0;
  while (registry.add("m" + std::to_string(added), [] { return std::make_unique<Marking>(); }).ok()) ++added;
  EXPECT_EQ(registry.make({})->size(), kPluginsMax);
  EXPECT_GT(added, 0u);
}

}  // namespace
}  // namespace berth::binding
