#include <algorithm>
#include <optional>

#include "base/ascii.h"
#include "base/hex.h"
#include "cel/builders.h"
#include "cel/libraries.h"

namespace berth::cel {
namespace {

using Args = std::span<Value>;

struct Parts {
  std::string scheme, host, path, raw_path, query;
  friend bool operator==(const Parts&, const Parts&) = default;
};

class Url : public ObjectSource {
 public:
  explicit Url(Parts parts) : parts(std::move(parts)) {}
  std::string_view type_name() const override { return "kubernetes.URL"; }
  bool equals(const ObjectSource& other) const override {
    return parts == static_cast<const Url&>(other).parts;
  }

  Parts parts;
};

enum class Plus { Literal, Space };

// Percent-decoded text; nothing and the offending escape when it is malformed.
std::optional<std::string> unescape(std::string_view text, Plus plus, std::string& bad) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%') {
      if (i + 2 >= text.size() || hex_value(text[i + 1]) < 0 || hex_value(text[i + 2]) < 0) {
        bad = text.substr(i, 3);
        return std::nullopt;
      }
      out += static_cast<char>(hex_value(text[i + 1]) * 16 + hex_value(text[i + 2]));
      i += 2;
    } else {
      out += text[i] == '+' && plus == Plus::Space ? ' ' : text[i];
    }
  }
  return out;
}

constexpr std::string_view kPlainInRawPath = "-_.~$&+,/:;=@";

std::string escape_path(std::string_view text) {
  return percent_encoded(text, kPlainInRawPath);
}

std::string_view take_scheme(std::string_view text, std::string& fault) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (is_lower(c) || is_upper(c)) continue;
    if (is_alphanumeric(c) || c == '+' || c == '-' || c == '.') {
      if (i == 0) return {};
    } else if (c == ':') {
      if (i == 0) fault = "missing protocol scheme";
      return text.substr(0, i);
    } else {
      return {};
    }
  }
  return {};
}

bool is_port(std::string_view text) {
  if (text.empty()) return true;
  if (text[0] != ':') return false;
  return std::all_of(text.begin() + 1, text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

std::string host_fault(std::string_view host) {
  std::string_view port;
  if (host.starts_with('[')) {
    const std::size_t close = host.rfind(']');
    if (close == std::string_view::npos) return "missing ']' in host";
    port = host.substr(close + 1);
  } else if (const std::size_t colon = host.rfind(':'); colon != std::string_view::npos) {
    port = host.substr(colon);
  }
  if (!is_port(port)) return "invalid port \"" + std::string(port) + "\" after host";
  for (const char c : host) {
    const bool fine = is_alphanumeric(c) || (c & 0x80) ||
                      std::string_view("-_.~!$&'()*+,;=:[]<>\"%").find(c) != std::string_view::npos;
    if (!fine) return "invalid character \"" + std::string(1, c) + "\" in host name";
  }
  std::string bad;
  if (!unescape(host, Plus::Literal, bad)) return "invalid URL escape \"" + bad + "\"";
  return "";
}

// The error in Go's words, or empty.
std::string parse(std::string_view text, Parts& parts) {
  for (const char c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) return "net/url: invalid control character in URL";
  if (text.empty()) return "empty url";
  if (text == "*") {
    parts.path = parts.raw_path = "*";
    return "";
  }
  std::string fault;
  const std::string_view scheme = take_scheme(text, fault);
  if (!fault.empty()) return fault;
  std::string_view rest = scheme.empty() ? text : text.substr(scheme.size() + 1);
  for (const char c : scheme) parts.scheme += c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  if (const std::size_t question = rest.find('?'); question != std::string_view::npos) {
    parts.query = rest.substr(question + 1);
    rest = rest.substr(0, question);
  }
  if (!rest.starts_with('/')) return parts.scheme.empty() ? "invalid URI for request" : "";
  if (!parts.scheme.empty() && rest.starts_with("//")) {
    const std::size_t slash = rest.find('/', 2);
    std::string_view authority = rest.substr(2, slash == std::string_view::npos ? slash : slash - 2);
    rest = slash == std::string_view::npos ? "" : rest.substr(slash);
    if (const std::size_t user = authority.rfind('@'); user != std::string_view::npos)
      authority = authority.substr(user + 1);
    if (fault = host_fault(authority); !fault.empty()) return fault;
    parts.host = authority;
  }
  std::string bad;
  const std::optional<std::string> path = unescape(rest, Plus::Literal, bad);
  if (!path) return "invalid URL escape \"" + bad + "\"";
  parts.path = *path;
  parts.raw_path = rest;
  return "";
}

const Parts& parts_of(const Value& value) {
  return static_cast<const Url&>(value.as_object()).parts;
}
Value text(std::string_view out) {
  return Value::of_string(std::string(out));
}

std::pair<std::string_view, std::string_view> host_and_port(std::string_view host) {
  const std::size_t colon = host.rfind(':');
  const std::size_t close = host.rfind(']');
  std::string_view port;
  if (colon != std::string_view::npos && (close == std::string_view::npos || colon > close)) {
    port = host.substr(colon + 1);
    host = host.substr(0, colon);
  }
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  return {host, port};
}

Value url(Args a, Runtime&) {
  Parts parts;
  const std::string fault = parse(a[0].as_text(), parts);
  if (fault.empty()) return Value::of_object(std::make_shared<Url>(std::move(parts)));
  return Value::error("URL parse error during conversion from string: parse \"" +
                      std::string(a[0].as_text()) + "\": " + fault);
}
Value is_url(Args a, Runtime&) {
  Parts parts;
  return Value::of_bool(parse(a[0].as_text(), parts).empty());
}
Value scheme(Args a, Runtime&) {
  return text(parts_of(a[0]).scheme);
}
Value host(Args a, Runtime&) {
  return text(parts_of(a[0]).host);
}
Value host_name(Args a, Runtime&) {
  return text(host_and_port(parts_of(a[0]).host).first);
}
Value port(Args a, Runtime&) {
  return text(host_and_port(parts_of(a[0]).host).second);
}
Value escaped_path(Args a, Runtime&) {
  const Parts& parts = parts_of(a[0]);
  const bool valid = std::all_of(parts.raw_path.begin(), parts.raw_path.end(), [](char c) {
    constexpr std::string_view kMore = "!'()*[]%";
    return is_alphanumeric(c) || kPlainInRawPath.find(c) != kMore.npos || kMore.find(c) != kMore.npos;
  });
  return text(valid ? parts.raw_path : escape_path(parts.path));
}

Value query(Args a, Runtime&) {
  std::vector<std::pair<std::string, std::vector<Value>>> entries;
  std::string_view rest = parts_of(a[0]).query;
  while (!rest.empty()) {
    const std::string_view pair = rest.substr(0, rest.find('&'));
    rest = pair.size() < rest.size() ? rest.substr(pair.size() + 1) : "";
    if (pair.empty() || pair.find(';') != std::string_view::npos) continue;
    const std::size_t equals = pair.find('=');
    std::string bad;
    const auto key = unescape(pair.substr(0, equals), Plus::Space, bad);
    const auto value =
        unescape(equals == std::string_view::npos ? "" : pair.substr(equals + 1), Plus::Space, bad);
    if (!key || !value) continue;
    auto found =
        std::find_if(entries.begin(), entries.end(), [&](const auto& entry) { return entry.first == *key; });
    if (found == entries.end()) found = entries.insert(entries.end(), {*key, {}});
    found->second.push_back(Value::of_string(*value));
  }
  MapBuilder map;
  for (auto& [key, values] : entries) map.insert(Value::of_string(key), Value::of_list(std::move(values)));
  return map.take();
}

constexpr FunctionRow kUrlsRows[] = {
    {"url", "(string) url", url, cost_of_traversal},
    {"isURL", "(string) bool", is_url},
    {"getScheme", "url.() string", scheme},
    {"getHost", "url.() string", host},
    {"getHostname", "url.() string", host_name},
    {"getPort", "url.() string", port},
    {"getEscapedPath", "url.() string", escaped_path},
    {"getQuery", "url.() map(string, list(string))", query},
};

}  // namespace

std::span<const FunctionRow> url_rows() {
  return kUrlsRows;
}

}  // namespace berth::cel
