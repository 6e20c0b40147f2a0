// The meaning of a plain YAML word: the resolution rules of YAML 1.1 as in sigs.k8s.io/yaml. Only for
// yaml.cc.
#pragma once

#include <string_view>

#include "base/json.h"

namespace berth::api {

// A plain (unquoted, untagged) scalar as null, boolean, number or string. NaN and infinities stay strings.
Json plain_yaml_scalar(std::string_view text);

}  // namespace berth::api
