// Names, label keys and label values: what Kubernetes accepts, and its sentences for what it does not.
//
// Each function returns the sentences, none when the text is good; they stand behind "Invalid value: …: " in
// a 422. Pure, any thread. Cost: one pass. Source: k8s.io/apimachinery validate/content, util/validation
// (1.37).
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
// RFC 1123: "example.com"; the names of most objects.
NameProblems dns_subdomain_problems(std::string_view text);
// "MyName" or "example.com/MyName": keys of labels, taints and annotations; condition types.
NameProblems qualified_name_problems(std::string_view text);
NameProblems label_value_problems(std::string_view text);
// What may stand as one segment of a URL's path: names of RBAC objects.
NameProblems path_segment_problems(std::string_view text);

// A generateName ends where the random part begins: with a letter in place of a trailing dash.
std::string with_masked_trailing_dash(std::string_view generate_name);
// "must be no more than 63 bytes"
std::string too_long_problem(std::size_t bytes_max);

}  // namespace berth::api
