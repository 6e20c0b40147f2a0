#include "dra/pools/node_devices.h"

#include <algorithm>

namespace berth::dra {

bool GroupState::has_common(const std::vector<std::uint32_t>& candidate) const {
  return std::any_of(candidate.begin(), candidate.end(), [&](std::uint32_t group) {
    return std::binary_search(groups.begin(), groups.end(), group);
  });
}

void GroupState::admit(const std::vector<std::uint32_t>& candidate) {
  if (!members) {
    members = true;
    grouped = !candidate.empty();
    groups = candidate;
  } else if (grouped && !candidate.empty()) {
    std::erase_if(groups, [&](std::uint32_t group) {
      return !std::binary_search(candidate.begin(), candidate.end(), group);
    });
  }
}

}  // namespace berth::dra
