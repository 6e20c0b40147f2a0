// How long a pod is expected to run, as people say it in annotations.
//
// Pure. Source: outer surface, annotation scheduling.berth.dev/expected-duration.
#pragma once

#include <optional>
#include <string_view>

#include "base/time.h"
#include "client/view.h"

namespace berth::placement {

inline constexpr std::string_view kExpectedDurationAnnotation = "scheduling.berth.dev/expected-duration";

// By the annotation of the pod, else of its group, else of the nearest composite group above. None: no such
// annotation, or the nearest one is not a duration above 0. Cost: O(levels of groups).
std::optional<Duration> expected_duration(const client::View& view, const api::Pod& pod);

}  // namespace berth::placement
