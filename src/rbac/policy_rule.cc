#include "rbac/policy_rule.h"

#include <algorithm>

#include "api/types/meta.h"
#include "base/stable_hash.h"

namespace berth::rbac {
namespace {

constexpr std::string_view kAll = "*";
constexpr std::string_view kOfAnyResource = "*/";  // "*/scale": the subresource of every resource
constexpr std::uint64_t kEveryBit = ~std::uint64_t{0};

using Texts = std::vector<std::string>;

bool lists_or_all(const Texts& texts, std::string_view text) {
  return lists(texts, text) || lists(texts, kAll);
}

bool covers_resource(const Texts& resources, const Attributes& asked) {
  if (lists_or_all(resources, asked.resource)) return true;
  const std::string_view subresource = asked.subresource();
  if (subresource.empty()) return false;
  return std::any_of(resources.begin(), resources.end(), [&](std::string_view resource) {
    return resource.starts_with(kOfAnyResource) && resource.substr(kOfAnyResource.size()) == subresource;
  });
}

void append_list(std::string& text, std::string_view name, const Texts& texts) {
  if (texts.empty()) return;
  text.append(text.size() > 1 ? ", " : "").append(name).append(":[");
  for (const std::string& one : texts) {
    if (&one != &texts.front()) text += ' ';
    append_json_string(text, one);
  }
  text += ']';
}

std::uint64_t bit_of(std::string_view text) {
  return std::uint64_t{1} << (stable_hash(text) & 63);
}

std::uint64_t bits_of(const Texts& texts) {
  std::uint64_t bits = 0;
  for (const std::string& text : texts)
    bits |= text == kAll || text.starts_with(kOfAnyResource) ? kEveryBit : bit_of(text);
  return bits;
}

}  // namespace

std::string_view Attributes::subresource() const {
  const std::size_t slash = resource.find('/');
  return slash == std::string::npos ? std::string_view() : std::string_view(resource).substr(slash + 1);
}

PolicyRule PolicyRule::read(const Json& rule) {
  const auto texts = [&rule](const char* member) { return api::decode_strings(rule.items_at(member)); };
  return {texts("verbs"), texts("apiGroups"), texts("resources"), texts("resourceNames"),
          texts("nonResourceURLs")};
}

Json PolicyRule::to_json() const {
  Json rule = Json::object();
  const auto put = [&rule](const char* member, const Texts& texts) {
    if (!texts.empty()) rule[member] = JsonArray(texts.begin(), texts.end());
  };
  put("verbs", verbs);
  put("apiGroups", groups);
  put("resources", resources);
  put("resourceNames", names);
  put("nonResourceURLs", paths);
  return rule;
}

bool PolicyRule::allows(const Attributes& asked) const {
  if (!lists_or_all(verbs, asked.verb)) return false;
  if (!asked.path.empty())
    return std::any_of(paths.begin(), paths.end(),
                       [&](const std::string& path) { return path_covers(path, asked.path); });
  return lists_or_all(groups, asked.group) && covers_resource(resources, asked) &&
         (names.empty() || lists(names, asked.name));
}

std::string PolicyRule::text() const {
  std::string text = "{";
  append_list(text, "APIGroups", groups);
  append_list(text, "Resources", resources);
  append_list(text, "NonResourceURLs", paths);
  append_list(text, "ResourceNames", names);
  append_list(text, "Verbs", verbs);
  return text + "}";
}

bool lists(const std::vector<std::string>& texts, std::string_view text) {
  return std::find(texts.begin(), texts.end(), text) != texts.end();
}

bool path_covers(std::string_view rule_path, std::string_view path) {
  if (rule_path == path) return true;
  if (!rule_path.ends_with(kAll)) return false;
  while (rule_path.ends_with(kAll)) rule_path.remove_suffix(kAll.size());
  return path.starts_with(rule_path);
}

// Rules of paths are few: they are always compared.
RuleSignature::RuleSignature(const PolicyRule& rule)
    : verbs_(bits_of(rule.verbs)),
      groups_(rule.paths.empty() ? bits_of(rule.groups) : kEveryBit),
      resources_(rule.paths.empty() ? bits_of(rule.resources) : kEveryBit) {}

RuleSignature::RuleSignature(const Attributes& asked)
    : verbs_(bit_of(asked.verb)),
      groups_(asked.path.empty() ? bit_of(asked.group) : kEveryBit),
      resources_(asked.path.empty() ? bit_of(asked.resource) : kEveryBit) {}

}  // namespace berth::rbac
