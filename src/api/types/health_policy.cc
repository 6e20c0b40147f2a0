#include "api/types/health_policy.h"

#include "api/type_table.h"

namespace berth::api {
namespace {

Duration duration_or(std::string_view text, Duration otherwise) {
  const Result<Duration> parsed = text.empty() ? Result<Duration>(otherwise) : parse_duration(text);
  return parsed ? *parsed : otherwise;
}

std::optional<std::int64_t> count_at(const Json& owner, std::string_view name) {
  const Json* found = owner.find(name);
  if (!found || !found->is_int()) return std::nullopt;
  return found->as_int();
}

}  // namespace

ResourceRef health_policy_resource() {
  return {std::string(kBerthGroup), "v1alpha1", "devicehealthpolicies"};
}

DeviceHealthPolicy decode_health_policy(const Json& object) {
  DeviceHealthPolicy policy;
  policy.meta = decode_meta(object);
  const Json& spec = object.part("spec");
  policy.driver = spec.string_at("driver");
  policy.health = spec.string_at("health").empty() ? "Unhealthy" : spec.string_at("health");
  policy.message_pattern = spec.string_at("messagePattern");
  policy.hold_for = duration_or(spec.string_at("holdFor"), Duration());
  policy.recover_after = duration_or(spec.string_at("recoverAfter"), kRecoverAfterDefault);
  policy.effect = spec.string_at("effect");
  const Json& budgets = spec.part("budgets");
  policy.per_node = count_at(budgets, "node");
  policy.per_rack = count_at(budgets, "rack");
  policy.per_cluster = count_at(budgets, "cluster");
  policy.rack_label = budgets.string_at("rackLabel");
  return policy;
}

bool matches_pattern(std::string_view pattern, std::string_view text) {
  if (pattern.empty()) return true;
  std::size_t p = 0, t = 0, star = std::string_view::npos, resume = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace berth::api
