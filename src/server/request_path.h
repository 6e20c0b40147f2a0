// Parses a URL path.
#pragma once

#include <string>
#include <string_view>

namespace berth::server {

// /api/v1/namespaces/NS/pods/NAME/status and its shorter and cluster-scoped forms.
struct ResourcePath {
  std::string group;  // empty for core
  std::string version;
  std::string ns;
  std::string resource;
  std::string name;
  std::string subresource;
  bool legacy_watch = false;  // …/watch/… prefix
};

enum class PathKind {
  ApiRoot,       // /api
  ApisRoot,      // /apis
  Group,         // /apis/GROUP
  GroupVersion,  // /api/v1, /apis/GROUP/VERSION
  Resource,      // something below a group version
  Other,         // /version, /healthz, /openapi/v3…
};

struct ParsedPath {
  PathKind kind = PathKind::Other;
  ResourcePath resource;
};

// `path` is percent-decoded. Never fails: an unknown path is Other.
ParsedPath parse_path(std::string_view path);

}  // namespace berth::server
