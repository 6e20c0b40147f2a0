#include "client/whole_objects.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "api/patch.h"
#include "api/serialized.h"
#include "client/decider.h"
#include "client/testing/protobuf_answers.h"

namespace berth::client {
namespace {

const api::ResourceRef kClaims{"resource.k8s.io", "v1", "resourceclaims"};
const api::ResourceRef kGroups{"scheduling.k8s.io", "v1beta1", "podgroups"};
const api::TypeInfo& group_type() {
  return *api::find_kind("scheduling.k8s.io/v1beta1", "PodGroup");
}

std::string claim(const std::string& version, const std::string& finalizers = "", const char* name = "c",
                  const std::string& uid = "u1") {
  return R"({"kind":"ResourceClaim","apiVersion":"resource.k8s.io/v1","metadata":{"name":")" +
         std::string(name) + R"(","namespace":"ns","uid":")" + uid + R"(","resourceVersion":")" + version +
         R"(","finalizers":[)" + finalizers +
         R"(]},"spec":{"devices":{"requests":[{"name":"r","exactly":{"deviceClassName":"gpu",)"
         R"("count":2}}]}}})";
}
api::RawPtr heard_as(const std::string& json) {
  return std::make_shared<const std::string>(protobuf_body(json));
}
ApiRequest patch(Verb verb, std::string body, const api::ResourceRef& resource = kClaims) {
  return {verb, resource, "ns", "c", "status", std::move(body)};
}

struct Case {
  const char* what;
  Verb verb;
  const char* base;
  const char* patch;
  const char* added;  // null: the patch does more than add
};

TEST(AdditionOf, IsWhatAPatchAddsOrNothing) {
  constexpr auto kMerge = Verb::MergePatch, kStrategic = Verb::StrategicPatch;
  const Case cases[] = {
      {"a member that is absent", kMerge, R"({"a":1})", R"({"b":{"c":2}})", R"({"b":{"c":2}})"},
      {"a member inside", kMerge, R"({"b":{"a":1}})", R"({"b":{"a":1,"c":2}})", R"({"b":{"c":2}})"},
      {"what is there already", kMerge, R"({"a":1,"b":{"c":2}})", R"({"a":1,"b":{"c":2}})", "{}"},
      {"another value", kMerge, R"({"a":1})", R"({"a":2})", nullptr},
      {"another type", kMerge, R"({"a":[1]})", R"({"a":{"b":2}})", nullptr},
      {"a removal", kMerge, R"({"a":1})", R"({"a":null})", nullptr},
      {"a removal of what is not there", kMerge, R"({"b":1})", R"({"a":null})", "{}"},
      {"nulls inside", kMerge, "{}", R"({"a":{"b":null,"c":[{"d":null,"e":1}]}})",
       R"({"a":{"c":[{"e":1}]}})"},
      {"items at the end", kMerge, R"({"a":[1,2]})", R"({"a":[1,2,3]})", R"({"a":[3]})"},
      {"items before", kMerge, R"({"a":[1,2]})", R"({"a":[0,1,2]})", nullptr},
      {"fewer items", kMerge, R"({"a":[1,2]})", R"({"a":[1]})", nullptr},
      {"an empty list for a full one", kMerge, R"({"a":[1]})", R"({"a":[]})", nullptr},
      {"a condition that is new", kStrategic, R"({"status":{"conditions":[{"type":"A","status":"True"}]}})",
       R"({"status":{"conditions":[{"type":"B","status":"False","reason":null}]}})",
       R"({"status":{"conditions":[{"type":"B","status":"False"}]}})"},
      {"a condition that is there", kStrategic, R"({"status":{"conditions":[{"type":"A","status":"True"}]}})",
       R"({"status":{"conditions":[{"type":"A","status":"False"}]}})", nullptr},
      {"a merge patch of conditions", kMerge, R"({"status":{"conditions":[{"type":"A","status":"True"}]}})",
       R"({"status":{"conditions":[{"type":"B","status":"False"}]}})", nullptr},
      {"a directive", kStrategic, R"({"status":{"conditions":[{"type":"A","status":"True"}]}})",
       R"({"status":{"conditions":[{"$patch":"delete","type":"A"}]}})", nullptr},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.what);
    const auto added = addition_of(*parse_json(one.base), *parse_json(one.patch), one.verb, group_type());
    ASSERT_EQ(added.has_value(), one.added != nullptr);
    if (!added) continue;
    EXPECT_EQ(to_string(*added), one.added);
  }
}

// The finalizer, then the allocation on the version that the first answer has.
TEST(WholeObjects, PutWhatThePatchesOfAReservationAskFor) {
  WholeObjects objects;
  objects.heard(kClaims, heard_as(claim("5")));
  const auto first = objects.instead_of(
      patch(Verb::MergePatch, R"({"metadata":{"uid":"u1","resourceVersion":"5","finalizers":["f"]}})"));
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(to_string(*api::parse_object(*first)),
            to_string(*api::parse_object(protobuf_body(claim("5", R"("f")")))));

  objects.heard(kClaims, heard_as(claim("6", R"("f")")));
  const std::string allocation =
      R"({"metadata":{"uid":"u1","resourceVersion":"6"},"status":{"allocation":{"devices":{"results":[)"
      R"({"request":"r","driver":"d","pool":"p","device":"g"}]}},)"
      R"("reservedFor":[{"resource":"pods","name":"x","uid":"ux"}]}})";
  const auto second = objects.instead_of(patch(Verb::MergePatch, allocation));
  ASSERT_TRUE(second.has_value());
  const Json base = *api::parse_object(protobuf_body(claim("6", R"("f")")));
  EXPECT_EQ(to_string(*api::parse_object(*second)),
            to_string(*api::parse_object(
                protobuf_body(to_string(api::merge_patched(base, *parse_json(allocation)))))));
}

TEST(WholeObjects, LeavePatchesThatNeedMoreThanWhatIsKnown) {
  WholeObjects objects;
  objects.heard(kClaims, heard_as(claim("5")));
  const char* const adds = R"({"metadata":{"uid":"u1","resourceVersion":"5","finalizers":["f"]}})";
  EXPECT_TRUE(objects.instead_of(patch(Verb::MergePatch, adds)));
  EXPECT_FALSE(objects.instead_of(patch(Verb::JsonPatch, "[]")));
  EXPECT_FALSE(objects.instead_of(patch(Verb::MergePatch, "no JSON")));
  EXPECT_FALSE(objects.instead_of(patch(Verb::MergePatch, adds, {"", "v1", "pods"})));
  for (const char* body :
       {R"({"metadata":{"uid":"u1","resourceVersion":"4","finalizers":["f"]}})",
        R"({"metadata":{"uid":"u2","resourceVersion":"5","finalizers":["f"]}})",
        R"({"metadata":{"uid":"u1","resourceVersion":"5"}})",
        R"({"metadata":{"uid":"u1","resourceVersion":"5"},"spec":{"devices":{"requests":[]}}})",
        R"({"metadata":{"uid":"u1","resourceVersion":"5"},"status":{"unknown":1}})",
        R"({"metadata":{"uid":"u1","finalizers":["f"]}})"})
    EXPECT_FALSE(objects.instead_of(patch(Verb::MergePatch, body))) << body;
  objects.stop();
  EXPECT_FALSE(objects.instead_of(patch(Verb::MergePatch, adds)));
  objects.heard(kClaims, heard_as(claim("5")));
  EXPECT_FALSE(objects.instead_of(patch(Verb::MergePatch, adds))) << "for good";
}

TEST(WholeObjects, KnowNothingOfWhatIsNotProtobufOrNotReplaced) {
  WholeObjects objects;
  const char* const adds = R"({"metadata":{"uid":"u1","resourceVersion":"5","finalizers":["f"]}})";
  objects.heard(kClaims, std::make_shared<const std::string>(claim("5")));
  objects.heard(kClaims, nullptr);
  objects.heard({"", "v1", "pods"}, heard_as(claim("5")));
  EXPECT_FALSE(objects.instead_of(patch(Verb::MergePatch, adds)));
}

TEST(WholeObjects, TheConditionsOfAGroupArePutOnce) {
  WholeObjects objects;
  const std::string group =
      R"({"kind":"PodGroup","apiVersion":"scheduling.k8s.io/v1beta1","metadata":{"name":"c",)"
      R"("namespace":"ns","uid":"u1","resourceVersion":"5"},)"
      R"("spec":{"schedulingPolicy":{"gang":{"minCount":3}}}})";
  objects.heard(kGroups, heard_as(group));
  api::ObjectMeta seen;
  seen.uid = "u1";
  seen.resource_version = 5;
  api::Condition condition;
  condition.type = "PodGroupInitiallyScheduled";
  condition.status = "True";
  const Write write = condition_patch({api::Kind::PodGroup, "ns", "c", {}}, seen, condition);
  const auto body = objects.instead_of(patch(Verb::StrategicPatch, write.request.body, kGroups));
  ASSERT_TRUE(body.has_value());
  const Json expected = *api::strategic_merge_patched(group_type(), *api::parse_object(protobuf_body(group)),
                                                      *parse_json(write.request.body));
  EXPECT_EQ(to_string(*api::parse_object(*body)),
            to_string(*api::parse_object(protobuf_body(to_string(expected)))));
}

bool known(WholeObjects& objects, const std::string& uid, const std::string& version) {
  const std::string adds =
      R"({"metadata":{"uid":")" + uid + R"(","resourceVersion":")" + version + R"(","finalizers":["f"]}})";
  return objects.instead_of(patch(Verb::MergePatch, adds)).has_value();
}

TEST(WholeObjects, KnowTheLatestVersionOfEach) {
  WholeObjects objects;
  objects.heard(kClaims, heard_as(claim("9")));
  EXPECT_TRUE(known(objects, "u1", "9"));
  objects.heard(kClaims, heard_as(claim("10")));
  EXPECT_FALSE(known(objects, "u1", "9"));
  EXPECT_TRUE(known(objects, "u1", "10"));
  objects.heard(kClaims, heard_as(claim("9")));
  EXPECT_TRUE(known(objects, "u1", "10")) << "an event may be behind an answer";
  objects.heard(kClaims, heard_as(claim("11", "", "d", "u2")));
  EXPECT_TRUE(known(objects, "u1", "10"));
  EXPECT_FALSE(known(objects, "u1", "11")) << "of another object";
  objects.gone(kClaims, heard_as(claim("12")));
  EXPECT_FALSE(known(objects, "u1", "10"));
  EXPECT_TRUE(known(objects, "u2", "11"));
}

TEST(WholeObjects, ForgetTheOldestBeyondTheirBytes) {
  WholeObjects objects;
  const std::string name(200'000, 'n');
  constexpr int kObjects = 60;  // 12 MB
  for (int i = 1; i <= kObjects; ++i)
    objects.heard(kClaims, heard_as(claim("7", "", name.c_str(), "u" + std::to_string(i))));
  EXPECT_FALSE(known(objects, "u1", "7"));
  EXPECT_FALSE(known(objects, "u" + std::to_string(kObjects / 4), "7"));
  EXPECT_TRUE(known(objects, "u" + std::to_string(kObjects - 30), "7"));
  EXPECT_TRUE(known(objects, "u" + std::to_string(kObjects), "7"));
}

// Twin: the document of the PUT is what the server would make of the patch.
TEST(WholeObjects, EqualThePatchedDocument) {
  EXPECT_TRUE(rc::check("a PUT does what its patch does", [] {
    const auto pick = [](int bound) {
      return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange(0, bound));
    };
    std::string finalizers, more;
    for (int i = pick(3); i > 0; --i)
      finalizers += (finalizers.empty() ? "\"f" : ",\"f") + std::to_string(i) + "\"";
    more = finalizers;
    for (int i = pick(3); i > 0; --i) more += (more.empty() ? "\"g" : ",\"g") + std::to_string(i) + "\"";
    if (pick(4) == 0) more = "\"other\"";
    std::string status;
    if (pick(2) == 0) status += R"("reservedFor":[{"resource":"pods","name":"x","uid":"ux"}])";
    if (pick(2) == 0)
      status += std::string(status.empty() ? "" : ",") +
                R"("allocation":{"allocationTimestamp":"2026-01-01T00:00:00Z","devices":{"results":[)"
                R"({"request":"r","driver":"d","pool":"p","device":"g","adminAccess":null}]}})";
    const std::string body = R"({"metadata":{"uid":"u1","resourceVersion":"5","finalizers":[)" + more +
                             R"(]},"status":{)" + status + "}}";
    WholeObjects objects;
    objects.heard(kClaims, heard_as(claim("5", finalizers)));
    const auto put = objects.instead_of(patch(Verb::MergePatch, body));
    if (!put) return;
    const Json base = *api::parse_object(protobuf_body(claim("5", finalizers)));
    const std::string patched = to_string(api::merge_patched(base, *parse_json(body)));
    RC_ASSERT(to_string(*api::parse_object(*put)) == to_string(*api::parse_object(protobuf_body(patched))));
  }));
}

}  // namespace
}  // namespace berth::client
