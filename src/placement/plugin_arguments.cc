#include "placement/plugin_arguments.h"

#include <algorithm>

namespace berth::placement {

bool ResourcesFitArguments::ignores(std::string_view resource) const {
  if (ignored_resources.empty() && ignored_groups.empty()) return false;
  const std::size_t slash = resource.find('/');
  // Only extended resources: those of Kubernetes itself always count.
  if (slash == std::string_view::npos || resource.find("kubernetes.io/") != std::string_view::npos)
    return false;
  const auto has = [](const std::vector<std::string>& names, std::string_view name) {
    return std::ranges::find(names, name) != names.end();
  };
  return has(ignored_resources, resource) || has(ignored_groups, resource.substr(0, slash));
}

}  // namespace berth::placement
