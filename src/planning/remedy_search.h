// What the searches for remedies of a pod and of a group share: changes that are undone, and their account.
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "planning/offline_core.h"
#include "planning/remedies.h"

namespace berth::planning {

class RemedySearch {
 public:
  virtual ~RemedySearch() = default;
  RemedySearch(const RemedySearch&) = delete;
  RemedySearch& operator=(const RemedySearch&) = delete;

 protected:
  RemedySearch(OfflineCluster& offline, const PlanOptions& options, dra::SelectorEvaluator& selectors)
      : offline(offline), base_(offline, options, selectors), core(base_.core), context(base_.context) {}

  // Whether it is placed now.
  virtual bool fits() = 0;

  // Objects in another form until the end of the scope.
  class Changes {
   public:
    explicit Changes(OfflineCluster& offline) : offline_(offline) {}
    Changes(const Changes&) = delete;
    Changes& operator=(const Changes&) = delete;
    ~Changes() {
      while (!undo_.empty()) {
        undo_.back()();
        undo_.pop_back();
      }
    }
    // `before`: null for an object that is new.
    template <class T>
    void put(api::Kind kind, const T* before, T object) {
      const std::string ns = object.meta.ns, name = object.meta.name;
      if (before)
        undo_.push_back([this, kind, was = *before] { offline_.replace(kind, was); });
      else
        undo_.push_back([this, kind, ns, name] { offline_.erase(kind, ns, name); });
      offline_.replace(kind, std::move(object));
    }
    void put(api::Node node) {
      const api::Node* before = offline_.view().nodes.find("", node.meta.name);
      put(api::Kind::Node, before, std::move(node));
    }
    void erase(const api::DeviceTaintRule& rule) {
      undo_.push_back([this, was = rule] { offline_.replace(api::Kind::DeviceTaintRule, was); });
      offline_.erase(api::Kind::DeviceTaintRule, "", std::string(rule.meta.name));
    }

   private:
    OfflineCluster& offline_;
    std::vector<std::function<void()>> undo_;
  };

  bool is_over() {
    out.ended |= tries >= kRemedyTriesMax;
    return out.ended || out.found.size() >= kRemediesMax;
  }
  void note(placement::RemedyKind kind) {
    if (std::ranges::find(out.tried, kind) == out.tried.end()) out.tried.push_back(kind);
  }
  void add(placement::RemedyStep step) { out.found.push_back({{std::move(step)}}); }
  std::string node_name(model::NodeId node) const { return offline.cluster().node(node).name; }
  const api::Node& node_named(const std::string& name) const { return *offline.view().nodes.find("", name); }
  // Empty copies of the node with copies of its own slices. False: it is cordoned, or a name is taken.
  bool copy_node(const std::string& like, std::size_t count, Changes& changes);
  // Cordons and taints of these nodes: as few as possible, which together are enough for what waits.
  void open_nodes(const api::Pod& member, std::span<const model::NodeId> nodes);
  // The fewest copies of one of these nodes that are enough.
  void add_nodes(const api::Pod& member, std::span<const model::NodeId> nodes);
  // A domain, and how many members it takes.
  struct Domain {
    placement::Placement placement;
    DomainRoom room;
  };
  // The domains with room for most members, the roomiest first; `out` gets the first. At most
  // kDomainTriesMax tries: where more may be equally roomy, some of these.
  std::vector<Domain> domains_of(const placement::GroupInput& input);
  placement::RemedyStep evict_step(const std::vector<placement::PreemptionVictim>& victims,
                                   std::string node) const;

  OfflineCluster& offline;
  Remedies out;
  std::size_t tries = 0;

 private:
  DomainRoom room_in(const placement::Placement& placement, const placement::GroupInput& group);
  void put_next(const placement::Placement& placement, const placement::GroupInput& input,
                const placement::GroupOutcome& most, model::Ledger::Transaction& transaction,
                DomainRoom& room);

  OfflineCore base_;

 protected:
  placement::DecisionCore& core;
  const placement::SchedulingContext& context;
};

// The nodes that lack least for the pod, least first, at most kNearNodesMax. Ordered by the number of
// conditions that are not met, then by the sum of missing resources as parts of what is asked, then by name.
// `nodes`: those that count.
std::vector<std::string> nearest_nodes(const model::Cluster& cluster, const api::Pod& pod,
                                       std::span<const model::NodeId> nodes);

Remedies pod_remedies(OfflineCluster& offline, const api::Pod& pod, const PlanOptions& options,
                      dra::SelectorEvaluator& selectors);
// `input` is of the tree as it is; it and its pods outlive the call.
Remedies tree_remedies(OfflineCluster& offline, const placement::TreeInput& input, const PlanOptions& options,
                       dra::SelectorEvaluator& selectors);
// `input` is of the group as it is; it and its pods outlive the call.
Remedies group_remedies(OfflineCluster& offline, const placement::GroupInput& input,
                        const PlanOptions& options, dra::SelectorEvaluator& selectors);

}  // namespace berth::planning
