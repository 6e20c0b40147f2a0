#include "cli/manifests.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace berth::cli {
namespace {

class ManifestFile {
 public:
  explicit ManifestFile(const std::string& text) {
    std::string name = (std::filesystem::temp_directory_path() / "berth-manifests-XXXXXX").string();
    folder_ = mkdtemp(name.data());
    std::ofstream(path()) << text;
  }
  ~ManifestFile() { std::filesystem::remove_all(folder_); }
  ManifestFile(const ManifestFile&) = delete;
  ManifestFile& operator=(const ManifestFile&) = delete;
  std::string path() const { return folder_ + "/manifests.json"; }

 private:
  std::string folder_;
};

Result<std::vector<Manifest>> read(const std::string& text) {
  const ManifestFile file(text);
  return read_manifests({file.path()}, api::Gates(api::GateDefaults::Up));
}

// So many items that quadratic cost would be noticed: it would take hours.
TEST(Manifests, AListOfManyItemsCostsWhatTheItemsCost) {
  constexpr int kItems = 20'000;
  std::string text = R"({"apiVersion":"v1","kind":"List","items":[)";
  for (int i = 0; i < kItems; ++i)
    text += std::string(i == 0 ? "" : ",") +
            R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c)" + std::to_string(i) +
            R"("},"data":{"a":"b"}})";
  const auto manifests = read(text + "]}");
  ASSERT_TRUE(manifests.ok()) << manifests.error().text();
  ASSERT_EQ(manifests->size(), static_cast<std::size_t>(kItems));
  EXPECT_EQ(manifests->back().item, "items[19999]");
  EXPECT_EQ(manifests->back().object.part("metadata").string_at("name"), "c19999");
}

TEST(Manifests, ATypedListSaysWhatItsItemsAreAndNamespacesComeFirst) {
  const auto manifests = read(
      R"({"apiVersion":"v1","kind":"PodList","items":[{"metadata":{"name":"p","namespace":"n"},
          "spec":{"containers":[{"name":"c","image":"i"}]}}]})"
      "\n---\n"
      R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"n"}})");
  ASSERT_TRUE(manifests.ok()) << manifests.error().text();
  ASSERT_EQ(manifests->size(), 2u);
  EXPECT_EQ(manifests->front().resource->kind, "Namespace");
  EXPECT_EQ(manifests->back().resource->kind, "Pod");
  EXPECT_EQ(manifests->back().object.string_at("apiVersion"), "v1");
}

TEST(Manifests, KindsThatAreNotServedAreCountedWithTheirFirstPlace) {
  const std::string text =
      "{apiVersion: ray.io/v1, kind: RayCluster, metadata: {name: a}}\n---\n"
      "{apiVersion: v1, kind: Node, metadata: {name: n1}}\n---\n"
      "{apiVersion: ray.io/v1, kind: RayCluster, metadata: {name: b}}\n---\n"
      "{apiVersion: ex.io/v1, kind: Foo, metadata: {name: f}}\n---\n"
      "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: foos.ex.io}, "
      "spec: {group: ex.io, names: {kind: Foo, plural: foos}, scope: Namespaced, versions: []}}\n";
  const ManifestFile file(text);
  const auto read = read_served_manifests({file.path()}, api::Gates(api::GateDefaults::Up));
  ASSERT_TRUE(read.ok()) << read.error().text();
  EXPECT_EQ(read->manifests.size(), 2u);
  ASSERT_EQ(read->unserved.size(), 2u);
  EXPECT_EQ(read->unserved[0].first_place, file.path() + ":1: document 1: kind: RayCluster a");
  EXPECT_EQ(read->unserved[0].count, 2u);
  EXPECT_FALSE(read->unserved[0].defined);
  EXPECT_TRUE(read->unserved[1].defined);
  EXPECT_FALSE(read_manifests({file.path()}, api::Gates(api::GateDefaults::Up)).ok()) << "a server refuses";
}

TEST(Manifests, PackedFilesAndSnapshotsAreNamed) {
  struct Case {
    std::string text;
    const char* said;
  };
  for (const Case& one : std::vector<Case>{
           {std::string("\x1f\x8b\x08\0x", 5), "is compressed (gzip): unpack it first, as with `gunzip -c "},
           {std::string("PK\x03\x04zz"), "is compressed (zip): unpack it first"},
           {R"({"config":{},"rawObjects":{"pods":[]}})", "is a snapshot of KAI Scheduler"},
           {R"({"kind":"Pod"})", "is missing: write the API version"},
       }) {
    const auto manifests = read(one.text);
    ASSERT_FALSE(manifests.ok());
    EXPECT_NE(manifests.error().text().find(one.said), std::string::npos) << manifests.error().text();
  }
}

TEST(Manifests, AFolderIsReadAtItsTopOrAsAWhole) {
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / "berth-manifests-folder";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder / "b");
  for (const char* name : {"z.yaml", "a.json", "b/x.yml", "notes.txt"}) std::ofstream(folder / name) << "{}";
  const auto names = [&](FolderDepth depth) {
    const ManifestFiles read = manifest_files({folder.string()}, depth).value();
    std::string text;
    for (const std::string& file : read.files)
      text += std::filesystem::path(file).lexically_relative(folder).string() + " ";
    EXPECT_EQ(read.notes.size(), 1u);
    return text + read.notes.front().substr(folder.string().size());
  };
  EXPECT_EQ(names(FolderDepth::Top),
            "a.json z.yaml : 2 files read (a.json, z.yaml); 1 folder in it left out: -R reads them");
  EXPECT_EQ(names(FolderDepth::Recursive), "a.json b/x.yml z.yaml : 3 files read (a.json, b/x.yml, z.yaml)");
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace berth::cli
