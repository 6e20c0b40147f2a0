// What a decision would do, in order: a transaction takes it back and returns it, and another one does it
// again.
//
// Value, without a reference to the ledger. Redone on a ledger in the state before its first step, it leaves
// the ledger exactly as the first run did. Cost: the steps share reservations, nothing is copied deeply.
#pragma once

#include <variant>
#include <vector>

#include "model/ids.h"
#include "model/reservation.h"

namespace berth::model {

struct ClaimReservation;
using ClaimReservationPtr = std::shared_ptr<const ClaimReservation>;

// The pod gets its place. The only step that a commit turns into an assumption.
struct Place {
  PodId pod;
  NodeId node;
  ReservationPtr reservation;
};
// A claim's devices are in use.
struct Allocate {
  ClaimId claim;
  ClaimReservationPtr reservation;
};
// The pod leaves its node; the claim gives its devices back.
struct RemovePod {
  PodId pod;
};
struct RemoveClaim {
  ClaimId claim;
};
// The allocator avoids the device: as in use, or with its counters left free for others.
struct Hide {
  DeviceId device;
};
struct Exclude {
  DeviceId device;
};

using Step = std::variant<Place, Allocate, RemovePod, RemoveClaim, Hide, Exclude>;
struct Plan {
  std::vector<Step> steps;
};

}  // namespace berth::model
