#include "dashboard/history_pages.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <unordered_map>

#include "base/overloaded.h"
#include "base/stable_hash.h"
#include "dashboard/frames.h"
#include "dashboard/replay.h"

namespace berth::dashboard {
namespace {

constexpr std::size_t kDecisionsShownMax = 20;

struct Moment {
  HistoryState state;
  std::int64_t previous_ms = 0, next_ms = 0;
};

Result<Moment> moment_at(const History& history, std::int64_t ms) {
  const History::Piece piece = TRY(history.at(ms));
  Moment moment{TRY(replay(piece.lines, ms)), piece.previous_ms, piece.next_ms};
  if (moment.state.previous_ms > 0) moment.previous_ms = moment.state.previous_ms;
  if (moment.state.next_ms > 0) moment.next_ms = moment.state.next_ms;
  return moment;
}

Json state_json(const Cell& cell, const Owner& owner) {
  return Json::object({{"use", name_of(cell.use)},
                       {"condition", name_of(cell.condition)},
                       {"owner", owner.name.empty() ? Json() : to_json(owner)}});
}

Json queue_json(const std::map<Owner, Json>& queue) {
  JsonArray entries;
  for (const auto& [of, entry] : queue) entries.push_back(entry);
  return entries;
}

Json owners_of(const HistoryState& state) {
  std::set<OwnerId> used;
  for (const Cell& cell : state.cells) used.insert(cell.owner);
  JsonArray rows;
  for (const auto& [id, owner] : state.owners)
    if (used.contains(id)) rows.push_back(owner_row(id, owner));
  return rows;
}

// Equal changes are one row.
Json step_json(const HistoryState& state) {
  const LayoutNames names(state.layout);
  struct Row {
    const CellChange* first = nullptr;
    std::int64_t count = 0;
    std::vector<std::string_view> nodes;
  };
  const auto key = [](const CellChange& change) {
    return std::tuple(change.owner_after, change.after.use, change.after.condition, change.owner_before,
                      change.before.use, change.before.condition);
  };
  std::map<decltype(key(CellChange{})), Row> rows;
  std::set<Owner> owners;
  for (const CellChange& change : state.step) {
    Row& row = rows[key(change)];
    if (!row.first) row.first = &change;
    ++row.count;
    const std::string_view node = names.of(change.cell).node;
    if (row.nodes.size() < kNodesOfAStepMax && (row.nodes.empty() || row.nodes.back() != node))
      row.nodes.push_back(node);
    owners.insert(change.owner_after);
    owners.insert(change.owner_before);
  }
  JsonArray changes, decisions;
  for (const auto& [equal, row] : rows)
    changes.push_back(Json::object({{"before", state_json(row.first->before, row.first->owner_before)},
                                    {"after", state_json(row.first->after, row.first->owner_after)},
                                    {"count", row.count},
                                    {"nodes", JsonArray(row.nodes.begin(), row.nodes.end())}}));
  for (const Json& decision : state.decisions)
    if (decisions.size() < kDecisionsShownMax && owners.contains(owner_named(decision.part("owner"))))
      decisions.push_back(decision);
  return Json::object(
      {{"time", state.step_ms}, {"changes", std::move(changes)}, {"decisions", std::move(decisions)}});
}

Result<Json> moment_json(const History& history, const MomentQuestion& asked) {
  const Moment moment = TRY(moment_at(history, asked.at_ms));
  const HistoryState& state = moment.state;
  const std::string id = std::to_string(stable_hash(to_string(state.layout)));
  const std::size_t shown = std::min(state.decisions.size(), kDecisionsShownMax);
  Json page =
      Json::object({{"at", asked.at_ms},
                    {"time", state.ms},
                    {"layoutId", id},
                    {"runs", runs_json(runs_of(state.cells))},
                    {"owners", owners_of(state)},
                    {"queue", Json::object({{"total", state.waiting}, {"entries", queue_json(state.queue)}})},
                    {"sums", state.sums},
                    {"decisions", JsonArray(state.decisions.begin(),
                                            state.decisions.begin() + static_cast<std::ptrdiff_t>(shown))},
                    {"step", step_json(state)},
                    {"previous", moment.previous_ms},
                    {"next", moment.next_ms}});
  if (asked.layout != id) page["layout"] = state.layout;
  return page;
}

std::string device_key(const LayoutNames::Name& name) {
  std::string key;
  return key.append(name.node).append("/").append(name.driver).append("/").append(name.device);
}

Owner owner_at(const HistoryState& state, CellId cell) {
  return owner_in(state, state.cells[cell].owner);
}

// Calls on_pair(name, cell before, cell after) for every device; none where it was not there.
template <class OnPair>
void visit_devices(const HistoryState& before, const HistoryState& after, const OnPair& on_pair) {
  const LayoutNames names_before(before.layout), names_after(after.layout);
  const CellId before_end = static_cast<CellId>(before.cells.size()),
               after_end = static_cast<CellId>(after.cells.size());
  std::unordered_map<std::string, CellId> known;
  for (CellId cell = 0; cell < before_end; ++cell) known.emplace(device_key(names_before.of(cell)), cell);
  for (CellId cell = 0; cell < after_end; ++cell) {
    const LayoutNames::Name name = names_after.of(cell);
    const auto found = known.find(device_key(name));
    on_pair(name, found == known.end() ? std::nullopt : std::optional(found->second), std::optional(cell));
    if (found != known.end()) known.erase(found);
  }
  for (CellId cell = 0; cell < before_end; ++cell)
    if (const LayoutNames::Name name = names_before.of(cell); known.contains(device_key(name)))
      on_pair(name, std::optional(cell), std::optional<CellId>());
}

Json devices_difference(const HistoryState& before, const HistoryState& after) {
  const auto json_of = [](const HistoryState& state, std::optional<CellId> cell) {
    return cell ? state_json(state.cells[*cell], owner_at(state, *cell)) : Json();
  };
  std::int64_t total = 0;
  JsonArray rows;
  visit_devices(before, after, [&](const LayoutNames::Name& name, auto old, auto now) {
    if (old && now && before.cells[*old].use == after.cells[*now].use &&
        before.cells[*old].condition == after.cells[*now].condition &&
        owner_at(before, *old) == owner_at(after, *now))
      return;
    ++total;
    if (rows.size() < kRowsOfADifferenceMax)
      rows.push_back(Json::object({{"node", name.node},
                                   {"driver", name.driver},
                                   {"device", name.device},
                                   {"before", json_of(before, old)},
                                   {"after", json_of(after, now)}}));
  });
  return Json::object({{"total", total}, {"rows", std::move(rows)}});
}

// Those whose number of devices changed, the greatest change first.
Json owners_difference(const HistoryState& before, const HistoryState& after) {
  std::map<Owner, std::pair<std::int64_t, std::int64_t>> counts;
  for (CellId cell = 0; cell < before.cells.size(); ++cell) ++counts[owner_at(before, cell)].first;
  for (CellId cell = 0; cell < after.cells.size(); ++cell) ++counts[owner_at(after, cell)].second;
  counts.erase(Owner{});
  using Row = std::pair<Owner, std::pair<std::int64_t, std::int64_t>>;
  std::vector<Row> changed;
  for (const auto& row : counts)
    if (row.second.first != row.second.second) changed.push_back(row);
  const auto size = [](const Row& row) { return std::abs(row.second.first - row.second.second); };
  std::stable_sort(changed.begin(), changed.end(),
                   [&](const Row& a, const Row& b) { return size(a) > size(b); });
  JsonArray rows;
  for (const auto& [owner, count] : changed) {
    if (rows.size() == kRowsOfADifferenceMax) break;
    Json row = to_json(owner);
    row["before"] = count.first;
    row["after"] = count.second;
    rows.push_back(std::move(row));
  }
  return Json::object({{"total", static_cast<std::int64_t>(changed.size())}, {"rows", std::move(rows)}});
}

// Entries of one queue that the other lacks.
JsonArray only_in(const std::map<Owner, Json>& queue, const std::map<Owner, Json>& other) {
  JsonArray entries;
  for (const auto& [of, entry] : queue)
    if (!other.contains(of) && entries.size() < kRowsOfADifferenceMax) entries.push_back(entry);
  return entries;
}

Result<Json> difference_json(const History& history, const DifferenceQuestion& asked) {
  const HistoryState before = TRY(moment_at(history, asked.from_ms)).state;
  const HistoryState after = TRY(moment_at(history, asked.to_ms)).state;
  return Json::object({{"from", asked.from_ms},
                       {"to", asked.to_ms},
                       {"before", before.sums},
                       {"after", after.sums},
                       {"devices", devices_difference(before, after)},
                       {"owners", owners_difference(before, after)},
                       {"queue", Json::object({{"came", only_in(after.queue, before.queue)},
                                               {"left", only_in(before.queue, after.queue)}})}});
}

}  // namespace

Result<Json> answer(const History& history, const HistoryQuestion& question) {
  return std::visit(
      Overloaded{[&](const OverviewQuestion&) { return Result<Json>(history.overview()); },
                 [&](const MomentQuestion& asked) { return moment_json(history, asked); },
                 [&](const DifferenceQuestion& asked) { return difference_json(history, asked); }},
      question);
}

}  // namespace berth::dashboard
