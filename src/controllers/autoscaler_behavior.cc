#include "controllers/autoscaler_behavior.h"

#include <algorithm>

namespace berth::controllers {
namespace {

constexpr std::int64_t kHundred = 100;
// Without spec.behavior.
constexpr std::int64_t kScaleUpFactor = 2, kScaleUpFloor = 4;

void note_moment(std::vector<ScalingMoment>& moments, std::int64_t replicas, Time now, Duration kept) {
  std::erase_if(moments, [&](const ScalingMoment& moment) { return moment.at + kept < now; });
  if (moments.size() >= kScalingHistoryMax) moments.erase(moments.begin());
  moments.push_back({now, replicas});
}

std::int64_t sum_since(const std::vector<ScalingMoment>& moments, Time since) {
  std::int64_t sum = 0;
  for (const ScalingMoment& moment : moments)
    if (moment.at > since) sum += moment.replicas;
  return sum;
}

api::Condition scaling_condition(std::string type, bool is_true, std::string reason, std::string message) {
  api::Condition made;
  made.type = std::move(type);
  made.status = is_true ? "True" : "False";
  made.reason = std::move(reason);
  made.message = std::move(message);
  return made;
}

Duration window_of(const Json& rules, Duration otherwise) {
  const Json* seconds = rules.find("stabilizationWindowSeconds");
  return seconds && seconds->is_int() ? Duration::seconds(seconds->as_int()) : otherwise;
}

// The number of replicas to which one policy lets them change in its period. What came and went in the period
// before counts.
std::int64_t policy_limit(const Json& policy, bool up, std::int64_t current, const ScalingHistory& history,
                          Time now) {
  const Time since = now - Duration::seconds(policy.int_at("periodSeconds"));
  const std::int64_t start = current - sum_since(history.added, since) + sum_since(history.removed, since);
  const std::int64_t value = policy.int_at("value");
  if (policy.string_at("type") == "Pods") return up ? start + value : start - value;
  // Up to the next whole replica, down to the one below.
  if (up) return (start * (kHundred + value) + kHundred - 1) / kHundred;
  return start * (kHundred - value) / kHundred;
}

std::int64_t rules_limit(const Json& rules, bool up, std::int64_t current, const ScalingHistory& history,
                         Time now) {
  const std::string_view select = rules.string_at("selectPolicy");
  const JsonArray& policies = rules.items_at("policies");
  if (select == "Disabled" || policies.empty()) return current;
  // Max is the largest change: the most replicas up, the fewest down.
  const bool takes_most = (select == "Min") != up;
  std::optional<std::int64_t> limit;
  for (const Json& policy : policies) {
    const std::int64_t one = policy_limit(policy, up, current, history, now);
    limit = !limit ? one : takes_most ? std::max(*limit, one) : std::min(*limit, one);
  }
  // Changes that are done stay, also where the period has had more of them than the policy of now allows.
  return up ? std::max(*limit, current) : std::min(*limit, current);
}

// The recommendation that counts: the lowest of one window before replicas are added, the highest of another
// before they are removed.
std::int64_t stabilized(const Json& spec, std::int64_t current, std::int64_t wanted,
                        const ScalingHistory& history, Time now) {
  const Json& behavior = spec.part("behavior");
  const Time up_since = now - window_of(behavior.part("scaleUp"), Duration());
  const Time down_since = now - window_of(behavior.part("scaleDown"), kDownStabilization);
  std::int64_t least = wanted, most = wanted;
  for (const ScalingMoment& earlier : history.recommended) {
    if (earlier.at > up_since) least = std::min(least, earlier.replicas);
    if (earlier.at > down_since) most = std::max(most, earlier.replicas);
  }
  return std::min(std::max(current, least), most);
}

}  // namespace

void ScalingHistory::note_recommended(std::int64_t replicas, Time now) {
  note_moment(recommended, replicas, now, kStabilizationMax);
}

void ScalingHistory::note_scaled(std::int64_t from, std::int64_t to, Time now) {
  if (to > from) note_moment(added, to - from, now, kPolicyPeriodMax);
  if (to < from) note_moment(removed, from - to, now, kPolicyPeriodMax);
}

Tolerances tolerances_of(const Json& spec) {
  Tolerances tolerances;
  const Json& behavior = spec.part("behavior");
  if (const auto up = parse_quantity(behavior.part("scaleUp").string_at("tolerance"))) tolerances.up = *up;
  if (const auto down = parse_quantity(behavior.part("scaleDown").string_at("tolerance")))
    tolerances.down = *down;
  return tolerances;
}

ScalingLimits limited_replicas(const Json& spec, std::int64_t current, std::int64_t wanted,
                               ScalingHistory& history, Time now) {
  ScalingLimits limits;
  limits.replicas = stabilized(spec, current, wanted, history, now);
  history.note_recommended(wanted, now);
  if (limits.replicas < wanted)
    limits.able_to_scale = scaling_condition(
        "AbleToScale", true, "ScaleUpStabilized",
        "recent recommendations were lower than current one, applying the lowest recent recommendation");
  else if (limits.replicas > wanted)
    limits.able_to_scale = scaling_condition(
        "AbleToScale", true, "ScaleDownStabilized",
        "recent recommendations were higher than current one, applying the highest recent recommendation");
  else
    limits.able_to_scale =
        scaling_condition("AbleToScale", true, "ReadyForNewScale", "recommended size matches current size");

  const Json& behavior = spec.part("behavior");
  const bool has_rules = behavior.is_object();
  const std::int64_t most = spec.int_at("maxReplicas"), least = spec.int_at("minReplicas", 1);
  const std::int64_t up_limit = has_rules ? rules_limit(behavior.part("scaleUp"), true, current, history, now)
                                          : std::max(current * kScaleUpFactor, kScaleUpFloor);
  const std::int64_t down_limit =
      has_rules ? rules_limit(behavior.part("scaleDown"), false, current, history, now) : 0;
  const std::int64_t asked = limits.replicas;
  limits.replicas = std::max({std::min({asked, most, up_limit}), least, down_limit});
  const auto limited = [&](const char* reason, const char* message) {
    limits.scaling_limited = scaling_condition("ScalingLimited", true, reason, message);
  };
  if (limits.replicas < asked && up_limit < most)
    limited("ScaleUpLimit", "the desired replica count is increasing faster than the maximum scale rate");
  else if (limits.replicas < asked)
    limited("TooManyReplicas", "the desired replica count is more than the maximum replica count");
  else if (limits.replicas > asked && down_limit > least)
    limited("ScaleDownLimit", "the desired replica count is decreasing faster than the maximum scale rate");
  else if (limits.replicas > asked)
    limited("TooFewReplicas", "the desired replica count is less than the minimum replica count");
  else
    limits.scaling_limited = scaling_condition("ScalingLimited", false, "DesiredWithinRange",
                                               "the desired count is within the acceptable range");
  return limits;
}

}  // namespace berth::controllers
