#include "dra/allocator.h"

#include "dra/results.h"

namespace berth::dra {

struct Allocator::State {
  State(const model::Cluster& cluster, SelectorEvaluator& selectors, Random& random, Gates gates)
      : cluster(cluster),
        random(random),
        gates(gates),
        inventory(cluster, selectors, gates),
        search(cluster, inventory, this->gates) {}
  const model::Cluster& cluster;
  Random& random;
  Gates gates;
  Inventory inventory;
  Shapes shapes;
  Search search;
  std::size_t steps_max = kSearchStepsMax;
};

Allocator::Allocator(const model::Cluster& cluster, SelectorEvaluator& selectors, Random& random, Gates gates)
    : state_(std::make_unique<State>(cluster, selectors, random, gates)) {}
Allocator::~Allocator() = default;

Result<std::shared_ptr<const Ask>> Allocator::prepare(std::span<const ClaimPtr> claims) {
  std::vector<ClaimAsk> list;
  list.reserve(claims.size());
  for (const ClaimPtr& claim : claims) {
    ClaimShapePtr shape = TRY(state_->shapes.of(state_->cluster, state_->inventory, state_->gates, claim));
    const std::span<const RequestAsk> requests = shape->requests;
    list.push_back({claim, std::move(shape), requests});
  }
  const std::uint64_t number = state_->shapes.number_of(list);
  return std::shared_ptr<const Ask>(std::make_shared<CompiledAsk>(number, std::move(list)));
}

Verdict Allocator::allocate(const Ask& any, model::NodeId node, Explain explain) {
  const auto& ask = static_cast<const CompiledAsk&>(any);
  Search& search = state_->search;
  switch (search.run(ask, node, state_->steps_max, explain)) {
    case Outcome::Found:
      return make_allocations(ask, search, state_->gates, state_->cluster.node(node).name, state_->random);
    case Outcome::Error:
      return Failed{search.error()};
    case Outcome::OutOfBudget:
      return OutOfBudget{search.steps()};
    case Outcome::None:
    case Outcome::TooLarge:
      break;
  }
  Impossible no;
  for (const NodePool& pool : search.devices().pools)
    no.invalid_pools = no.invalid_pools || pool.state == PoolState::Invalid;
  if (explain == Explain::Words) {
    no.reason = search.why();
    no.certificate = search.certificate();
    // What blocks several requests together says more than the last request's devices do.
    if (no.certificate->request.empty()) no.reason = to_words(*no.certificate);
  }
  return no;
}

std::uint64_t Allocator::stamp(model::NodeId node) {
  return state_->inventory.of(node).stamp;
}
Kept Allocator::kept() const {
  const Inventory& inventory = state_->inventory;
  return {inventory.kept_nodes(), inventory.kept_slices(), inventory.selections().slots(),
          state_->shapes.size()};
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
const Gates& Allocator::gates() const {
  return state_->gates;
}

}  // namespace berth::dra
