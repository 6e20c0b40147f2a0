#include <algorithm>
#include <map>

#include "base/name_list.h"
#include "placement/wishes/reached.h"
#include "planning/plan.h"
#include "planning/text_rows.h"

namespace berth::planning {
namespace {

constexpr std::size_t kNodeColumn = 3;
constexpr std::size_t kNamesShownMax = 4;
constexpr std::size_t kLineColumns = 100;
using Row = TextRow;

// "a, b, c, d and 3 more"; "-" for none.
std::string shortened(const std::vector<std::string>& names) {
  return names.empty() ? "-" : first_names(names, kNamesShownMax);
}

Row row_of(const Decision& decision) {
  std::vector<std::string> nodes, devices;
  for (const PlannedPod& pod : decision.pods) {
    if (!pod.node.empty() && std::find(nodes.begin(), nodes.end(), pod.node) == nodes.end())
      nodes.push_back(pod.node);
    for (const PlannedClaim& claim : pod.claims)
      for (const api::DeviceResult& result : claim.allocation->results) devices.push_back(result.device);
    if (pod.gpu_share)
      for (const std::string& group : pod.gpu_share->groups)
        devices.push_back(group + " " + api::gpu_portion(pod.gpu_share->hundredths));
  }
  const std::string name = std::string(decision.composite ? "compositepodgroup/"
                                       : decision.group   ? "podgroup/"
                                                          : "pod/") +
                           decision.name;
  return {decision.ns, name, std::string(name_of(decision.result)), shortened(nodes), shortened(devices)};
}

std::string proof_text(const Proof& proof) {
  std::string text = "proof: " + proof.kind;
  if (!proof.node.empty()) text += " on " + proof.node;
  if (!proof.claim.empty()) text += ", claim " + proof.claim;
  if (!proof.request.empty()) text += ", request " + proof.request;
  return text + ": " + proof.words;
}

// Indented, in lines of at most kLineColumns where word boundaries allow it.
void append_wrapped(std::string& out, const std::string& words) {
  const std::string line = printable_line(words);
  std::string_view text = line;
  while (!text.empty()) {
    std::size_t end = text.size();
    if (end > kLineColumns) {
      end = text.rfind(' ', kLineColumns);
      if (end == std::string_view::npos) end = std::min(text.find(' '), text.size());
    }
    out.append("    ").append(text.substr(0, end)).append("\n");
    text.remove_prefix(std::min(text.size(), end + 1));
  }
}

// The first kMembersExplainedMax of a group's members that were tried and refused.
void append_members(std::string& out, const Decision& decision) {
  std::size_t refused = 0;
  for (const PlannedPod& pod : decision.pods)
    if (pod.refusal && ++refused <= placement::kMembersExplainedMax)
      append_wrapped(out, placement::explanation_of(*pod.refusal));
  if (refused > placement::kMembersExplainedMax)
    append_wrapped(out, "and " + std::to_string(refused - placement::kMembersExplainedMax) +
                            " more members (-o json has their reasons)");
}

// "wish rack, reached block: 16 pods in b1/r1, 16 in b1/r2; 3 rank crossings; score 0.83"; of a policy that
// wishes no level "in one rack, as required: …"
void append_wish(std::string& out, const placement::WishResult& wish) {
  std::string text = "as its policy says";
  if (!wish.level.empty())
    text = "wish " + wish.level + ", reached " + (wish.reached.empty() ? "none" : wish.reached);
  else if (!wish.reached.empty())
    text = "in one " + wish.reached + ", as required";
  const std::string where = placement::reached_text(wish);
  if (!where.empty()) text += ": " + where;
  append_wrapped(out, text + "; score " + to_string(Json(wish.score)));
}

void append_why(std::string& out, const Decision& decision) {
  if (decision.wish) append_wish(out, *decision.wish);
  if (decision.result != ResultKind::Placed) {
    // The sentence of an error names the expression, of which the explanation is only a hint.
    const std::string own = decision.explanation();
    if (own.empty() || decision.result == ResultKind::Error) append_wrapped(out, decision.sentence());
    append_wrapped(out, own);
  }
  append_members(out, decision);
  if (const std::optional<Proof> proof = decision.certificate(); proof && proof->kind != "Nodes")
    append_wrapped(out, proof_text(*proof));
}

void append_verdicts(std::string& out, const Decision& decision, Verdicts verdicts) {
  if (verdicts == Verdicts::Summary)
    for (const VerdictCount& count : summary_of(decision.verdicts))
      out += "    " + std::to_string(count.nodes) + (count.nodes == 1 ? " node: " : " nodes: ") +
             (count.feasible ? "feasible" : printable_line(count.plugin + ": " + count.reason)) + "\n";
  if (verdicts == Verdicts::All)
    for (const NodeVerdict& verdict : decision.verdicts)
      out += "    " +
             printable_line(verdict.node + ": " +
                            (verdict.feasible ? "feasible" : verdict.plugin + ": " + verdict.reason)) +
             "\n";
}

// "3 Placed, 1 Gated"
std::string counts_text(const std::map<ResultKind, std::size_t>& counts) {
  std::string text;
  for (const auto& [result, count] : counts)
    text += (text.empty() ? "" : ", ") + std::to_string(count) + " " + std::string(name_of(result));
  return text;
}

std::string total(const Plan& plan) {
  std::map<ResultKind, std::size_t> counts;
  for (const Decision& decision : plan.decisions) ++counts[decision.result];
  return std::to_string(plan.decisions.size()) +
         (plan.decisions.size() == 1 ? " decision: " : " decisions: ") + counts_text(counts) + "\n";
}

std::string victims_text(const Decision& decision) {
  std::vector<std::string> names;
  for (const PlannedVictim& victim : decision.victims) names.push_back(victim.ns + "/" + victim.name);
  return names.empty() ? "" : ", evicts " + shortened(names);
}

// "Placed on n1", "Preempting on n2, evicts default/a"
std::string outcome_text(const Decision& decision) {
  const std::string nodes = row_of(decision)[kNodeColumn];
  return std::string(name_of(decision.result)) + (nodes == "-" ? "" : " on " + nodes) +
         victims_text(decision);
}

Row changed_row(const Decision& decision, std::string was, std::string now) {
  const Row row = row_of(decision);
  return {row[0], row[1], std::move(was), std::move(now)};
}

std::string what_if_text(const WhatIf& what_if, const std::vector<Decision>& decisions) {
  std::string text = "\nWithout " + shortened(what_if.changes) + ": " +
                     (what_if.base.empty() ? "no decision" : counts_text(what_if.base)) + "\n";
  std::vector<Row> rows = {{"NAMESPACE", "NAME", "WITHOUT", "WITH"}};
  for (const WhatIf::Changed& one : what_if.changed)
    rows.push_back(changed_row(decisions[one.now], one.was ? outcome_text(*one.was) : "-",
                               outcome_text(decisions[one.now])));
  for (const Decision& was : what_if.gone) rows.push_back(changed_row(was, outcome_text(was), "-"));
  if (rows.size() == 1) return text + "No decision differs.\n";
  const TextWidths widths = widths_of(rows);
  for (const Row& row : rows) append_row(text, row, widths);
  return text;
}

}  // namespace

std::string to_table(const Plan& plan, Verdicts verdicts) {
  const std::string changes = plan.what_if ? what_if_text(*plan.what_if, plan.decisions) : "";
  if (plan.decisions.empty()) return "Nothing to decide: the input has no pending pod.\n" + changes;
  std::vector<Row> rows = {{"NAMESPACE", "NAME", "RESULT", "NODE", "DEVICES"}};
  for (const Decision& decision : plan.decisions) rows.push_back(row_of(decision));
  const TextWidths widths = widths_of(rows);
  std::string out;
  append_row(out, rows.front(), widths);
  for (std::size_t i = 0; i < plan.decisions.size(); ++i) {
    append_row(out, rows[i + 1], widths);
    append_why(out, plan.decisions[i]);
    append_verdicts(out, plan.decisions[i], verdicts);
  }
  return out + "\n" + total(plan) + changes;
}

}  // namespace berth::planning
