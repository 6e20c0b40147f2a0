// Names, label keys and label values: Kubernetes' rules, and its sentences for violations.
//
// Each function returns the sentences, none for a valid text; they follow "Invalid value: …: " in a 422.
// Pure, any thread. Cost: one pass. Source: k8s.io/apimachinery validate/content, util/validation (1.37).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace berth::api {

using NameProblems = std::vector<std::string>;

inline constexpr std::size_t kDnsLabelBytesMax = 63;
inline constexpr std::size_t kDnsSubdomainBytesMax = 253;
inline constexpr std::size_t kLabelKeyNameBytesMax = 63;
inline constexpr std::size_t kLabelValueBytesMax = 63;

// RFC 1123: "my-name".
NameProblems dns_label_problems(std::string_view text);
// RFC 1035: like it, and begins with a letter: names of resources and of their versions.
NameProblems dns_1035_label_problems(std::string_view text);
// RFC 1123: "example.com"; the names of most objects.
NameProblems dns_subdomain_problems(std::string_view text);
// "MyName" or "example.com/MyName": keys of labels, taints and annotations; condition types.
NameProblems qualified_name_problems(std::string_view text);
NameProblems label_value_problems(std::string_view text);
// A valid single segment of a URL's path: names of RBAC objects.
NameProblems path_segment_problems(std::string_view text);

// For validation a trailing dash of a generateName is replaced by a letter: the random part follows it.
std::string with_masked_trailing_dash(std::string_view generate_name);
// "must be no more than 63 bytes"
std::string too_long_problem(std::size_t bytes_max);

}  // namespace berth::api
