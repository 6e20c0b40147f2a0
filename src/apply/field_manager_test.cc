#include "apply/field_manager.h"

#include <gtest/gtest.h>

#include "apply/test_json.h"

namespace berth::apply {
namespace {

// An object that several managers write, as a server keeps it.
class OneObject {
 public:
  explicit OneObject(std::string_view kind = "ConfigMap") : kind_(kind) {}

  // The conflicts, or the reason why the configuration does not fit; empty when it was applied.
  std::string apply(std::string_view manager, std::string_view fields, bool force = false) {
    ApplyResult result = field_manager(manager).applied(object_, with_kind(json(fields)), force);
    if (const auto* refused = std::get_if<NotTyped>(&result)) return refused->why;
    if (const auto* conflicts = std::get_if<Conflicts>(&result)) {
      std::string text;
      for (const Conflict& conflict : *conflicts)
        text += conflict.manager.text() + " " + text_of(conflict.path) + "\n";
      return text;
    }
    Applied& applied = std::get<Applied>(result);
    take(std::move(applied.document), std::move(applied.managed_fields));
    return "";
  }

  void update(std::string_view manager, std::string_view fields) {
    Json next = with_kind(json(fields));
    Json managed = field_manager(manager).after_update(object_, next);
    take(std::move(next), std::move(managed));
  }

  std::string data() const { return to_string(object_.part("data")); }
  // "m1 Apply f:data/… ", one line an owner.
  std::string owners() const {
    std::string text;
    for (const Json& entry : object_.part("metadata").items_at("managedFields")) {
      text.append(entry.string_at("manager")).append(" ").append(entry.string_at("operation")).append(" ");
      text += to_string(entry.part("fieldsV1")) + "\n";
    }
    return text;
  }
  Json& object() { return object_; }
  void set_time(int second) { second_ = second; }

 private:
  FieldManager field_manager(std::string_view manager) const {
    FieldWrite write;
    write.manager = manager;
    write.api_version = "v1";
    write.kind = kind_;
    write.now = "2026-01-01T00:00:" + std::string(second_ < 10 ? "0" : "") + std::to_string(second_) + "Z";
    write.empty = with_kind(Json::object({{"metadata", Json::object()}}));
    return FieldManager(std::move(write));
  }
  Json with_kind(Json document) const {
    document["apiVersion"] = "v1";
    document["kind"] = kind_;
    return document;
  }
  void take(Json document, Json managed) {
    document["metadata"]["uid"] = "u";
    if (managed.is_null())
      document["metadata"].as_object().erase("managedFields");
    else
      document["metadata"]["managedFields"] = std::move(managed);
    object_ = std::move(document);
  }

  const std::string kind_;
  int second_ = 0;
  Json object_ = with_kind(Json::object({{"metadata", Json::object()}}));
};

TEST(Apply, OwnsWhatItSetsAndGivesUpWhatItLeavesOut) {
  OneObject map;
  EXPECT_EQ(map.apply("m1", R"({"data":{"x":"1","y":"2"}})"), "");
  EXPECT_EQ(map.owners(), "m1 Apply {\"f:data\":{\"f:x\":{},\"f:y\":{}}}\n");
  EXPECT_EQ(map.apply("m1", R"({"data":{"x":"1"}})"), "");
  EXPECT_EQ(map.data(), R"({"x":"1"})");
}

TEST(Apply, OfTheSameConfigurationChangesNothing) {
  OneObject map;
  map.apply("m1", R"({"data":{"x":"1"}})");
  const Json before = map.object();
  map.set_time(7);
  EXPECT_EQ(map.apply("m1", R"({"data":{"x":"1"}})"), "");
  EXPECT_EQ(to_string(map.object()), to_string(before));
}

TEST(Apply, ConflictsOverAnotherValueAndSharesTheSame) {
  OneObject map;
  map.apply("m1", R"({"data":{"x":"1"}})");
  EXPECT_EQ(map.apply("m2", R"({"data":{"x":"9"}})"), "\"m1\" .data.x\n");
  EXPECT_EQ(map.apply("m2", R"({"data":{"x":"1","z":"3"}})"), "");
  EXPECT_EQ(map.apply("m1", R"({})"), "");
  EXPECT_EQ(map.data(), R"({"x":"1","z":"3"})") << "m2 owns x, too";
}

TEST(Apply, ForcedTakesTheFieldFromItsOwner) {
  OneObject map;
  map.apply("m1", R"({"data":{"x":"1"}})");
  EXPECT_EQ(map.apply("m2", R"({"data":{"x":"9"}})", true), "");
  EXPECT_EQ(map.owners(), "m2 Apply {\"f:data\":{\"f:x\":{}}}\n");
}

TEST(Apply, ConflictsWithAnUpdateInItsVersion) {
  OneObject map;
  map.apply("m1", R"({"data":{"x":"1"}})");
  map.update("upd", R"({"data":{"x":"10"},"metadata":{}})");
  EXPECT_EQ(map.apply("m1", R"({"data":{"x":"1"}})"), "\"upd\" using v1 .data.x\n");
}

TEST(Apply, FindsAnOwnerForWhatNobodyTracked) {
  OneObject map;
  map.object() = json(R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"uid":"u"},"data":{"x":"1"}})");
  map.update("upd", R"({"data":{"x":"2"}})");
  EXPECT_EQ(map.owners(), "") << "untracked until the first apply";
  EXPECT_EQ(map.apply("m1", R"({"data":{"x":"5"}})"), "\"before-first-apply\" using v1 .data.x\n");
}

TEST(Apply, KeepsFieldsOfItemsThatOthersOwn) {
  OneObject pod("Pod");
  pod.apply("m1", R"({"spec":{"containers":[{"name":"c","image":"i"},{"name":"d","image":"i"}]}})");
  pod.apply("m2", R"({"spec":{"containers":[{"name":"c","command":["x"]}]}})");
  EXPECT_EQ(pod.apply("m1", R"({"spec":{"containers":[{"name":"d","image":"i"}]}})"), "");
  const JsonArray& containers = pod.object().part("spec").items_at("containers");
  ASSERT_EQ(containers.size(), 2u);
  EXPECT_EQ(to_string(containers[0]), R"({"name":"c","command":["x"]})");
}

TEST(Apply, ByKubectlTakesOverWhatItsAnnotationShows) {
  constexpr std::string_view kBefore =
      R"({"data":{"x":"1"},"metadata":{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":)"
      R"("{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"data\":{\"x\":\"1\"}}"}}})";
  OneObject map, other;
  map.update("kubectl-client-side-apply", kBefore);
  other.update("kubectl-client-side-apply", kBefore);
  EXPECT_NE(other.apply("m1", R"({"data":{"x":"2"}})"), "");
  EXPECT_EQ(map.apply("kubectl", R"({"data":{"x":"2"}})"), "");
  EXPECT_EQ(map.object().part("metadata").part("annotations").string_at(kLastAppliedAnnotation),
            "{\"apiVersion\":\"v1\",\"data\":{\"x\":\"2\"},\"kind\":\"ConfigMap\"}\n");
}

TEST(Apply, RefusesWhatDoesNotFitItsType) {
  OneObject map;
  EXPECT_EQ(map.apply("m1", R"({"data":{"x":1}})"),
            ".data.x: expected string, got &value.valueUnstructured{Value:1}");
}

TEST(Update, OwnsWhatItChangedAndTakesItFromOthers) {
  OneObject map;
  map.update("creator", R"({"metadata":{"labels":{"l":"1"}},"data":{"a":"1"}})");
  EXPECT_EQ(map.owners(),
            "creator Update "
            "{\"f:data\":{\".\":{},\"f:a\":{}},\"f:metadata\":{\"f:labels\":{\".\":{},\"f:l\":{}}}}\n");
  map.update("writer", R"({"metadata":{},"data":{"a":"2"}})");
  EXPECT_EQ(map.owners(), "creator Update {\"f:data\":{}}\nwriter Update {\"f:data\":{\"f:a\":{}}}\n");
}

TEST(Update, WithOneEmptyEntryForgetsAllOwners) {
  OneObject map;
  map.apply("m1", R"({"data":{"x":"1"}})");
  map.update("m2", R"({"metadata":{"managedFields":[{}]},"data":{"x":"1"}})");
  EXPECT_EQ(map.owners(), "");
}

TEST(Update, PutsItsOldestManagersTogether) {
  OneObject map;
  std::string data = R"("x0":"")";
  for (int second = 0; second < 12; ++second) {
    map.set_time(second);
    data += ",\"x" + std::to_string(second + 1) + "\":\"\"";
    map.update("m" + std::to_string(second), R"({"metadata":{},"data":{)" + data + "}}");
  }
  const JsonArray& entries = map.object().part("metadata").items_at("managedFields");
  ASSERT_EQ(entries.size(), kUpdateManagersMax);
  EXPECT_EQ(entries.front().string_at("manager"), "ancient-changes");
  EXPECT_EQ(entries.back().string_at("manager"), "m11");
}

}  // namespace
}  // namespace berth::apply
