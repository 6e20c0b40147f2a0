#include "cli/plan_input.h"

#include <gtest/gtest.h>

namespace berth::cli {
namespace {

const api::Gates kGates(api::GateDefaults::Up);

Result<PlanInput> input_of(const std::vector<std::string>& objects) {
  std::vector<Manifest> manifests;
  for (const std::string& text : objects) {
    manifests.push_back({parse_json(text).value(), nullptr, "f.yaml",
                         std::make_shared<const std::string>(text), static_cast<int>(manifests.size()) + 1,
                         ""});
    EXPECT_TRUE(check_manifest(manifests.back(), kGates)) << text;
  }
  return plan_input(std::move(manifests), kGates, Time());
}

std::string pod(const std::string& metadata, const std::string& requests) {
  return R"({"apiVersion":"v1","kind":"Pod","metadata":)" + metadata +
         R"(,"spec":{"containers":[{"name":"c","image":"i","resources":{"requests":)" + requests + "}}]}}";
}

TEST(PlanInput, IsCanonicalWithDefaults) {
  const Result<PlanInput> input = input_of({pod(R"({"name":"p"})", R"({"cpu":1,"memory":"1024Mi"})")});
  ASSERT_TRUE(input.ok()) << input.error().text();
  const planning::Document& document = input->documents.front();
  EXPECT_EQ(document.kind, api::Kind::Pod);
  EXPECT_EQ(document.trouble, "");
  EXPECT_EQ(document.object.part("metadata").string_at("namespace"), "default");
  EXPECT_EQ(document.object.part("spec").string_at("restartPolicy"), "Always");
  const Json& container = document.object.part("spec").items_at("containers").front();
  EXPECT_EQ(to_string(container.part("resources").part("requests")), R"({"cpu":"1","memory":"1Gi"})");
}

TEST(PlanInput, TellsWhatAServerWouldRefuse) {
  const Result<PlanInput> input =
      input_of({R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"Bad"}})",
                pod(R"({"name":"p"})", R"({"cpu":"-1"})")});
  ASSERT_TRUE(input.ok()) << input.error().text();
  ASSERT_EQ(input->warnings.size(), 1u);
  EXPECT_TRUE(input->warnings.front().starts_with("f.yaml:1: document 1: metadata.name: Namespace Bad: "))
      << input->warnings.front();
  EXPECT_TRUE(input->documents.back().trouble.starts_with("spec.containers[0].resources.requests[cpu]: "))
      << input->documents.back().trouble;
}

// The API server writes the selector of a Job, which names its UID.
TEST(PlanInput, AJobAsPeopleWriteItIsNotRefused) {
  const Result<PlanInput> input =
      input_of({R"({"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"j"},"spec":{"template":{"spec":)"
                R"({"restartPolicy":"Never","containers":[{"name":"c","image":"i"}]}}}})"});
  ASSERT_TRUE(input.ok()) << input.error().text();
  EXPECT_EQ(input->warnings, std::vector<std::string>{});
  const Json& spec = input->documents.front().object.part("spec");
  EXPECT_EQ(spec.part("selector").part("matchLabels").string_at("batch.kubernetes.io/controller-uid"),
            input->documents.front().object.part("metadata").string_at("uid"));
}

TEST(PlanInput, WantsNamesAndEachObjectOnce) {
  EXPECT_EQ(input_of({pod(R"({"generateName":"p-"})", "{}")}).error().message(),
            "is missing: a plan needs names");
  const Result<PlanInput> twice =
      input_of({pod(R"({"name":"p"})", "{}"), pod(R"({"name":"p","namespace":"default"})", "{}")});
  ASSERT_FALSE(twice.ok());
  EXPECT_EQ(twice.error().code(), ErrorCode::Exists);
  EXPECT_TRUE(input_of({pod(R"({"name":"p"})", "{}"), pod(R"({"name":"p","namespace":"n"})", "{}")}).ok());
}

}  // namespace
}  // namespace berth::cli
