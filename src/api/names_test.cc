#include "api/names.h"

#include <gtest/gtest.h>

namespace berth::api {
namespace {

// Every sentence, joined.
std::string text_of(const NameProblems& problems) {
  std::string text;
  for (const std::string& problem : problems) text += (text.empty() ? "" : "; ") + problem;
  return text;
}

TEST(Names, AcceptsGoodNames) {
  for (const char* good : {"a", "a-b", "0", "my-name-1"})
    EXPECT_EQ(text_of(dns_label_problems(good)), "") << good;
  for (const char* good : {"a", "a.b", "example.com", "0.1-2.x"})
    EXPECT_EQ(text_of(dns_subdomain_problems(good)), "") << good;
  for (const char* good : {"a", "A_b.c-1", "example.com/MyName", "0/0"})
    EXPECT_EQ(text_of(qualified_name_problems(good)), "") << good;
  for (const char* good : {"", "A", "my_value", "1.2"})
    EXPECT_EQ(text_of(label_value_problems(good)), "") << good;
  EXPECT_EQ(text_of(path_segment_problems("system:admin")), "");
}

TEST(Names, RefusesBadNames) {
  for (const char* bad : {"", "-a", "a-", "A", "a_b", "a.b"})
    EXPECT_NE(text_of(dns_label_problems(bad)), "") << bad;
  for (const char* bad : {"", ".", "a.", ".a", "a..b", "-.a", "a b"})
    EXPECT_NE(text_of(dns_subdomain_problems(bad)), "") << bad;
  for (const char* bad : {"", "/a", "a/", "a/b/c", "A.com/x", "-a", "a-"})
    EXPECT_NE(text_of(qualified_name_problems(bad)), "") << bad;
  for (const char* bad : {"-", "a b", "_a"}) EXPECT_NE(text_of(label_value_problems(bad)), "") << bad;
  EXPECT_EQ(text_of(path_segment_problems("a/b%")), "may not contain '/'; may not contain '%'");
  EXPECT_EQ(text_of(path_segment_problems("..")), "may not be '..'");
}

TEST(Names, SpeaksTheReferencesSentences) {
  // Observed from kube-apiserver 1.37.
  EXPECT_EQ(text_of(dns_subdomain_problems("Bad_Name")),
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', "
            "and must start and "
            "end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
            "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')");
  EXPECT_EQ(text_of(qualified_name_problems("")),
            "name part must be non-empty; name part must consist of alphanumeric characters, '-', '_' or "
            "'.', and must start and "
            "end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
            "validation is "
            "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')");
  EXPECT_EQ(text_of(label_value_problems("bad value!")),
            "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
            "and must start and end "
            "with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for "
            "validation is "
            "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')");
  EXPECT_EQ(text_of(dns_label_problems("a.b")), "must not contain dots");
  EXPECT_EQ(text_of(dns_label_problems(std::string(64, 'a'))), "must be no more than 63 bytes");
  EXPECT_TRUE(dns_1035_label_problems("a-1").empty());
  EXPECT_EQ(text_of(dns_1035_label_problems(std::string(64, 'a'))), "must be no more than 63 characters");
  for (const char* text : {"", "1a", "a-", "a.b"})
    EXPECT_TRUE(text_of(dns_1035_label_problems(text)).starts_with("a DNS-1035 label must consist of"))
        << text;
  EXPECT_EQ(text_of(qualified_name_problems("/a")), "prefix part must be non-empty");
}

TEST(Names, MasksTheDashOfGenerateName) {
  EXPECT_EQ(with_masked_trailing_dash("web-"), "wea");
  EXPECT_EQ(with_masked_trailing_dash("-"), "-");
  EXPECT_EQ(with_masked_trailing_dash("web"), "web");
}

}  // namespace
}  // namespace berth::api
