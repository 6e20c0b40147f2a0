// Seats of priority levels: how many each has, lends and borrows.
//
// A level that does not use its lendable seats lends them: other levels borrow them, each up to its bound. A
// lent seat comes back when the request that has it ends, and a level that waits for its own seats is before
// those that borrow. All levels together never use more seats than they have. Pure; owner: FlowControl, under
// its lock. Cost: O(1). Source: pkg/util/flowcontrol/apf_controller.go in k8s.io/apiserver 1.37, where the
// limits follow the demand of the last 10 s.
#pragma once

#include <algorithm>
#include <cstdint>

#include "server/flow_schemas.h"

namespace berth::server {

// kube-apiserver's --max-requests-inflight and --max-mutating-requests-inflight together.
inline constexpr std::int64_t kSeatsOfAllLevels = 600;

// The level's part of what all levels have, by its shares of `all_shares`; rounded up.
std::int64_t part_of_level(std::int64_t of_all, const PriorityLevel& level, std::int64_t all_shares);

struct LevelSeats {
  std::int64_t nominal = 0;
  std::int64_t lendable = 0;  // of the nominal ones
  std::int64_t most = 0;      // with borrowed ones
  std::int64_t executing = 0;

  // `executing` stays as it is.
  void set_limits(const PriorityLevel& level, std::int64_t all_shares);
  // The level is gone: what is left of it has the seats that it had, and neither lends nor borrows.
  void retire();

  std::int64_t borrowed() const { return std::max<std::int64_t>(0, executing - nominal); }
  // With one more request.
  std::int64_t would_borrow() const { return std::max<std::int64_t>(0, executing + 1 - nominal); }
  // For others, with those that they have already.
  std::int64_t spare() const { return std::min(lendable, std::max<std::int64_t>(0, nominal - executing)); }
};

class SeatPool {
 public:
  // Each level once; afterwards its limits stay.
  void add(const LevelSeats& level) { count(level, 1); }
  bool has_seat(const LevelSeats& level) const;
  // Only of one that has_seat().
  void take(LevelSeats& level) { change(level, 1); }
  void give_back(LevelSeats& level) { change(level, -1); }

 private:
  void count(const LevelSeats& level, int sign) {
    borrowed_ += sign * level.borrowed();
    spare_ += sign * level.spare();
  }
  void change(LevelSeats& level, int by) {
    count(level, -1);
    level.executing += by;
    count(level, 1);
  }

  std::int64_t borrowed_ = 0, spare_ = 0;  // by all levels, and of all
};

}  // namespace berth::server
