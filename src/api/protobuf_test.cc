#include "api/protobuf.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

#include "api/canonical.h"
#include "api/decode.h"
#include "base/base64.h"
#include "base/testing/source_dir.h"

namespace berth::api {
namespace {

struct Sample {
  std::string api_version;
  std::string kind;
  std::string body;
  std::string json;
};

// Written by tools/typegen with the Go types: every kind twice, full and sparse.
std::vector<Sample> samples() {
  std::ifstream file(source_path("src/api/testdata/samples.txt"));
  std::vector<Sample> found;
  std::string line;
  while (std::getline(file, line)) {
    std::istringstream words(line);
    Sample sample;
    words >> sample.api_version >> sample.kind >> sample.body >> std::ws;
    std::getline(words, sample.json);
    sample.body = *base64_decode(sample.body);
    found.push_back(std::move(sample));
  }
  return found;
}

TEST(Protobuf, AgreesWithGoOnEveryKind) {
  const std::vector<Sample> all = samples();
  ASSERT_GT(all.size(), 150u);
  for (const Sample& sample : all) {
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

TEST(Decode, AgreesWithGoOnEveryKind) {
  for (const Sample& sample : samples()) {
    SCOPED_TRACE(sample.api_version + " " + sample.kind);
    const Result<Decoded> decoded = decode_json(*find_kind(sample.api_version, sample.kind), sample.json);
    ASSERT_TRUE(decoded.ok()) << decoded.error().text();
    EXPECT_EQ(to_string(decoded->document), sample.json);
    EXPECT_TRUE(decoded->strict_errors.empty()) << strict_error_text(decoded->strict_errors);
  }
}

TEST(Protobuf, SamplesCoverEveryKindThatHasAResource) {
  std::set<std::pair<std::string, std::string>> sampled;
  for (const Sample& sample : samples()) sampled.insert({sample.api_version, sample.kind});
  for (const ResourceInfo& row : resources()) {
    if (row.group == "scheduling.berth.dev") continue;  // JSON only, like custom resources
    const std::string api_version =
        (row.group.empty() ? "" : std::string(row.group) + "/") + std::string(row.version);
    EXPECT_TRUE(sampled.contains({api_version, std::string(row.kind)})) << api_version << " " << row.kind;
  }
}

TEST(Protobuf, RefusesTruncatedMessages) {
  for (const Sample& sample : samples()) {
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

}  // namespace
}  // namespace berth::api
