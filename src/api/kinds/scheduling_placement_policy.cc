#include "api/kinds/core_parts.h"
#include "api/kinds/scheduling_kinds.h"
#include "api/kinds/scheduling_parts.h"
#include "api/types/placement_policy.h"

namespace berth::api {
namespace {

constexpr std::size_t kTargetKindBytesMax = 63;

// A level is named by its name or by its node label; names are labels of DNS, which are qualified names.
FieldErrors check_level_name(const FieldPath& path, std::string_view level) {
  return check_required(path, level, qualified_name_problems);
}

FieldErrors check_target(const FieldPath& path, const Json* target) {
  if (!target) return {required(path, "names the object whose groups the policy is about")};
  FieldErrors errors;
  if (const std::string_view group = text_at(*target, "group"); !group.empty())
    append(errors, check_format(path.child("group"), group, dns_subdomain_problems));
  const std::string_view kind = text_at(*target, "kind");
  if (kind.empty()) errors.push_back(required(path.child("kind")));
  if (kind.size() > kTargetKindBytesMax) errors.push_back(too_long(path.child("kind"), kTargetKindBytesMax));
  append(errors, check_required(path.child("name"), text_at(*target, "name"), dns_subdomain_problems));
  return errors;
}

FieldErrors check_preferred(const FieldPath& path, const JsonArray& preferred) {
  FieldErrors errors = check_count(path, preferred.size(), kPreferredLevelsMax);
  ItemSet seen;
  for (std::size_t i = 0; i < preferred.size() && i < kPreferredLevelsMax; ++i) {
    append(errors, check_level_name(path.index(i), preferred[i].is_string() ? preferred[i].as_string() : ""));
    if (!seen.add(preferred[i])) errors.push_back(duplicate(path.index(i), preferred[i]));
  }
  return errors;
}

FieldErrors check_segments(const FieldPath& path, const Json& segments) {
  FieldErrors errors = check_level_name(path.child("level"), text_at(segments, "level"));
  const FieldPath at = path.child("size");
  const Json* size = present(segments, "size");
  const Json *min = present(size, "min"), *max = present(size, "max");
  if (!min && !max) {
    errors.push_back(required(at, "min, max or both: how many pods a domain gets"));
    return errors;
  }
  for (const auto& [name, count] : {std::pair("min", min), std::pair("max", max)})
    if (count && count->as_int() < 1)
      errors.push_back(invalid(at.child(name), *count, "must be greater than or equal to 1"));
  if (min && max && min->as_int() > max->as_int())
    errors.push_back(invalid(at.child("min"), *min, "must not be greater than max"));
  return errors;
}

FieldErrors check_word(const Json& spec, std::string_view field,
                       std::initializer_list<std::string_view> words) {
  const std::string_view word = text_at(spec, field);
  return word.empty() ? FieldErrors() : check_one_of(FieldPath("spec").child(field), word, words);
}

FieldErrors validate_wishes(const Json& policy, const RuleContext&) {
  static const Json kNone = Json::object();
  const FieldPath path("spec");
  const Json* found = present(policy, "spec");
  const Json& spec = found ? *found : kNone;
  FieldErrors errors = check_target(path.child("targetRef"), present(spec, "targetRef"));
  if (const std::string_view name = text_at(spec, "topology"); !name.empty())
    append(errors, check_format(path.child("topology"), name, dns_subdomain_problems));
  if (const std::string_view level = text_at(spec, "required"); !level.empty())
    append(errors, check_level_name(path.child("required"), level));
  append(errors, check_preferred(path.child("preferred"), items(&spec, "preferred")));
  if (const Json* segments = present(spec, "segments"))
    append(errors, check_segments(path.child("segments"), *segments));
  append(errors, check_word(spec, "distribution", {"Balanced", "Packed"}));
  append(errors, check_word(spec, "ranks", {"Contiguous"}));
  if (const Json* same = present(spec, "sameDevices")) {
    const FieldPath at = path.child("sameDevices");
    append(errors, check_required(at.child("claim"), text_at(*same, "claim"), dns_label_problems));
    append(errors, check_full_name(at.child("attribute"), text_at(*same, "attribute")));
  }
  append(errors, check_word(spec, "replaceFailedNodes", {"Never", "WithinDomain"}));
  append(errors, check_word(spec, "whenNoSpare", {"ReplaceGroup", "Wait", "Widen"}));
  return errors;
}

}  // namespace

KindRules placement_policy_rules() {
  KindRules rules;
  rules.group = kBerthGroup;
  rules.resource = "placementpolicies";
  rules.has_generation = true;
  rules.prepare_create = [](Json& policy, const RuleContext&) { policy.as_object().erase("status"); };
  rules.validate_create = validate_wishes;
  return rules;
}

}  // namespace berth::api
