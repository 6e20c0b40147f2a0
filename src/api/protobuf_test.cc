#include "api/protobuf.h"

#include <gtest/gtest.h>

#include <set>

#include "api/canonical.h"
#include "api/decode.h"
#include "api/protobuf_encode.h"
#include "api/protobuf_objects.h"
#include "api/protobuf_wire.h"
#include "api/serialized.h"
#include "api/testing/protobuf_samples.h"

namespace berth::api {
namespace {

TEST(Protobuf, AgreesWithGoOnEveryKind) {
  const std::vector<ProtobufSample> all = protobuf_samples();
  for (const ProtobufSample& sample : all) {
    SCOPED_TRACE(sample.api_version + " " + sample.kind);
    const TypeInfo* type = find_kind(sample.api_version, sample.kind);
    ASSERT_NE(type, nullptr);
    const Result<Json> document = decode_protobuf_body(*type, sample.body);
    ASSERT_TRUE(document.ok()) << document.error().text();
    EXPECT_EQ(to_string(*document), sample.json);
    const auto envelope = open_protobuf_envelope(sample.body);
    ASSERT_TRUE(envelope.ok());
    EXPECT_EQ(envelope->kind, sample.kind);
  }
}

TEST(Protobuf, WhatIsWrittenReadsAsBefore) {
  std::size_t written = 0;
  for (const ProtobufSample& sample : protobuf_samples()) {
    SCOPED_TRACE(sample.api_version + " " + sample.kind);
    const Result<std::string> body = encode_protobuf_body(sample.json, Unnumbered::Refuse);
    ASSERT_TRUE(body.ok()) << body.error().text();
    EXPECT_EQ(to_string(*parse_object(*body)), sample.json);
    ++written;
  }
  EXPECT_GT(written, 150u);
}

TEST(Protobuf, WhatCannotBeWrittenIsNamed) {
  const std::pair<std::string_view, std::string_view> refused[] = {
      {R"({"kind":"BindRequest","apiVersion":"scheduling.berth.dev/v9"})", "kind"},
      {R"({"kind":"Pod","apiVersion":"v1","spec":{"hostNetwork":1}})", "hostNetwork"},
      {R"({"kind":"Pod","apiVersion":"v1","spec":{"priority":"1"}})", "priority"},
      {R"({"kind":"Pod","apiVersion":"v1","spec":{"nodeName":2}})", "nodeName"},
      {R"({"kind":"Pod","apiVersion":"v1","spec":{"containers":{}}})", "containers"},
      {R"({"kind":"Pod","apiVersion":"v1","metadata":{"labels":["a"]}})", "labels"},
      {R"({"kind":"Pod","apiVersion":"v1","spec":{"newField":true}})", "newField"},
  };
  for (const auto& [json, path] : refused) {
    const Result<std::string> body = encode_protobuf_body(json, Unnumbered::Refuse);
    ASSERT_FALSE(body.ok()) << json;
    EXPECT_EQ(body.error().path(), path);
  }
}

TEST(Protobuf, ManagedFieldsCanBeSkipped) {
  for (const ProtobufSample& sample : protobuf_samples()) {
    if (sample.kind != "Node" && sample.kind != "ResourceClaim") continue;
    Json expected = *parse_json(sample.json);
    ASSERT_TRUE(expected.part("metadata").find("managedFields"));
    expected["metadata"].as_object().erase("managedFields");
    EXPECT_EQ(*parse_object(sample.body, ManagedFields::Skip), expected) << sample.kind;
  }
}

// A list as Go writes it, of two of the samples' objects.
std::string list_body(const ProtobufSample& first, const ProtobufSample& second) {
  std::string meta, list;
  append_bytes_field(meta, 2, "17");
  append_bytes_field(meta, 3, "more");
  append_bytes_field(list, 1, meta);
  append_bytes_field(list, 2, open_protobuf_envelope(first.body)->message);
  append_bytes_field(list, 2, open_protobuf_envelope(second.body)->message);
  return enclosed_in_envelope({first.api_version, first.kind + "List", list});
}

TEST(Protobuf, ItemsOfAListAreObjectsOfTheirOwn) {
  std::vector<ProtobufSample> pods;
  for (ProtobufSample& sample : protobuf_samples())
    if (sample.api_version == "v1" && sample.kind == "Pod") pods.push_back(std::move(sample));
  ASSERT_EQ(pods.size(), 2u);
  const std::string body = list_body(pods[0], pods[1]);
  const Result<ProtobufList> list = open_protobuf_list(body);
  ASSERT_TRUE(list.ok()) << list.error().text();
  EXPECT_EQ(list->resource_version, "17");
  EXPECT_EQ(list->next, "more");
  ASSERT_EQ(list->items.size(), 2u);
  EXPECT_EQ(*list->items[0], pods[0].body) << "the bytes of the object alone";
  EXPECT_EQ(*list->items[1], pods[1].body);
  EXPECT_EQ(protobuf_resource_version(*list->items[0]).value(),
            parse_json(pods[0].json)->part("metadata").string_at("resourceVersion"));
  EXPECT_FALSE(open_protobuf_list(pods[0].body).ok()) << "no list";
  const std::size_t behind_the_items = 4;  // two empty fields
  for (std::size_t size = 0; size + behind_the_items < body.size(); ++size) {
    const Result<ProtobufList> cut = open_protobuf_list(std::string_view(body).substr(0, size));
    EXPECT_TRUE(!cut.ok() || cut->items.empty()) << size;
  }
}

TEST(Decode, AgreesWithGoOnEveryKind) {
  for (const ProtobufSample& sample : protobuf_samples()) {
    SCOPED_TRACE(sample.api_version + " " + sample.kind);
    const Result<Decoded> decoded = decode_json(*find_kind(sample.api_version, sample.kind), sample.json);
    ASSERT_TRUE(decoded.ok()) << decoded.error().text();
    EXPECT_EQ(to_string(decoded->document), sample.json);
    EXPECT_TRUE(decoded->strict_errors.empty()) << strict_error_text(decoded->strict_errors);
  }
}

TEST(Protobuf, SamplesCoverEveryKindThatHasAResource) {
  std::set<std::pair<std::string, std::string>> sampled;
  for (const ProtobufSample& sample : protobuf_samples()) sampled.insert({sample.api_version, sample.kind});
  for (const ResourceInfo& row : resources()) {
    if (row.group == "scheduling.berth.dev") continue;  // JSON only, like custom resources
    if (row.version == "v1alpha2" && row.group == "scheduling.k8s.io") continue;  // 1.37's Go lacks its types
    const std::string api_version =
        (row.group.empty() ? "" : std::string(row.group) + "/") + std::string(row.version);
    EXPECT_TRUE(sampled.contains({api_version, std::string(row.kind)})) << api_version << " " << row.kind;
  }
}

TEST(Protobuf, RefusesTruncatedMessages) {
  for (const ProtobufSample& sample : protobuf_samples()) {
    const TypeInfo& type = *find_kind(sample.api_version, sample.kind);
    const std::string_view message = open_protobuf_envelope(sample.body)->message;
    EXPECT_FALSE(decode_protobuf(type, message.substr(0, message.size() - 1)).ok()) << sample.kind;
    for (std::size_t size = 0; size < message.size(); size += 1 + message.size() / 8)
      (void)decode_protobuf(type, message.substr(0, size));  // must only return
  }
}

TEST(Protobuf, RefusesOtherBodies) {
  const auto refused = open_protobuf_envelope(R"({"apiVersion":"v1"})");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().message(),
            "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]");
  const TypeInfo& config_map = *find_kind("v1", "ConfigMap");
  EXPECT_FALSE(decode_protobuf(config_map, "\x0a\x05").ok()) << "shorter than it says";
  EXPECT_FALSE(decode_protobuf(config_map, "\x08\x01").ok()) << "a number for a message";
  EXPECT_FALSE(decode_protobuf(config_map, "\x0b").ok()) << "a group";
  EXPECT_FALSE(decode_protobuf(config_map, std::string_view("\x0a\x03\x0a\x01\xff", 5)).ok()) << "not UTF-8";
  EXPECT_EQ(to_string(*decode_protobuf(config_map, "\xf8\x07\x01")), R"({"metadata":{}})")
      << "an unknown number";
}

TEST(Protobuf, BoundsDepth) {
  std::string nested;
  for (std::size_t i = 0; i < kProtobufDepthMax * 2; ++i) {
    std::string outer = "\xe2\x01";  // JSONSchemaProps.not
    for (std::size_t size = nested.size();; size >>= 7) {
      outer += static_cast<char>((size & 0x7f) | (size > 0x7f ? 0x80 : 0));
      if (size <= 0x7f) break;
    }
    nested = outer + nested;
  }
  const TypeInfo& schema = *find_type("apiextensions.k8s.io", "v1", "JSONSchemaProps");
  ASSERT_EQ(schema.field_by_json("not")->proto, 28) << "the number written above";
  EXPECT_FALSE(decode_protobuf(schema, nested).ok());
}

// A definition whose schema is "not" of "not" of … nothing.
Json nested_definition(std::size_t depth) {
  Json schema = Json::object();
  for (std::size_t i = 0; i < depth; ++i) schema = Json::object({{"not", std::move(schema)}});
  Json version =
      Json::object({{"name", "v1"}, {"schema", Json::object({{"openAPIV3Schema", std::move(schema)}})}});
  return Json::object({{"kind", "CustomResourceDefinition"},
                       {"apiVersion", "apiextensions.k8s.io/v1"},
                       {"spec", Json::object({{"versions", Json::array({std::move(version)})}})}});
}

TEST(Protobuf, BoundsTheDepthOfWhatIsWritten) {
  EXPECT_TRUE(encode_protobuf_body(to_string(nested_definition(3)), Unnumbered::Refuse).ok());
  const Result<std::string> deep =
      encode_protobuf_body(to_string(nested_definition(kProtobufDepthMax)), Unnumbered::Refuse);
  ASSERT_FALSE(deep.ok());
  EXPECT_EQ(deep.error().code(), ErrorCode::TooLarge);
}

}  // namespace
}  // namespace berth::api
