#include "placement/index/signature_cache.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "base/known_defects.h"
#include "placement/free_resources.h"
#include "placement/refusal/fit_error_builder.h"

namespace berth::placement {

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

std::size_t SignatureCache::CachedSignature::bytes() const {
  std::size_t sum = sizeof(*this) + verdict.size() + candidates.bytes() + lists.size() * sizeof(ReasonList);
  for (const auto& [resource, tree] : room) sum += tree.bytes();
  return sum;
}

void SignatureCache::count_bytes(CachedSignature& latest, std::size_t before) {
  latest.counted_bytes = latest.bytes() + signature_.bytes().size();
  bytes_ += latest.counted_bytes - before;
  for (; bytes_ > bytes_max_ && signatures_.size() > 1; signatures_.evict_oldest())
    bytes_ -= signatures_.oldest().counted_bytes;
}

NodeId SignatureCache::choose(CycleState& state, std::span<const NodeId> avoid) {
  latest_ = nullptr;
  order_ = &domains_.order(state.context->cluster);
  const std::vector<NodeId>& nodes = order_->by_name();
  if (nodes.empty() || !pods_.prepare(state)) return NodeId::none();
  // Where all nodes are tried, the score of a node depends on others, or an error on one ends the attempt.
  signature_.clear();
  if (!avoid.empty() || pods_.tries_all(state) || !pods_.sign(state, signature_) || !read_domains(state))
    return pods_.choose(state, nodes, avoid);
  const NodeId node = choose_among_kept(state);
  if (latest_) return node;
  state.diagnosis.clear();
  return pods_.choose(state, nodes, avoid);
}

// False: the pod has too many.
bool SignatureCache::read_domains(const CycleState& state) {
  std::vector<DomainRule> rules;
  pods_.add_rules(state, rules);
  rules_.clear();
  if (rules.size() > kDomainRulesMax) return false;
  const std::vector<AmountRange> accepted = domains_.accepted(rules, state.context->cluster);
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const DomainAmounts& amounts = domains_.amounts(rules[i], state.context->cluster);
    rules_.push_back({std::move(rules[i]), &amounts, accepted[i]});
  }
  return read_comparisons(state);
}

// False: the pod has too many.
bool SignatureCache::read_comparisons(const CycleState& state) {
  std::vector<PodCycle::WeightedComparison> comparisons;
  pods_.add_comparisons(state, comparisons);
  comparisons_.clear();
  std::size_t keys = 0, values = 0;
  for (auto& [comparison, weight, plugin] : comparisons) {
    keys += comparison.domains.size();
    values += comparison.values.size();
    if (keys > kDomainRulesMax || values > kDomainRulesMax) return false;
    ActiveComparison& active = comparisons_.emplace_back(ActiveComparison{std::move(comparison), weight});
    for (const Comparison::Domains& one : active.comparison.domains)
      active.amounts.push_back(&domains_.amounts(one.count, state.context->cluster));
  }
  return true;
}

// Leaves `latest_` null if there are too many lists of reasons or cells to cache.
NodeId SignatureCache::choose_among_kept(CycleState& state) {
  const Lent lent(state, diagnosis_);
  CachedSignature& cached = cached_for();
  const std::size_t counted = cached.counted_bytes;
  bring_up_to_date(cached, state);
  count_bytes(cached, counted);
  const bool overflowed = cached.candidates.overflowed();
  const NodeId node = overflowed ? NodeId::none() : best_accepted(cached, state);
  cached.fresh = overflowed || cached.lists.size() > kReasonListsMax;
  if (!cached.fresh) latest_ = &cached;
  return node;
}

// Makes changed_slots_ those of the nodes in changed_, and of all whose verdicts depend on them, each once.
void SignatureCache::widen_changed(CachedSignature& cached, const CycleState& state) {
  // The log of a signature that was long not asked for names a node many times: marks before any sort.
  const auto sort_out = [this] {
    marked_.resize(order_->slot_count());
    std::erase_if(changed_slots_,
                  [this](std::uint32_t slot) { return std::exchange(marked_[slot], 1) != 0; });
    for (const std::uint32_t slot : changed_slots_) marked_[slot] = 0;
    std::ranges::sort(changed_slots_);
  };
  changed_slots_.clear();
  for (const NodeId node : changed_)
    if (order_->slot(node) != NodeOrder::kNoSlot) changed_slots_.push_back(order_->slot(node));
  sort_out();
  if (has(KnownDefect::InfeasibleNodesKept))
    std::erase_if(changed_slots_, [&](std::uint32_t slot) {
      return order_->node(slot).valid() && cached.verdict[slot] != 0;
    });
  if (cached.domains.empty()) return;
  const std::vector<std::uint32_t> own = changed_slots_;
  for (DomainMembers& members : cached.domains)
    members.widen(state.context->cluster, *order_, own, changed_slots_);
  sort_out();
}

void SignatureCache::release_changed(CachedSignature& cached) {
  for (const std::uint32_t slot : changed_slots_) release(cached, slot);
}

void SignatureCache::judge_changed(CachedSignature& cached, CycleState& state) {
  changed_.clear();
  for (const std::uint32_t slot : changed_slots_)
    if (order_->node(slot).valid()) changed_.push_back(order_->node(slot));
  std::sort(changed_.begin(), changed_.end(),
            [this](NodeId a, NodeId b) { return order_->before(order_->slot(a), order_->slot(b)); });
  judge(cached, state, changed_);
}

void SignatureCache::bring_up_to_date(CachedSignature& cached, CycleState& state) {
  const model::Cluster& cluster = state.context->cluster;
  scope_.clear();
  pods_.add_scope(state, scope_);
  changed_.clear();
  auto reach = model::Cluster::ChangeScope::Unknown;
  if (!cached.fresh && cached.generation == order_->generation() && cached.digests == scope_.digests())
    reach = cluster.changed_since(cached.seen, changed_);
  bool known = reach != model::Cluster::ChangeScope::Unknown;
  if (known) {
    cached.verdict.resize(order_->slot_count());
    widen_changed(cached, state);
    known = 2 * changed_slots_.size() <= order_->by_name().size();
  }
  if (known) {
    release_changed(cached);
    known = cached.candidates.catch_up(changed_slots_, *order_, active());
  }
  if (!known) {
    start(cached, state);
  } else {
    judge_changed(cached, state);
    if (reach == model::Cluster::ChangeScope::AllDevices ||
        cached.shared_pools_stamp != cluster.shared_pools_stamp())
      readmit(cached, state);
  }
  cached.seen = cluster.ledger().changes().end();
  cached.shared_pools_stamp = cluster.shared_pools_stamp();
}

void SignatureCache::start(CachedSignature& cached, CycleState& state) {
  const model::Cluster& cluster = state.context->cluster;
  const std::size_t slots = order_->slot_count();
  cached = {};
  cached.fresh = false;
  cached.generation = order_->generation();
  cached.digests = scope_.digests();
  for (const std::string& key : scope_.topology_keys()) cached.domains.emplace_back(key, cluster, *order_);
  cached.verdict.assign(slots, 0);
  pods_.judge(state, order_->by_name());
  std::vector<std::int64_t> keys(slots, TournamentTree::kOut);
  for (std::size_t i = 0; i < state.candidates.size(); ++i)
    keys[order_->slot(state.candidates[i])] = state.scores[i];
  cached.candidates.start(keys, *order_, active());
  std::map<model::ResourceId, std::vector<std::int64_t>> rooms;
  for (std::size_t i = 0; i < state.diagnosis.size(); ++i) {
    const Diagnosis::Row row = state.diagnosis.row(i);
    const std::uint32_t slot = order_->slot(row.node);
    cached.verdict[slot] = list_of(cached, state, row, false);
    for (const ReasonId reason : row.reasons) {
      const model::ResourceId resource = state.diagnosis.reason(reason).resource;
      if (!resource.valid()) continue;
      std::vector<std::int64_t>& room = rooms[resource];
      if (room.empty()) room.assign(slots, TournamentTree::kOut);
      room[slot] = free_of(cluster.node(row.node), cluster.ledger().node(row.node), resource);
    }
  }
  for (const auto& [resource, room] : rooms) cached.room.at(resource).start(room, order_->label_of());
}

void SignatureCache::judge(CachedSignature& cached, CycleState& state, std::span<const NodeId> nodes) {
  if (nodes.empty()) return;
  pods_.judge(state, nodes);
  for (std::size_t i = 0; i < state.candidates.size(); ++i)
    cached.candidates.set(order_->slot(state.candidates[i]), state.scores[i], *order_);
  for (std::size_t i = 0; i < state.diagnosis.size(); ++i) refuse(cached, state, i, false);
}

// Judges nodes again that a lazy filter refused: devices that any node may use have changed.
void SignatureCache::readmit(CachedSignature& cached, CycleState& state) {
  if (!pods_.has_lazy_filters(state)) return;
  changed_slots_.clear();
  for (std::uint32_t slot = 0; slot < cached.verdict.size(); ++slot)
    if (cached.verdict[slot] != 0 && cached.lists[cached.verdict[slot] - 1].lazy)
      changed_slots_.push_back(slot);
  release_changed(cached);
  judge_changed(cached, state);
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
        cached.room[resource].start(std::vector(cached.verdict.size(), TournamentTree::kOut),
                                    order_->label_of());
    }
  }
  count_in(*at, order_->slot(row.node));
  return static_cast<std::uint8_t>(at - cached.lists.begin() + 1);
}

void SignatureCache::count_in(ReasonList& list, std::uint32_t slot) const {
  ++list.count;
  if (!list.first_known) return;
  const auto before = [this](std::uint32_t a, std::uint32_t b) { return order_->before(a, b); };
  if (list.first.size() == kNodesNamedMax) {
    if (!before(slot, list.first.back())) return;
    list.first.pop_back();
  }
  list.first.insert(std::lower_bound(list.first.begin(), list.first.end(), slot, before), slot);
}

void SignatureCache::count_out(ReasonList& list, std::uint32_t slot) {
  --list.count;
  if (std::erase(list.first, slot) > 0 && list.first.size() < list.count) list.first_known = false;
}

// Finds the first nodes of the lists that lost one of them.
void SignatureCache::find_first(CachedSignature& cached) const {
  std::size_t unknown = 0;
  for (ReasonList& list : cached.lists) {
    if (list.first_known) continue;
    list.first.clear();
    list.first_known = list.count == 0;
    unknown += list.first_known ? 0 : 1;
  }
  const std::vector<NodeId>& nodes = order_->by_name();
  for (auto node = nodes.begin(); unknown > 0; ++node) {
    const std::uint32_t slot = order_->slot(*node);
    if (cached.verdict[slot] == 0) continue;
    ReasonList& list = cached.lists[cached.verdict[slot] - 1];
    if (list.first_known) continue;
    list.first.push_back(slot);
    list.first_known = list.first.size() == std::min<std::size_t>(list.count, kNodesNamedMax);
    unknown -= list.first_known ? 1 : 0;
  }
}

void SignatureCache::refuse(CachedSignature& cached, const CycleState& state, std::size_t at, bool lazy) {
  const model::Cluster& cluster = state.context->cluster;
  const Diagnosis::Row row = state.diagnosis.row(at);
  const std::uint32_t slot = order_->slot(row.node);
  cached.verdict[slot] = list_of(cached, state, row, lazy);
  if (lazy)
    cached.candidates.put_aside(slot, *order_);
  else
    cached.candidates.set(slot, Candidates::kOut, *order_);
  for (const ReasonId reason : row.reasons)
    if (const model::ResourceId resource = state.diagnosis.reason(reason).resource; resource.valid())
      cached.room.at(resource).set(slot,
                                   free_of(cluster.node(row.node), cluster.ledger().node(row.node), resource),
                                   order_->label_of());
}

// Forgets the verdict on the node of the slot.
void SignatureCache::release(CachedSignature& cached, std::uint32_t slot) {
  cached.words.erase(slot);
  if (cached.verdict[slot] == 0) return cached.candidates.set(slot, Candidates::kOut, *order_);
  count_out(cached.lists[cached.verdict[slot] - 1], slot);
  for (auto& [resource, room] : cached.room) room.set(slot, TournamentTree::kOut, order_->label_of());
  cached.verdict[slot] = 0;
}

NodeId SignatureCache::best_accepted(CachedSignature& cached, CycleState& state) {
  for (std::uint32_t best; (best = cached.candidates.best(*order_, active())) != NodeOrder::kNoSlot;) {
    const NodeId node = order_->node(best);
    state.diagnosis.clear();
    if (pods_.accepts(state, node)) return node;
    if (!state.diagnosis.error().empty()) return NodeId::none();
    BERTH_ASSERT(state.diagnosis.size() == 1, "a filter that refuses a node says why, once");
    refuse(cached, state, 0, true);
  }
  return NodeId::none();
}

std::string SignatureCache::words_for(CachedSignature& cached, const CycleState& state, std::uint32_t slot) {
  const auto known = cached.words.find(slot);
  if (known != cached.words.end()) return known->second;
  if (cached.words.size() >= kWordsKeptMax) cached.words.clear();
  return cached.words.emplace(slot, pods_.why_not(state, order_->node(slot))).first->second;
}

// Why no node takes the pod: nodes are refused by filters, then by the first rule about domains, then by lazy
// filters. Cost with rules: one pass over the verdicts.
const std::vector<SignatureCache::ReasonList>& SignatureCache::refusals(CachedSignature& cached) {
  if (rules_.empty()) {
    find_first(cached);
    return cached.lists;
  }
  lists_ = cached.lists;
  for (ReasonList& list : lists_) {
    list.count = 0;
    list.first.clear();
    list.first_known = true;
  }
  nearest_.clear();
  for (const NodeId node : order_->by_name()) {
    const std::uint32_t slot = order_->slot(node);
    std::size_t at = cached.verdict[slot] == 0 ? lists_.size() : cached.verdict[slot] - 1u;
    const bool alone = at < cached.lists.size() && !cached.lists[at].lazy;
    if (const Reason* reason = alone ? nullptr : cached.candidates.refused_by(node, rules_)) {
      const ReasonId id = diagnosis_.reason(*reason);
      const auto known =
          std::find_if(lists_.begin() + static_cast<std::ptrdiff_t>(cached.lists.size()), lists_.end(),
                       [&](const ReasonList& list) { return list.reasons.front() == id; });
      at = static_cast<std::size_t>(known - lists_.begin());
      if (known == lists_.end()) lists_.push_back({reason->refusal, {id}});
    }
    if (at >= lists_.size()) continue;
    count_in(lists_[at], slot);
    for (const ReasonId id : lists_[at].reasons) {
      const model::ResourceId resource = diagnosis_.reason(id).resource;
      if (!resource.valid()) continue;
      const TournamentTree& room = cached.room.at(resource);
      const auto [best, is_first] = nearest_.try_emplace(resource, slot);
      if (!is_first && room.key(slot) > room.key(best->second)) best->second = slot;
    }
  }
  return lists_;
}

FitError SignatureCache::fit_error(const CycleState& state) {
  if (!latest_ || !state.diagnosis.error().empty()) return pods_.fit_error(state);
  CachedSignature& cached = *latest_;
  FitErrorBuilder builder(state);
  for (const ReasonList& list : refusals(cached)) {
    if (list.count == 0) continue;
    builder.add(list.refusal, list.count);
    for (const ReasonId reason : list.reasons) {
      const KnownReason& known = diagnosis_.reason(reason);
      FitErrorBuilder::Nodes& nodes = builder.of(known);
      nodes.count += list.count;
      for (const std::uint32_t slot : list.first) nodes.named.push_back(order_->node(slot));
      if (!known.resource.valid()) continue;
      const auto nearest = rules_.empty() ? static_cast<std::uint32_t>(cached.room.at(known.resource).best())
                                          : nearest_.at(known.resource);
      nodes.nearest = order_->node(nearest);
    }
  }
  const FitErrorBuilder::WhyNot words = [&](const Reason& reason, NodeId node) {
    return pods_.has_words(state, reason) ? words_for(cached, state, order_->slot(node)) : std::string();
  };
  return builder.take(words, &domains_.absent_labels());
}

RefusedByNode SignatureCache::refused_for(const Diagnosis& diagnosis, const Diagnosis::Row& row) {
  const Reason& first = *diagnosis.reason(row.reasons.front()).row;
  return {row.node, row.refusal == FilterStatus::Unschedulable, first.plugin == "NodeResourcesFit",
          row.reasons.size() == 1 && first == reason_row("CannotAllocateClaims")};
}

std::vector<RefusedByNode> SignatureCache::refused(const CycleState& state) {
  std::vector<RefusedByNode> refused;
  if (!latest_) {
    for (std::size_t i = 0; i < state.diagnosis.size(); ++i)
      refused.push_back(refused_for(state.diagnosis, state.diagnosis.row(i)));
    std::ranges::sort(refused, [this](const RefusedByNode& a, const RefusedByNode& b) {
      return order_->before(order_->slot(a.node), order_->slot(b.node));
    });
    return refused;
  }
  for (const NodeId node : order_->by_name()) {
    const std::uint8_t verdict = latest_->verdict[order_->slot(node)];
    const ReasonList* list = verdict == 0 ? nullptr : &latest_->lists[verdict - 1u];
    const Reason* rule = list && !list->lazy ? nullptr : latest_->candidates.refused_by(node, rules_);
    if (rule)
      refused.push_back({node, rule->refusal == FilterStatus::Unschedulable});
    else if (list)
      refused.push_back(refused_for(diagnosis_, {node, list->refusal, list->reasons}));
  }
  return refused;
}

std::vector<client::Chain> SignatureCache::post_filter(const CycleState& state,
                                                       model::Ledger::Transaction& transaction) {
  return pods_.post_filter(state, transaction, [&] {
    CycleState again;
    pods_.begin(again, *state.context, *state.pod, state.what_if);
    return choose(again, {}).valid();
  });
}

}  // namespace berth::placement
