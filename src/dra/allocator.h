// Chooses devices for one pod's claims on one node. Deterministic: the first solution of a fixed search
// order.
//
// Order: claims, requests, alternatives as written; devices without binding conditions first, then by whether
// their pool has devices with binding conditions, driver, pool, slice name, place in the slice. Owner: one
// decider, on one thread. Reads the cluster and its ledger, including an open transaction; changes neither:
// the caller charges the chosen devices. Source: KEP-4381, KEP-4815, KEP-5007, KEP-5963.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "base/random.h"
#include "dra/certificate.h"
#include "dra/device_units.h"
#include "dra/gates.h"
#include "dra/scoring.h"
#include "dra/selectors.h"
#include "model/cluster.h"

namespace berth::dra {

// Steps of one search: devices tried and requests entered, more for claims with several constraints. About
// 0.2 s; more is OutOfBudget, never "no".
inline constexpr std::size_t kSearchStepsMax = 1'000'000;
// Of all searches of one decision, after the plain steps of each.
inline constexpr std::size_t kDecisionStepsMax = 4 * kSearchStepsMax;
// Devices tried for one node's measure where a scoring compares allocations: about 0.2 ms.
inline constexpr std::size_t kMeasureTriesMax = 256;
// Results of one claim. Source: resource.k8s.io/v1 AllocationResultsMaxSize.
inline constexpr std::size_t kClaimResultsMax = 32;

using ClaimPtr = std::shared_ptr<const api::ResourceClaim>;

struct ClaimResult {
  ClaimPtr claim;
  std::shared_ptr<const api::Allocation> allocation;
  // Per request, the chosen alternative of firstAvailable; 0 for a plain request.
  std::vector<std::uint32_t> alternatives;
};

// In the order of the allocation request.
struct Allocations {
  std::vector<ClaimResult> claims;
};
// No choice of devices on this node satisfies the request.
struct Impossible {
  std::string reason;                      // for people; empty unless requested
  std::optional<Certificate> certificate;  // the proof; only when requested
  bool invalid_pools =
      false;  // pools of this node break the rules of a pool: "invalid resource pools were encountered"
};
// Ends the attempt on every node: the error of Kubernetes' allocator, verbatim where tests match it.
struct AllocationError {
  std::string error;
  std::string hint = {};  // Berth's: the probable intention; empty where unknown
};
struct OutOfBudget {
  std::size_t steps = 0;
};
using AllocationVerdict = std::variant<Allocations, Impossible, AllocationError, OutOfBudget>;

enum class Explain : std::uint8_t { Nothing, Words };

// One pod's claims, checked and compiled against the current device classes. Valid until these change.
class AllocationRequest {
 public:
  // Equal for lists of claims with equal specs under equal device classes, whatever the claims' names: such
  // lists get the same kind of verdict on every node. Never 0; valid for one Allocator.
  std::uint64_t signature() const { return signature_; }

 protected:
  explicit AllocationRequest(std::uint64_t signature) : signature_(signature) {}
  ~AllocationRequest() = default;

 private:
  std::uint64_t signature_;
};

// Whole devices of a node.
struct DeviceCount {
  std::int64_t all = 0, free = 0;
};

// The sizes of an allocator's caches.
struct CacheSizes {
  std::size_t nodes = 0;          // with their devices, at most kNodesKeptMax
  std::size_t slices = 0;         // of these nodes, and up to twice as many
  std::size_t selector_sets = 0;  // of known claim specs, and up to twice as many
  std::size_t claim_specs = 0;    // at most kCompiledSpecsMax
};

class Allocator {
 public:
  // `cluster`, `selectors` and `random` (share ids) outlive it.
  Allocator(const model::Cluster& cluster, SelectorEvaluator& selectors, Random& random,
            DeviceGates gates = {});
  ~Allocator();
  Allocator(const Allocator&) = delete;
  Allocator& operator=(const Allocator&) = delete;

  // Unallocated claims, in the order to allocate. The error is the one that Failed would carry.
  Result<std::shared_ptr<const AllocationRequest>> prepare(std::span<const ClaimPtr> claims);
  // A decision begins: its searches take at most so many steps together, none more than half of what is left.
  // Then nodes that need more than plain steps are OutOfBudget, however many they are. Without a call there
  // is no such limit.
  void begin_decision(std::size_t steps_max = kDecisionStepsMax);
  // With Explain::Nothing a "no" builds no texts. Cost: a few µs for a plain request on a node with ten
  // devices.
  AllocationVerdict allocate(const AllocationRequest& compiled, model::NodeId node,
                             Explain explain = Explain::Words);
  // Whether a request of `chosen` has allocationMode All and would now get one more device of this node, free
  // or not. `chosen` was decided for the only claim of `compiled`. False while a pool of the node cannot be
  // used. Cost: the selectors of slices that changed, then O(devices).
  bool wants_more(const AllocationRequest& compiled, model::NodeId node, const api::Allocation& chosen);
  // Changes whenever the verdict on any request could change on this node: labels and features, slices,
  // reservations in a pool that the node sees, also by undo. Device classes belong to the compiled spec.
  // Never 0. Cost: a few comparisons; after a change the work that allocate() would do.
  std::uint64_t stamp(model::NodeId node);
  // The driver of every device that serves the request with such a class; none: it may be any. Cost: a
  // look-up per selector.
  std::optional<std::string> driver_of(const api::DeviceClass& device_class,
                                       const api::DeviceSubRequest& request);
  // Of each request, in the order of the claims: a number that requests with equal selectors of class and
  // request share; 0 for one with alternatives. Equal numbers stay equal while the requests live.
  std::vector<std::uint64_t> selectors_of(const AllocationRequest& compiled) const;
  // The same: how many free devices of the node pass them, shared ones included; 0 for one with alternatives.
  // Cost: O(devices of the node); of a node that was not asked about before, the work that allocate() would
  // do.
  std::vector<std::int64_t> free_devices(const AllocationRequest& compiled, model::NodeId node);
  // The devices of the node that pass the selectors of the first request. Nothing where their number does not
  // say what fits: one of them may be shared, draws on counters, has binding conditions, or is of a pool that
  // several nodes reach. Tainted ones count. Cost: as of free_devices().
  std::optional<DeviceCount> count_whole(const AllocationRequest& compiled, model::NodeId node);
  // Whether a selector fails on a device of the node that is not in use, for any request or alternative. An
  // allocation may do without this device. Cost: as of free_devices().
  bool has_selector_error(const AllocationRequest& compiled, model::NodeId node);
  // The units of the node for these kinds, before and after the devices that allocate() would choose for
  // `chosen`, within the plain steps and kMeasureTriesMax comparisons. Nothing where numbers do not say what
  // fits, as of count_whole(), or where these steps did not suffice. Draws no share ids. Cost: that of
  // allocate(), and two of UnitMeasure::units().
  std::optional<UnitsOfChoice> units_around(const AllocationRequest& kinds, const AllocationRequest& chosen,
                                            model::NodeId node);
  // The same for a node without any use; nothing where units_around() has nothing. Cost: O(devices x kinds).
  std::optional<UnitSizes> unit_sizes(const AllocationRequest& kinds, model::NodeId node);
  // Current sizes; each is bounded.
  CacheSizes cache_sizes() const;
  // The steps of the latest search.
  std::size_t latest_steps() const;

  void set_steps_max(std::size_t steps);
  // Effective from the next allocate() on. Default: Reference.
  void set_scoring(DeviceScoring scoring);
  // Disables the plain search, which answers most requests: for tests of the search behind it.
  void skip_plain_search();
  const DeviceGates& gates() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace berth::dra
