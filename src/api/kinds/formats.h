// Formats of fields beyond names.h, and field errors made from formats.
//
// Each function returns the problems, in Kubernetes' order; empty for a valid text. Pure. Source:
// apimachinery util/validation and the formats of declarative validation (1.37).
#pragma once

#include <string>
#include <string_view>

#include "api/field_error.h"
#include "api/names.h"

namespace berth::api {

using Format = NameProblems (*)(std::string_view text);

// Accepts upper case (driver names in fields with declarative rules).
NameProblems caseless_subdomain(std::string_view text);
NameProblems c_identifier(std::string_view text);
NameProblems lower_case_uuid(std::string_view text);
// Subdomains joined by "/"; each complaint names its segment.
NameProblems pool_segments(std::string_view text);
// "vendor.com/name" outside of kubernetes.io.
NameProblems extended_resource(std::string_view text);

// One Invalid entry for each problem.
FieldErrors check_format(const std::string& path, std::string_view text, Format format);
// Required when empty, else its format.
FieldErrors check_required(const std::string& path, std::string_view text, Format format);

// The name of a CSI driver: a subdomain in any case, of at most kCsiDriverBytesMax. Required when empty.
inline constexpr std::size_t kCsiDriverBytesMax = 63;
FieldErrors check_csi_driver(const std::string& path, std::string_view name);

// Labels of an ObjectMeta: keys are label keys, values label values. `labels` may be null.
FieldErrors check_labels(const std::string& path, const Json* labels);
// Annotations: keys in any case, 256 KiB together.
FieldErrors check_annotations(const std::string& path, const Json* annotations);

}  // namespace berth::api
