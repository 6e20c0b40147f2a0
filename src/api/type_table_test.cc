#include "api/type_table.h"
#include "base/testing/source_dir.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>

namespace berth::api {
namespace {

const TypeInfo& type_of(std::string_view group, std::string_view version, std::string_view name) {
  const TypeInfo* found = find_type(group, version, name);
  EXPECT_NE(found, nullptr) << group << "/" << version << " " << name;
  return *found;
}

TEST(TypeTable, KnowsWireNumbersPointersAndMergeRules) {
  const TypeInfo& spec = type_of("", "v1", "PodSpec");
  const FieldInfo* containers = spec.field_by_json("containers");
  ASSERT_NE(containers, nullptr);
  EXPECT_EQ(containers->proto, 2);
  EXPECT_EQ(containers->shape, Shape::List);
  EXPECT_EQ(containers->merge_key, "name");
  EXPECT_EQ(containers->map_keys, "name");
  EXPECT_EQ(containers->list_type, ListType::Map);
  EXPECT_EQ(&containers->type(), find_type("", "v1", "Container"));
  EXPECT_TRUE(spec.field_by_json("volumes")->is(kPatchRetainKeys));
  EXPECT_EQ(spec.field_by_json("tolerations")->list_type, ListType::Atomic);
  EXPECT_TRUE(spec.field_by_json("terminationGracePeriodSeconds")->is(kPointer));
  EXPECT_FALSE(spec.field_by_json("hostNetwork")->is(kPointer));
  EXPECT_EQ(spec.field_by_json("nodename"), nullptr) << "names match exactly";
  EXPECT_EQ(type_of("", "v1", "Container").field_by_json("ports")->map_keys, "containerPort,protocol");
}

TEST(TypeTable, FlattensEmbeddedMessages) {
  const FieldInfo* config_map = type_of("", "v1", "Volume").field_by_json("configMap");
  ASSERT_NE(config_map, nullptr);
  EXPECT_EQ(config_map->embed[0], 2);
  EXPECT_EQ(config_map->proto, 19);
  const TypeInfo& rule = type_of("admissionregistration.k8s.io", "v1", "NamedRuleWithOperations");
  EXPECT_NE(rule.field_by_json("apiGroups")->embed[1], 0) << "embedded twice";
}

TEST(TypeTable, FindsKindsByApiVersion) {
  EXPECT_NE(find_kind("v1", "Pod"), nullptr);
  EXPECT_NE(find_kind("apps/v1", "Deployment"), nullptr);
  EXPECT_EQ(find_kind("apps/v1", "Pod"), nullptr);
  EXPECT_EQ(find_kind("v1", "PodSpec"), nullptr) << "a part is no kind";
  EXPECT_NE(find_kind("apps/v1", "DeleteOptions"), nullptr) << "typed clients send their own group";
}

TEST(TypeTable, EveryResourceRowAgreesWithItsType) {
  std::set<std::string> seen;
  for (const ResourceInfo& row : resources()) {
    SCOPED_TRACE(std::string(row.group) + "/" + std::string(row.version) + " " + std::string(row.plural));
    const TypeInfo* type = find_type(row.group, row.version, row.kind);
    ASSERT_NE(type, nullptr);
    EXPECT_TRUE(type->is(kTopLevel));
    EXPECT_EQ(row.namespaced, !type->is(kClusterScoped));
    const bool listed = row.verbs.find("list") != std::string_view::npos;
    EXPECT_EQ(listed, find_type(row.group, row.version, std::string(row.kind) + "List") != nullptr);
    EXPECT_TRUE(!row.has_subresource("status") || type->field_by_json("status"));
    EXPECT_TRUE(seen.insert(std::string(row.group) + row.version.data() + std::string(row.plural)).second);
    EXPECT_EQ(find_resource(row.group, row.version, row.plural), &row);
    EXPECT_EQ(find_resource_of_kind(row.group, row.version, row.kind), &row);
  }
}

TEST(TypeTable, EveryKindWithAClientIsAResource) {
  // Only served as subresources.
  const std::set<std::string_view> elsewhere = {"Scale", "Eviction", "TokenRequest"};
  // Types that 1.37 still has but no longer serves.
  const std::set<std::string> unserved = {"coordination.k8s.io/v1beta1 Lease",
                                          "scheduling.k8s.io/v1beta1 PriorityClass"};
  for (const TypeInfo& type : types())
    EXPECT_TRUE(!type.is(kHasClient) || elsewhere.contains(type.name) ||
                unserved.contains(std::string(type.group) + "/" + std::string(type.version) + " " +
                                  std::string(type.name)) ||
                find_resource_of_kind(type.group, type.version, type.name))
        << type.group << "/" << type.version << " " << type.name;
}

TEST(TypeTable, NamesAreUniqueWithinATypeAndWireNumbersToo) {
  for (const TypeInfo& type : types()) {
    std::set<std::string_view> names;
    std::set<std::array<int, 3>> numbers;
    for (const FieldInfo& field : type.fields()) {
      EXPECT_TRUE(names.insert(field.json).second) << type.name << "." << field.json;
      const bool fresh =
          field.proto == 0 || numbers.insert({field.embed[0], field.embed[1], field.proto}).second;
      EXPECT_TRUE(fresh) << type.name << "." << field.json;
      EXPECT_EQ(field.kind >= ValueKind::Message, field.message != kNoType);
    }
  }
}

TEST(TypeTable, FindsFieldsByTheirWireNumbers) {
  for (const TypeInfo& type : types()) {
    EXPECT_EQ(type.field_by_number(0), nullptr) << type.name;
    EXPECT_EQ(type.field_by_number(19999), nullptr) << type.name << ": a number that protobuf reserves";
    for (const FieldInfo& field : type.fields()) {
      if (field.proto == 0 || field.embed[0] != 0) continue;
      EXPECT_EQ(type.field_by_number(field.proto), &field) << type.name << "." << field.json;
    }
  }
}

TEST(TypeTable, HasTheOverlay) {
  const FieldInfo* groups =
      type_of("resource.k8s.io", "v1", "DeviceRequestAllocationResult").field_by_json("compatibilityGroups");
  ASSERT_NE(groups, nullptr);
  EXPECT_EQ(groups->shape, Shape::MapOfLists);
  EXPECT_EQ(groups->gate, "BerthCompatibilityGroupSnapshot");
  EXPECT_GT(groups->proto, 50000) << "beyond Kubernetes' numbers";
  EXPECT_NE(type_of("", "v1", "PodStatus").field_by_json("allocatedResourcesStatus"), nullptr);
  const FieldInfo* levels = type_of("scheduling.k8s.io", "v1beta1", "PodGroupSchedulingConstraints")
                                .field_by_json("topologyConstraints");
  ASSERT_NE(levels, nullptr);
  EXPECT_NE(levels->type().field_by_json("level"), nullptr);
  const TypeInfo* request = find_kind("scheduling.berth.dev/v1alpha1", "BindRequest");
  ASSERT_NE(request, nullptr);
  const FieldInfo* claims = request->field_by_json("spec")->type().field_by_json("resourceClaimAllocations");
  ASSERT_NE(claims, nullptr);
  EXPECT_EQ(claims->type().field_by_json("allocation")->type().name, "AllocationResult");
}

// FNV-1a over names and contents, as in tools/typegen/main.go.
std::string inputs_hash(const std::string& folder) {
  std::uint64_t sum = 14695981039346656037u;
  const auto add = [&](std::string_view text) {
    for (const char c : text) sum = (sum ^ static_cast<unsigned char>(c)) * 1099511628211u;
  };
  for (const std::string name :
       {"go.mod", "main.go", "markers.go", "packages.go", "samples.go", "table.go"}) {
    std::ifstream file(folder + "/" + name);
    EXPECT_TRUE(file) << name;
    add(name + "\n");
    add(std::string(std::istreambuf_iterator<char>(file), {}));
  }
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(sum));
  return text;
}

TEST(TypeTable, IsNotOlderThanItsGenerator) {
  const std::string root = source_path("");
  std::ifstream table(root + "/src/api/generated_types.inc");
  std::string first_line;
  std::getline(table, first_line);
  EXPECT_NE(first_line.find(inputs_hash(root + "/tools/typegen")), std::string::npos)
      << "run: cd tools/typegen && go run . -table ../../src/api/generated_types.inc -samples "
         "../../src/api/testdata/samples.txt";
}

}  // namespace
}  // namespace berth::api
