#include "api/yaml_write.h"

#include <gtest/gtest.h>

#include "api/yaml.h"

namespace berth::api {
namespace {

TEST(YamlWrite, ReadsBackAsItWas) {
  const char* documents[] = {
      R"({"a":1,"b":[true,null,1.5,"x"],"c":{},"d":[],"e":{"f":{"g":"h"}}})",
      R"({"words":["yes","no","0777","1","1.0","null","~","","on"]})",
      R"({"words":[" x","x ","# c","- a","a: b","{}","é\tü"]})",
      R"({"text":"two\nlines\n","cel":"device.attributes[\"x.io\"].y == \"z\" && 1 < 2"})",
      R"({"big":9223372036854775807,"small":-1})",
      R"(["a",{"b":"c"}])",
      R"({"labels":{"x/y":"yes","n":"1","e":"","t":"a: b"},"list":[{"a":[],"b":{}},[["x"],[]]]})",
      R"([])",
      R"({})",
      R"("on")",
      R"([{"a":1,"b":2},[1,[2]]])",
  };
  for (const char* text : documents) {
    const Json document = *parse_json(text);
    const std::string yaml = to_yaml(document);
    const auto read = parse_yaml_documents(yaml, "written");
    ASSERT_TRUE(read.ok()) << yaml;
    ASSERT_EQ(read->size(), 1u) << yaml;
    EXPECT_EQ(to_string(read->front().value), to_string(document)) << yaml;
  }
}

TEST(YamlWrite, LooksLikeKubectls) {
  EXPECT_EQ(
      to_yaml(*parse_json(R"({"kind":"Pod","metadata":{"name":"p"},"spec":{"containers":[{"name":"c"}]}})")),
      "kind: Pod\nmetadata:\n  name: p\nspec:\n  containers:\n  - name: c\n");
  EXPECT_EQ(to_yaml(*parse_json(R"({"a":[{"b":1,"c":"x"}],"d":"no"})")), "a:\n- b: 1\n  c: x\nd: \"no\"\n");
}

}  // namespace
}  // namespace berth::api
