#include "controllers/simulated_containers.h"

#include <gtest/gtest.h>

#include "api/serialized.h"

namespace berth::controllers {
namespace {

struct EndCase {
  const char *policy, *containers, *end;  // "seconds:code", and ":again"; null: they go on
};

TEST(SimulatedContainers, EndAsTheirCommandsSay) {
  const EndCase cases[] = {
      {"Never", R"([{"command":["sleep","5"]}])", "5:0"},
      {"Never", R"([{"command":["/bin/sleep"],"args":["1.5"]}])", "1.5:0"},
      {"Never", R"([{"command":["sleep","2m"]}])", "120:0"},
      {"Never", R"([{"command":["sleep","infinity"]}])", nullptr},
      {"Never", R"([{"command":["false"]}])", "0:1"},
      {"Never", R"([{"command":["sh","-c","echo hello; sleep 3 && exit 42"]}])", "3:42"},
      {"Never", R"([{"command":["/bin/sh","-c"],"args":["sleep 1; true"]}])", "1:0"},
      {"Never", R"([{"command":["sh","-c","while true; do sleep 1; done"]}])", nullptr},
      {"Never", R"([{"command":["sh","-c","exit 1; sleep 5"]}])", "0:1"},
      {"Never", R"([{"command":["python","train.py"]}])", nullptr},
      {"Never", R"([{"image":"app:1"}])", nullptr},
      {"Never", R"([{"command":["sleep","1"]},{"command":["sh","-c","sleep 4; exit 7"]}])", "4:7"},
      {"Never", R"([{"command":["sleep","1"]},{"command":["nginx"]}])", nullptr},
      {"OnFailure", R"([{"command":["true"]}])", "0:0"},
      {"OnFailure", R"([{"command":["false"]}])", "0:1:again"},
      {"Always", R"([{"command":["true"]}])", "0:0:again"},
  };
  for (const EndCase& test : cases) {
    Json object = *parse_json(R"({"metadata":{"name":"p"},"spec":{}})");
    object["spec"]["restartPolicy"] = test.policy;
    object["spec"]["containers"] = *parse_json(test.containers);
    const auto end =
        end_of_containers(api::decode_pod(object, std::make_shared<const std::string>(to_string(object))));
    std::string text;
    if (end) text = to_string(Json(end->after.seconds_f())) + ":" + std::to_string(end->exit_code);
    const auto whole = text.find(".0:");
    if (whole != std::string::npos) text.erase(whole, 2);
    if (end && end->restarts) text += ":again";
    EXPECT_EQ(text, test.end ? test.end : "") << test.containers;
  }
}

TEST(SimulatedContainers, AnnotationsComeFirst) {
  const Json object = *parse_json(R"({"metadata":{"name":"p","annotations":{"berth.dev/run-time":"9s",
      "berth.dev/exit-code":"3"}},
      "spec":{"restartPolicy":"Never","containers":[{"command":["sleep","1"]}]}})");
  const auto end =
      end_of_containers(api::decode_pod(object, std::make_shared<const std::string>(to_string(object))));
  ASSERT_TRUE(end);
  EXPECT_EQ(end->after, Duration::seconds(9));
  EXPECT_EQ(end->exit_code, 3);
}

TEST(SimulatedContainers, ThoseOfJobsMayHaveADuration) {
  const auto end_of = [](const char* owner_kind, const char* command) {
    Json object = *parse_json(R"({"metadata":{"name":"p","ownerReferences":[{"apiVersion":"batch/v1",
        "name":"o","uid":"u","controller":true}]},"spec":{"restartPolicy":"Never","containers":[{}]}})");
    object["metadata"]["ownerReferences"].as_array()[0]["kind"] = owner_kind;
    object["spec"]["containers"].as_array()[0]["command"] = Json::array({command});
    return end_of_containers(api::decode_pod(object, std::make_shared<const std::string>(to_string(object))),
                             Duration::seconds(7));
  };
  ASSERT_TRUE(end_of("Job", "train"));
  EXPECT_EQ(end_of("Job", "train")->after, Duration::seconds(7));
  EXPECT_EQ(end_of("Job", "train")->exit_code, 0);
  EXPECT_EQ(end_of("Job", "false")->exit_code, 1);
  EXPECT_FALSE(end_of("MPIJob", "train"));
}

TEST(SimulatedContainers, ImagesThatCannotBePulled) {
  for (const char* image : {"webserver:404", "foo:non-existent", "registry:5000/app:missing",
                            "invalid.registry.k8s.io/invalid/alpine:3.1", "registry.invalid/app"})
    EXPECT_TRUE(is_missing_image(image)) << image;
  for (const char* image : {"nginx", "nginx:1.27", "registry:5000/app", "missing/app:1", "app@sha256:404"})
    EXPECT_FALSE(is_missing_image(image)) << image;
}

}  // namespace
}  // namespace berth::controllers
