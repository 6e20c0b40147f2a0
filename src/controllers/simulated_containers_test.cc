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
      {"Never", R"([{"command":["sh","-c","false && sleep 3 || exit 4"]}])", "0:4"},
      {"Never", R"([{"command":["sh","-c","set -e\nsleep 1\nfalse\nsleep 9"]}])", "1:1"},
      {"Never", R"([{"command":["sh","-c","sleep 2 | (exit 3) "]}])", nullptr},
      {"Never", R"([{"command":["sh","-c","sleep 2 | sleep 3 2>&1 >/dev/null; exit"]}])", "3:0"},
      {"Never", R"([{"command":["sh","-c","N=7; [ $((N % 4 + 1)) -eq 4 ] && exit 5"]}])", "0:5"},
      {"Never", R"([{"command":["sh","-c","! [ -n \"\" ] && sleep 2"]}])", "2:0"},
      {"Never", R"([{"command":["sh","-c","exit $UNSET"]}])", nullptr},
      {"Never", R"([{"command":["sh","-c","exit $(( $RANDOM / 32768 )) "]}])", "0:0"},
      {"Never", R"([{"command":["sh","-c","[ -f /etc/passwd ] && exit 1"]}])", nullptr},
      {"Never", R"([{"command":["sh","-c","if false; then train; elif true; then exit 2; fi"]}])", "0:2"},
      {"Never", R"([{"command":["sh","-c","if true; then exit 2"]}])", nullptr},
      {"Never", R"([{"command":["sh","-c","echo 'a; exit 3'; # exit 4\n sleep 1"]}])", "1:0"},
      {"Never", R"([{"command":["sh","-c","sleep 5 & wait"]}])", nullptr},
      {"Never", R"([{"image":"registry.k8s.io/e2e-test-images/busybox:1.37"}])", "0:0"},
      {"Never", R"([{"image":"busybox","stdin":true}])", nullptr},
      {"Never", R"([{"command":["sh","-c","while true; do sleep 1; done"]}])", nullptr},
      {"Never", R"([{"command":["sh","-c","exit 1; sleep 5"]}])", "0:1"},
      {"Never", R"([{"command":["python","train.py"]}])", nullptr},
      {"Never", R"([{"image":"app:1"}])", nullptr},
      {"Never", R"([{"command":["sleep","1"]},{"command":["sh","-c","sleep 4; exit 7"]}])", "4:7"},
      {"Never", R"([{"command":["sleep","1"]},{"command":["nginx"]}])", nullptr},
      {"OnFailure", R"([{"command":["true"]}])", "0:0"},
      {"Never", R"([{"restartPolicy":"OnFailure","command":["false"]}])", "0:1:again"},
      {"Always", R"([{"restartPolicy":"Never","command":["false"]}])", "0:1"},
      {"Never", R"([{"restartPolicy":"Never","restartPolicyRules":[{"action":"Restart","exitCodes":
          {"operator":"In","values":[3]}}],"command":["exit","3"]}])",
       "0:3:again"},
      {"Never", R"([{"restartPolicy":"Never","restartPolicyRules":[{"action":"Restart","exitCodes":
          {"operator":"NotIn","values":[3]}}],"command":["exit","3"]}])",
       "0:3"},
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

TEST(SimulatedContainers, InitContainersThatSayNothingSucceedAtOnce) {
  const Json object = *parse_json(R"({"metadata":{"name":"p"},"spec":{"restartPolicy":"Always",
      "initContainers":[{"command":["sleep","5"]},{"command":["migrate"]},{"image":"busybox"},
        {"command":["false"]},{"restartPolicy":"Never","command":["sh","-c","sleep 1; exit 3"]}],
      "containers":[{"command":["train"]}]}})");
  std::string text;
  for (const ContainersEnd& end : ends_of_init_containers(
           api::decode_pod(object, std::make_shared<const std::string>(to_string(object)))))
    text += std::to_string(end.after.whole_seconds()) + ":" + std::to_string(end.exit_code) +
            (end.restarts ? ":again " : " ");
  EXPECT_EQ(text, "5:0 0:0 0:0 0:1:again 1:3 ");
}

// The line that Kubernetes' own tests of Jobs use.
TEST(SimulatedContainers, ALineMayAskForTheIndexOfItsJob) {
  for (const auto& [index, code] : {std::pair("3", 1), {"4", 0}}) {
    Json object = *parse_json(R"({"metadata":{"name":"p","annotations":{}},"spec":{"restartPolicy":"Never",
        "containers":[{"command":["sh","-c"],"args":[
            "\n if [ $(expr ${JOB_COMPLETION_INDEX} % 2) -ne 0 ]; then\n exit 1\n else\n exit 0\n fi\n"],
          "env":[{"name":"JOB_COMPLETION_INDEX","valueFrom":{"fieldRef":{
            "fieldPath":"metadata.annotations['batch.kubernetes.io/job-completion-index']"}}}]}]}})");
    object["metadata"]["annotations"]["batch.kubernetes.io/job-completion-index"] = index;
    const auto end =
        end_of_containers(api::decode_pod(object, std::make_shared<const std::string>(to_string(object))));
    ASSERT_TRUE(end) << index;
    EXPECT_EQ(end->exit_code, code) << index;
  }
}

TEST(SimulatedContainers, AFileInAVolumeOutlivesARestart) {
  const auto code = [](int restarts, const char* volume, const char* mount) {
    Json object = *parse_json(R"({"metadata":{"name":"p"},"spec":{"restartPolicy":"OnFailure",
        "containers":[{"name":"c","volumeMounts":[{"name":"data"}],"command":["sh","-c",
          "if [[ -r /data/seen ]]\nthen\nexit 0\nelse\ntouch /data/seen\nexit 1\nfi"]}],
        "volumes":[{"name":"data"}]},"status":{"containerStatuses":[{"name":"c"}]}})");
    object["spec"]["volumes"].as_array()[0][volume] = Json::object();
    object["spec"]["containers"].as_array()[0]["volumeMounts"].as_array()[0]["mountPath"] = mount;
    object["status"]["containerStatuses"].as_array()[0]["restartCount"] = restarts;
    const auto end =
        end_of_containers(api::decode_pod(object, std::make_shared<const std::string>(to_string(object))));
    return end ? end->exit_code : -1;
  };
  EXPECT_EQ(code(0, "emptyDir", "/data"), 1);
  EXPECT_EQ(code(1, "emptyDir", "/data"), 0);
  EXPECT_EQ(code(0, "hostPath", "/data"), 1);
  EXPECT_EQ(code(0, "persistentVolumeClaim", "/data"), -1) << "what is in it is not known";
  EXPECT_EQ(code(0, "emptyDir", "/other"), -1);
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
  for (const char* image :
       {"webserver:404", "foo:non-existent", "registry:5000/app:missing",
        "invalid.registry.k8s.io/invalid/alpine:3.1", "registry.invalid/app", "localhost/app"})
    EXPECT_TRUE(is_missing_image(image)) << image;
  for (const char* image :
       {"nginx", "nginx:1.27", "registry:5000/app", "missing/app:1", "app@sha256:404", "localhost:5000/app"})
    EXPECT_FALSE(is_missing_image(image)) << image;
}

}  // namespace
}  // namespace berth::controllers
