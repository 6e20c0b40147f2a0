// One pod's claims, compiled: classes resolved, selectors compiled, names made. Claims with equal specs share
// the compiled spec.
//
// Owner: one Allocator. Cost of a claim whose spec is known: its key, some 0.2 µs for a plain request.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "dra/allocator.h"
#include "dra/pools/inventory.h"

namespace berth::dra {

// A constraint of the claim that covers a request, and which of a device's values it compares.
struct Covering {
  std::uint32_t constraint = 0;  // of CompiledClaimSpec::constraints
  std::uint32_t variant = 0;     // of the value table
};

struct CompiledSubRequest {
  std::string name;  // "request" or "request/alternative"
  std::shared_ptr<const api::DeviceClass> device_class;
  const api::DeviceSubRequest* spec;
  SelectorSetId selectors;
  SelectorSetRef selectors_reference;
  // Sub-requests of equal kind accept the same devices: equal selectors, tolerations, capacity, admin access.
  std::uint32_t kind = 0;
  std::vector<Covering> constraints;
};

struct CompiledRequest {
  const api::DeviceRequest* spec;
  std::vector<CompiledSubRequest> alternatives;
};

struct CompiledConstraint {
  bool is_match = false;
  std::string attribute;
  std::vector<std::string> derived;  // expressions for that name: variants 1 and up
  std::string table_key;             // equal keys have equal value tables
};

// The part that all claims with one spec share. `like` owns the specs that the requests point into.
struct CompiledClaimSpec {
  std::uint32_t id = 0;
  ClaimPtr like;
  std::vector<CompiledRequest> requests;
  std::vector<CompiledConstraint> constraints;  // as in the claim
  std::uint64_t classes_stamp = 0;  // when the classes were last found equal to those of `requests`
};
using CompiledClaimSpecPtr = std::shared_ptr<const CompiledClaimSpec>;

struct CompiledClaim {
  ClaimPtr claim;
  CompiledClaimSpecPtr compiled_spec;
  std::span<const CompiledRequest> requests;  // of the compiled spec
};

struct CompiledAllocationRequest final : AllocationRequest {
  CompiledAllocationRequest(std::uint64_t signature, std::vector<CompiledClaim> list)
      : AllocationRequest(signature), claims(std::move(list)) {}
  std::vector<CompiledClaim> claims;
};

// Compiled specs that are cached; beyond it the cache is cleared, and known specs get new numbers.
inline constexpr std::size_t kCompiledSpecsMax = 4096;

// Distinct kinds of sub-requests; beyond it all compiled specs are dropped and kinds are numbered again.
inline constexpr std::size_t kKindsMax = 16 * kCompiledSpecsMax;

// Compiled claims by spec.
class ClaimCompiler {
 public:
  Result<CompiledClaimSpecPtr> of(const model::Cluster& cluster, Inventory& inventory,
                                  const DeviceGates& gates, const ClaimPtr& claim);
  // One number for a list of claims; never 0.
  std::uint64_t number_of(const std::vector<CompiledClaim>& claims);
  std::size_t size() const { return specs_.size(); }

 private:
  bool classes_hold(const model::Cluster& cluster, CompiledClaimSpec& compiled_spec) const;
  void number_kinds(const SelectorCache& selector_cache, CompiledClaimSpec& compiled_spec);

  std::string key_;  // scratch
  std::uint32_t last_spec_ = 0;
  std::uint64_t last_number_ = 0;
  std::unordered_map<std::string, std::shared_ptr<CompiledClaimSpec>> specs_;
  std::map<std::vector<std::uint32_t>, std::uint64_t> numbers_;
  std::unordered_map<std::string, std::uint32_t> kinds_;
  std::uint32_t last_kind_ = 0;
};

// "claim ns/name": the start of errors.
std::string text_of(const api::ResourceClaim& claim);

}  // namespace berth::dra
