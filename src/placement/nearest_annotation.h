// What people say of a pod on the pod itself, on its group, or on a group above.
#pragma once

#include <string_view>

#include "client/view.h"

namespace berth::placement {

// Of the pod, else of its group, else of the nearest composite group above; empty: none has it. Cost:
// O(levels of groups).
std::string_view nearest_annotation(const client::View& view, const api::Pod& pod, std::string_view key);

}  // namespace berth::placement
