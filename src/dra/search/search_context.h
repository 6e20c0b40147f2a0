// One run of a search: the request, the node, and the budget of steps. Every part of the search uses it.
//
// Owner: one Search, on one thread, which resets it for every run.
#pragma once

#include <optional>
#include <string>

#include "dra/certificate.h"
#include "dra/compiled_request.h"
#include "dra/pools/eligibility.h"
#include "dra/proof/problem.h"

namespace berth::dra {

enum class SearchOutcome : std::uint8_t {
  Found,
  None,
  TooLarge,  // none, because a claim would get too many results; never leaves the plain search
  Error,     // SearchContext::error says which
  OutOfBudget,
};

// One alternative of one request, by position in the allocation request.
struct RequestRef {
  std::uint32_t claim = 0, request = 0, alternative = 0;
};

struct SearchContext {
  SearchContext(const model::Cluster& cluster, Inventory& inventory, const DeviceGates& gates)
      : cluster(cluster), inventory(inventory), gates(gates) {}

  // Another request or node. Cost: O(constraints), and the value tables that the node lacks.
  void reset(const CompiledAllocationRequest& request, model::NodeId on_node, std::size_t most_steps);

  // Counts a step, or work that costs as much as so many; false when the budget is spent.
  bool step(std::size_t count = 1) { return (steps += count) <= steps_max; }
  // Ends the run with this error of Kubernetes' allocator; the hint is Berth's.
  SearchOutcome fail(std::string text, std::string with_hint = {});

  const CompiledSubRequest& sub(RequestRef at) const {
    return compiled->claims[at.claim].requests[at.request].alternatives[at.alternative];
  }
  // The number of devices that the sub-request wants.
  std::size_t wanted(const CompiledSubRequest& sub) const;
  // The same for the least demanding alternative.
  std::size_t wanted_at_least(const CompiledRequest& request) const;
  const api::ResourceClaim& claim(RequestRef at) const { return *compiled->claims[at.claim].claim; }
  Selected selected(const DeviceRun& run, const CompiledSubRequest& sub) const {
    return inventory.selected(devices->slice_of(run), sub.selectors);
  }
  EligibilityCheck eligibility_check() const { return {cluster, inventory, gates, *devices, node}; }
  bool leaves_out(CertificateKind rule) const { return left_out == rule; }

  const model::Cluster& cluster;
  Inventory& inventory;
  const DeviceGates& gates;

  const CompiledAllocationRequest* compiled = nullptr;
  NodeDevices* devices = nullptr;
  model::NodeId node;
  ConstraintValues values;
  Collected collected;
  std::optional<CertificateKind> left_out;  // a rule that a proof disables
  std::size_t steps = 0, steps_max = 0;
  std::string error;
  std::string hint;
};

// Collects the devices that every All request must take: before the search, so that an error ends the attempt
// whatever is tried first. False when the context has an error: a collected device failed, a pool is not
// usable, or a claim wants too many devices.
bool collect_all(SearchContext& context);

}  // namespace berth::dra
