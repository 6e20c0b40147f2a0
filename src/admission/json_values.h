// JSON as CEL sees it without a schema: maps, lists, texts, numbers.
//
// A value borrows from the document, which outlives it, and costs nothing until it is read. Any thread.
#pragma once

#include "base/json.h"
#include "cel/value.h"

namespace berth::admission {

cel::Value value_of(const Json& json);

}  // namespace berth::admission
