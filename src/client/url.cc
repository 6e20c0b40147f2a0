#include "client/url.h"

#include <algorithm>

namespace berth::client {

bool ServerUrl::is_loopback() const {
  return host.starts_with("127.") || host == "localhost" || host == "::1";
}

ServerUrl parse_server_url(std::string_view url) {
  ServerUrl parts;
  parts.is_https = url.starts_with("https://");
  url.remove_prefix(std::min(url.size(), url.find("://") + 3));
  const std::size_t slash = std::min(url.size(), url.find('/'));
  parts.prefix = url.substr(slash);
  const std::string_view authority = url.substr(0, slash);
  parts.authority = authority;
  const std::size_t colon = authority.rfind(':');
  const bool has_port =
      colon != std::string_view::npos && authority.find(']', colon) == std::string_view::npos;
  std::string_view host = authority.substr(0, has_port ? colon : authority.size());
  parts.port = has_port ? authority.substr(colon + 1) : parts.is_https ? "443" : "80";
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  parts.host = host;
  return parts;
}

}  // namespace berth::client
