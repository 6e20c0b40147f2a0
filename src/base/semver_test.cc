#include "base/semver.h"

#include <gtest/gtest.h>

#include <array>

namespace berth {
namespace {

TEST(SemVer, PrecedenceIsTheSpecificationsChain) {
  const std::array<const char*, 14> kAscending = {
      "0.0.1",        "0.1.0",         "1.0.0-0",          "1.0.0-10",
      "1.0.0-alpha",  "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-beta",
      "1.0.0-beta.2", "1.0.0-beta.11", "1.0.0-rc.1",       "1.0.0",
      "2.0.0",        "10.0.0"};
  for (std::size_t i = 0; i < kAscending.size(); ++i)
    for (std::size_t j = 0; j < kAscending.size(); ++j)
      EXPECT_EQ(*parse_semver(kAscending[i]) <=> *parse_semver(kAscending[j]), i <=> j)
          << kAscending[i] << " and " << kAscending[j];
}

TEST(SemVer, BuildMetadataDoesNotCount) {
  EXPECT_EQ(*parse_semver("1.0.0+a"), *parse_semver("1.0.0+b.7"));
  EXPECT_EQ(parse_semver("1.10.0-rc.1+b7")->text(), "1.10.0-rc.1+b7");
}

TEST(SemVer, RefusesEverythingElse) {
  for (const char* text :
       {"", "1", "1.2", "v1.2.3", "1.2.3.4", "01.2.3", "1.02.3", "1.2.03", "1.2.3-", "1.2.3-01", "1.2.3-a..b",
        "1.2.3+", "1.2.3-a_b", " 1.2.3", "1.2.3 ", "1..3", "-1.2.3", "18446744073709551616.0.0"})
    EXPECT_FALSE(parse_semver(text).ok()) << text;
}

TEST(SemVer, TextsAreTheLibrarys) {
  EXPECT_EQ(parse_semver("v1.0.0").error().message(), "Invalid character(s) found in major number \"v1\"");
  EXPECT_EQ(parse_semver("1.2").error().message(), "No Major.Minor.Patch elements found");
  EXPECT_EQ(parse_semver("1.10.0+b7&&").error().message(),
            "Invalid character(s) found in build meta data \"b7&&\"");
}

TEST(SemVer, NormalizingFillsAndStrips) {
  EXPECT_EQ(normalized_semver_text("v1"), "1.0.0");
  EXPECT_EQ(normalized_semver_text("1.02.3-rc.1"), "1.2.3-rc.1");
  EXPECT_EQ(normalized_semver_text("01.2+b"), "1.2.0+b");
}

}  // namespace
}  // namespace berth
