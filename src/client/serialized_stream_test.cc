// Lists and watches in both forms, cut at every byte.
#include "client/serialized_stream.h"

#include <gtest/gtest.h>

#include "api/serialized.h"
#include "client/testing/protobuf_answers.h"

namespace berth::client {
namespace {

constexpr std::string_view kPod =
    R"({"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","namespace":"n","resourceVersion":"7"}})";
constexpr std::string_view kStatus =
    R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"too old","code":410})";

std::string line(std::string_view type, std::string_view object) {
  return R"({"type":")" + std::string(type) + R"(","object":)" + std::string(object) + "}\n";
}

std::string events_in(ContentType form) {
  const auto event = form == ContentType::Json ? line : protobuf_frame;
  return event("ADDED", kPod) + event("BOOKMARK", kPod) + event("ERROR", kStatus);
}

// What a reader gives when the bytes come in pieces of this size: type, version and the Status' code.
std::vector<std::string> read(ContentType form, std::size_t piece) {
  WatchEventReader reader(form);
  std::vector<std::string> seen;
  const std::string bytes = events_in(form);
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    reader.add(std::string_view(bytes).substr(at, piece));
    for (;;) {
      const Result<std::optional<WatchEvent>> event = reader.next();
      EXPECT_TRUE(event.ok());
      if (!event || !*event) break;
      const Json object = api::parse_object(*(*event)->object).value_or(Json());
      seen.push_back((*event)->type + " " + (*event)->resource_version + " " +
                     std::to_string(object.int_at("code")));
    }
  }
  return seen;
}

TEST(WatchEvents, AreTheSameInBothFormsHoweverTheyAreCut) {
  const std::vector<std::string> expected = {"ADDED 7 0", "BOOKMARK 7 0", "ERROR  410"};
  for (const ContentType form : {ContentType::Json, ContentType::Protobuf})
    for (const std::size_t piece : {1, 2, 3, 5, 64, 100, 10000})
      EXPECT_EQ(read(form, piece), expected) << piece;
}

TEST(WatchEvents, OneThatIsTooLongEndsTheStream) {
  WatchEventReader frames(ContentType::Protobuf);
  frames.add(std::string_view("\x7f\xff\xff\xff", 4));
  EXPECT_FALSE(frames.next().ok()) << "said by the length already";
  WatchEventReader lines(ContentType::Json);
  const std::string megabyte(1u << 20, 'x');
  std::size_t given = 0;
  while (given <= kWatchEventBytesMax) {
    EXPECT_TRUE(lines.next().ok()) << given;
    lines.add(megabyte);
    given += megabyte.size();
  }
  EXPECT_FALSE(lines.next().ok());
}

TEST(WatchEvents, ThatCannotBeReadAreErrors) {
  WatchEventReader lines(ContentType::Json);
  lines.add("{\"type\":\"ADDED\"}\n");
  EXPECT_FALSE(lines.next().ok());
  for (const std::string_view bytes :
       {std::string_view("\0\0\0\1\xff", 5), std::string_view("\0\0\0\2\x0a\0", 6)}) {
    WatchEventReader frames(ContentType::Protobuf);
    frames.add(bytes);
    EXPECT_FALSE(frames.next().ok());
  }
}

TEST(ListPages, AreTheSameInBothForms) {
  const std::string json =
      R"({"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"9","continue":"c"},"items":[)"
      R"({"metadata":{"name":"a","namespace":"n","resourceVersion":"7"}}]})";
  const Result<ListPage> page = read_list(json);
  ASSERT_TRUE(page.ok());
  EXPECT_EQ(page->resource_version, "9");
  EXPECT_EQ(page->next, "c");
  ASSERT_EQ(page->objects.size(), 1u);
  EXPECT_EQ(*page->objects[0], kPod) << "with its kind";
  const Result<ListPage> same = read_list(protobuf_body(json));
  ASSERT_TRUE(same.ok());
  EXPECT_EQ(same->resource_version + same->next, "9c");
  ASSERT_EQ(same->objects.size(), 1u);
  EXPECT_EQ(api::parse_object(*same->objects[0])->part("metadata"), parse_json(kPod)->part("metadata"));
  EXPECT_FALSE(read_list(kPod).ok());
  EXPECT_FALSE(read_list(protobuf_body(kPod)).ok());
  EXPECT_FALSE(read_list("half a li").ok());
}

TEST(ContentTypes, WhatIsNotProtobufIsJson) {
  EXPECT_EQ(content_type_of("application/vnd.kubernetes.protobuf;stream=watch"), ContentType::Protobuf);
  EXPECT_EQ(content_type_of("application/json"), ContentType::Json);
  EXPECT_EQ(content_type_of(""), ContentType::Json);
}

}  // namespace
}  // namespace berth::client
