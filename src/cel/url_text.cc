#include "cel/url_text.h"

#include <algorithm>

#include "base/ascii.h"
#include "base/hex.h"

namespace berth::cel {

std::optional<std::string> percent_decoded(std::string_view text, Plus plus, std::string& bad) {
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

namespace {

std::string escape_fault(std::string_view bad) {
  return "invalid URL escape \"" + std::string(bad) + "\"";
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
  // Only bytes of other scripts may be written as escapes.
  for (std::size_t at = host.find('%'); at != std::string_view::npos; at = host.find('%', at + 1)) {
    const bool is_escape =
        at + 2 < host.size() && hex_value(host[at + 1]) >= 8 && hex_value(host[at + 2]) >= 0;
    if (!is_escape && host.substr(at, 3) != "%25") return escape_fault(host.substr(at, 3));
  }
  return "";
}

std::string user_fault(std::string_view user, UrlParts& parts) {
  const bool fine = std::all_of(user.begin(), user.end(), [](char c) {
    return is_alphanumeric(c) || std::string_view("-._:~!$&'()*+,;=%@").find(c) != std::string_view::npos;
  });
  if (!fine) return "net/url: invalid userinfo";
  constexpr std::string_view kPlainInUser = "-_.~$&+,;=";
  const std::size_t colon = user.find(':');
  std::string bad, text;
  for (const std::string_view part : {user.substr(0, colon), user.substr(std::min(colon, user.size()))}) {
    const std::optional<std::string> plain =
        percent_decoded(part.substr(part.starts_with(':')), Plus::Literal, bad);
    if (!plain) return escape_fault(bad);
    text += (part.starts_with(':') ? ":" : "") + percent_encoded(*plain, kPlainInUser);
  }
  parts.user = text;
  return "";
}

std::string authority_fault(std::string_view authority, UrlParts& parts) {
  const std::size_t at = authority.rfind('@');
  const std::string_view host = at == std::string_view::npos ? authority : authority.substr(at + 1);
  if (std::string fault = host_fault(host); !fault.empty()) return fault;
  parts.host = host;
  return at == std::string_view::npos ? "" : user_fault(authority.substr(0, at), parts);
}

bool has_colon_in_first_segment(std::string_view path) {
  return path.substr(0, path.find('/')).find(':') != std::string_view::npos;
}

std::string parse_before_fragment(std::string_view text, UrlForm form, UrlParts& parts) {
  for (const char c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) return "net/url: invalid control character in URL";
  const bool is_request = form == UrlForm::RequestUri;
  if (text.empty()) return is_request ? "empty url" : "";
  if (text == "*") {
    parts.path = parts.raw_path = "*";
    return "";
  }
  std::string fault;
  const std::string_view scheme = take_scheme(text, fault);
  if (!fault.empty()) return fault;
  std::string_view rest = scheme.empty() ? text : text.substr(scheme.size() + 1);
  parts.scheme = to_lower(scheme);
  if (const std::size_t question = rest.find('?'); question != std::string_view::npos) {
    parts.query = rest.substr(question + 1);
    rest = rest.substr(0, question);
  }
  if (!rest.starts_with('/')) {
    if (!parts.scheme.empty()) return "";
    if (is_request) return "invalid URI for request";
    if (has_colon_in_first_segment(rest)) return "first path segment in URL cannot contain colon";
  }
  const bool may_have_host = !parts.scheme.empty() || (!is_request && !rest.starts_with("///"));
  if (may_have_host && rest.starts_with("//")) {
    const std::size_t slash = rest.find('/', 2);
    const std::string_view authority = rest.substr(2, slash == std::string_view::npos ? slash : slash - 2);
    rest = slash == std::string_view::npos ? "" : rest.substr(slash);
    if (fault = authority_fault(authority, parts); !fault.empty()) return fault;
  }
  std::string bad;
  const std::optional<std::string> path = percent_decoded(rest, Plus::Literal, bad);
  if (!path) return escape_fault(bad);
  parts.path = *path;
  parts.raw_path = rest;
  return "";
}

}  // namespace

std::string parse_url(std::string_view text, UrlForm form, UrlParts& parts) {
  const std::size_t hash = form == UrlForm::Reference ? text.find('#') : std::string_view::npos;
  std::string fault = parse_before_fragment(text.substr(0, hash), form, parts);
  if (!fault.empty() || hash == std::string_view::npos) return fault;
  std::string bad;
  const std::optional<std::string> fragment = percent_decoded(text.substr(hash + 1), Plus::Literal, bad);
  if (!fragment) return escape_fault(bad);
  parts.fragment = *fragment;
  return "";
}

}  // namespace berth::cel
