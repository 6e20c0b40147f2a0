// What would make a refused pod or group fit, as data. A search for remedies tries each before naming
// it; berth_words.h puts it into words.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/quantity.h"

namespace berth::placement {

enum class RemedyKind : std::uint8_t {
  Evict,
  Uncordon,
  RemoveTaints,
  AddLabels,
  AddResource,
  AddNodes,
  OtherClass,
  RemoveDeviceTaint,
  DeleteTaintRule,
  FewerMembers,
  DropTopology,
};
inline constexpr std::size_t kRemedyKindCount = 11;
std::string_view name_of(RemedyKind kind);

struct RemedyStep {
  RemedyKind kind = RemedyKind::Uncordon;
  std::string node = {};  // that takes the pod then; of AddNodes the one to copy; empty: several or none
  // Taints ("dedicated=db:NoSchedule") of a node or a device, labels ("zone=a"), the resource, the name of
  // the DeviceClass or of the DeviceTaintRule, or topology keys.
  std::vector<std::string> subjects = {};
  std::string request = {};  // OtherClass: "claim/request"; RemoveDeviceTaint: "driver/pool/device"
  Quantity more = {};        // AddResource
  std::int64_t count = 0;    // AddNodes; FewerMembers: the smaller minimum
  std::string group = {};    // DropTopology, FewerMembers: the group of a tree that is meant
  bool of_groups = false;    // it is a CompositePodGroup
  std::vector<std::pair<std::string, std::int32_t>> victims = {};  // "default/train-3" with its priority
};

// Every step is needed: without one of them nothing is gained.
struct Remedy {
  std::vector<RemedyStep> steps;
};

// The node, or of a group the domain, that lacks least.
struct NearestMiss {
  std::string place;
  std::vector<std::string> lacks;  // "2Gi of memory is missing", "it is cordoned"
};

}  // namespace berth::placement
