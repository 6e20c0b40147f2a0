#include "server/usage_metrics.h"

#include <thread>

#include "api/simulated_usage.h"
#include "server/test_bench.h"
#include "server/test_heard.h"
#include "server/test_store.h"

namespace berth::server {
namespace {

// Lists of pods wait until the test lets them through: as when there are very many.
class SlowLists final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  bool is_slow = false;
  mutable Heard begun, go, went;

  Result<store::ListPage> list(const store::ListQuery& query) const override {
    if (is_slow && query.resource == "pods") {
      begun.put("begun");
      went.put(go.take());
    }
    return inner().list(query);
  }
};

const std::string kMetrics = "/apis/metrics.k8s.io/v1beta1";

class UsageMetricsTest : public testing::Test, protected ServerBench {
 protected:
  struct Told {
    int code;
    Json body;
    std::string warning;
  };
  Told ask_for(const std::string& method, const std::string& path, const std::string& body = "",
               Headers query = {}, const std::string& accept = "application/json") {
    HttpRequest request;
    request.method = method;
    request.path = path;
    request.query = std::move(query);
    request.body = body;
    request.headers = {{"Accept", accept}};
    if (method == "PATCH") request.headers.emplace_back("Content-Type", "application/merge-patch+json");
    request.user = {"root", {"system:masters"}};
    const auto said = std::make_shared<Said>();
    server.handle(std::move(request), said);
    Told told{said->response.status, parse_json(said->response.body).value_or(Json()), ""};
    for (const auto& [name, value] : said->response.headers)
      if (name == "Warning") told.warning += value;
    return told;
  }
  void add_node(const std::string& name, const std::string& metadata) {
    EXPECT_EQ(
        ask_for("POST", "/api/v1/nodes", R"({"metadata":{"name":")" + name + "\"," + metadata + "}}").code,
        201);
  }
  void add_pod(const std::string& ns, const std::string& name, const std::string& metadata,
               const std::string& containers, const std::string& node = "n1") {
    const std::string pods = "/api/v1/namespaces/" + ns + "/pods";
    const Told made =
        ask_for("POST", pods,
                R"({"metadata":{"name":")" + name + "\"" + metadata + R"(},"spec":{"nodeName":")" + node +
                    R"(","containers":[)" + containers + "]}}");
    ASSERT_EQ(made.code, 201) << to_string(made.body);
    ASSERT_EQ(ask_for("PATCH", pods + "/" + name + "/status",
                      R"({"status":{"phase":"Running","conditions":[{"type":"ContainersReady","status":"True",
                          "lastTransitionTime":")" +
                          format_time(clock.now()) + R"("}]}})")
                  .code,
              200);
  }
  // "name cpu,memory" of each container of each pod.
  std::vector<std::string> usages(const std::string& path, Headers query = {}) {
    std::vector<std::string> lines;
    const Json list = ask_for("GET", kMetrics + path, "", std::move(query)).body;
    for (const Json& item : list.items_at("items")) {
      std::string line(item.part("metadata").string_at("name"));
      for (const Json& container : item.items_at("containers"))
        line += " " + std::string(container.string_at("name")) + "=" + amounts_of(container);
      if (item.find("usage")) line += " " + amounts_of(item);
      lines.push_back(std::move(line));
    }
    return lines;
  }
  static std::string amounts_of(const Json& owner) {
    const Json& usage = owner.part("usage");
    return std::string(usage.string_at("cpu")) + "," + std::string(usage.string_at("memory"));
  }
  static std::string container(const std::string& name, const std::string& requests) {
    return R"({"name":")" + name + R"(","image":"i","resources":{"requests":{)" + requests + "}}}";
  }
  static constexpr const char* kSimulated = R"("labels":{"berth.dev/simulated":"true"})";
  static constexpr const char* kHalfCore = R"("cpu":"500m","memory":"256Mi")";
};

TEST_F(UsageMetricsTest, PodsUseHalfOfTheirRequestsOrWhatTheySay) {
  add_node("n1", kSimulated);
  add_node("real", R"("labels":{"a":"b"})");
  add_pod("default", "asks", R"(,"labels":{"app":"web"})",
          container("c", kHalfCore) + "," + container("d", ""));
  add_pod("default", "elsewhere", "", container("c", kHalfCore), "real");
  add_pod("default", "says", R"(,"annotations":{"berth.dev/usage":"cpu=301m,memory=33Mi"})",
          container("c", kHalfCore) + "," + container("d", ""));
  add_pod("kube-system", "sums", R"(,"annotations":{"berth.dev/usage":"c: cpu=1; cpu=10m"})",
          container("c", kHalfCore) + "," + container("d", kHalfCore));
  EXPECT_EQ(usages("/pods"), std::vector<std::string>()) << "they run for less than a second";
  clock.advance(Duration::seconds(7));
  add_pod("default", "young", "", container("c", kHalfCore));
  const std::vector<std::string> in_default = {"asks c=250m,128Mi d=0,0",
                                               "says c=150500u,16896Ki d=150500u,16896Ki"};
  EXPECT_EQ(usages("/namespaces/default/pods"), in_default);
  EXPECT_EQ(usages("/pods"),
            (std::vector<std::string>{in_default[0], in_default[1], "sums c=1,128Mi d=10m,128Mi"}));
  EXPECT_EQ(usages("/pods", {{"labelSelector", "app=web"}}), std::vector<std::string>{in_default[0]});
  EXPECT_EQ(usages("/pods", {{"limit", "1"}}), std::vector<std::string>{in_default[0]});

  const Json one = ask_for("GET", kMetrics + "/namespaces/default/pods/asks").body;
  EXPECT_EQ(one.string_at("kind"), "PodMetrics");
  EXPECT_EQ(one.string_at("window"), "7s");
  EXPECT_EQ(one.string_at("timestamp"), format_time(clock.now()));
  EXPECT_EQ(one.part("metadata").part("labels").string_at("app"), "web");
  clock.advance(Duration::minutes(1));
  EXPECT_EQ(ask_for("GET", kMetrics + "/namespaces/default/pods/asks").body.string_at("window"), "15s");
}

TEST_F(UsageMetricsTest, NodesUseWhatTheirPodsDoAndSomeMore) {
  add_node("n1", kSimulated);
  add_node("n2", std::string(kSimulated) + R"(,"annotations":{"berth.dev/usage":"cpu=1"})");
  add_node("silent", std::string(kSimulated) + R"(,"annotations":{"berth.dev/agent":"Silent"})");
  add_node("real", R"("labels":{"a":"b"})");
  add_pod("default", "a", "", container("c", kHalfCore));
  add_pod("default", "b", "", container("c", kHalfCore));
  clock.advance(Duration::seconds(20));
  EXPECT_EQ(usages("/nodes"), (std::vector<std::string>{"n1 600m,512Mi", "n2 1,256Mi"}));
  ASSERT_EQ(
      ask_for("PATCH", "/api/v1/namespaces/default/pods/b/status", R"({"status":{"phase":"Failed"}})").code,
      200);
  EXPECT_EQ(amounts_of(ask_for("GET", kMetrics + "/nodes/n1").body), "600m,512Mi")
      << "the sums are shared for a while";
  clock.advance(kNodeSumsAge);
  EXPECT_EQ(amounts_of(ask_for("GET", kMetrics + "/nodes/n1").body), "350m,384Mi");
}

TEST_F(UsageMetricsTest, OneRequestSumsAndOthersTakeTheLastSums) {
  add_node("n1", kSimulated);
  add_pod("default", "a", "", container("c", kHalfCore));
  clock.advance(Duration::seconds(20));
  SlowLists slow(*store);
  const Registry registry({slow, executor, clock, *random, gates, api::accept_any_cel}, 0);
  const UsageMetrics metrics(registry);
  const ObjectTarget node{api::find_resource("metrics.k8s.io", "v1beta1", "nodes"), "", "n1", ""};
  const auto used = [&] {
    const ApiResult<Answer> made = metrics.get(node);
    return made ? amounts_of(*parse_json(made->object->bytes)) : "none";
  };
  EXPECT_EQ(used(), "350m,384Mi");
  ASSERT_EQ(
      ask_for("PATCH", "/api/v1/namespaces/default/pods/a/status", R"({"status":{"phase":"Failed"}})").code,
      200);
  clock.advance(kNodeSumsAge);
  slow.is_slow = true;
  std::string summed;
  std::thread first([&] { summed = used(); });
  EXPECT_EQ(slow.begun.take(), "begun");
  EXPECT_EQ(used(), "350m,384Mi");
  slow.go.put("go");
  first.join();
  EXPECT_EQ(slow.went.take(), "go") << "the second request did not wait";
  EXPECT_EQ(summed, "100m,256Mi");
  EXPECT_EQ(used(), "100m,256Mi");
}

TEST_F(UsageMetricsTest, AreReadAsMetricsServersAre) {
  add_node("n1", kSimulated);
  add_pod("default", "a", "", container("c", kHalfCore) + "," + container("d", kHalfCore));
  clock.advance(Duration::seconds(20));
  const Told none = ask_for("GET", kMetrics + "/namespaces/default/pods/none");
  EXPECT_EQ(none.code, 404);
  EXPECT_EQ(none.body.string_at("message"), R"(podmetrics.metrics.k8s.io "default/none" not found)");
  EXPECT_EQ(ask_for("GET", kMetrics + "/nodes/none").body.string_at("message"),
            R"(nodemetrics.metrics.k8s.io "none" not found)");
  EXPECT_EQ(ask_for("POST", kMetrics + "/namespaces/default/pods", "{}").code, 405);
  EXPECT_EQ(ask_for("GET", kMetrics + "/pods", "", {{"watch", "true"}}).code, 405);
  EXPECT_EQ(ask_for("DELETE", kMetrics + "/namespaces/default/pods/a").code, 405);

  const Json table =
      ask_for("GET", kMetrics + "/pods", "", {}, "application/json;as=Table;v=v1;g=meta.k8s.io").body;
  std::string columns;
  for (const Json& column : table.items_at("columnDefinitions"))
    columns += std::string(column.string_at("name")) + " ";
  EXPECT_EQ(columns, "Name cpu memory Window ");
  ASSERT_EQ(table.items_at("rows").size(), 1u);
  EXPECT_EQ(to_string(Json(table.items_at("rows")[0].items_at("cells"))), R"(["a","500m","256Mi","15s"])");

  const Json served = ask_for("GET", kMetrics).body;
  EXPECT_EQ(to_string(Json(served.items_at("resources"))),
            R"([{"name":"nodes","singularName":"","namespaced":false,"kind":"NodeMetrics",)"
            R"("verbs":["get","list"]},{"name":"pods","singularName":"","namespaced":true,)"
            R"("kind":"PodMetrics","verbs":["get","list"]}])");
  EXPECT_TRUE(ask_for("GET", "/openapi/v3/apis/metrics.k8s.io/v1beta1")
                  .body.part("components")
                  .part("schemas")
                  .find("io.k8s.metrics.pkg.apis.metrics.v1beta1.PodMetrics"));
}

TEST_F(UsageMetricsTest, AMalformedAnnotationIsWarnedOfAndDoesNotCount) {
  const std::string pods = "/api/v1/namespaces/default/pods";
  const Told made = ask_for("POST", pods,
                            R"({"metadata":{"name":"p","annotations":{"berth.dev/usage":"gpu=1"}},
                                "spec":{"containers":[{"name":"c","image":"i"}]}})");
  EXPECT_EQ(made.code, 201);
  EXPECT_NE(made.warning.find("metadata.annotations[berth.dev/usage]: "), std::string::npos) << made.warning;
  EXPECT_NE(made.warning.find("is neither cpu nor memory"), std::string::npos) << made.warning;
}

TEST(UsageAnnotation, HasABound) {
  std::string text;
  for (int i = 0; text.size() + 16 <= api::kUsageBytesMax; ++i) text += "c" + std::to_string(i) + ":cpu=1m;";
  EXPECT_TRUE(api::parse_usage(text).ok());
  text.resize(api::kUsageBytesMax + 1, ' ');
  const auto parsed = api::parse_usage(text);
  ASSERT_FALSE(parsed.ok());
  EXPECT_EQ(parsed.error().message(), "it has more than 16384 bytes");
}

TEST(UsageAnnotation, IsReadOrRefusedWithAReason) {
  struct Row {
    const char *text, *problem;  // "": none
  };
  const Row rows[] = {
      {"cpu=250m,memory=64Mi", ""},
      {" web : cpu = 250m ; log: memory=1Gi; ", ""},
      {"cpu=-1", "cpu is negative"},
      {"cpu=1,cpu=2", "cpu comes twice"},
      {"a: cpu=1; a: cpu=2", R"("a" comes twice)"},
      {": cpu=1", "the name of a container is empty"},
      {"a:", "it has no amount"},
      {";", "it has no amount"},
      {"disk=1", R"("disk" is neither cpu nor memory)"},
  };
  for (const Row& row : rows) {
    const auto parsed = api::parse_usage(row.text);
    EXPECT_EQ(parsed.ok(), *row.problem == '\0') << row.text;
    if (!parsed) {
      EXPECT_NE(parsed.error().message().find(row.problem), std::string::npos) << parsed.error().message();
    }
  }
}

}  // namespace
}  // namespace berth::server
