// Chooses among all nodes without judging them all: what filters, scores and devices say about every node is
// kept for each shape of pod, and only nodes that changed are judged again.
//
// A shape is what all plugins sign of a pod: the bytes of its signature. A pod that one of them does not sign
// is judged anew on every node. Verdicts that read other nodes are renewed as their NodeScope says. The
// answer is the one that PodCycle::choose gives over all nodes. Owner: the scheduler, one thread; reads an
// open transaction like everybody. Cost: a choice O(changed nodes · log n); a new shape, and a known one
// after a node came or went, one pass over all nodes. Memory: at most kIndexedShapesMax shapes, some 30 bytes
// a node each, the least recently used make room.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "scheduling/domains.h"
#include "scheduling/pod_cycle.h"
#include "scheduling/tournament_tree.h"

namespace berth::scheduling {

inline constexpr std::size_t kIndexedShapesMax = 32;
// Different lists of reasons in one shape; a pod with more is judged by the pass over all nodes.
inline constexpr std::size_t kReasonListsMax = 200;
// Words of refused nodes that one shape keeps.
inline constexpr std::size_t kWordsKeptMax = 16;

class ShapeIndex {
 public:
  ShapeIndex(const PodCycle& pods, DomainIndex& domains) : pods_(pods), domains_(domains) {}

  // After PodCycle::begin: the best node of the whole cluster, without those in `avoid`.
  NodeId choose(Attempt& attempt, std::span<const NodeId> avoid);
  // Of the latest choose(), which found nothing.
  Refusals refusals(const Attempt& attempt);
  // Runs the PostFilter plugins for a pod that choose() found no node for. Leaves the transaction as it was.
  std::vector<client::Chain> post_filter(const Attempt& attempt, model::Ledger::Transaction& transaction);

 private:
  // Nodes that were refused for the same list of reasons.
  struct ReasonList {
    Refusal refusal;
    std::vector<ReasonId> reasons;
    bool costly = false;
    std::uint32_t count = 0;
  };
  struct Shape {
    std::uint64_t used_at = 0;
    bool fresh = true;
    std::uint64_t seen = 0;            // in ledger().changes()
    std::uint64_t node_set_stamp = 0;  // of the ranks
    std::uint64_t wide_stamp = 0;
    std::vector<std::uint64_t> digests;  // of NodeScope
    std::vector<DomainMembers> domains;  // one a topology key of NodeScope
    Tournament scores;                   // of candidates, by rank
    std::vector<bool> accepted;          // by rank: the costly filters take the candidate
    std::vector<std::uint8_t> verdict;   // by rank: 0 for a candidate, else 1 + index in lists
    std::vector<ReasonList> lists;
    std::map<model::ResourceId, Tournament> room;  // what is left of it on nodes that lack it, by rank
    std::map<std::uint32_t, std::string> words;    // by rank
  };

  NodeId choose_among_kept(Attempt& attempt);
  Shape& shape_of();
  void bring_up_to_date(Shape& shape, Attempt& attempt);
  void widen_changed(Shape& shape, const Attempt& attempt);
  void start(Shape& shape, Attempt& attempt);
  void judge(Shape& shape, Attempt& attempt, std::span<const NodeId> nodes);
  void readmit(Shape& shape, Attempt& attempt);
  void refuse(Shape& shape, const Attempt& attempt, std::size_t row, bool costly);
  void release(Shape& shape, std::uint32_t rank);
  std::uint8_t list_of(Shape& shape, const Attempt& attempt, const Diagnosis::Row& row, bool costly);
  bool ask_all(Shape& shape, Attempt& attempt);
  NodeId best_accepted(Shape& shape, Attempt& attempt);
  std::string words_for(Shape& shape, const Attempt& attempt, std::uint32_t rank);

  const PodCycle& pods_;
  DomainIndex& domains_;
  Diagnosis diagnosis_;  // of the attempt while its nodes are judged: numbers the reasons of all shapes
  std::map<std::string, std::unique_ptr<Shape>, std::less<>> shapes_;
  Shape* latest_ = nullptr;  // that the latest choose() used; null when it passed over all nodes
  PodSignature signature_;
  NodeScope scope_;  // of the latest choose()
  std::vector<NodeId> changed_;
  std::vector<std::uint32_t> changed_ranks_;
  std::uint64_t uses_ = 0;
};

}  // namespace berth::scheduling
