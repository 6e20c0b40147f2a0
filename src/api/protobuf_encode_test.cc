#include "api/protobuf_encode.h"

#include <gtest/gtest.h>

#include "api/decode.h"
#include "api/protobuf.h"
#include "api/protobuf_objects.h"
#include "api/protobuf_wire.h"
#include "api/serialized.h"
#include "api/testing/document_drawer.h"
#include "api/testing/protobuf_samples.h"
#include "base/random.h"

namespace berth::api {
namespace {

std::string api_version_of(const TypeInfo& type) {
  return (type.group.empty() ? "" : std::string(type.group) + "/") + std::string(type.version);
}

// A random object in the form that is stored.
std::string drawn_object(const TypeInfo& type, std::uint64_t seed) {
  Json object = Json::object({{"kind", type.name}, {"apiVersion", api_version_of(type)}});
  const Json drawn = DocumentDrawer(seed).document(type);
  for (const JsonMember& member : drawn.as_object()) object[member.key] = member.value;
  const Result<Decoded> decoded = decode_json(type, to_string(object));
  EXPECT_TRUE(decoded.ok()) << decoded.error().text();
  return decoded.ok() ? to_string(decoded->document) : std::string("{}");
}

TEST(ProtobufEncodeJudge, EveryKindReadsAsTheJsonItWasWrittenFrom) {
  std::size_t kinds = 0, members = 0;
  for (const TypeInfo& type : types()) {
    if (!type.is(kTopLevel) || type.group == kBerthGroup) continue;
    ++kinds;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      SCOPED_TRACE(api_version_of(type) + " " + std::string(type.name) + " " + std::to_string(seed));
      const std::string json = drawn_object(type, seed);
      const Result<std::string> body = encode_protobuf_body(json, Unnumbered::LeaveOut);
      ASSERT_TRUE(body.ok()) << body.error().text();
      const Result<Json> read = decode_protobuf_body(type, *body);
      ASSERT_TRUE(read.ok()) << read.error().text();
      ASSERT_EQ(to_string(*read), json);
      members += read->as_object().size();
    }
  }
  EXPECT_GT(kinds, 190u);
  EXPECT_GT(members, kinds * 40);
}

TEST(ProtobufEncode, WritesGosSamplesAsGoReadsThem) {
  for (const ProtobufSample& sample : protobuf_samples()) {
    SCOPED_TRACE(sample.api_version + " " + sample.kind);
    const Result<std::string> body = encode_protobuf_body(sample.json, Unnumbered::LeaveOut);
    ASSERT_TRUE(body.ok()) << body.error().text();
    EXPECT_EQ(to_string(*parse_object(*body)), to_string(*parse_object(sample.body)));
  }
}

TEST(ProtobufEncode, TheDataOfARevisionAreTheBytesThatGoWrites) {
  const auto body_of = [](const char* json) { return *encode_protobuf_body(json, Unnumbered::LeaveOut); };
  EXPECT_NE(body_of(R"({"apiVersion":"apps/v1","kind":"ControllerRevision","data":{"run":"a && b <c>"}})")
                .find(R"({"run":"a \u0026\u0026 b \u003cc\u003e"})"),
            std::string::npos);
  EXPECT_NE(body_of(R"({"apiVersion":"resource.k8s.io/v1","kind":"DeviceClass","spec":{"config":[{"opaque":
              {"driver":"d","parameters":{"run":"a && b"}}}]}})")
                .find(R"({"run":"a && b"})"),
            std::string::npos)
      << "other opaque JSON is as its client wrote it";
}

// Nothing is absent from these, so nothing is left out of what Go writes.
TEST(ProtobufEncode, AFullSampleHasGosBytes) {
  std::size_t equal = 0;
  for (const ProtobufSample& sample : protobuf_samples())
    equal += *encode_protobuf_body(sample.json, Unnumbered::LeaveOut) == sample.body ? 1 : 0;
  EXPECT_GE(equal, 15u);
}

// Memory is not left, whatever the text is: for the sanitizers.
TEST(ProtobufEncodeJudge, DamagedTextsAreRefusedOrWritten) {
  SeededRandom random(11);
  const TypeInfo& pod = *find_kind("v1", "Pod");
  std::size_t refused = 0, written = 0;
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    std::string json = drawn_object(pod, seed % 50 + 1);
    for (std::uint64_t n = random.below(3); n < 3; ++n)
      json[random.below(json.size())] = static_cast<char>(random.next());
    if (random.below(4) == 0) json.resize(random.below(json.size()));
    const Result<std::string> body = encode_protobuf_body(json, Unnumbered::LeaveOut);
    ++(body ? written : refused);
    EXPECT_TRUE(!body || open_protobuf_envelope(*body).ok());
  }
  EXPECT_GT(refused, 100u);
  EXPECT_GT(written, 100u);
}

TEST(ProtobufEncode, LeavesOutWhatHasNoNumber) {
  const Result<std::string> body = encode_protobuf_body(
      R"({"kind":"ConfigMap","apiVersion":"v1","newField":{"a":[1]},"metadata":{"name":"a","shiny":1}})",
      Unnumbered::LeaveOut);
  ASSERT_TRUE(body.ok()) << body.error().text();
  EXPECT_EQ(to_string(*parse_object(*body)),
            R"({"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a"}})");
}

TEST(ProtobufEncode, RefusesWhatIsNoObjectOfAKnownKind) {
  for (const char* json :
       {"", "{", "[]", "7", R"({"kind":"Pod"})", R"({"kind":"Pod","apiVersion":7})",
        R"({"kind":"Gizmo","apiVersion":"v1"})", R"({"kind":"Pod","apiVersion":"v1","spec":{"hostPID":}})",
        R"({"kind":"Pod","apiVersion":"v1","spec":{"nodeName":"a)"})
    EXPECT_FALSE(encode_protobuf_body(json, Unnumbered::LeaveOut).ok()) << json;
}

TEST(ProtobufEncode, LengthsOfEverySizeAreRight) {
  for (const std::size_t size : {0u, 1u, 100u, 127u, 128u, 300u, 16383u, 16384u, 70000u}) {
    const std::string json = R"({"kind":"ConfigMap","apiVersion":"v1","metadata":{},"data":{"k":")" +
                             std::string(size, 'x') + R"("}})";
    const Result<std::string> body = encode_protobuf_body(json, Unnumbered::LeaveOut);
    ASSERT_TRUE(body.ok());
    EXPECT_EQ(to_string(*parse_object(*body)), json) << size;
  }
}

constexpr std::string_view kMap = R"({"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a"}})";

TEST(ProtobufEncode, AListHasItsMetadataAndItems) {
  const ProtobufListWriter writer({"v1", "ConfigMapList", find_kind("v1", "ConfigMapList")});
  std::string items;
  ASSERT_TRUE(writer.append_item(items, kMap).ok());
  ASSERT_TRUE(writer.append_item(items, R"({"metadata":{"name":"b"}})").ok());
  const Result<std::string> head =
      writer.head(R"({"resourceVersion":"17","continue":"more","remainingItemCount":3})", items.size());
  ASSERT_TRUE(head.ok());
  const std::string body = *head + items + ProtobufListWriter::tail();
  const Result<ProtobufList> list = open_protobuf_list(body);
  ASSERT_TRUE(list.ok()) << list.error().text();
  EXPECT_EQ(list->resource_version, "17");
  EXPECT_EQ(list->next, "more");
  ASSERT_EQ(list->items.size(), 2u);
  EXPECT_EQ(to_string(*parse_object(*list->items[0])), kMap);
  EXPECT_EQ(parse_object(*list->items[1])->part("metadata").string_at("name"), "b");
}

TEST(ProtobufEncode, AFrameSaysItsLengthAndHoldsTheEvent) {
  const Result<std::string> frame =
      protobuf_frame("ADDED", {"v1", "ConfigMap", find_kind("v1", "ConfigMap")}, kMap);
  ASSERT_TRUE(frame.ok());
  EXPECT_EQ(frame_length(*frame), frame->size() - kFrameHeaderBytes);
  const Result<ProtobufEvent> event = open_protobuf_event(std::string_view(*frame).substr(kFrameHeaderBytes));
  ASSERT_TRUE(event.ok());
  EXPECT_EQ(event->type, "ADDED");
  EXPECT_EQ(to_string(*parse_object(event->object)), kMap);
}

}  // namespace
}  // namespace berth::api
