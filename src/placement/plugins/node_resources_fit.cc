// NodeResourcesFit: pod slots and every requested resource. A request beyond the node's allocatable is
// unresolvable.
#include <algorithm>
#include <cstdint>

#include "placement/least_requests.h"
#include "placement/plugins/device_facts.h"
#include "placement/plugins/extended_resources.h"
#include "placement/plugins/node_resources.h"
#include "placement/plugins/plugins.h"
#include "placement/refusal/fit_error.h"

namespace berth::placement::plugins {

namespace {

bool fits_in(const model::NodeRow& row, const model::NodeUse& use, const model::ResourceAmount& request) {
  return request.amount <= free_of(row, use, request.resource) || !model::is_asked(request.resource);
}

// Whether the profile or the devices of the node make the request no matter of the node's resources.
bool is_not_counted(const PodQuery& query, model::ResourceId resource, const model::NodeRow& row) {
  return delegated(query, resource, row) ||
         query.plugins->arguments.resources_fit.ignores(query.context->cluster.resources().text(resource));
}

ReasonId reason_for(const PodQuery& query, Diagnosis& diagnosis, const model::NodeRow& row,
                    const model::ResourceAmount& request, Tried tried) {
  if (request.resource == model::kPodSlots) return diagnosis.reason(reason_row("TooManyPods"));
  const bool ever = request.amount <= model::amount_in(row.allocatable, request.resource);
  const Reason& reason =
      tried == Tried::Everything
          ? (ever ? reason_row("InsufficientResource") : reason_row("InsufficientAllocatable"))
          : (ever ? reason_row("InsufficientResourceOfTried") : reason_row("InsufficientAllocatableOfTried"));
  return diagnosis.lack_of(reason, request.resource,
                           query.context->cluster.resources().text(request.resource));
}

void refuse(const PodQuery& query, Diagnosis& diagnosis, NodeId node, const model::ResourceAmounts& charges,
            Tried tried) {
  const model::Cluster& cluster = query.context->cluster;
  const model::NodeRow& row = cluster.node(node);
  const model::NodeUse& use = cluster.ledger().node(node);
  bool first = true;
  for (const model::ResourceAmount& request : charges) {
    if (fits_in(row, use, request) || is_not_counted(query, request.resource, row)) continue;
    const ReasonId reason = reason_for(query, diagnosis, row, request, tried);
    if (first) {
      diagnosis.refuse(node, reason);
    } else {
      diagnosis.add_reason(reason);
    }
    first = false;
  }
}

class NodeResourcesFit final : public Filter {
 public:
  std::string_view name() const override { return "NodeResourcesFit"; }
  QueueingHint events_to_register() const override {
    return {kEventNodeAdded | kEventNodeChanged | kEventPodGone | kEventPodResized};
  }
  // A class may make devices serve what the node lacks.
  void add_interests(const SchedulingContext&, const api::Pod& pod, PodHints& hints) const override {
    hints.events |= events_to_register().events;
    add_class_hints(pod, hints);
  }
  // A node must have all that the pod asks for. Found by the resource that most nodes lack.
  void add_hints(const PodQuery& query, const FitError& refusal, PodHints& hints) const override {
    add_class_hints(*query.pod, hints);
    if (claims_of(query).extended) return Plugin::add_hints(query, refusal, hints);
    const model::Cluster& cluster = query.context->cluster;
    HintKey key;
    std::uint32_t most = 0;
    for (const model::ResourceAmount& one : cluster.pod(query.pod_id).requests) {
      const bool counts = model::is_asked(one.resource) && !query.plugins->arguments.resources_fit.ignores(
                                                               cluster.resources().text(one.resource));
      if (!counts) continue;
      key.push_back({free_amount(one.resource), one.amount});
      const std::uint32_t lacking = nodes_that_lack(refusal, cluster, one.resource);
      if (lacking <= most) continue;
      most = lacking;
      std::swap(key.front(), key.back());
    }
    if (key.empty()) return Plugin::add_hints(query, refusal, hints);
    hints.add(events_to_register().events, std::move(key));
  }
  void add_facts(const ClusterChange& change, ChangeFacts& facts) const override {
    if (!change.node.valid()) return;
    const model::Cluster& cluster = change.cluster;
    const model::NodeRow& row = cluster.node(change.node);
    if (!row.live) return;
    const model::NodeUse& use = cluster.ledger().node(change.node);
    const model::ResourceSums held = held_on(cluster, change.node);
    for (std::uint32_t i = 0; i < row.allocatable.size(); ++i) {
      const model::ResourceId resource(i);
      const std::int64_t free = free_of(row, use, resource) + model::amount_in(held, resource);
      if (free > 0) facts.add(free_amount(resource), free);
    }
  }
  // A resource that devices may serve is not counted on nodes where they do.
  Signing sign(const PodQuery& query, PodSignature& signature) const override {
    sign_requests(query.context->cluster.pod(query.pod_id).requests, signature);
    if (claims_of(query).extended) sign_extended_resources(query, signature);
    return Signing::Signed;
  }
  void filter(const PodQuery& query, NodeVerdicts& verdicts) const override {
    const model::ResourceAmounts& requests = query.context->cluster.pod(query.pod_id).requests;
    verdicts.keep_if(
        [&](NodeId node) { return fits_or_is_refused(query, verdicts.diagnosis, node, requests); });
  }

 private:
  static FactId free_amount(model::ResourceId resource) {
    return fact_id({"free", std::to_string(resource.index())});
  }
  static std::uint32_t nodes_that_lack(const FitError& refusal, const model::Cluster& cluster,
                                       model::ResourceId resource) {
    std::uint32_t count = 0;
    for (const RefusedFor& reason : refusal.reasons) {
      const bool slots = resource == model::kPodSlots && *reason.row == reason_row("TooManyPods");
      if (slots || (reason.lacks && reason.subject == cluster.resources().text(resource)))
        count += reason.count;
    }
    return count;
  }
  // What holds keep is not in use for every pod.
  static model::ResourceSums held_on(const model::Cluster& cluster, NodeId node) {
    model::ResourceSums sums;
    for (const auto& [id, hold] : cluster.ledger().holds())
      for (const model::PodCharge& place : hold.places) {
        if (place.node != node) continue;
        for (const model::ResourceAmount& one : place.requests) sums.at(one.resource) += one.amount;
      }
    return sums;
  }
};

// Counts by all resources except those that devices may serve, and those that the profile ignores.
class NodeResourcesFitCounter final : public FitCounter {
 public:
  explicit NodeResourcesFitCounter(const ResourcesFitArguments& arguments) : arguments_(arguments) {}

  Demand demand(const model::Cluster& cluster, std::span<const api::Pod* const> pods) const override {
    Demand demand{least_requests(cluster, pods)};
    demand.beyond_filters = std::erase_if(demand.requests, [&](const model::ResourceAmount& one) {
                              return class_of(cluster, one.resource) != nullptr;
                            }) > 0;
    std::erase_if(demand.requests, [&](const model::ResourceAmount& one) {
      return arguments_.ignores(cluster.resources().text(one.resource));
    });
    return demand;
  }
  std::int64_t fit_count(const model::Cluster& cluster, NodeId node,
                         const model::ResourceAmounts& requests) const override {
    const model::NodeRow& row = cluster.node(node);
    const model::NodeUse& use = cluster.ledger().node(node);
    std::int64_t count = INT64_MAX;
    for (const model::ResourceAmount& request : requests)
      if (model::is_asked(request.resource))
        count =
            std::min(count, std::max<std::int64_t>(0, free_of(row, use, request.resource)) / request.amount);
    return count;
  }

 private:
  const ResourcesFitArguments arguments_;
};

// MostAllocated over a whole placement: fuller domains score higher.
class PlacementMostAllocated final : public PlacementScorer {
 public:
  std::string_view name() const override { return "NodeResourcesFit"; }
  bool known_before_placing() const override { return true; }
  void score(const ScoringQuestion& question, std::span<std::int64_t> scores) const override {
    for (std::size_t i = 0; i < scores.size(); ++i) {
      const DomainUse& use = question.results[i].use;
      std::int64_t sum = 0, weights = 0;
      for (std::size_t r = 0; r < 2; ++r) {
        const __int128 whole = use.allocatable[r];
        if (whole <= 0) continue;
        sum += static_cast<std::int64_t>(std::min(use.requested[r], whole) * kPlacementScoreMax / whole);
        ++weights;
      }
      if (weights > 0) scores[i] = sum / weights;
    }
  }
};

}  // namespace

bool fits(const PodQuery& query, NodeId node, const model::ResourceAmounts& charges) {
  const model::Cluster& cluster = query.context->cluster;
  const model::NodeRow& row = cluster.node(node);
  const model::NodeUse& use = cluster.ledger().node(node);
  for (const model::ResourceAmount& request : charges)
    if (!fits_in(row, use, request) && !is_not_counted(query, request.resource, row)) return false;
  return true;
}

bool fits_or_is_refused(const PodQuery& query, Diagnosis& diagnosis, NodeId node,
                        const model::ResourceAmounts& charges, Tried tried) {
  if (fits(query, node, charges)) return true;
  refuse(query, diagnosis, node, charges, tried);
  return false;
}

std::unique_ptr<Filter> node_resources_fit() {
  return std::make_unique<NodeResourcesFit>();
}
std::unique_ptr<FitCounter> node_resources_fit_counter(const ResourcesFitArguments& arguments) {
  return std::make_unique<NodeResourcesFitCounter>(arguments);
}
std::unique_ptr<PlacementScorer> placement_most_allocated() {
  return std::make_unique<PlacementMostAllocated>();
}

}  // namespace berth::placement::plugins
