#include "admission/match.h"

#include <algorithm>

namespace berth::admission {
namespace {

api::LabelSelector read_selector(const Json* selector) {
  if (!selector || selector->is_null()) return {};
  Result<api::LabelSelector> read = api::LabelSelector::of(*selector);
  return read ? *std::move(read) : api::LabelSelector();
}

std::vector<Rule> read_rules(const JsonArray& list) {
  std::vector<Rule> rules;
  for (const Json& rule : list) rules.push_back(read_rule(rule));
  return rules;
}

const GroupVersionResource* named_by(const std::vector<Rule>& rules, bool sees_equivalents,
                                     const Attributes& attributes,
                                     const std::vector<GroupVersionResource>& equivalents) {
  for (const Rule& rule : rules)
    if (matches(rule, attributes, attributes.resource)) return &attributes.resource;
  if (!sees_equivalents) return nullptr;
  // An earlier rule decides before a later one.
  for (const Rule& rule : rules)
    for (const GroupVersionResource& equivalent : equivalents)
      if (matches(rule, attributes, equivalent)) return &equivalent;
  return nullptr;
}

}  // namespace

MatchCriteria read_match(const Json& fields) {
  MatchCriteria match;
  match.rules = read_rules(fields.items_at("rules"));
  match.namespaces = read_selector(fields.find("namespaceSelector"));
  match.objects = read_selector(fields.find("objectSelector"));
  match.sees_equivalents = fields.string_at("matchPolicy") != "Exact";
  return match;
}

MatchCriteria read_match_resources(const Json& resources) {
  MatchCriteria match = read_match(resources);
  match.rules = read_rules(resources.items_at("resourceRules"));
  match.excluded = read_rules(resources.items_at("excludeResourceRules"));
  match.sees_all = match.rules.empty();
  return match;
}

const GroupVersionResource* seen_resource(const MatchCriteria& match, const Attributes& attributes,
                                          const std::vector<GroupVersionResource>& equivalents) {
  if (named_by(match.excluded, match.sees_equivalents, attributes, equivalents)) return nullptr;
  if (match.sees_all) return &attributes.resource;
  return named_by(match.rules, match.sees_equivalents, attributes, equivalents);
}

}  // namespace berth::admission
