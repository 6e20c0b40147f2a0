#include "apply/structured_merge.h"

#include <gtest/gtest.h>

#include "apply/test_json.h"

namespace berth::apply {
namespace {

Schema schema_of(const char* version, const char* kind) {
  return Schema::of(*api::find_kind(version, kind));
}

const Schema kPod = schema_of("v1", "Pod");
const Schema kMap = schema_of("v1", "ConfigMap");

std::string paths(const FieldSet& set) {
  std::string text;
  set.for_each([&](const FieldPath& path) { text += (text.empty() ? "" : " ") + text_of(path); });
  return text;
}

Json pod_with(std::string_view containers) {
  return json(R"({"spec":{"containers":)" + std::string(containers) + "}}");
}

TEST(Schemas, SayWhichValuesHaveOneOwner) {
  const auto form = [](std::initializer_list<std::string_view> path) {
    Schema schema = kPod;
    for (std::string_view name : path) schema = schema.member(name).value();
    return schema.form();
  };
  EXPECT_EQ(form({"spec"}), Form::Struct);
  EXPECT_EQ(form({"spec", "containers"}), Form::Items);
  EXPECT_EQ(form({"spec", "tolerations"}), Form::Leaf);
  EXPECT_EQ(form({"spec", "nodeSelector"}), Form::Leaf) << "an atomic map";
  EXPECT_EQ(form({"metadata", "labels"}), Form::Map);
  EXPECT_EQ(form({"metadata", "finalizers"}), Form::Set);
  EXPECT_FALSE(kPod.member("specs"));
}

TEST(Schemas, TellItemsApartByKeysWithTheirDefaults) {
  const Schema ports = kPod.member("spec")->member("containers")->item().member("ports").value();
  EXPECT_EQ(ports.element_of(json(R"({"containerPort":80})"))->text(),
            R"([containerPort=80,protocol="TCP"])");
  EXPECT_FALSE(ports.element_of(json("3")));
  EXPECT_FALSE(ports.element_of(Json()));
}

TEST(Schemas, NameWhatDoesNotFit) {
  const struct {
    const Schema& schema;
    const char* document;
    const char* error;
  } rows[] = {
      {kMap, R"({"data":{"a":1}})", ".data.a: expected string, got &value.valueUnstructured{Value:1}"},
      {kMap, R"({"data":[]})", ".data: expected map, got &{[]}"},
      {kMap, R"({"daat":{}})", ".daat: field not declared in schema"},
      {kPod, R"({"spec":{"hostNetwork":"y"}})", ".spec.hostNetwork: expected boolean, got &{y}"},
      {kPod, R"({"spec":{"priority":"y"}})", ".spec.priority: expected numeric (int or float), got string"},
      {kPod, R"({"spec":{"containers":{}}})", ".spec.containers: expected list, got &{{}}"},
      {kPod, R"({"spec":{"containers":[{"name":"c"},{"name":"c"}]}})",
       R"(.spec.containers: duplicate entries for key [name="c"])"},
      {kPod, R"({"metadata":{"finalizers":[null]}})",
       ".metadata.finalizers: element 0: associative list without keys has an element that's an explicit "
       "null"}};
  for (const auto& row : rows)
    EXPECT_EQ(row.schema.problem_of(json(row.document)), row.error) << row.document;
  EXPECT_EQ(kPod.problem_of(json(R"({"spec":{"containers":null,"overhead":{"cpu":1}}})")), "");
  EXPECT_EQ(kMap.problem_of(json(R"({"data":[],"binaryData":[]})")),
            "errors:\n  .data: expected map, got &{[]}\n  .binaryData: expected map, got &{[]}");
}

TEST(Compare, NamesLeavesAndWhatComesOrGoesAsAWhole) {
  const Json before =
      json(R"({"data":{"a":"1","b":"2"},"metadata":{"labels":{"l":"1"},"finalizers":["f"]}})");
  const Json after = json(R"({"data":{"a":"9","c":"3"},"metadata":{"finalizers":["g"]}})");
  const Comparison change = compare(kMap, before, after);
  EXPECT_EQ(paths(change.modified), ".data.a");
  EXPECT_EQ(paths(change.added), R"(.data.c .metadata.finalizers[="g"])");
  EXPECT_EQ(paths(change.removed),
            R"(.data.b .metadata.labels .metadata.finalizers[="f"] .metadata.labels.l)");
  EXPECT_TRUE(compare(kMap, before, before).same());
}

TEST(Compare, TakesAnAtomicListAsOneField) {
  const Json before = json(R"({"spec":{"tolerations":[{"key":"a"}]}})");
  const Json after = json(R"({"spec":{"tolerations":[{"key":"b"}]}})");
  EXPECT_EQ(paths(compare(kPod, before, after).modified), ".spec.tolerations");
}

TEST(Compare, TakesItemsOfOneKeyTogether) {
  const Json once = pod_with(R"([{"name":"c","image":"i"}])");
  const Json twice = pod_with(R"([{"name":"c","image":"i"},{"name":"c","image":"j"}])");
  const Comparison grown = compare(kPod, once, twice);
  EXPECT_EQ(paths(grown.added), R"(.spec.containers[name="c"])");
  EXPECT_EQ(paths(grown.removed), R"(.spec.containers[name="c"] .spec.containers[name="c"].image )"
                                  R"(.spec.containers[name="c"].name)");
  EXPECT_TRUE(compare(kPod, twice, json(to_string(twice))).same());
}

TEST(Merge, SetsWhatTheConfigurationHasAndKeepsTheRest) {
  const struct {
    const char* live;
    const char* config;
    const char* result;
  } rows[] = {{R"({"data":{"a":"1"}})", R"({"data":{"b":"2"}})", R"({"data":{"a":"1","b":"2"}})"},
              {R"({"data":{"a":"1"}})", R"({"data":{"a":null}})", R"({"data":{"a":null}})"},
              {R"({"data":{"a":"1"}})", R"({"data":null})", R"({"data":{"a":"1"}})"},
              {R"({"metadata":{"finalizers":["f","g"]}})", R"({"metadata":{"finalizers":["h","g"]}})",
               R"({"metadata":{"finalizers":["f","h","g"]}})"}};
  for (const auto& row : rows)
    EXPECT_EQ(to_string(merged(kMap, json(row.live), json(row.config))), row.result) << row.config;
}

TEST(Merge, OrdersItemsAsTheConfigurationDoes) {
  const auto names = [](const Json& pod) {
    std::string text;
    for (const Json& container : pod.part("spec").items_at("containers"))
      text.append(container.string_at("name"));
    return text;
  };
  const auto list = [](std::string_view letters) {
    std::string text;
    for (const char letter : letters)
      text += (text.empty() ? "[" : ",") + std::string(R"({"name":")") + letter + R"("})";
    return pod_with(text + "]");
  };
  const struct {
    const char *live, *config, *result;
  } rows[] = {{"abc", "cb", "acb"},
              {"abc", "xa", "xabc"},
              {"abc", "ax", "abcx"},
              {"ab", "cd", "abcd"},
              {"abcd", "da", "bcda"}};
  for (const auto& row : rows)
    EXPECT_EQ(names(merged(kPod, list(row.live), list(row.config))), row.result)
        << row.live << " " << row.config;
}

TEST(MergeByPolicy, SetsWhatOneFieldOwnsAndNoListsOfOneOwner) {
  const Json live = json(R"({"spec":{"containers":[{"name":"c","image":"i"}],"hostNetwork":true}})");
  const auto said = [&](const char* config) {
    const Result<Json> made = merged_by_policy(kPod, live, json(config));
    return made ? to_string(*made) : made.error().message();
  };
  EXPECT_EQ(said(R"({"spec":{"containers":[{"name":"c","env":[{"name":"a","value":"b"}]}]}})"),
            R"({"spec":{"containers":[{"name":"c","image":"i","env":[{"name":"a","value":"b"}]}],)"
            R"("hostNetwork":true}})");
  EXPECT_EQ(said(R"({"spec":{"hostNet":true}})"),
            "failed to convert patch object to typed object: .spec.hostNet: field not declared in schema");
  EXPECT_EQ(said(R"({"spec":{"nodeSelector":{"a":"b"},"containers":[{"name":"c","args":["x"]}]}})"),
            "invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: .spec.nodeSelector, "
            ".spec.containers[0].args");
  JsonArray containers;
  for (std::size_t i = 0; i < 2 * kSingleOwnersMax; ++i)
    containers.push_back(Json::object({{"name", "c" + std::to_string(i)}, {"args", Json::array({"x"})}}));
  const std::string many = said(
      to_string(Json::object({{"spec", Json::object({{"containers", std::move(containers)}})}})).c_str());
  EXPECT_TRUE(many.ends_with(", .spec.containers[99].args and perhaps others")) << many;
}

TEST(FieldsOf, OwnsLeavesItemsAndEmptyMaps) {
  EXPECT_EQ(paths(fields_of(kMap, json(R"({"data":{},"metadata":{"labels":{"a":"1"}}})"))),
            ".data .metadata.labels.a");
  EXPECT_EQ(paths(fields_of(kPod, pod_with(R"([{"name":"c"}])"))),
            R"(.spec.containers[name="c"] .spec.containers[name="c"].name)");
}

TEST(WithoutFields, TakesWholeSubtreesAndLeavesTheRest) {
  const auto without = [](const char* document, const char* unwanted) {
    return to_string(without_fields(kMap, json(document), FieldSet::from_json(json(unwanted)).value()));
  };
  EXPECT_EQ(without(R"({"data":{"a":"1","b":"2"}})", R"({"f:data":{"f:a":{}}})"), R"({"data":{"b":"2"}})");
  EXPECT_EQ(without(R"({"data":{"a":"1"}})", R"({"f:data":{"f:a":{}}})"), R"({"data":null})");
  EXPECT_EQ(without(R"({"data":{"a":"1"},"kind":"C"})", R"({"f:data":{}})"), R"({"kind":"C"})");
  EXPECT_EQ(without(R"({"metadata":{"finalizers":["f","g"]}})",
                    R"({"f:metadata":{"f:finalizers":{"v:\"f\"":{}}}})"),
            R"({"metadata":{"finalizers":["g"]}})");
}

}  // namespace
}  // namespace berth::apply
