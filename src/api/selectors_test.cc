#include "api/selectors.h"

#include <gtest/gtest.h>

namespace berth::api {
namespace {

// Five objects as recorded: i = 0…4, par = even|odd, and the fourth has an empty label x.
std::string selected(std::string_view text) {
  const Result<LabelSelector> selector = LabelSelector::parse(text);
  if (!selector) return selector.error().message();
  std::string names;
  for (int i = 0; i < 5; ++i) {
    Json labels = Json::object({{"i", std::to_string(i)}, {"par", i % 2 ? "odd" : "even"}});
    if (i == 3) labels["x"] = "";
    std::map<std::string, std::string, std::less<>> map;
    for (const JsonMember& label : labels.as_object()) map[label.key] = label.value.as_string();
    EXPECT_EQ(selector->matches(&labels), selector->matches(map));
    if (selector->matches(map)) names += std::to_string(i);
  }
  return names;
}

TEST(LabelSelector, SelectsAsTheReferenceDoes) {
  // Observed from kube-apiserver 1.37.
  const std::pair<const char*, const char*> cases[] = {
      {"", "01234"},        {"par=even", "024"},    {"par==even", "024"},
      {"par!=even", "13"},  {"i in (1,3)", "13"},   {"i notin (1,3)", "024"},
      {"x", "3"},           {"!x", "0124"},         {"par=odd,i!=1", "3"},
      {"i>2", "34"},        {"i<2", "01"},          {"x=", "3"},
      {"par=none", ""},     {"i in ()", ""},        {" par = even , i in ( 0 ) ", "0"},
      {"x in (,a)", "3"},   {"nosuch!=1", "01234"}, {"in", ""},
      {"i in (in,1)", "1"}, {"x in (a,)", "3"},     {"x notin (a,,b)", "0124"}};
  for (const auto& [text, names] : cases) EXPECT_EQ(selected(text), names) << text;
}

TEST(LabelSelector, RefusesInTheReferencesWords) {
  constexpr const char* kName =
      "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
      "alphanumeric character "
      "(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
      "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
  const std::pair<const char*, std::string> cases[] = {
      {"a~b", std::string("unable to parse requirement: <nil>: Invalid value: \"a~b\": ") + kName},
      {"-a=b", std::string("unable to parse requirement: <nil>: Invalid value: \"-a\": ") + kName},
      {"a in 1", "unable to parse requirement: found '1' expected: '('"},
      {"a=b c", "found 'c', expected: ',' or 'end of string'"},
      {"a in (1", "unable to parse requirement: found '', expected: ',' or ')'"},
      {"a=b=c", "found '=', expected: ',' or 'end of string'"},
      {"i>x",
       "unable to parse requirement: values[0]: Invalid value: \"x\": for 'Gt', 'Lt' operators, the value "
       "must be an integer"},
      {"a,", "found '', expected: identifier after ','"},
      {",a", "found ',', expected: !, identifier, or 'end of string'"},
      {"!", "unable to parse requirement: found '', expected: identifier"},
      {"a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"}};
  for (const auto& [text, message] : cases) {
    const auto parsed = LabelSelector::parse(text);
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_EQ(parsed.error().message(), message) << text;
  }
  EXPECT_EQ(LabelSelector::parse(std::string(kSelectorBytesMax + 1, 'a')).error().code(),
            ErrorCode::TooLarge);
}

TEST(LabelSelector, ReadsObjects) {
  const auto of = [](std::string_view text) { return LabelSelector::of(*parse_json(text)); };
  const Json labels = Json::object({{"a", "1"}, {"b", "2"}});
  EXPECT_TRUE(of("{}")->matches(&labels));
  EXPECT_TRUE(of("{}")->selects_everything());
  EXPECT_FALSE(of("null")->matches(&labels));
  EXPECT_TRUE(
      of(R"({"matchLabels":{"a":"1"},"matchExpressions":[{"key":"b","operator":"NotIn","values":["3"]}]})")
          ->matches(&labels));
  EXPECT_FALSE(of(R"({"matchExpressions":[{"key":"a","operator":"DoesNotExist"}]})")->matches(&labels));
  EXPECT_TRUE(of(R"({"matchExpressions":[{"key":"c","operator":"DoesNotExist"}]})")
                  ->matches(static_cast<const Json*>(nullptr)));
  EXPECT_EQ(of(R"({"matchExpressions":[{"key":"a","operator":"Near"}]})").error().message(),
            "\"Near\" is not a valid label selector operator");
  EXPECT_FALSE(of(R"({"matchExpressions":[{"key":"a","operator":"In"}]})").ok());
}

TEST(FieldSelector, SelectsByTheKindsLabels) {
  const Json pod = *parse_json(
      R"({"metadata":{"name":"p","namespace":"n"},"spec":{"nodeName":"n1"},"status":{"phase":"Pending"}})");
  const std::pair<const char*, bool> cases[] = {{"", true},
                                                {"spec.nodeName=n1", true},
                                                {"spec.host==n1", true},
                                                {"spec.nodeName=", false},
                                                {"spec.nodeName!=", true},
                                                {"status.phase=Pending,status.phase!=Failed", true},
                                                {"spec.hostNetwork=false", true},
                                                {"metadata.name=p,metadata.namespace=n", true},
                                                {"metadata.name=p,metadata.name=q", false},
                                                {"status.podIP=", true},
                                                {",,metadata.name=p,", true}};
  for (const auto& [text, matches] : cases) {
    const auto selector = FieldSelector::parse("", "Pod", text);
    ASSERT_TRUE(selector.ok()) << text;
    EXPECT_EQ(selector->matches(pod), matches) << text;
  }
  const Json event = *parse_json(R"({"reportingComponent":"s"})");
  EXPECT_TRUE(FieldSelector::parse("", "Event", "source=s")->matches(event));
  EXPECT_TRUE(FieldSelector::parse("ex.io", "Gizmo", "spec.size=3", {"spec.size"})
                  ->matches(*parse_json(R"({"spec":{"size":3}})")));
}

TEST(FieldSelector, RefusesInTheReferencesWords) {
  struct Refusal {
    const char* kind;
    const char* text;
    const char* message;
  };
  const Refusal cases[] = {
      {"ConfigMap", "data.i=1",
       R"("data.i" is not a known field selector: only "metadata.name", "metadata.namespace")"},
      {"Pod", "spec.priority=0", "field label not supported: spec.priority"},
      {"Pod", "metadata.name in (c1)",
       "invalid selector: 'metadata.name in (c1)'; can't understand 'metadata.name in (c1)'"},
      {"Pod", "metadata.name=a\\x", "invalid field selector: invalid escape sequence: \\x"},
      {"Pod", "metadata.name=a=b", "invalid field selector: unescaped character in value: 61"}};
  for (const Refusal& c : cases) {
    const auto parsed = FieldSelector::parse("", c.kind, c.text);
    ASSERT_FALSE(parsed.ok()) << c.text;
    EXPECT_EQ(parsed.error().message(), c.message) << c.text;
  }
}

TEST(FieldSelector, ReadsEscapes) {
  const auto terms = parse_field_requirements(R"(a=b\,c\=d\\,e!=f)");
  ASSERT_TRUE(terms.ok());
  ASSERT_EQ(terms->size(), 2u);
  EXPECT_EQ((*terms)[0].value, "b,c=d\\");
  EXPECT_FALSE((*terms)[1].equal);
}

}  // namespace
}  // namespace berth::api
