#include "placement/groups/group_fit.h"

#include <algorithm>

namespace berth::placement {

std::int64_t GroupFit::room(NodeId node) {
  prepare();
  if (node.index() >= rooms_.size()) rooms_.resize(node.index() + 1);
  std::optional<std::int64_t>& known = rooms_[node.index()];
  if (!known) known = count(node);
  return *known;
}

const topology::FitCounts& GroupFit::counts(Topology& topology) {
  prepare();
  return topology.fit(signature_.bytes(), context_.cluster, [this](NodeId node) { return count(node); });
}

const topology::FitCounts& GroupFit::counts(Topology& topology, GroupDevices& devices) {
  prepare();
  const std::string key = std::string(signature_.bytes()) + "\n" + devices.demand();
  return topology.fit_with_devices(key, context_.cluster,
                                   [&](NodeId node) { return devices.recount(node, count(node)); });
}

void GroupFit::prepare() {
  if (prepared_) return;
  prepared_ = true;
  demand_ = plugins_.fit_counter->demand(context_.cluster, waiting_);
  alike_ = !demand_.beyond_filters && sign_alike();
  if (!alike_) signature_.clear();
  if (signature_.begin("LeastRequests")) signature_.put(demand_.requests);
}

std::int64_t GroupFit::count(NodeId node) {
  if (alike_) {
    pods_.begin(state_, context_, *waiting_.front(), &transaction_);
    state_.candidates = {node};
    pods_.filter_only(state_);
    const bool proved = state_.diagnosis.error().empty() && state_.diagnosis.unproved().empty();
    if (state_.candidates.empty() && proved) return 0;
  }
  return std::min(kFitCountMax, plugins_.fit_counter->fit_count(context_.cluster, node, demand_.requests));
}

// Whether the filters read the same of every member; if so, the signature contains it.
bool GroupFit::sign_alike() {
  PodSignature other;
  return std::all_of(waiting_.begin(), waiting_.end(), [&](const api::Pod* pod) {
    PodSignature& own = pod == waiting_.front() ? signature_ : other;
    own.clear();
    pods_.begin(state_, context_, *pod, &transaction_);
    return pods_.sign_filters(state_, own) && own.bytes() == signature_.bytes();
  });
}

}  // namespace berth::placement
