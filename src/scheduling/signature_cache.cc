#include "scheduling/signature_cache.h"

#include <algorithm>

#include "base/assert.h"
#include "base/known_defects.h"
#include "scheduling/free_resources.h"

namespace berth::scheduling {

namespace {

// The attempt judges nodes with the index's diagnosis while this lives. An error goes back with it.
class Lent {
 public:
  Lent(Attempt& attempt, Diagnosis& diagnosis) : attempt_(attempt), diagnosis_(diagnosis) {
    diagnosis_.clear();
    std::swap(attempt_.diagnosis, diagnosis_);
  }
  ~Lent() {
    std::swap(attempt_.diagnosis, diagnosis_);
    if (!diagnosis_.error().empty()) attempt_.diagnosis.fail(diagnosis_.ended_by(), diagnosis_.error());
  }
  Lent(const Lent&) = delete;
  Lent& operator=(const Lent&) = delete;

 private:
  Attempt& attempt_;
  Diagnosis& diagnosis_;
};

}  // namespace

ShapeIndex::Shape& ShapeIndex::shape_of() {
  auto at = shapes_.find(signature_.bytes());
  if (at == shapes_.end()) {
    if (shapes_.size() >= kIndexedShapesMax)
      shapes_.erase(std::min_element(shapes_.begin(), shapes_.end(), [](const auto& a, const auto& b) {
        return a.second->used_at < b.second->used_at;
      }));
    at = shapes_.emplace(signature_.bytes(), std::make_unique<Shape>()).first;
  }
  at->second->used_at = ++uses_;
  return *at->second;
}

NodeId ShapeIndex::choose(Attempt& attempt, std::span<const NodeId> avoid) {
  latest_ = nullptr;
  const std::vector<NodeId>& nodes = domains_.nodes(attempt.world->cluster);
  if (nodes.empty() || !pods_.prepare(attempt)) return NodeId::none();
  // Preferences make the score of a node depend on the others.
  signature_.clear();
  if (!avoid.empty() || pods_.has_preferences(attempt) || !pods_.sign(attempt, signature_))
    return pods_.choose(attempt, nodes, avoid);
  const NodeId node = choose_among_kept(attempt);
  if (latest_) return node;
  attempt.diagnosis.clear();
  return pods_.choose(attempt, nodes, avoid);
}

// Leaves `latest_` empty when the nodes differ too much to be kept.
NodeId ShapeIndex::choose_among_kept(Attempt& attempt) {
  const Lent lent(attempt, diagnosis_);
  Shape& shape = shape_of();
  bring_up_to_date(shape, attempt);
  const NodeId node = best_accepted(shape, attempt);
  shape.fresh = shape.lists.size() > kReasonListsMax;
  if (!shape.fresh) latest_ = &shape;
  return node;
}

// Brings into changed_ the live nodes whose verdicts are to be renewed, each once.
void ShapeIndex::widen_changed(Shape& shape, const Attempt& attempt) {
  std::sort(changed_.begin(), changed_.end());
  changed_.erase(std::unique(changed_.begin(), changed_.end()), changed_.end());
  const bool keeps_refused = has(KnownDefect::InfeasibleNodesKept);
  std::erase_if(changed_, [&](NodeId node) {
    const std::uint32_t rank = domains_.rank(node);
    return rank == kNoRank || (keeps_refused && shape.verdict[rank] != 0);
  });
  if (shape.domains.empty()) return;
  changed_ranks_.clear();
  for (const NodeId node : changed_) changed_ranks_.push_back(domains_.rank(node));
  const model::Cluster& cluster = attempt.world->cluster;
  for (DomainMembers& members : shape.domains)
    members.widen(cluster, domains_.nodes(cluster), changed_ranks_, changed_);
  std::sort(changed_.begin(), changed_.end());
  changed_.erase(std::unique(changed_.begin(), changed_.end()), changed_.end());
}

void ShapeIndex::bring_up_to_date(Shape& shape, Attempt& attempt) {
  const model::Cluster& cluster = attempt.world->cluster;
  scope_.clear();
  pods_.add_scope(attempt, scope_);
  changed_.clear();
  auto reach = model::Cluster::Reach::Unknown;
  if (!shape.fresh && shape.node_set_stamp == cluster.node_set_stamp() && shape.digests == scope_.digests())
    reach = cluster.changed_since(shape.seen, changed_);
  if (reach != model::Cluster::Reach::Unknown) widen_changed(shape, attempt);
  if (reach == model::Cluster::Reach::Unknown || 2 * changed_.size() > shape.verdict.size()) {
    start(shape, attempt);
  } else {
    for (const NodeId node : changed_) release(shape, domains_.rank(node));
    judge(shape, attempt, changed_);
    if (reach == model::Cluster::Reach::AllDevices || shape.wide_stamp != cluster.wide_stamp())
      readmit(shape, attempt);
  }
  shape.seen = cluster.ledger().changes().end();
  shape.wide_stamp = cluster.wide_stamp();
}

void ShapeIndex::start(Shape& shape, Attempt& attempt) {
  const model::Cluster& cluster = attempt.world->cluster;
  const std::vector<NodeId>& nodes = domains_.nodes(cluster);
  const std::uint64_t used_at = shape.used_at;
  shape = {};
  shape.used_at = used_at;
  shape.fresh = false;
  shape.node_set_stamp = cluster.node_set_stamp();
  shape.digests = scope_.digests();
  for (const std::string& key : scope_.topology_keys()) shape.domains.emplace_back(key, cluster, nodes);
  shape.verdict.assign(nodes.size(), 0);
  shape.accepted.assign(nodes.size(), false);
  pods_.judge(attempt, nodes);
  std::vector<std::int64_t> keys(nodes.size(), Tournament::kOut);
  for (std::size_t i = 0; i < attempt.candidates.size(); ++i)
    keys[domains_.rank(attempt.candidates[i])] = attempt.scores[i];
  shape.scores.start(keys);
  std::map<model::ResourceId, std::vector<std::int64_t>> rooms;
  for (std::size_t i = 0; i < attempt.diagnosis.size(); ++i) {
    const Diagnosis::Row row = attempt.diagnosis.row(i);
    const std::uint32_t rank = domains_.rank(row.node);
    shape.verdict[rank] = list_of(shape, attempt, row, false);
    for (const ReasonId reason : row.reasons) {
      const model::ResourceId resource = attempt.diagnosis.reason(reason).resource;
      if (!resource.valid()) continue;
      std::vector<std::int64_t>& room = rooms[resource];
      if (room.empty()) room.assign(nodes.size(), Tournament::kOut);
      room[rank] = free_of(cluster.node(row.node), cluster.ledger().node(row.node), resource);
    }
  }
  for (const auto& [resource, room] : rooms) shape.room.at(resource).start(room);
}

void ShapeIndex::judge(Shape& shape, Attempt& attempt, std::span<const NodeId> nodes) {
  if (nodes.empty()) return;
  pods_.judge(attempt, nodes);
  for (std::size_t i = 0; i < attempt.candidates.size(); ++i)
    shape.scores.set(domains_.rank(attempt.candidates[i]), attempt.scores[i]);
  for (std::size_t i = 0; i < attempt.diagnosis.size(); ++i) refuse(shape, attempt, i, false);
}

// Those whose devices were refused, when devices changed that any node may see.
void ShapeIndex::readmit(Shape& shape, Attempt& attempt) {
  if (!pods_.has_costly_questions(attempt)) return;
  shape.accepted.assign(shape.accepted.size(), false);
  changed_.clear();
  const std::vector<NodeId>& nodes = domains_.nodes(attempt.world->cluster);
  for (std::uint32_t rank = 0; rank < nodes.size(); ++rank)
    if (shape.verdict[rank] != 0 && shape.lists[shape.verdict[rank] - 1].costly) {
      release(shape, rank);
      changed_.push_back(nodes[rank]);
    }
  judge(shape, attempt, changed_);
}

std::uint8_t ShapeIndex::list_of(Shape& shape, const Attempt& attempt, const Diagnosis::Row& row,
                                 bool costly) {
  const auto same = [&](const ReasonList& list) {
    return list.refusal == row.refusal && list.costly == costly &&
           std::equal(list.reasons.begin(), list.reasons.end(), row.reasons.begin(), row.reasons.end());
  };
  auto at = std::find_if(shape.lists.begin(), shape.lists.end(), same);
  if (at == shape.lists.end()) {
    // One too many marks the shape; it is not used again as it is.
    if (shape.lists.size() > kReasonListsMax)
      at = shape.lists.end() - 1;
    else
      at = shape.lists.insert(at, {row.refusal, {row.reasons.begin(), row.reasons.end()}, costly, 0});
    for (const ReasonId reason : row.reasons) {
      const model::ResourceId resource = attempt.diagnosis.reason(reason).resource;
      if (resource.valid() && !shape.room.contains(resource))
        shape.room[resource].start(std::vector(shape.verdict.size(), Tournament::kOut));
    }
  }
  ++at->count;
  return static_cast<std::uint8_t>(at - shape.lists.begin() + 1);
}

void ShapeIndex::refuse(Shape& shape, const Attempt& attempt, std::size_t at, bool costly) {
  const model::Cluster& cluster = attempt.world->cluster;
  const Diagnosis::Row row = attempt.diagnosis.row(at);
  const std::uint32_t rank = domains_.rank(row.node);
  shape.verdict[rank] = list_of(shape, attempt, row, costly);
  shape.scores.set(rank, Tournament::kOut);
  for (const ReasonId reason : row.reasons)
    if (const model::ResourceId resource = attempt.diagnosis.reason(reason).resource; resource.valid())
      shape.room.at(resource).set(rank,
                                  free_of(cluster.node(row.node), cluster.ledger().node(row.node), resource));
}

// Forgets what was said of the node.
void ShapeIndex::release(Shape& shape, std::uint32_t rank) {
  shape.words.erase(rank);
  shape.accepted[rank] = false;
  if (shape.verdict[rank] == 0) return shape.scores.set(rank, Tournament::kOut);
  ReasonList& list = shape.lists[shape.verdict[rank] - 1];
  --list.count;
  for (auto& [resource, room] : shape.room) room.set(rank, Tournament::kOut);
  shape.verdict[rank] = 0;
}

// Every candidate that was not asked since it changed. False when one ended the attempt.
bool ShapeIndex::ask_all(Shape& shape, Attempt& attempt) {
  const std::vector<NodeId>& nodes = domains_.nodes(attempt.world->cluster);
  for (std::uint32_t rank = 0; rank < nodes.size(); ++rank) {
    if (shape.accepted[rank] || shape.scores.key(rank) == Tournament::kOut) continue;
    attempt.diagnosis.clear();
    shape.accepted[rank] = pods_.accepts(attempt, nodes[rank]);
    if (!attempt.diagnosis.error().empty()) return false;
    if (!shape.accepted[rank]) refuse(shape, attempt, 0, true);
  }
  return true;
}

NodeId ShapeIndex::best_accepted(Shape& shape, Attempt& attempt) {
  const std::vector<NodeId>& nodes = domains_.nodes(attempt.world->cluster);
  if (pods_.asks_all(attempt) && pods_.has_costly_questions(attempt) && !ask_all(shape, attempt))
    return NodeId::none();
  while (!shape.scores.empty()) {
    const NodeId node = nodes[shape.scores.best()];
    attempt.diagnosis.clear();
    if (pods_.accepts(attempt, node)) return node;
    if (!attempt.diagnosis.error().empty()) return NodeId::none();
    BERTH_ASSERT(attempt.diagnosis.size() == 1, "a filter that refuses a node says why, once");
    refuse(shape, attempt, 0, true);
  }
  return NodeId::none();
}

std::string ShapeIndex::words_for(Shape& shape, const Attempt& attempt, std::uint32_t rank) {
  const auto known = shape.words.find(rank);
  if (known != shape.words.end()) return known->second;
  if (shape.words.size() >= kWordsKeptMax) shape.words.clear();
  const NodeId node = domains_.nodes(attempt.world->cluster)[rank];
  return shape.words.emplace(rank, pods_.why_not(attempt, node)).first->second;
}

Refusals ShapeIndex::refusals(const Attempt& attempt) {
  if (!latest_ || !attempt.diagnosis.error().empty()) return pods_.refusals(attempt);
  Shape& shape = *latest_;
  const std::vector<NodeId>& nodes = domains_.nodes(attempt.world->cluster);
  Refusals refusals;
  std::map<std::string_view, RefusedFor> by_reason;
  for (std::size_t i = 0; i < shape.lists.size(); ++i) {
    const ReasonList& list = shape.lists[i];
    if (list.count == 0) continue;
    (list.refusal == Refusal::Unresolvable ? refusals.unresolvable : refusals.unschedulable) += list.count;
    std::vector<NodeId> first;
    const auto verdict = static_cast<std::uint8_t>(i + 1);
    for (auto at = shape.verdict.begin(); first.size() < std::min<std::size_t>(list.count, kNodesNamedMax);
         ++at) {
      at = std::find(at, shape.verdict.end(), verdict);
      first.push_back(nodes[static_cast<std::size_t>(at - shape.verdict.begin())]);
    }
    for (const ReasonId reason : list.reasons) {
      const KnownReason& known = diagnosis_.reason(reason);
      RefusedFor& entry = by_reason[known.text];
      entry.note(known);
      entry.count += list.count;
      entry.first.insert(entry.first.end(), first.begin(), first.end());
      if (known.resource.valid()) entry.nearest = nodes[shape.room.at(known.resource).best()];
    }
  }
  for (auto& [text, entry] : by_reason) {
    std::sort(entry.first.begin(), entry.first.end(),
              [&](NodeId a, NodeId b) { return domains_.rank(a) < domains_.rank(b); });
    if (entry.first.size() > kNodesNamedMax) entry.first.resize(kNodesNamedMax);
    if (pods_.has_words(attempt, *entry.row))
      for (const NodeId node : entry.first)
        entry.why.push_back(words_for(shape, attempt, domains_.rank(node)));
    refusals.reasons.push_back(std::move(entry));
  }
  return refusals;
}

std::vector<client::Chain> ShapeIndex::post_filter(const Attempt& attempt,
                                                   model::Ledger::Transaction& transaction) {
  return pods_.post_filter(attempt, transaction, [&] {
    Attempt again;
    pods_.begin(again, *attempt.world, *attempt.pod);
    return choose(again, {}).valid();
  });
}

}  // namespace berth::scheduling
