#include "cli/cluster_objects.h"

#include <gtest/gtest.h>

#include <map>

namespace berth::cli {
namespace {

// Serves two pages of nodes and nothing else.
struct PagedServer {
  std::vector<std::string> asked;
  std::size_t bytes = 0, bytes_a_page = 10;
  std::size_t gone = 0;  // so often the second page is not there any more

  Result<Json> get(const std::string& path) {
    bytes += bytes_a_page;
    if (!path.starts_with("/api/v1/nodes?")) return Json();
    asked.push_back(path);
    const bool second = path.find("continue=") != std::string::npos;
    if (second && gone > 0) return --gone, Error(ErrorCode::Gone, "too old");
    Json node = Json::object({{"kind", "Node"}});
    node["metadata"] = Json::object({{"name", second ? "n2" : "n1"}, {"managedFields", Json::array()}});
    Json list = Json::object({{"items", Json::array({std::move(node)})}});
    list["metadata"] = Json::object({});
    if (!second) list["metadata"]["continue"] = "a/b";
    return list;
  }
  Result<std::vector<planning::Document>> read() {
    return cluster_documents(
        {[this](const std::string& path) { return get(path); }, [this] { return bytes; }});
  }
};

TEST(ClusterObjects, AreReadInPages) {
  PagedServer server;
  const auto documents = server.read();
  ASSERT_TRUE(documents.ok());
  ASSERT_EQ(documents->size(), 2u);
  EXPECT_EQ((*documents)[1].object.part("metadata").string_at("name"), "n2");
  EXPECT_EQ((*documents)[1].object.part("metadata").find("managedFields"), nullptr);
  EXPECT_EQ(server.asked,
            (std::vector<std::string>{"/api/v1/nodes?limit=500", "/api/v1/nodes?limit=500&continue=a%2Fb"}));
}

TEST(ClusterObjects, AListThatIsForgottenBeginsAgain) {
  PagedServer server;
  server.gone = 1;
  const auto documents = server.read();
  ASSERT_TRUE(documents.ok());
  EXPECT_EQ(documents->size(), 2u);
  server.gone = kListTriesMax;
  EXPECT_FALSE(server.read().ok());
}

TEST(ClusterObjects, HaveABoundInBytes) {
  PagedServer server;
  server.bytes_a_page = kClusterBytesMax;
  const auto documents = server.read();
  ASSERT_FALSE(documents.ok());
  EXPECT_EQ(documents.error().message(), "the cluster's objects have more than 1024 MiB");
}

}  // namespace
}  // namespace berth::cli
