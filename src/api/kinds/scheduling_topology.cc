#include "api/kinds/scheduling_kinds.h"
#include "api/kinds/scheduling_parts.h"
#include "api/types/topology.h"

namespace berth::api {
namespace {

FieldErrors check_level(const FieldPath& path, const JsonArray& levels, std::size_t at) {
  const std::string_view name = text_at(levels[at], "name"), label = text_at(levels[at], "nodeLabel");
  FieldErrors errors = check_required(path.child("name"), name, dns_label_problems);
  append(errors, check_required(path.child("nodeLabel"), label, qualified_name_problems));
  if (item_named(levels, "name", name) != &levels[at]) errors.push_back(duplicate(path.child("name"), name));
  if (item_named(levels, "nodeLabel", label) != &levels[at])
    errors.push_back(duplicate(path.child("nodeLabel"), label));
  return errors;
}

FieldErrors validate_topology(const Json& topology, const RuleContext&) {
  const FieldPath path = FieldPath("spec").child("levels");
  const JsonArray& levels = items(present(topology, "spec"), "levels");
  if (levels.empty()) return {required(path, "a topology has 1 to 8 levels, the broadest first")};
  FieldErrors errors = check_count(path, levels.size(), kTopologyLevelsMax);
  for (std::size_t i = 0; i < levels.size() && i < kTopologyLevelsMax; ++i)
    append(errors, check_level(path.index(i), levels, i));
  return errors;
}

}  // namespace

KindRules topology_rules() {
  KindRules rules;
  rules.group = kBerthGroup;
  rules.resource = "topologies";
  rules.has_generation = true;
  rules.prepare_create = [](Json& topology, const RuleContext&) { topology.as_object().erase("status"); };
  rules.validate_create = validate_topology;
  return rules;
}

}  // namespace berth::api
