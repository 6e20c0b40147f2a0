#include "api/kind_rules.h"

namespace berth::api {
namespace {

constexpr KindRules kGeneric;

using Family = std::span<const KindRules> (*)();
constexpr Family kFamilies[] = {core_rules, resource_rules, scheduling_rules, workload_rules};

}  // namespace

const KindRules& rules_of(std::string_view group, std::string_view resource) {
  for (Family family : kFamilies)
    for (const KindRules& rules : family())
      if (rules.group == group && rules.resource == resource) return rules;
  return kGeneric;
}

}  // namespace berth::api
