#include "scheduling/signature_cache.h"

#include <algorithm>

#include "base/assert.h"
#include "base/known_defects.h"
#include "scheduling/free_resources.h"

namespace berth::scheduling {

namespace {

// Swaps the cache's diagnosis into the attempt for its lifetime. The destructor copies an error back.
class Lent {
 public:
  Lent(CycleState& state, Diagnosis& diagnosis) : state_(state), diagnosis_(diagnosis) {
    diagnosis_.clear();
    std::swap(state_.diagnosis, diagnosis_);
  }
  ~Lent() {
    std::swap(state_.diagnosis, diagnosis_);
    if (!diagnosis_.error().empty())
      state_.diagnosis.fail(diagnosis_.ended_by(), diagnosis_.error(), diagnosis_.hint());
  }
  Lent(const Lent&) = delete;
  Lent& operator=(const Lent&) = delete;

 private:
  CycleState& state_;
  Diagnosis& diagnosis_;
};

}  // namespace

SignatureCache::CachedSignature& SignatureCache::cached_for() {
  return signatures_.at(signature_.bytes());
}

NodeId SignatureCache::choose(CycleState& state, std::span<const NodeId> avoid) {
  latest_ = nullptr;
  const std::vector<NodeId>& nodes = domains_.nodes(state.context->cluster);
  if (nodes.empty() || !pods_.prepare(state)) return NodeId::none();
  // With preferences the score of a node depends on other nodes.
  signature_.clear();
  if (!avoid.empty() || pods_.has_preferences(state) || !pods_.sign(state, signature_))
    return pods_.choose(state, nodes, avoid);
  const NodeId node = choose_among_kept(state);
  if (latest_) return node;
  state.diagnosis.clear();
  return pods_.choose(state, nodes, avoid);
}

// Leaves `latest_` null if there are too many lists of reasons to cache.
NodeId SignatureCache::choose_among_kept(CycleState& state) {
  const Lent lent(state, diagnosis_);
  CachedSignature& cached = cached_for();
  bring_up_to_date(cached, state);
  const NodeId node = best_accepted(cached, state);
  cached.fresh = cached.lists.size() > kReasonListsMax;
  if (!cached.fresh) latest_ = &cached;
  return node;
}

// Makes changed_ the live nodes whose verdicts must be renewed, each once.
void SignatureCache::widen_changed(CachedSignature& cached, const CycleState& state) {
  std::sort(changed_.begin(), changed_.end());
  changed_.erase(std::unique(changed_.begin(), changed_.end()), changed_.end());
  const bool keeps_refused = has(KnownDefect::InfeasibleNodesKept);
  std::erase_if(changed_, [&](NodeId node) {
    const std::uint32_t rank = domains_.rank(node);
    return rank == kNoRank || (keeps_refused && cached.verdict[rank] != 0);
  });
  if (cached.domains.empty()) return;
  changed_ranks_.clear();
  for (const NodeId node : changed_) changed_ranks_.push_back(domains_.rank(node));
  const model::Cluster& cluster = state.context->cluster;
  for (DomainMembers& members : cached.domains)
    members.widen(cluster, domains_.nodes(cluster), changed_ranks_, changed_);
  std::sort(changed_.begin(), changed_.end());
  changed_.erase(std::unique(changed_.begin(), changed_.end()), changed_.end());
}

void SignatureCache::bring_up_to_date(CachedSignature& cached, CycleState& state) {
  const model::Cluster& cluster = state.context->cluster;
  scope_.clear();
  pods_.add_scope(state, scope_);
  changed_.clear();
  auto reach = model::Cluster::ChangeScope::Unknown;
  if (!cached.fresh && cached.node_set_stamp == cluster.node_set_stamp() &&
      cached.digests == scope_.digests())
    reach = cluster.changed_since(cached.seen, changed_);
  if (reach != model::Cluster::ChangeScope::Unknown) widen_changed(cached, state);
  if (reach == model::Cluster::ChangeScope::Unknown || 2 * changed_.size() > cached.verdict.size()) {
    start(cached, state);
  } else {
    for (const NodeId node : changed_) release(cached, domains_.rank(node));
    judge(cached, state, changed_);
    if (reach == model::Cluster::ChangeScope::AllDevices ||
        cached.shared_pools_stamp != cluster.shared_pools_stamp())
      readmit(cached, state);
  }
  cached.seen = cluster.ledger().changes().end();
  cached.shared_pools_stamp = cluster.shared_pools_stamp();
}

void SignatureCache::start(CachedSignature& cached, CycleState& state) {
  const model::Cluster& cluster = state.context->cluster;
  const std::vector<NodeId>& nodes = domains_.nodes(cluster);
  cached = {};
  cached.fresh = false;
  cached.node_set_stamp = cluster.node_set_stamp();
  cached.digests = scope_.digests();
  for (const std::string& key : scope_.topology_keys()) cached.domains.emplace_back(key, cluster, nodes);
  cached.verdict.assign(nodes.size(), 0);
  cached.accepted.assign(nodes.size(), false);
  pods_.judge(state, nodes);
  std::vector<std::int64_t> keys(nodes.size(), TournamentTree::kOut);
  for (std::size_t i = 0; i < state.candidates.size(); ++i)
    keys[domains_.rank(state.candidates[i])] = state.scores[i];
  cached.scores.start(keys);
  std::map<model::ResourceId, std::vector<std::int64_t>> rooms;
  for (std::size_t i = 0; i < state.diagnosis.size(); ++i) {
    const Diagnosis::Row row = state.diagnosis.row(i);
    const std::uint32_t rank = domains_.rank(row.node);
    cached.verdict[rank] = list_of(cached, state, row, false);
    for (const ReasonId reason : row.reasons) {
      const model::ResourceId resource = state.diagnosis.reason(reason).resource;
      if (!resource.valid()) continue;
      std::vector<std::int64_t>& room = rooms[resource];
      if (room.empty()) room.assign(nodes.size(), TournamentTree::kOut);
      room[rank] = free_of(cluster.node(row.node), cluster.ledger().node(row.node), resource);
    }
  }
  for (const auto& [resource, room] : rooms) cached.room.at(resource).start(room);
}

void SignatureCache::judge(CachedSignature& cached, CycleState& state, std::span<const NodeId> nodes) {
  if (nodes.empty()) return;
  pods_.judge(state, nodes);
  for (std::size_t i = 0; i < state.candidates.size(); ++i)
    cached.scores.set(domains_.rank(state.candidates[i]), state.scores[i]);
  for (std::size_t i = 0; i < state.diagnosis.size(); ++i) refuse(cached, state, i, false);
}

// Judges nodes again that a lazy filter refused: devices that any node may use have changed.
void SignatureCache::readmit(CachedSignature& cached, CycleState& state) {
  if (!pods_.has_lazy_filters(state)) return;
  cached.accepted.assign(cached.accepted.size(), false);
  changed_.clear();
  const std::vector<NodeId>& nodes = domains_.nodes(state.context->cluster);
  for (std::uint32_t rank = 0; rank < nodes.size(); ++rank)
    if (cached.verdict[rank] != 0 && cached.lists[cached.verdict[rank] - 1].lazy) {
      release(cached, rank);
      changed_.push_back(nodes[rank]);
    }
  judge(cached, state, changed_);
}

std::uint8_t SignatureCache::list_of(CachedSignature& cached, const CycleState& state,
                                     const Diagnosis::Row& row, bool lazy) {
  const auto same = [&](const ReasonList& list) {
    return list.refusal == row.refusal && list.lazy == lazy &&
           std::equal(list.reasons.begin(), list.reasons.end(), row.reasons.begin(), row.reasons.end());
  };
  auto at = std::find_if(cached.lists.begin(), cached.lists.end(), same);
  if (at == cached.lists.end()) {
    // A list beyond the bound marks the signature: its verdicts are not used.
    if (cached.lists.size() > kReasonListsMax)
      at = cached.lists.end() - 1;
    else
      at = cached.lists.insert(at, {row.refusal, {row.reasons.begin(), row.reasons.end()}, lazy, 0});
    for (const ReasonId reason : row.reasons) {
      const model::ResourceId resource = state.diagnosis.reason(reason).resource;
      if (resource.valid() && !cached.room.contains(resource))
        cached.room[resource].start(std::vector(cached.verdict.size(), TournamentTree::kOut));
    }
  }
  ++at->count;
  return static_cast<std::uint8_t>(at - cached.lists.begin() + 1);
}

void SignatureCache::refuse(CachedSignature& cached, const CycleState& state, std::size_t at, bool lazy) {
  const model::Cluster& cluster = state.context->cluster;
  const Diagnosis::Row row = state.diagnosis.row(at);
  const std::uint32_t rank = domains_.rank(row.node);
  cached.verdict[rank] = list_of(cached, state, row, lazy);
  cached.scores.set(rank, TournamentTree::kOut);
  for (const ReasonId reason : row.reasons)
    if (const model::ResourceId resource = state.diagnosis.reason(reason).resource; resource.valid())
      cached.room.at(resource).set(
          rank, free_of(cluster.node(row.node), cluster.ledger().node(row.node), resource));
}

// Forgets the verdict on the node.
void SignatureCache::release(CachedSignature& cached, std::uint32_t rank) {
  cached.words.erase(rank);
  cached.accepted[rank] = false;
  if (cached.verdict[rank] == 0) return cached.scores.set(rank, TournamentTree::kOut);
  ReasonList& list = cached.lists[cached.verdict[rank] - 1];
  --list.count;
  for (auto& [resource, room] : cached.room) room.set(rank, TournamentTree::kOut);
  cached.verdict[rank] = 0;
}

// Runs the lazy filters on every candidate without a verdict of theirs. False if one ended the attempt.
bool SignatureCache::ask_all(CachedSignature& cached, CycleState& state) {
  const std::vector<NodeId>& nodes = domains_.nodes(state.context->cluster);
  for (std::uint32_t rank = 0; rank < nodes.size(); ++rank) {
    if (cached.accepted[rank] || cached.scores.key(rank) == TournamentTree::kOut) continue;
    state.diagnosis.clear();
    cached.accepted[rank] = pods_.accepts(state, nodes[rank]);
    if (!state.diagnosis.error().empty()) return false;
    if (!cached.accepted[rank]) refuse(cached, state, 0, true);
  }
  return true;
}

NodeId SignatureCache::best_accepted(CachedSignature& cached, CycleState& state) {
  const std::vector<NodeId>& nodes = domains_.nodes(state.context->cluster);
  if (pods_.asks_all(state) && pods_.has_lazy_filters(state) && !ask_all(cached, state))
    return NodeId::none();
  while (!cached.scores.empty()) {
    const NodeId node = nodes[cached.scores.best()];
    state.diagnosis.clear();
    if (pods_.accepts(state, node)) return node;
    if (!state.diagnosis.error().empty()) return NodeId::none();
    BERTH_ASSERT(state.diagnosis.size() == 1, "a filter that refuses a node says why, once");
    refuse(cached, state, 0, true);
  }
  return NodeId::none();
}

std::string SignatureCache::words_for(CachedSignature& cached, const CycleState& state, std::uint32_t rank) {
  const auto known = cached.words.find(rank);
  if (known != cached.words.end()) return known->second;
  if (cached.words.size() >= kWordsKeptMax) cached.words.clear();
  const NodeId node = domains_.nodes(state.context->cluster)[rank];
  return cached.words.emplace(rank, pods_.why_not(state, node)).first->second;
}

std::string_view SignatureCache::unproved(const CycleState& state) const {
  if (!latest_) return state.diagnosis.unproved();
  for (const ReasonList& list : latest_->lists)
    for (const ReasonId reason : list.reasons)
      if (const std::string_view why = diagnosis_.reason(reason).row->unproved;
          list.count > 0 && !why.empty())
        return why;
  return {};
}

FitError SignatureCache::fit_error(const CycleState& state) {
  if (!latest_ || !state.diagnosis.error().empty()) return pods_.fit_error(state);
  CachedSignature& cached = *latest_;
  const std::vector<NodeId>& nodes = domains_.nodes(state.context->cluster);
  FitError fit_error;
  std::map<std::string_view, RefusedFor> by_reason;
  for (std::size_t i = 0; i < cached.lists.size(); ++i) {
    const ReasonList& list = cached.lists[i];
    if (list.count == 0) continue;
    (list.refusal == FilterStatus::UnschedulableAndUnresolvable ? fit_error.unresolvable
                                                                : fit_error.unschedulable) += list.count;
    std::vector<NodeId> first;
    const auto verdict = static_cast<std::uint8_t>(i + 1);
    for (auto at = cached.verdict.begin(); first.size() < std::min<std::size_t>(list.count, kNodesNamedMax);
         ++at) {
      at = std::find(at, cached.verdict.end(), verdict);
      first.push_back(nodes[static_cast<std::size_t>(at - cached.verdict.begin())]);
    }
    for (const ReasonId reason : list.reasons) {
      const KnownReason& known = diagnosis_.reason(reason);
      if (fit_error.unproved.empty()) fit_error.unproved = known.row->unproved;
      RefusedFor& entry = by_reason[known.text];
      entry.note(known);
      entry.count += list.count;
      entry.first.insert(entry.first.end(), first.begin(), first.end());
      if (known.resource.valid()) entry.nearest = nodes[cached.room.at(known.resource).best()];
    }
  }
  for (auto& [text, entry] : by_reason) {
    std::sort(entry.first.begin(), entry.first.end(),
              [&](NodeId a, NodeId b) { return domains_.rank(a) < domains_.rank(b); });
    if (entry.first.size() > kNodesNamedMax) entry.first.resize(kNodesNamedMax);
    if (pods_.has_words(state, *entry.row))
      for (const NodeId node : entry.first)
        entry.why.push_back(words_for(cached, state, domains_.rank(node)));
    fit_error.reasons.push_back(std::move(entry));
  }
  return fit_error;
}

std::vector<client::Chain> SignatureCache::post_filter(const CycleState& state,
                                                       model::Ledger::Transaction& transaction) {
  return pods_.post_filter(state, transaction, [&] {
    CycleState again;
    pods_.begin(again, *state.context, *state.pod);
    return choose(again, {}).valid();
  });
}

}  // namespace berth::scheduling
