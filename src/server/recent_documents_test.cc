#include "server/recent_documents.h"

#include <gtest/gtest.h>

namespace berth::server {
namespace {

store::Object version(store::Revision revision, std::string bytes) {
  store::Object object;
  object.revision = revision;
  object.bytes = std::move(bytes);
  return object;
}

constexpr std::size_t kBytesMax = 1 << 20;

TEST(RecentDocuments, AVersionIsParsedOnce) {
  RecentDocuments recent(kBytesMax);
  const store::Object object = version(1, R"({"a":{"b":1}})");
  const Json first = *recent.document_of(object), second = *recent.document_of(object);
  EXPECT_EQ(to_string(first), object.bytes);
  EXPECT_TRUE(first.shares_with(second));
  EXPECT_EQ(recent.bytes(), object.bytes.size());
  EXPECT_FALSE(recent.document_of(version(2, "{")).ok());
}

TEST(RecentDocuments, WhatWasWrittenIsNotParsed) {
  RecentDocuments recent(kBytesMax);
  const store::Object object = version(1, R"({"a":{"b":1}})");
  const Json document = *parse_json(object.bytes);
  recent.wrote(object, document);
  EXPECT_TRUE(recent.document_of(object)->shares_with(document));
  recent.forget(1);
  EXPECT_EQ(recent.bytes(), 0u);
  EXPECT_FALSE(recent.document_of(object)->shares_with(document));
}

// 1.0 is written as "1", which parses to an integer.
TEST(RecentDocuments, WhatReadsBackOtherwiseIsParsed) {
  RecentDocuments recent(kBytesMax);
  const Json document = Json::object({{"a", Json::array({Json(1.0)})}});
  const store::Object object = version(1, to_string(document));
  recent.wrote(object, document);
  EXPECT_TRUE(recent.document_of(object)->items_at("a")[0].is_int());
}

TEST(RecentDocuments, TheOldestGoFirstAndTheBoundHolds) {
  const std::string bytes = R"({"a":1})";
  RecentDocuments recent(10 * bytes.size());
  for (store::Revision revision = 1; revision <= 100; ++revision) {
    recent.wrote(version(revision, bytes), *parse_json(bytes));
    if (revision % 3 == 0) recent.forget(revision - 1);
    EXPECT_LE(recent.bytes(), 10 * bytes.size());
  }
  recent.wrote(version(200, std::string(100, ' ') + bytes), *parse_json(bytes));
  EXPECT_LE(recent.bytes(), 10 * bytes.size());
}

TEST(RecentDocuments, WithoutRoomNothingIsKept) {
  RecentDocuments recent(0);
  const store::Object object = version(1, R"({"a":1})");
  recent.wrote(object, *parse_json(object.bytes));
  EXPECT_EQ(to_string(*recent.document_of(object)), object.bytes);
  EXPECT_EQ(recent.bytes(), 0u);
}

}  // namespace
}  // namespace berth::server
