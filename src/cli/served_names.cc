#include "cli/served_names.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <unistd.h>

#include <charconv>
#include <filesystem>
#include <memory>

#include "base/text_file.h"

namespace berth::cli {
namespace {

constexpr std::size_t kPortFileBytesMax = 16;
constexpr std::size_t kHostNameBytesMax = 254;

bool is_everywhere(const ListenAddress& listen) {
  return listen.address == "0.0.0.0" || listen.address == "::";
}

std::string text_of(const sockaddr& address) {
  char text[INET6_ADDRSTRLEN] = "";
  if (address.sa_family == AF_INET) {
    const auto& four = reinterpret_cast<const sockaddr_in&>(address);
    inet_ntop(AF_INET, &four.sin_addr, text, sizeof text);
  } else if (address.sa_family == AF_INET6) {
    const auto& six = reinterpret_cast<const sockaddr_in6&>(address);
    if (!IN6_IS_ADDR_LINKLOCAL(&six.sin6_addr)) inet_ntop(AF_INET6, &six.sin6_addr, text, sizeof text);
  }
  return text;
}

}  // namespace

std::vector<std::string> machine_addresses() {
  std::vector<std::string> found;
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) return found;
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(all, ::freeifaddrs);
  for (const ifaddrs* one = all; one; one = one->ifa_next) {
    const bool usable = (one->ifa_flags & IFF_UP) != 0 && (one->ifa_flags & IFF_LOOPBACK) == 0;
    if (!usable || !one->ifa_addr) continue;
    if (std::string text = text_of(*one->ifa_addr); !text.empty()) found.push_back(std::move(text));
  }
  char name[kHostNameBytesMax] = "";
  if (::gethostname(name, sizeof name - 1) == 0 && *name) found.emplace_back(name);
  return found;
}

std::vector<std::string> names_of(const ListenAddress& listen, const std::vector<std::string>& given,
                                  const std::vector<std::string>& machine) {
  std::vector<std::string> names = given;
  if (is_everywhere(listen))
    names.insert(names.end(), machine.begin(), machine.end());
  else
    names.push_back(listen.address);
  return names;
}

std::string reachable_address(const ListenAddress& listen, const std::vector<std::string>& given,
                              const std::vector<std::string>& machine) {
  if (!is_everywhere(listen)) return listen.address;
  if (!given.empty()) return given.front();
  return machine.empty() ? "127.0.0.1" : machine.front();
}

std::string endpoint_address(const ListenAddress& listen, const std::vector<std::string>& machine) {
  if (!is_everywhere(listen) && is_ip_address(listen.address)) return listen.address;
  for (const std::string& address : machine)
    if (is_everywhere(listen) && is_ip_address(address)) return address;
  return "127.0.0.1";
}

std::uint16_t remembered_port(const std::string& file) {
  const Result<std::string> text = read_text_file(file, kPortFileBytesMax);
  std::uint16_t port = 0;
  if (text) std::from_chars(text->data(), text->data() + text->size(), port);
  return port;
}

Status remember_port(const std::string& file, std::uint16_t port) {
  const std::filesystem::path folder = std::filesystem::path(file).parent_path();
  std::error_code trouble;  // the write tells
  if (std::filesystem::create_directory(folder, trouble))
    std::filesystem::permissions(folder, std::filesystem::perms::owner_all, trouble);
  return replace_text_file(file, std::to_string(port) + "\n");
}

}  // namespace berth::cli
