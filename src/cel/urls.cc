#include <algorithm>
#include <optional>

#include "base/ascii.h"
#include "base/hex.h"
#include "cel/builders.h"
#include "cel/libraries.h"
#include "cel/url_text.h"

namespace berth::cel {
namespace {

using Args = std::span<Value>;

class Url : public ObjectSource {
 public:
  explicit Url(UrlParts parts) : parts(std::move(parts)) {}
  std::string_view type_name() const override { return "kubernetes.URL"; }
  bool is_opaque() const override { return true; }
  bool equals(const ObjectSource& other) const override {
    return parts == static_cast<const Url&>(other).parts;
  }

  UrlParts parts;
};

constexpr std::string_view kPlainInRawPath = "-_.~$&+,/:;=@";

std::string escape_path(std::string_view text) {
  return percent_encoded(text, kPlainInRawPath);
}

const UrlParts& parts_of(const Value& value) {
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
  UrlParts parts;
  const std::string fault = parse_url(a[0].as_text(), UrlForm::RequestUri, parts);
  if (fault.empty()) return Value::of_object(std::make_shared<Url>(std::move(parts)));
  return Value::error("URL parse error during conversion from string: parse \"" +
                      std::string(a[0].as_text()) + "\": " + fault);
}
Value is_url(Args a, Runtime&) {
  UrlParts parts;
  return Value::of_bool(parse_url(a[0].as_text(), UrlForm::RequestUri, parts).empty());
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
  const UrlParts& parts = parts_of(a[0]);
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
    const auto key = percent_decoded(pair.substr(0, equals), Plus::Space, bad);
    const auto value =
        percent_decoded(equals == std::string_view::npos ? "" : pair.substr(equals + 1), Plus::Space, bad);
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
