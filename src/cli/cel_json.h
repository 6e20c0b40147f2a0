// CEL values in JSON lines: typed values and devices in, results out.
//
// Source: outer surface, `berth cel`. A typed value has one member that names its kind: {"int":"1"},
// {"list":[{"string":"a"}]}. Plain results: int and uint are strings, bytes base64, as in protobuf's JSON.
#pragma once

#include "base/json.h"
#include "cel/dra_environment.h"
#include "cel/type.h"
#include "cel/value.h"

namespace berth::cli {

struct TypedValue {
  cel::TypeRef type;
  cel::Value value;
};

// The path of an error names the member.
Result<TypedValue> typed_value_of(const Json& json);
Result<cel::DeviceRecord> device_of(const Json& json);

Json json_of(const cel::Value& value);
// "bool", "int", "map", "timestamp"…: the kinds of typed values, else the name that type() shows.
std::string type_name_of(const cel::Value& value);

}  // namespace berth::cli
