// Conditions in the status of a stored document.
//
// Pure, any thread. Cost: linear in the conditions.
#pragma once

#include <string_view>

#include "base/json.h"

namespace berth::server {

// The condition of this type in a status; null without one.
const Json* find_condition(const Json& status, std::string_view type);
bool condition_is_true(const Json& status, std::string_view type);
// The place of the object's condition of this type: the one that is there, or a new null at the end.
Json& condition_place(Json& object, std::string_view type);

}  // namespace berth::server
