#include "api/decoded_versions.h"

#include <gtest/gtest.h>

namespace berth::api {
namespace {

RawPtr pod(const std::string& name) {
  return std::make_shared<const std::string>(R"({"metadata":{"name":")" + name + R"("}})");
}

const Pod* pod_of(const Result<TypedObject>& object) {
  return object ? std::get<std::shared_ptr<const Pod>>(*object).get() : nullptr;
}

TEST(DecodedVersions, EqualBytesOfOneKindAreDecodedOnce) {
  DecodedVersions decoded;
  const Pod* first = pod_of(decoded.decode(Kind::Pod, pod("a")));
  ASSERT_TRUE(first);
  EXPECT_EQ(first->meta.name, "a");
  EXPECT_EQ(pod_of(decoded.decode(Kind::Pod, pod("a"))), first);
  EXPECT_NE(pod_of(decoded.decode(Kind::Pod, pod("b"))), first);
  const Result<TypedObject> node = decoded.decode(Kind::Node, pod("a"));
  EXPECT_TRUE(std::holds_alternative<std::shared_ptr<const Node>>(*node));
  EXPECT_FALSE(decoded.decode(Kind::Pod, std::make_shared<const std::string>("[]")).ok());
}

TEST(DecodedVersions, BytesThatWereParsedAreDecodedAlike) {
  DecodedVersions decoded;
  const RawPtr raw = pod("a");
  EXPECT_EQ(to_string(decoded.document_of(raw)), *raw);
  EXPECT_EQ(pod_of(decoded.decode(Kind::Pod, raw))->meta.name, "a");
  EXPECT_TRUE(decoded.document_of(std::make_shared<const std::string>("{")).is_null());
}

TEST(DecodedVersions, ABinderKeepsTheTextsItWritesBackAlone) {
  DecodedVersions decoded(kDecodedVersionsBytesMax, Texts::OfWhatBindingReads);
  RawPtr text = pod("a");
  const Pod* first = pod_of(decoded.decode(Kind::Pod, text));
  ASSERT_TRUE(first);
  EXPECT_EQ(first->meta.name, "a");
  EXPECT_FALSE(first->raw);
  text.reset();
  EXPECT_EQ(pod_of(decoded.decode(Kind::Pod, pod("a"))), first);
  EXPECT_FALSE(pod_of(decoded.decode(Kind::Pod, pod("b"), *parse_json(*pod("b"))))->raw);
  for (const Kind kind : {Kind::ResourceClaim, Kind::BindRequest, Kind::Other})
    EXPECT_EQ(*raw_of(*decoded.decode(kind, pod("a"))), *pod("a"));
}

TEST(DecodedVersions, TheOldestGoFirstAndTheBoundHolds) {
  DecodedVersions decoded(10 * pod("p-0")->size());
  std::vector<Result<TypedObject>> held;
  for (int i = 0; i < 100; ++i) {
    held.push_back(decoded.decode(Kind::Pod, pod("p-" + std::to_string(i % 20))));
    EXPECT_LE(decoded.bytes(), 10 * pod("p-0")->size());
  }
  EXPECT_NE(pod_of(decoded.decode(Kind::Pod, pod("p-0"))), pod_of(held.front()));
}

}  // namespace
}  // namespace berth::api
