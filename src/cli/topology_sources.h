// The label hierarchies that clouds, operators and Kubernetes itself write on nodes, and which of them some
// nodes have.
//
// Pure. Cost: O(nodes × known labels).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "placement/wishes/topology_survey.h"

namespace berth::cli {

struct FoundLevel {
  placement::WishLevel level;
  std::int64_t domains = 0;  // by their paths
  std::int64_t nodes = 0;    // that have the label
};

struct FoundHierarchy {
  std::string source;              // "topograph", "aws", …
  std::vector<FoundLevel> levels;  // broad to narrow; those that no node has are left out
  placement::TopologySurvey survey;
};

// Those of which some node has a label, those with the fewest unlabelled nodes first.
std::vector<FoundHierarchy> find_hierarchies(std::span<const placement::LabelledNode> nodes);
// These levels, whether a node has them or not.
FoundHierarchy given_hierarchy(std::span<const placement::WishLevel> levels,
                               std::span<const placement::LabelledNode> nodes);
// "topograph, topograph-network, …"
std::string source_names();

}  // namespace berth::cli
