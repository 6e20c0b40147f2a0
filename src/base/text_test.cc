// Base64, hexadecimal digits, UTF-8, text files, nearest names and LruMap.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/base64.h"
#include "base/hex.h"
#include "base/lru_map.h"
#include "base/nearest_names.h"
#include "base/printable.h"
#include "base/text_file.h"
#include "base/utf8.h"

namespace berth {
namespace {

TEST(NearestNames, AreTheMostSimilarBestFirst) {
  EXPECT_EQ(edit_distance("", "gpu"), 3U);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);
  using Names = std::vector<std::string>;
  EXPECT_EQ(nearest_names("gpu-lagre", {"gpu-small", "nic", "gpu-large"}), Names{"gpu-large"});
  EXPECT_EQ(nearest_names("gpu", {"tpu", "gpus", "cpu", "gru"}), (Names{"cpu", "gpus", "gru"}));
  EXPECT_EQ(nearest_names("gpu", {"accelerator"}), Names{});
  EXPECT_EQ(nearest_names(std::string(kNearestBytesMax + 1, 'g'), {"g"}), Names{});
  EXPECT_EQ(names_hint("gpu-lagre", {"gpu-large", "gpu-small"}, 2), "nearest: gpu-large");
  EXPECT_EQ(names_hint("gpu", {"large", "medium", "small"}, 5), "existing: large, medium, small and 2 more");
  EXPECT_EQ(names_hint("gpu", {}, 0), "");
}

TEST(Base64, EncodesAndDecodes) {
  const std::pair<std::string, std::string> pairs[] = {
      {"", ""},        {"f", "Zg=="},        {"fo", "Zm8="},
      {"foo", "Zm9v"}, {"foob", "Zm9vYg=="}, {"\xff\xfe\xfd", "//79"},
  };
  for (const auto& [bytes, text] : pairs) {
    EXPECT_EQ(base64_encode(bytes), text);
    EXPECT_EQ(base64_decode(text).value(), bytes);
  }
  EXPECT_EQ(base64_decode("Zm9\n v").value(), "foo");
  for (const std::string_view text : {"Z", "Zg", "Zg=", "Z===", "====", "Zg==Zg==", "Zm9*", "Zg=a"})
    EXPECT_FALSE(base64_decode(text).ok()) << text;
}

TEST(Base64, OfUrlsHasNoPaddingAndOtherCharacters) {
  for (const auto& [bytes, text] : {std::pair<std::string, std::string>{"", ""},
                                    {"f", "Zg"},
                                    {"foo", "Zm9v"},
                                    {"\xfb\xff\xfe", "-__-"}}) {
    EXPECT_EQ(base64url_encode(bytes), text);
    EXPECT_EQ(base64url_decode(text).value(), bytes);
  }
  for (const std::string_view text : {"Z", "Zg==", "Zm9 ", "+//+", "Zm9*"})
    EXPECT_FALSE(base64url_decode(text).ok()) << text;
}

TEST(Utf8, WhatIsNotIt) {
  for (const std::string_view text : {"", "a", "\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x9a\xa2"})
    EXPECT_TRUE(is_utf8(text)) << text;
  // A lone continuation, a cut character, an overlong form, a surrogate, beyond U+10FFFF.
  for (const std::string_view text : {"\x80", "a\xc3", "\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80"})
    EXPECT_FALSE(is_utf8(text)) << base64_encode(text);
}

TEST(Utf8, ACutLeavesWholeCharacters) {
  const std::string_view text = "a\xc3\xa4\xf0\x9f\x9a\xa2";
  const std::size_t expected[] = {0, 1, 1, 3, 3, 3, 3, 7, 7};
  for (std::size_t bytes_max = 0; bytes_max < std::size(expected); ++bytes_max)
    EXPECT_EQ(cut_offset(text, bytes_max), expected[bytes_max]) << bytes_max;
}

TEST(Printable, WritesOutWhatSteersATerminal) {
  const std::pair<std::string, std::string> pairs[] = {
      {"", ""},
      {"plain \xc3\xa4\xf0\x9f\x9a\xa2", "plain \xc3\xa4\xf0\x9f\x9a\xa2"},
      {"\x1b[31mred\x1b]0;t\x07", "\\x1b[31mred\\x1b]0;t\\x07"},
      {"a\rb\x7f", "a\\x0db\\x7f"},
      {"\xc2\x9b"
       "2J",
       "\\x9b2J"},
      {"\xe2\x80\xae"
       "fdp",
       "\\u202efdp"},
      {"\x80", "\xef\xbf\xbd"},
      {std::string("a\0b", 3), "a\\x00b"},
  };
  for (const auto& [text, shown] : pairs) EXPECT_EQ(printable(text), shown);
  EXPECT_EQ(printable("a\n\tb"), "a\n\tb");
  EXPECT_EQ(printable_line("a\n\tb"), "a  b");
  EXPECT_EQ(to_string(printable_lines(parse_json(R"({"a":["x\ny",1,{"b":"\u009b"}]})").value())),
            R"({"a":["x y",1,{"b":"\\x9b"}]})");
}

TEST(Hex, DigitsAreReadInBothCasesAndWrittenInOne) {
  EXPECT_EQ(hex_value('0'), 0);
  EXPECT_EQ(hex_value('a'), 10);
  EXPECT_EQ(hex_value('F'), 15);
  for (const char c : {'g', 'G', '/', ':', '@', '`'}) EXPECT_EQ(hex_value(c), -1) << c;
  EXPECT_EQ(hex_of(0), "0000000000000000");
  EXPECT_EQ(hex_of(0xfedcba9876543210u), "fedcba9876543210");
  EXPECT_EQ(percent_encoded("aZ0-._~/:@ %\xff", kPlainInSegment), "aZ0-._~%2F%3A%40%20%25%FF");
  EXPECT_EQ(percent_encoded("/a b:c", kPlainInPath), "/a%20b:c");
}

TEST(LruMap, ForgetsWhatWasUsedLeastRecently) {
  LruMap<int> map(2);
  map.at("a") = 1;
  map.at("b") = 2;
  EXPECT_EQ(map.at("a"), 1);  // used again
  EXPECT_EQ(*map.find("b"), 2) << "a look is no use";
  EXPECT_EQ(map.at("c", [] { return 3; }), 3);
  EXPECT_EQ(map.size(), 2u);
  EXPECT_EQ(map.find("b"), nullptr);
  EXPECT_EQ(*map.find("a"), 1);
  EXPECT_EQ(map.at("c", [] { return 4; }), 3) << "made once";
  const LruMap<int> moved = std::move(map);
  EXPECT_EQ(moved.size(), 2u);
}

TEST(TextFile, IsReadUpToItsBoundAndNoFurther) {
  const std::string path = testing::TempDir() + "/text-file";
  std::ofstream(path) << "12345";
  EXPECT_EQ(read_text_file(path, 5).value(), "12345");
  const Result<std::string> large = read_text_file(path, 4);
  ASSERT_FALSE(large.ok());
  EXPECT_EQ(large.error().code(), ErrorCode::TooLarge);
  EXPECT_EQ(large.error().text(), path + ": is larger than 4 bytes");
  EXPECT_EQ(read_text_file(path + "-absent", 5).error().code(), ErrorCode::NotFound);
  EXPECT_EQ(read_text_file(testing::TempDir(), 5).error().code(), ErrorCode::Unavailable) << "a folder";
}

TEST(TextFile, IsReplacedAsAWholeAndADraftThatWasLeftIsInNobodysWay) {
  const std::string path = testing::TempDir() + "/replaced-file";
  std::ofstream(path + ".new") << "a draft of a process that was killed before its rename, and longer";
  ASSERT_TRUE(replace_text_file(path, "one").ok());
  EXPECT_EQ(read_text_file(path, 100).value(), "one");
  ASSERT_TRUE(replace_text_file(path, "").ok());
  EXPECT_EQ(read_text_file(path, 100).value(), "");
  EXPECT_EQ(read_text_file(path + ".new", 100).error().code(), ErrorCode::NotFound);
  EXPECT_EQ(replace_text_file(path + "/in-a-file", "x").error().code(), ErrorCode::Unavailable);
  EXPECT_EQ(read_text_file(path, 100).value(), "");
}

// A full disk has no room for another copy; a draft in the way stands for it.
TEST(TextFile, ThatHasTheTextAlreadyIsNotWritten) {
  const std::string path = testing::TempDir() + "/unchanged-file";
  std::filesystem::remove_all(path + ".new");
  ASSERT_TRUE(replace_text_file(path, "6443\n").ok());
  std::filesystem::create_directory(path + ".new");
  EXPECT_TRUE(replace_text_file(path, "6443\n").ok());
  EXPECT_EQ(replace_text_file(path, "6444\n").error().code(), ErrorCode::Unavailable);
  std::filesystem::remove_all(path + ".new");
  std::filesystem::permissions(path, std::filesystem::perms::all);
  EXPECT_TRUE(replace_text_file(path, "6443\n").ok());
  EXPECT_EQ(std::filesystem::status(path).permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write)
      << "it is its owner's again";
}

}  // namespace
}  // namespace berth
