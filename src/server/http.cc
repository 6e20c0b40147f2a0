#include "server/http.h"

#include <strings.h>

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

bool is_health_path(std::string_view path) {
  for (std::string_view root : {"/healthz", "/livez", "/readyz"})
    if (path == root || (path.starts_with(root) && path.substr(root.size()) == "/ping")) return true;
  return false;
}

}  // namespace berth::server
