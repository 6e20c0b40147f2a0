#include "cli/manifest_owners.h"

#include <gtest/gtest.h>

#include "cli/manifest_apply.h"

namespace berth::cli {
namespace {

const api::Gates kOwnersGates(api::GateDefaults::Up);

std::vector<Manifest> dump(const std::vector<std::string>& objects) {
  std::vector<Manifest> manifests;
  for (const std::string& text : objects) {
    manifests.push_back({parse_json(text).value(), nullptr, "dump.yaml",
                         std::make_shared<const std::string>(text), static_cast<int>(manifests.size()) + 1,
                         ""});
    EXPECT_TRUE(check_manifest(manifests.back(), kOwnersGates)) << text;
  }
  return manifests;
}

std::unique_ptr<store::Store> empty_store() {
  store::StoreOptions options;
  options.synchronous = true;
  return store::open_store(options).value();
}

std::string owned(const std::string& head, const std::string& kind, const std::string& name,
                  const std::string& rest) {
  const std::string version = kind == "Job" ? "batch/v1" : "v1";
  return head +
         R"(,"resourceVersion":"77","uid":"8f4e3c1a-0003-4c00-9000-000000000001","generation":3,)"
         R"("creationTimestamp":"2026-08-01T10:01:00Z","managedFields":[{"manager":"m"}],)"
         R"("ownerReferences":[{"apiVersion":")" +
         version + R"(","kind":")" + kind + R"(","name":")" + name +
         R"(","uid":"8f4e3c1a-0001-4c00-9000-000000000001","controller":true}]})" + rest;
}

std::string slice(const std::string& node) {
  return owned(R"({"apiVersion":"resource.k8s.io/v1","kind":"ResourceSlice","metadata":{"name":"s")", "Node",
               node,
               R"(,"spec":{"driver":"gpu.test","nodeName":")" + node +
                   R"(","pool":{"name":"p","generation":1,"resourceSliceCount":1}}})");
}

std::vector<std::string> names(const std::vector<Manifest>& manifests) {
  std::vector<std::string> found;
  for (const Manifest& manifest : manifests)
    found.emplace_back(manifest.object.part("metadata").string_at("name"));
  return found;
}

TEST(ManifestOwners, AreFoundAmongFilesAndSimulatedNodes) {
  const auto store = empty_store();
  const std::string node = R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"far"}})";
  struct Case {
    std::vector<std::string> objects;
    std::size_t warnings;
  };
  for (const Case& one : std::vector<Case>{
           {{slice("node-2")}, 0}, {{slice("far"), node}, 0}, {{slice("node-3")}, 1}, {{slice("far")}, 1}}) {
    const AdoptedManifests adopted = adopt_manifests(dump(one.objects), *store, 2);
    ASSERT_EQ(adopted.warnings.size(), one.warnings) << one.objects[0];
    const Json& metadata = adopted.manifests.back().object.part("metadata");
    EXPECT_EQ(metadata.items_at("ownerReferences").size(), 1 - one.warnings);
    for (const char* field : {"uid", "resourceVersion", "generation", "managedFields", "creationTimestamp"})
      EXPECT_EQ(metadata.find(field), nullptr) << field;
  }
  EXPECT_EQ(adopt_manifests(dump({slice("far")}), *store, 2).warnings.front(),
            "dump.yaml:1: document 1: metadata.ownerReferences[0]: ResourceSlice s: its owner Node far is "
            "neither in the files nor on this server: stored without this owner, for the garbage collector "
            "would delete it");
}

TEST(ManifestOwners, ComeBeforeWhatTheyOwn) {
  const auto store = empty_store();
  const std::string pod = owned(R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"pod")", "Job", "job",
                                R"(,"spec":{"containers":[{"name":"c","image":"i"}]}})");
  const std::string claim =
      owned(R"({"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaim","metadata":{"name":"claim")", "Pod",
            "pod", R"(,"spec":{"devices":{"requests":[{"name":"r","exactly":{"deviceClassName":"gpu"}}]}}})");
  const std::string job =
      R"({"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"job",)"
      R"("uid":"8f4e3c1a-0001-4c00-9000-000000000001",)"
      R"("labels":{"controller-uid":"u"}},"spec":{"selector":{"matchLabels":)"
      R"({"batch.kubernetes.io/controller-uid":"u"}},"template":{"metadata":{"labels":{"controller-uid":"u",)"
      R"("batch.kubernetes.io/controller-uid":"u","app":"a"}},"spec":{"restartPolicy":"Never",)"
      R"("containers":[{"name":"c","image":"i"}]}}}})";
  const AdoptedManifests adopted = adopt_manifests(dump({claim, pod, job}), *store, 0);
  EXPECT_EQ(adopted.warnings, std::vector<std::string>{});
  EXPECT_EQ(names(adopted.manifests), (std::vector<std::string>{"job", "pod", "claim"}));
  const Json& spec = adopted.manifests.front().object.part("spec");
  EXPECT_TRUE(spec.part("selector").is_null()) << "the server makes another, which names its new UID";
  EXPECT_EQ(to_string(spec.part("template").part("metadata").part("labels")), R"({"app":"a"})");
  EXPECT_TRUE(try_manifests(adopted.manifests, kOwnersGates, *store).ok())
      << try_manifests(adopted.manifests, kOwnersGates, *store).error().text();
}

TEST(ManifestOwners, OfManyThatAreMissingOneWarningTells) {
  const auto store = empty_store();
  std::vector<std::string> slices;
  for (const char* node : {"a", "b", "c"}) slices.push_back(slice(node));
  const AdoptedManifests adopted = adopt_manifests(dump(slices), *store, 0);
  ASSERT_EQ(adopted.warnings.size(), 1u);
  EXPECT_TRUE(adopted.warnings.front().ends_with("; the same of 2 more")) << adopted.warnings.front();
}

}  // namespace
}  // namespace berth::cli
