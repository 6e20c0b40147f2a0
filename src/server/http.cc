#include "server/http.h"

#include <strings.h>

#include "base/ascii.h"

namespace berth::server {

std::string_view HttpRequest::header(std::string_view name) const {
  for (const auto& [key, value] : headers)
    if (key.size() == name.size() && strncasecmp(key.data(), name.data(), name.size()) == 0) return value;
  return {};
}

const std::string* HttpRequest::parameter(std::string_view name) const {
  for (const auto& [key, value] : query)
    if (key == name) return &value;
  return nullptr;
}

std::string_view bearer_token(std::string_view authorization) {
  constexpr std::string_view kScheme = "bearer ";
  if (to_lower(authorization.substr(0, kScheme.size())) != kScheme) return {};
  return trimmed(authorization.substr(kScheme.size()));
}

std::optional<HealthPath> health_path(std::string_view path) {
  for (std::string_view page : kHealthPages) {
    const std::string root = "/" + std::string(page);
    if (path == root || path == root + "/") return HealthPath{page, ""};
    if (!path.starts_with(root + "/")) continue;
    const std::string_view check = path.substr(root.size() + 1);
    for (std::string_view known : kHealthChecks)
      if (check == known) return HealthPath{page, known};
  }
  return std::nullopt;
}

}  // namespace berth::server
