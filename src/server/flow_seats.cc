#include "server/flow_seats.h"

namespace berth::server {
namespace {

std::int64_t percent_of(std::int64_t seats, std::int64_t percent) {
  return (seats * percent + 50) / 100;
}

}  // namespace

std::int64_t part_of_level(std::int64_t of_all, const PriorityLevel& level, std::int64_t all_shares) {
  return all_shares == 0 ? 0 : (of_all * level.shares + all_shares - 1) / all_shares;
}

void LevelSeats::set_limits(const PriorityLevel& level, std::int64_t all_shares) {
  nominal = part_of_level(kSeatsOfAllLevels, level, all_shares);
  lendable = percent_of(nominal, level.lendable_percent);
  most = level.borrowing_percent ? nominal + percent_of(nominal, *level.borrowing_percent)
                                 : std::max(nominal, kSeatsOfAllLevels);
}

void LevelSeats::retire() {
  nominal = std::max(nominal, executing);
  lendable = 0;
  most = nominal;
}

bool SeatPool::has_seat(const LevelSeats& level) const {
  const bool is_own = level.executing < level.nominal - level.lendable;
  // Another lendable or borrowed seat: one must be left that nobody has borrowed.
  return is_own || (level.executing < level.most && borrowed_ < spare_);
}

}  // namespace berth::server
