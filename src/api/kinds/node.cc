// Rules of core/v1 Node.
#include <algorithm>
#include <set>

#include "api/kinds/core_kinds.h"
#include "api/kinds/core_parts.h"
#include "api/kinds/network_address.h"

namespace berth::api {
namespace {

constexpr std::string_view kNotReady = "node.kubernetes.io/not-ready";
constexpr std::string_view kAmountLists[] = {"capacity", "allocatable"};

// podCIDR is the first of podCIDRs; when they differ, podCIDR wins.
void join_ranges(Json& spec) {
  static const TypeInfo& type = core_type("NodeSpec");
  const std::string range(spec.string_at("podCIDR"));
  const JsonArray& ranges = items(&spec, "podCIDRs");
  const std::string first = ranges.empty() ? std::string() : ranges[0].as_string();
  if (range == first) return;
  if (range.empty())
    put(spec, type, "podCIDR", first);
  else
    put(spec, type, "podCIDRs", Json::array({range}));
}

void set_defaults(Json& node) {
  static const TypeInfo& type = core_type("NodeStatus");
  if (Json* spec = present(node, "spec")) join_ranges(*spec);
  Json* status = present(node, "status");
  if (!status) return;
  const Json* capacity = present(*status, "capacity");
  if (capacity && !present(*status, "allocatable")) put(*status, type, "allocatable", Json(*capacity));
}

bool is_not_ready_taint(const Json& taint) {
  return taint.string_at("key") == kNotReady && taint.string_at("effect") == "NoSchedule";
}

// A node accepts no pods before its status is Ready.
std::optional<Rejection> admit_create(Json& node, const RuleContext&) {
  static const TypeInfo& type = core_type("Node");
  static const TypeInfo& spec_type = core_type("NodeSpec");
  put_default(node, type, "spec", Json::object());
  Json& spec = *present(node, "spec");
  put_default(spec, spec_type, "taints", Json::array());
  JsonArray& taints = items(spec, "taints");
  if (std::none_of(taints.begin(), taints.end(), is_not_ready_taint))
    taints.push_back(Json::object({{"key", kNotReady}, {"effect", "NoSchedule"}}));
  return std::nullopt;
}

bool is_ready(const Json& node) {
  const Json* ready = item_named(items(present(node, "status"), "conditions"), "type", "Ready");
  return ready && ready->string_at("status") == "True";
}

// Metadata may change through the status subresource. In place of the node controller: a ready node loses the
// taint that it got when it was created.
void prepare_status_update(Json& next, const Json& old, const RuleContext&) {
  static const TypeInfo& type = core_type("Node");
  if (const Json* spec = present(old, "spec"); !same(present(next, "spec"), spec))
    put(next, type, "spec", value_or_null(spec));
  Json* spec = present(next, "spec");
  if (!spec || !is_ready(next)) return;
  JsonArray& taints = items(*spec, "taints");
  const auto end = std::remove_if(taints.begin(), taints.end(), is_not_ready_taint);
  if (end == taints.end()) return;
  taints.erase(end, taints.end());
  if (taints.empty()) spec->as_object().erase("taints");
}

FieldErrors check_amounts(const Json& node) {
  FieldErrors errors;
  for (std::string_view list : kAmountLists)
    for (const JsonMember& member : entries(present_at(node, {"status", list})))
      append(errors, check_amount(FieldPath("status").child(list).child(member.key), member.key,
                                  member.value.as_string()));
  return errors;
}

// At most one range of each family. A text that is no range is told a second time then, as in the reference.
FieldErrors check_families(const FieldPath& path, const JsonArray& ranges) {
  if (ranges.size() < 2) return {};
  FieldErrors errors;
  std::set<int> families;
  for (std::size_t i = 0; i < ranges.size() && !families.contains(0); ++i) {
    families.insert(family_of_range(ranges[i].as_string()));
    if (families.contains(0))
      errors.push_back(
          {FieldErrorType::Internal, path.text(),
           "Internal error: invalid PodCIDRs. failed to check with dual stack with error:invalid CIDR[" +
               std::to_string(i) + "]: <nil> (invalid CIDR address: " + ranges[i].as_string() + ")"});
  }
  if (families.size() != 2 || families.contains(0) || ranges.size() > 2)
    errors.push_back(invalid(path, ranges, "may specify no more than one CIDR for each IP family"));
  return errors;
}

// A cause for each range that changed; one when their number did.
FieldErrors check_changed_ranges(const FieldPath& path, const JsonArray& ranges, const JsonArray& stored) {
  FieldErrors errors = check_ranges(path, ranges);
  if (!errors.full()) append(errors, check_families(path, ranges));
  std::size_t changed = stored.empty() ? 0 : 1;
  if (ranges.size() == stored.size()) {
    changed = 0;
    for (std::size_t i = 0; i < ranges.size(); ++i) changed += ranges[i] == stored[i] ? 0 : 1;
  }
  for (std::size_t i = 0; i < changed && !errors.full(); ++i)
    errors.push_back(forbidden(path, "node updates may not change podCIDR except from \"\" to valid"));
  return errors;
}

FieldErrors validate_create(const Json& node, const RuleContext&) {
  const Json* spec = present(node, "spec");
  FieldErrors errors = check_taints(FieldPath("metadata").child("taints"), items(spec, "taints"));
  append(errors, check_amounts(node));
  append(errors, check_ranges(FieldPath("spec").child("podCIDRs"), items(spec, "podCIDRs")));
  if (!errors.full())
    append(errors, check_families(FieldPath("spec").child("podCIDRs"), items(spec, "podCIDRs")));
  return errors;
}

FieldErrors validate_update(const Json& next, const Json& old, const RuleContext&) {
  const Json* spec = present(next, "spec");
  const Json* stored = present(old, "spec");
  const FieldPath path("spec");
  FieldErrors errors;
  if (!same(present(spec, "taints"), present(stored, "taints")))
    append(errors, check_taints(FieldPath("metadata").child("taints"), items(spec, "taints")));
  if (!same(present(spec, "podCIDRs"), present(stored, "podCIDRs")))
    append(errors,
           check_changed_ranges(path.child("podCIDRs"), items(spec, "podCIDRs"), items(stored, "podCIDRs")));
  const std::string_view provider = stored ? stored->string_at("providerID") : "";
  const std::string_view wanted = spec ? spec->string_at("providerID") : "";
  if (!provider.empty() && wanted != provider)
    errors.push_back(
        invalid(path.child("providerID"), nullptr,
                wanted.empty() ? "field cannot be cleared once set" : "field cannot be modified once set"));
  return errors;
}

FieldErrors validate_status_update(const Json& next, const Json& old, const RuleContext&) {
  for (std::string_view list : kAmountLists)
    if (!same(present_at(next, {"status", list}), present_at(old, {"status", list})))
      return check_amounts(next);
  return {};
}

}  // namespace

KindRules node_rules() {
  KindRules rules;
  rules.resource = "nodes";
  rules.set_defaults = set_defaults;
  rules.admit_create = admit_create;
  rules.prepare_status_update = prepare_status_update;
  rules.validate_create = validate_create;
  rules.validate_update = validate_update;
  rules.validate_status_update = validate_status_update;
  return rules;
}

}  // namespace berth::api
