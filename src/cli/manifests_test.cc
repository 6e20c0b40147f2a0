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
