#include "cli/cluster_objects.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>

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

// A policy about a kind that is not built in: PodGroup train belongs to leader, and that to set.
TEST(ClusterObjects, HaveTheOwnersOfGroupsThatPoliciesMayName) {
  const std::map<std::string, std::string> served = {
      {"/apis/scheduling.berth.dev/v1alpha1/placementpolicies?limit=500",
       R"({"items":[{"metadata":{"name":"near","namespace":"a"}}]})"},
      {"/apis/scheduling.k8s.io/v1beta1/podgroups?limit=500",
       R"({"items":[{"metadata":{"name":"train","namespace":"a","ownerReferences":[{"apiVersion":"x.dev/v1",)"
       R"("kind":"Leader","name":"leader","uid":"u1"}]}},{"metadata":{"name":"other","namespace":"b",)"
       R"("ownerReferences":[{"apiVersion":"x.dev/v1","kind":"Leader","name":"unread","uid":"u9"}]}}]})"},
      {"/apis/x.dev/v1/namespaces/a/leaders/leader",
       R"({"apiVersion":"x.dev/v1","kind":"Leader","metadata":{"name":"leader","namespace":"a","uid":"u1",)"
       R"("ownerReferences":[{"apiVersion":"x.dev/v1","kind":"Set","name":"set","uid":"u2"}]}})"},
      {"/apis/x.dev/v1/namespaces/a/sets/set",
       R"({"apiVersion":"x.dev/v1","kind":"Set","metadata":{"name":"set","namespace":"a","uid":"u2"}})"}};
  std::vector<std::string> read_alone;
  const auto documents =
      cluster_documents({[&](const std::string& path) -> Result<Json> {
                           if (path.find("?limit=") == std::string::npos) read_alone.push_back(path);
                           const auto found = served.find(path);
                           return found == served.end() ? Result<Json>(Json()) : parse_json(found->second);
                         },
                         [] { return std::size_t{0}; }});
  ASSERT_TRUE(documents.ok());
  EXPECT_EQ(read_alone, (std::vector<std::string>{"/apis/x.dev/v1/namespaces/a/leaders/leader",
                                                  "/apis/x.dev/v1/namespaces/a/sets/set"}));
  std::vector<std::string> names;
  for (const planning::Document& one : *documents)
    names.emplace_back(one.object.part("metadata").string_at("name"));
  EXPECT_EQ(names, (std::vector<std::string>{"train", "other", "near", "leader", "set"}));
}

// The API server of one group with a policy in its namespace; other objects are `other`'s to say.
struct GroupServer {
  std::string group;
  std::function<std::string(const std::string& path)> other;
  std::vector<std::string> read_alone = {};

  Result<std::vector<planning::Document>> documents() {
    return cluster_documents({[&](const std::string& path) -> Result<Json> {
                                if (path.find("/placementpolicies?") != std::string::npos)
                                  return parse_json(
                                      R"({"items":[{"metadata":{"name":"n","namespace":"a"}}]})");
                                if (path.find("/podgroups?") != std::string::npos)
                                  return parse_json("{\"items\":[" + group + "]}");
                                if (path.find("?limit=") != std::string::npos) return Json();
                                read_alone.push_back(path);
                                const std::string text = other(path);
                                return text.empty() ? Result<Json>(Json()) : parse_json(text);
                              },
                              [] { return std::size_t{0}; }});
  }
};

TEST(ClusterObjects, HaveTheObjectOfAGroupsWorkload) {
  GroupServer server{
      R"({"metadata":{"name":"g","namespace":"a"},"spec":{"workloadRef":{"workloadName":"w"}}})",
      [](const std::string& path) -> std::string {
        if (!path.ends_with("/workloads/w")) return "";
        return R"({"apiVersion":"scheduling.k8s.io/v1beta1","kind":"Workload","metadata":{"name":"w",)"
               R"("namespace":"a"},"spec":{"controllerRef":{"apiGroup":"x.dev","kind":"Set","name":"s"}}})";
      }};
  ASSERT_TRUE(server.documents().ok());
  EXPECT_EQ(server.read_alone,
            (std::vector<std::string>{"/apis/scheduling.k8s.io/v1beta1/namespaces/a/workloads/w",
                                      "/apis/x.dev/v1/namespaces/a/sets/s"}));
}

// Every owner has the same 260 owners: each is read once, and their number does not multiply.
TEST(ClusterObjects, OwnersHaveABoundAndAreWalkedOnce) {
  const auto owners = [](const std::string& level, int count) {
    std::string text = "\"ownerReferences\":[";
    for (int i = 0; i < count; ++i)
      text += std::string(i ? "," : "") + R"({"apiVersion":"x.dev/v1","kind":"Set","name":")" + level +
              std::to_string(i) + R"(","uid":"u"})";
    return text + "]";
  };
  GroupServer server{
      "{\"metadata\":{\"name\":\"g\",\"namespace\":\"a\"," + owners("s", 260) + "}}",
      [&](const std::string& path) {
        const std::string name = path.substr(path.rfind('/') + 1);
        return R"({"apiVersion":"x.dev/v1","kind":"Set","metadata":{"namespace":"a","name":")" + name +
               "\"," + owners("s" + std::string(std::count(name.begin(), name.end(), 's'), 's'), 260) + "}}";
      }};
  ASSERT_TRUE(server.documents().ok());
  EXPECT_EQ(server.read_alone.size(), kOwnersReadMax);
  EXPECT_EQ(std::set<std::string>(server.read_alone.begin(), server.read_alone.end()).size(), kOwnersReadMax);
}

}  // namespace
}  // namespace berth::cli
