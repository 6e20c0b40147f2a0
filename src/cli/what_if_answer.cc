#include "cli/what_if_answer.h"

#include <map>
#include <set>

#include "cli/document_pages.h"
#include "client/api_path.h"
#include "dra/cel_selectors.h"
#include "explain/decision_history.h"
#include "explain/explanation.h"
#include "planning/expected_start.h"
#include "planning/offline_cluster.h"
#include "planning/remedies.h"
#include "planning/score_table.h"
#include "scheduling/keepers/policy_statuses.h"

namespace berth::cli {
namespace {

constexpr std::string_view kRemedies = "remedies", kScores = "scores";

// A member is decided with its group.
planning::AskedAbout entity_of(const Json& object, const explain::Question& question) {
  using placement::EntityKind;
  if (question.kind == api::Kind::CompositePodGroup)
    return {EntityKind::CompositeGroup, {question.ns, question.name}};
  const std::string_view group =
      question.kind == api::Kind::PodGroup ? std::string_view(question.name) : object.string_at("group");
  if (group.empty()) return {EntityKind::Pod, {question.ns, question.name}};
  return {EntityKind::Group, {question.ns, std::string(group)}};
}

// The group of a pod in its own object.
planning::AskedAbout entity_in(const DocumentPages& pages, const explain::Question& question) {
  const Json pod = pages.at(client::path_of({.verb = client::Verb::Get,
                                             .resource = api::ref_of(api::Kind::Pod),
                                             .ns = question.ns,
                                             .name = question.name}));
  const Json named = Json::object({{"group", api::decode_pod(pod, nullptr).group}});
  return entity_of(named, question);
}

// The decision as the scheduler would have recorded it.
void record(const planning::Remedies& decided, const planning::AskedAbout& of, Time now,
            explain::DecisionHistory& history) {
  const scheduling::DecisionKind kind = scheduling::kind_of({of.key.ns, of.key.name, of.kind});
  if (decided.gate) history.gated({now, kind, of.key.ns, of.key.name, *decided.gate});
  if (!decided.refusal) return;
  scheduling::DecisionRecord line{"offline", now, kind, of.key.ns, of.key.name, decided.refusal->result};
  line.refusal = decided.refusal;
  history.append(std::move(line));
}

void say(Json& answer, std::string_view state, const std::string& summary) {
  answer["state"] = state;
  answer["summary"] = summary;
}

// The cluster of the question, with the run times of owners.
Result<std::unique_ptr<planning::OfflineCluster>> offline_of(std::vector<planning::Document> documents,
                                                             const planning::PlanOptions& options) {
  planning::inherit_expected_durations(documents);
  return planning::OfflineCluster::make(std::move(documents), options);
}

// The statuses of policies, as the scheduler would write them about these objects.
void put_policy_statuses(const planning::OfflineCluster& offline,
                         std::vector<planning::Document>& documents) {
  const client::View& view = offline.view();
  const placement::OwnersOf owners = offline.owners();
  std::map<const api::PlacementPolicy*, std::set<placement::EntityKey>> groups;
  const auto note = [&](const auto& group, placement::EntityKind kind) {
    for (const api::PlacementPolicy* policy : placement::wish_of(view, owners, group).policies)
      groups[policy].insert({group.meta.ns, group.meta.name, kind});
  };
  for (const auto& [key, group] : view.pod_groups.all()) note(*group, placement::EntityKind::Group);
  for (const auto& [key, group] : view.composite_groups.all())
    note(*group, placement::EntityKind::CompositeGroup);
  for (planning::Document& document : documents) {
    const Json& metadata = document.object.part("metadata");
    const api::PlacementPolicy* policy =
        document.kind == api::Kind::PlacementPolicy
            ? view.placement_policies.find(metadata.string_at("namespace"), metadata.string_at("name"))
            : nullptr;
    if (policy)
      document.object["status"] =
          scheduling::status_of_policy(view, *policy, groups[policy], {}, {}, offline.now());
  }
}

// Last: the cluster is changed.
void add_expected_start(planning::OfflineCluster& offline, const planning::AskedAbout& entity,
                        const planning::PlanOptions& options, dra::SelectorEvaluator& selectors,
                        Json& answer) {
  const Time now = offline.now();
  planning::put_json(planning::expected_start(offline, entity, options, selectors), now, answer);
}

void add_scores(planning::OfflineCluster& offline, const WhatIfQuestion& asked,
                dra::SelectorEvaluator& selectors, Json& answer) {
  planning::OfflineCore core(offline, asked.options, selectors);
  const auto table = planning::score_placed_pod(offline, core, {asked.question.ns, asked.question.name});
  if (table) answer["scores"] = planning::to_json(*table);
}

// The time of a plan is no time of a decision.
void forget_times(Json& answer) {
  constexpr std::string_view kAges[] = {", decided 0s ago", ", for 0s so far"};
  answer.as_object().erase("steps");
  if (Json* decision = answer.find("decision"))
    for (const std::string_view field : {"id", "time"}) decision->as_object().erase(field);
  std::string summary(answer.string_at("summary"));
  for (const std::string_view age : kAges)
    if (const std::size_t at = summary.find(age); at != std::string::npos) summary.erase(at, age.size());
  answer["summary"] = summary;
}

}  // namespace

std::string_view what_if_about(const Json& answer) {
  const std::string_view state = answer.string_at("state");
  if (state == "Unschedulable") return kRemedies;
  const bool ended = state == "Succeeded" || state == "Failed";
  return answer.string_at("kind") == "Pod" && answer.find("node") && !ended ? kScores : "";
}

Status add_what_if(WhatIfQuestion asked, Json& answer) {
  const std::string_view what = what_if_about(answer);
  if (what.empty()) return {};
  dra::CelSelectors selectors;
  const auto offline = TRY(offline_of(std::move(asked.documents), asked.options));
  if (what == kScores) {
    add_scores(*offline, asked, selectors, answer);
    return {};
  }
  const planning::AskedAbout entity = entity_of(answer, asked.question);
  planning::put_json(planning::find_remedies(*offline, entity, asked.options, selectors), answer);
  add_expected_start(*offline, entity, asked.options, selectors, answer);
  return {};
}

Result<Json> answer_offline(WhatIfQuestion asked) {
  const auto offline = TRY(offline_of(asked.documents, asked.options));
  put_policy_statuses(*offline, asked.documents);
  const DocumentPages pages(asked.documents);
  const planning::AskedAbout entity = entity_in(pages, asked.question);
  dra::CelSelectors selectors;
  const Time now = offline->now();
  const planning::Remedies decided = planning::find_remedies(*offline, entity, asked.options, selectors);
  explain::DecisionHistory history(nullptr);
  record(decided, entity, now, history);
  const explain::PageReaders read{[&](const std::string& path) { return Result<Json>(pages.at(path)); },
                                  [&](const std::string& path) {
                                    return parse_json(explain::decision_page(history, path).value_or("null"));
                                  }};
  Json answer = TRY(explain::answer(asked.question, read, now));
  const std::string_view what = what_if_about(answer);
  if (what == kRemedies) {
    planning::put_json(decided, answer);
    add_expected_start(*offline, entity, asked.options, selectors, answer);
  } else if (what == kScores) {
    add_scores(*offline, asked, selectors, answer);
  }
  if (!decided.node.empty())
    say(answer, "Fits", "waits, and " + decided.node + " takes it as the objects are");
  if (!decided.trouble.empty())
    say(answer, "Invalid", "would be refused by an API server: " + decided.trouble);
  forget_times(answer);
  return answer;
}

}  // namespace berth::cli
