#include "server/request_path.h"

#include <vector>

namespace berth::server {
namespace {

std::vector<std::string_view> split(std::string_view path) {
  std::vector<std::string_view> parts;
  while (!path.empty()) {
    const std::size_t end = path.find('/');
    if (end != 0) parts.push_back(path.substr(0, end));
    if (end == std::string_view::npos) break;
    path.remove_prefix(end + 1);
  }
  return parts;
}

// Reads [namespaces NS] RESOURCE [NAME [SUBRESOURCE…]]. "namespaces" alone is a resource itself.
void read_resource(std::vector<std::string_view> parts, ResourcePath& path) {
  if (!parts.empty() && parts.front() == "watch" && parts.size() > 1) {
    path.legacy_watch = true;
    parts.erase(parts.begin());
  }
  const bool scoped =
      parts.size() >= 3 && parts[0] == "namespaces" && parts[2] != "status" && parts[2] != "finalize";
  if (scoped) {
    path.ns = parts[1];
    parts.erase(parts.begin(), parts.begin() + 2);
  }
  if (!parts.empty()) path.resource = parts[0];
  if (parts.size() > 1) path.name = parts[1];
  for (std::size_t i = 2; i < parts.size(); ++i) {
    if (i > 2) path.subresource += '/';
    path.subresource += parts[i];
  }
}

}  // namespace

ParsedPath parse_path(std::string_view text) {
  ParsedPath parsed;
  std::vector<std::string_view> parts = split(text);
  if (parts.empty()) return parsed;
  ResourcePath& path = parsed.resource;
  std::size_t used = 0;
  if (parts[0] == "api") {
    if (parts.size() == 1) {
      parsed.kind = PathKind::ApiRoot;
      return parsed;
    }
    path.version = parts[1];
    used = 2;
  } else if (parts[0] == "apis") {
    if (parts.size() > 1) path.group = parts[1];
    if (parts.size() > 2) path.version = parts[2];
    if (parts.size() < 3) {
      parsed.kind = parts.size() == 1 ? PathKind::ApisRoot : PathKind::Group;
      return parsed;
    }
    used = 3;
  } else {
    return parsed;
  }
  parsed.kind = parts.size() == used ? PathKind::GroupVersion : PathKind::Resource;
  parts.erase(parts.begin(), parts.begin() + static_cast<std::ptrdiff_t>(used));
  read_resource(std::move(parts), path);
  return parsed;
}

}  // namespace berth::server
