#include "server/admission_review.h"

#include <gtest/gtest.h>

#include "api/json_diff.h"
#include "api/patch.h"
#include "base/base64.h"
#include "server/in_process_client.h"
#include "server/test_bench.h"
#include "server/test_heard.h"

namespace berth::server {
namespace {

// Adds an annotation to each new pod; refuses pods with the annotation "refuse", and with priority 13.
class Marking final : public api::Admission {
 public:
  Json mutate(Json pod) const override {
    pod["metadata"]["annotations"]["a/b"] = "yes";
    return pod;
  }
  api::FieldErrors validate(const Json& pod, const Json* old) const override {
    const auto refuses = [](const Json& of) {
      return of.part("metadata").part("annotations").find("refuse") != nullptr;
    };
    if (!refuses(pod) || (old && refuses(*old))) return {};
    return {api::forbidden("metadata.annotations[refuse]", "as asked"), api::required("spec.more")};
  }
};

HttpRequest post(std::string path, std::string body) {
  HttpRequest request;
  request.method = "POST";
  request.path = std::move(path);
  request.headers = {{"Content-Type", "application/json; charset=utf-8"}};
  request.body = std::move(body);
  return request;
}

std::string review(const std::string& operation, const std::string& annotations, const std::string& more = "",
                   const std::string& resource = "pods") {
  return R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u-1",)"
         R"("operation":")" +
         operation + R"(","resource":{"group":"","version":"v1","resource":")" + resource +
         R"("},"object":{"metadata":{"name":"p","annotations":{)" + annotations + R"(}},"spec":{}})" + more +
         "}}";
}

Json response_to(const HttpRequest& request) {
  const HttpResponse answer = review_admission(request, Marking());
  EXPECT_EQ(answer.status, 200) << answer.body;
  const Json body = parse_json(answer.body).value_or(Json());
  EXPECT_EQ(body.string_at("apiVersion"), "admission.k8s.io/v1");
  EXPECT_EQ(body.string_at("kind"), "AdmissionReview");
  EXPECT_EQ(body.part("response").string_at("uid"), "u-1");
  return body.part("response");
}

TEST(AdmissionReview, MutateAnswersAPatchForNewPods) {
  const Json answer = response_to(post("/mutate", review("CREATE", R"("x":"1")")));
  EXPECT_TRUE(answer.bool_at("allowed"));
  EXPECT_EQ(answer.string_at("patchType"), "JSONPatch");
  EXPECT_EQ(base64_decode(answer.string_at("patch")).value(),
            R"([{"op":"add","path":"/metadata/annotations/a~1b","value":"yes"}])");
  const Json again = response_to(post("/mutate", review("CREATE", R"("a/b":"yes")")));
  EXPECT_EQ(to_string(again), R"({"uid":"u-1","allowed":true})");
}

TEST(AdmissionReview, ValidateAnswersEveryErrorWithItsField) {
  const Json answer = response_to(post("/validate", review("CREATE", R"("refuse":"me")")));
  EXPECT_FALSE(answer.bool_at("allowed", true));
  EXPECT_EQ(answer.part("status").int_at("code"), 422);
  EXPECT_EQ(
      answer.part("status").string_at("message"),
      "Pod \"p\" is invalid: [metadata.annotations[refuse]: Forbidden: as asked, spec.more: Required value]");
  EXPECT_EQ(answer.part("status").part("details").items_at("causes").size(), 2u);
  const std::string old = R"(,"oldObject":{"metadata":{"annotations":{"refuse":"me"}}})";
  EXPECT_TRUE(response_to(post("/validate", review("UPDATE", R"("refuse":"me")", old))).bool_at("allowed"));
}

TEST(AdmissionReview, AllowsWhatItDoesNotLookAt) {
  const std::string allowed = R"({"uid":"u-1","allowed":true})";
  const std::string bad = R"("refuse":"me")";
  for (const std::string& body :
       {review("CREATE", bad, "", "services"), review("DELETE", bad), review("CONNECT", bad),
        review("UPDATE", bad, R"(,"subResource":"status")")})
    EXPECT_EQ(to_string(response_to(post("/validate", body))), allowed) << body;
  const std::string old = R"(,"oldObject":{"metadata":{}})";
  EXPECT_EQ(to_string(response_to(post("/mutate", review("UPDATE", bad, old)))), allowed);
}

TEST(AdmissionReview, RefusesOtherRequestsInWords) {
  struct Row {
    HttpRequest request;
    int status;
    std::string text;
  };
  HttpRequest get = post("/validate", "");
  get.method = "GET";
  HttpRequest yaml = post("/validate", review("CREATE", ""));
  yaml.headers = {{"Content-Type", "application/yaml"}};
  const std::string head = R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":)";
  const std::string of_pod = R"({"uid":"u","operation":"CREATE","resource":{"resource":"pods"})";
  const Row rows[] = {
      {get, 405, "POST an AdmissionReview"},
      {yaml, 415, "application/json"},
      {post("/other", ""), 404, "/mutate and /validate"},
      {post("/mutate", "{"), 400, "body: no JSON: "},
      {post("/mutate", ""), 400, "body: no JSON: "},
      {post("/mutate", "[]"), 400, "apiVersion: must be admission.k8s.io/v1"},
      {post("/mutate", R"({"apiVersion":"admission.k8s.io/v1","kind":"Pod"})"), 400,
       "kind: must be AdmissionReview"},
      {post("/mutate", head + "5}"), 400, "request.uid: must be set"},
      {post("/mutate", head + of_pod + "}}"), 400, "request.object: must be a Pod"},
      {post("/mutate", head + of_pod + R"(,"object":{"metadata":5}}})"), 400, "request.object: "},
  };
  for (const Row& row : rows) {
    const HttpResponse answer = review_admission(row.request, Marking());
    EXPECT_EQ(answer.status, row.status) << row.request.body;
    EXPECT_NE(answer.body.find(row.text), std::string::npos) << answer.body;
  }
  HttpRequest update = post("/validate", review("UPDATE", ""));
  EXPECT_EQ(review_admission(update, Marking()).body, "request.oldObject: must be a Pod\n");
}

TEST(JsonDiff, MakesOneDocumentOfTheOther) {
  const char* const documents[] = {
      "{}",
      R"({"a":1,"b":[1,2],"c":{"d":"x"}})",
      R"({"a":2,"b":[1,3,4],"c":{"e/f":"y","d":"x"}})",
      R"({"b":[],"c":null,"~":{"a":[[1],[2]]}})",
      R"({"b":[{"n":1}],"c":"text","~":{"a":[[1,5],[2]]}})",
  };
  for (const char* from : documents)
    for (const char* to : documents) {
      const Json before = *parse_json(from), after = *parse_json(to);
      const JsonArray patch = api::json_patch_between(before, after);
      EXPECT_EQ(patch.empty(), before == after) << from << to;
      EXPECT_EQ(api::apply_json_patch(before, to_string(Json(patch))).value(), after) << from << to;
    }
}

TEST(EmbeddedAdmission, ChangesAndRefusesPodsWithAllErrors) {
  const Marking marking;
  ServerBench bench({}, {}, nullptr, &marking);
  const auto client = make_in_process_client(bench.server, "system:admin");
  const auto create = [&](const std::string& resource, const std::string& body) {
    client::ApiRequest request;
    request.verb = client::Verb::Create;
    request.resource = {"", "v1", resource};
    request.ns = "default";
    request.body = body;
    client::ApiReply reply;
    client->submit(std::move(request), [&reply](client::ApiReply heard) { reply = std::move(heard); });
    return reply;
  };
  const std::string spec = R"(,"spec":{"containers":[{"name":"c","image":"i"}]}})";
  const client::ApiReply made = create("pods", R"({"metadata":{"name":"p"})" + spec);
  ASSERT_EQ(made.code, 201) << made.message;
  EXPECT_NE(made.object->find(R"("annotations":{"a/b":"yes"})"), std::string::npos) << *made.object;

  const client::ApiReply refused =
      create("pods", R"({"metadata":{"name":"q","annotations":{"refuse":"me"}},"spec":{"containers":[]}})");
  EXPECT_EQ(refused.code, 422);
  EXPECT_NE(refused.message.find("spec.containers: Required value"), std::string::npos) << refused.message;
  EXPECT_NE(refused.message.find("metadata.annotations[refuse]: Forbidden: as asked"), std::string::npos)
      << refused.message;

  const client::ApiReply map =
      create("configmaps", R"({"metadata":{"name":"m","annotations":{"refuse":"me"}}})");
  EXPECT_EQ(map.code, 201) << map.message;
}

}  // namespace
}  // namespace berth::server
