#include "dra/compiled_request.h"

#include <algorithm>

#include "base/key_bytes.h"
#include "dra/pools/constraints.h"

namespace berth::dra {
namespace {

Error refuse(const api::ResourceClaim& claim, const std::string& request, std::string_view why) {
  std::string text = text_of(claim);
  if (!request.empty()) text += ", request " + request;
  return Error(ErrorCode::Invalid, text + ": " + std::string(why));
}

// Why a request is not supported at all; empty when it is.
std::string_view unsupported(const DeviceGates& gates, const api::DeviceRequest& request,
                             const api::DeviceSubRequest& sub) {
  if (request.prioritized && !gates.prioritized_list) return "has subrequests, but the feature is disabled";
  if (sub.admin_access && !gates.admin_access)
    return "admin access is requested, but the feature is disabled";
  if (!sub.capacity.empty() && !gates.consumable_capacity)
    return "has capacity requests, but the feature is disabled";
  if (!sub.derived_attributes.empty() && !gates.derived_attributes)
    return "has derived attributes, but the feature is disabled";
  if (sub.device_class.empty()) return "has no device class";
  return {};
}

Result<CompiledSubRequest> compile_sub(const model::Cluster& cluster, Inventory& inventory,
                                       const DeviceGates& gates, const api::ResourceClaim& claim,
                                       const api::DeviceRequest& request, const api::DeviceSubRequest& sub) {
  if (const std::string_view why = unsupported(gates, request, sub); !why.empty())
    return refuse(claim, sub.name, why);
  const auto found = cluster.classes().find(sub.device_class);
  if (found == cluster.classes().end())
    return refuse(claim, sub.name,
                  "could not retrieve device class " + sub.device_class + ": deviceclass \"" +
                      sub.device_class + "\" not found");
  CompiledSubRequest compiled{
      request.prioritized ? request.name + "/" + sub.name : request.name, found->second, &sub, {}, {}, 0, {}};
  compiled.selectors = inventory.selector_cache().intern(found->second->selectors, sub.selectors);
  compiled.selectors_reference = inventory.selector_cache().reference(compiled.selectors);
  return compiled;
}

// The value of a device that the constraint compares for this sub-request: a derived attribute of its name
// takes precedence over the device's own.
std::uint32_t variant_for(const api::DeviceSubRequest& sub, CompiledConstraint& constraint) {
  for (const auto& [name, expression] : sub.derived_attributes) {
    if (name != constraint.attribute) continue;
    for (std::uint32_t i = 0; i < constraint.derived.size(); ++i)
      if (constraint.derived[i] == expression) return i + 1;
    constraint.derived.push_back(expression);
    constraint.table_key += '\0' + expression;
    return static_cast<std::uint32_t>(constraint.derived.size());
  }
  return 0;
}

void compile_constraints(const api::ResourceClaim& claim, CompiledClaimSpec& compiled_spec) {
  for (std::uint32_t i = 0; i < claim.constraints.size(); ++i) {
    const api::DeviceConstraint& constraint = claim.constraints[i];
    CompiledConstraint& compiled = compiled_spec.constraints.emplace_back();
    compiled.is_match = !constraint.match_attribute.empty();
    compiled.attribute = compiled.is_match ? constraint.match_attribute : constraint.distinct_attribute;
    compiled.table_key = compiled.attribute;
    for (CompiledRequest& request : compiled_spec.requests)
      for (CompiledSubRequest& sub : request.alternatives)
        if (covers(constraint, request.spec->name, sub.name))
          sub.constraints.push_back({i, variant_for(*sub.spec, compiled)});
  }
}

Result<std::vector<CompiledRequest>> compile_requests(const model::Cluster& cluster, Inventory& inventory,
                                                      const DeviceGates& gates,
                                                      const api::ResourceClaim& claim) {
  std::vector<CompiledRequest> requests;
  std::int64_t least = 0;
  for (const api::DeviceRequest& request : claim.requests) {
    if (request.alternatives.empty()) return refuse(claim, request.name, "unknown request type");
    CompiledRequest& compiled_request = requests.emplace_back();
    compiled_request.spec = &request;
    std::int64_t smallest = INT64_MAX;
    for (const api::DeviceSubRequest& sub : request.alternatives) {
      compiled_request.alternatives.push_back(
          TRY(compile_sub(cluster, inventory, gates, claim, request, sub)));
      smallest = std::min(smallest, sub.mode == api::AllocationMode::All ? 0 : sub.count);
    }
    least += smallest;
  }
  if (least > static_cast<std::int64_t>(kClaimResultsMax))
    return refuse(claim, "",
                  "number of requested devices " + std::to_string(least) + " exceeds the claim limit of " +
                      std::to_string(kClaimResultsMax));
  for (const api::DeviceConstraint& constraint : claim.constraints)
    if (constraint.match_attribute.empty() == constraint.distinct_attribute.empty())
      return refuse(claim, "", "unknown constraint type");
  return requests;
}

// Every field of the spec that a search reads, so that equal keys are equal specs. Lists are prefixed with
// their size.
void write_key(const std::vector<std::string>& texts, std::string& key) {
  append_key(key, static_cast<std::uint64_t>(texts.size()));
  for (const std::string& text : texts) append_key(key, text);
}
void write_tolerations(const api::DeviceSubRequest& sub, std::string& key) {
  append_key(key, static_cast<std::uint64_t>(sub.tolerations.size()));
  for (const api::Toleration& toleration : sub.tolerations) {
    for (const std::string* text : {&toleration.key, &toleration.op, &toleration.value, &toleration.effect})
      append_key(key, *text);
    // The result contains the tolerations, so their time is part of the key.
    append_key(key, static_cast<std::uint64_t>(toleration.seconds.value_or(-1)));
  }
}
void write_wishes(const api::DeviceSubRequest& sub, std::string& key) {
  append_key(key, static_cast<std::uint64_t>(sub.capacity.size()));
  for (const auto& [name, amount] : sub.capacity) {
    append_key(key, name);
    append_key(key, amount.text());
  }
}
void write_key(const api::DeviceSubRequest& sub, std::string& key) {
  append_key(key, sub.name);
  append_key(key, sub.device_class);
  write_key(sub.selectors, key);
  append_key(key, static_cast<std::uint64_t>(sub.mode) * 2 + (sub.admin_access ? 1 : 0));
  append_key(key, static_cast<std::uint64_t>(sub.count));
  write_tolerations(sub, key);
  write_wishes(sub, key);
  append_key(key, static_cast<std::uint64_t>(sub.derived_attributes.size()));
  for (const auto& [name, expression] : sub.derived_attributes) {
    append_key(key, name);
    append_key(key, expression);
  }
}
void write_key(const api::ResourceClaim& claim, std::string& key) {
  for (const api::DeviceRequest& request : claim.requests) {
    append_key(key, request.name);
    append_key(key,
               static_cast<std::uint64_t>(request.alternatives.size() * 2 + (request.prioritized ? 1 : 0)));
    for (const api::DeviceSubRequest& sub : request.alternatives) write_key(sub, key);
  }
  append_key(key, std::string_view());  // no request has an empty name
  for (const api::DeviceConstraint& constraint : claim.constraints) {
    write_key(constraint.requests, key);
    append_key(key, constraint.match_attribute);
    append_key(key, constraint.distinct_attribute);
  }
}

}  // namespace

std::string text_of(const api::ResourceClaim& claim) {
  return "claim " + claim.meta.ns + "/" + claim.meta.name;
}

Result<CompiledClaimSpecPtr> ClaimCompiler::of(const model::Cluster& cluster, Inventory& inventory,
                                               const DeviceGates& gates, const ClaimPtr& claim) {
  key_.clear();
  write_key(*claim, key_);
  const auto known = specs_.find(key_);
  if (known != specs_.end() && classes_hold(cluster, *known->second))
    return CompiledClaimSpecPtr(known->second);
  auto compiled_spec = std::make_shared<CompiledClaimSpec>();
  compiled_spec->like = claim;
  compiled_spec->classes_stamp = cluster.classes_stamp();
  compiled_spec->requests = TRY(compile_requests(cluster, inventory, gates, *claim));
  compile_constraints(*claim, *compiled_spec);
  number_kinds(inventory.selector_cache(), *compiled_spec);
  compiled_spec->id = ++last_spec_;
  if (specs_.size() >= kCompiledSpecsMax) specs_.clear();
  specs_.insert_or_assign(key_, compiled_spec);
  return CompiledClaimSpecPtr(std::move(compiled_spec));
}

bool ClaimCompiler::classes_hold(const model::Cluster& cluster, CompiledClaimSpec& compiled_spec) const {
  if (compiled_spec.classes_stamp == cluster.classes_stamp()) return true;
  for (const CompiledRequest& request : compiled_spec.requests)
    for (const CompiledSubRequest& sub : request.alternatives) {
      const auto found = cluster.classes().find(sub.spec->device_class);
      if (found == cluster.classes().end() || found->second != sub.device_class) return false;
    }
  compiled_spec.classes_stamp = cluster.classes_stamp();
  return true;
}

void ClaimCompiler::number_kinds(const SelectorCache& selector_cache, CompiledClaimSpec& compiled_spec) {
  if (kinds_.size() >= kKindsMax) {
    kinds_.clear();
    specs_.clear();
  }
  for (CompiledRequest& request : compiled_spec.requests)
    for (CompiledSubRequest& sub : request.alternatives) {
      std::string key;
      append_key(key, selector_cache.number_of(sub.selectors) * 2 + (sub.spec->admin_access ? 1 : 0));
      write_tolerations(*sub.spec, key);
      write_wishes(*sub.spec, key);
      const auto [at, added] = kinds_.try_emplace(std::move(key), last_kind_ + 1);
      if (added) ++last_kind_;
      sub.kind = at->second;
    }
}

std::uint64_t ClaimCompiler::number_of(const std::vector<CompiledClaim>& claims) {
  std::vector<std::uint32_t> ids;
  for (const CompiledClaim& claim : claims) ids.push_back(claim.compiled_spec->id);
  if (numbers_.size() >= kCompiledSpecsMax) numbers_.clear();
  const auto [at, added] = numbers_.try_emplace(std::move(ids), last_number_ + 1);
  if (added) ++last_number_;
  return at->second;
}

}  // namespace berth::dra
