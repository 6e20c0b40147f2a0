#include "api/patch.h"

#include <gtest/gtest.h>

namespace berth::api {
namespace {

struct PatchCase {
  const char* what;
  const char* document;
  const char* patch;
  const char* out;  // or the error's message
};

std::string text_of(const Result<Json>& result) {
  return result ? to_string(*result) : result.error().message();
}
Json parsed(std::string_view text) {
  Result<Json> json = parse_json(text);
  EXPECT_TRUE(json.ok()) << text;
  return *std::move(json);
}

TEST(JsonPatch, ChangesDocuments) {
  const PatchCase cases[] = {
      {"test then replace", R"({"data":{"x":"1"}})",
       R"([{"op":"test","path":"/data/x","value":"1"},{"op":"replace","path":"/data/x","value":"2"}])",
       R"({"data":{"x":"2"}})"},
      {"replace of an absent member", R"({"data":{}})", R"([{"op":"replace","path":"/data/n","value":"3"}])",
       R"({"data":{"n":"3"}})"},
      {"replace of everything", R"({"data":{}})", R"([{"op":"replace","path":"","value":{"x":"1"}}])",
       R"({"x":"1"})"},
      {"escapes", R"({"a":{"ex.io/a":1,"t~":2}})",
       R"([{"op":"replace","path":"/a/ex.io~1a","value":3},{"op":"remove","path":"/a/t~0"}])",
       R"({"a":{"ex.io/a":3}})"},
      {"move and copy", R"({"data":{"x":"2"}})",
       R"([{"op":"move","from":"/data/x","path":"/data/moved"},{"op":"copy","from":"/data/moved",)"
       R"("path":"/data/copied"}])",
       R"({"data":{"moved":"2","copied":"2"}})"},
      {"lists", R"({"l":[1,2,3]})",
       R"([{"op":"add","path":"/l/1","value":9},{"op":"add","path":"/l/-","value":4},{"op":)"
       R"("remove","path":"/l/0"},{"op":"replace","path":"/l/-1","value":5}])",
       R"({"l":[9,2,3,5]})"},
      {"what stands before the first slash is ignored", R"({"data":{}})",
       R"([{"op":"add","path":"data/x","value":"1"}])", R"({"data":{},"x":"1"})"},
      {"nothing", R"({"a":1})", "[]", R"({"a":1})"},
      {"null test of an absent member", R"({})", R"([{"op":"test","path":"/a","value":null}])", "{}"},
  };
  for (const PatchCase& c : cases)
    EXPECT_EQ(text_of(apply_json_patch(parsed(c.document), c.patch)), c.out) << c.what;
}

TEST(JsonPatch, RefusesWhatTheReferenceRefuses) {
  struct Refusal {
    const char* patch;
    ErrorCode code;
    const char* message;
  };
  constexpr const char* kRejected = "the server rejected our request due to an error in our request";
  const Refusal cases[] = {
      {R"([{"op":"test","path":"/data/x","value":"9"}])", ErrorCode::Invalid, kRejected},
      {R"([{"op":"add","path":"/metadata/annotations/a","value":"b"}])", ErrorCode::Invalid, kRejected},
      {R"([{"op":"frob","path":"/data/x"}])", ErrorCode::Invalid, kRejected},
      {R"([{"op":"remove","path":"/l/3"}])", ErrorCode::Invalid, kRejected},
      {R"([{"op":"add","path":"/l/x","value":1}])", ErrorCode::Invalid, kRejected},
      {R"([{"op":"replace","path":"","value":1}])", ErrorCode::Invalid, kRejected},
      {R"({"op":"add"})", ErrorCode::Unsupported,
       "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp"},
      {"[x", ErrorCode::Unsupported, "invalid JSON patch"},
      {R"([{"op":"remove","path":"/l/x"}])", ErrorCode::Invalid, kRejected},
      {R"([{"op":"remove","path":"/absent"}])", ErrorCode::Invalid, kRejected},
      {R"([{"op":"move","from":"/absent","path":"/l/0"}])", ErrorCode::Invalid, kRejected},
  };
  for (const Refusal& c : cases) {
    const auto result = apply_json_patch(parsed(R"({"data":{"x":"1"},"l":[1,2,3]})"), c.patch);
    ASSERT_FALSE(result.ok()) << c.patch;
    EXPECT_EQ(result.error().code(), c.code) << c.patch;
    EXPECT_EQ(result.error().message(), c.message) << c.patch;
  }
}

TEST(JsonPatch, BoundsItsWork) {
  std::string many = "[";
  for (std::size_t i = 0; i <= kJsonPatchOperationsMax; ++i)
    many += std::string(i ? "," : "") + R"({"op":"remove","path":"/x"})";
  EXPECT_EQ(apply_json_patch(Json::object(), many + "]").error().code(), ErrorCode::TooLarge);
  std::string doubling = R"([{"op":"add","path":"/a","value":{"x":1}})";
  for (int i = 0; i < 40; ++i)
    doubling += R"(,{"op":"copy","from":"/a","path":"/b"},{"op":"copy","from":"/b","path":"/a/n)" +
                std::to_string(i) + "\"}";
  EXPECT_EQ(apply_json_patch(Json::object(), doubling + "]").error().code(), ErrorCode::Invalid);
}

// Kubernetes' bound, and its code: 800 copies of a megabyte were 1.9 GB.
TEST(JsonPatch, CopiesAreBoundedInBytes) {
  const Json document = Json::object({{"a", std::string(1'000'000, 'x')}, {"b", Json::object()}});
  const auto copies = [](int count) {
    std::string patch = "[";
    for (int i = 0; i < count; ++i)
      patch += (i ? "," : "") + (R"({"op":"copy","from":"/a","path":"/b/n)" + std::to_string(i)) + "\"}";
    return patch + "]";
  };
  EXPECT_TRUE(apply_json_patch(document, copies(3)).ok());
  const Result<Json> refused = apply_json_patch(document, copies(4));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), ErrorCode::Invalid);
  EXPECT_NE(refused.error().text().find("the accumulated size increase of copy is"), std::string::npos)
      << refused.error().text();
}

TEST(JsonPatch, NestsNoDeeperThanADocumentMayBe) {
  std::string patch = R"([{"op":"add","path":"/a","value":{}})";
  std::string at = "/a";
  for (int depth = 0; depth < 12; ++depth) {
    patch += R"(,{"op":"copy","from":"/a","path":")" + at + R"(/a"})";
    at.clear();
    for (int i = 0; i < 2 << depth; ++i) at += "/a";
  }
  const Result<Json> refused = apply_json_patch(Json::object(), patch + "]");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), ErrorCode::Invalid);
}

// Each removal was linear: these were minutes.
TEST(JsonPatch, ManyEditsOfALargeDocument) {
  constexpr int kMembers = 40'000;
  constexpr int kElements = 400'000;
  constexpr int kEdits = 5'000;
  JsonObject members;
  for (int i = 0; i < kMembers; ++i) members.append("k" + std::to_string(i), i);
  JsonArray items;
  for (int i = 0; i < kElements; ++i) items.emplace_back(i);
  const Json document = Json::object({{"o", Json(std::move(members))}, {"l", Json(std::move(items))}});
  std::string patch = "[";
  for (int i = 0; i < kEdits; ++i)
    patch += (i ? "," : "") + (R"({"op":"remove","path":"/o/k)" + std::to_string(i)) +
             R"("},{"op":"remove","path":"/l/0"})";
  const Json result = apply_json_patch(document, patch + "]").value();
  EXPECT_EQ(result.part("o").as_object().size(), static_cast<std::size_t>(kMembers - kEdits));
  EXPECT_EQ(result.part("o").as_object().begin()->key, "k5000");
  EXPECT_EQ(result.items_at("l").size(), static_cast<std::size_t>(kElements - kEdits));
  EXPECT_EQ(result.items_at("l").front(), Json(kEdits));
}

// Members of one name: the first is found and set, all are removed.
TEST(JsonPatch, RepeatedMembers) {
  for (const int more : {0, 40}) {
    std::string text = R"({"x":{"a":1,"b":2,"a":3)";
    for (int i = 0; i < more; ++i) text += ",\"n" + std::to_string(i) + "\":0";
    const Json document = parsed(text + "}}");
    const Json set = apply_json_patch(document, R"([{"op":"replace","path":"/x/a","value":7}])").value();
    EXPECT_EQ(set.part("x").as_object().size(), document.part("x").as_object().size());
    EXPECT_EQ(set.part("x").int_at("a"), 7);
    const Json gone =
        apply_json_patch(document, R"([{"op":"remove","path":"/x/a"},{"op":"add","path":"/x/a","value":8}])")
            .value();
    EXPECT_EQ(gone.part("x").as_object().size(), document.part("x").as_object().size() - 1);
    EXPECT_EQ(gone.part("x").int_at("a"), 8);
  }
}

TEST(JsonPatch, ListsAreEditedInOrder) {
  Json document = Json::object({{"l", Json::array()}});
  std::vector<int> expected;
  std::string patch = "[";
  for (int i = 0; i < 4'000; ++i) {
    const std::size_t at = static_cast<std::size_t>(i) * 7919 % (expected.size() + 1);
    patch += (i ? "," : "") + (R"({"op":"add","path":"/l/)" + std::to_string(at)) + R"(","value":)" +
             std::to_string(i) + "}";
    expected.insert(expected.begin() + static_cast<std::ptrdiff_t>(at), i);
    if (i % 3 != 0) continue;
    const std::size_t gone = static_cast<std::size_t>(i) * 31 % expected.size();
    patch += R"(,{"op":"remove","path":"/l/)" + std::to_string(gone) + "\"}";
    expected.erase(expected.begin() + static_cast<std::ptrdiff_t>(gone));
  }
  const Json result = apply_json_patch(document, patch + "]").value();
  ASSERT_EQ(result.items_at("l").size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i)
    ASSERT_EQ(result.items_at("l")[i], Json(expected[i])) << i;
}

TEST(MergePatch, FollowsTheRfc) {
  const PatchCase cases[] = {
      {"null removes", R"({"data":{"x":"1","y":"2"}})", R"({"data":{"x":null,"z":"3"}})",
       R"({"data":{"y":"2","z":"3"}})"},
      {"nothing", R"({"a":1})", "{}", R"({"a":1})"},
      {"lists are replaced", R"({"f":["a"]})", R"({"f":[]})", R"({"f":[]})"},
      {"nulls of new objects vanish", R"({})", R"({"a":{"b":null,"c":1}})", R"({"a":{"c":1}})"},
      {"an object for a scalar", R"({"a":1})", R"({"a":{"b":2}})", R"({"a":{"b":2}})"},
      {"array", "{}", "[1]",
       "error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}"},
      {"garbage", "{}", "{x", "invalid JSON patch"},
  };
  for (const PatchCase& c : cases)
    EXPECT_EQ(text_of(apply_merge_patch(parsed(c.document), c.patch)), c.out) << c.what;
}

TEST(StrategicMergePatch, MergesByTheTable) {
  const char* two = R"({"spec":{"containers":[{"name":"a","image":"a","env":[{"name":"A","value":"1"}]},)"
                    R"({"name":"b","image":"b"}]}})";
  const char* owners = R"({"metadata":{"ownerReferences":[{"name":"y","uid":"b"},{"name":"x","uid":"a"}]}})";
  const char* conditions = R"({"status":{"conditions":[{"type":"A"},{"type":"B"},{"type":"S"}]}})";
  const PatchCase cases[] = {
      {"by name", two, R"({"spec":{"containers":[{"name":"b","image":"b2"}]}})",
       R"({"spec":{"containers":[{"name":"a","image":"a","env":[{"name":"A","value":"1"}]},)"
       R"({"name":"b","image":"b2"}]}})"},
      {"a new element goes in front", R"({"spec":{"containers":[{"name":"a"}]}})",
       R"({"spec":{"containers":[{"name":"n"}]}})", R"({"spec":{"containers":[{"name":"n"},{"name":"a"}]}})"},
      {"no key", two, R"({"spec":{"containers":[{"image":"x"}]}})",
       "map: map[image:x] does not contain declared merge key: name"},
      {"atomic lists are replaced", R"({"spec":{"tolerations":[{"key":"t"}]}})",
       R"({"spec":{"tolerations":[{"key":"u"}]}})", R"({"spec":{"tolerations":[{"key":"u"}]}})"},
      {"sets", R"({"metadata":{"finalizers":["a"]}})", R"({"metadata":{"finalizers":["b"]}})",
       R"({"metadata":{"finalizers":["b","a"]}})"},
      {"removal from a set", R"({"metadata":{"finalizers":["b","a"]}})",
       R"({"metadata":{"$deleteFromPrimitiveList/finalizers":["a"]}})",
       R"({"metadata":{"finalizers":["b"]}})"},
      {"replace a map", R"({"metadata":{"labels":{"a":"1"}}})",
       R"({"metadata":{"labels":{"$patch":"replace","z":"26"}}})", R"({"metadata":{"labels":{"z":"26"}}})"},
      {"delete a map", R"({"metadata":{"labels":{"a":"1"}}})",
       R"({"metadata":{"labels":{"$patch":"delete"}}})", R"({"metadata":{"labels":{}}})"},
      {"delete an element", R"({"spec":{"schedulingGates":[{"name":"g1"},{"name":"g2"}]}})",
       R"({"spec":{"schedulingGates":[{"name":"g1","$patch":"delete"}]}})",
       R"({"spec":{"schedulingGates":[{"name":"g2"}]}})"},
      {"retain keys", R"({"spec":{"containers":[{"name":"a"}],"nodeSelector":{"n":"1"}}})",
       R"({"spec":{"$retainKeys":["containers"],"containers":[{"name":"a"}]}})",
       R"({"spec":{"containers":[{"name":"a"}]}})"},
      {"retain keys without a given one", two, R"({"spec":{"$retainKeys":["x"],"containers":[]}})",
       "invalid patch format of retainKeys"},
      {"order by directive", owners,
       R"({"metadata":{"$setElementOrder/ownerReferences":[{"uid":"a"},{"uid":"b"}],"ownerReferences":[]}})",
       R"({"metadata":{"ownerReferences":[{"name":"x","uid":"a"},{"name":"y","uid":"b"}]}})"},
      {"order and a new one", conditions,
       R"({"status":{"$setElementOrder/conditions":[{"type":"B"},{"type":"A"},{"type":"C"}],)"
       R"("conditions":[{"type":"C","status":"True"}]}})",
       R"({"status":{"conditions":[{"type":"B"},{"type":"A"},{"type":"C","status":"True"},{"type":"S"}]}})"},
      {"explicit merge", two, R"({"spec":{"containers":[{"name":"a","$patch":"merge"}]}})",
       "merging lists cannot yet be specified in the patch"},
      {"unknown directive", two, R"({"spec":{"containers":[{"name":"a","$patch":"odd"}]}})",
       "unknown patch type: odd in map: map[$patch:odd name:a]"},
      {"unknown directive of a map", two, R"({"spec":{"$patch":"odd"}})",
       "unknown patch type: odd in map: map[$patch:odd]"},
      {"replace a list", two, R"({"spec":{"containers":[{"$patch":"replace"},{"name":"c"}]}})",
       R"({"spec":{"containers":[{"name":"c"}]}})"},
      {"null removes", two, R"({"spec":{"containers":null}})", R"({"spec":{}})"},
      {"nested lists", two,
       R"({"spec":{"containers":[{"name":"a","env":[{"name":"B","value":"2"},{"name":"A","value":"3"}]}]}})",
       R"({"spec":{"containers":[{"name":"a","image":"a","env":[{"name":"B","value":"2"},{"name":)"
       R"("A","value":"3"}]},{"name":"b","image":"b"}]}})"},
      {"directives for what is not there", "{}",
       R"({"metadata":{"ownerReferences":[{"uid":"a","$patch":"delete"},{"uid":"b"}],"labels":)"
       R"({"a":null,"b":"1"}}})",
       R"({"metadata":{"ownerReferences":[{"uid":"b"}],"labels":{"b":"1"}}})"},
      {"unknown members are merged plainly", R"({"junk":{"a":1}})", R"({"junk":{"b":2},"more":[1]})",
       R"({"junk":{"a":1,"b":2},"more":[1]})"},
  };
  const TypeInfo& pod = *find_kind("v1", "Pod");
  for (const PatchCase& c : cases)
    EXPECT_EQ(text_of(apply_strategic_merge_patch(pod, parsed(c.document), c.patch)), c.out) << c.what;
}

TEST(StrategicMergePatch, MergesConsumersOfClaims) {
  const TypeInfo& claim = *find_kind("resource.k8s.io/v1", "ResourceClaim");
  const auto added =
      apply_strategic_merge_patch(claim, parsed(R"({"status":{"reservedFor":[{"name":"p1","uid":"u1"}]}})"),
                                  R"({"status":{"reservedFor":[{"name":"p2","uid":"u2"}]}})");
  EXPECT_EQ(text_of(added),
            R"({"status":{"reservedFor":[{"name":"p2","uid":"u2"},{"name":"p1","uid":"u1"}]}})");
  EXPECT_EQ(text_of(apply_strategic_merge_patch(
                claim, *added, R"({"status":{"reservedFor":[{"uid":"u1","$patch":"delete"}]}})")),
            R"({"status":{"reservedFor":[{"name":"p2","uid":"u2"}]}})");
}

TEST(PatchTypes, AreKnownByMediaType) {
  EXPECT_EQ(patch_type_of("application/merge-patch+json"), PatchType::Merge);
  EXPECT_EQ(patch_type_of("application/json"), std::nullopt);
}

TEST(GoValueText, PrintsLikeGo) {
  EXPECT_EQ(go_value_text(parsed(R"({"dta":{"b":"1"},"a":[1,true,null,"x"]})")),
            "map[a:[1 true <nil> x] dta:map[b:1]]");
}

}  // namespace
}  // namespace berth::api
