#include "install/objects.h"

#include <gtest/gtest.h>

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
  options.node_agent = options.service_monitor = options.dashboards = true;
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
                       "Namespace", "ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role",
                       "RoleBinding", "Service", "NetworkPolicy", "PodDisruptionBudget", "Deployment"}));
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
  EXPECT_EQ(pod.find("volumes"), nullptr);
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

TEST(Rights, EveryRowIsARule) {
  std::size_t rules = 0;
  for (const Account account : kAccounts)
    for (const Scope scope : {Scope::Cluster, Scope::OwnNamespace})
      rules += policy_rules(account, scope).as_array().size();
  EXPECT_EQ(rules, rights().size());
  for (const Right& right : rights()) EXPECT_EQ(right.verbs.find('*'), std::string_view::npos);
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
