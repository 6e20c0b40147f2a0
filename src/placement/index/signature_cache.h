// Chooses among all nodes without judging all: the verdicts of filters, scores and lazy filters on every
// node are cached per pod signature, and only changed nodes are judged again.
//
// A pod that a plugin does not sign is judged again on every node. Verdicts that depend on other nodes are
// renewed by their FilterScope. The answer equals that of PodCycle::choose over all nodes. Owner: the
// scheduler, one thread; reads include the open transaction. Cost: a choice O(changed nodes · log n), where
// a node that joined or left is one that changed; a new signature one pass over all nodes. Memory: some 30
// bytes a node and signature, at most kSignatureBytesMax in all; the least recently used is evicted.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "placement/index/candidates.h"
#include "placement/pod_cycle.h"

namespace berth::placement {

// 36 signatures of 100,000 nodes, 700 of 5,000. The latest one is kept, whatever its size.
inline constexpr std::size_t kSignatureBytesMax = std::size_t{128} << 20;
// Different lists of reasons in one signature; beyond, the pod is judged on all nodes.
inline constexpr std::size_t kReasonListsMax = 200;
// Rules about domains of one pod, compared keys, and values of nodes; beyond, the pod is judged on all nodes.
inline constexpr std::size_t kDomainRulesMax = 16;
static_assert(2 * kDomainRulesMax <= kDomainAmountsMax);
// Explanations of refused nodes that one signature keeps.
inline constexpr std::size_t kWordsKeptMax = 16;

// A node that refused the pod.
struct RefusedByNode {
  NodeId node;
  bool unschedulable = false;  // for kube-scheduler: evictions may help
  bool by_resources = false;
  bool by_devices = false;  // alone
};

class SignatureCache {
 public:
  SignatureCache(const PodCycle& pods, DomainIndex& domains, std::size_t bytes_max = kSignatureBytesMax)
      : pods_(pods), domains_(domains), bytes_max_(bytes_max) {}

  // After PodCycle::begin(): the best node of the cluster, without those in `avoid`.
  NodeId choose(CycleState& state, std::span<const NodeId> avoid);
  // The refusals of the latest choose(), which found no node.
  FitError fit_error(const CycleState& state);
  // The nodes that refused the pod of the latest choose(), by name.
  std::vector<RefusedByNode> refused(const CycleState& state);
  static RefusedByNode refused_for(const Diagnosis& diagnosis, const Diagnosis::Row& row);
  // Runs the PostFilter plugins for a pod that choose() found no node for. Leaves the transaction unchanged.
  std::vector<client::Chain> post_filter(const CycleState& state, model::Ledger::Transaction& transaction);

  std::size_t size() const { return signatures_.size(); }
  std::size_t bytes() const { return bytes_; }

 private:
  // Nodes that were refused for the same list of reasons.
  struct ReasonList {
    FilterStatus refusal;
    std::vector<ReasonId> reasons;
    bool lazy = false;
    std::uint32_t count = 0;
    bool first_known = true;
    std::vector<std::uint32_t> first = {};  // slots, by name; at most kNodesNamedMax
  };
  // Columns are by slot of NodeOrder.
  struct CachedSignature {
    bool fresh = true;
    model::Changes::Position seen;  // in ledger().changes()
    std::uint64_t generation = 0;   // of the slots
    std::uint64_t shared_pools_stamp = 0;
    std::vector<std::uint64_t> digests;  // of FilterScope
    std::vector<DomainMembers> domains;  // one a topology key of FilterScope
    Candidates candidates;
    // Of the node alone: 0 for a candidate and for a free slot, else 1 + index in lists.
    std::vector<std::uint8_t> verdict;
    std::vector<ReasonList> lists;
    std::map<model::ResourceId, TournamentTree> room;  // the free amount on nodes that lack it
    std::map<std::uint32_t, std::string> words;
    std::size_t counted_bytes = 0;  // in bytes_

    std::size_t bytes() const;
  };

  NodeId choose_among_kept(CycleState& state);
  CachedSignature& cached_for();
  void count_bytes(CachedSignature& latest, std::size_t before);
  void bring_up_to_date(CachedSignature& cached, CycleState& state);
  void widen_changed(CachedSignature& cached, const CycleState& state);
  bool read_domains(const CycleState& state);
  bool read_comparisons(const CycleState& state);
  ActiveDomains active() const { return {rules_, comparisons_}; }
  void release_changed(CachedSignature& cached);
  void judge_changed(CachedSignature& cached, CycleState& state);
  void start(CachedSignature& cached, CycleState& state);
  void judge(CachedSignature& cached, CycleState& state, std::span<const NodeId> nodes);
  void readmit(CachedSignature& cached, CycleState& state);
  void refuse(CachedSignature& cached, const CycleState& state, std::size_t row, bool lazy);
  void release(CachedSignature& cached, std::uint32_t slot);
  void count_in(ReasonList& list, std::uint32_t slot) const;
  static void count_out(ReasonList& list, std::uint32_t slot);
  void find_first(CachedSignature& cached) const;
  const std::vector<ReasonList>& refusals(CachedSignature& cached);
  std::uint8_t list_of(CachedSignature& cached, const CycleState& state, const Diagnosis::Row& row,
                       bool lazy);
  NodeId best_accepted(CachedSignature& cached, CycleState& state);
  std::string words_for(CachedSignature& cached, const CycleState& state, std::uint32_t slot);

  const PodCycle& pods_;
  DomainIndex& domains_;
  const std::size_t bytes_max_;
  std::size_t bytes_ = 0;             // of all signatures
  const NodeOrder* order_ = nullptr;  // as of the latest choose()
  Diagnosis diagnosis_;  // swapped into the attempt while nodes are judged: one numbering of reasons for all
                         // signatures
  LruMap<CachedSignature> signatures_{SIZE_MAX};  // bounded by bytes_max_
  CachedSignature* latest_ = nullptr;             // used by the latest choose(); null: it judged all nodes
  PodSignature signature_;
  FilterScope scope_;                                   // of the latest choose()
  std::vector<ActiveRule> rules_;                       // the same
  std::vector<ActiveComparison> comparisons_;           // the same
  std::vector<ReasonList> lists_;                       // of refusals(), where there are rules
  std::map<model::ResourceId, std::uint32_t> nearest_;  // the same: slots with most of a resource
  std::vector<NodeId> changed_;
  std::vector<std::uint32_t> changed_slots_;
  std::vector<std::uint8_t> marked_;  // by slot; all 0 between two uses
};

}  // namespace berth::placement
