#include "dra/allocator.h"

#include <algorithm>
#include <limits>

#include "dra/results.h"
#include "dra/search/unit_measure.h"

namespace berth::dra {

struct Allocator::State {
  State(const model::Cluster& cluster, SelectorEvaluator& selectors, Random& random, DeviceGates gates)
      : cluster(cluster),
        selectors(selectors),
        random(random),
        gates(gates),
        inventory(cluster, selectors, gates),
        search(cluster, inventory, this->gates) {}
  const model::Cluster& cluster;
  SelectorEvaluator& selectors;
  Random& random;
  DeviceGates gates;
  Inventory inventory;
  ClaimCompiler claim_compiler;
  Search search;
  std::size_t steps_max = kSearchStepsMax;
  std::size_t decision_steps_left = std::numeric_limits<std::size_t>::max();
};

Allocator::Allocator(const model::Cluster& cluster, SelectorEvaluator& selectors, Random& random,
                     DeviceGates gates)
    : state_(std::make_unique<State>(cluster, selectors, random, gates)) {}
Allocator::~Allocator() = default;

void Allocator::begin_decision(std::size_t steps_max) {
  state_->decision_steps_left = steps_max;
}

Result<std::shared_ptr<const AllocationRequest>> Allocator::prepare(std::span<const ClaimPtr> claims) {
  std::vector<CompiledClaim> list;
  list.reserve(claims.size());
  for (const ClaimPtr& claim : claims) {
    CompiledClaimSpecPtr compiled_spec =
        TRY(state_->claim_compiler.of(state_->cluster, state_->inventory, state_->gates, claim));
    const std::span<const CompiledRequest> requests = compiled_spec->requests;
    list.push_back({claim, std::move(compiled_spec), requests});
  }
  const std::uint64_t number = state_->claim_compiler.number_of(list);
  return std::shared_ptr<const AllocationRequest>(
      std::make_shared<CompiledAllocationRequest>(number, std::move(list)));
}

AllocationVerdict Allocator::allocate(const AllocationRequest& any, model::NodeId node, Explain explain) {
  const auto& compiled = static_cast<const CompiledAllocationRequest&>(any);
  Search& search = state_->search;
  const SearchOutcome outcome =
      search.run(compiled, node, {state_->steps_max, state_->decision_steps_left / 2}, explain);
  if (search.was_hard()) state_->decision_steps_left -= std::min(state_->decision_steps_left, search.steps());
  switch (outcome) {
    case SearchOutcome::Found:
      return make_allocations(compiled, search, state_->gates, state_->cluster.node(node).name,
                              state_->random);
    case SearchOutcome::Error:
      return AllocationError{search.error(), search.hint()};
    case SearchOutcome::OutOfBudget:
      return OutOfBudget{search.steps()};
    case SearchOutcome::None:
    case SearchOutcome::TooLarge:
      break;
  }
  Impossible no;
  for (const NodePool& pool : search.devices().pools)
    no.invalid_pools = no.invalid_pools || pool.state == PoolState::Invalid;
  if (explain == Explain::Words) {
    no.reason = search.why();
    const std::string pools = search.pool_notes();
    no.certificate = search.certificate();
    // A block of several requests together is a better reason than the refused devices of the last request.
    if (no.certificate->request.empty()) no.reason = to_words(*no.certificate);
    no.reason += pools;
  }
  return no;
}

bool Allocator::wants_more(const AllocationRequest& compiled, model::NodeId node,
                           const api::Allocation& chosen) {
  return state_->search.wants_more(static_cast<const CompiledAllocationRequest&>(compiled), node, chosen);
}

std::uint64_t Allocator::stamp(model::NodeId node) {
  return state_->inventory.of(node).stamp;
}
// All devices means that no pool is being updated, of whatever driver.
std::optional<std::string> Allocator::driver_of(const api::DeviceClass& device_class,
                                                const api::DeviceSubRequest& request) {
  if (request.mode == api::AllocationMode::All) return std::nullopt;
  for (const auto* texts : {&device_class.selectors, &request.selectors})
    for (const std::string& text : *texts)
      if (std::optional<std::string> driver = state_->selectors.driver_of(text)) return driver;
  return std::nullopt;
}

namespace {

// Each request of the claims; null: it has alternatives.
template <class Visit>
void visit_requests(const AllocationRequest& any, const Visit& visit) {
  for (const CompiledClaim& claim : static_cast<const CompiledAllocationRequest&>(any).claims)
    for (const CompiledRequest& request : claim.requests)
      visit(request.alternatives.size() == 1 ? &request.alternatives.front() : nullptr);
}

}  // namespace

std::vector<std::uint64_t> Allocator::selectors_of(const AllocationRequest& compiled) const {
  std::vector<std::uint64_t> numbers;
  visit_requests(compiled, [&](const CompiledSubRequest* request) {
    numbers.push_back(request ? state_->inventory.selector_cache().number_of(request->selectors) : 0);
  });
  return numbers;
}

std::vector<std::int64_t> Allocator::free_devices(const AllocationRequest& compiled, model::NodeId node) {
  const NodeDevices& devices = state_->inventory.of(node);
  std::vector<std::int64_t> counts;
  visit_requests(compiled, [&](const CompiledSubRequest* request) {
    std::int64_t& count = counts.emplace_back(0);
    if (!request) return;
    for (const DeviceRun& run : devices.order) {
      const Selected selected = state_->inventory.selected(devices.slice_of(run), request->selectors);
      count +=
          static_cast<std::int64_t>((run.here & ~run.blocked & (selected.match | selected.error)).count());
    }
  });
  return counts;
}

std::optional<DeviceCount> Allocator::count_whole(const AllocationRequest& compiled, model::NodeId node) {
  const NodeDevices& devices = state_->inventory.of(node);
  const CompiledSubRequest* first = nullptr;
  visit_requests(compiled, [&](const CompiledSubRequest* request) { first = first ? first : request; });
  if (!first) return std::nullopt;
  DeviceCount count;
  for (const DeviceRun& run : devices.order) {
    const Slice& slice = devices.slice_of(run);
    const Mask match = run.here & state_->inventory.selected(slice, first->selectors).match;
    if (!match.any()) continue;
    const NodePool& pool = devices.pools[run.pool];
    const model::PoolRow& row = state_->cluster.pool(pool.id);
    if (!pool.draws.empty() || pool.has_binding_conditions || row.wide || row.nodes.size() != 1 ||
        (match & slice.shareable).any())
      return std::nullopt;
    count.all += static_cast<std::int64_t>(match.count());
    count.free += static_cast<std::int64_t>((match & ~run.blocked).count());
  }
  return count;
}

bool Allocator::has_selector_error(const AllocationRequest& any, model::NodeId node) {
  const NodeDevices& devices = state_->inventory.of(node);
  const auto fails = [&](const CompiledSubRequest& one) {
    return std::ranges::any_of(devices.order, [&](const DeviceRun& run) {
      const Mask error = state_->inventory.selected(devices.slice_of(run), one.selectors).error;
      return (run.here & ~run.blocked & error).any();
    });
  };
  for (const CompiledClaim& claim : static_cast<const CompiledAllocationRequest&>(any).claims)
    for (const CompiledRequest& request : claim.requests)
      if (std::ranges::any_of(request.alternatives, fails)) return true;
  return false;
}

std::optional<UnitsOfChoice> Allocator::units_around(const AllocationRequest& kinds,
                                                     const AllocationRequest& chosen, model::NodeId node) {
  Search& search = state_->search;
  const SearchOutcome outcome = search.run(static_cast<const CompiledAllocationRequest&>(chosen), node,
                                           {state_->steps_max, 0, kMeasureTriesMax}, Explain::Nothing);
  if (outcome == SearchOutcome::Error || outcome == SearchOutcome::OutOfBudget) return std::nullopt;
  NodeDevices& devices = state_->inventory.of(node);
  const EligibilityCheck check{state_->cluster, state_->inventory, state_->gates, devices, node};
  UnitMeasure measure(check, devices, static_cast<const CompiledAllocationRequest&>(kinds));
  if (!measure.applies()) return std::nullopt;
  UnitsOfChoice units{measure.units(), {}, outcome == SearchOutcome::Found};
  if (!measure.applies()) return std::nullopt;
  if (!units.fits) return units;
  for (const Pick& pick : search.picks()) measure.take(pick.place, pick.consumed);
  units.after = measure.units();
  return measure.applies() ? std::optional(std::move(units)) : std::nullopt;
}

std::optional<UnitSizes> Allocator::unit_sizes(const AllocationRequest& kinds, model::NodeId node) {
  NodeDevices& devices = state_->inventory.of(node);
  const EligibilityCheck check{state_->cluster, state_->inventory, state_->gates, devices, node};
  UnitMeasure measure(check, devices, static_cast<const CompiledAllocationRequest&>(kinds));
  return measure.applies() ? std::optional(measure.sizes()) : std::nullopt;
}

CacheSizes Allocator::cache_sizes() const {
  const Inventory& inventory = state_->inventory;
  return {inventory.kept_nodes(), inventory.kept_slices(), inventory.selector_cache().slots(),
          state_->claim_compiler.size()};
}
std::size_t Allocator::latest_steps() const {
  return state_->search.steps();
}
void Allocator::set_steps_max(std::size_t steps) {
  state_->steps_max = steps;
}
void Allocator::set_scoring(DeviceScoring scoring) {
  state_->search.set_scoring(scoring);
}
void Allocator::skip_plain_search() {
  state_->search.set_plain_steps(0);
}
const DeviceGates& Allocator::gates() const {
  return state_->gates;
}

}  // namespace berth::dra
