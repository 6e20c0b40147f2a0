// Conditions of workloads, in the JSON of a status: they have fields that others lack (lastUpdateTime).
//
// Pure functions; the caller's thread.
#pragma once

#include <string_view>

#include "api/types/meta.h"

namespace berth::workloads {

// Null without one of this type.
const Json* find_condition(const JsonArray& conditions, std::string_view type);
bool condition_is_true(const JsonArray& conditions, std::string_view type);
// `conditions` is an array or null.
void remove_condition(Json& conditions, std::string_view type);
// Replaces the one of its type when status, reason or message differ; its transition stays while the status
// does. True when it changed.
bool set_condition(Json& conditions, const api::Condition& wanted);

}  // namespace berth::workloads
