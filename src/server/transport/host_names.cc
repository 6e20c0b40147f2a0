#include "server/transport/host_names.h"

#include <arpa/inet.h>

#include <algorithm>

#include "base/ascii.h"

namespace berth::server {
namespace {

bool is_address_text(const std::string& host) {
  unsigned char bytes[sizeof(in6_addr)];
  return inet_pton(AF_INET, host.c_str(), bytes) == 1;
}

}  // namespace

std::string_view host_of(std::string_view authority) {
  if (authority.starts_with('[')) return authority.substr(0, authority.find(']') + 1);
  return authority.substr(0, authority.find(':'));
}

bool may_be_called(std::string_view host_header, std::span<const std::string> more) {
  std::string host = to_lower(host_of(host_header));
  if (host.ends_with('.')) host.pop_back();
  if (host.find('.') == std::string::npos) return true;  // also "[::1]" and none
  if (host.ends_with(".localhost") || is_address_text(host)) return true;
  return std::any_of(more.begin(), more.end(),
                     [&](const std::string& name) { return to_lower(name) == host; });
}

}  // namespace berth::server
