// Custom resources through the API, in one thread: definitions, objects, versions, apply, deletion, restart.
#include "server/custom_resources.h"

#include <gtest/gtest.h>

#include "server/test_bench.h"
#include "store/simulated_disk.h"

namespace berth::server {
namespace {

struct Reply {
  int code = 0;
  Json body;
  std::string text;
  std::string warning;
};

constexpr std::string_view kGizmos = "/apis/ex.io/v1/namespaces/default/gizmos";

constexpr std::string_view kGizmo =
    R"({"metadata":{"name":"gizmos.ex.io"},"spec":{"group":"ex.io","scope":"Namespaced",
 "names":{"plural":"gizmos","kind":"Gizmo","shortNames":["gi"],"categories":["all"]},
 "versions":[
  {"name":"v1","served":true,"storage":true,"subresources":{"status":{},)"
    R"("scale":{"specReplicasPath":".spec.size",
    "statusReplicasPath":".status.n","labelSelectorPath":".status.selector"}},
   "selectableFields":[{"jsonPath":".spec.mode"}],
   "additionalPrinterColumns":[{"name":"Size","type":"integer","jsonPath":".spec.size"}],
   "schema":{"openAPIV3Schema":{"type":"object","properties":{
     "spec":{"type":"object","required":["size"],"properties":{"size":{"type":"integer","minimum":1},
       "mode":{"type":"string","default":"a"},
       "pairs":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k"],
         "items":{"type":"object","required":["k"],"properties":{"k":{"type":"string"},)"
    R"("v":{"type":"string"}}}}},
       "x-kubernetes-validations":[{"rule":"self.size >= oldSelf.size","message":"size only grows"}]},
     "status":{"type":"object","properties":{"n":{"type":"integer"},"selector":{"type":"string"}}}}}}},
  {"name":"v1beta1","served":true,"storage":false,"deprecated":true,"subresources":{"status":{}},
   "schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}})";

class CustomResourcesTest : public testing::Test {
 protected:
  Reply ask(std::string method, std::string path, std::string body = "", Headers headers = {}) {
    HttpRequest request;
    request.method = std::move(method);
    const std::size_t question = path.find('?');
    if (question != std::string::npos) {
      std::string_view rest = std::string_view(path).substr(question + 1);
      while (!rest.empty()) {
        const std::string_view pair = rest.substr(0, rest.find('&'));
        const std::size_t equals = pair.find('=');
        request.query.emplace_back(pair.substr(0, equals), pair.substr(equals + 1));
        rest = pair.size() == rest.size() ? std::string_view() : rest.substr(pair.size() + 1);
      }
    }
    request.path = path.substr(0, question);
    request.body = std::move(body);
    request.headers = std::move(headers);
    request.user = {"root", {"system:masters"}};
    const auto said = std::make_shared<Said>();
    bench->server.handle(std::move(request), said);
    Reply reply{said->response.status, parse_json(said->response.body).value_or(Json()), said->response.body,
                ""};
    for (const auto& [name, value] : said->response.headers)
      if (name == "Warning") reply.warning += value;
    return reply;
  }
  std::shared_ptr<Said> watch(std::string path) {
    auto lines = std::make_shared<Said>();
    bench->ask("GET", std::move(path), {{"watch", "true"}}, "", lines);
    return lines;
  }
  void tick() { bench->server.tick(bench->clock.monotonic()); }
  Reply patch(std::string path, std::string body, std::string type = "merge-patch+json") {
    return ask("PATCH", std::move(path), std::move(body), {{"Content-Type", "application/" + type}});
  }
  Reply define(std::string_view crd = kGizmo) { return ask("POST", kDefinitionsPath, std::string(crd)); }
  Reply make(std::string name, std::string spec) {
    return ask("POST", std::string(kGizmos),
               R"({"apiVersion":"ex.io/v1","kind":"Gizmo","metadata":{"name":")" + name + R"("},"spec":)" +
                   spec + "}");
  }
  static std::string gizmo(std::string_view name) { return std::string(kGizmos) + "/" + std::string(name); }
  std::string condition(std::string_view definition, std::string_view type) {
    const Json crd = ask("GET", kDefinitionsPath + "/" + std::string(definition)).body;
    for (const Json& row : crd.part("status").items_at("conditions"))
      if (row.string_at("type") == type)
        return std::string(row.string_at("status")) + " " + std::string(row.string_at("reason"));
    return "";
  }

  static ApiServerOptions collecting() {
    ApiServerOptions options;
    options.collect_custom_garbage = true;
    return options;
  }
  // An owner's reference to it, by its kind.
  std::string owned_by(std::string_view kind, std::string_view path, bool blocks = false) {
    const Json owner = ask("GET", std::string(path)).body;
    return R"("ownerReferences":[{"apiVersion":")" + std::string(owner.string_at("apiVersion")) +
           R"(","kind":")" + std::string(kind) + R"(","name":")" +
           std::string(owner.part("metadata").string_at("name")) + R"(","uid":")" +
           std::string(owner.part("metadata").string_at("uid")) + R"(","blockOwnerDeletion":)" +
           (blocks ? "true" : "false") + "}]";
  }
  Reply make_map(std::string_view name, std::string_view more) {
    return ask("POST", "/api/v1/namespaces/default/configmaps",
               R"({"metadata":{"name":")" + std::string(name) + "\"," + std::string(more) + "}}");
  }
  Reply make_owned(std::string_view name, std::string_view more) {
    return ask("POST", std::string(kGizmos),
               R"({"apiVersion":"ex.io/v1","kind":"Gizmo","metadata":{"name":")" + std::string(name) + "\"," +
                   std::string(more) + R"(},"spec":{"size":1}})");
  }
  int map_code(std::string_view name) {
    return ask("GET", "/api/v1/namespaces/default/configmaps/" + std::string(name)).code;
  }
  void settle() {
    for (int i = 0; i < 6; ++i) tick();
  }

  std::unique_ptr<ServerBench> bench = std::make_unique<ServerBench>(store::StoreOptions(), collecting());
};

TEST_F(CustomResourcesTest, ADefinitionServesItsObjects) {
  EXPECT_EQ(ask("GET", std::string(kGizmos)).code, 404);
  ASSERT_EQ(define().code, 201);
  EXPECT_EQ(condition("gizmos.ex.io", "NamesAccepted"), "True NoConflicts");
  EXPECT_EQ(condition("gizmos.ex.io", "Established"), "True InitialNamesAccepted");
  const Reply made = make("a", R"({"size":3,"junk":1})");
  ASSERT_EQ(made.code, 201) << made.text;
  EXPECT_EQ(made.body.part("spec"), parse_json(R"({"size":3,"mode":"a"})").value());
  EXPECT_NE(made.warning.find("unknown field"), std::string::npos);
  EXPECT_EQ(made.body.part("metadata").int_at("generation"), 1);
  const Json list = ask("GET", std::string(kGizmos)).body;
  EXPECT_EQ(list.string_at("kind"), "GizmoList");
  EXPECT_EQ(list.items_at("items").front().string_at("kind"), "Gizmo");
  EXPECT_EQ(ask("GET", std::string(kGizmos) + "?fieldSelector=spec.mode%3Dz").code, 400);
  EXPECT_EQ(ask("GET", std::string(kGizmos) + "?fieldSelector=spec.mode=z").body.items_at("items").size(),
            0u);
  EXPECT_EQ(ask("GET", std::string(kGizmos) + "?fieldSelector=spec.mode=a").body.items_at("items").size(),
            1u);
  EXPECT_EQ(ask("DELETE", gizmo("a")).code, 200);
  EXPECT_EQ(ask("GET", gizmo("a")).code, 404);
}

TEST_F(CustomResourcesTest, AWatchEndsWithWhatServesIt) {
  define();
  make("a", R"({"size":3})");
  const auto stable = watch(std::string(kGizmos));
  const auto beta = watch("/apis/ex.io/v1beta1/gizmos");
  const auto pods = watch("/api/v1/pods");
  const std::string definition = kDefinitionsPath + "/gizmos.ex.io";
  patch(definition, R"({"metadata":{"labels":{"a":"b"}}})");
  tick();
  EXPECT_FALSE(stable->ended || beta->ended);
  EXPECT_EQ(patch(definition, R"([{"op":"replace","path":"/spec/versions/1/served","value":false}])",
                  "json-patch+json")
                .code,
            200);
  tick();
  EXPECT_TRUE(beta->ended);
  const auto later = watch(std::string(kGizmos));
  ask("DELETE", definition);
  for (int i = 0; i < 10; ++i) tick();
  EXPECT_EQ(ask("GET", definition).code, 404);
  EXPECT_TRUE(later->ended);
  EXPECT_NE(later->response.body.find("\"type\":\"DELETED\""), std::string::npos) << later->response.body;
  EXPECT_FALSE(pods->ended);
  EXPECT_EQ(bench->server.open_watches(), 1u);
}

TEST_F(CustomResourcesTest, ATableOfDefinitionsSaysWhenTheyWereCreated) {
  define();
  const Json table =
      ask("GET", kDefinitionsPath, "", {{"Accept", "application/json;as=Table;v=v1;g=meta.k8s.io"}}).body;
  const JsonArray& columns = table.items_at("columnDefinitions");
  ASSERT_EQ(columns.size(), 2u);
  EXPECT_EQ(columns[1].string_at("name"), "Created At");
  EXPECT_EQ(columns[1].string_at("type"), "date");
  EXPECT_EQ(to_string(Json(table.items_at("rows").front().items_at("cells"))),
            R"(["gizmos.ex.io","2023-11-14T22:13:20Z"])");
}

TEST_F(CustomResourcesTest, WhatACustomObjectOwnsGoesWithIt) {
  define();
  make("a", R"({"size":1})");
  make("b", R"({"size":1})");
  EXPECT_EQ(make_map("of-a", owned_by("Gizmo", gizmo("a"))).code, 201);
  make_map("of-b", owned_by("Gizmo", gizmo("b")));
  make_owned("child", owned_by("Gizmo", gizmo("a")));
  make_map("grandchild", owned_by("Gizmo", gizmo("child")));
  settle();
  EXPECT_EQ(map_code("grandchild"), 200);
  ask("DELETE", gizmo("a"));
  settle();
  EXPECT_EQ(map_code("of-a"), 404);
  EXPECT_EQ(ask("GET", gizmo("child")).code, 404);
  EXPECT_EQ(map_code("grandchild"), 404);
  EXPECT_EQ(map_code("of-b"), 200);
  // Another object of that name is another owner.
  const std::string earlier = owned_by("Gizmo", gizmo("b"));
  ask("DELETE", gizmo("b"));
  make("b", R"({"size":1})");
  make_map("of-earlier", earlier);
  settle();
  EXPECT_EQ(map_code("of-b"), 404);
  EXPECT_EQ(map_code("of-earlier"), 404);
}

TEST_F(CustomResourcesTest, ACustomObjectGoesWithItsBuiltInOwner) {
  define();
  make_map("owner", R"("labels":{})");
  const std::string owner = "/api/v1/namespaces/default/configmaps/owner";
  make_owned("child", owned_by("ConfigMap", owner));
  make_owned("unknown", R"("ownerReferences":[{"apiVersion":"x.io/v1","kind":"X","name":"x","uid":"u"}])");
  settle();
  EXPECT_EQ(ask("GET", gizmo("child")).code, 200);
  ask("DELETE", owner);
  settle();
  EXPECT_EQ(ask("GET", gizmo("child")).code, 404);
  EXPECT_EQ(ask("GET", gizmo("unknown")).code, 200);
}

TEST_F(CustomResourcesTest, AReferenceToAnAbsentOwnerGoesWhenAnotherStays) {
  define();
  make("a", R"({"size":1})");
  make("b", R"({"size":1})");
  std::string both = owned_by("Gizmo", gizmo("a"));
  const std::string of_b = owned_by("Gizmo", gizmo("b"));
  both.pop_back();
  make_map("of-two", both + "," + of_b.substr(of_b.find('{')));
  settle();
  ask("DELETE", gizmo("a"));
  settle();
  const Json map = ask("GET", "/api/v1/namespaces/default/configmaps/of-two").body;
  ASSERT_EQ(map.part("metadata").items_at("ownerReferences").size(), 1u);
  EXPECT_EQ(map.part("metadata").items_at("ownerReferences").front().string_at("name"), "b");
}

TEST_F(CustomResourcesTest, ForegroundDeletionWaitsForBlockingDependents) {
  define();
  make("a", R"({"size":1})");
  make_map("held", owned_by("Gizmo", gizmo("a"), true) + R"(,"finalizers":["ex.io/hold"])");
  settle();
  ask("DELETE", gizmo("a"), R"({"propagationPolicy":"Foreground"})");
  settle();
  EXPECT_EQ(ask("GET", gizmo("a")).code, 200);
  const std::string held = "/api/v1/namespaces/default/configmaps/held";
  EXPECT_NE(ask("GET", held).body.part("metadata").string_at("deletionTimestamp"), "");
  patch(held, R"({"metadata":{"finalizers":null}})");
  settle();
  EXPECT_EQ(map_code("held"), 404);
  EXPECT_EQ(ask("GET", gizmo("a")).code, 404);
}

TEST_F(CustomResourcesTest, ACircleOfOwnersGoes) {
  define();
  for (const char* name : {"a", "b", "c"}) make(name, R"({"size":1})");
  const auto owned_by_next = [&](const char* name, const char* owner) {
    patch(gizmo(name), R"({"metadata":{)" + owned_by("Gizmo", gizmo(owner), true) + "}}");
  };
  owned_by_next("a", "c");
  owned_by_next("b", "a");
  owned_by_next("c", "b");
  settle();
  ask("DELETE", gizmo("a"), R"({"propagationPolicy":"Foreground"})");
  settle();
  for (const char* name : {"a", "b", "c"}) EXPECT_EQ(ask("GET", gizmo(name)).code, 404) << name;
}

TEST_F(CustomResourcesTest, ANamespaceLosesItsPodsFirst) {
  define();
  ask("POST", "/api/v1/namespaces", R"({"metadata":{"name":"x"}})");
  const std::string object = "/apis/ex.io/v1/namespaces/x/gizmos/a", pod = "/api/v1/namespaces/x/pods/p";
  ask("POST", "/apis/ex.io/v1/namespaces/x/gizmos",
      R"({"apiVersion":"ex.io/v1","kind":"Gizmo","metadata":{"name":"a"},"spec":{"size":1}})");
  ask("POST", "/api/v1/namespaces/x/pods",
      R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}]}})");
  ask("DELETE", "/api/v1/namespaces/x");
  settle();
  EXPECT_EQ(ask("GET", object).code, 200);
  EXPECT_EQ(ask("DELETE", pod).code, 200);
  settle();
  EXPECT_EQ(ask("GET", object).code, 404);
}

// The engine's collector, which knows built-in dependents only, asks for the end of the deletion.
TEST_F(CustomResourcesTest, AForegroundDeletionOfABuiltInOwnerWaitsForCustomDependents) {
  define();
  const std::string maps = "/api/v1/namespaces/default/configmaps/";
  const auto collect = [&](const std::string& name) {
    HttpRequest request;
    request.method = "PATCH";
    request.path = maps + name;
    request.headers = {{"Content-Type", "application/merge-patch+json"}};
    request.body = R"({"metadata":{"finalizers":null}})";
    request.user = {"root", {"system:masters"}};
    request.in_process = true;
    bench->server.handle(std::move(request), std::make_shared<Said>());
  };
  for (const char* name : {"owner", "free", "forced"}) make_map(name, R"("labels":{})");
  make_owned("kid", owned_by("ConfigMap", maps + "owner", true) + R"(,"finalizers":["ex.io/hold"])");
  make_owned("loose", owned_by("ConfigMap", maps + "free", false) + R"(,"finalizers":["ex.io/hold"])");
  make_owned("left", owned_by("ConfigMap", maps + "forced", true) + R"(,"finalizers":["ex.io/hold"])");
  settle();
  for (const char* name : {"owner", "free", "forced"}) {
    ask("DELETE", maps + name, R"({"propagationPolicy":"Foreground"})");
    if (std::string_view(name) != "forced") collect(name);
  }
  settle();
  EXPECT_EQ(map_code("free"), 404);
  EXPECT_EQ(ask("GET", maps + "owner").body.part("metadata").items_at("finalizers"),
            JsonArray{Json("foregroundDeletion")});
  EXPECT_NE(ask("GET", gizmo("kid")).body.part("metadata").string_at("deletionTimestamp"), "");
  patch(gizmo("kid"), R"({"metadata":{"finalizers":null}})");
  settle();
  EXPECT_EQ(ask("GET", gizmo("kid")).code, 404);
  EXPECT_EQ(map_code("owner"), 404);
  // Who removes the finalizer by hand has it removed.
  EXPECT_EQ(map_code("forced"), 200);
  patch(maps + "forced", R"({"metadata":{"finalizers":null}})");
  EXPECT_EQ(map_code("forced"), 404);
}

TEST_F(CustomResourcesTest, AWriteOfTheCollectorThatFailsIsTriedLessAndLessOften) {
  define();
  const std::string maps = "/api/v1/namespaces/default/configmaps/";
  const std::string rules = "/spec/versions/0/schema/openAPIV3Schema/x-kubernetes-validations";
  const auto change_definition = [&](const std::string& change) {
    const Reply changed = patch(kDefinitionsPath + "/gizmos.ex.io", change, "json-patch+json");
    ASSERT_EQ(changed.code, 200) << changed.text;
  };
  const auto owner_count = [&] {
    return ask("GET", gizmo("kid")).body.part("metadata").items_at("ownerReferences").size();
  };
  make_map("one", R"("labels":{})");
  make_map("two", R"("labels":{})");
  std::string owners = owned_by("ConfigMap", maps + "one");
  const std::string second = owned_by("ConfigMap", maps + "two");
  owners.insert(owners.size() - 1,
                "," + second.substr(second.find('{'), second.rfind('}') + 1 - second.find('{')));
  make_owned("kid", owners);
  settle();
  ASSERT_EQ(owner_count(), 2u);
  change_definition(R"([{"op":"add","path":")" + rules +
                    R"(","value":[{"rule":"self.metadata.name == 'x'"}]}])");
  ask("DELETE", maps + "one");
  // Attempts at 0, 200 and 600 ms fail.
  tick();
  for (const int wait_ms : {200, 400}) {
    bench->clock.advance(Duration::millis(wait_ms));
    tick();
    tick();
  }
  change_definition(R"([{"op":"remove","path":")" + rules + R"("}])");
  tick();
  bench->clock.advance(Duration::millis(799));
  tick();
  EXPECT_EQ(owner_count(), 2u);
  bench->clock.advance(Duration::millis(1));
  tick();
  tick();
  EXPECT_EQ(owner_count(), 1u);
}

TEST_F(CustomResourcesTest, OrphansOfACustomObjectStay) {
  define();
  make("a", R"({"size":1})");
  make_map("child", owned_by("Gizmo", gizmo("a"), true));
  settle();
  ask("DELETE", gizmo("a"), R"({"propagationPolicy":"Orphan"})");
  settle();
  EXPECT_EQ(ask("GET", gizmo("a")).code, 404);
  EXPECT_EQ(map_code("child"), 200);
  EXPECT_EQ(
      ask("GET", "/api/v1/namespaces/default/configmaps/child").body.part("metadata").find("ownerReferences"),
      nullptr);
}

TEST_F(CustomResourcesTest, AnObjectThatIsToOrphanDoesSoWhenItsOwnOwnerGoes) {
  define();
  const std::string maps = "/api/v1/namespaces/default/configmaps/";
  make_map("top", R"("labels":{})");
  ASSERT_EQ(make_owned("mid", owned_by("ConfigMap", maps + "top") + R"(,"finalizers":["orphan"])").code, 201);
  make_map("child", owned_by("Gizmo", gizmo("mid")));
  settle();
  ask("DELETE", maps + "top");
  settle();
  settle();
  EXPECT_EQ(ask("GET", gizmo("mid")).code, 404);
  EXPECT_EQ(map_code("child"), 200);
}

TEST_F(CustomResourcesTest, ObjectsAreValidated) {
  define();
  EXPECT_EQ(make("a", R"({"size":0})").body.string_at("message"),
            "Gizmo.ex.io \"a\" is invalid: spec.size: Invalid value: 0: spec.size in body should be greater "
            "than or "
            "equal to 1");
  EXPECT_EQ(make("a", R"({"size":5})").code, 201);
  EXPECT_EQ(patch(gizmo("a"), R"({"spec":{"size":4}})").body.string_at("message"),
            "Gizmo.ex.io \"a\" is invalid: spec: Invalid value: size only grows");
  EXPECT_EQ(patch(gizmo("a"), R"({"spec":{"size":6}})").body.part("metadata").int_at("generation"), 2);
  EXPECT_EQ(
      patch(gizmo("a"), R"({"metadata":{"labels":{"x":"y"}}})").body.part("metadata").int_at("generation"),
      2);
  EXPECT_EQ(patch(gizmo("a"), "{}", "strategic-merge-patch+json").code, 415);
  EXPECT_EQ(ask("PUT", gizmo("a"),
                R"({"apiVersion":"ex.io/v1","kind":"Gizmo","metadata":{"name":"a"},"spec":{"size":7}})")
                .code,
            422);
  EXPECT_EQ(
      ask("POST", std::string(kGizmos), R"({"apiVersion":"ex.io/v1","kind":"Other","metadata":{"name":"x"}})")
          .code,
      422);
  EXPECT_EQ(ask("POST", std::string(kGizmos), "no json").code, 400);
  EXPECT_EQ(
      ask("POST", std::string(kGizmos) + "?fieldValidation=Strict",
          R"({"apiVersion":"ex.io/v1","kind":"Gizmo","metadata":{"name":"x"},"spec":{"size":1,"size":2}})")
          .body.string_at("message"),
      "Gizmo in version \"v1\" cannot be handled as a Gizmo: strict decoding error: duplicate field "
      "\"spec.size\"");
}

// kubectl sends the first kind of patch that the document lists, so it lists what the server takes.
TEST_F(CustomResourcesTest, OpenApiListsThePatchesThatTheResourceTakes) {
  define();
  make("a", R"({"size":3})");
  make_map("a", R"("labels":{})");
  struct Row {
    std::string path, document, item;
    std::size_t answers;
  };
  const Row rows[] = {
      {gizmo("a"), "/openapi/v3/apis/ex.io/v1", "/apis/ex.io/v1/namespaces/{namespace}/gizmos/{name}", 2},
      {"/api/v1/namespaces/default/configmaps/a", "/openapi/v3/api/v1",
       "/api/v1/namespaces/{namespace}/configmaps/{name}", 3},
  };
  for (const Row& row : rows) {
    const Json document = ask("GET", row.document).body;
    const Json& operation = document.part("paths").part(row.item).part("patch");
    for (const std::string type :
         {"apply-patch+yaml", "json-patch+json", "merge-patch+json", "strategic-merge-patch+json"}) {
      const bool listed = operation.part("requestBody").part("content").find("application/" + type);
      const bool taken = patch(row.path, "{}", type).code != 415;
      EXPECT_EQ(listed, taken) << row.path << " " << type;
    }
    EXPECT_EQ(operation.part("responses").part("200").part("content").as_object().size(), row.answers);
  }
}

// Argo CD, Terraform and client-go read the whole API as one document.
TEST_F(CustomResourcesTest, OpenApiV2HasEveryKind) {
  define();
  ASSERT_EQ(define(R"({"metadata":{"name":"opens.ex.io"},"spec":{"group":"ex.io","scope":"Cluster",
 "names":{"plural":"opens","kind":"Open"},"versions":[{"name":"v1","served":true,"storage":true,
 "schema":{"openAPIV3Schema":{"type":"object","required":["n","q"],"properties":{
   "n":{"type":"string","nullable":true},
   "o":{"type":"object","x-kubernetes-preserve-unknown-fields":true,"properties":{"a":{"type":"string"}}},
   "q":{"x-kubernetes-int-or-string":true,"anyOf":[{"type":"integer"},{"type":"string"}]},
   "e":{"type":"object","x-kubernetes-embedded-resource":true,"properties":{"a":{"type":"string"}}}}}}}]}})")
                .code,
            201);
  const Reply reply = ask("GET", "/openapi/v2");
  ASSERT_EQ(reply.code, 200);
  const Json& definitions = reply.body.part("definitions");
  const std::string_view head = "#/definitions/";
  std::size_t references = 0;
  for (std::size_t at = reply.text.find(head); at != std::string::npos; at = reply.text.find(head, at + 1)) {
    const std::size_t begin = at + head.size();
    const std::string name = reply.text.substr(begin, reply.text.find('"', begin) - begin);
    ASSERT_TRUE(definitions.find(name)) << name;
    ++references;
  }
  EXPECT_GT(references, 1000u);
  EXPECT_EQ(reply.text.find("#/components"), std::string::npos);
  EXPECT_EQ(reply.text.find(R"("oneOf":[)"), std::string::npos);
  EXPECT_EQ(to_string(definitions.part("io.k8s.apimachinery.pkg.api.resource.Quantity")),
            R"({"type":"string"})");
  EXPECT_EQ(to_string(definitions.part("io.k8s.api.core.v1.Pod").part("properties").part("spec")),
            R"({"$ref":"#/definitions/io.k8s.api.core.v1.PodSpec",)"
            R"("description":"What the user wants of the pod: containers, volumes and scheduling rules."})");
  EXPECT_TRUE(definitions.part("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta")
                  .part("properties")
                  .part("creationTimestamp")
                  .string_at("description")
                  .starts_with("CreationTimestamp is a timestamp"));
  const Json& gizmo = definitions.part("io.ex.v1.Gizmo");
  EXPECT_EQ(gizmo.part("properties").part("spec").part("properties").part("mode").string_at("default"), "a");
  EXPECT_EQ(gizmo.items_at("x-kubernetes-group-version-kind").front().string_at("kind"), "Gizmo");
  EXPECT_TRUE(definitions.find("io.ex.v1.GizmoList"));
  const Json& open = definitions.part("io.ex.v1.Open");
  EXPECT_EQ(open.items_at("required"), JsonArray{Json("q")});
  EXPECT_EQ(to_string(open.part("properties").part("n")), "{}");
  EXPECT_EQ(to_string(open.part("properties").part("o")), R"({"x-kubernetes-preserve-unknown-fields":true})");
  EXPECT_EQ(to_string(open.part("properties").part("q")), R"({"x-kubernetes-int-or-string":true})");
  EXPECT_EQ(open.part("properties").part("e").items_at("required").size(), 2u);
  // A schema that says nothing keeps kubectl from refusing members that it does not name.
  EXPECT_EQ(definitions.part("io.ex.v1beta1.Gizmo").find("properties"), nullptr);
  const Json& path = reply.body.part("paths").part("/apis/ex.io/v1/namespaces/{namespace}/gizmos/{name}");
  EXPECT_EQ(path.part("patch").items_at("consumes").size(), 3u);
  EXPECT_EQ(path.part("get").part("responses").part("200").part("schema").string_at("$ref"),
            "#/definitions/io.ex.v1.Gizmo");
}

TEST_F(CustomResourcesTest, OpenApiV2ComesAsItIsAskedFor) {
  define();
  const char* kProtobuf = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
  const auto said = [&](Headers headers) {
    HttpRequest request;
    request.method = "GET";
    request.path = "/openapi/v2";
    request.headers = std::move(headers);
    request.user = {"root", {"system:masters"}};
    const auto heard = std::make_shared<Said>();
    bench->server.handle(std::move(request), heard);
    return heard->response;
  };
  const HttpResponse binary = said({{"Accept", kProtobuf}});
  EXPECT_EQ(binary.headers.front().second, "application/com.github.proto-openapi.spec.v2.v1.0+protobuf");
  EXPECT_TRUE(
      binary.body.starts_with("\x0a\x03"
                              "2.0"));
  EXPECT_NE(binary.body.find("io.ex.v1.Gizmo"), std::string::npos);
  EXPECT_EQ(said({{"Accept", "text/html"}}).status, 406);
  std::string tag;
  for (const auto& [name, value] : binary.headers)
    if (name == "Etag") tag = value;
  EXPECT_EQ(said({{"If-None-Match", tag}}).status, 304);
  ask("DELETE", kDefinitionsPath + "/gizmos.ex.io");
  settle();
  EXPECT_EQ(said({{"If-None-Match", tag}}).status, 200);
}

// Without an endpoint of its own the status is content like any other.
TEST_F(CustomResourcesTest, AStatusWithoutAnEndpointRaisesTheGeneration) {
  ASSERT_EQ(define(R"({"metadata":{"name":"gizmos.ex.io"},"spec":{"group":"ex.io","scope":"Namespaced",
 "names":{"plural":"gizmos","kind":"Gizmo"},"versions":[{"name":"v1","served":true,"storage":true,
 "schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}})")
                .code,
            201);
  make("a", R"({"size":3})");
  const auto generation = [&](const std::string& change) {
    return patch(gizmo("a"), change).body.part("metadata").int_at("generation");
  };
  EXPECT_EQ(generation(R"({"status":{"n":1}})"), 2);
  EXPECT_EQ(generation(R"({"status":{"n":1}})"), 2);
  EXPECT_EQ(generation(R"({"metadata":{"labels":{"x":"y"}}})"), 2);
}

TEST_F(CustomResourcesTest, TablesAreOfWhatIsStored) {
  define();
  make("a", R"({"size":3})");
  const Headers table = {{"Accept", "application/json;as=Table;v=v1;g=meta.k8s.io"}};
  EXPECT_EQ(ask("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
                R"({"spec":{"resourceAttributes":{"verb":"get","resource":"pods"}}})", table)
                .code,
            406);
  const auto lines = std::make_shared<Said>();
  HttpRequest request;
  request.method = "GET";
  request.path = kGizmos;
  request.query = {{"watch", "true"},
                   {"allowWatchBookmarks", "true"},
                   {"sendInitialEvents", "true"},
                   {"resourceVersionMatch", "NotOlderThan"}};
  request.headers = table;
  request.user = {"root", {"system:masters"}};
  bench->server.handle(std::move(request), lines);
  const std::size_t at = lines->response.body.find(R"({"type":"BOOKMARK","object":{"kind":"Table")");
  ASSERT_NE(at, std::string::npos) << lines->response.body;
  const Json bookmark = parse_json(lines->response.body.substr(at)).value();
  const Json& row = bookmark.part("object").items_at("rows").front();
  EXPECT_EQ(row.part("object").part("metadata").part("annotations").string_at("k8s.io/initial-events-end"),
            "true");
  EXPECT_NE(row.part("object").part("metadata").string_at("resourceVersion"), "");
  for (const char* version : {"v1", "v1beta1"}) {
    const Json list = ask("GET", std::string("/apis/ex.io/") + version).body;
    EXPECT_EQ(list.items_at("resources").front().string_at("storageVersionHash").empty(),
              std::string_view(version) != "v1");
  }
}

TEST_F(CustomResourcesTest, AFinalizerNeedsNoDomain) {
  ASSERT_EQ(define().code, 201);
  const std::string definition = kDefinitionsPath + "/gizmos.ex.io";
  EXPECT_EQ(patch(definition, R"({"metadata":{"finalizers":["mine"]}})").code, 200);
  EXPECT_EQ(patch(definition, R"({"metadata":{"finalizers":null}})").code, 200);
  for (const std::string name :
       {"resources-finalizer.argocd.argoproj.io", "cluster.cluster.x-k8s.io", "mine"}) {
    const std::string member = R"("finalizers":[")" + name + "\"]";
    EXPECT_EQ(make_owned("a", member).code, 201) << name;
    EXPECT_EQ(patch(gizmo("a"), R"({"metadata":{"finalizers":null}})").code, 200);
    EXPECT_EQ(patch(gizmo("a"), "{\"metadata\":{" + member + "}}").code, 200) << name;
    patch(gizmo("a"), R"({"metadata":{"finalizers":null}})");
    ask("DELETE", gizmo("a"));
    // Kubernetes' own kinds are stricter.
    EXPECT_EQ(make_map("a", member).code, 422) << name;
  }
  EXPECT_EQ(make_owned("a", R"("finalizers":["no name"])").code, 422);
}

TEST_F(CustomResourcesTest, DefinitionsDeletedTogetherGo) {
  std::string other(kGizmo);
  other.replace(other.find("\"gi\""), 4, "\"ga\"");
  for (std::size_t at; (at = other.find("izmo")) != std::string::npos;) other.replace(at, 4, "adget");
  define();
  ASSERT_EQ(define(other).code, 201);
  make("a", R"({"size":3})");
  settle();
  EXPECT_EQ(ask("DELETE", kDefinitionsPath).code, 200);
  settle();
  for (const std::string name : {"/gizmos.ex.io", "/gadgets.ex.io"})
    EXPECT_EQ(ask("GET", kDefinitionsPath + name).code, 404) << name;
}

TEST_F(CustomResourcesTest, StatusAndScaleAreSubresources) {
  define();
  make("a", R"({"size":3})");
  EXPECT_EQ(patch(gizmo("a") + "/status", R"({"status":{"n":2,"selector":"app=x"},"spec":{"size":9}})").code,
            200);
  const Json now = ask("GET", gizmo("a")).body;
  EXPECT_EQ(now.part("spec").int_at("size"), 3);
  EXPECT_EQ(now.part("status").int_at("n"), 2);
  EXPECT_EQ(patch(gizmo("a"), R"({"status":{"n":7}})").body.part("status").int_at("n"), 2);
  EXPECT_EQ(patch(gizmo("a") + "/status", R"({"status":{"n":"x"}})").code, 422);
  const Json scale = ask("GET", gizmo("a") + "/scale").body;
  EXPECT_EQ(scale.part("spec").int_at("replicas"), 3);
  EXPECT_EQ(scale.part("status"), parse_json(R"({"replicas":2,"selector":"app=x"})").value());
  EXPECT_EQ(patch(gizmo("a") + "/scale", R"({"spec":{"replicas":8}})").body.part("spec").int_at("replicas"),
            8);
  EXPECT_EQ(ask("GET", gizmo("a")).body.part("spec").int_at("size"), 8);
}

TEST_F(CustomResourcesTest, VersionsDifferInTheirApiVersion) {
  define();
  make("a", R"({"size":3})");
  const Reply beta = ask("GET", "/apis/ex.io/v1beta1/namespaces/default/gizmos/a");
  EXPECT_EQ(beta.body.string_at("apiVersion"), "ex.io/v1beta1");
  EXPECT_NE(beta.warning.find("ex.io/v1beta1 Gizmo is deprecated"), std::string::npos);
  const Json group = ask("GET", "/apis/ex.io").body;
  EXPECT_EQ(group.part("preferredVersion").string_at("version"), "v1");
  EXPECT_EQ(group.items_at("versions").size(), 2u);
  const Json resources = ask("GET", "/apis/ex.io/v1").body;
  EXPECT_EQ(resources.items_at("resources").size(), 3u);
  EXPECT_EQ(resources.items_at("resources").front().items_at("shortNames").front(), Json("gi"));
  // A version that is no longer served is gone; its objects are not.
  EXPECT_EQ(patch(kDefinitionsPath + "/gizmos.ex.io",
                  R"([{"op":"replace","path":"/spec/versions/1/served","value":false}])", "json-patch+json")
                .code,
            200);
  EXPECT_EQ(ask("GET", "/apis/ex.io/v1beta1/namespaces/default/gizmos/a").code, 404);
  EXPECT_EQ(ask("GET", gizmo("a")).code, 200);
}

// A definition gets a default and loses a member after an object was stored: every read shows the object by
// the schema of now, and the next write stores that.
TEST_F(CustomResourcesTest, ReadsShowStoredObjectsByTheSchemaOfNow) {
  define();
  make("a", R"({"size":3,"pairs":[{"k":"x"}],"mode":"z"})");
  const std::string properties = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties";
  ASSERT_EQ(patch(kDefinitionsPath + "/gizmos.ex.io",
                  R"([{"op":"add","path":")" + properties +
                      R"(/color","value":{"type":"string","default":"A"}},)" + R"({"op":"add","path":")" +
                      properties + R"(/pairs/items/properties/v/default","value":"w"},)" +
                      R"({"op":"remove","path":")" + properties + R"(/mode"},)" +
                      R"({"op":"replace","path":"/spec/versions/0/selectableFields/0/jsonPath",)" +
                      R"("value":".spec.color"}])",
                  "json-patch+json")
                .code,
            200);
  const Json wanted = parse_json(R"({"size":3,"pairs":[{"k":"x","v":"w"}],"color":"A"})").value();
  const Json read = ask("GET", gizmo("a")).body;
  EXPECT_EQ(read.part("spec"), wanted);
  EXPECT_EQ(ask("GET", std::string(kGizmos)).body.items_at("items").front().part("spec"), wanted);
  EXPECT_EQ(ask("GET", std::string(kGizmos) + "?fieldSelector=spec.color=A").body.items_at("items").size(),
            1u);
  EXPECT_EQ(ask("GET", std::string(kGizmos) + "?fieldSelector=spec.color=B").body.items_at("items").size(),
            0u);
  EXPECT_NE(watch(std::string(kGizmos))->response.body.find(R"("color":"A")"), std::string::npos);
  EXPECT_EQ(patch(gizmo("a"), R"([{"op":"test","path":"/spec/color","value":"A"}])", "json-patch+json").code,
            200);
  // What changes nothing stores the shape of now, and then nothing more.
  const std::string_view version = "resourceVersion";
  const Json stored = patch(gizmo("a"), "{}").body;
  EXPECT_EQ(stored.part("spec"), wanted);
  EXPECT_EQ(stored.part("metadata").int_at("generation"), 1);
  EXPECT_EQ(patch(gizmo("a"), "{}").body.part("metadata").string_at(version),
            stored.part("metadata").string_at(version));
}

// A read of one version of an object that another version wrote knows the members of both.
TEST_F(CustomResourcesTest, AVersionShowsOnlyItsMembers) {
  std::string_view both =
      R"({"metadata":{"name":"gizmos.ex.io"},"spec":{"group":"ex.io","scope":"Namespaced",
 "names":{"plural":"gizmos","kind":"Gizmo"},"versions":[
  {"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{
     "a":{"type":"string","default":"a"},"b":{"type":"string"}}}}},
  {"name":"v2","served":true,"storage":false,"schema":{"openAPIV3Schema":{"type":"object","properties":{
     "b":{"type":"string","default":"b"},"c":{"type":"string"}}}}}]}})";
  ASSERT_EQ(define(both).code, 201);
  const std::string second = "/apis/ex.io/v2/namespaces/default/gizmos";
  const Reply made =
      ask("POST", second, R"({"apiVersion":"ex.io/v2","kind":"Gizmo","metadata":{"name":"g"},"c":"c"})");
  ASSERT_EQ(made.code, 201) << made.text;
  // The stored version has neither c nor, until it is read, a.
  const Json first = ask("GET", gizmo("g")).body;
  EXPECT_EQ(first.string_at("a"), "a");
  EXPECT_EQ(first.string_at("b"), "b");
  EXPECT_EQ(first.find("c"), nullptr);
  const Json again = ask("GET", second + "/g").body;
  EXPECT_EQ(again.find("a"), nullptr);
  EXPECT_EQ(again.find("c"), nullptr);
  EXPECT_EQ(again.string_at("apiVersion"), "ex.io/v2");
  EXPECT_EQ(again.string_at("b"), "b");
}

TEST_F(CustomResourcesTest, OpenApiAndTablesFollowTheDefinition) {
  define();
  make("a", R"({"size":3})");
  const Json index = ask("GET", "/openapi/v3").body;
  EXPECT_TRUE(index.part("paths").find("apis/ex.io/v1"));
  const Json document = ask("GET", "/openapi/v3/apis/ex.io/v1").body;
  const Json* schema = document.part("components").part("schemas").find("io.ex.v1.Gizmo");
  ASSERT_TRUE(schema);
  EXPECT_EQ(schema->part("properties").part("spec").part("properties").part("size").string_at("type"),
            "integer");
  EXPECT_TRUE(schema->part("properties")
                  .part("apiVersion")
                  .string_at("description")
                  .starts_with("APIVersion defines"));
  const Json table =
      ask("GET", std::string(kGizmos), "", {{"Accept", "application/json;as=Table;v=v1;g=meta.k8s.io"}}).body;
  EXPECT_EQ(table.items_at("columnDefinitions").size(), 2u);
  EXPECT_EQ(table.items_at("rows").front().part("cells"), parse_json(R"(["a",3])").value());
  const std::string before = index.part("paths").part("apis/ex.io/v1").string_at("serverRelativeURL").data();
  patch(kDefinitionsPath + "/gizmos.ex.io", R"({"spec":{"names":{"shortNames":["gz"]}}})");
  EXPECT_NE(ask("GET", "/openapi/v3").body.part("paths").part("apis/ex.io/v1").string_at("serverRelativeURL"),
            before);
  EXPECT_EQ(ask("GET", "/apis/ex.io/v1").body.items_at("resources").front().items_at("shortNames").front(),
            Json("gz"));
}

TEST_F(CustomResourcesTest, AppliersShareAnObject) {
  define();
  const auto apply = [&](const std::string& manager, const std::string& spec, const std::string& more = "") {
    return ask("PATCH", gizmo("a") + "?fieldManager=" + manager + more,
               R"({"apiVersion":"ex.io/v1","kind":"Gizmo","metadata":{"name":"a"},"spec":)" + spec + "}",
               {{"Content-Type", "application/apply-patch+yaml"}});
  };
  EXPECT_EQ(apply("m1", R"({"size":3,"pairs":[{"k":"x","v":"1"}]})").code, 201);
  EXPECT_EQ(apply("m2", R"({"size":3,"pairs":[{"k":"y","v":"2"}]})").code, 200);
  EXPECT_EQ(ask("GET", gizmo("a")).body.part("spec").items_at("pairs").size(), 2u);
  const Reply refused = apply("m2", R"({"size":4,"pairs":[{"k":"y","v":"2"}]})");
  EXPECT_EQ(refused.code, 409);
  EXPECT_EQ(refused.body.string_at("message"),
            "Apply failed with 1 conflict: conflict with \"m1\": .spec.size");
  EXPECT_EQ(apply("m2", R"({"size":4,"pairs":[{"k":"y","v":"2"}]})", "&force=true").code, 200);
  // What an applier leaves out, and nobody else has, goes.
  EXPECT_EQ(apply("m1", R"({"size":4})").code, 200);
  EXPECT_EQ(ask("GET", gizmo("a")).body.part("spec").part("pairs"),
            parse_json(R"([{"k":"y","v":"2"}])").value());
  EXPECT_EQ(apply("m1", R"({"size":4,"junk":1})").code, 500);
}

TEST_F(CustomResourcesTest, ADeletedDefinitionTakesItsObjectsAlong) {
  define();
  for (int i = 0; i < 3; ++i) make("g" + std::to_string(i), R"({"size":3})");
  make("held", R"({"size":3})");
  patch(gizmo("held"), R"({"metadata":{"finalizers":["ex.io/hold"]}})");
  const Reply deleted = ask("DELETE", kDefinitionsPath + "/gizmos.ex.io");
  EXPECT_EQ(deleted.code, 200);
  EXPECT_EQ(deleted.body.part("metadata").items_at("finalizers").front(),
            Json("customresourcecleanup.apiextensions.k8s.io"));
  // It waits for the object that another one holds, and takes no new ones.
  EXPECT_EQ(ask("GET", std::string(kGizmos)).body.items_at("items").size(), 1u);
  EXPECT_EQ(make("late", R"({"size":3})").code, 405);
  EXPECT_EQ(patch(gizmo("held"), R"({"metadata":{"finalizers":null}})").code, 200);
  for (int i = 0; i < 3; ++i) bench->server.tick(bench->clock.now());
  EXPECT_EQ(ask("GET", kDefinitionsPath + "/gizmos.ex.io").code, 404);
  EXPECT_EQ(ask("GET", std::string(kGizmos)).text, "404 page not found\n");
  EXPECT_EQ(bench->store->count("gizmos.ex.io"), 0u);
}

TEST_F(CustomResourcesTest, ATakenNameIsNotAccepted) {
  define();
  std::string other(kGizmo);
  for (const auto& [from, to] : {std::pair<std::string, std::string>{"gizmos.ex.io", "others.ex.io"},
                                 {"\"plural\":\"gizmos\"", "\"plural\":\"others\""},
                                 {"\"gi\"", "\"ot\""}})
    other.replace(other.find(from), from.size(), to);
  EXPECT_EQ(define(other).code, 201);
  EXPECT_EQ(condition("others.ex.io", "NamesAccepted"), "False ListKindConflict")
      << ask("GET", kDefinitionsPath + "/others.ex.io").text;
  EXPECT_EQ(condition("others.ex.io", "Established"), "False NotAccepted");
  EXPECT_EQ(ask("GET", "/apis/ex.io/v1/namespaces/default/others").code, 404);
  // The name is free when its holder is gone.
  ask("DELETE", kDefinitionsPath + "/gizmos.ex.io");
  for (int i = 0; i < 3; ++i) bench->server.tick(bench->clock.now());
  EXPECT_EQ(condition("others.ex.io", "Established"), "True InitialNamesAccepted");
}

TEST_F(CustomResourcesTest, BuiltInResourcesAreNotReplaced) {
  std::string own(kGizmo);
  for (const auto& [from, to] :
       {std::pair<std::string, std::string>{"gizmos.ex.io", "bindrequests.scheduling.berth.dev"},
        {"\"group\":\"ex.io\"", "\"group\":\"scheduling.berth.dev\""},
        {"\"plural\":\"gizmos\"", "\"plural\":\"bindrequests\""}})
    own.replace(own.find(from), from.size(), to);
  EXPECT_EQ(define(own).code, 201);
  EXPECT_EQ(ask("GET", "/apis/scheduling.berth.dev/v1/bindrequests").code, 404);
  EXPECT_EQ(ask("DELETE", kDefinitionsPath + "/bindrequests.scheduling.berth.dev").code, 200);
  for (int i = 0; i < 3; ++i) bench->server.tick(bench->clock.now());
  EXPECT_EQ(ask("GET", kDefinitionsPath + "/bindrequests.scheduling.berth.dev").code, 404);
}

TEST_F(CustomResourcesTest, ARestartServesWhatIsStored) {
  store::SimulatedDisk disk(1);
  bench = std::make_unique<ServerBench>(store::StoreOptions{.directory = "/d"}, ApiServerOptions{}, &disk);
  define();
  EXPECT_EQ(make("a", R"({"size":3})").code, 201);
  bench.reset();
  bench = std::make_unique<ServerBench>(store::StoreOptions{.directory = "/d"}, ApiServerOptions{}, &disk);
  EXPECT_EQ(ask("GET", gizmo("a")).body.part("spec").int_at("size"), 3);
  EXPECT_EQ(make("b", R"({"size":0})").code, 422);
  bench.reset();  // before its disk
}

TEST_F(CustomResourcesTest, ImmutableNamesAndStoredVersionsStay) {
  define();
  const std::string path = kDefinitionsPath + "/gizmos.ex.io";
  EXPECT_EQ(patch(path, R"({"spec":{"scope":"Cluster"}})").code, 422);
  EXPECT_EQ(patch(path, R"({"spec":{"names":{"kind":"Other","listKind":"OtherList"}}})").code, 422);
  EXPECT_NE(patch(path,
                  R"([{"op":"remove","path":"/spec/versions/0"},{"op":"replace",)"
                  R"("path":"/spec/versions/0/storage","value":true}])",
                  "json-patch+json")
                .body.string_at("message")
                .find("v1 was previously a storage version"),
            std::string::npos);
  EXPECT_EQ(patch(path,
                  R"([{"op":"replace","path":"/spec/versions/0/storage","value":false},{"op":"replace",)"
                  R"("path":"/spec/versions/1/storage","value":true}])",
                  "json-patch+json")
                .body.part("status")
                .items_at("storedVersions")
                .size(),
            2u);
}

}  // namespace
}  // namespace berth::server
