// Decodes JSON documents by the type table, like the API server decodes a request body.
//
// The result is canonical: members in the API's order, quantities and times normalised, nulls and unknown
// members removed, zero values written or omitted as in the API. Pure, any thread. Cost: one pass over the
// document. Source: k8s.io/apimachinery's strict JSON decoding; the texts are observed from kube-apiserver
// 1.37.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/type_table.h"
#include "base/json.h"
#include "base/result.h"

namespace berth::api {

// The reference collects as many strict errors.
inline constexpr std::size_t kStrictErrorsMax = 100;

inline constexpr std::size_t kEmptyListsMax = 100;

struct Decoded {
  Json document;
  // `unknown field "spec.junk"`, `duplicate field "spec.size"`, in the order of the input.
  std::vector<std::string> strict_errors;
  // Paths of lists that were given without items and are absent from the canonical document ("spec.devices"):
  // a few rules distinguish this from absence. The first kEmptyListsMax.
  std::vector<std::string> empty_lists;
};

// Error: a value of a wrong type, in the words of the reference's decoder (`json: cannot unmarshal number
// into Go struct field ConfigMap.data of type string`); its path names the field. Names match exactly. Of
// repeated members the last one wins.
//
// `canonical`: a canonical document of `type`, if one is known. Parts that `document` shares with it at the
// same place (Json::shares_with) are accepted without a check.
Result<Decoded> decode_document(const TypeInfo& type, Json document, const Json& canonical = {});
// The same from text. `null` is an empty object. Text that is no JSON is refused with the reference's reason
// (`invalid character 'n' looking for beginning of object key string`).
Result<Decoded> decode_json(const TypeInfo& type, std::string_view text);

// "bool", "string", "array", "object" or "number", as the reference's decoder calls a value that is not null.
std::string_view go_word(const Json& value);

// "strict decoding error: a, b".
std::string strict_error_text(const std::vector<std::string>& strict_errors);

}  // namespace berth::api
