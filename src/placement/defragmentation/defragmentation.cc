#include "placement/defragmentation/defragmentation.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/assert.h"
#include "placement/defragmentation/domain_rows.h"
#include "placement/defragmentation/room_search.h"

namespace berth::placement {
namespace {

class Defragmentation {
 public:
  Defragmentation(DecisionCore& core, const DefragmentationQuestion& question,
                  model::Ledger::Transaction& transaction)
      : question_(question),
        limits_(question.limits),
        counts_(question.context.cluster),
        mover_(core, question, counts_, transaction),
        rows_(question, core.domains(), counts_, mover_),
        served_(question.waiting.size(), false) {}

  DefragmentationPlan run() {
    plan_.whole_before = plan_.whole_after = count_whole();
    for (std::size_t at = 0; at < question_.waiting.size() && may_go_on(); ++at) {
      if (at >= kRoomWaitingMax) {
        plan_.ended = true;
        break;
      }
      if (!served_[at]) make_room(at);
    }
    while (may_go_on() && empty_next()) {
    }
    note_kept();
    return std::move(plan_);
  }

 private:
  std::size_t moves_left() const { return limits_.moves_max - moves_; }
  std::size_t moves_of_domain() const { return std::min(moves_left(), limits_.moves_per_domain_max); }
  bool may_go_on() const { return moves_left() > 0 && plan_.domains.size() < limits_.domains_max; }
  bool is_worth(std::int64_t gained, std::int64_t moved) const {
    return static_cast<__int128>(gained) * kRatioUnit >= static_cast<__int128>(moved) * limits_.ratio_min;
  }
  std::size_t count_whole() {
    return static_cast<std::size_t>(std::ranges::count_if(rows_.rows(), &DomainRow::whole));
  }

  void make_room(std::size_t waiting);
  std::optional<StayReason> why_kept(const DomainRow& row) const;
  std::vector<std::size_t> chosen_by_counts();
  std::vector<std::size_t> spared_by_counts(const std::vector<std::size_t>& chosen);
  bool empty_next();
  std::optional<StayingPod> empty(std::size_t at, std::span<const NodeId> avoid);
  std::optional<StayingPod> move_all(const PodMover::Units& units, std::span<const NodeId> avoid,
                                     DefragmentedDomain& domain);
  void accept(std::size_t at, DefragmentedDomain domain);
  void note_kept();

  const DefragmentationQuestion& question_;
  const DefragmentationLimits& limits_;
  const DeviceCounts counts_;
  PodMover mover_;
  DomainRows rows_;
  std::vector<bool> served_;  // by waiting entity
  std::size_t moves_ = 0, tried_ = 0;
  DefragmentationPlan plan_;
};

void Defragmentation::make_room(std::size_t waiting) {
  const std::vector<std::size_t> spared = chosen_by_counts();
  RoomSearch search(question_, counts_, mover_, rows_, spared);
  std::optional<RoomFound> found = search.find(question_.waiting[waiting], moves_of_domain());
  plan_.ended |= search.ended();
  if (!found || !is_worth(found->gained, found->moved)) return;
  DefragmentedDomain domain;
  for (const MoveUnit& unit : found->units) {
    const auto moved = mover_.move(unit, found->avoid);
    const auto* moves = std::get_if<std::vector<PodMove>>(&moved);
    BERTH_ASSERT(moves != nullptr, "the search made the same moves in the same state");
    domain.moves.insert(domain.moves.end(), moves->begin(), moves->end());
  }
  accept(found->row, std::move(domain));
}

// Of a domain that is not tried; none: it is.
std::optional<StayReason> Defragmentation::why_kept(const DomainRow& row) const {
  if (row.stays) return row.stays->reason;
  if (row.moves == 0) return StayReason::DeviceInUse;
  if (!is_worth(row.offered, row.moved)) return StayReason::BelowRatio;
  if (row.moves > moves_of_domain()) return StayReason::TooManyMoves;
  return std::nullopt;
}

// The cheapest domains that may be emptied together, as far as counts say: their pods take no more moves than
// are left, and no more devices than are free in all others.
std::vector<std::size_t> Defragmentation::chosen_by_counts() {
  const std::vector<DomainRow>& rows = rows_.rows();
  std::vector<std::size_t> order;
  for (std::size_t at = 0; at < rows.size(); ++at)
    if (!rows[at].settled && rows[at].used > 0 && !why_kept(rows[at])) order.push_back(at);
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) { return rows[a].cheaper_than(rows[b]); });
  std::int64_t room = rows_.free_elsewhere();
  std::size_t moves = moves_left();
  std::vector<std::size_t> chosen;
  for (const std::size_t at : order) {
    if (plan_.domains.size() + chosen.size() >= limits_.domains_max) break;
    if (rows[at].moves > moves || rows[at].free() + rows[at].moved > room) continue;
    moves -= rows[at].moves;
    room -= rows[at].free() + rows[at].moved;
    chosen.push_back(at);
  }
  return chosen;
}

// The chosen domains, and others that need take no pod of the first one, as far as counts say: the fullest
// have enough room.
std::vector<std::size_t> Defragmentation::spared_by_counts(const std::vector<std::size_t>& chosen) {
  const std::vector<DomainRow>& rows = rows_.rows();
  std::int64_t room = rows_.free_elsewhere() - rows[chosen.front()].moved;
  std::vector<bool> is_chosen(rows.size(), false);
  for (const std::size_t at : chosen) {
    room -= rows[at].free();
    is_chosen[at] = true;
  }
  std::vector<std::size_t> others;
  for (std::size_t at = 0; at < rows.size(); ++at)
    if (!rows[at].settled && rows[at].used > 0 && !is_chosen[at]) others.push_back(at);
  std::ranges::sort(others, [&](std::size_t a, std::size_t b) {
    if (rows[a].stays.has_value() != rows[b].stays.has_value()) return !rows[a].stays;
    return rows[a].cheaper_than(rows[b]);
  });
  std::vector<std::size_t> spared = chosen;
  for (const std::size_t other : others) {
    room -= rows[other].free();
    if (room < 0) break;
    spared.push_back(other);
  }
  return spared;
}

// False: none is left. Pods go to the fullest domains; if that fails, to those that are not to be emptied;
// else to any other.
bool Defragmentation::empty_next() {
  const std::vector<std::size_t> chosen = chosen_by_counts();
  if (chosen.empty()) return false;
  if (tried_++ >= kDomainsEmptiedTriedMax) {
    plan_.ended = true;
    return false;
  }
  const std::size_t at = chosen.front();
  std::optional<StayingPod> stays;
  for (const auto& kept_free : {spared_by_counts(chosen), chosen, std::vector{at}})
    if (stays = empty(at, rows_.avoided(kept_free)); !stays) return true;
  DomainRow& row = rows_.rows()[at];
  row.settled = true;
  row.why = stays->reason;
  if (stays->pod.valid()) row.stays = stays;
  return true;
}

std::optional<StayingPod> Defragmentation::move_all(const PodMover::Units& units,
                                                    std::span<const NodeId> avoid,
                                                    DefragmentedDomain& domain) {
  mover_.remove(units.ending);
  for (const MoveUnit& unit : units.movable) {
    auto moved = mover_.move(unit, avoid);
    if (const auto* stays = std::get_if<StayingPod>(&moved)) return *stays;
    const auto& moves = std::get<std::vector<PodMove>>(moved);
    domain.moves.insert(domain.moves.end(), moves.begin(), moves.end());
  }
  return std::nullopt;
}

// None: the domain is whole, and accepted.
std::optional<StayingPod> Defragmentation::empty(std::size_t at, std::span<const NodeId> avoid) {
  const DomainRow& row = rows_.rows()[at];
  const PodMover::Mark before = mover_.mark();
  DefragmentedDomain domain;
  std::optional<StayingPod> stays = move_all(mover_.units_on(row.nodes), avoid, domain);
  const auto in_use = [&](NodeId node) { return counts_.used(node) > 0; };
  if (!stays && std::ranges::any_of(row.nodes, in_use))
    stays = StayingPod{PodId::none(), StayReason::DeviceInUse};
  if (stays) {
    mover_.undo(before);
    return stays;
  }
  accept(at, std::move(domain));
  return std::nullopt;
}

// The moves are made. What waits gets its place, where it fits now.
void Defragmentation::accept(std::size_t at, DefragmentedDomain domain) {
  std::vector<NodeId> touched;
  for (const PodMove& move : domain.moves) {
    domain.moved += move.devices;
    touched.push_back(move.from);
    touched.push_back(move.to);
  }
  rows_.refresh(touched);
  DomainRow& row = rows_.rows()[at];
  domain.path = row.path;
  domain.devices = row.offered;
  domain.whole = row.whole();
  moves_ += domain.moves.size();
  plan_.whole_after += domain.whole ? 1 : 0;
  const std::size_t asked = std::min(question_.waiting.size(), kRoomWaitingMax);
  for (std::size_t i = 0; i < asked; ++i)
    if (!served_[i])
      if (std::optional<PodMover::Placed> placed = mover_.place(question_.waiting[i])) {
        served_[i] = true;
        domain.fits.push_back({i, std::move(placed->room)});
      }
  row.settled = true;
  row.why.reset();
  if (!domain.fits.empty()) rows_.refresh_all();
  plan_.domains.push_back(std::move(domain));
}

void Defragmentation::note_kept() {
  const bool over = !may_go_on() || plan_.ended;
  for (const DomainRow& row : rows_.rows()) {
    if (row.used == 0 || (row.settled && !row.why)) continue;
    std::optional<StayReason> reason = row.settled ? row.why : why_kept(row);
    if (!reason) reason = over ? StayReason::NotTried : StayReason::NoRoom;
    const bool about_pod = row.stays && row.stays->reason == *reason;
    plan_.kept.push_back({row.path, *reason, about_pod ? row.stays->pod : PodId::none()});
  }
}

}  // namespace

std::size_t waiting_pods(const WaitingEntity& waiting) {
  if (const auto* group = std::get_if<GroupInput>(&waiting.input)) return group->waiting.size();
  const auto* tree = std::get_if<TreeInput>(&waiting.input);
  if (!tree) return 1;
  return std::accumulate(
      tree->nodes.begin(), tree->nodes.end(), std::size_t{0},
      [](std::size_t sum, const TreeNode& node) { return sum + node.group.waiting.size(); });
}

DefragmentationPlan find_defragmentation(DecisionCore& core, const DefragmentationQuestion& question,
                                         model::Ledger::Transaction& transaction) {
  const auto before = transaction.savepoint();
  DefragmentationPlan plan = Defragmentation(core, question, transaction).run();
  transaction.roll_back_to(before);
  return plan;
}

}  // namespace berth::placement
