// Claims of a node's pods, and what its DRA drivers prepared of them, as plain values.
//
// Source: kubelet's DRA API v1 (NodePrepareResources), KEP-4381, resource.k8s.io/v1 ResourceClaim.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace berth::health {

inline constexpr std::size_t kClaimAnswerBytesMax = 65536;  // of one claim

struct ClaimId {
  std::string uid, ns, name;
  friend bool operator==(const ClaimId&, const ClaimId&) = default;
};

// Which calls a driver gets for a claim; a driver that is never called has none of these
// (status.allocation.devices.results[].skipNodeOperations).
enum class NodeOperations : std::uint8_t { PrepareAndUnprepare, Prepare };

// A claim of a pod with the drivers of its devices that are called.
struct NeededClaim {
  ClaimId id;
  std::map<std::string, NodeOperations> drivers;
  friend bool operator==(const NeededClaim&, const NeededClaim&) = default;
};

// A device as its driver prepared it.
struct PreparedDevice {
  std::vector<std::string> requests;  // empty: for every request of the claim
  std::string pool, device, share_id;
  std::vector<std::string> cdi_ids;  // "vendor.com/class=device"
  friend bool operator==(const PreparedDevice&, const PreparedDevice&) = default;
};

// One driver's part of a claim.
struct ClaimDriver {
  NodeOperations operations = NodeOperations::PrepareAndUnprepare;
  bool prepared = false;  // for the claim's pods; false: it may have been asked
  std::vector<PreparedDevice> devices;
  friend bool operator==(const ClaimDriver&, const ClaimDriver&) = default;
};

// A claim that drivers were, or are about to be, asked to prepare.
struct ClaimInfo {
  ClaimId id;
  std::set<std::string, std::less<>> pods;                  // UIDs of its users on the node
  std::map<std::string, ClaimDriver, std::less<>> drivers;  // that have not unprepared it yet
  friend bool operator==(const ClaimInfo&, const ClaimInfo&) = default;
};
using ClaimInfos = std::map<std::string, ClaimInfo, std::less<>>;  // by UID

// What a driver answered about one claim.
struct ClaimResult {
  std::string error;  // empty: done
  std::vector<PreparedDevice> devices;
};
using ClaimResults = std::map<std::string, ClaimResult>;  // by UID

enum class Registered { Yes, No };
// The drivers that are known to prepare claims on a node, by name, and whether an instance is registered now.
using ClaimDrivers = std::map<std::string, Registered, std::less<>>;

// Whether the known drivers of the claim have prepared it for the pod. `info`: the claim's, or null.
bool is_prepared_for(const ClaimInfo* info, const NeededClaim& claim, std::string_view pod_uid,
                     const ClaimDrivers& known);

enum class ClaimOperation : std::uint8_t { Prepare, Unprepare };

}  // namespace berth::health
