#include "placement/expected_duration.h"

#include "placement/nearest_annotation.h"

namespace berth::placement {

std::optional<Duration> expected_duration(const client::View& view, const api::Pod& pod) {
  const std::string_view text = nearest_annotation(view, pod, kExpectedDurationAnnotation);
  if (text.empty()) return std::nullopt;
  const Result<Duration> parsed = parse_duration(text);
  if (!parsed || *parsed <= Duration()) return std::nullopt;
  return *parsed;
}

}  // namespace berth::placement
