// What a topology finds on some nodes: the domains of each level, and what is wrong with the labels.
//
// Pure. Cost: O(nodes × levels × log domains).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "api/types/meta.h"
#include "placement/wishes/wish.h"

namespace berth::placement {

// Domains and labels that a sentence names.
inline constexpr std::size_t kSurveyNamedMax = 3;

struct LabelledNode {
  std::string_view name;
  const api::StringMap* labels = nullptr;
};

struct TopologySurvey {
  std::vector<std::int64_t> domains;  // of each level, by their paths
  std::int64_t nodes = 0;
  std::int64_t unlabelled = 0;  // nodes that lack a label of some level
  std::string reason;           // of the condition Valid: "Valid" when nothing is wrong
  std::string message;          // a sentence for each thing that is wrong; empty: nothing is

  bool valid() const { return message.empty(); }
};

TopologySurvey survey(std::span<const WishLevel> levels, std::span<const LabelledNode> nodes);

}  // namespace berth::placement
