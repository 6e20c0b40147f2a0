#include "server/api_server.h"

#include <gtest/gtest.h>

#include "base/base64.h"
#include "server/tables.h"
#include "server/test_bench.h"
#include "store/simulated_disk.h"

namespace berth::server {
namespace {

// Records the response.
class Recorded final : public HttpExchange {
 public:
  void respond(HttpResponse said) override { response = std::move(said); }
  void begin_stream(int status, Headers) override { response.status = status; }
  bool send(std::string chunk) override {
    chunks.push_back(std::move(chunk));
    return !refuses;
  }
  void end_stream() override { ended = true; }
  void on_close(std::function<void()> callback) override { closed = std::move(callback); }

  HttpResponse response{0, {}, ""};
  std::vector<std::string> chunks;
  std::function<void()> closed;
  bool refuses = false;
  bool ended = false;
};

class ApiServerTest : public testing::Test, protected ServerBench {
 protected:
  ApiServerTest() : ServerBench({}, {[this](const AuditRecord& record) { audit.push_back(record); }, true}) {}

  HttpRequest request(std::string method, std::string path, std::string body = "") const {
    HttpRequest made;
    made.method = std::move(method);
    const std::size_t question = path.find('?');
    made.path = path.substr(0, question);
    if (question != std::string::npos) {
      std::string_view rest = std::string_view(path).substr(question + 1);
      while (!rest.empty()) {
        const std::string_view pair = rest.substr(0, rest.find('&'));
        const std::size_t equals = pair.find('=');
        made.query.emplace_back(pair.substr(0, equals),
                                equals == std::string_view::npos ? "" : pair.substr(equals + 1));
        rest = pair.size() == rest.size() ? std::string_view() : rest.substr(pair.size() + 1);
      }
    }
    made.body = std::move(body);
    made.user = admin;
    return made;
  }

  std::shared_ptr<Recorded> ask(HttpRequest asked) {
    auto exchange = std::make_shared<Recorded>();
    server.handle(std::move(asked), exchange);
    return exchange;
  }
  Json answer(HttpRequest asked) { return parse_json(ask(std::move(asked))->response.body).value_or(Json()); }

  User admin{"root", {"system:masters"}};
  std::vector<AuditRecord> audit;
};

const char* const kMaps = "/api/v1/namespaces/default/configmaps";

std::string map_named(const std::string& name, const std::string& labels = "{}") {
  return R"({"metadata":{"name":")" + name + R"(","labels":)" + labels + R"(},"data":{"k":"1"}})";
}

struct BadInput {
  const char* name;
  const char* path;
  std::string body;
  int code;
  const char* says;  // part of the message
};

TEST_F(ApiServerTest, RefusesBadBodies) {
  const BadInput rows[] = {
      {"deep", kMaps, std::string(100'000, '['), 400, "must be of type ConfigMap"},
      {"kind", kMaps, R"({"kind":"Nosuch","apiVersion":"v1","metadata":{"name":"a"}})", 400,
       "no kind \"Nosuch\""},
      {"version", kMaps, R"({"kind":"ConfigMap","apiVersion":"v9"})", 400, "for version \"v9\""},
      {"field", "/api/v1/namespaces/default/configmaps?fieldValidation=Strict",
       R"({"metadata":{"name":"a"},"junk":1})", 400, "unknown field \"junk\""},
      {"type", kMaps, R"({"metadata":{"name":"a"},"data":{"k":1}})", 400, "cannot unmarshal number"},
      {"quantity", "/api/v1/nodes", R"({"metadata":{"name":"n"},"status":{"capacity":{"cpu":"lots"}}})", 400,
       "quantities must match"},
      {"label", kMaps, map_named("a", R"({"ok":"bad value"})"), 422, "a valid label must be"},
      {"long name", kMaps, map_named(std::string(254, 'a')), 422, "must be no more than 253 characters"},
      {"finalizer", kMaps, R"({"metadata":{"name":"a","finalizers":["bare"]}})", 422,
       "nor is it fully qualified"},
      {"other namespace", kMaps, R"({"metadata":{"name":"a","namespace":"b"}})", 400,
       "does not match the namespace"},
      {"media", "/api/v1/nosuch", "{}", 404, "could not find the requested resource"},
  };
  for (const BadInput& row : rows) {
    const Json said = answer(request("POST", row.path, row.body));
    EXPECT_EQ(said.int_at("code"), row.code) << row.name << ": " << to_string(said);
    EXPECT_NE(said.string_at("message").find(row.says), std::string_view::npos)
        << row.name << ": " << said.string_at("message");
  }
}

// As much as Kubernetes says: a body of junk was answered with as many headers.
TEST(Unacted, AreResourcesWithoutControllerAndThoseThatAreSwitchedOff) {
  ApiServerOptions options;
  options.warn_unacted = true;
  options.unacted = {"configmaps"};
  ServerBench bench({}, std::move(options));
  const auto warning_of = [&](const std::string& path) {
    const auto exchange = std::make_shared<Recorded>();
    bench.ask("POST", path, {}, R"({"metadata":{"name":"a"},"type":"Opaque"})", exchange);
    std::string warnings;
    for (const auto& [name, value] : exchange->response.headers)
      if (name == "Warning") warnings += value;
    return warnings;
  };
  EXPECT_NE(warning_of("/api/v1/namespaces/default/configmaps").find("no controller here acts on configmaps"),
            std::string::npos);
  EXPECT_EQ(warning_of("/api/v1/namespaces/default/secrets").find("no controller"), std::string::npos);
}

TEST_F(ApiServerTest, WarningsAreBounded) {
  const auto warnings = [&](int fields, int letters) {
    std::string body = R"({"metadata":{"name":"a"})";
    for (int i = 0; i < fields; ++i)
      body += ",\"" + std::to_string(i) + std::string(static_cast<std::size_t>(letters), 'x') + "\":1";
    std::vector<std::string> said;
    const auto exchange = ask(request("POST", std::string(kMaps) + "?dryRun=All", body + "}"));
    for (const auto& [name, value] : exchange->response.headers)
      if (name == "Warning") said.push_back(value);
    return said;
  };
  EXPECT_EQ(warnings(3, 400).size(), 3u);
  EXPECT_GT(warnings(3, 400)[0].size(), 400u) << "few are said whole";
  const std::vector<std::string> many = warnings(1000, 400);
  EXPECT_EQ(many.size(), kWarningsMax / kWarningOfManyMax);
  EXPECT_EQ(many[0].size(), kWarningOfManyMax + std::string("299 - \"\\\"").size());
}

TEST_F(ApiServerTest, ContinueTokensAreNotTrusted) {
  struct Forged {
    std::string token;
    int code;
    const char* says;
  };
  const Forged rows[] = {
      {R"({"v":"meta.k8s.io/v1","rv":99999999,"start":"default/a"})", 504, "Too large resource version"},
      {R"({"v":"meta.k8s.io/v1","rv":9223372036854775807,"start":"default/a"})", 504, "Too large resource"},
      {R"({"v":"meta.k8s.io/v1","rv":0,"start":"default/a"})", 400,
       "incorrect encoded start resourceVersion"},
      {R"({"v":"meta.k8s.io/v1","rv":"x","start":"default/a"})", 400, "incorrect encoded start"},
      {R"({"v":"meta.k8s.io/v1","rv":1,"start":""})", 400, "encoded start key empty"},
      {R"({"v":"v2","rv":1,"start":"default/a"})", 400, "continue key is not valid"},
      {"junk", 400, "continue key is not valid"},
  };
  for (const Forged& row : rows) {
    const Json said =
        answer(request("GET", std::string(kMaps) + "?limit=1&continue=" + base64url_encode(row.token)));
    EXPECT_EQ(said.int_at("code"), row.code) << row.token << to_string(said);
    EXPECT_NE(said.string_at("message").find(row.says), std::string_view::npos) << to_string(said);
  }
}

TEST_F(ApiServerTest, AWatchOfAnyLengthStaysOpen) {
  const auto watch =
      ask(request("GET", std::string(kMaps) + "?watch=true&timeoutSeconds=9223372036854775807"));
  clock.advance(Duration::minutes(60));
  server.tick(clock.monotonic());
  EXPECT_FALSE(watch->ended);
}

struct Accepted {
  const char* what;
  const char* method;
  const char* path;
  const char* body;
};

// Each was refused here once, and Kubernetes 1.37 takes it.
TEST_F(ApiServerTest, TakesWhatTheReferenceTakes) {
  const Accepted rows[] = {
      {"a lease nobody holds", "POST", "/apis/coordination.k8s.io/v1/namespaces/default/leases",
       R"({"metadata":{"name":"l"},"spec":{"holderIdentity":"","leaseTransitions":3}})"},
      {"a released lease", "PATCH", "/apis/coordination.k8s.io/v1/namespaces/default/leases/l",
       R"({"spec":{"holderIdentity":""}})"},
      {"a service that begins with a digit", "POST", "/api/v1/namespaces/default/services",
       R"({"metadata":{"name":"1-svc"},"spec":{"ports":[{"port":80}]}})"},
      {"an event with a name of its recorder's own", "POST", "/api/v1/namespaces/default/events",
       R"({"metadata":{"name":"Some_Event"},"involvedObject":{"namespace":"default"}})"},
      {"a timed event about another namespace", "POST", "/api/v1/namespaces/default/events",
       R"({"metadata":{"name":"e"},"involvedObject":{"namespace":"other"},"reason":"R","action":"A",)"
       R"("eventTime":"2026-01-01T00:00:00.000000Z","reportingComponent":"c","reportingInstance":"i"})"},
      {"a node whose provider is still empty", "POST", "/api/v1/nodes",
       R"({"metadata":{"name":"n"},"spec":{"providerID":""}})"},
      {"a node that gets its provider", "PATCH", "/api/v1/nodes/n", R"({"spec":{"providerID":"p://1"}})"},
  };
  for (const Accepted& row : rows) {
    HttpRequest asked = request(row.method, row.path, row.body);
    asked.headers.emplace_back("Content-Type",
                               asked.method == "PATCH" ? "application/merge-patch+json" : "application/json");
    const std::shared_ptr<Recorded> exchange = ask(std::move(asked));
    EXPECT_LT(exchange->response.status, 300) << row.what << ": " << exchange->response.body;
  }
}

TEST_F(ApiServerTest, KnowsWhoAsks) {
  ASSERT_TRUE(server.make_bootstrap_roles().ok());
  HttpRequest nobody = request("GET", kMaps);
  nobody.user = {};
  EXPECT_EQ(answer(nobody).string_at("message"),
            "configmaps is forbidden: User \"system:anonymous\" cannot list resource \"configmaps\" in API "
            "group \"\" "
            "in the namespace \"default\"");
  nobody.headers.emplace_back("Authorization", "Bearer wrong");
  EXPECT_EQ(answer(nobody).int_at("code"), 401);

  HttpRequest other = request("GET", kMaps);
  other.headers.emplace_back("Impersonate-User", "eve");
  EXPECT_EQ(answer(other).int_at("code"), 403);
  other.path = "/apis";
  EXPECT_EQ(answer(other).string_at("kind"), "APIGroupList");

  HttpRequest climber = request("GET", kMaps);
  climber.user = {"eve", {}};
  climber.headers.emplace_back("Impersonate-User", "root");
  climber.headers.emplace_back("Impersonate-Group", "system:masters");
  EXPECT_EQ(answer(climber).int_at("code"), 403);
}

TEST_F(ApiServerTest, AttributesOfNobodyAreRefused) {
  for (const char* header : {"Impersonate-Group", "impersonate-uid", "Impersonate-Extra-Scopes"}) {
    HttpRequest asked = request("GET", kMaps);
    asked.headers.emplace_back(header, "developers");
    EXPECT_EQ(answer(asked).int_at("code"), 400) << header;
    asked.headers.emplace_back("Impersonate-User", "eve");
    EXPECT_EQ(answer(asked).int_at("code"), 403) << header << ", as eve";
  }
}

TEST_F(ApiServerTest, ReviewsAreAnsweredNotStored) {
  const char* const path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
  ASSERT_TRUE(server.make_bootstrap_roles().ok());
  const std::string body = R"({"spec":{"resourceAttributes":{"verb":"list","resource":"pods"}}})";
  HttpRequest asked = request("POST", path, body);
  const Json yes = answer(asked);
  EXPECT_TRUE(yes.find("status")->bool_at("allowed")) << to_string(yes);
  asked.headers.emplace_back("Impersonate-User", "eve");
  EXPECT_FALSE(answer(asked).find("status")->bool_at("allowed", true));
  EXPECT_EQ(answer(request("GET", path)).int_at("code"), 405);
  EXPECT_EQ(store->count("selfsubjectaccessreviews.authorization.k8s.io"), 0u);
  EXPECT_EQ(
      answer(request("POST", "/api/v1/namespaces/default/serviceaccounts/x/token", "{}")).int_at("code"),
      501);
}

TEST_F(ApiServerTest, ScaleShowsAndSetsReplicasAlone) {
  const std::string deployments = "/apis/apps/v1/namespaces/default/deployments";
  const std::string scale = deployments + "/web/scale";
  const char* const web =
      R"({"metadata":{"name":"web"},"spec":{"replicas":2,"selector":{"matchLabels":{"b":"2","a":"1"}},)"
      R"("template":{"metadata":{"labels":{"a":"1","b":"2"}},)"
      R"("spec":{"containers":[{"name":"c","image":"i"}]}}}})";
  ASSERT_EQ(ask(request("POST", deployments, web))->response.status, 201);
  const Json seen = answer(request("GET", scale));
  EXPECT_EQ(seen.string_at("kind"), "Scale");
  EXPECT_EQ(seen.part("spec").int_at("replicas"), 2);
  EXPECT_EQ(seen.part("status").string_at("selector"), "a=1,b=2");
  HttpRequest patch = request("PATCH", scale, R"({"spec":{"replicas":5}})");
  patch.headers = {{"Content-Type", "application/merge-patch+json"}};
  EXPECT_EQ(answer(patch).part("spec").int_at("replicas"), 5);
  EXPECT_EQ(answer(request("GET", deployments + "/web")).part("spec").int_at("replicas"), 5);
  patch.body = R"({"spec":{"replicas":-1}})";
  EXPECT_EQ(answer(patch).int_at("code"), 422);
  Json stale = seen;
  stale["spec"]["replicas"] = 7;
  EXPECT_EQ(answer(request("PUT", scale, to_string(stale))).string_at("reason"), "Conflict");
  stale["metadata"].as_object().erase("resourceVersion");
  EXPECT_EQ(answer(request("PUT", scale, to_string(stale))).part("spec").int_at("replicas"), 7);
  EXPECT_EQ(answer(request("GET", deployments + "/nosuch/scale")).int_at("code"), 404);
  patch.headers = {{"Content-Type", "application/json"}};
  EXPECT_EQ(answer(patch).int_at("code"), 415);
}

TEST_F(ApiServerTest, VolumesAndSetsHaveTheirColumns) {
  const char* const claim =
      R"({"metadata":{"name":"c"},"spec":{"accessModes":["ReadWriteOnce"],"storageClassName":"fast",)"
      R"("volumeName":"v","volumeMode":"Filesystem","resources":{"requests":{"storage":"1Gi"}}}})";
  const std::string claims = "/api/v1/namespaces/default/persistentvolumeclaims";
  ASSERT_EQ(ask(request("POST", claims, claim))->response.status, 201);
  HttpRequest asked = request("GET", claims);
  asked.headers = {{"Accept", "application/json;as=Table;g=meta.k8s.io;v=v1"}};
  const Json table = answer(asked);
  std::string names;
  for (const Json& column : table.items_at("columnDefinitions"))
    names.append(column.string_at("name")).append("|");
  EXPECT_EQ(names,
            "Name|Status|Volume|Capacity|Access Modes|StorageClass|VolumeAttributesClass|Age|VolumeMode|");
  ASSERT_EQ(table.items_at("rows").size(), 1u);
  const JsonArray& cells = table.items_at("rows")[0].items_at("cells");
  ASSERT_EQ(cells.size(), 9u);
  EXPECT_EQ(cells[2].as_string(), "v");
  EXPECT_EQ(cells[5].as_string(), "fast");
  EXPECT_EQ(cells[6].as_string(), "<unset>");
  EXPECT_EQ(cells[8].as_string(), "Filesystem");
  for (const TableRow& row : workload_rows()) {
    const Json empty = Json::object({{"metadata", Json::object({{"name", "x"}})}});
    EXPECT_EQ(row.columns.cells(empty, Time()).size(), row.columns.columns.size()) << row.resource;
  }
}

TEST_F(ApiServerTest, EveryRequestIsAudited) {
  (void)ask(request("POST", kMaps, map_named("a")));
  (void)ask(request("GET", kMaps));
  (void)ask(request("GET", std::string(kMaps) + "?watch=true"));
  (void)ask(request("GET", std::string(kMaps) + "/nosuch"));
  (void)ask(request("DELETE", kMaps));
  (void)ask(request("POST", kMaps, R"({"metadata":{"generateName":"b-"}})"));
  (void)ask(request("POST", kMaps, R"({"metadata":{"name":"C"}})"));
  ASSERT_EQ(audit.size(), 7u);
  EXPECT_EQ(audit[6].name, "C");
  EXPECT_EQ(audit[5].name.rfind("b-", 0), 0u);
  audit.resize(5);
  EXPECT_EQ(audit[0].name, "a");
  const char* const verbs[] = {"create", "list", "watch", "get", "deletecollection"};
  const int codes[] = {201, 200, 200, 404, 200};
  for (std::size_t i = 0; i < audit.size(); ++i) {
    EXPECT_EQ(audit[i].verb, verbs[i]);
    EXPECT_EQ(audit[i].code, codes[i]) << verbs[i];
    EXPECT_EQ(audit[i].user, "root");
  }
}

TEST_F(ApiServerTest, WarnsOfKindsThatNothingActsOn) {
  const auto stored = ask(request("POST", "/apis/networking.k8s.io/v1/namespaces/default/ingresses",
                                  R"({"metadata":{"name":"i"},"spec":{}})"));
  ASSERT_EQ(stored->response.status, 201) << stored->response.body;
  bool warned = false;
  for (const auto& [name, value] : stored->response.headers) warned |= name == "Warning";
  EXPECT_TRUE(warned);
  const auto asked = ask(request("POST", "/apis/storage.k8s.io/v1/volumeattributesclasses",
                                 R"({"metadata":{"name":"q"},"driverName":"disk.example.com"})"));
  ASSERT_EQ(asked->response.status, 201) << asked->response.body;
  warned = false;
  for (const auto& [name, value] : asked->response.headers) warned |= name == "Warning";
  EXPECT_TRUE(warned);
}

std::vector<std::string> types_of(const Recorded& watch) {
  std::vector<std::string> types;
  for (const std::string& chunk : watch.chunks)
    if (const Result<Json> event = parse_json(chunk))
      types.push_back(std::string(event->string_at("type")) + " " +
                      std::string(event->find_path({"object", "metadata"})->string_at("name")));
  return types;
}

TEST_F(ApiServerTest, AWatchSeesWhatEntersAndLeavesItsSelection) {
  (void)ask(request("POST", kMaps, map_named("a", R"({"in":"yes"})")));
  (void)ask(request("POST", kMaps, map_named("b")));
  const auto watch = ask(request("GET", std::string(kMaps) + "?watch=true&labelSelector=in"));
  EXPECT_EQ(types_of(*watch), std::vector<std::string>({"ADDED a"}));

  (void)ask(request("PUT", std::string(kMaps) + "/b", map_named("b", R"({"in":"1"})")));
  (void)ask(request("PUT", std::string(kMaps) + "/a", map_named("a", R"({"in":"2"})")));
  (void)ask(request("PUT", std::string(kMaps) + "/a", map_named("a")));
  (void)ask(request("PUT", std::string(kMaps) + "/a", map_named("a", R"({"out":"1"})")));
  (void)ask(request("DELETE", std::string(kMaps) + "/b"));
  EXPECT_EQ(types_of(*watch),
            std::vector<std::string>({"ADDED a", "ADDED b", "MODIFIED a", "DELETED a", "DELETED b"}));
  const Json left = parse_json(watch->chunks[3]).value();
  EXPECT_EQ(left.find_path({"object", "metadata", "labels"})->string_at("in"), "2");
  server.close_watches();
  EXPECT_TRUE(watch->ended);
}

TEST_F(ApiServerTest, AReaderThatIsGoneEndsItsWatch) {
  const auto watch = ask(request("GET", std::string(kMaps) + "?watch=true"));
  watch->refuses = true;
  (void)ask(request("POST", kMaps, map_named("a")));
  EXPECT_TRUE(watch->ended);
  (void)ask(request("POST", kMaps, map_named("b")));
  EXPECT_EQ(watch->chunks.size(), 1u);
}

// Readers of a watch split it by lines.
TEST_F(ApiServerTest, EveryEventOfAWatchIsOneLineWhateverItsForm) {
  ask(request("POST", kMaps, map_named("a")));
  for (const char* form : {"application/json", "application/json;as=Table;v=v1;g=meta.k8s.io",
                           "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"}) {
    HttpRequest watch = request("GET", std::string(kMaps) + "?watch=true");
    watch.headers.emplace_back("Accept", form);
    const auto exchange = ask(std::move(watch));
    ASSERT_EQ(exchange->chunks.size(), 1u) << form;
    EXPECT_EQ(exchange->chunks[0].find('\n'), exchange->chunks[0].size() - 1) << form;
  }
}

// A pod without a node is deleted at once, with a deletion timestamp; it has no log and no exec.
TEST_F(ApiServerTest, APodThatNoNodeRunsGoesMarkedAndHasNoLog) {
  const std::string pods = "/api/v1/namespaces/default/pods";
  ask(request("POST", pods, R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}]}})"));
  EXPECT_EQ(ask(request("GET", pods + "/p/log"))->response.status, 204);
  EXPECT_EQ(answer(request("POST", pods + "/p/exec", "{}")).string_at("message"),
            "pod p does not have a host assigned");
  const Json gone = answer(request("DELETE", pods + "/p"));
  EXPECT_FALSE(gone.part("metadata").string_at("deletionTimestamp").empty());
  EXPECT_EQ(gone.part("metadata").int_at("deletionGracePeriodSeconds", -1), 0);
  EXPECT_EQ(ask(request("GET", pods + "/p"))->response.status, 404);
}

TEST_F(ApiServerTest, SchemasReferOnlyToSchemasThatAreThere) {
  const Json index = answer(request("GET", "/openapi/v3"));
  ASSERT_TRUE(index.find("paths"));
  std::size_t kinds = 0;
  for (const JsonMember& path : index.find("paths")->as_object()) {
    const std::string text = ask(request("GET", "/openapi/v3/" + path.key))->response.body;
    const Json document = *parse_json(text);
    const Json& schemas = document.part("components").part("schemas");
    const std::string_view head = "#/components/schemas/";
    for (std::size_t at = text.find(head); at != std::string::npos; at = text.find(head, at + 1)) {
      const std::size_t begin = at + head.size();
      const std::string name = text.substr(begin, text.find('"', begin) - begin);
      EXPECT_TRUE(schemas.find(name)) << path.key << " " << name;
    }
    for (const JsonMember& schema : schemas.as_object())
      kinds += schema.value.find("x-kubernetes-group-version-kind") ? 1 : 0;
  }
  EXPECT_GT(kinds, 80u);
  const Json claims = answer(request("GET", "/openapi/v3/apis/resource.k8s.io/v1"));
  const Json& result =
      claims.part("components").part("schemas").part("io.k8s.api.resource.v1.DeviceRequestAllocationResult");
  EXPECT_TRUE(result.part("properties").find("compatibilityGroups"));
}

TEST(FullDisk, FailsWritesAndReadinessUntilThereIsRoom) {
  store::SimulatedDisk disk(1);
  ServerBench bench({.directory = "store"}, {}, &disk);
  bench.server.set_ready(true);
  const auto ask = [&](const char* method, const char* path, std::string body = "") {
    auto exchange = std::make_shared<Recorded>();
    bench.ask(method, path, {}, std::move(body), exchange);
    return exchange->response;
  };
  const std::string large = R"({"metadata":{"name":"a"},"data":{"k":")" + std::string(500'000, 'x') + "\"}}";
  disk.fill(true);
  const HttpResponse refused = ask("POST", kMaps, large);
  EXPECT_EQ(refused.status, 500);
  const Json status = parse_json(refused.body).value();
  EXPECT_EQ(status.string_at("message"), "etcdserver: mvcc: database space exceeded");
  EXPECT_EQ(status.string_at("reason"), "");
  EXPECT_EQ(ask("GET", "/readyz").status, 500);
  EXPECT_EQ(ask("GET", "/readyz").body, "not ready: etcdserver: mvcc: database space exceeded");
  EXPECT_EQ(ask("GET", "/livez").status, 200);
  disk.fill(false);
  EXPECT_EQ(ask("POST", kMaps, large).status, 201);
  EXPECT_EQ(ask("GET", "/readyz").body, "ok");
}

// The version that a page showed has left the window: what remains can still be listed, as it is now.
TEST(ExpiredList, GoesOnBehindTheLastPage) {
  ServerBench bench({.watch_window_events = 2});
  const auto ask = [&](std::string method, Headers query, std::string body = "") {
    auto exchange = std::make_shared<Recorded>();
    bench.ask(std::move(method), kMaps, std::move(query), std::move(body), exchange);
    return *parse_json(exchange->response.body);
  };
  const auto make = [&](const std::string& name) {
    ask("POST", {}, R"({"metadata":{"name":")" + name + R"("}})");
  };
  for (const char* name : {"a", "b", "c"}) make(name);
  const Json page = ask("GET", {{"limit", "1"}});
  const auto token_of = [](const Json& answer) {
    return std::string(answer.find("metadata")->string_at("continue"));
  };
  for (const char* name : {"d", "e", "f"}) make(name);
  const Json refused = ask("GET", {{"limit", "1"}, {"continue", token_of(page)}});
  EXPECT_EQ(refused.int_at("code"), 410);
  const Json rest = ask("GET", {{"limit", "2"}, {"continue", token_of(refused)}});
  ASSERT_EQ(rest.items_at("items").size(), 2u);
  EXPECT_EQ(rest.items_at("items")[0].find("metadata")->string_at("name"), "b");
  EXPECT_FALSE(token_of(rest).empty());
  const Json gone =
      ask("GET", {{"resourceVersion", std::string(page.find("metadata")->string_at("resourceVersion"))},
                  {"resourceVersionMatch", "Exact"}});
  EXPECT_EQ(gone.int_at("code"), 410);
  EXPECT_EQ(token_of(gone), "");
}

}  // namespace
}  // namespace berth::server
