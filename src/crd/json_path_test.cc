#include "crd/json_path.h"

#include <gtest/gtest.h>

#include "crd/test_schema.h"

namespace berth::crd {
namespace {

TEST(JsonPath, LeadsToTheFirstValue) {
  const Json object = json(R"({"a":{"b.c":1,"l":[{"t":"x","v":1},{"t":"y","v":2},{"t":"y","n":5,"v":3}]},)"
                           R"("m":{"one":{"v":7}},"s":"text"})");
  struct {
    const char *path, *value;
  } rows[] = {
      {".s", "\"text\""},
      {"{.s}", "\"text\""},
      {"$.a['b.c']", "1"},
      {".a.b\\.c", "1"},
      {".a.l[0].v", "1"},
      {".a.l[-1].v", "3"},
      {".a.l[*].v", "1"},
      {".a.l[1:].v", "2"},
      {R"(.a.l[?(@.t=="y")].v)", "2"},
      {".a.l[?(@.t=='y')].v", "2"},
      {".a.l[?(@.n)].v", "3"},
      {".a.l[?(@.v > 2)].t", "\"y\""},
      {".a.l[?(@.t!=\"x\")].v", "2"},
      {".m.*.v", "7"},
      {"..n", "5"},
      {".absent.v", ""},
      {".a.l[9].v", ""},
      {".s.v", ""},
      {".", R"({"a":{"b.c":1,"l":[{"t":"x","v":1},{"t":"y","v":2},{"t":"y","n":5,"v":3}]},)"
            R"("m":{"one":{"v":7}},"s":"text"})"},
  };
  for (const auto& row : rows) {
    const Result<JsonPath> path = JsonPath::parse(row.path);
    ASSERT_TRUE(path.ok()) << row.path;
    const Json* found = path->first(object);
    EXPECT_EQ(found ? to_string(*found) : "", row.value) << row.path;
  }
}

TEST(JsonPath, RefusesWhatItCannotRead) {
  for (const std::string& text : {std::string(".a["), std::string(".a[?(@.b"), std::string(".a[x]"),
                                  std::string(".a]"), std::string(".a['b"), std::string(2000, 'a')})
    EXPECT_FALSE(JsonPath::parse(text).ok()) << text;
}

}  // namespace
}  // namespace berth::crd
