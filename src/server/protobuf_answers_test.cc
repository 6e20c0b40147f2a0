// Answers in protobuf, and the choice among the media types that a client accepts.
#include <gtest/gtest.h>

#include <algorithm>

#include "api/protobuf.h"
#include "api/protobuf_objects.h"
#include "api/serialized.h"
#include "server/accept.h"
#include "server/served.h"
#include "server/test_bench.h"

namespace berth::server {
namespace {

const std::string kSmallMaps = "/api/v1/namespaces/default/configmaps";
const std::string kWidgets = "/apis/ex.io/v1/namespaces/default/widgets";
const std::string kProtobuf = "application/vnd.kubernetes.protobuf";
const std::string kPartial = ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
const std::string kPartialList = ";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
const std::string kTable = ";as=Table;g=meta.k8s.io;v=v1";

class Kept final : public HttpExchange {
 public:
  void respond(HttpResponse said) override { response = std::move(said); }
  void begin_stream(int status, Headers headers) override { response = {status, std::move(headers), ""}; }
  bool send(std::string chunk) override {
    chunks.push_back(std::move(chunk));
    return true;
  }
  void end_stream() override { ended = true; }
  void on_close(std::function<void()>) override {}

  std::string media_type() const {
    for (const auto& [name, value] : response.headers)
      if (name == "Content-Type") return value;
    return "";
  }
  // The document, whichever its encoding says it is.
  Json document() const {
    EXPECT_EQ(api::is_protobuf(response.body), media_type() == kProtobuf) << response.body;
    return api::parse_object(response.body).value_or(Json());
  }
  // "ADDED {…}", of frames that are whole.
  std::string event(std::size_t at) const {
    if (at >= chunks.size()) return "none";
    EXPECT_EQ(api::frame_length(chunks[at]), chunks[at].size() - api::kFrameHeaderBytes);
    const auto event = api::open_protobuf_event(std::string_view(chunks[at]).substr(api::kFrameHeaderBytes));
    return std::string(event->type) + " " + to_string(api::parse_object(event->object).value_or(Json()));
  }

  HttpResponse response{0, {}, ""};
  std::vector<std::string> chunks;
  bool ended = false;
};

const std::string kWidget = R"({"apiVersion":"ex.io/v1","kind":"Widget","metadata":{"name":"w"}})";
const std::string kWidgetDefinition =
    R"({"metadata":{"name":"widgets.ex.io"},"spec":{"group":"ex.io","scope":"Namespaced",
 "names":{"plural":"widgets","kind":"Widget"},"versions":[{"name":"v1","served":true,"storage":true,
 "schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}})";

std::shared_ptr<Kept> ask_of(ServerBench& bench, std::string method, std::string path, std::string accept,
                             std::string body = "", Headers query = {}) {
  auto kept = std::make_shared<Kept>();
  HttpRequest request;
  request.headers = {
      {"Accept", std::move(accept)},
      {"Content-Type", method == "PATCH" ? "application/merge-patch+json" : "application/json"}};
  request.method = std::move(method);
  request.path = std::move(path);
  request.query = std::move(query);
  request.body = std::move(body);
  request.user = {"root", {"system:masters"}};
  bench.server.handle(std::move(request), kept);
  return kept;
}

// In protobuf an empty list is none.
Json without_empty_items(Json document) {
  if (document.is_object() && document.items_at("items").empty()) document.as_object().erase("items");
  return document;
}

class ProtobufAnswers : public testing::Test {
 protected:
  std::shared_ptr<Kept> ask(std::string method, std::string path, std::string accept, std::string body = "",
                            Headers query = {}) {
    return ask_of(bench, std::move(method), std::move(path), std::move(accept), std::move(body),
                  std::move(query));
  }
  std::shared_ptr<Kept> watch(std::string path, std::string accept, Headers query = {}) {
    query.emplace_back("watch", "true");
    return ask("GET", std::move(path), std::move(accept), "", std::move(query));
  }
  void make(const std::string& name) {
    const auto made =
        ask("POST", kSmallMaps, "", R"({"metadata":{"name":")" + name + R"("},"data":{"k":"1"}})");
    EXPECT_EQ(made->response.status, 201) << made->response.body;
  }
  void make_widget() {
    for (const auto& [path, body] :
         {std::pair(kDefinitionsPath, kWidgetDefinition), std::pair(kWidgets, kWidget)}) {
      const auto made = ask("POST", path, "", body);
      EXPECT_EQ(made->response.status, 201) << made->response.body;
    }
  }

  ServerBench bench{{.watch_window_events = 4}};
};

// The same requests in the same order to two servers, of which one is asked for JSON.
TEST_F(ProtobufAnswers, EveryVerbSaysWhatItSaysInJson) {
  struct Row {
    const char* method;
    std::string path;
    const char* body;
    int code;
  };
  const std::string pods = "/api/v1/namespaces/default/pods", leases = "/apis/coordination.k8s.io/v1/leases";
  const std::string sets = "/apis/apps/v1/namespaces/default/replicasets";
  const Row rows[] = {
      {"POST", kSmallMaps, R"({"metadata":{"name":"a","annotations":{"l":"ü"}},"data":{"k":"1"}})", 201},
      {"GET", kSmallMaps + "/a", "", 200},
      {"PUT", kSmallMaps + "/a", R"({"metadata":{"name":"a"},"binaryData":{"b":"AP8="}})", 200},
      {"PATCH", kSmallMaps + "/a", R"({"data":{"k":"2"}})", 200},
      {"GET", kSmallMaps, "", 200},
      {"DELETE", kSmallMaps + "/a", "", 200},
      {"GET", kSmallMaps + "/a", "", 404},
      {"GET", kSmallMaps, "", 200},
      {"POST", kSmallMaps, R"({"metadata":{"name":"No"}})", 422},
      {"POST", kSmallMaps, "[]", 400},
      {"GET", "/api/v1/namespaces/default/nosuch", "", 404},
      {"POST", pods,
       R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i",)"
       R"("resources":{"limits":{"cpu":"500m"}},"livenessProbe":{"httpGet":{"port":"http"}}}]}})",
       201},
      {"POST", pods + "/p/eviction", R"({"metadata":{"name":"p"}})", 201},
      {"DELETE", pods, "", 200},
      {"POST", sets,
       R"({"metadata":{"name":"s"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":)"
       R"({"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}})",
       201},
      {"GET", sets + "/s/scale", "", 200},
      {"GET", leases, "", 200},
      {"POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
       R"({"spec":{"resourceAttributes":{"verb":"get","resource":"pods"}}})", 201},
      {"POST", kDefinitionsPath, kWidgetDefinition.c_str(), 201},
  };
  ServerBench twin{{.watch_window_events = 4}};
  for (const Row& row : rows) {
    SCOPED_TRACE(std::string(row.method) + " " + row.path);
    const auto said = ask(row.method, row.path, kProtobuf, row.body);
    const auto json = ask_of(twin, row.method, row.path, "", row.body);
    EXPECT_EQ(said->response.status, row.code) << to_string(said->document());
    EXPECT_EQ(said->media_type(), kProtobuf);
    EXPECT_EQ(json->media_type(), "application/json");
    EXPECT_FALSE(json->document().string_at("kind").empty());
    EXPECT_EQ(without_empty_items(said->document()), without_empty_items(json->document()))
        << json->response.body;
  }
}

// An object of the older shape is converted before it is written.
TEST_F(ProtobufAnswers, VersionsOfAnotherShapeAreWrittenInTheirs) {
  const std::string slices = "/apis/resource.k8s.io/v1beta1/resourceslices";
  const auto made = ask("POST", slices, "",
                        R"({"metadata":{"name":"s"},"spec":{"driver":"d.example.com","nodeName":"n",)"
                        R"("pool":{"name":"p","generation":1,"resourceSliceCount":1},)"
                        R"("devices":[{"name":"a","basic":{"attributes":{"m":{"string":"x"}}}}]}})");
  ASSERT_EQ(made->response.status, 201) << made->response.body;
  for (const std::string& path : {slices, slices + "/s"}) {
    const std::string json = to_string(ask("GET", path, "")->document());
    EXPECT_NE(json.find("basic"), std::string::npos);
    EXPECT_EQ(to_string(ask("GET", path, kProtobuf)->document()), json);
  }
  EXPECT_NE(watch(slices, kProtobuf)->event(0).find("basic"), std::string::npos);
}

TEST_F(ProtobufAnswers, EveryResourceListsInProtobuf) {
  std::size_t lists = 0;
  for (const api::ResourceInfo& resource : api::resources()) {
    if (!is_served(resource, bench.gates) || resource.verbs.find("list") == std::string_view::npos) continue;
    std::string path = resource.group.empty() ? "/api/" : "/apis/" + std::string(resource.group) + "/";
    path.append(resource.version).append("/").append(resource.plural);
    const auto json = ask("GET", path, ""), said = ask("GET", path, kProtobuf + ",application/json");
    EXPECT_EQ(said->media_type() == kProtobuf, resource.has_protobuf()) << path;
    EXPECT_EQ(without_empty_items(said->document()), without_empty_items(json->document())) << path;
    ++lists;
  }
  EXPECT_GT(lists, 60u);
}

TEST_F(ProtobufAnswers, AWatchIsFramesOfEvents) {
  make("a");
  const auto peer = watch(kSmallMaps, kProtobuf + ";stream=watch",
                          {{"sendInitialEvents", "true"},
                           {"resourceVersionMatch", "NotOlderThan"},
                           {"allowWatchBookmarks", "true"}});
  const auto lines = watch(kSmallMaps, "application/json", {{"resourceVersion", "0"}});
  EXPECT_EQ(peer->media_type(), kProtobuf + ";stream=watch");
  const std::string stored = to_string(ask("GET", kSmallMaps + "/a", "")->document());
  EXPECT_EQ(peer->event(0), "ADDED " + stored);
  const std::string end = peer->event(1);
  EXPECT_TRUE(
      end.starts_with(R"(BOOKMARK {"kind":"ConfigMap","apiVersion":"v1","metadata":{"resourceVersion":")"))
      << end;
  EXPECT_NE(end.find(R"("annotations":{"k8s.io/initial-events-end":"true"})"), std::string::npos) << end;
  ask("PATCH", kSmallMaps + "/a", "", R"({"data":{"k":"2"}})");
  EXPECT_EQ(peer->event(2), "MODIFIED " + to_string(ask("GET", kSmallMaps + "/a", "")->document()));
  ask("DELETE", kSmallMaps + "/a", "");
  ASSERT_EQ(peer->chunks.size(), 4u);
  EXPECT_TRUE(peer->event(3).starts_with(R"(DELETED {"kind":"ConfigMap",)")) << peer->event(3);
  // One object's worth of JSON a line says the same.
  ASSERT_EQ(lines->chunks.size(), 3u);
  EXPECT_EQ("DELETED " + to_string(parse_json(lines->chunks[2])->part("object")), peer->event(3));
}

// Of different forms, and of a selector that an object enters and leaves.
TEST_F(ProtobufAnswers, WatchesEachHearTheirOwn) {
  const Headers selected = {{"labelSelector", "on=1"}};
  const auto one = watch(kSmallMaps, kProtobuf), other = watch(kSmallMaps, kProtobuf);
  const auto some = watch(kSmallMaps, kProtobuf, selected);
  const auto slim = watch(kSmallMaps, kProtobuf + kPartial);
  make("a");
  for (const char* label : {"1", "0"})
    ask("PATCH", kSmallMaps + "/a", "", std::string(R"({"metadata":{"labels":{"on":")") + label + R"("}}})");
  ask("DELETE", kSmallMaps + "/a", "");
  ASSERT_EQ(one->chunks.size(), 4u);
  EXPECT_EQ(one->chunks, other->chunks);
  ASSERT_EQ(some->chunks.size(), 2u);
  EXPECT_TRUE(one->event(1).starts_with("MODIFIED ")) << one->event(1);
  EXPECT_EQ(some->event(0), "ADDED " + one->event(1).substr(std::string("MODIFIED ").size()));
  EXPECT_TRUE(some->event(1).starts_with("DELETED ")) << some->event(1);
  EXPECT_NE(some->event(1).find(R"("on":"1")"), std::string::npos) << "the state before it left";
  ASSERT_EQ(slim->chunks.size(), 4u);
  EXPECT_TRUE(slim->event(3).starts_with(R"(DELETED {"kind":"PartialObjectMetadata",)")) << slim->event(3);
}

TEST_F(ProtobufAnswers, AWatchThatCannotGoOnSaysWhyInItsLastFrame) {
  for (const char* name : {"a", "b", "c", "d", "e", "f", "g"}) make(name);
  const auto peer = watch(kSmallMaps, kProtobuf, {{"resourceVersion", "2"}});
  ASSERT_EQ(peer->chunks.size(), 1u);
  EXPECT_TRUE(peer->event(0).starts_with(R"(ERROR {"kind":"Status","apiVersion":"v1","metadata":{},)"
                                         R"("status":"Failure","message":"too old resource version: 2 ()"))
      << peer->event(0);
  EXPECT_TRUE(peer->ended);
}

TEST_F(ProtobufAnswers, MetadataAloneOfAnyKind) {
  make("a");
  make_widget();
  for (const std::string& path : {kSmallMaps + "/a", kWidgets + "/w"}) {
    const auto one = ask("GET", path, kProtobuf + kPartial);
    EXPECT_EQ(one->media_type(), kProtobuf);
    const Json expected = ask("GET", path, "application/json" + kPartial)->document();
    EXPECT_EQ(expected.string_at("kind"), "PartialObjectMetadata");
    EXPECT_EQ(to_string(one->document()), to_string(expected));
  }
  for (const std::string& path : {kSmallMaps, kWidgets}) {
    const auto list = ask("GET", path, kProtobuf + kPartialList);
    EXPECT_EQ(list->media_type(), kProtobuf);
    const Json said = list->document();
    EXPECT_EQ(said.string_at("kind"), "PartialObjectMetadataList");
    ASSERT_EQ(said.items_at("items").size(), 1u);
    EXPECT_FALSE(said.items_at("items")[0].part("metadata").string_at("uid").empty());
    EXPECT_FALSE(said.part("metadata").string_at("resourceVersion").empty());
    const auto events = watch(path, kProtobuf + kPartial);
    ASSERT_EQ(events->chunks.size(), 1u);
    EXPECT_TRUE(events->event(0).starts_with(
        R"(ADDED {"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1",)"))
        << events->event(0);
  }
}

TEST_F(ProtobufAnswers, MetadataInItsOlderVersionSaysSo) {
  make("a");
  const std::string older = ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1beta1";
  const std::string older_list = ";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1beta1";
  for (const std::string& type : {kProtobuf, std::string("application/json")}) {
    const Json one = ask("GET", kSmallMaps + "/a", type + older)->document();
    EXPECT_EQ(one.string_at("apiVersion"), "meta.k8s.io/v1beta1");
    EXPECT_EQ(one.part("metadata").string_at("name"), "a");
    const Json list = ask("GET", kSmallMaps, type + older_list)->document();
    EXPECT_EQ(list.string_at("apiVersion"), "meta.k8s.io/v1beta1");
    EXPECT_FALSE(list.part("metadata").string_at("resourceVersion").empty());
    ASSERT_EQ(list.items_at("items").size(), 1u);
    EXPECT_EQ(list.items_at("items")[0].part("metadata").string_at("name"), "a");
  }
}

TEST_F(ProtobufAnswers, ADryRunSaysItsKindOnce) {
  const auto said = ask("POST", kSmallMaps, "", R"({"metadata":{"name":"a"}})", {{"dryRun", "All"}});
  EXPECT_EQ(said->response.status, 201);
  const Json document = said->document();
  EXPECT_TRUE(said->response.body.starts_with(R"({"kind":"ConfigMap","apiVersion":"v1","metadata":{)"));
  for (const char* name : {"kind", "apiVersion", "metadata"})
    EXPECT_EQ(std::count_if(document.as_object().begin(), document.as_object().end(),
                            [&](const JsonMember& member) { return member.key == name; }),
              1)
        << name;
}

TEST_F(ProtobufAnswers, WhatCouldBeAnsweredIsNamed) {
  make_widget();
  const std::string types =
      "406: Not Acceptable\n\nAvailable representations: application/json, "
      "application/yaml, application/vnd.kubernetes.protobuf";
  EXPECT_EQ(ask("GET", kSmallMaps + "/a", "text/plain")->document().string_at("message"), types);
  EXPECT_EQ(ask("GET", kSmallMaps, "text/plain")->document().string_at("message"),
            types + ", application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch");
  EXPECT_EQ(ask("GET", kWidgets, "application/json" + kPartial)->document().string_at("message"),
            "you requested PartialObjectMetadata, but the requested object is a list "
            "(*unstructured.UnstructuredList)");
}

struct Negotiated {
  std::string accept;
  int code;
  std::string media_type;
};

// As apiserver/pkg/endpoints/handlers/negotiation decides with goautoneg, its own order of wildcards
// included.
TEST_F(ProtobufAnswers, TheMostPreferredTypeThatCanBeWrittenIsAnswered) {
  make("a");
  const std::string json = "application/json", yaml = "application/yaml";
  const Negotiated rows[] = {
      {"", 200, json},
      {"*/*", 200, json},
      {"application/*, */*;q=0.1", 200, json},
      {kProtobuf, 200, kProtobuf},
      {kProtobuf + ",application/json", 200, kProtobuf},
      {"application/json," + kProtobuf, 200, json},
      {"application/json;q=0.5, " + kProtobuf + ";q=0.8", 200, kProtobuf},
      {"application/json;q=0.8, " + kProtobuf + ";q=0.5, application/yaml;q=0.9", 200, yaml},
      {"application/json;q=x," + kProtobuf + ";q=0.1", 200, kProtobuf},
      {"*/*;q=1, " + kProtobuf + ";q=0.1", 200, kProtobuf},
      {"text/plain, " + kProtobuf, 200, kProtobuf},
      {kProtobuf + kTable + ", application/json" + kTable, 200, json},
      {kProtobuf + kTable, 406, json},
      {kProtobuf + kPartial, 200, kProtobuf},
      {kProtobuf + kPartial + "beta9, application/json", 200, json},
      {kProtobuf + ";as=Pod;g=;v=v1, " + kProtobuf, 200, kProtobuf},
      {kProtobuf + ";v=v1, application/yaml", 200, yaml},
      {kProtobuf + ";sv=v1", 200, kProtobuf},
      {kProtobuf + ";sv=v2, application/json", 200, json},
      {kProtobuf + ";stream=watch", 200, kProtobuf},
      {kProtobuf + ";stream=other, application/json", 200, json},
      {"application/yaml;stream=watch, " + kProtobuf, 200, kProtobuf},
      {"application/json/x, " + kProtobuf, 200, kProtobuf},
      {"text/plain", 406, json},
      {"application/*", 406, json},
      {"application/cbor, " + kProtobuf, 200, kProtobuf},
  };
  for (const Negotiated& row : rows) {
    const auto said = ask("GET", kSmallMaps + "/a", row.accept);
    EXPECT_EQ(said->response.status, row.code) << row.accept;
    EXPECT_EQ(said->media_type(), row.media_type) << row.accept;
  }
}

// What they are not written in falls to the next type.
TEST_F(ProtobufAnswers, KindsWithoutProtobufAreAnsweredInTheNextType) {
  make_widget();
  const std::string requests = "/apis/scheduling.berth.dev/v1alpha1/bindrequests";
  for (const std::string& path : {kWidgets, kWidgets + "/w", requests}) {
    EXPECT_EQ(ask("GET", path, kProtobuf + ",application/json")->media_type(), "application/json");
    EXPECT_EQ(ask("GET", path, kProtobuf + ", application/yaml;q=0.1")->media_type(), "application/yaml");
    const auto none = ask("GET", path, kProtobuf);
    EXPECT_EQ(none->response.status, 406);
    EXPECT_EQ(none->media_type(), kProtobuf) << "a Status is written in it";
    EXPECT_EQ(none->document().string_at("message"),
              "only the following media types are accepted: application/json, application/yaml, "
              "application/vnd.kubernetes.protobuf");
  }
  EXPECT_EQ(watch(kWidgets, kProtobuf + ",application/json")->media_type(), "application/json");
  EXPECT_EQ(ask("GET", kWidgets + "/w", "text/plain")->document().string_at("message"),
            "only the following media types are accepted: application/json, application/yaml, "
            "application/vnd.kubernetes.protobuf");
}

TEST_F(ProtobufAnswers, AStatusIsInATypeThatItCanHave) {
  const auto type_of = [&](const std::string& accept) {
    const auto said = ask("GET", kSmallMaps + "/absent", accept);
    EXPECT_EQ(said->response.status, 404);
    return said->media_type();
  };
  EXPECT_EQ(type_of(kProtobuf), kProtobuf);
  EXPECT_EQ(type_of("application/yaml"), "application/yaml");
  EXPECT_EQ(type_of(kProtobuf + kPartial), "application/json") << "a Status is no metadata";
  EXPECT_EQ(type_of("application/json" + kTable + "," + kProtobuf), kProtobuf);
}

TEST_F(ProtobufAnswers, AWatchIsNeverYaml) {
  const auto said = watch(kSmallMaps, "application/yaml");
  EXPECT_EQ(said->response.status, 406);
  EXPECT_NE(said->response.body.find("only the following media types are accepted: "
                                     "application/json;stream=watch, "
                                     "application/vnd.kubernetes.protobuf;stream=watch"),
            std::string::npos)
      << said->response.body;
}

// Members that only Berth has come back to Berth's own parts, which ask for protobuf.
TEST_F(ProtobufAnswers, FieldsOfBerthsOwnAreCarried) {
  const std::string pods = "/api/v1/namespaces/default/pods";
  ask("POST", pods, "", R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}]}})");
  const auto patched = ask("PATCH", pods + "/p/status", kProtobuf,
                           R"({"status":{"allocatedResourcesStatus":[{"name":"claim:a","resources":)"
                           R"([{"resourceID":"r","health":"Unhealthy"}]}]}})");
  EXPECT_EQ(patched->response.status, 200);
  const Json said = patched->document();
  ASSERT_EQ(said.part("status").items_at("allocatedResourcesStatus").size(), 1u) << to_string(said);
  EXPECT_EQ(said.part("status").items_at("allocatedResourcesStatus")[0].string_at("name"), "claim:a");
}

}  // namespace
}  // namespace berth::server
