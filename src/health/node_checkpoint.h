// What the agent of a node must still know after a restart, and its file.
//
// The file is one header line (format, version, checksum and length of the rest) and a JSON document. It
// names its node and the boot of the machine: ages are continued within one boot only. Pure, apart from
// CheckpointFile. Source: KEP-4680 ("persisting this information across Kubelet restarts").
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "health/device_plugins.h"

namespace berth::health {

inline constexpr int kCheckpointVersion = 1;
// Devices beyond it are left out, so they are Unknown after a restart; what containers hold and claims come
// first.
inline constexpr std::size_t kCheckpointBytesMax = 16 << 20;

struct NodeCheckpoint {
  std::string node;
  std::string boot_id;
  Time wall;       // when it was made
  Time monotonic;  // the same; comparable within one boot
  KeptDrivers drivers;
  KeptResources resources;
  HeldByContainer held;
  ClaimInfos claims;
  std::set<std::string> claim_drivers;  // known on the node
};

std::string encode_checkpoint(const NodeCheckpoint& checkpoint);
// Refuses, with a sentence that says which: what is no checkpoint, what a newer version wrote (Unsupported),
// what is damaged, what breaks a bound of the cache.
Result<NodeCheckpoint> decode_checkpoint(std::string_view text);

// The time since `checkpoint` was made, by the clock that says more; nothing when it was made in another boot
// or a clock runs behind it.
std::optional<Duration> time_since(const NodeCheckpoint& checkpoint, std::string_view boot_id, Time wall,
                                   Time monotonic);

// Identifies the machine's boot; empty when the machine does not say.
std::string machine_boot_id();

// The checkpoint of one node in a folder. Owner: one thread.
class CheckpointFile {
 public:
  struct Loaded {
    enum class From { Nothing, File, Refused };
    From from = From::Nothing;
    NodeCheckpoint checkpoint;
  };
  // The file is <folder>/<node>.checkpoint.
  CheckpointFile(const std::string& folder, std::string node);

  // A file that is refused or belongs to another node is renamed to "<file>.refused", in place of an earlier
  // one, and logged.
  Loaded load();
  // Durable when it returns. A failure is logged once until a success.
  Status save(const NodeCheckpoint& checkpoint);
  void remove();

 private:
  std::string node_;
  std::string path_;
  bool complained_ = false;
};

}  // namespace berth::health
