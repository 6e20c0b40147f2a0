#include "server/read_objects.h"

#include <gtest/gtest.h>

#include "server/test_bench.h"

namespace berth::server {
namespace {

int reads = 0;

struct ObjectName {
  static ObjectName read(const Json& document) {
    ++reads;
    return {std::string(document.part("metadata").string_at("name"))};
  }
  std::string name;
};

TEST(ReadObjects, ReadEachVersionOnce) {
  ServerBench bench;
  const auto write = [&](const std::string& method, const std::string& path, const std::string& body) {
    HttpRequest request{.method = method,
                        .path = path,
                        .query = {},
                        .headers = {{"Content-Type", method == "PATCH" ? "application/merge-patch+json"
                                                                       : "application/json"}},
                        .body = body,
                        .user = {"root", {"system:masters"}}};
    const auto said = std::make_shared<Said>();
    bench.server.handle(std::move(request), said);
    EXPECT_LT(said->response.status, 300) << said->response.body;
  };
  const std::string maps = "/api/v1/namespaces/default/configmaps";
  for (const char* name : {"c", "a", "b"})
    write("POST", maps, R"({"metadata":{"name":")" + std::string(name) + R"("}})");
  ReadObjects<ObjectName> known;
  const auto names = [&] {
    std::string all;
    for (const auto& value : known.read(bench.server.registry(), "configmaps")) all += value->name;
    return all;
  };
  reads = 0;
  EXPECT_EQ(names(), "abc");
  EXPECT_EQ(names(), "abc");
  EXPECT_EQ(reads, 3);
  write("PATCH", maps + "/b", R"({"data":{"k":"v"}})");
  EXPECT_EQ(names(), "abc");
  EXPECT_EQ(reads, 4);
  write("DELETE", maps + "/a", "");
  EXPECT_EQ(names(), "bc");
  EXPECT_EQ(reads, 4);
}

}  // namespace
}  // namespace berth::server
