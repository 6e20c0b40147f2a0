// The form of single values and whole members in Berth's canonical documents: as the API server prints them.
//
// Both codecs (decode.h, protobuf.h) end here. Pure functions. Error texts are those of the reference's
// decoders. Source: encoding of k8s.io/apimachinery types; observed responses of kube-apiserver 1.37.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "api/type_table.h"
#include "base/json.h"
#include "base/result.h"
#include "base/time.h"

namespace berth::api {

// "0.5" becomes "500m".
Result<std::string> canonical_quantity(std::string_view text);
// RFC 3339 in UTC with whole seconds.
Result<std::string> canonical_time(std::string_view text);
// RFC 3339 in UTC with six decimals; the input must have exactly six as well.
Result<std::string> canonical_micro_time(std::string_view text);
// Go's text: "1h0m0s".
Result<std::string> canonical_duration(std::string_view text);
std::string duration_text(Duration duration);
// Base64 with padding, without line breaks.
Result<std::string> canonical_base64(std::string_view text);

// The values of a message's members by field position; null means absent.
using Members = std::vector<Json>;

// The canonical document: members in the API's order, zero values written or omitted as in the API. `members`
// has one entry for each field of `type`.
Json assemble(const TypeInfo& type, Members members);
// The value of an absent field that is no pointer.
Json zero_of(const FieldInfo& field);
// True when every member of the canonical document is a zero value.
bool is_zero(const TypeInfo& type, const Json& document);

}  // namespace berth::api
