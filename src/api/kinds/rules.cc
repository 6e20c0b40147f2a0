#include <map>

#include "api/kind_rules.h"

namespace berth::api {
namespace {

constexpr KindRules kGeneric;

using Family = std::span<const KindRules> (*)();
constexpr Family kFamilies[] = {core_rules, resource_rules, scheduling_rules, workload_rules, stored_rules};

using RowName = std::pair<std::string_view, std::string_view>;

std::map<RowName, const KindRules*> rows_by_name() {
  std::map<RowName, const KindRules*> rows;
  for (Family family : kFamilies)
    for (const KindRules& rules : family()) rows.try_emplace({rules.group, rules.resource}, &rules);
  return rows;
}

}  // namespace

const KindRules& rules_of(std::string_view group, std::string_view resource) {
  static const std::map<RowName, const KindRules*> kRows = rows_by_name();
  const auto found = kRows.find({group, resource});
  return found == kRows.end() ? kGeneric : *found->second;
}

}  // namespace berth::api
