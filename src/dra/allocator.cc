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
  Search search;
  std::size_t steps_max = kSearchStepsMax;
};

Allocator::Allocator(const model::Cluster& cluster, SelectorEvaluator& selectors, Random& random, Gates gates)
    : state_(std::make_unique<State>(cluster, selectors, random, gates)) {}
Allocator::~Allocator() = default;

Result<std::shared_ptr<const Ask>> Allocator::prepare(std::span<const ClaimPtr> claims) {
  return compile_ask(state_->cluster, state_->inventory, state_->gates, claims);
}

Verdict Allocator::allocate(const Ask& ask, model::NodeId node, Explain explain) {
  Search& search = state_->search;
  switch (search.run(ask, node, state_->steps_max, explain)) {
    case Outcome::Found: {
      Result<Allocations> made =
          make_allocations(ask, search, state_->gates, state_->cluster.node(node).name, state_->random);
      if (!made) return Failed{made.error().message()};
      return std::move(*made);
    }
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
  if (explain == Explain::Words) no.reason = search.why();
  return no;
}

std::size_t Allocator::latest_steps() const {
  return state_->search.steps();
}
void Allocator::set_steps_max(std::size_t steps) {
  state_->steps_max = steps;
}
const Gates& Allocator::gates() const {
  return state_->gates;
}

}  // namespace berth::dra
