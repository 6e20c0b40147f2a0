#include "server/transport/target.h"

#include <gtest/gtest.h>

namespace berth::server {
namespace {

using Query = std::vector<std::pair<std::string, std::string>>;

struct Case {
  std::string text;
  std::string path;
  Query query;
};

TEST(Target, SplitsAndDecodes) {
  const Case cases[] = {
      {"/", "/", {}},
      {"/api/v1?watch=true&limit=500", "/api/v1", {{"watch", "true"}, {"limit", "500"}}},
      {"/a%20b%2fc+d", "/a b/c+d", {}},
      {"/x?fieldSelector=spec.nodeName%3Dn1&l=a+b",
       "/x",
       {{"fieldSelector", "spec.nodeName=n1"}, {"l", "a b"}}},
      {"/x?flag&&empty=&twice=1&twice=2&k=a=b",
       "/x",
       {{"flag", ""}, {"empty", ""}, {"twice", "1"}, {"twice", "2"}, {"k", "a=b"}}},
      {"http://host:8080/api?x=1", "/api", {{"x", "1"}}},
      {"http://host", "/", {}},
      {"http://host?x=1", "/", {{"x", "1"}}},
      {"/proxy/http://inner", "/proxy/http://inner", {}},
      {"*", "*", {}},
      {"/pods/%ff%fe", "/pods/\xef\xbf\xbd\xef\xbf\xbd", {}},
      {"/x?a=%e2%82%ac%e2%82", "/x", {{"a", "\xe2\x82\xac\xef\xbf\xbd\xef\xbf\xbd"}}},
      {"/%c0%af%ed%a0%80", "/\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd", {}},
  };
  for (const Case& one : cases) {
    const Result<Target> target = parse_target(one.text);
    ASSERT_TRUE(target.ok()) << one.text;
    EXPECT_EQ(target->path, one.path) << one.text;
    EXPECT_EQ(target->query, one.query) << one.text;
  }
}

TEST(Target, RefusesWhatIsMalformed) {
  for (const std::string_view text :
       {"", "api", "/%", "/%4", "/%4g", "/%00", "/ok?a=%", "/ok?%zz=1", "host:80"})
    EXPECT_FALSE(parse_target(text).ok()) << text;
}

}  // namespace
}  // namespace berth::server
