#include "dashboard/frames.h"

namespace berth::dashboard {
namespace {

constexpr std::uint64_t kLow = 0x7f;
constexpr int kConditionFactor = 4;

void put_number(std::string& out, std::uint64_t number) {
  for (; number > kLow; number >>= 7) out.push_back(static_cast<char>((number & kLow) | (kLow + 1)));
  out.push_back(static_cast<char>(number));
}

void put_text(std::string& out, std::string_view text) {
  put_number(out, text.size());
  out.append(text);
}

int state_of(const Cell& cell) {
  return static_cast<int>(cell.use) + kConditionFactor * static_cast<int>(cell.condition);
}

}  // namespace

std::string floor_frame(const Floor& floor, std::uint64_t version) {
  std::string frame = "BFL1";
  put_number(frame, floor.layout_version());
  put_number(frame, version);
  put_number(frame, floor.layout().cell_count());
  for (const CellRun& run : floor.all_runs()) {
    put_number(frame, run.count);
    frame.push_back(static_cast<char>(state_of(run.cell)));
    put_number(frame, run.cell.owner);
  }
  const std::vector<OwnerId> owners = floor.owners().all();
  put_number(frame, owners.size());
  for (const OwnerId id : owners) {
    const Owner& owner = floor.owners().at(id);
    put_number(frame, id);
    frame.push_back(static_cast<char>(owner.kind));
    put_text(frame, owner.ns);
    put_text(frame, owner.name);
  }
  return frame;
}

Json runs_json(const std::vector<CellRun>& runs) {
  JsonArray rows;
  for (const CellRun& run : runs)
    rows.push_back(Json::array({static_cast<std::int64_t>(run.first), static_cast<std::int64_t>(run.count),
                                state_of(run.cell), static_cast<std::int64_t>(run.cell.owner)}));
  return rows;
}

Json owner_row(OwnerId id, const Owner& owner) {
  return Json::array({static_cast<std::int64_t>(id), static_cast<int>(owner.kind), owner.ns, owner.name});
}

Json floor_delta(const Floor& floor, const Floor::Changes& changes, std::uint64_t version) {
  JsonArray owners;
  for (const OwnerId id : changes.owners) owners.push_back(owner_row(id, floor.owners().at(id)));
  return Json::object({{"layout", static_cast<std::int64_t>(floor.layout_version())},
                       {"version", static_cast<std::int64_t>(version)},
                       {"runs", runs_json(changes.runs)},
                       {"owners", std::move(owners)}});
}

std::optional<Cell> cell_in(std::int64_t state, OwnerId owner) {
  if (state < 0 || state > kConditionFactor * static_cast<int>(Condition::Unknown) + kConditionFactor - 1)
    return std::nullopt;
  return Cell{static_cast<Use>(state % kConditionFactor), static_cast<Condition>(state / kConditionFactor),
              owner};
}

}  // namespace berth::dashboard
