// Who may do what, through the server: stored roles and bindings, what a writer may grant, impersonation and
// reviews.
#include "server/access.h"

#include <gtest/gtest.h>

#include "server/test_bench.h"

namespace berth::server {
namespace {

constexpr const char* kRoles = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles";
constexpr const char* kRoleBindings = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings";
constexpr const char* kClusterRoles = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
constexpr const char* kClusterRoleBindings = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";
constexpr const char* kPods = "/api/v1/namespaces/default/pods";

std::string role_named(const std::string& name, const std::string& verbs, const std::string& resources,
                       const std::string& more = "") {
  return R"({"metadata":{"name":")" + name + R"("},"rules":[{"verbs":[)" + verbs +
         R"(],"apiGroups":[""],"resources":[)" + resources + "]" + more + "}]}";
}

std::string binding_to(const std::string& name, const std::string& kind, const std::string& role,
                       const std::string& user) {
  return R"({"metadata":{"name":")" + name + R"("},"roleRef":{"kind":")" + kind + R"(","name":")" + role +
         R"("},"subjects":[{"kind":"User","name":")" + user + R"("}]})";
}

class AccessTest : public testing::Test, protected ServerBench {
 protected:
  AccessTest() { EXPECT_TRUE(server.make_bootstrap_roles().ok()); }

  struct Told {
    int code = 0;
    Json body;
    std::string message() const { return std::string(body.string_at("message")); }
  };

  Told ask(const User& user, const std::string& method, const std::string& path, const std::string& body = "",
           Headers headers = {}) {
    HttpRequest request;
    request.method = method;
    const std::size_t question = path.find('?');
    request.path = path.substr(0, question);
    if (question != std::string::npos) {
      const std::string query = path.substr(question + 1);
      const std::size_t equals = query.find('=');
      request.query.emplace_back(query.substr(0, equals), query.substr(equals + 1));
    }
    request.body = body;
    request.user = user;
    request.headers = std::move(headers);
    if (method == "PATCH") request.headers.emplace_back("Content-Type", "application/merge-patch+json");
    const auto exchange = std::make_shared<Said>();
    server.handle(std::move(request), exchange);
    return {exchange->response.status, parse_json(exchange->response.body).value_or(Json())};
  }
  void make(const std::string& path, const std::string& body) {
    const Told told = ask(root, "POST", path, body);
    ASSERT_EQ(told.code, 201) << to_string(told.body);
  }

  const User root{"root", {"system:masters"}};
  const User eve{"eve", {"team"}};
};

TEST_F(AccessTest, RolesAreInForceForTheNextRequest) {
  EXPECT_EQ(
      ask(eve, "GET", kPods).message(),
      "pods is forbidden: User \"eve\" cannot list resource \"pods\" in API group \"\" in the namespace "
      "\"default\"");
  make(kRoles, role_named("reader", R"("list")", R"("pods")"));
  EXPECT_EQ(ask(eve, "GET", kPods).code, 403);
  make(kRoleBindings, binding_to("readers", "Role", "reader", "eve"));
  EXPECT_EQ(ask(eve, "GET", kPods).code, 200);
  EXPECT_EQ(ask(eve, "GET", "/api/v1/pods").message(),
            "pods is forbidden: User \"eve\" cannot list resource \"pods\" in API group \"\" at the cluster "
            "scope");
  EXPECT_EQ(ask(root, "DELETE", std::string(kRoles) + "/reader").code, 200);
  EXPECT_EQ(
      ask(eve, "GET", kPods).message(),
      "pods is forbidden: User \"eve\" cannot list resource \"pods\" in API group \"\" in the namespace "
      "\"default\": RBAC: role.rbac.authorization.k8s.io \"reader\" not found");
  EXPECT_EQ(ask(eve, "GET", "/metrics").message(), "forbidden: User \"eve\" cannot get path \"/metrics\"");
  EXPECT_EQ(ask(eve, "GET", "/apis").code, 200);
  EXPECT_EQ(ask({}, "GET", "/apis").code, 403);
}

TEST_F(AccessTest, ANameLimitsAlsoWhatSelectsIt) {
  make(kRoles,
       role_named("one", R"("get","list","watch","delete")", R"("pods")", R"(,"resourceNames":["p"])"));
  make(kRoleBindings, binding_to("ones", "Role", "one", "eve"));
  EXPECT_EQ(ask(eve, "GET", kPods).code, 403);
  EXPECT_EQ(ask(eve, "GET", std::string(kPods) + "?fieldSelector=metadata.name=p").code, 200);
  EXPECT_EQ(ask(eve, "GET", std::string(kPods) + "?fieldSelector=metadata.name=q").code, 403);
  EXPECT_EQ(ask(eve, "GET", std::string(kPods) + "?fieldSelector=metadata.name!=p").code, 403);
  EXPECT_EQ(ask(eve, "GET", std::string(kPods) + "/p").code, 404);
  EXPECT_EQ(ask(eve, "DELETE", kPods).code, 403);
}

TEST_F(AccessTest, WhoMayChangeAnObjectMayNotMakeIt) {
  make(kRoles, role_named("changer", R"("update","patch")", R"("configmaps","endpoints")"));
  make(kRoleBindings, binding_to("changers", "Role", "changer", "eve"));
  struct Way {
    const char* method;
    const char* kind;
    std::string plural;
    Headers headers;
  };
  for (const Way& way :
       {Way{"PATCH", "ConfigMap", "configmaps", {{"Content-Type", "application/apply-patch+yaml"}}},
        Way{"PUT", "Endpoints", "endpoints", {}}}) {
    const std::string path = "/api/v1/namespaces/default/" + way.plural + "/x?fieldManager=m";
    const std::string body =
        R"({"kind":")" + std::string(way.kind) + R"(","apiVersion":"v1","metadata":{"name":"x"}})";
    EXPECT_EQ(ask(eve, way.method, path, body, way.headers).message(),
              way.plural + " \"x\" is forbidden: User \"eve\" cannot create resource \"" + way.plural +
                  "\" in API group \"\" in the namespace \"default\"");
    EXPECT_EQ(ask(root, way.method, path, body, way.headers).code, 201);
    EXPECT_EQ(ask(eve, way.method, path, body, way.headers).code, 200);
  }
}

TEST_F(AccessTest, ANamespaceIsInItself) {
  make(kRoles, role_named("own", R"("get")", R"("namespaces")"));
  make(kRoleBindings, binding_to("own", "Role", "own", "eve"));
  EXPECT_EQ(ask(eve, "GET", "/api/v1/namespaces/default").code, 200);
  EXPECT_EQ(ask(eve, "GET", "/api/v1/namespaces/kube-system").message(),
            "namespaces \"kube-system\" is forbidden: User \"eve\" cannot get resource \"namespaces\" in API "
            "group \"\" in the namespace \"kube-system\"");
}

TEST_F(AccessTest, NobodyGrantsMoreThanTheyHave) {
  make(kRoleBindings, binding_to("admins", "ClusterRole", "admin", "eve"));
  EXPECT_EQ(ask(eve, "POST", kRoles, role_named("a", R"("get","list")", R"("pods","pods/log")")).code, 201);
  EXPECT_EQ(ask(eve, "POST", kRoles, role_named("b", R"("get")", R"("pods","nodes")")).message(),
            "roles.rbac.authorization.k8s.io \"b\" is forbidden: user \"eve\" (groups=[\"team\" "
            "\"system:authenticated\"]) is attempting to grant RBAC permissions not currently held:\n"
            "{APIGroups:[\"\"], Resources:[\"nodes\"], Verbs:[\"get\"]}");
  EXPECT_EQ(ask(eve, "PATCH", std::string(kRoles) + "/a",
                R"({"rules":[{"verbs":["*"],"apiGroups":["*"],"resources":["*"]}]})")
                .code,
            403);
  EXPECT_EQ(ask(eve, "PATCH", std::string(kRoles) + "/a", R"({"metadata":{"finalizers":["a.io/b"]}})").code,
            200);
  EXPECT_EQ(ask(eve, "POST", kRoleBindings, binding_to("v", "ClusterRole", "view", "bob")).code, 201);
  EXPECT_EQ(ask(eve, "POST", kRoleBindings, binding_to("c", "ClusterRole", "cluster-admin", "eve")).code,
            403);
  EXPECT_EQ(ask(eve, "POST", kRoleBindings, binding_to("n", "ClusterRole", "nosuch", "eve")).message(),
            "clusterroles.rbac.authorization.k8s.io \"nosuch\" not found");
}

TEST_F(AccessTest, WhoMayBindOrEscalateGrantsMore) {
  make(kClusterRoles, R"({"metadata":{"name":"granter"},"rules":[
      {"verbs":["create"],"apiGroups":["rbac.authorization.k8s.io"],"resources":["*"]},
      {"verbs":["bind"],"apiGroups":["rbac.authorization.k8s.io"],"resources":["clusterroles"],
       "resourceNames":["edit"]},
      {"verbs":["escalate"],"apiGroups":["rbac.authorization.k8s.io"],"resources":["roles"]}]})");
  make(kClusterRoleBindings, binding_to("granters", "ClusterRole", "granter", "eve"));
  EXPECT_EQ(ask(eve, "POST", kClusterRoleBindings, binding_to("e", "ClusterRole", "edit", "eve")).code, 201);
  EXPECT_EQ(ask(eve, "POST", kClusterRoleBindings, binding_to("a", "ClusterRole", "admin", "eve")).code, 403);
  EXPECT_EQ(ask(eve, "POST", kRoles, role_named("all", R"("*")", R"("*")")).code, 201);
  EXPECT_EQ(ask(eve, "POST", kClusterRoles, role_named("all", R"("*")", R"("*")")).code, 403);
  EXPECT_EQ(
      ask(eve, "POST", kClusterRoles,
          R"({"metadata":{"name":"agg"},"aggregationRule":{"clusterRoleSelectors":[{}]}})")
          .message(),
      "clusterroles.rbac.authorization.k8s.io \"agg\" is forbidden: must have cluster-admin privileges to "
      "use the aggregationRule");
}

TEST_F(AccessTest, RolesThatMakeNoSenseAreRefused) {
  EXPECT_EQ(
      ask(root, "POST", kRoles, R"({"metadata":{"name":"r"},"rules":[{"apiGroups":["a"]}]})").message(),
      "Role.rbac.authorization.k8s.io \"r\" is invalid: [rules[0].resources: Required value: resource rules "
      "must supply at least one resource, rules[0].verbs: Required value]");
  const std::string nobody =
      R"({"metadata":{"name":"n"},"subjects":[{}],)"
      R"("roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"Role","name":"r"}})";
  EXPECT_EQ(ask(root, "POST", kRoleBindings, nobody).message(),
            "RoleBinding.rbac.authorization.k8s.io \"n\" is invalid: [subjects[0].kind: Unsupported value: "
            "\"\": supported values: \"ServiceAccount\", \"User\", \"Group\", subjects[0].name: Required "
            "value]");
  make(kRoleBindings, binding_to("b", "Role", "r", "eve"));
  const Told told = ask(root, "PATCH", std::string(kRoleBindings) + "/b", R"({"roleRef":{"name":"other"}})");
  EXPECT_EQ(told.code, 422) << to_string(told.body);
}

struct Impersonation {
  Headers headers;
  int code;
  const char* says;  // part of the message, or who it is
};

TEST_F(AccessTest, UsersActAsThoseTheyMayImpersonate) {
  make(kClusterRoles, R"({"metadata":{"name":"actor"},"rules":[
      {"verbs":["impersonate"],"apiGroups":[""],"resources":["users"],"resourceNames":["bob"]},
      {"verbs":["impersonate"],"apiGroups":[""],"resources":["groups"],"resourceNames":["dev"]},
      {"verbs":["impersonate"],"apiGroups":[""],"resources":["serviceaccounts"]},
      {"verbs":["impersonate"],"apiGroups":["authentication.k8s.io"],"resources":["userextras/scopes"],
       "resourceNames":["view"]}]})");
  make(kClusterRoleBindings, binding_to("actors", "ClusterRole", "actor", "eve"));
  const Impersonation rows[] = {
      {{{"Impersonate-User", "bob"}}, 201, R"({"username":"bob","groups":["system:authenticated"]})"},
      {{{"Impersonate-User", "bob"}, {"Impersonate-Group", "dev"}},
       201,
       R"({"username":"bob","groups":["dev","system:authenticated"]})"},
      {{{"Impersonate-User", "bob"}, {"Impersonate-Extra-Scopes", "view"}},
       201,
       R"({"username":"bob","groups":["system:authenticated"],"extra":{"scopes":["view"]}})"},
      {{{"Impersonate-User", "system:serviceaccount:a:b"}},
       201,
       R"({"username":"system:serviceaccount:a:b","groups":["system:serviceaccounts",)"
       R"("system:serviceaccounts:a","system:authenticated"]})"},
      {{{"Impersonate-User", "root"}},
       403,
       "cannot impersonate resource \"users\" in API group \"\" at the clus"},
      {{{"Impersonate-User", "bob"}, {"Impersonate-Group", "system:masters"}}, 403, "resource \"groups\""},
      {{{"Impersonate-User", "bob"}, {"Impersonate-Extra-Scopes", "edit"}}, 403, "\"userextras/scopes\""},
      {{{"Impersonate-User", "bob"}, {"Impersonate-Uid", "1"}}, 403, "resource \"uids\""},
      {{{"Impersonate-Group", "dev"}}, 400, "without impersonating a user"},
  };
  for (const Impersonation& row : rows) {
    const Told told =
        ask(eve, "POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", "{}", row.headers);
    EXPECT_EQ(told.code, row.code) << to_string(told.body);
    const std::string shown =
        row.code == 201 ? to_string(told.body.part("status").part("userInfo")) : told.message();
    EXPECT_NE(shown.find(row.says), std::string::npos) << shown;
  }
}

TEST_F(AccessTest, ReviewsSayWhatRolesSay) {
  make(kRoleBindings, binding_to("viewers", "ClusterRole", "view", "eve"));
  const std::string reviews = "/apis/authorization.k8s.io/v1/";
  const std::string pods = R"("resourceAttributes":{"verb":"get","resource":"pods","namespace":"default"})";
  const Json allowed =
      ask(eve, "POST", reviews + "selfsubjectaccessreviews", "{\"spec\":{" + pods + "}}").body.part("status");
  EXPECT_EQ(to_string(allowed),
            R"({"allowed":true,"reason":"RBAC: allowed by RoleBinding \"viewers/default\" of ClusterRole )"
            R"(\"view\" to User \"eve\""})");
  EXPECT_EQ(ask(eve, "POST", reviews + "subjectaccessreviews", "{}").code, 403);
  const std::string of_bob = R"({"spec":{"user":"bob",)" + pods + "}}";
  EXPECT_FALSE(ask(root, "POST", reviews + "subjectaccessreviews", of_bob)
                   .body.part("status")
                   .bool_at("allowed", true));
  const std::string local = "/apis/authorization.k8s.io/v1/namespaces/other/localsubjectaccessreviews";
  EXPECT_EQ(ask(root, "POST", local, of_bob).code, 422);
  const std::string of_path =
      R"({"spec":{"user":"eve","nonResourceAttributes":{"verb":"get","path":"/metrics"}}})";
  EXPECT_EQ(to_string(ask(root, "POST", reviews + "subjectaccessreviews", of_path).body.part("status")),
            R"({"allowed":false})");
  EXPECT_EQ(ask(eve, "POST", reviews + "selfsubjectrulesreviews", "{}").code, 400);
  const Json rules =
      ask(eve, "POST", reviews + "selfsubjectrulesreviews", R"({"spec":{"namespace":"default"}})")
          .body.part("status");
  EXPECT_GT(rules.items_at("resourceRules").size(), 5u);
  EXPECT_GT(rules.items_at("nonResourceRules").size(), 0u);
  EXPECT_EQ(rules.find("evaluationError"), nullptr);
}

// The status of a claim has parts of several writers.
class ClaimStatusTest : public AccessTest {
 protected:
  ClaimStatusTest() {
    const std::string claims = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims";
    make(claims, R"({"metadata":{"name":"c"},"spec":{"devices":{"requests":[
        {"name":"r","exactly":{"deviceClassName":"gpu"}}]}}})");
    make(kClusterRoles, R"({"metadata":{"name":"writer"},"rules":[
        {"verbs":["patch"],"apiGroups":["resource.k8s.io"],"resources":["resourceclaims/status"]}]})");
    make(kClusterRoleBindings, binding_to("writers", "ClusterRole", "writer", driver.name));
  }
  std::string patch(const User& user, const std::string& status) {
    return ask(user, "PATCH", "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims/c/status",
               R"({"status":)" + status + "}")
        .message();
  }
  void grant(const std::string& name, const std::string& verb, const std::string& resource,
             const std::string& more = "") {
    make(kClusterRoles, R"({"metadata":{"name":")" + name + R"("},"rules":[{"verbs":[")" + verb +
                            R"("],"apiGroups":["resource.k8s.io"],"resources":[")" + resource + "\"]" + more +
                            "}]}");
    make(kClusterRoleBindings, binding_to(name, "ClusterRole", name, driver.name));
  }

  const User driver{
      "system:serviceaccount:default:driver", {}, "", {{"authentication.kubernetes.io/node-name", {"n"}}}};
  const std::string allocation = R"({"allocation":{"devices":{"results":[
      {"request":"r","driver":"d.example.com","pool":"p","device":"gpu-0"}]},
      "nodeSelector":{"nodeSelectorTerms":[{"matchFields":[
        {"key":"metadata.name","operator":"In","values":["n"]}]}]}}})";
  const std::string devices = R"({"devices":[{"driver":"d.example.com","pool":"p","device":"gpu-0",
      "data":{"a":1}}]})";
};

TEST_F(ClaimStatusTest, AnAllocationTakesTheRightToBind) {
  EXPECT_EQ(
      patch(driver, allocation),
      "ResourceClaim.resource.k8s.io \"c\" is invalid: status.allocation: Forbidden: changing "
      "status.allocation or status.reservedFor requires resource=\"resourceclaims/binding\", "
      "verb=\"patch\" permission: resourceclaims.resource.k8s.io is forbidden: User "
      "\"system:serviceaccount:default:driver\" cannot patch resource \"resourceclaims/binding\" in API "
      "group \"resource.k8s.io\" at the cluster scope");
  grant("binder", "patch", "resourceclaims/binding");
  EXPECT_EQ(patch(driver, allocation), "");
}

TEST_F(ClaimStatusTest, TheStatusOfADeviceIsItsDrivers) {
  ASSERT_EQ(patch(root, allocation), "");
  EXPECT_NE(patch(driver, devices)
                .find("verb=\"[associated-node:patch arbitrary-node:patch]\" permission: "
                      "resourceclaims.resource.k8s.io \"d.example.com\" is forbidden: User "
                      "\"system:serviceaccount:default:driver\" cannot associated-node:patch resource "
                      "\"resourceclaims/driver\""),
            std::string::npos)
      << patch(driver, devices);
  grant("other", "associated-node:patch", "resourceclaims/driver", R"(,"resourceNames":["e.example.com"])");
  EXPECT_NE(patch(driver, devices), "") << "that is another driver";
  grant("own", "associated-node:patch", "resourceclaims/driver", R"(,"resourceNames":["d.example.com"])");
  User elsewhere = driver;
  elsewhere.extra.begin()->second = {"m"};
  EXPECT_NE(patch(elsewhere, devices).find("verb=\"[arbitrary-node:patch]\""), std::string::npos);
  EXPECT_EQ(patch(driver, devices), "");
}

// Of the node n, whose kubelet and drivers act as its user.
class NodeAccessTest : public AccessTest {
 protected:
  NodeAccessTest() {
    make("/api/v1/nodes", R"({"metadata":{"name":"n"}})");
    make(kPods, R"({"metadata":{"name":"here"},"spec":{"nodeName":"n","serviceAccountName":"robot",
        "containers":[{"name":"c","image":"i","envFrom":[{"configMapRef":{"name":"settings"}}]}],
        "volumes":[{"name":"v","secret":{"secretName":"key"}},
                   {"name":"w","persistentVolumeClaim":{"claimName":"disk"}}],
        "resourceClaims":[{"name":"gpu","resourceClaimName":"mine"}]}})");
    make(kPods, R"({"metadata":{"name":"elsewhere"},"spec":{"nodeName":"m",
        "containers":[{"name":"c","image":"i"}],"volumes":[{"name":"v","secret":{"secretName":"other"}}]}})");
    for (const char* name : {"key", "other"})
      make(kSecrets, R"({"metadata":{"name":")" + std::string(name) + "\"}}");
    make("/api/v1/namespaces/default/configmaps", R"({"metadata":{"name":"settings"}})");
    make("/api/v1/namespaces/default/serviceaccounts", R"({"metadata":{"name":"robot"}})");
    make(kSlices, slice("m-0", "m"));
  }
  static std::string slice(const std::string& name, const std::string& on) {
    return R"({"metadata":{"name":")" + name + R"("},"spec":{"driver":"d.example.com","nodeName":")" + on +
           R"(","pool":{"name":")" + on + R"(","generation":1,"resourceSliceCount":1}}})";
  }
  int code(const std::string& method, const std::string& path, const std::string& body = "") {
    return ask(node, method, path, body).code;
  }
  std::string message(const std::string& method, const std::string& path, const std::string& body = "") {
    return ask(node, method, path, body).message();
  }

  const User node{"system:node:n", {"system:nodes"}};
  const std::string kSecrets = "/api/v1/namespaces/default/secrets";
  const std::string kSlices = "/apis/resource.k8s.io/v1/resourceslices";
};

TEST_F(NodeAccessTest, ReadsWhatItsPodsReferTo) {
  EXPECT_EQ(code("GET", kSecrets + "/key"), 200);
  EXPECT_EQ(
      message("GET", kSecrets + "/other"),
      "secrets \"other\" is forbidden: User \"system:node:n\" cannot get resource \"secrets\" in API group "
      "\"\" in the namespace \"default\": no relationship found between node 'n' and this object");
  EXPECT_EQ(code("GET", kSecrets), 403);
  EXPECT_EQ(code("GET", kSecrets + "?fieldSelector=metadata.name=key"), 200);
  EXPECT_EQ(code("DELETE", kSecrets + "/key"), 403);
  EXPECT_EQ(code("GET", "/api/v1/namespaces/default/configmaps/settings"), 200);
  EXPECT_EQ(code("GET", "/api/v1/namespaces/default/serviceaccounts/robot"), 200);
  EXPECT_EQ(code("GET", "/api/v1/namespaces/default/persistentvolumeclaims/disk"), 404);
  EXPECT_EQ(code("GET", "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims/mine"), 404);
  EXPECT_EQ(code("GET", "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims/gpu"), 403)
      << "that is its name in the pod";
  EXPECT_EQ(code("GET", "/api/v1/namespaces/default/services"), 200) << "as the role system:node says";
  EXPECT_EQ(ask({"system:node:n", {}}, "GET", kSecrets + "/key").code, 403) << "the group makes it a node";
}

TEST_F(NodeAccessTest, ReadsAndWritesItsOwnPods) {
  EXPECT_EQ(code("GET", std::string(kPods) + "/here"), 200);
  EXPECT_EQ(code("GET", std::string(kPods) + "/elsewhere"), 403);
  EXPECT_EQ(code("GET", "/api/v1/pods"), 403);
  EXPECT_EQ(code("GET", "/api/v1/pods?fieldSelector=spec.nodeName=n"), 200);
  const std::string running = R"({"status":{"phase":"Running"}})";
  EXPECT_EQ(code("PATCH", std::string(kPods) + "/here/status", running), 200);
  EXPECT_EQ(message("PATCH", std::string(kPods) + "/elsewhere/status", running),
            "pods \"elsewhere\" is forbidden: node \"n\" can only update pod status for pods with "
            "spec.nodeName set to itself");
  EXPECT_EQ(message("PATCH", std::string(kPods) + "/here/status", R"({"metadata":{"labels":{"a":"b"}}})"),
            "pods \"here\" is forbidden: node \"n\" cannot update labels through pod status");
  EXPECT_EQ(
      message("DELETE", std::string(kPods) + "/elsewhere"),
      "pods \"elsewhere\" is forbidden: node \"n\" can only delete pods with spec.nodeName set to itself");
  EXPECT_EQ(
      message("POST", std::string(kPods) + "/elsewhere/eviction", R"({"metadata":{"name":"elsewhere"}})"),
      "pods \"elsewhere\" is forbidden: node n can only evict pods with spec.nodeName set to itself");
  EXPECT_EQ(
      message("POST", kPods, R"({"metadata":{"name":"new"},"spec":{"nodeName":"n",
                    "containers":[{"name":"c","image":"i"}]}})"),
      "pods \"new\" is forbidden: pod does not have \"kubernetes.io/config.mirror\" annotation, node \"n\" "
      "can only create mirror pods");
}

TEST_F(NodeAccessTest, MirrorPodsAreItsOwnAndReferToNothing) {
  const std::string uid(ask(root, "GET", "/api/v1/nodes/n").body.part("metadata").string_at("uid"));
  const auto mirror = [&](const std::string& owner, const std::string& more) {
    return message("POST", kPods,
                   R"({"metadata":{"name":"m","annotations":{"kubernetes.io/config.mirror":"h"},)"
                   R"("ownerReferences":[{"apiVersion":"v1","kind":"Node","controller":true,"name":")" +
                       owner + R"(","uid":")" + uid +
                       R"("}]},"spec":{"nodeName":"n","containers":[{"name":"c","image":"i"}])" + more +
                       "}}");
  };
  const std::string refused = "pods \"m\" is forbidden: node \"n\" can ";
  EXPECT_EQ(mirror("m", ""), refused + "only create pods with an owner reference set to itself");
  EXPECT_EQ(mirror("n", R"(,"volumes":[{"name":"v","secret":{"secretName":"other"}}])"),
            refused + "not create pods that reference secrets");
  EXPECT_EQ(mirror("n", ""), "");
}

TEST_F(NodeAccessTest, WritesItsOwnNodeWithoutTaintsAndLabelsOfOthers) {
  EXPECT_EQ(code("GET", "/api/v1/nodes/n"), 200);
  EXPECT_EQ(code("GET", "/api/v1/nodes"), 403);
  EXPECT_EQ(message("PATCH", "/api/v1/nodes/m", "{}"), "nodes \"m\" not found");
  make("/api/v1/nodes", R"({"metadata":{"name":"m"}})");
  EXPECT_EQ(message("PATCH", "/api/v1/nodes/m", R"({"metadata":{"labels":{"a":"b"}}})"),
            "nodes \"m\" is forbidden: node \"n\" is not allowed to modify node \"m\"");
  EXPECT_EQ(
      code("PATCH", "/api/v1/nodes/n", R"({"metadata":{"labels":{"a":"b","kubernetes.io/os":"linux"}}})"),
      200);
  EXPECT_EQ(message("PATCH", "/api/v1/nodes/n", R"({"metadata":{"labels":{"x.k8s.io/a":"b",
                    "node-restriction.kubernetes.io/a":"b"}}})"),
            "nodes \"n\" is forbidden: is not allowed to modify labels: node-restriction.kubernetes.io/a, "
            "x.k8s.io/a");
  EXPECT_EQ(message("PATCH", "/api/v1/nodes/n", R"({"spec":{"taints":[{"key":"a","effect":"NoSchedule"}]}})"),
            "nodes \"n\" is forbidden: node \"n\" is not allowed to modify taints");
}

TEST_F(NodeAccessTest, ItsNewNodeHasNoLabelsOfOthers) {
  EXPECT_EQ(ask({"system:node:o", {"system:nodes"}}, "POST", "/api/v1/nodes",
                R"({"metadata":{"name":"o","labels":{"x.k8s.io/a":"b"}}})")
                .message(),
            "nodes \"o\" is forbidden: node \"o\" is not allowed to set the following labels: x.k8s.io/a");
}

TEST_F(NodeAccessTest, AMirrorPodHasItsNodeAsItsController) {
  const auto refusal = [&](const std::string& owners) {
    return message("POST", kPods,
                   R"({"metadata":{"name":"p","annotations":{"kubernetes.io/config.mirror":"h"},)"
                   R"("ownerReferences":[)" +
                       owners + R"(]},"spec":{"nodeName":"n","containers":[{"name":"c","image":"i"}]}})");
  };
  const auto owner = [](const std::string& name, const std::string& more) {
    return R"({"apiVersion":"v1","kind":"Node","uid":"u","name":")" + name + "\"" + more + "}";
  };
  const std::string uid(ask(root, "GET", "/api/v1/nodes/n").body.part("metadata").string_at("uid"));
  const std::string refused = "pods \"p\" is forbidden: node ";
  EXPECT_EQ(refusal(owner("n", "") + "," + owner("m", "")),
            refused + "\"n\" can only create pods with a single owner reference set to itself");
  EXPECT_EQ(refusal(owner("n", "")),
            refused + "\"n\" can only create pods with a controller owner reference set to itself");
  EXPECT_EQ(refusal(owner("n", R"(,"controller":true,"blockOwnerDeletion":true)")),
            refused + "\"n\" must not set blockOwnerDeletion on an owner reference");
  EXPECT_EQ(refusal(owner("n", R"(,"controller":true)")), refused + "n UID mismatch: expected u got " + uid);
}

// A role gives rights, but takes no restriction away.
class NodeWithARole : public NodeAccessTest {
 protected:
  NodeWithARole() {
    make(kClusterRoleBindings, binding_to("all", "ClusterRole", "cluster-admin", node.name));
  }
};

TEST_F(NodeWithARole, WritesNoMoreThanANode) {
  const std::string in_default = "/api/v1/namespaces/default/", here = std::string(kPods) + "/here";
  struct Refused {
    const char* method;
    std::string path, body, message;
  };
  const Refused rows[] = {
      {"PATCH", "/api/v1/nodes/n",
       R"({"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"p","uid":"u"}]}})",
       "nodes \"n\" is forbidden: node \"n\" is not allowed to modify ownerReferences"},
      {"PATCH", here, R"({"metadata":{"labels":{"a":"b"}}})",
       "pods \"here\" is forbidden: unexpected operation \"UPDATE\", node \"n\" can only create and delete "
       "mirror pods"},
      {"PATCH", here + "/status",
       R"({"status":{"resourceClaimStatuses":[{"name":"gpu","resourceClaimName":"other"}]}})",
       "pods \"here\" is forbidden: node \"n\" cannot update resource claim statues"},
      {"POST", here + "/binding", R"({"metadata":{"name":"here"},"target":{"kind":"Node","name":"n"}})",
       "pods \"here\" is forbidden: unexpected pod subresource \"binding\", only 'status' and 'eviction' are "
       "allowed"},
      {"POST", in_default + "persistentvolumeclaims",
       R"({"metadata":{"name":"d"},"spec":{"accessModes":["ReadWriteOnce"],
           "resources":{"requests":{"storage":"1Gi"}}}})",
       "persistentvolumeclaims \"d\" is forbidden: may only update PVC status"},
      {"POST", "/apis/storage.k8s.io/v1/csinodes", R"({"metadata":{"name":"m"},"spec":{"drivers":[]}})",
       "csinodes.storage.k8s.io \"m\" is forbidden: can only access CSINode with the same name as the "
       "requesting node"},
      {"POST", "/apis/coordination.k8s.io/v1/namespaces/default/leases", R"({"metadata":{"name":"n"}})",
       "leases.coordination.k8s.io \"n\" is forbidden: can only access leases in the \"kube-node-lease\" "
       "system namespace"},
  };
  for (const Refused& row : rows) EXPECT_EQ(message(row.method, row.path, row.body), row.message) << row.path;
}

TEST_F(NodeWithARole, WritesCustomObjectsOfAnyName) {
  make("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", R"({"metadata":{"name":"leases.ex.io"},
      "spec":{"group":"ex.io","scope":"Namespaced","names":{"plural":"leases","kind":"Lease"},
      "versions":[{"name":"v1","served":true,"storage":true,
                   "schema":{"openAPIV3Schema":{"type":"object"}}}]}})");
  EXPECT_EQ(code("POST", "/apis/ex.io/v1/namespaces/default/leases",
                 R"({"apiVersion":"ex.io/v1","kind":"Lease","metadata":{"name":"any"}})"),
            201);
}

TEST_F(NodeAccessTest, PublishesTheSlicesOfItsOwnDevices) {
  EXPECT_EQ(code("POST", kSlices, slice("n-0", "n")), 201);
  EXPECT_EQ(
      message("POST", kSlices, slice("m-1", "m")),
      "resourceslices.resource.k8s.io \"m-1\" is forbidden: can only create ResourceSlice with the same "
      "NodeName as the requesting node");
  EXPECT_EQ(code("GET", kSlices), 403);
  EXPECT_EQ(code("GET", kSlices + "?fieldSelector=spec.nodeName=n"), 200);
  EXPECT_EQ(code("GET", kSlices + "/m-0"), 403);
  EXPECT_EQ(code("DELETE", kSlices + "/m-0"), 403);
  EXPECT_EQ(code("DELETE", kSlices + "?fieldSelector=spec.nodeName=n"), 200);
  EXPECT_EQ(ask(root, "GET", kSlices + "/n-0").code, 404);
}

TEST_F(NodeAccessTest, KeepsItsLease) {
  const std::string leases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";
  EXPECT_EQ(code("POST", leases, R"({"metadata":{"name":"n"}})"), 201);
  EXPECT_EQ(message("POST", leases, R"({"metadata":{"name":"m"}})"),
            "leases.coordination.k8s.io \"m\" is forbidden: can only access node lease with the same name as "
            "the requesting node");
  EXPECT_EQ(code("GET", leases), 403);
  EXPECT_EQ(code("GET", leases + "/n"), 200);
}

TEST_F(AccessTest, BootstrapRolesAreMadeOnceAndMended) {
  const store::Revision before = store->revision();
  EXPECT_TRUE(server.make_bootstrap_roles().ok());
  EXPECT_EQ(store->revision(), before);
  const std::string view = std::string(kClusterRoles) + "/system:aggregate-to-view";
  EXPECT_EQ(ask(root, "PATCH", view, R"({"rules":[]})").code, 200);
  EXPECT_EQ(ask(root, "DELETE", std::string(kClusterRoles) + "/cluster-admin").code, 200);
  EXPECT_TRUE(server.make_bootstrap_roles().ok());
  EXPECT_GT(ask(root, "GET", view).body.items_at("rules").size(), 5u);
  EXPECT_EQ(ask(root, "GET", std::string(kClusterRoles) + "/cluster-admin").code, 200);
}

}  // namespace
}  // namespace berth::server
