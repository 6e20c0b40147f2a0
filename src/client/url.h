// The parts of an API server's URL. It has a scheme, a host and perhaps a port and a path prefix.
#pragma once

#include <string>
#include <string_view>

namespace berth::client {

struct ServerUrl {
  bool is_https = false;
  std::string authority;  // "host:port" or "host", as it stands in the URL
  std::string host;       // without the brackets of an IPv6 address
  std::string port;       // "443" or "80" when the URL names none
  std::string prefix;     // "/pre/fix" or empty

  bool is_loopback() const;
};

ServerUrl parse_server_url(std::string_view url);

}  // namespace berth::client
