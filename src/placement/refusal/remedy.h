// What would make a refused pod fit, as data. Whoever looks for remedies tries each before naming it;
// berth_words.h puts it into words.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/quantity.h"

namespace berth::placement {

enum class RemedyKind : std::uint8_t { Uncordon, RemoveTaints, AddLabels, AddResource, Evict, AddNode };
inline constexpr std::size_t kRemedyKindCount = 6;
std::string_view name_of(RemedyKind kind);

struct Remedy {
  RemedyKind kind = RemedyKind::Uncordon;
  std::string node;                   // that takes the pod then; of AddNode: the one to copy
  std::vector<std::string> subjects;  // taints, labels ("zone=a"), or the resource
  Quantity more;                      // AddResource
  std::vector<std::pair<std::string, std::int32_t>> victims;  // "default/train-3" with its priority
};

}  // namespace berth::placement
