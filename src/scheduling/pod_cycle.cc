#include "scheduling/pod_cycle.h"

#include <algorithm>

namespace berth::scheduling {
namespace {

constexpr std::int64_t kScoreMax = 100;

}  // namespace

void PodCycle::begin(Attempt& attempt, const World& world, const api::Pod& pod) const {
  attempt.world = &world;
  attempt.pod = &pod;
  attempt.pod_id = world.cluster.find_pod(pod.meta.ns, pod.meta.name);
  attempt.candidates.clear();
  attempt.scores.clear();
  attempt.diagnosis.clear();
  attempt.slots.clear();
  attempt.node_slots.clear();
  attempt.reservation.clear();
}

bool PodCycle::prepare(Attempt& attempt) const {
  for (const auto& prefilter : plugins_.prefilters) {
    prefilter->prepare(attempt);
    if (attempt.over()) return false;
  }
  return true;
}

void PodCycle::filter_only(Attempt& attempt) const {
  for (const auto& filter : plugins_.filters) {
    if (attempt.candidates.empty() || attempt.over()) return;
    filter->filter(attempt);
  }
}

void PodCycle::judge(Attempt& attempt, std::span<const NodeId> nodes) const {
  attempt.diagnosis.clear();
  attempt.candidates.assign(nodes.begin(), nodes.end());
  filter_only(attempt);
  attempt.scores.assign(attempt.candidates.size(), 0);
  for (const PluginSet::Weighted& row : plugins_.scores) row.score->score(attempt, row.weight);
}

NodeId PodCycle::choose(Attempt& attempt, std::span<const NodeId> nodes,
                        std::span<const NodeId> avoid) const {
  attempt.candidates.assign(nodes.begin(), nodes.end());
  if (!avoid.empty())
    attempt.keep_if(reason_row("BindFailureAvoided"),
                    [&](NodeId node) { return std::find(avoid.begin(), avoid.end(), node) == avoid.end(); });
  filter_only(attempt);
  if (attempt.candidates.empty() || attempt.over()) return NodeId::none();
  attempt.scores.assign(attempt.candidates.size(), 0);
  if (attempt.candidates.size() > 1)
    for (const PluginSet::Weighted& row : plugins_.scores) row.score->score(attempt, row.weight);
  return best_accepted(attempt);
}

bool PodCycle::has_costly_questions(const Attempt& attempt) const {
  return std::any_of(plugins_.costly_filters.begin(), plugins_.costly_filters.end(),
                     [&](const auto& filter) { return filter->wanted(attempt); });
}

bool PodCycle::has_preferences(const Attempt& attempt) const {
  return std::any_of(plugins_.costly_filters.begin(), plugins_.costly_filters.end(),
                     [&](const auto& filter) { return filter->wanted(attempt) && filter->prefers(attempt); });
}

void PodCycle::add_scope(const Attempt& attempt, NodeScope& scope) const {
  for (const auto& filter : plugins_.filters) filter->add_scope(attempt, scope);
  for (const auto& filter : plugins_.costly_filters) filter->add_scope(attempt, scope);
  for (const PluginSet::Weighted& row : plugins_.scores) row.score->add_scope(attempt, scope);
}

bool PodCycle::sign_filters(const Attempt& attempt, PodSignature& signature) const {
  NodeScope scope;
  for (const auto& filter : plugins_.filters) {
    if (filter->sign(attempt, signature) == Signing::Unsigned) return false;
    filter->add_scope(attempt, scope);
  }
  return scope.is_node_alone();
}

bool PodCycle::sign(const Attempt& attempt, PodSignature& signature) const {
  const auto signs = [&](const SignPlugin& plugin) {
    return plugin.sign(attempt, signature) == Signing::Signed;
  };
  return std::all_of(plugins_.filters.begin(), plugins_.filters.end(),
                     [&](const auto& filter) { return signs(*filter); }) &&
         std::all_of(plugins_.costly_filters.begin(), plugins_.costly_filters.end(),
                     [&](const auto& filter) { return signs(*filter); }) &&
         std::all_of(plugins_.scores.begin(), plugins_.scores.end(),
                     [&](const PluginSet::Weighted& row) { return signs(*row.score); });
}

bool PodCycle::accepts(Attempt& attempt, NodeId node) const {
  attempt.node_slots.clear();
  return std::all_of(plugins_.costly_filters.begin(), plugins_.costly_filters.end(), [&](const auto& filter) {
    return !filter->wanted(attempt) || filter->accepts(attempt, node);
  });
}

bool PodCycle::asks_all(const Attempt& attempt) const {
  return attempt.world->cluster.live_nodes().size() <= kNodesAllAskedMax || has_preferences(attempt);
}

NodeId PodCycle::best_accepted(Attempt& attempt) const {
  const std::vector<std::int64_t>& scores = attempt.scores;
  if (!has_costly_questions(attempt))
    return attempt.candidates[std::max_element(scores.begin(), scores.end()) - scores.begin()];
  return asks_all(attempt) ? best_of_all(attempt) : first_accepted(attempt);
}

// Asks every candidate; their preferences count beside the scores.
NodeId PodCycle::best_of_all(Attempt& attempt) const {
  struct Accepted {
    std::size_t candidate;
    std::int64_t preference;
    StateSlots slots;
  };
  std::vector<Accepted> all;
  std::int64_t most = 1;
  for (std::size_t i = 0; i < attempt.candidates.size(); ++i) {
    attempt.preference = 0;
    const bool accepted = accepts(attempt, attempt.candidates[i]);
    if (attempt.over()) return NodeId::none();
    if (!accepted) continue;
    most = std::max(most, attempt.preference);
    all.push_back({i, attempt.preference, std::move(attempt.node_slots)});
  }
  if (all.empty()) return NodeId::none();
  for (const Accepted& one : all) attempt.scores[one.candidate] += one.preference * kScoreMax / most;
  const auto best = std::max_element(all.begin(), all.end(), [&](const Accepted& a, const Accepted& b) {
    return attempt.scores[a.candidate] < attempt.scores[b.candidate];
  });
  attempt.node_slots = std::move(best->slots);
  return attempt.candidates[best->candidate];
}

NodeId PodCycle::first_accepted(Attempt& attempt) const {
  const std::vector<std::int64_t>& scores = attempt.scores;
  std::vector<std::uint32_t> order(scores.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  const auto worse = [&](std::uint32_t a, std::uint32_t b) {
    return scores[a] != scores[b] ? scores[a] < scores[b] : a > b;
  };
  std::make_heap(order.begin(), order.end(), worse);
  while (!order.empty()) {
    std::pop_heap(order.begin(), order.end(), worse);
    const NodeId node = attempt.candidates[order.back()];
    order.pop_back();
    if (accepts(attempt, node)) return node;
    if (attempt.over()) return NodeId::none();
  }
  return NodeId::none();
}

bool PodCycle::has_words(const Attempt& attempt, const Reason& reason) const {
  return std::any_of(plugins_.costly_filters.begin(), plugins_.costly_filters.end(),
                     [&](const auto& filter) { return filter->explains(attempt, reason); });
}

std::string PodCycle::why_not(const Attempt& attempt, NodeId node) const {
  std::string why;
  for (const auto& filter : plugins_.costly_filters)
    if (why.empty() && filter->wanted(attempt)) why = filter->explain(attempt, node);
  return why;
}

Refusals PodCycle::refusals(const Attempt& attempt) const {
  if (!attempt.diagnosis.error().empty()) {
    Refusals ended;
    ended.error = attempt.diagnosis.error();
    return ended;
  }
  Refusals refusals = add_up(attempt.diagnosis, attempt.world->cluster);
  for (RefusedFor& refused : refusals.reasons)
    if (has_words(attempt, *refused.row))
      for (const NodeId node : refused.first) refused.why.push_back(why_not(attempt, node));
  return refusals;
}

bool PodCycle::reserve(Attempt& attempt, NodeId node, model::Ledger::Transaction& transaction) const {
  const auto before = transaction.savepoint();
  for (auto at = plugins_.reserves.begin(); at != plugins_.reserves.end(); ++at) {
    const Status reserved = (*at)->reserve(attempt, node, transaction);
    if (reserved) continue;
    attempt.diagnosis.fail((*at)->name(), "running Reserve plugin \"" + std::string((*at)->name()) +
                                              "\": " + reserved.error().message());
    while (at != plugins_.reserves.begin()) (*--at)->unreserve(attempt, node);
    transaction.roll_back_to(before);
    attempt.reservation.clear();
    return false;
  }
  const model::NodeAllocatablePtr& by_devices = attempt.reservation.node_allocatable;
  transaction.place(attempt.pod_id, node, attempt.world->cluster.charges(attempt.pod_id, by_devices),
                    by_devices);
  return true;
}

std::vector<client::Chain> PodCycle::post_filter(const Attempt& attempt,
                                                 model::Ledger::Transaction& transaction,
                                                 const PostFilter::FitsNow& fits_now) const {
  std::vector<client::Chain> chains;
  for (const auto& plugin : plugins_.post_filters)
    for (client::Chain& chain : plugin->after_refusal(attempt, transaction, fits_now))
      chains.push_back(std::move(chain));
  return chains;
}

}  // namespace berth::scheduling
