#include "install/objects.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>

#include "api/type_table.h"
#include "api/yaml_write.h"
#include "base/testing/source_dir.h"
#include "install/crd.h"
#include "install/rights.h"
#include "install/testing/stored_text.h"

namespace berth::install {
namespace {

std::map<std::string, Json> by_title(const InstallOptions& options) {
  std::map<std::string, Json> objects;
  for (const Json& object : installation(options)) objects[title_of(object)] = object;
  return objects;
}

InstallOptions everything() {
  InstallOptions options;
  options.ns = "gpu-system";
  options.node_agent = options.service_monitor = options.dashboards = options.webhook = true;
  options.serve_dashboard = true;
  return options;
}

std::set<std::string> members(const Json& object) {
  std::set<std::string> names;
  for (const JsonMember& member : object.as_object()) names.insert(member.key);
  return names;
}

// Every member of a document that its type lacks, below `path`.
void find_unknown(const api::TypeInfo& type, const Json& value, const std::string& path,
                  std::vector<std::string>& unknown) {
  if (!value.is_object()) return;
  for (const JsonMember& member : value.as_object()) {
    const api::FieldInfo* field = type.field_by_json(member.key);
    const std::string at = path + "." + member.key;
    if (!field) {
      unknown.push_back(at);
    } else if (field->kind == api::ValueKind::Message && field->shape != api::Shape::Map) {
      if (!member.value.is_array()) find_unknown(field->type(), member.value, at, unknown);
      if (member.value.is_array())
        for (const Json& item : member.value.as_array()) find_unknown(field->type(), item, at, unknown);
    }
  }
}

TEST(Objects, DashboardIsServedOnlyWhenAskedAndToNobodyAtFirst) {
  InstallOptions options;
  const auto closed = by_title(options);
  EXPECT_FALSE(closed.contains("ClusterRole berth-dashboard-reader"));
  EXPECT_EQ(to_string(closed.at("Deployment berth-system/berth-scheduler")).find("--dashboard"),
            std::string::npos);
  options.serve_dashboard = true;
  const auto open = by_title(options);
  EXPECT_NE(to_string(open.at("Deployment berth-system/berth-scheduler")).find("--dashboard=0.0.0.0:8443"),
            std::string::npos);
  EXPECT_EQ(open.at("Service berth-system/berth-dashboard").part("spec").items_at("ports")[0].int_at("port"),
            443);
  EXPECT_NE(to_string(open.at("NetworkPolicy berth-system/berth-scheduler")).find("8443"), std::string::npos);
  EXPECT_TRUE(open.contains("ClusterRole berth-dashboard-reader"));
  for (const auto& [title, object] : open)
    EXPECT_NE(object.part("roleRef").string_at("name"), kDashboardReaderRole) << title;
}

TEST(Objects, AreWrittenInFieldsThatTheirKindsHave) {
  for (const Json& object : installation(everything())) {
    const api::TypeInfo* type = api::find_kind(object.string_at("apiVersion"), object.string_at("kind"));
    if (!type) {
      EXPECT_EQ(object.string_at("kind"), "ServiceMonitor");
      continue;
    }
    std::vector<std::string> unknown;
    find_unknown(*type, object, title_of(object), unknown);
    EXPECT_EQ(unknown, std::vector<std::string>());
  }
}

TEST(Objects, StandInTheOrderInWhichTheyNeedEachOther) {
  std::vector<std::string> kinds;
  for (const Json& object : installation({})) kinds.emplace_back(object.string_at("kind"));
  EXPECT_EQ(kinds, (std::vector<std::string>{
                       "CustomResourceDefinition", "CustomResourceDefinition", "CustomResourceDefinition",
                       "CustomResourceDefinition", "CustomResourceDefinition", "Namespace", "ServiceAccount",
                       "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding", "Service", "NetworkPolicy",
                       "PodDisruptionBudget", "Deployment"}));
}

TEST(Objects, BearTheNamespaceAndTheLabel) {
  for (const Json& object : installation(everything())) {
    const Json& metadata = object.part("metadata");
    EXPECT_EQ(metadata.part("labels").string_at(kManagedByLabel), "berth") << title_of(object);
    const bool in_path = path_of(object).find("/namespaces/gpu-system/") != std::string::npos;
    EXPECT_EQ(in_path, metadata.string_at("namespace") == "gpu-system") << title_of(object);
  }
}

TEST(Objects, PodsFollowTheRestrictedProfile) {
  const auto objects = by_title(everything());
  const Json& pod =
      objects.at("Deployment gpu-system/berth-scheduler").part("spec").part("template").part("spec");
  EXPECT_TRUE(pod.part("securityContext").bool_at("runAsNonRoot"));
  EXPECT_EQ(pod.part("securityContext").part("seccompProfile").string_at("type"), "RuntimeDefault");
  EXPECT_EQ(by_title({})
                .at("Deployment berth-system/berth-scheduler")
                .find_path({"spec", "template", "spec", "volumes"}),
            nullptr);
  for (const char* title :
       {"Deployment gpu-system/berth-scheduler", "DaemonSet gpu-system/berth-node-agent"}) {
    const Json& container =
        objects.at(title).part("spec").part("template").part("spec").items_at("containers")[0];
    const Json& security = container.part("securityContext");
    EXPECT_FALSE(security.bool_at("allowPrivilegeEscalation", true)) << title;
    EXPECT_TRUE(security.bool_at("readOnlyRootFilesystem")) << title;
    EXPECT_EQ(security.part("capabilities").items_at("drop"), JsonArray{"ALL"}) << title;
    EXPECT_NE(container.find("resources"), nullptr) << title;
    EXPECT_NE(container.find("readinessProbe"), nullptr) << title;
  }
}

TEST(Objects, TheLeaseOfTheFlagsIsTheLeaseOfTheRole) {
  bool granted = false;
  for (const Right& right : rights()) granted |= right.resource == "leases" && right.name == kLeaseName;
  EXPECT_TRUE(granted);
  const Json deployment = by_title({}).at("Deployment berth-system/berth-scheduler");
  const JsonArray& args =
      deployment.part("spec").part("template").part("spec").items_at("containers")[0].items_at("args");
  EXPECT_EQ(args.back(), Json("--leader-elect-resource-name=" + std::string(kLeaseName)));
}

// The certificate's name is the Service's; registrations, Service, port and mounted files agree.
TEST(Objects, TheWebhookIsReachedWhereItListens) {
  InstallOptions options = everything();
  options.webhook_ca = WebhookCa::Given;
  options.webhook_ca_bundle = "Q0E=";
  options.webhook_failure_policy = "Fail";
  options.scheduler_name = "gpus";
  const auto objects = by_title(options);
  const Json& service = objects.at("Service gpu-system/berth-webhook").part("spec");
  const Json& pod =
      objects.at("Deployment gpu-system/berth-scheduler").part("spec").part("template").part("spec");
  const Json& container = pod.items_at("containers")[0];
  const std::int64_t port = service.items_at("ports")[0].int_at("targetPort");
  EXPECT_EQ(container.items_at("ports").back().int_at("containerPort"), port);
  EXPECT_EQ(objects.at("NetworkPolicy gpu-system/berth-scheduler")
                .part("spec")
                .items_at("ingress")[0]
                .items_at("ports")
                .back()
                .int_at("port"),
            port);
  const auto has = [&](const std::string& argument) {
    const JsonArray& args = container.items_at("args");
    return std::find(args.begin(), args.end(), Json(argument)) != args.end();
  };
  EXPECT_TRUE(has("--webhook"));
  EXPECT_TRUE(has("--webhook-listen=0.0.0.0:" + std::to_string(port)));
  const std::string folder(container.items_at("volumeMounts")[0].string_at("mountPath"));
  EXPECT_TRUE(has("--tls-cert-file=" + folder + "/tls.crt"));
  EXPECT_TRUE(has("--tls-private-key-file=" + folder + "/tls.key"));
  EXPECT_EQ(pod.items_at("volumes")[0].part("secret").string_at("secretName"), "berth-webhook-tls");
  for (const auto& [title, policy] : {std::pair{"ValidatingWebhookConfiguration berth", "Ignore"},
                                      std::pair{"MutatingWebhookConfiguration berth", "Fail"}}) {
    const Json& object = objects.at(title);
    const Json& webhook = object.items_at("webhooks")[0];
    EXPECT_EQ(webhook.string_at("failurePolicy"), policy);
    EXPECT_EQ(webhook.part("clientConfig").string_at("caBundle"), "Q0E=");
    EXPECT_EQ(webhook.part("clientConfig").part("service").int_at("port"),
              service.items_at("ports")[0].int_at("port"));
    EXPECT_EQ(webhook.items_at("matchConditions")[0].string_at("expression"),
              "object.spec.schedulerName == 'gpus'");
    EXPECT_EQ(object.part("metadata").find("annotations"), nullptr) << "cert-manager is not asked";
  }
}

TEST(Rights, EveryRowIsARule) {
  std::size_t rules = 0;
  for (const Account account : kAccounts)
    for (const Scope scope : {Scope::Cluster, Scope::OwnNamespace})
      rules += policy_rules(account, scope).as_array().size();
  EXPECT_EQ(rules, rights().size());
  for (const Right& right : rights()) EXPECT_EQ(right.verbs.find('*'), std::string_view::npos);
}

TEST(Rights, WhatIsWatchedAndWrittenCanBeReadBack) {
  const auto has_verb = [](const Right& right, std::string_view verb) {
    bool found = false;
    api::for_each_listed(right.verbs, [&](std::string_view word) { found |= word == verb; });
    return found;
  };
  for (const Right& read : rights()) {
    if (!has_verb(read, "watch")) continue;
    const bool written = std::any_of(rights().begin(), rights().end(), [&](const Right& right) {
      const bool same = right.account == read.account && right.group == read.group &&
                        right.resource.substr(0, right.resource.find('/')) == read.resource;
      return same && (has_verb(right, "patch") || has_verb(right, "update") || has_verb(right, "create"));
    });
    EXPECT_EQ(has_verb(read, "get"), written) << title_of(read);
  }
}

TEST(Rights, StandOnTheirPage) {
  std::ifstream file(source_path("docs/install.md"));
  const std::string page((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  EXPECT_NE(page.find(rights_reference()), std::string::npos) << "the table of docs/install.md is this:\n"
                                                              << rights_reference();
}

TEST(Crd, HasEveryFieldOfTheTypeTable) {
  for (const Json& crd : own_crds()) {
    const Json version = crd.part("spec").items_at("versions")[0];
    const Json& properties = version.part("schema").part("openAPIV3Schema").part("properties");
    const std::string kind(crd.part("spec").part("names").string_at("kind"));
    for (const char* part : {"spec", "status"}) {
      const api::TypeInfo* type = api::find_type(
          "scheduling.berth.dev", "v1alpha1", kind + (part == std::string_view("spec") ? "Spec" : "Status"));
      const bool has_part = properties.find(part) != nullptr;
      ASSERT_EQ(type != nullptr, has_part) << kind;
      if (!type) continue;
      std::set<std::string> fields;
      for (const api::FieldInfo& field : type->fields()) fields.emplace(field.json);
      EXPECT_EQ(members(properties.part(part).part("properties")), fields) << kind;
    }
    EXPECT_EQ(version.part("subresources").find("status") != nullptr, properties.find("status") != nullptr);
  }
}

// A schema is structural when every level has a type or accepts anything.
void expect_structural(const Json& schema, const std::string& path) {
  const bool open = schema.bool_at("x-kubernetes-int-or-string");
  EXPECT_TRUE(open || !schema.string_at("type").empty()) << path;
  EXPECT_EQ(schema.find("$ref"), nullptr) << path;
  for (const JsonMember& member :
       schema.part("properties").is_object() ? schema.part("properties").as_object() : JsonObject())
    expect_structural(member.value, path + "." + member.key);
  if (const Json* items = schema.find("items")) expect_structural(*items, path + "[]");
  if (const Json* values = schema.find("additionalProperties")) expect_structural(*values, path + "{}");
}

TEST(Crd, IsStructural) {
  for (const Json& crd : own_crds())
    expect_structural(crd.part("spec").items_at("versions")[0].part("schema").part("openAPIV3Schema"), "");
}

TEST(Crd, NarrowsWhatTheEmbeddedServerNarrows) {
  const Json version = bind_request_crd().part("spec").items_at("versions")[0];
  const Json& properties = version.part("schema").part("openAPIV3Schema").part("properties");
  const Json& spec = properties.part("spec");
  EXPECT_EQ(spec.part("properties").part("podName").int_at("maxLength"), 253);
  EXPECT_EQ(spec.part("properties").part("resourceClaimAllocations").int_at("maxItems"), 64);
  EXPECT_EQ(spec.part("properties").part("epoch").int_at("minimum", -1), 0);
  EXPECT_EQ(properties.part("status").part("properties").part("phase").items_at("enum").size(), 4u);
}

TEST(Crd, IsTheOneOfTheRig) {
  expect_stored("tests/cluster/rig/bindrequests.crd.yaml", api::to_yaml(bind_request_crd()));
}

}  // namespace
}  // namespace berth::install
