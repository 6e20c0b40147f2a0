#include "api/yaml.h"

#include <gtest/gtest.h>

#include "api/yaml_scalar.h"

namespace berth::api {
namespace {

std::string as_json(std::string_view yaml) {
  const auto documents = parse_yaml_documents(yaml, "f.yaml");
  if (!documents) return documents.error().message();
  std::string text;
  for (const YamlDocument& document : *documents)
    text += (text.empty() ? "" : " ") + to_string(document.value);
  return text;
}

TEST(Yaml, ReadsPlainWordsAsKubectlDoes) {
  const std::pair<const char*, const char*> cases[] = {
      {"yes", "true"},
      {"Off", "false"},
      {"y", "true"},
      {"N", "false"},
      {"true", "true"},
      {"~", "null"},
      {"Null", "null"},
      {"nope", "\"nope\""},
      {"yEs", "\"yEs\""},
      {"12", "12"},
      {"-7", "-7"},
      {"+7", "7"},
      {"0777", "511"},
      {"0x1F", "31"},
      {"0b101", "5"},
      {"0o17", "15"},
      {"08", "8"},
      {"1_000", "1000"},
      {"1.5", "1.5"},
      {"1e3", "1000"},
      {".5", "0.5"},
      {"1.", "1"},
      {"-", "\"-\""},
      {"1.2.3", "\"1.2.3\""},
      {"2026-01-02", "\"2026-01-02\""},
      {".inf", "\".inf\""},
      {"1h", "\"1h\""},
      {"10:30", "\"10:30\""},
      {"0.5Gi", "\"0.5Gi\""},
      {"9223372036854775807", "9223372036854775807"},
      {"0x", "\"0x\""},
      {"e3", "\"e3\""},
      {"1e", "\"1e\""},
  };
  for (const auto& [in, out] : cases) EXPECT_EQ(to_string(plain_yaml_scalar(in)), out) << in;
  EXPECT_EQ(as_json("a: 'yes'\nb: \"12\"\nc: !!str 12\nd: |\n  on\n"),
            R"({"a":"yes","b":"12","c":"12","d":"on\n"})");
}

TEST(Yaml, ReadsStructure) {
  EXPECT_EQ(as_json("a:\n- b: 1\n  c: [x, {d: e}]\n-\n"), R"({"a":[{"b":1,"c":["x",{"d":"e"}]},null]})");
  EXPECT_EQ(as_json("{\"a\":\"\\ud83d\\ude00\\/\"}"), R"({"a":"😀/"})") << "JSON with its own escapes";
  EXPECT_EQ(as_json("1: a\ntrue: b\n"), R"({"1":"a","true":"b"})");
  EXPECT_EQ(as_json("base: &b {x: 1, y2: 2}\nuse: {<<: *b, x: 3}\nlist: [*b]\n"),
            R"({"base":{"x":1,"y2":2},"use":{"x":3,"y2":2},"list":[{"x":1,"y2":2}]})");
  EXPECT_EQ(as_json(""), "");
}

TEST(Yaml, SplitsDocuments) {
  const auto documents =
      parse_yaml_documents("# only a comment\n---\na: 1\n---\n---\nb: 2\n...\n---\nc: 3\n", "f");
  ASSERT_TRUE(documents.ok());
  ASSERT_EQ(documents->size(), 3u);
  EXPECT_EQ((*documents)[0].line, 3);
  EXPECT_EQ((*documents)[1].number, 3) << "the empty one counts";
  EXPECT_EQ((*documents)[1].line, 6);
  EXPECT_EQ(to_string((*documents)[2].value), R"({"c":3})");
}

TEST(Yaml, SaysWhereItIsWrong) {
  EXPECT_EQ(as_json("a: 1\n---\nb:\n  - c\n d: 2\n"),
            "f.yaml: document 2, line 5: did not find expected key");
  EXPECT_EQ(as_json("a: *x\n"), "f.yaml: document 1, line 1: unknown anchor 'x' referenced");
  EXPECT_EQ(as_json("a: 1\n? [b]\n: 2\n"), "f.yaml: document 1, line 2: a key is no plain value");
}

TEST(Yaml, ReportsRepeatedKeysAndTheLastWins) {
  const auto documents =
      parse_yaml_documents("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: y2\n  name: y3\n", "f");
  ASSERT_TRUE(documents.ok());
  EXPECT_EQ(documents->front().value.find("metadata")->string_at("name"), "y3");
  EXPECT_EQ(documents->front().duplicate_keys,
            std::vector<std::string>{R"(line 5: key "name" already set in map)"});
}

// 284 KB of these were 10 GB.
TEST(Yaml, BoundsAliasesInBytes) {
  const std::string text = "a: &a " + std::string(10'000, 'x') + "\n";
  std::string few = text;
  std::string many = text;
  for (int i = 0; i < 300; ++i) (i < 10 ? few : many).append("k" + std::to_string(i) + ": *a\n");
  EXPECT_NE(as_json(few).find("\"k9\":\"xxx"), std::string::npos);
  EXPECT_NE(as_json(many).find("document contains excessive aliasing"), std::string::npos);
  std::string nested;
  for (int i = 0; i < 60; ++i) nested += "&n" + std::to_string(i) + " [";
  nested += std::string(5'000, 'x') + std::string(60, ']');
  EXPECT_NE(as_json(nested).find("document contains excessive aliasing"), std::string::npos);
}

TEST(Yaml, BoundsAliasBombs) {
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 9; ++i) {
    const std::string inner = "*a" + std::to_string(i - 1);
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (int k = 0; k < 10; ++k) bomb += (k ? ", " : "") + inner;
    bomb += "]\n";
  }
  EXPECT_NE(as_json(bomb).find("excessive aliasing"), std::string::npos);
  EXPECT_NE(as_json(std::string(10000, '[')).find("nested deeper"), std::string::npos);
}

TEST(Yaml, FindsTheLineOfAPath) {
  const std::string_view text =
      "kind: A\n---\nspec:\n  containers:\n  - name: a\n  - name: b\n    image: i\n";
  EXPECT_EQ(yaml_line_of(text, 2, "spec.containers[1].image"), 7);
  EXPECT_EQ(yaml_line_of(text, 2, "spec.containers[1]"), 6);
  EXPECT_EQ(yaml_line_of(text, 2, "spec.containers[0].image"), 5) << "absent: the value around it";
  EXPECT_EQ(yaml_line_of(text, 2, "spec.containersX"), 4) << "another member's name is no prefix";
  EXPECT_EQ(yaml_line_of(text, 1, "kind"), 1);
  EXPECT_EQ(yaml_line_of(text, 3, "kind"), 0);
  EXPECT_EQ(yaml_position(text, "p.yaml", 2, "spec.containers[1].image"),
            "p.yaml:7: document 2: spec.containers[1].image");
}

// The words and lines of sigs.k8s.io/yaml, as the recordings of an API server have them.
TEST(Yaml, TellsTheLinesOfGo) {
  const std::pair<const char*, const char*> cases[] = {
      {"a: b: c\n", "f: mapping values are not allowed in this context"},
      {"x: 1\na: b: c\n", "f: line 2: mapping values are not allowed in this context"},
      {"a: {\n", "f: line 1: did not find expected node content"},
      {"x: 1\ny: 2\na: {\n", "f: line 3: did not find expected node content"},
  };
  for (const auto& [text, wanted] : cases) {
    const auto documents = parse_yaml_documents(text, "f", YamlLines::AsGo);
    ASSERT_FALSE(documents) << text;
    EXPECT_EQ(documents.error().message(), wanted) << text;
  }
}

}  // namespace
}  // namespace berth::api
