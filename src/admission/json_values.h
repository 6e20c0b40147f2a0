// JSON as CEL sees it without a schema: maps, lists, texts, numbers; and back.
//
// A value borrows from the document, which outlives it, and costs nothing until it is read. Any thread.
#pragma once

#include <cstddef>

#include "base/json.h"
#include "base/result.h"
#include "cel/value.h"

namespace berth::admission {

cel::Value value_of(const Json& json);

// Of the JSON that an expression makes: a value of few parts may name one of them often.
inline constexpr std::size_t kMadeJsonBytesMax = 3u << 20;

// A literal of a message is an object. Refuses (Invalid) a value that JSON does not have and nesting deeper
// than kJsonDepthMax; (TooLarge) more than kMadeJsonBytesMax.
Result<Json> json_of(const cel::Value& value);

}  // namespace berth::admission
