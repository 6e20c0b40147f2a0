// Which requests a webhook or a policy sees: rules, selectors, and versions of
// the same objects.
//
// Immutable, any thread. Source: MatchResources of
// admissionregistration.k8s.io/v1; policy/matching of k8s.io/apiserver 1.37.
#pragma once

#include <vector>

#include "admission/rules.h"
#include "api/selectors.h"

namespace berth::admission {

struct MatchCriteria {
  std::vector<Rule> rules, excluded;
  bool sees_all = false;  // without rules: those of a binding narrow its policy's
  api::LabelSelector namespaces, objects;
  bool sees_equivalents = true;  // matchPolicy
};

// `fields` is a webhook, whose rules are in `rules`, or a MatchResources.
MatchCriteria read_match(const Json& fields);
MatchCriteria read_match_resources(const Json& resources);

// The resource as which the request is seen: its own or, where equivalents
// count, the first of `equivalents` that a rule names. Null: it is not seen.
const GroupVersionResource* seen_resource(const MatchCriteria& match, const Attributes& attributes,
                                          const std::vector<GroupVersionResource>& equivalents);

}  // namespace berth::admission
