#include "placement/pod_cycle.h"

#include <algorithm>
#include <numeric>

#include "placement/index/domains.h"
#include "placement/refusal/fit_error_builder.h"

namespace berth::placement {
namespace {

// Their rows and what is in use of them, 400 bytes each, fit a second cache.
constexpr std::size_t kNodesOfABlock = 512;

// All that is about nodes, and what was reserved.
void forget_verdicts(CycleState& state, const api::Pod& pod, PodId id) {
  state.pod = &pod;
  state.pod_id = id;
  state.candidates.clear();
  state.scores.clear();
  state.diagnosis.clear();
  state.choice.slots.clear();
  state.reservation = {};
}

// Pods of different profiles share no verdicts.
void sign_profile(const PodQuery& query, PodSignature& signature) {
  if (query.plugins->profile > 0 && signature.begin("Profile")) signature.put(query.plugins->profile);
}

}  // namespace

void PodCycle::begin(CycleState& state, const SchedulingContext& context, const api::Pod& pod,
                     model::Ledger::Transaction* what_if) const {
  begin(state, context, pod, context.cluster.find_pod(pod.meta.ns, pod.meta.name), what_if);
}

void PodCycle::begin(CycleState& state, const SchedulingContext& context, const api::Pod& pod, PodId id,
                     model::Ledger::Transaction* what_if) const {
  state.what_if = what_if;
  state.context = &context;
  state.plugins = &profiles_.of(pod);
  state.slots.clear();
  forget_verdicts(state, pod, id);
}

bool PodCycle::prepare(CycleState& state) const {
  for (const auto& prefilter : state.plugins->prefilters) {
    prefilter->prepare(state, state.diagnosis);
    if (state.over()) return false;
  }
  return true;
}

void PodCycle::filter_only(CycleState& state) const {
  for (const auto& filter : state.plugins->filters) {
    if (state.candidates.empty() || state.over()) return;
    filter->filter(state, state);
  }
}

void PodCycle::add_rules(const PodQuery& query, std::vector<DomainRule>& rules) const {
  for (const auto& filter : query.plugins->domain_filters) filter->add_rules(query, rules);
}

bool PodCycle::has_rules(const PodQuery& query) const {
  std::vector<DomainRule> rules;
  add_rules(query, rules);
  return !rules.empty();
}

std::vector<PodCycle::RefusingRule> PodCycle::refusing_rules(const PodQuery& query, NodeId node) const {
  std::vector<DomainRule> rules;
  add_rules(query, rules);
  const model::Cluster& cluster = query.context->cluster;
  const std::vector<AmountRange> accepted = domains_.accepted(rules, cluster);
  std::vector<RefusingRule> refusing;
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const DomainAmounts& amounts = domains_.amounts(rules[i], cluster);
    const DomainValueId domain = amounts.domain_of(node);
    if (domain.valid() && !accepted[i].contains(amounts.amount(domain)))
      refusing.push_back({std::move(rules[i]), amounts.nodes(domain)});
  }
  return refusing;
}

void PodCycle::filter_domains(CycleState& state) const {
  if (state.candidates.empty() || state.over()) return;
  std::vector<DomainRule> rules;
  add_rules(state, rules);
  const std::vector<AmountRange> accepted = domains_.accepted(rules, state.context->cluster);
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const DomainAmounts& amounts = domains_.amounts(rules[i], state.context->cluster);
    if (rules[i].labelled_only)
      state.keep_if(*rules[i].no_label, [&](NodeId node) { return amounts.domain_of(node).valid(); });
    state.keep_if(*rules[i].refused,
                  [&](NodeId node) { return accepted[i].contains(amounts.amount(amounts.domain_of(node))); });
  }
}

std::int64_t PodCycle::add_comparisons(const PodQuery& query,
                                       std::vector<WeightedComparison>& comparisons) const {
  for (const PluginSet::WeightedDomains& row : query.plugins->domain_scores) {
    std::vector<DomainCount> counts;
    row.score->add_counts(query, counts);
    if (counts.empty()) continue;
    Comparison& by_sum =
        comparisons.emplace_back(WeightedComparison{{}, row.weight, row.score->name()}).comparison;
    for (DomainCount& one : counts) by_sum.domains.push_back({std::move(one)});
    by_sum.normalize = scale_min_to_max;
  }
  std::int64_t of_all = 0;
  for (const PluginSet::WeightedNormalized& row : query.plugins->normalized_scores)
    if (auto comparison = row.score->compare(query))
      comparisons.push_back({*std::move(comparison), row.weight, row.score->name()});
    else
      of_all += row.weight * row.score->score_of_all();
  return of_all;
}

// The scores of one comparison between `feasible`, indices of candidates.
void PodCycle::compare_by(const CycleState& state, const Comparison& comparison,
                          std::span<const std::size_t> feasible, ComparedNodes& compared,
                          std::vector<std::int64_t>& scores) const {
  compared.start(comparison.columns, comparison.domains.size());
  for (const std::size_t at : feasible) {
    compared.add(1);
    for (const Comparison::NodeValue& one : comparison.values)
      compared.add_to(compared.size() - 1, one.column, one.of(state.candidates[at]));
  }
  for (std::size_t d = 0; d < comparison.domains.size(); ++d) {
    const DomainAmounts& amounts = domains_.amounts(comparison.domains[d].count, state.context->cluster);
    for (std::size_t i = 0; i < feasible.size(); ++i) {
      const DomainValueId domain = amounts.domain_of(state.candidates[feasible[i]]);
      compared.set_domain(i, d, domain);
      if (domain.valid()) compared.add_to(i, comparison.domains[d].column, amounts.amount(domain));
    }
  }
  scores.resize(feasible.size());
  comparison.normalize(compared, scores);
}

// Adds the scores of comparisons between `feasible`, indices of candidates, at least one.
void PodCycle::compare(CycleState& state, std::span<const std::size_t> feasible) const {
  std::vector<WeightedComparison> comparisons;
  const std::int64_t of_all = add_comparisons(state, comparisons);
  for (const std::size_t at : feasible) state.scores[at] += of_all;
  ComparedNodes compared;
  std::vector<std::int64_t> scores;
  for (const WeightedComparison& row : comparisons) {
    compare_by(state, row.comparison, feasible, compared, scores);
    for (std::size_t i = 0; i < feasible.size(); ++i) state.scores[feasible[i]] += row.weight * scores[i];
  }
}

void PodCycle::compare_all(CycleState& state) const {
  std::vector<std::size_t> all(state.candidates.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  compare(state, all);
}

// Each filter and score passes over the nodes: of a block they find the rows in the cache.
void PodCycle::judge(CycleState& state, std::span<const NodeId> nodes) const {
  state.diagnosis.clear();
  if (nodes.size() <= kNodesOfABlock) return judge_block(state, nodes);
  std::vector<NodeId> accepted;
  std::vector<std::int64_t> scores;
  while (!nodes.empty()) {
    const std::span<const NodeId> block = nodes.first(std::min(nodes.size(), kNodesOfABlock));
    judge_block(state, block);
    accepted.insert(accepted.end(), state.candidates.begin(), state.candidates.end());
    scores.insert(scores.end(), state.scores.begin(), state.scores.end());
    nodes = nodes.subspan(block.size());
  }
  state.candidates.swap(accepted);
  state.scores.swap(scores);
}

void PodCycle::judge_block(CycleState& state, std::span<const NodeId> nodes) const {
  state.candidates.assign(nodes.begin(), nodes.end());
  filter_only(state);
  state.scores.assign(state.candidates.size(), 0);
  for (const PluginSet::Weighted& row : state.plugins->scores)
    row.score->score(state, state.candidates, row.weight, state.scores);
}

NodeId PodCycle::choose(CycleState& state, std::span<const NodeId> nodes,
                        std::span<const NodeId> avoid) const {
  state.candidates.assign(nodes.begin(), nodes.end());
  if (!avoid.empty())
    state.keep_if(reason_row("BindFailureAvoided"),
                  [&](NodeId node) { return !std::ranges::binary_search(avoid, node); });
  filter_only(state);
  filter_domains(state);
  if (state.candidates.empty() || state.over()) return NodeId::none();
  score_each(state);
  // Where all are asked, those that lazy filters refuse are not feasible.
  if (state.candidates.size() > 1 && !tries_all(state)) compare_all(state);
  return best_accepted(state);
}

NodeId PodCycle::choose_alone(CycleState& state, std::span<const NodeId> nodes) const {
  state.candidates.assign(nodes.begin(), nodes.end());
  filter_only(state);
  if (state.candidates.empty() || state.over()) return NodeId::none();
  score_each(state);
  return best_accepted(state);
}

// A single candidate needs no score.
void PodCycle::score_each(CycleState& state) const {
  state.scores.assign(state.candidates.size(), 0);
  if (state.candidates.size() == 1) return;
  for (const PluginSet::Weighted& row : state.plugins->scores)
    row.score->score(state, state.candidates, row.weight, state.scores);
}

namespace {

NodeId first_node(const SchedulingContext& context, const api::Pod& pod) {
  if (context.first_nodes)
    if (const auto kept = context.first_nodes->find(pod.meta.uid); kept != context.first_nodes->end())
      return kept->second;
  return pod.nominated_node.empty() ? NodeId::none() : context.cluster.find_node(pod.nominated_node);
}

}  // namespace

bool PodCycle::repeat(CycleState& state, const api::Pod& pod, PodId id) const {
  if (first_node(*state.context, pod).valid()) return false;
  forget_verdicts(state, pod, id);
  return true;
}

NodeId PodCycle::choose_nominated(CycleState& state, std::span<const NodeId> nodes,
                                  std::span<const NodeId> avoid) const {
  const api::Pod& pod = *state.pod;
  const NodeId named = first_node(*state.context, pod);
  if (!named.valid()) return named;
  if (std::find(nodes.begin(), nodes.end(), named) == nodes.end()) return NodeId::none();
  const NodeId node = prepare(state) ? choose(state, {&named, 1}, avoid) : NodeId::none();
  if (!node.valid()) begin(state, *state.context, pod, state.what_if);
  return node;
}

bool PodCycle::has_lazy_filters(const PodQuery& query) const {
  return std::any_of(query.plugins->lazy_filters.begin(), query.plugins->lazy_filters.end(),
                     [&](const auto& filter) { return filter->wanted(query); });
}

bool PodCycle::has_preferences(const PodQuery& query) const {
  if (query.plugins->preference_weight == 0) return false;
  return std::any_of(query.plugins->lazy_filters.begin(), query.plugins->lazy_filters.end(),
                     [&](const auto& filter) { return filter->wanted(query) && filter->prefers(query); });
}

bool PodCycle::tries_all(const PodQuery& query) const {
  const auto expects_error = [&](const auto& filter) {
    return filter->wanted(query) && filter->expects_error(query);
  };
  return has_preferences(query) || std::ranges::any_of(query.plugins->lazy_filters, expects_error);
}

void PodCycle::add_scope(const PodQuery& query, FilterScope& scope) const {
  for (const auto& filter : query.plugins->filters) filter->add_scope(query, scope);
  for (const auto& filter : query.plugins->lazy_filters) filter->add_scope(query, scope);
  for (const PluginSet::Weighted& row : query.plugins->scores) row.score->add_scope(query, scope);
}

bool PodCycle::sign_filters(const PodQuery& query, PodSignature& signature) const {
  sign_profile(query, signature);
  FilterScope scope;
  for (const auto& filter : query.plugins->filters) {
    if (filter->sign(query, signature) == Signing::Unsigned) return false;
    filter->add_scope(query, scope);
  }
  return scope.is_node_alone();
}

bool PodCycle::sign(const PodQuery& query, PodSignature& signature) const {
  sign_profile(query, signature);
  const auto signs = [&](const SignPlugin& plugin) {
    return plugin.sign(query, signature) == Signing::Signed;
  };
  return std::all_of(query.plugins->filters.begin(), query.plugins->filters.end(),
                     [&](const auto& filter) { return signs(*filter); }) &&
         std::all_of(query.plugins->domain_filters.begin(), query.plugins->domain_filters.end(),
                     [&](const auto& filter) { return signs(*filter); }) &&
         std::all_of(query.plugins->lazy_filters.begin(), query.plugins->lazy_filters.end(),
                     [&](const auto& filter) { return signs(*filter); }) &&
         std::all_of(query.plugins->scores.begin(), query.plugins->scores.end(),
                     [&](const PluginSet::Weighted& row) { return signs(*row.score); }) &&
         std::all_of(query.plugins->domain_scores.begin(), query.plugins->domain_scores.end(),
                     [&](const PluginSet::WeightedDomains& row) { return signs(*row.score); }) &&
         std::all_of(query.plugins->normalized_scores.begin(), query.plugins->normalized_scores.end(),
                     [&](const PluginSet::WeightedNormalized& row) { return signs(*row.score); });
}

bool PodCycle::accepts(CycleState& state, NodeId node) const {
  state.choice.slots.clear();
  const NodeTrial trial{state, node, state.what_if, state.choice, state.diagnosis};
  return std::all_of(state.plugins->lazy_filters.begin(), state.plugins->lazy_filters.end(),
                     [&](const auto& filter) { return !filter->wanted(state) || filter->accepts(trial); });
}

NodeId PodCycle::best_accepted(CycleState& state) const {
  const std::vector<std::int64_t>& scores = state.scores;
  if (!has_lazy_filters(state))
    return state.candidates[std::max_element(scores.begin(), scores.end()) - scores.begin()];
  return tries_all(state) ? best_of_all(state) : first_accepted(state);
}

// Runs the lazy filters on every candidate. Preferences are scaled to 0..100. Empty if the attempt is over.
std::vector<PodCycle::Accepted> PodCycle::accept_all(CycleState& state) const {
  std::vector<Accepted> all;
  std::int64_t most = 1;
  for (std::size_t i = 0; i < state.candidates.size(); ++i) {
    state.choice.preference = 0;
    const bool accepted = accepts(state, state.candidates[i]);
    if (state.over()) return {};
    if (!accepted) continue;
    most = std::max(most, state.choice.preference);
    all.push_back({i, state.choice.preference, std::move(state.choice.slots)});
  }
  for (Accepted& one : all) one.preference = one.preference * kNodeScoreMax / most;
  return all;
}

// Preferences are added to the scores.
NodeId PodCycle::best_of_all(CycleState& state) const {
  std::vector<Accepted> all = accept_all(state);
  if (all.empty()) return NodeId::none();
  std::vector<std::size_t> feasible;
  for (const Accepted& one : all) feasible.push_back(one.candidate);
  compare(state, feasible);
  for (const Accepted& one : all)
    state.scores[one.candidate] += state.plugins->preference_weight * one.preference;
  const auto best = std::max_element(all.begin(), all.end(), [&](const Accepted& a, const Accepted& b) {
    return state.scores[a.candidate] < state.scores[b.candidate];
  });
  state.choice.slots = std::move(best->slots);
  return state.candidates[best->candidate];
}

NodeId PodCycle::first_accepted(CycleState& state) const {
  const std::vector<std::int64_t>& scores = state.scores;
  std::vector<std::uint32_t> order(scores.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  const auto worse = [&](std::uint32_t a, std::uint32_t b) {
    return scores[a] != scores[b] ? scores[a] < scores[b] : a > b;
  };
  std::make_heap(order.begin(), order.end(), worse);
  while (!order.empty()) {
    std::pop_heap(order.begin(), order.end(), worse);
    const NodeId node = state.candidates[order.back()];
    order.pop_back();
    if (accepts(state, node)) return node;
    if (state.over()) return NodeId::none();
  }
  return NodeId::none();
}

std::vector<PodCycle::PluginScores> PodCycle::scores_by_plugin(CycleState& state,
                                                               std::span<const NodeId> nodes) const {
  state.candidates.assign(nodes.begin(), nodes.end());
  filter_only(state);
  filter_domains(state);
  std::vector<PluginScores> all;
  if (has_preferences(state)) {
    PluginScores& preferences = all.emplace_back("DynamicResources", state.plugins->preference_weight);
    std::vector<NodeId> accepted;
    for (const Accepted& one : accept_all(state)) {
      accepted.push_back(state.candidates[one.candidate]);
      preferences.scores.push_back(one.preference);
    }
    state.candidates = std::move(accepted);
  }
  if (state.candidates.empty() || state.over()) return {};
  for (const PluginSet::Weighted& row : state.plugins->scores) {
    std::vector<std::int64_t> scores(state.candidates.size(), 0);
    row.score->score(state, state.candidates, 1, scores);
    all.push_back({row.score->name(), row.weight, std::move(scores)});
  }
  std::vector<std::size_t> feasible(state.candidates.size());
  std::iota(feasible.begin(), feasible.end(), std::size_t{0});
  std::vector<WeightedComparison> comparisons;
  add_comparisons(state, comparisons);
  ComparedNodes compared;
  for (const WeightedComparison& row : comparisons)
    compare_by(state, row.comparison, feasible, compared, all.emplace_back(row.plugin, row.weight).scores);
  // Those that tell no nodes apart.
  const auto add_rest = [&](std::string_view plugin, std::int64_t weight, std::int64_t score) {
    if (std::ranges::find(comparisons, plugin, &WeightedComparison::plugin) == comparisons.end())
      all.push_back({plugin, weight, std::vector(state.candidates.size(), score)});
  };
  for (const PluginSet::WeightedDomains& row : state.plugins->domain_scores)
    add_rest(row.score->name(), row.weight, 0);
  for (const PluginSet::WeightedNormalized& row : state.plugins->normalized_scores)
    add_rest(row.score->name(), row.weight, row.score->score_of_all());
  return all;
}

bool PodCycle::has_words(const CycleState& state, const Reason& reason) const {
  return std::any_of(state.plugins->lazy_filters.begin(), state.plugins->lazy_filters.end(),
                     [&](const auto& filter) { return filter->explains(state, reason); });
}

std::string PodCycle::why_not(const CycleState& state, NodeId node) const {
  std::string why;
  for (const auto& filter : state.plugins->lazy_filters)
    if (why.empty() && filter->wanted(state)) why = filter->explain(state, node);
  return why;
}

FitError PodCycle::fit_error(const CycleState& state) const {
  if (!state.diagnosis.error().empty()) {
    FitError ended;
    ended.error = state.diagnosis.error();
    ended.hint = state.diagnosis.hint();
    return ended;
  }
  FitErrorBuilder builder(state);
  builder.add_diagnosis();
  const FitErrorBuilder::WhyNot words = [&](const Reason& reason, NodeId node) {
    return has_words(state, reason) ? why_not(state, node) : std::string();
  };
  return builder.take(words, &domains_.absent_labels());
}

std::optional<PodProof> PodCycle::prove(CycleState& state, const FitError& fit_error,
                                        std::span<const NodeId> nodes, std::size_t nodes_max) const {
  if (!fit_error.everywhere.empty()) {
    for (const auto& prefilter : state.plugins->prefilters)
      if (auto certificate = prefilter->prove(state)) return DeviceProof{*std::move(certificate), ""};
    return std::nullopt;
  }
  judge(state, nodes.first(std::min(nodes.size(), nodes_max)));
  const auto lacks = [](const dra::Certificate& found) { return found.need - found.have; };
  std::optional<DeviceProof> closest;
  for (const NodeId node : state.candidates)
    for (const auto& filter : state.plugins->lazy_filters) {
      auto found = filter->prove(state, node);
      if (!found || (closest && lacks(*found) >= lacks(closest->certificate))) continue;
      closest = DeviceProof{*std::move(found), state.context->cluster.node(node).name};
    }
  if (closest) return *std::move(closest);
  return NodesProof{};
}

std::optional<ReservationPtr> PodCycle::reserve(CycleState& state, NodeId node,
                                                model::Ledger::Transaction& transaction) const {
  const auto before = transaction.savepoint();
  for (auto at = state.plugins->reserves.begin(); at != state.plugins->reserves.end(); ++at) {
    const Status reserved = (*at)->reserve(state, state.choice, node, transaction, state.reservation);
    if (reserved) continue;
    state.diagnosis.fail((*at)->name(), "running Reserve plugin \"" + std::string((*at)->name()) +
                                            "\": " + reserved.error().message());
    while (at != state.plugins->reserves.begin()) (*--at)->unreserve(state, node);
    transaction.roll_back_to(before);
    state.reservation = {};
    return std::nullopt;
  }
  ReservationPtr reserved;
  if (!state.reservation.empty())
    reserved = std::make_shared<const Reservation>(std::exchange(state.reservation, {}));
  transaction.place(state.pod_id, node,
                    state.context->cluster.charges(state.pod_id, value_of(reserved).node_allocatable),
                    reserved);
  return reserved;
}

std::vector<client::Chain> PodCycle::post_filter(const CycleState& state,
                                                 model::Ledger::Transaction& transaction,
                                                 const PostFilter::FitsNow& fits_now) const {
  std::vector<client::Chain> chains;
  for (const auto& plugin : state.plugins->post_filters)
    for (client::Chain& chain : plugin->after_refusal(state, transaction, fits_now))
      chains.push_back(std::move(chain));
  return chains;
}

}  // namespace berth::placement
