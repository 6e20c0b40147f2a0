// The level whose domains are made whole: its name for people, and its node label keys.
//
// Pure. Cost: O(nodes) for a label, else O(levels).
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "client/view.h"

namespace berth::placement {

struct DomainLevel {
  std::string name;
  std::vector<std::string> keys;  // outermost first
};

// `asked`: a level of the Topology named default, or a node label; empty: the topology's narrowest level
// above hosts. Refuses a level that is neither; `path` is the error's path.
Result<DomainLevel> domain_level(const client::View& view, const std::string& asked, const std::string& path);

}  // namespace berth::placement
