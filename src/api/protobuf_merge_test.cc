#include "api/protobuf_merge.h"

#include <gtest/gtest.h>

#include "api/protobuf.h"
#include "api/protobuf_encode.h"
#include "api/protobuf_wire.h"
#include "api/serialized.h"
#include "api/testing/protobuf_samples.h"

namespace berth::api {
namespace {

Json finalizer_added() {
  return *parse_json(R"({"metadata":{"finalizers":["example.com/added"]}})");
}

TEST(ProtobufMerge, AnItemIsTheLastOfItsListInEveryKind) {
  int objects = 0;
  for (const ProtobufSample& sample : protobuf_samples()) {
    Json expected = *parse_object(sample.body);
    if (!find_kind(sample.api_version, sample.kind)->is(kHasClient) || !expected.find("metadata")) continue;
    SCOPED_TRACE(sample.api_version + " " + sample.kind);
    const Result<std::string> body = with_added(sample.body, finalizer_added());
    ASSERT_TRUE(body.ok()) << body.error().text();
    Json& finalizers = expected["metadata"]["finalizers"];
    if (!finalizers.is_array()) finalizers = Json::array();
    finalizers.as_array().emplace_back("example.com/added");
    const Result<std::string> written = encode_protobuf_body(to_string(expected), Unnumbered::Refuse);
    if (!written) continue;  // CustomResourceDefinitions
    EXPECT_EQ(to_string(*parse_object(*body)), to_string(*parse_object(*written)));
    ++objects;
  }
  EXPECT_GT(objects, 100);
}

// A newer server's members, at the top and inside what gets something.
TEST(ProtobufMerge, WhatTheTypeTableLacksStays) {
  constexpr std::uint32_t kUnknown = 4'000;
  std::string meta, message;
  append_bytes_field(meta, 1, "c");
  append_bytes_field(meta, kUnknown, "inside");
  append_varint(meta, (std::uint64_t{kUnknown} << 3) | 5);  // four bytes
  meta.append("\x01\x02\x03\x04");
  append_bytes_field(message, 1, meta);
  append_varint_field(message, kUnknown, 7);
  append_fixed64_field(message, kUnknown, 8);
  const std::string body = enclosed_in_envelope({"resource.k8s.io/v1", "ResourceClaim", message});
  const std::string got = with_added(body, finalizer_added()).value();

  std::string wanted_meta = meta, wanted;
  append_bytes_field(wanted_meta, 14, "example.com/added");
  append_bytes_field(wanted, 1, wanted_meta);
  append_varint_field(wanted, kUnknown, 7);
  append_fixed64_field(wanted, kUnknown, 8);
  EXPECT_EQ(open_protobuf_envelope(got)->message, wanted);
}

TEST(ProtobufMerge, RefusesWhatCannotBeWritten) {
  const std::string body = enclosed_in_envelope({"resource.k8s.io/v1", "ResourceClaim", ""});
  EXPECT_FALSE(with_added(body, *parse_json(R"({"spec":{"nobodyKnows":1}})")).ok());
  EXPECT_FALSE(with_added("{}", finalizer_added()).ok());
  EXPECT_FALSE(with_added(enclosed_in_envelope({"v1", "Nobody", ""}), finalizer_added()).ok());
  const std::string broken = enclosed_in_envelope({"resource.k8s.io/v1", "ResourceClaim", "\x0a\x7f"});
  EXPECT_FALSE(with_added(broken, finalizer_added()).ok());
}

}  // namespace
}  // namespace berth::api
