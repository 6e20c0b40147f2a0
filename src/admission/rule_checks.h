// Checks of fields that webhooks and policies share.
//
// Pure, any thread. Source: validation of admissionregistration.k8s.io in
// Kubernetes 1.37.
#pragma once

#include <initializer_list>
#include <string_view>

#include "api/field_error.h"
#include "base/json.h"
#include "cel/environment.h"

namespace berth::admission {

void check_rule(api::FieldErrors& errors, const Json& rule, const api::FieldPath& path);
// Nothing for an absent member.
void check_choice(api::FieldErrors& errors, const Json& object, std::string_view member,
                  std::initializer_list<std::string_view> choices, const api::FieldPath& path);
void check_conditions(api::FieldErrors& errors, const JsonArray& conditions,
                      const cel::Environment& environment, const api::FieldPath& path);
// Of namespaceSelector and objectSelector.
api::FieldErrors selector_problems(const Json& object, const api::FieldPath& path);
std::string joined(const std::vector<std::string>& texts);

}  // namespace berth::admission
