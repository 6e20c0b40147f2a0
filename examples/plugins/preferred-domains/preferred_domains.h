// Placement scorer: a group names the domains that it prefers, and gets the first of them that takes it.
//
// A PodGroup asks by the annotation example.com/preferred-domains, for example "rack-b,rack-a": the values of
// its topology key, best first, at most kDomainsMax. If none of them takes the group, any other domain does.
#pragma once

#include <memory>

#include "placement/framework.h"

namespace example {

inline constexpr std::string_view kPreferredDomains = "example.com/preferred-domains";
inline constexpr std::size_t kDomainsMax = 20;

std::unique_ptr<berth::placement::PlacementScorer> make_preferred_domains();

}  // namespace example
