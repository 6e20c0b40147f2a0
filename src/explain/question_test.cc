#include "explain/question.h"

#include <gtest/gtest.h>

#include <map>
#include <vector>

namespace berth::explain {
namespace {

const Time kAskedAt = parse_time("2026-01-01T00:01:40Z").value();
const std::string kPods = "/api/v1/namespaces/ns/pods", kDecisions = "/berth/v1alpha1/decisions/";

const std::string kEvents =
    "/api/v1/namespaces/ns/events?fieldSelector=involvedObject.uid%3D12345678-0"
    "%2Creason%3DFailedScheduling&limit=64";

using Paths = std::vector<std::string>;

// Serves the given pages by path and records the requests.
class Pages {
 public:
  std::map<std::string, std::string> served;
  Paths asked;

  Result<Json> ask(api::Kind kind, const std::string& name) {
    const PageReader read = [this](const std::string& path) -> Result<Json> {
      asked.push_back(path);
      const auto page = served.find(path);
      if (page == served.end()) return Json();
      if (page->second.empty()) return Error(ErrorCode::Unavailable, "does not answer");
      return parse_json(page->second);
    };
    return answer({kind, "ns", name}, {read, read}, kAskedAt);
  }
};

TEST(Question, OfAPodReadsItsRecordsRequestAndClaims) {
  Pages pages;
  pages.served[kPods + "/p"] =
      R"({"metadata":{"name":"p","namespace":"ns","uid":"12345678-0"},"spec":{"schedulingGroup":)"
      R"({"podGroupName":"g"},"resourceClaims":[{"name":"a","resourceClaimName":"named"},)"
      R"({"name":"b","resourceClaimTemplateName":"t"}]}})";
  pages.served[kDecisions + "podgroups/ns/g"] =
      R"({"decisions":[{"id":"d1","time":"2026-01-01T00:01:30Z","result":"Unschedulable"}]})";
  const Result<Json> json = pages.ask(api::Kind::Pod, "p");
  ASSERT_TRUE(json.ok()) << json.error().text();
  EXPECT_EQ(json->string_at("summary"), "waits: its group g was not placed, decided 10s ago");
  EXPECT_EQ(pages.asked, (Paths{kPods + "/p", kDecisions + "pods/ns/p", kDecisions + "podgroups/ns/g",
                                "/apis/scheduling.berth.dev/v1alpha1/namespaces/ns/bindrequests/p-12345678",
                                "/apis/resource.k8s.io/v1/namespaces/ns/resourceclaims/named", kEvents}))
      << "the claim of a template is read once its name is known";
  pages.asked.clear();
  pages.served[kDecisions + "pods/ns/p"] = R"({"decisions":[]})";
  ASSERT_TRUE(pages.ask(api::Kind::Pod, "p").ok());
  EXPECT_EQ(pages.asked.size(), 5u) << "events only where nobody serves the record";
}

TEST(Question, OfABoundPodWithDevicesReadsItsNodesReport) {
  Pages pages;
  const std::string claim = "/apis/resource.k8s.io/v1/namespaces/ns/resourceclaims/c";
  const std::string report = "/apis/scheduling.berth.dev/v1alpha1/nodedevicehealths/n1";
  pages.served[kPods + "/p"] =
      R"({"metadata":{"name":"p","namespace":"ns","uid":"12345678-0"},"spec":{"nodeName":"n1",)"
      R"("resourceClaims":[{"name":"a","resourceClaimName":"c"}]}})";
  pages.served[claim] = R"({"metadata":{"name":"c","namespace":"ns"},"status":{"allocation":{"devices":)"
                        R"({"results":[{"request":"r","driver":"d","pool":"p","device":"gpu-1"}]}}}})";
  const std::string devices =
      R"(,"devices":[{"driver":"d","pool":"p","device":"gpu-1","health":"Unhealthy"}]}})";
  pages.served[report] = R"({"spec":{"observed":"2026-01-01T00:01:00Z")" + devices;
  const auto health = [&] {
    const Result<Json> json = pages.ask(api::Kind::Pod, "p");
    return json.ok() ? std::string(json->items_at("devices").front().string_at("health"))
                     : json.error().text();
  };
  EXPECT_EQ(health(), "Unhealthy");
  EXPECT_EQ(pages.asked.back(), "/apis/resource.k8s.io/v1/devicetaintrules");
  pages.served[report] = R"({"spec":{"observed":"2025-12-31T23:58:00Z")" + devices;
  EXPECT_EQ(health(), "") << "not renewed for longer than a report counts";
}

TEST(Question, OfAGroupReadsThreeLists) {
  Pages pages;
  pages.served["/apis/scheduling.k8s.io/v1beta1/namespaces/ns/podgroups/g"] =
      R"({"metadata":{"name":"g","namespace":"ns"},"spec":{}})";
  pages.served[kPods] =
      R"({"items":[{"metadata":{"name":"in","namespace":"ns","uid":"u1"},"spec":{"schedulingGroup":)"
      R"({"podGroupName":"g"}}},{"metadata":{"name":"out","namespace":"ns","uid":"u2"},"spec":{}}]})";
  pages.served["/apis/scheduling.berth.dev/v1alpha1/namespaces/ns/bindrequests"] =
      R"({"items":[{"metadata":{"name":"in-u1"},"spec":{"podUID":"u1","selectedNode":"n1"}}]})";
  const Result<Json> json = pages.ask(api::Kind::PodGroup, "g");
  ASSERT_TRUE(json.ok()) << json.error().text();
  ASSERT_EQ(json->items_at("members").size(), 1u) << to_string(*json);
  EXPECT_EQ(json->items_at("members").front().string_at("name"), "in");
  EXPECT_EQ(json->items_at("members").front().string_at("node"), "n1");
  EXPECT_EQ(pages.asked.size(), 5u);
}

TEST(Question, OfWhatDoesNotExistNamesItsNamesakes) {
  Pages pages;
  EXPECT_EQ(pages.ask(api::Kind::Pod, "a/b").error().message(),
            "pod ns/a/b does not exist; `kubectl get pods -n ns` lists those that do");
  EXPECT_EQ(pages.asked, (Paths{kPods + "/a%2Fb", "/api/v1/pods?fieldSelector=metadata.name%3Da%2Fb"}));
  pages.served["/api/v1/pods?fieldSelector=metadata.name%3Dp"] =
      R"({"items":[{"metadata":{"name":"p","namespace":"far"}}]})";
  EXPECT_EQ(pages.ask(api::Kind::Pod, "p").error().message(),
            "pod ns/p does not exist; one of that name is in namespace far: say so with -n");
}

TEST(Question, EndsAtTheFirstPageThatCannotBeRead) {
  Pages pages;
  pages.served[kPods + "/p"] = R"({"metadata":{"name":"p","namespace":"ns","uid":"u"},"spec":{}})";
  pages.served[kDecisions + "pods/ns/p"] = "";
  EXPECT_EQ(pages.ask(api::Kind::Pod, "p").error().code(), ErrorCode::Unavailable);
  EXPECT_EQ(pages.asked.size(), 2u);
}

}  // namespace
}  // namespace berth::explain
