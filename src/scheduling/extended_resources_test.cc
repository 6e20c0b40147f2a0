#include "placement/plugins/extended_resources.h"

#include <gtest/gtest.h>

#include "scheduling/test_bench.h"

namespace berth::scheduling {
namespace {

api::Pod pod_of(const std::string& spec) {
  const std::string text = R"({"metadata":{"namespace":"default","name":"p","uid":"u"},"spec":)" + spec + "}";
  return api::decode_pod(*parse_json(text), nullptr);
}

std::string container(const std::string& name, int gpus, const std::string& more = "") {
  return R"({"name":")" + name + R"(","resources":{"requests":{"cpu":"1","x.io/gpu":")" +
         std::to_string(gpus) + R"("}})" + more + "}";
}

// "name=count …; container>request …"
std::string text_of(const api::ExtendedClaim& claim) {
  std::string text;
  for (const Json& one : claim.requests.as_array())
    text +=
        std::string(one.string_at("name")) + "=" + std::to_string(one.part("exactly").int_at("count")) + " ";
  text += ";";
  for (const Json& one : claim.mappings.as_array())
    text +=
        " " + std::string(one.string_at("containerName")) + ">" + std::string(one.string_at("requestName"));
  return text;
}

TEST(ExtendedClaim, InitContainersUseWhatRunsLaterAndSidecarsAdd) {
  const std::string sidecar = R"(,"restartPolicy":"Always")";
  struct Row {
    std::string init, containers, text;
  };
  const Row rows[] = {
      {"", container("a", 2), "container-0-request-1=2 ; a>container-0-request-1"},
      {"", container("a", 0), ";"},
      {container("i", 1), container("a", 2),
       "container-1-request-1=2 ; a>container-1-request-1 i>container-1-request-1"},
      {container("i", 5), container("a", 2),
       "container-0-request-1=3 container-1-request-1=2 ; a>container-1-request-1 i>container-1-request-1 "
       "i>container-0-request-1"},
      {container("i", 3) + "," + container("j", 5), container("a", 2),
       "container-1-request-1=3 container-2-request-1=2 ; a>container-2-request-1 i>container-2-request-1 "
       "i>container-1-request-1 j>container-2-request-1 j>container-1-request-1"},
      {container("s", 1, sidecar) + "," + container("i", 1), container("a", 1),
       "container-0-request-1=1 container-2-request-1=1 ; s>container-0-request-1 a>container-2-request-1 "
       "i>container-2-request-1"},
  };
  for (const Row& row : rows) {
    const api::Pod pod =
        pod_of(R"({"initContainers":[)" + row.init + R"(],"containers":[)" + row.containers + "]}");
    EXPECT_EQ(text_of(placement::plugins::extended_claim(pod, {{"x.io/gpu", "c"}})), row.text);
  }
}

}  // namespace
}  // namespace berth::scheduling
