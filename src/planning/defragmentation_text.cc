// What moves buy, as JSON and for people.
#include <algorithm>

#include "base/count_text.h"
#include "planning/defragmentation.h"
#include "planning/text_rows.h"

namespace berth::planning {
namespace {

constexpr std::size_t kKeptShownMax = 20;  // domains of a table; JSON has all

std::string_view kind_of_fitting(const PlannedDomain::Fitting& fitting) {
  if (fitting.key.kind == placement::EntityKind::Pod) return "Pod";
  return placement::group_kind(fitting.key.kind == placement::EntityKind::CompositeGroup);
}

Json count_json(std::size_t count) {
  return static_cast<std::int64_t>(count);
}

Json buys_json(const PlannedDomain& domain) {
  Json fits = Json::array();
  for (const PlannedDomain::Fitting& one : domain.fits)
    fits.as_array().push_back(Json::object({{"kind", kind_of_fitting(one)},
                                            {"namespace", one.key.ns},
                                            {"name", one.key.name},
                                            {"pods", count_json(one.pods)}}));
  return Json::object({{"domain", domain.path},
                       {"whole", domain.whole},
                       {"moves", count_json(domain.moves.size())},
                       {"devices", domain.devices},
                       {"devicesMoved", domain.moved},
                       {"fits", std::move(fits)},
                       {"buys", domain.buys}});
}

Json move_json(const PlannedMove& move, const std::string& domain) {
  Json json = Json::object({{"namespace", move.ns},
                            {"name", move.name},
                            {"from", move.from},
                            {"to", move.to},
                            {"devices", move.devices},
                            {"domain", domain}});
  if (!move.group.empty()) json["group"] = move.group;
  return json;
}

Json kept_json(const UnchangedDomain& kept) {
  Json json = Json::object(
      {{"domain", kept.path}, {"reason", placement::name_of(kept.reason)}, {"message", kept.why()}});
  if (!kept.pod.empty()) json["pod"] = kept.pod;
  return json;
}

std::string kept_text(const std::vector<UnchangedDomain>& kept) {
  if (kept.empty()) return "";
  std::vector<TextRow> rows = {{"UNCHANGED", "WHY"}};
  for (std::size_t i = 0; i < kept.size() && i < kKeptShownMax; ++i)
    rows.push_back({kept[i].path, kept[i].why()});
  std::string text;
  append_table(text, std::move(rows));
  if (kept.size() > kKeptShownMax)
    text += "and " + std::to_string(kept.size() - kKeptShownMax) + " more (-o json has them)\n";
  return text + "\n";
}

// "3 moves: whole domains of rack 1 → 2; 1 of 2 that wait fits"
std::string total_text(const PlannedDefragmentation& plan) {
  std::size_t moves = 0, fits = 0;
  for (const PlannedDomain& domain : plan.domains) {
    moves += domain.moves.size();
    fits += domain.fits.size();
  }
  std::string text = count_text(moves, "move", "moves") + ": " +
                     count_text(plan.whole_after, "whole domain", "whole domains") + " of " + plan.level +
                     " instead of " + std::to_string(plan.whole_before);
  if (plan.waiting > 0)
    text += "; of " + std::to_string(plan.waiting) + " that " + (plan.waiting == 1 ? "waits" : "wait") +
            ", " + std::to_string(fits) + (fits == 1 ? " fits then" : " fit then");
  return text + "\n";
}

}  // namespace

std::string UnchangedDomain::why() const {
  return (pod.empty() ? "it" : "pod " + pod) + " " + std::string(placement::words_of(reason));
}

Json to_json(const PlannedDefragmentation& plan) {
  Json moves = Json::array(), domains = Json::array(), kept = Json::array();
  for (const PlannedDomain& domain : plan.domains) {
    domains.as_array().push_back(buys_json(domain));
    for (const PlannedMove& move : domain.moves) moves.as_array().push_back(move_json(move, domain.path));
  }
  for (const UnchangedDomain& one : plan.kept) kept.as_array().push_back(kept_json(one));
  return Json::object(
      {{"level", Json::object({{"name", plan.level}, {"nodeLabels", api::to_json(plan.keys)}})},
       {"moves", std::move(moves)},
       {"domains", std::move(domains)},
       {"unchanged", std::move(kept)},
       {"wholeBefore", count_json(plan.whole_before)},
       {"wholeAfter", count_json(plan.whole_after)},
       {"waiting", count_json(plan.waiting)},
       {"ended", plan.ended}});
}

std::string to_table(const PlannedDefragmentation& plan) {
  std::string text;
  for (const PlannedDomain& domain : plan.domains) {
    text += printable_line(domain.buys) + "\n";
    std::vector<TextRow> rows = {{"NAMESPACE", "POD", "FROM", "TO", "DEVICES"}};
    for (const PlannedMove& move : domain.moves)
      rows.push_back({move.ns, move.name, move.from, move.to, std::to_string(move.devices)});
    append_table(text, std::move(rows));
    text += "\n";
  }
  text += kept_text(plan.kept) + total_text(plan);
  if (plan.ended) text += "The search ended early: more moves may be worth it.\n";
  return text;
}

}  // namespace berth::planning
