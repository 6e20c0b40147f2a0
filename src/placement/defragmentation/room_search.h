// The fewest pods that have to leave one domain so that an entity that waits fits.
//
// The domains are asked in the order of a bound: what the entity needs in one domain, less what is free
// there, in units of the domain's largest pod. In a domain all pods that may move leave, and as many as
// possible are taken back: the smallest first, so that few pods move. Owner: one search, one thread; it
// leaves the transaction unchanged. Cost: at most kRoomDecisionsMax decisions a domain.
#pragma once

#include <optional>
#include <vector>

#include "placement/defragmentation/domain_rows.h"

namespace berth::placement {

struct RoomFound {
  std::size_t row = 0;
  std::vector<MoveUnit> units;  // that move, in this order
  std::vector<NodeId> avoid;    // by them; ascending
  std::size_t moves = 0;
  std::int64_t gained = 0;  // devices of the entity, once it is placed
  std::int64_t moved = 0;   // devices that the pods hold which move
};

class RoomSearch {
 public:
  // `spared`: domains where no pod should go if another one takes it. All outlive it.
  RoomSearch(const DefragmentationQuestion& question, const DeviceCounts& counts, PodMover& mover,
             DomainRows& rows, const std::vector<std::size_t>& spared)
      : question_(question), counts_(counts), mover_(mover), rows_(rows), spared_(spared) {}

  std::optional<RoomFound> find(const WaitingEntity& waiting, std::size_t moves_max);
  // A bound was reached.
  bool ended() const { return ended_; }

 private:
  struct Candidate {
    std::size_t bound = 1;  // moves at least
    std::int64_t free = 0;
    std::size_t row = 0;
  };
  std::vector<Candidate> candidates(const WaitingEntity& waiting, std::size_t moves_max) const;
  std::int64_t needed_in_one(const WaitingEntity& waiting) const;
  std::optional<RoomFound> room_in(std::size_t row, const WaitingEntity& waiting, std::size_t moves_max);
  std::vector<MoveUnit> fewest(const std::vector<MoveUnit>& units, const WaitingEntity& waiting);
  std::optional<PodId> try_moves(RoomFound& found, const WaitingEntity& waiting);
  bool fits_without(const std::vector<MoveUnit>& units, const std::vector<std::size_t>& removed,
                    const WaitingEntity& waiting);

  const DefragmentationQuestion& question_;
  const DeviceCounts& counts_;
  PodMover& mover_;
  DomainRows& rows_;
  const std::vector<std::size_t>& spared_;
  std::size_t decisions_ = 0;  // in one domain
  bool ended_ = false;
};

}  // namespace berth::placement
