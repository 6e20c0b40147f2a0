#include "api/types/placement_policy.h"

namespace berth::api {
namespace {

std::optional<std::int64_t> size_at(const Json& size, std::string_view name) {
  const Json* found = size.find(name);
  return found && found->is_int() ? std::optional(found->as_int()) : std::nullopt;
}

}  // namespace

std::string to_text(const PlacementTarget& target) {
  return target.kind + (target.group.empty() ? "" : "." + target.group) + "/" + target.name;
}

PlacementTarget target_of(const OwnerReference& owner) {
  const std::size_t slash = owner.api_version.find('/');
  return {slash == std::string::npos ? "" : owner.api_version.substr(0, slash), owner.kind, owner.name};
}

std::vector<OwnerReference> owners_of_document(const Json& object) {
  std::vector<OwnerReference> owners = decode_meta(object).owners;
  const Json& parent = object.part("spec").part("controllerRef");
  if (object.string_at("kind") != "Workload" || !parent.is_object()) return owners;
  const std::string group(parent.string_at("apiGroup"));
  owners.push_back({group.empty() ? "v1" : group + "/v1", std::string(parent.string_at("kind")),
                    std::string(parent.string_at("name")), ""});
  return owners;
}

bool is_about_groups(const PlacementTarget& target) {
  return target.group == kGroupsApi && (target.kind == "PodGroup" || target.kind == "CompositePodGroup");
}

PlacementPolicy decode_placement_policy(const Json& object, RawPtr raw) {
  PlacementPolicy policy = begin_decoded<PlacementPolicy>(object, std::move(raw));
  const Json& spec = object.part("spec");
  const Json& target = spec.part("targetRef");
  policy.target = {std::string(target.string_at("group")), std::string(target.string_at("kind")),
                   std::string(target.string_at("name"))};
  policy.topology = spec.string_at("topology");
  policy.required = spec.string_at("required");
  policy.preferred = decode_strings(spec.items_at("preferred"));
  if (policy.preferred.size() > kPreferredLevelsMax) policy.preferred.resize(kPreferredLevelsMax);
  if (const Json& segments = spec.part("segments"); segments.is_object()) {
    const Json& size = segments.part("size");
    policy.segments = {std::string(segments.string_at("level")), size_at(size, "min"), size_at(size, "max")};
  }
  policy.balanced = spec.string_at("distribution") == "Balanced";
  policy.contiguous_ranks = spec.string_at("ranks") == "Contiguous";
  if (const Json& same = spec.part("sameDevices"); same.is_object())
    policy.same_devices = {std::string(same.string_at("claim")), std::string(same.string_at("attribute"))};
  policy.replaces_failed_nodes = spec.string_at("replaceFailedNodes") == "WithinDomain";
  policy.status = object.part("status");
  return policy;
}

}  // namespace berth::api
