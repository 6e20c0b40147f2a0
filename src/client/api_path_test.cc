#include "client/api_path.h"

#include <gtest/gtest.h>

#include "api/serialized.h"
#include "base/hex.h"

namespace berth::client {
namespace {

ApiRequest request(Verb verb, api::ResourceRef resource, std::string ns, std::string name,
                   std::string subresource = "") {
  return {verb, std::move(resource), std::move(ns), std::move(name), std::move(subresource), ""};
}

TEST(ApiPath, FollowsTheUrlsOfTheApi) {
  const api::ResourceRef pods{"", "v1", "pods"};
  const api::ResourceRef slices{"resource.k8s.io", "v1", "resourceslices"};
  const struct {
    ApiRequest request;
    std::string_view path;
  } rows[] = {
      {request(Verb::Get, pods, "a", "web"), "/api/v1/namespaces/a/pods/web"},
      {request(Verb::Create, pods, "a", "web"), "/api/v1/namespaces/a/pods"},
      {request(Verb::Create, pods, "a", "web", "binding"), "/api/v1/namespaces/a/pods/web/binding"},
      {request(Verb::Delete, slices, "", "s"), "/apis/resource.k8s.io/v1/resourceslices/s"},
  };
  for (const auto& row : rows) EXPECT_EQ(path_of(row.request), row.path);
  EXPECT_EQ(path_of(pods), "/api/v1/pods");
}

TEST(ApiPath, EncodesWhatAUrlCannotHold) {
  EXPECT_EQ(percent_encoded("/a/system:x@y-._~", kPlainInPath), "/a/system:x@y-._~");
  EXPECT_EQ(percent_encoded("a+b=c&d?e f%", kPlainInPath), "a%2Bb%3Dc%26d%3Fe%20f%25");
}

TEST(AcceptedTypes, ProtobufForBuiltInKindsAlone) {
  EXPECT_EQ(accepted_types({"", "v1", "pods"}), "application/vnd.kubernetes.protobuf, application/json");
  EXPECT_EQ(accepted_types({"scheduling.berth.dev", "v1alpha1", "bindrequests"}), "application/json");
  EXPECT_EQ(accepted_types({"example.com", "v1", "widgets"}), "application/json");
}

TEST(SentBody, ProtobufForWholeObjectsOfBuiltInKindsAlone) {
  const api::ResourceRef pods{"", "v1", "pods"};
  const auto sent = [](Verb verb, const api::ResourceRef& resource, std::string body) {
    ApiRequest asked = request(verb, resource, "a", "x");
    asked.body = std::move(body);
    return sent_body(asked);
  };
  const std::string pod = R"({"kind":"Pod","apiVersion":"v1","metadata":{"name":"x"}})";
  for (const Verb verb : {Verb::Create, Verb::Update}) {
    const SentBody body = sent(verb, pods, pod);
    EXPECT_EQ(body.content_type, "application/vnd.kubernetes.protobuf");
    EXPECT_EQ(api::parse_object(body.bytes)->part("metadata").string_at("name"), "x");
  }
  const SentBody patch = sent(Verb::MergePatch, pods, pod);
  EXPECT_EQ(patch.content_type, "application/merge-patch+json");
  EXPECT_EQ(patch.bytes, pod);
  const std::string unknown = R"({"kind":"Pod","apiVersion":"v1","spec":{"newField":1}})";
  const SentBody whole = sent(Verb::Create, pods, unknown);
  EXPECT_EQ(whole.content_type, "application/json");
  EXPECT_EQ(whole.bytes, unknown);
  // Of a custom resource, whatever its body says.
  EXPECT_EQ(sent(Verb::Create, {"example.com", "v1", "widgets"}, pod).bytes, pod);
}

TEST(AnsweredReply, TellsObjectsFromStatuses) {
  const ApiReply object = answered_reply(200, R"({"kind":"Pod","note":"\"kind\":\"Status\""})");
  EXPECT_TRUE(object.ok());
  ASSERT_TRUE(object.object);
  const ApiReply done = answered_reply(200, R"({"kind":"Status","status":"Success"})");
  EXPECT_TRUE(done.ok());
  EXPECT_FALSE(done.object);
  const ApiReply busy = answered_reply(
      429, R"({"kind":"Status","reason":"TooManyRequests","message":"m","details":{"retryAfterSeconds":7}})");
  EXPECT_EQ(busy.reason, "TooManyRequests");
  EXPECT_EQ(busy.message, "m");
  EXPECT_EQ(busy.retry_after_s, 7);
  const ApiReply proxy = answered_reply(502, "<html>bad gateway");
  EXPECT_FALSE(proxy.ok());
  EXPECT_FALSE(proxy.object);
  EXPECT_EQ(proxy.message, "<html>bad gateway");
}

}  // namespace
}  // namespace berth::client
