// Rows of the ledger: what is in use of a node and of a device, and by whom.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "api/types/dra.h"
#include "api/types/gpu_share.h"
#include "model/gpu_groups.h"
#include "model/ids.h"
#include "model/reservation.h"
#include "model/resources.h"

namespace berth::model {

struct CapacityAmount {
  CapacityId capacity;
  Quantity amount;
  friend bool operator==(const CapacityAmount&, const CapacityAmount&) = default;
};

// Admin access is recorded in the claim's reservation but reserves nothing.
enum class DeviceUseKind : std::uint8_t { Dedicated, Share, Admin };

struct ReservedDevice {
  DeviceId device;
  DeviceUseKind kind = DeviceUseKind::Dedicated;
  std::vector<CapacityAmount> consumed;  // of a share; sorted by capacity
};

// One claim's allocation with its devices as ids, in the order of allocation->results.
struct ClaimReservation {
  std::shared_ptr<const api::Allocation> allocation;
  std::vector<ReservedDevice> devices;
};

struct NodeUse {
  ResourceSums requested;  // each GPU group counts as one nvidia.com/gpu
  GpuGroups gpu_groups;
  std::vector<PodId> pods;      // ascending
  std::vector<PodId> expected;  // ascending; for which holds keep a place here
};

struct DeviceUse {
  std::int32_t dedicated = 0, shares = 0;
  std::int32_t excluded = 0;             // not to be chosen, but in no use
  std::vector<ClaimId> holders;          // ascending; once per result that reserves the device
  std::vector<CapacityAmount> consumed;  // sorted by capacity; the sum over all shares
  bool free() const { return dedicated == 0 && shares == 0; }
};

// What a pod is charged with.
struct PodCharge {
  NodeId node;  // none: nothing
  ChargedAmounts requests;
  api::GpuSharePtr gpu_share;   // null: it has none
  std::vector<ClaimId> claims;  // which it uses
  VolumeBindingsPtr volumes;    // of claims that were not bound when it was placed; null: none
  bool removed = false;         // by the open transaction
};

struct HeldPlace : PodCharge {
  PodId pod;  // that is expected there; none: it is gone
};

// What an entry needs later: in use for decisions of lower priority, without pods and claims of its own.
struct Hold {
  std::int32_t priority = 0;
  std::vector<HeldPlace> places;
  std::vector<ReservedDevice> devices;
  std::vector<PodId> leaving;  // they are evicted for it, whoever else needs their room
  bool binds_equals = false;   // entries of this priority, too, except those that it is open to
};
using HoldId = std::uint32_t;

// Those that do not bind an entry although their priority is its own or higher.
struct HoldsPassed {
  std::optional<HoldId> own = {};         // and later ones up to its priority: who came first goes first
  std::optional<HoldId> open = {};        // binds equals, but not this entry
  std::optional<HoldId> backfilled = {};  // the entry ends before the room of this one is used
  std::span<const HoldId> rooms = {};     // of the entry; none later than these
};

}  // namespace berth::model
