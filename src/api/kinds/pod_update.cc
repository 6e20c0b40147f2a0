// The changes that an existing pod permits.
#include <algorithm>
#include <set>

#include "api/kinds/core_parts.h"
#include "api/kinds/pod.h"

namespace berth::api {
namespace {

constexpr std::string_view kMayChange =
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";
constexpr std::string_view kOnlyAdditions = "only additions are allowed (no mutations or deletions)";
constexpr std::string_view kRequiredAffinity = "requiredDuringSchedulingIgnoredDuringExecution";

// Sets or removes a member so that it equals that of `old`.
void take(Json& object, const Json* old, std::string_view key) {
  if (const Json* value = present(old, key))
    object[key] = *value;
  else
    object.as_object().erase(key);
}

FieldErrors check_deadline(const FieldPath& path, const Json& next, const Json& old) {
  const Json* wanted = present(next, "activeDeadlineSeconds");
  const Json* stored = present(old, "activeDeadlineSeconds");
  const FieldPath at = path.child("activeDeadlineSeconds");
  if (wanted && stored && wanted->as_int() > stored->as_int())
    return {invalid(at, *wanted, "must be less than or equal to previous value")};
  if (!wanted && stored)
    return {invalid(at, nullptr, "must not update from a positive integer to nil value")};
  return {};
}

FieldErrors check_added_tolerations(const FieldPath& path, const JsonArray& next, const JsonArray& old) {
  for (const Json& toleration : old) {
    const bool kept = std::any_of(next.begin(), next.end(), [&](const Json& candidate) {
      Json expected = toleration;
      take(expected, &candidate, "tolerationSeconds");
      return expected == candidate;
    });
    if (!kept)
      return {forbidden(path, "existing toleration can not be modified except its tolerationSeconds")};
  }
  return {};
}

FieldErrors check_removed_gates(const FieldPath& path, const JsonArray& next, const JsonArray& old) {
  FieldErrors errors;
  const NamedItems known(old, "name");
  for (std::size_t i = 0; i < next.size(); ++i) {
    const std::string_view name = next[i].string_at("name");
    if (!known.find(name))
      errors.push_back(
          forbidden(path.index(i).child("name"),
                    "only deletion is allowed, but found new scheduling gate '" + std::string(name) + "'"));
  }
  return errors;
}

FieldErrors check_added_selector(const FieldPath& path, const Json& next, const Json& old) {
  const Json* wanted = present(next, "nodeSelector");
  for (const JsonMember& member : entries(present(old, "nodeSelector"))) {
    const Json* kept = wanted ? present(*wanted, member.key) : nullptr;
    if (!kept || *kept != member.value)
      return {invalid(path.child("nodeSelector"), value_or_null(wanted),
                      "only additions to spec.nodeSelector are allowed (no mutations or deletions)")};
  }
  return {};
}

// An empty term must stay empty: any addition would widen it.
bool only_adds(const Json& next, const Json& old) {
  bool old_is_empty = true;
  bool next_is_empty = true;
  for (std::string_view list : {"matchExpressions", "matchFields"}) {
    const JsonArray& stored = items(&old, list);
    const JsonArray& wanted = items(&next, list);
    old_is_empty = old_is_empty && stored.empty();
    next_is_empty = next_is_empty && wanted.empty();
    const ItemSet kept(wanted);
    for (const Json& requirement : stored)
      if (!kept.has(requirement)) return false;
  }
  return !old_is_empty || next_is_empty;
}

FieldErrors check_affinity_change(const FieldPath& path, const Json* next, const Json* old) {
  const JsonArray& stored = items(present(old, kRequiredAffinity), "nodeSelectorTerms");
  if (stored.empty()) return {};
  const FieldPath at = path.child(kRequiredAffinity).child("nodeSelectorTerms");
  const Json* selector = present(next, kRequiredAffinity);
  const JsonArray& wanted = items(selector, "nodeSelectorTerms");
  const TypeInfo& type = core_type("NodeSelectorTerm");
  if (wanted.size() != stored.size())
    return {invalid(at, go_form_of_list(wanted, type),
                    "no additions/deletions to non-empty NodeSelectorTerms list are allowed")};
  FieldErrors errors;
  for (std::size_t i = 0; i < stored.size(); ++i)
    if (!only_adds(wanted[i], stored[i]))
      errors.push_back(invalid(at.index(i), go_form(wanted[i], type), kOnlyAdditions));
  return errors;
}

// The rules of gated pods; permitted changes are reverted to `old`, so that they count as unchanged.
FieldErrors check_gated_change(const FieldPath& path, Json& munged, const Json& old) {
  FieldErrors errors = check_added_selector(path, munged, old);
  take(munged, &old, "nodeSelector");
  const Json* wanted = present_at(munged, {"affinity", "nodeAffinity"});
  const Json* old_affinity = present(old, "affinity");
  const Json* stored = present(old_affinity, "nodeAffinity");
  if (same(wanted, stored)) return errors;
  append(errors, check_affinity_change(path.child("affinity").child("nodeAffinity"), wanted, stored));
  Json affinity = value_or_null(present(munged, "affinity"));
  if (affinity.is_null()) affinity = Json::object();
  take(affinity, old_affinity, "nodeAffinity");
  if (affinity.as_object().empty() && !old_affinity)
    munged.as_object().erase("affinity");
  else
    munged["affinity"] = std::move(affinity);
  return errors;
}

// `spec` with every changeable field as in `old`.
Json without_changeable(const Json& spec, const Json& old) {
  Json munged = spec;
  for (std::string_view list : {"containers", "initContainers"}) {
    JsonArray& containers = items(munged, list);
    const JsonArray& stored = items(&old, list);
    for (std::size_t i = 0; i < std::min(containers.size(), stored.size()); ++i)
      take(containers[i], &stored[i], "image");
  }
  for (std::string_view key : {"activeDeadlineSeconds", "tolerations", "schedulingGates"})
    take(munged, &old, key);
  const bool grace_mended =
      old.int_at("terminationGracePeriodSeconds") < 0 && munged.int_at("terminationGracePeriodSeconds") == 1;
  if (grace_mended) take(munged, &old, "terminationGracePeriodSeconds");
  return munged;
}

// One line for each different member, in the order of the API: the requested value and the one that stays.
std::string differences(const Json& next, const Json& old) {
  std::string lines;
  for (const FieldInfo& field : core_type("PodSpec").fields()) {
    const Json* asked = present(next, field.json);
    const Json* kept = present(old, field.json);
    if (same(asked, kept)) continue;
    lines.append("- ").append(field.json).append(": ");
    append_to(lines, value_or_null(asked));
    lines.append("\n+ ").append(field.json).append(": ");
    append_to(lines, value_or_null(kept));
    lines += '\n';
  }
  return lines;
}

FieldErrors check_resize(const Json& next, const Json& old) {
  const std::string_view before = qos_class_of(old);
  if (qos_class_of(next) == before) return {};
  return {invalid("spec", before, "Pod QOS Class may not change as a result of resizing")};
}

const Json& spec_of(const Json& pod) {
  static const Json kNone = Json::object();
  const Json* spec = present(pod, "spec");
  return spec ? *spec : kNone;
}

// "claim:<claim>/<request>" of status.extendedResourceClaimStatus, where the container requests the resource.
bool is_of_extended_claim(std::string_view name, const Json& container, const Json* extended) {
  const Json* requests = present(present(container, "resources"), "requests");
  const std::string claim = extended ? "claim:" + std::string(extended->string_at("resourceClaimName")) : "";
  for (const Json& mapping : items(extended, "requestMappings")) {
    if (mapping.string_at("containerName") != container.string_at("name")) continue;
    const Json* amount = requests ? present(*requests, mapping.string_at("resourceName")) : nullptr;
    if (name == claim + "/" + std::string(mapping.string_at("requestName")) && amount) return true;
  }
  return false;
}

// "claim:a" or "claim:a/request" of a container's claims, or a resource that it requests.
bool is_of_container(std::string_view name, const Json* container, const Json* extended) {
  const Json* resources = present(container, "resources");
  if (!name.starts_with("claim:")) {
    const Json* requests = present(resources, "requests");
    return requests && present(*requests, name);
  }
  for (const Json& claim : items(resources, "claims")) {
    std::string known = "claim:" + std::string(claim.string_at("name"));
    if (const std::string_view request = claim.string_at("request"); !request.empty())
      known.append("/").append(request);
    if (name == known) return true;
  }
  return container && is_of_extended_claim(name, *container, extended);
}

FieldErrors check_health(const FieldPath& path, const JsonArray& resources, const Json* container,
                         const Json* extended) {
  FieldErrors errors;
  for (std::size_t i = 0; i < resources.size(); ++i) {
    const FieldPath at = path.index(i);
    const std::string_view name = resources[i].string_at("name");
    if (!is_of_container(name, container, extended))
      errors.push_back(invalid(
          at.child("name"), name,
          name.starts_with("claim:")
              ? "must match one of the container's resource claims as 'claim:<claimName>/<requestName>' when "
                "container.resources.claims[*].request is set or 'claim:<claimName>' when it is empty"
              : "must match one of the container's resource requests"));
    const JsonArray& units = items(&resources[i], "resources");
    const NamedItems by_id(units, "resourceID");
    for (std::size_t j = 0; j < units.size(); ++j) {
      const FieldPath unit = at.child("resources").index(j);
      const std::string_view id = units[j].string_at("resourceID");
      if (by_id.is_repeated(units[j])) errors.push_back(duplicate(unit.child("resourceID"), id));
      if (const std::string_view health = units[j].string_at("health"); !health.empty())
        append(errors, check_one_of(unit.child("health"), health, {"Healthy", "Unhealthy", "Unknown"}));
    }
  }
  return errors;
}

FieldErrors check_claim_statuses(const FieldPath& path, const JsonArray& statuses, const JsonArray& claims) {
  FieldErrors errors;
  const NamedItems by_name(statuses, "name"), claims_by_name(claims, "name");
  for (std::size_t i = 0; i < statuses.size(); ++i) {
    const FieldPath at = path.index(i);
    const std::string_view name = statuses[i].string_at("name");
    if (!claims_by_name.find(name))
      errors.push_back(
          invalid(at.child("name"), name, "must match the name of an entry in `spec.resourceClaims`"));
    if (by_name.is_repeated(statuses[i])) errors.push_back(duplicate(at.child("name"), name));
    if (const Json* claim = present(statuses[i], "resourceClaimName"))
      append(errors, check_format(at.child("resourceClaimName"), claim->as_string(), dns_subdomain_problems));
  }
  return errors;
}

struct StatusList {
  std::string_view statuses;
  std::string_view containers;
};
constexpr StatusList kStatusLists[] = {{"initContainerStatuses", "initContainers"},
                                       {"containerStatuses", "containers"},
                                       {"ephemeralContainerStatuses", "ephemeralContainers"}};

}  // namespace

FieldErrors validate_pod_update(const Json& next, const Json& old, const RuleContext& ctx) {
  const FieldPath path("spec");
  const Json& spec = spec_of(next);
  const Json& stored = spec_of(old);
  if (spec == stored) return {};
  if (ctx.subresource == "resize") return check_resize(next, old);
  FieldErrors errors = check_pod_spec(path, spec, "");
  append(errors, check_images(path, spec));
  if (ctx.subresource == "ephemeralcontainers") return errors;
  for (std::string_view list : {"containers", "initContainers"})
    if (items(&spec, list).size() != items(&stored, list).size()) {
      errors.push_back(forbidden(path.child(list), "pod updates may not add or remove containers"));
      return errors;
    }
  if (FieldErrors found = check_deadline(path, spec, stored); !found.empty()) {
    append(errors, std::move(found));
    return errors;
  }
  const JsonArray& old_gates = items(&stored, "schedulingGates");
  append(errors, check_added_tolerations(path.child("tolerations"), items(&spec, "tolerations"),
                                         items(&stored, "tolerations")));
  append(errors,
         check_removed_gates(path.child("schedulingGates"), items(&spec, "schedulingGates"), old_gates));
  Json munged = without_changeable(spec, stored);
  if (!old_gates.empty()) append(errors, check_gated_change(path, munged, stored));
  if (munged != stored)
    errors.push_back(forbidden(path, std::string(kMayChange) + "\n" + differences(munged, stored)));
  return errors;
}

FieldErrors validate_pod_status_update(const Json& next, const Json& old, const RuleContext&) {
  const FieldPath path("status");
  const Json* status = present(next, "status");
  const Json* stored = present(old, "status");
  const Json& spec = spec_of(next);
  FieldErrors errors;
  const auto changed = [&](std::string_view key) {
    return !same(present(status, key), present(stored, key));
  };
  if (changed("nominatedNodeName"))
    if (const std::string_view node = status ? status->string_at("nominatedNodeName") : ""; !node.empty()) {
      append(errors, check_format(path.child("nominatedNodeName"), node, dns_subdomain_problems));
      if (!spec_of(old).string_at("nodeName").empty())
        errors.push_back(forbidden(path.child("nominatedNodeName"),
                                   "may not be set on pods that are already bound to a node"));
    }
  if (changed("resourceClaimStatuses"))
    append(errors,
           check_claim_statuses(path.child("resourceClaimStatuses"), items(status, "resourceClaimStatuses"),
                                items(&spec, "resourceClaims")));
  for (const StatusList& list : kStatusLists) {
    if (!changed(list.statuses)) continue;
    const JsonArray& statuses = items(status, list.statuses);
    const NamedItems containers(items(&spec, list.containers), "name");
    for (std::size_t i = 0; i < statuses.size(); ++i)
      append(errors, check_health(path.child(list.statuses).index(i).child("allocatedResourcesStatus"),
                                  items(&statuses[i], "allocatedResourcesStatus"),
                                  containers.find(statuses[i].string_at("name")),
                                  status ? present(*status, "extendedResourceClaimStatus") : nullptr));
  }
  return errors;
}

}  // namespace berth::api
