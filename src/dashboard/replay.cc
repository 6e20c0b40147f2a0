#include "dashboard/replay.h"

#include <algorithm>
#include <utility>

#include "dashboard/frames.h"

namespace berth::dashboard {
namespace {

Error damaged(std::string what) {
  return Error(ErrorCode::Invalid, "the history is damaged: " + std::move(what));
}

bool are_ints(const Json& row, std::size_t count) {
  return row.is_array() && row.as_array().size() >= count &&
         std::all_of(row.as_array().begin(), row.as_array().begin() + static_cast<std::ptrdiff_t>(count),
                     [](const Json& number) { return number.is_int() && number.as_int() >= 0; });
}

Status put_owners(const Json& line, std::map<OwnerId, Owner>& owners) {
  for (const Json& row : line.items_at("owners")) {
    if (!are_ints(row, 2) || row.as_array().size() != 4 || !row.as_array()[2].is_string() ||
        !row.as_array()[3].is_string())
      return damaged("a row of owners");
    const JsonArray& fields = row.as_array();
    const auto kind =
        std::min<std::int64_t>(fields[1].as_int(), static_cast<std::int64_t>(OwnerKind::ResourceClaim));
    owners[static_cast<OwnerId>(fields[0].as_int())] = {static_cast<OwnerKind>(kind), fields[2].as_string(),
                                                        fields[3].as_string()};
  }
  return {};
}

Result<CellRun> run_in(const Json& row) {
  if (!are_ints(row, 4)) return damaged("a run of cells");
  const JsonArray& fields = row.as_array();
  const std::int64_t first = fields[0].as_int(), count = fields[1].as_int();
  const auto cell = cell_in(fields[2].as_int(), static_cast<OwnerId>(fields[3].as_int()));
  if (!cell || first > static_cast<std::int64_t>(kCellsOfAMomentMax) ||
      count > static_cast<std::int64_t>(kCellsOfAMomentMax) - first)
    return damaged("a run of cells");
  return CellRun{static_cast<CellId>(first), static_cast<std::uint32_t>(count), *cell};
}

void put_queue(const Json& queue, HistoryState& state) {
  state.waiting = queue.int_at("total");
  for (const Json& entry : queue.items_at("entries")) state.queue.insert_or_assign(owner_named(entry), entry);
  for (const Json& row : queue.items_at("gone"))
    if (row.is_array() && row.as_array().size() == 3 &&
        std::all_of(row.as_array().begin(), row.as_array().end(),
                    [](const Json& x) { return x.is_string(); }))
      state.queue.erase({kind_named(row.as_array()[0].as_string()), row.as_array()[1].as_string(),
                         row.as_array()[2].as_string()});
}

Status put_keyframe(const Json& line, HistoryState& state) {
  state.layout = line.part("layout");
  state.owners.clear();
  state.queue.clear();
  state.cells.clear();
  state.step.clear();
  state.step_ms = 0;
  for (const Json& row : line.items_at("runs")) {
    const CellRun run = TRY(run_in(row));
    if (run.first != state.cells.size()) return damaged("a keyframe has no run for some cells");
    state.cells.resize(run.first + run.count, run.cell);
  }
  return put_owners(line, state.owners);
}

// `renamed` gets the numbers that had another owner until now, with that owner.
Status put_cells(const Json& line, HistoryState& state, std::map<OwnerId, Owner>& renamed) {
  std::vector<CellChange> step;
  for (const Json& row : line.items_at("runs")) {
    const CellRun run = TRY(run_in(row));
    if (run.first + run.count > state.cells.size()) return damaged("a run beyond the last cell");
    for (CellId cell = run.first; cell < run.first + run.count; ++cell) {
      const Cell before = std::exchange(state.cells[cell], run.cell);
      step.push_back({cell, before, run.cell, owner_in(state, before.owner), {}});
    }
  }
  std::map<OwnerId, Owner> named;
  TRY(put_owners(line, named));
  renamed.clear();
  for (const auto& [id, owner] : named)
    if (const auto known = state.owners.find(id); known != state.owners.end() && known->second != owner)
      renamed.insert(*known);
  for (const auto& [id, owner] : named) state.owners.insert_or_assign(id, owner);
  for (CellChange& change : step) change.owner_after = owner_in(state, change.after.owner);
  state.step = std::move(step);
  state.step_ms = line.int_at("time");
  return {};
}

// Cells that the latest change left alone, but whose number went to another owner.
void add_renamed(const std::map<OwnerId, Owner>& renamed, HistoryState& state) {
  if (renamed.empty()) return;
  std::vector<bool> is_in_step(state.cells.size());
  for (const CellChange& change : state.step) is_in_step[change.cell] = true;
  for (CellId cell = 0; cell < state.cells.size(); ++cell) {
    const Cell& now = state.cells[cell];
    if (const auto old = renamed.find(now.owner); old != renamed.end() && !is_in_step[cell])
      state.step.push_back({cell, now, now, old->second, owner_in(state, now.owner)});
  }
}

// False: the line only says that nothing changed.
Result<bool> put_line(const Json& line, HistoryState& state, std::map<OwnerId, Owner>& renamed) {
  state.ms = line.int_at("time");
  state.sums = line.part("sums");
  bool changes = true;
  if (line.find("layout")) {
    TRY(put_keyframe(line, state));
    renamed.clear();
  } else if (line.find("runs")) {
    TRY(put_cells(line, state, renamed));
  } else if (const Json* decision = line.find("decision")) {
    if (state.decisions.size() == kDecisionsOfAMomentMax) state.decisions.pop_back();
    state.decisions.push_front(*decision);
  } else {
    changes = line.find("queue") != nullptr;
  }
  if (const Json* queue = line.find("queue")) put_queue(*queue, state);
  return changes;
}

bool is_change(const Json& line) {
  return line.find("layout") || line.find("runs") || line.find("queue") || line.find("decision");
}

}  // namespace

Owner owner_in(const HistoryState& state, OwnerId id) {
  const auto known = state.owners.find(id);
  return known == state.owners.end() ? Owner{} : known->second;
}

Result<HistoryState> replay(std::string_view lines, std::int64_t until_ms) {
  HistoryState state;
  std::map<OwnerId, Owner> renamed;
  std::int64_t latest_ms = 0;
  for (std::string_view left = lines; !left.empty();) {
    const std::size_t end = left.find('\n');
    if (end == left.npos) break;  // a line that is being written
    const Result<Json> line = parse_json(left.substr(0, end));
    if (!line) return damaged(line.error().text());
    left.remove_prefix(end + 1);
    const std::int64_t ms = line->int_at("time");
    if (ms > until_ms) {
      if (!is_change(*line)) continue;
      state.next_ms = ms;
      break;
    }
    if (TRY(put_line(*line, state, renamed)) && ms != latest_ms)
      state.previous_ms = std::exchange(latest_ms, ms);
  }
  if (state.layout.is_null()) return Error(ErrorCode::Gone, "nothing is kept of this instant");
  add_renamed(renamed, state);
  return state;
}

LayoutNames::LayoutNames(const Json& layout) : layout_(layout) {
  const JsonArray &nodes = layout_.items_at("nodes"), &shape_of_nodes = layout_.items_at("nodeShape"),
                  &shapes = layout_.items_at("shapes");
  std::vector<std::uint32_t> sizes;
  for (const Json& parts : shapes) {
    std::uint32_t size = 0;
    if (parts.is_array())
      for (const Json& part : parts.as_array())
        size += part.string_at("source") == "Node"
                    ? 1
                    : static_cast<std::uint32_t>(part.items_at("names").size());
    sizes.push_back(size);
  }
  for (std::size_t node = 0; node < std::min(nodes.size(), shape_of_nodes.size()); ++node) {
    const Json& shape = shape_of_nodes[node];
    if (!shape.is_int() || shape.as_int() < 0 || shape.as_int() >= static_cast<std::int64_t>(sizes.size()))
      break;
    first_.push_back(cell_count_);
    cell_count_ += sizes[static_cast<std::size_t>(shape.as_int())];
  }
}

LayoutNames::Name LayoutNames::of(CellId cell) const {
  if (cell >= cell_count_) return {};
  const auto node =
      static_cast<std::size_t>(std::upper_bound(first_.begin(), first_.end(), cell) - first_.begin() - 1);
  const Json& name = layout_.items_at("nodes")[node];
  Name found{.node = name.is_string() ? std::string_view(name.as_string()) : std::string_view()};
  const auto shape = static_cast<std::size_t>(layout_.items_at("nodeShape")[node].as_int());
  std::size_t left = cell - first_[node];
  for (const Json& part : layout_.items_at("shapes")[shape].as_array()) {
    const JsonArray& names = part.items_at("names");
    const bool is_node = part.string_at("source") == "Node";
    if (left < (is_node ? 1 : names.size())) {
      found.driver = part.string_at("driver");
      if (!is_node && names[left].is_string()) found.device = names[left].as_string();
      return found;
    }
    left -= is_node ? 1 : names.size();
  }
  return found;
}

}  // namespace berth::dashboard
