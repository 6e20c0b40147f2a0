// Message literals: protobuf's wrappers, Timestamp and Duration. Declared objects have a type but no
// literals.
#pragma once

#include <string_view>
#include <vector>

#include "cel/ast.h"
#include "cel/environment.h"

namespace berth::cel {

// The type of `name{…}`; null for an unknown name. `fields`: of a built-in message; those of a declared
// object stay in the environment.
TypeRef message_type(std::string_view name, const Environment& environment, std::vector<Field>& fields);

// The value of a message literal with these field values.
Value message_value(const Node& node, std::span<const Value> values);

}  // namespace berth::cel
