#include "planning/comparison.h"

#include <algorithm>
#include <array>
#include <map>

#include "planning/score_table.h"
#include "planning/text_rows.h"

namespace berth::planning {
namespace {

constexpr std::size_t kComparedShownMax = 50;  // pods of a table; JSON has all
constexpr std::array<std::string_view, kAgreementCount> kAgreementNames = {"agree", "better", "refused"};

ComparedPod compared_pod(const client::NamedKey& key, ScoreTable table) {
  ComparedPod pod{key.ns, key.name, std::move(table.node), Agreement::Agree, {}, table.total, 0, {}};
  if (!table.refused.empty()) {
    pod.agreement = Agreement::Refused;
    pod.why = std::move(table.refused);
  } else if (!table.runner_up.empty() && table.runner_up_total > table.total) {
    pod.agreement = Agreement::Better;
    pod.better = std::move(table.runner_up);
    pod.higher = table.runner_up_total;
  }
  return pod;
}

std::string why_text(const ComparedPod& pod) {
  if (pod.agreement == Agreement::Refused) return pod.why;
  return pod.better + " has " + std::to_string(pod.higher) + ", its node " + std::to_string(pod.score);
}

std::map<Agreement, std::size_t> counts_of(const std::vector<ComparedPod>& pods) {
  std::map<Agreement, std::size_t> counts;
  for (std::size_t i = 0; i < kAgreementCount; ++i) counts[static_cast<Agreement>(i)] = 0;
  for (const ComparedPod& pod : pods) ++counts[pod.agreement];
  return counts;
}

}  // namespace

std::string_view name_of(Agreement agreement) {
  return kAgreementNames[static_cast<std::size_t>(agreement)];
}

Result<std::vector<ComparedPod>> compare_placements(std::vector<Document> documents,
                                                    const PlanOptions& options,
                                                    dra::SelectorEvaluator& selectors) {
  const std::unique_ptr<OfflineCluster> offline = TRY(OfflineCluster::make(std::move(documents), options));
  OfflineCore core(*offline, options, selectors);
  std::vector<client::NamedKey> keys;
  for (const auto& [key, pod] : offline->view().pods.all()) keys.push_back(key);
  std::vector<ComparedPod> pods;
  for (const client::NamedKey& key : keys)
    if (auto table = score_placed_pod(*offline, core, key))
      pods.push_back(compared_pod(key, *std::move(table)));
  return pods;
}

Json to_json(const std::vector<ComparedPod>& pods) {
  Json counts = Json::object({}), rows = Json::array();
  for (const auto& [agreement, count] : counts_of(pods))
    counts[name_of(agreement)] = static_cast<std::int64_t>(count);
  for (const ComparedPod& pod : pods) {
    if (pod.agreement == Agreement::Agree) continue;
    Json& row = rows.as_array().emplace_back(Json::object(
        {{"namespace", pod.ns}, {"name", pod.name}, {"node", pod.node}, {"result", name_of(pod.agreement)}}));
    if (pod.agreement == Agreement::Refused) {
      row["reason"] = pod.why;
      continue;
    }
    row["better"] = pod.better;
    row["score"] = pod.score;
    row["betterScore"] = pod.higher;
  }
  return Json::object({{"counts", std::move(counts)}, {"pods", std::move(rows)}});
}

std::string to_table(const std::vector<ComparedPod>& pods) {
  std::vector<TextRow> rows = {{"NAMESPACE", "POD", "NODE", "RESULT", "WHY"}};
  std::map<std::string, std::size_t> reasons;
  std::size_t left_out = 0;
  for (const ComparedPod& pod : pods) {
    if (pod.agreement == Agreement::Refused) ++reasons[pod.why];
    if (pod.agreement == Agreement::Agree) continue;
    if (rows.size() > kComparedShownMax) {
      ++left_out;
      continue;
    }
    rows.push_back({pod.ns, pod.name, pod.node, std::string(name_of(pod.agreement)), why_text(pod)});
  }
  std::string text;
  if (rows.size() > 1) append_table(text, std::move(rows));
  if (left_out > 0) text += "and " + std::to_string(left_out) + " more (-o json has them)\n";
  std::string total;
  for (const auto& [agreement, count] : counts_of(pods))
    total += (total.empty() ? "" : ", ") + std::to_string(count) + " " + std::string(name_of(agreement));
  text += (text.empty() ? "" : "\n") + std::to_string(pods.size()) +
          (pods.size() == 1 ? " pod: " : " pods: ") + total + "\n";
  for (const auto& [reason, count] : reasons)
    text += "  " + std::to_string(count) + " refused: " + reason + "\n";
  return text;
}

}  // namespace berth::planning
