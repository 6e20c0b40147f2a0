#include "placement/groups/group_bound.h"

#include <algorithm>
#include <map>

#include "base/name_list.h"
#include "placement/groups/group_fit.h"

namespace berth::placement {
namespace {

constexpr std::size_t kMembersNamedMax = 3;

// "a, b, c and 2 more: room for 2 of these 5"
std::string item_for(const std::vector<const api::Pod*>& pods, std::int64_t room) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min(pods.size(), kMembersNamedMax); ++i)
    names.push_back(pods[i]->meta.name);
  const std::string text = first_names(names, kMembersNamedMax, pods.size());
  if (pods.size() == 1) return text + ": no node takes it";
  return text + ": room for " + std::to_string(room) + " of these " + std::to_string(pods.size());
}

}  // namespace

void GroupBound::sort_out() {
  if (!kind_of_.empty()) return;
  std::map<std::string, std::uint32_t> known;
  PodSignature signature;
  for (std::size_t i = 0; i < waiting_.size(); ++i) {
    signature.clear();
    pods_.begin(state_, context_, *waiting_[i], &transaction_);
    const bool signs = pods_.prepare(state_) && pods_.sign(state_, signature);
    const auto next = static_cast<std::uint32_t>(kinds_.size());
    const std::uint32_t kind = signs ? known.emplace(signature.bytes(), next).first->second : next;
    if (kind == next) kinds_.push_back({{}, i});
    kinds_[kind].pods.push_back(waiting_[i]);
    kind_of_.push_back(kind);
  }
}

const std::vector<std::uint32_t>& GroupBound::kinds() {
  sort_out();
  return kind_of_;
}

std::optional<GroupProof> GroupBound::refute(Topology& topology, topology::DomainId domain,
                                             std::span<const NodeId> nodes, std::int64_t needed) {
  sort_out();
  if (kinds_.size() * nodes.size() > nodes_left_ && kinds_.size() <= kKindsCountedMax) {
    const auto kept = [&](const Kind& kind) {
      GroupFit fit(plugins_, pods_, context_, transaction_, {kind.pods.data(), 1});
      return std::optional(fit.counts(topology).sum(domain));
    };
    if (auto proof = refute_by(kept, needed)) return proof;
  }
  return refute_by([&](const Kind& kind) { return fit_count(kind, nodes); }, needed);
}

template <class Room>
std::optional<GroupProof> GroupBound::refute_by(const Room& room_of, std::int64_t needed) {
  GroupProof proof{needed, 0, {}, {}};
  for (const Kind& kind : kinds_) {
    const auto members = static_cast<std::int64_t>(kind.pods.size());
    const std::int64_t room = std::min(members, room_of(kind).value_or(members));
    proof.have += room;
    if (room == members) continue;
    proof.items.push_back(item_for(kind.pods, room));
    if (room == 0 && !proof.alone_refused) proof.alone_refused = kind.first;
  }
  return proof.have < needed ? std::optional(std::move(proof)) : std::nullopt;
}

std::optional<std::int64_t> GroupBound::fit_count(const Kind& kind, std::span<const NodeId> nodes) {
  const auto members = static_cast<std::int64_t>(kind.pods.size());
  pods_.begin(state_, context_, *kind.pods.front(), &transaction_);
  if (!pods_.prepare(state_)) {
    const bool proved = state_.diagnosis.error().empty() && state_.diagnosis.unproved().empty();
    return proved ? std::optional<std::int64_t>(0) : std::nullopt;
  }
  const FitCounter::Demand demand = plugins_.fit_counter->demand(context_.cluster, {kind.pods.data(), 1});
  std::int64_t sum = 0;
  for (const NodeId node : nodes) {
    if (nodes_left_ == 0) return std::nullopt;
    --nodes_left_;
    const auto room = fit_count_on(kind, node, demand);
    if (!room) return std::nullopt;
    sum += *room;
    if (sum >= members) return members;
  }
  return sum;
}

std::optional<std::int64_t> GroupBound::fit_count_on(const Kind& kind, NodeId node,
                                                     const FitCounter::Demand& demand) {
  state_.diagnosis.clear();
  state_.candidates.assign(1, node);
  pods_.filter_only(state_);
  if (state_.candidates.empty() || !pods_.accepts(state_, node)) {
    const bool proved = state_.diagnosis.error().empty() && state_.diagnosis.unproved().empty();
    return proved ? std::optional<std::int64_t>(0) : std::nullopt;
  }
  const std::int64_t room =
      std::min(static_cast<std::int64_t>(kind.pods.size()),
               plugins_.fit_counter->fit_count(context_.cluster, node, demand.requests));
  const auto some = std::span(kind.pods).first(static_cast<std::size_t>(std::max<std::int64_t>(1, room)));
  return some.size() == 1 ? 1 : plugins_.joint_fit_counter->count(context_, some, node);
}

}  // namespace berth::placement
