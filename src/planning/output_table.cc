#include <algorithm>
#include <array>
#include <map>

#include "base/printable.h"
#include "planning/plan.h"

namespace berth::planning {
namespace {

constexpr std::size_t kColumns = 5;
constexpr std::size_t kNamesShownMax = 4;
constexpr std::size_t kLineColumns = 100;
using Row = std::array<std::string, kColumns>;

// "a, b, c, d and 3 more"; "-" for none.
std::string shortened(const std::vector<std::string>& names) {
  if (names.empty()) return "-";
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kNamesShownMax); ++i)
    text += (i == 0 ? "" : ", ") + names[i];
  if (names.size() > kNamesShownMax)
    text += " and " + std::to_string(names.size() - kNamesShownMax) + " more";
  return text;
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
  const std::string name = (decision.group ? "podgroup/" : "pod/") + decision.name;
  return {decision.ns, name, std::string(name_of(decision.result)), shortened(nodes), shortened(devices)};
}

void append_row(std::string& out, const Row& row, const std::array<std::size_t, kColumns>& widths) {
  std::string line;
  for (std::size_t i = 0; i < kColumns; ++i) {
    line += row[i];
    line.append(widths[i] - row[i].size() + 3, ' ');
  }
  line.erase(line.find_last_not_of(' ') + 1);
  out += line + "\n";
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

void append_why(std::string& out, const Decision& decision) {
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

std::string total(const Plan& plan) {
  std::map<ResultKind, std::size_t> counts;
  for (const Decision& decision : plan.decisions) ++counts[decision.result];
  std::string text =
      std::to_string(plan.decisions.size()) + (plan.decisions.size() == 1 ? " decision" : " decisions");
  const char* between = ": ";
  for (const auto& [result, count] : counts) {
    text += between + std::to_string(count) + " " + std::string(name_of(result));
    between = ", ";
  }
  return text + "\n";
}

}  // namespace

std::string to_table(const Plan& plan, Verdicts verdicts) {
  if (plan.decisions.empty()) return "Nothing to decide: the input has no pending pod.\n";
  std::vector<Row> rows = {{"NAMESPACE", "NAME", "RESULT", "NODE", "DEVICES"}};
  for (const Decision& decision : plan.decisions) {
    rows.push_back(row_of(decision));
    for (std::string& cell : rows.back()) cell = printable_line(cell);
  }
  std::array<std::size_t, kColumns> widths = {};
  for (const Row& row : rows)
    for (std::size_t i = 0; i < kColumns; ++i) widths[i] = std::max(widths[i], row[i].size());
  std::string out;
  append_row(out, rows.front(), widths);
  for (std::size_t i = 0; i < plan.decisions.size(); ++i) {
    append_row(out, rows[i + 1], widths);
    append_why(out, plan.decisions[i]);
    append_verdicts(out, plan.decisions[i], verdicts);
  }
  return out + "\n" + total(plan);
}

}  // namespace berth::planning
