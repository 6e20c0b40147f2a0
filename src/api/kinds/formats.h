// Names and values as Kubernetes checks them, with the sentences that it answers.
//
// Each function returns what is wrong, in Kubernetes' order; empty means fine. Pure. Source: apimachinery
// util/validation and the formats of declarative validation (1.37).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/field_error.h"

namespace berth::api {

using Complaints = std::vector<std::string>;
using Format = Complaints (*)(std::string_view text);

inline constexpr std::size_t kLabelBytesMax = 63;
inline constexpr std::size_t kSubdomainBytesMax = 253;

Complaints dns_label(std::string_view text);
Complaints dns_subdomain(std::string_view text);
// Upper case is fine (driver names in fields with declarative rules).
Complaints caseless_subdomain(std::string_view text);
// "name" or "example.com/name": label keys, taint keys, condition types.
Complaints label_key(std::string_view text);
Complaints label_value(std::string_view text);
Complaints c_identifier(std::string_view text);
// What can be one segment of a URL path.
Complaints path_segment(std::string_view text);
Complaints lower_case_uuid(std::string_view text);
// Subdomains joined by "/"; each complaint names its segment.
Complaints pool_segments(std::string_view text);
// "vendor.com/name" outside of kubernetes.io.
Complaints extended_resource(std::string_view text);

// One Invalid entry for each complaint.
FieldErrors check_format(const std::string& path, std::string_view text, Format format);
// Required when empty, else its format.
FieldErrors check_required(const std::string& path, std::string_view text, Format format);

// Labels as ObjectMeta has them: keys are label keys, values label values. `labels` may be null.
FieldErrors check_labels(const std::string& path, const Json* labels);
// Annotations: keys in any case, 256 KiB together.
FieldErrors check_annotations(const std::string& path, const Json* annotations);

}  // namespace berth::api
