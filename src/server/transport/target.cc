#include "server/transport/target.h"

#include "base/utf8.h"

namespace berth::server {
namespace {

enum class Plus { IsPlus, IsSpace };

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::string as_utf8(std::string bytes) {
  if (is_utf8(bytes)) return bytes;
  const std::vector<std::uint32_t> codes = code_points(bytes);
  return encode_utf8(codes.data(), codes.data() + codes.size());
}

Result<std::string> percent_decode(std::string_view text, Plus plus) {
  std::string decoded;
  decoded.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+' && plus == Plus::IsSpace) {
      decoded += ' ';
    } else if (text[i] != '%') {
      decoded += text[i];
    } else {
      const int high = i + 2 < text.size() ? hex_value(text[i + 1]) : -1;
      const int low = i + 2 < text.size() ? hex_value(text[i + 2]) : -1;
      if (high < 0 || low < 0 || high + low == 0)
        return Error(ErrorCode::Invalid,
                     "invalid URL escape \"" + std::string(text.substr(i, 3)) + "\" in the request target");
      decoded += static_cast<char>(high * 16 + low);
      i += 2;
    }
  }
  return as_utf8(std::move(decoded));
}

// "http://host:port/path" is what a client sends to a proxy; a server must accept it too.
std::string_view without_authority(std::string_view text) {
  const std::size_t scheme = text.find("://");
  if (scheme == std::string_view::npos || text.starts_with('/')) return text;
  const std::size_t path = text.find_first_of("/?", scheme + 3);
  return path == std::string_view::npos ? "/" : text.substr(path);
}

}  // namespace

Result<Target> parse_target(std::string_view text) {
  text = without_authority(text);
  const std::size_t mark = text.find('?');
  std::string_view path = text.substr(0, mark);
  if (path.empty() && mark != std::string_view::npos) path = "/";
  if (path != "*" && !path.starts_with('/'))
    return Error(ErrorCode::Invalid, "the request target does not start with '/'");

  Target target;
  target.path = TRY(percent_decode(path, Plus::IsPlus));
  std::string_view rest = mark == std::string_view::npos ? std::string_view() : text.substr(mark + 1);
  while (!rest.empty()) {
    const std::size_t end = rest.find('&');
    const std::string_view pair = rest.substr(0, end);
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
    if (pair.empty()) continue;
    const std::size_t equals = pair.find('=');
    std::string key = TRY(percent_decode(pair.substr(0, equals), Plus::IsSpace));
    std::string value;
    if (equals != std::string_view::npos) value = TRY(percent_decode(pair.substr(equals + 1), Plus::IsSpace));
    target.query.emplace_back(std::move(key), std::move(value));
  }
  return target;
}

}  // namespace berth::server
