// Nodes that one plugin refused for one reason, by name: what records and plans keep of a refusal.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace berth::placement {

struct RefusedNodes {
  struct Example {
    std::string node;
    std::string why;  // empty: there is nothing to add to the reason
  };
  std::string plugin;
  std::string reason;
  std::uint32_t count = 0;
  std::vector<Example> examples;  // the first by name
};

}  // namespace berth::placement
