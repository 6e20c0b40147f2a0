// The agent of one node: its DRA drivers and what they prepared, its device plugins and who holds their
// devices, and its checkpoint.
//
// Owner: one thread, on which `post` also delivers every answer. Answers of calls in flight call their copy
// of `post` after the agent is gone, too; it drops them. Reads no clock. Publishes a snapshot after every
// change that readers see. The checkpoint has a device, and what a container holds, before they are shown. It
// has a claim before a driver is asked to prepare it. Other changes follow within kCheckpointPeriod, repeated
// reports within kHeartbeatCheckpointPeriod.
#pragma once

#include <set>

#include "health/claim_info_cache.h"
#include "health/device_allocations.h"
#include "health/device_plugins.h"
#include "health/health_feed.h"
#include "health/node_checkpoint.h"
#include "health/node_plugins.h"

namespace berth::health {

inline constexpr Duration kCheckpointPeriod = Duration::seconds(1);
inline constexpr Duration kHeartbeatCheckpointPeriod = Duration::seconds(5);
inline constexpr Duration kAllocateBackoffBase = Duration::seconds(1),
                          kAllocateBackoffMax = Duration::seconds(60);

class NodeAgent {
 public:
  using Post = std::function<void(std::function<void(NodeAgent&, Time)> work)>;
  struct Kept {
    KeptDrivers drivers;
    KeptResources resources;
    HeldByContainer held;
    ClaimInfos claims;
    std::set<std::string> claim_drivers;
  };
  // Writes the checkpoint, on the owner's thread.
  using Save = std::function<Status(Kept)>;
  // `folder` has the node's plugin folders. `client` and `feed` outlive it.
  NodeAgent(std::string node, const std::string& folder, PluginClient& client, HealthFeed& feed, Post post,
            Save save, HealthTiming timing, NodeRole role);
  ~NodeAgent();

  // Called first, if at all: shows what a checkpoint of `passed` ago still says (HealthCache::restore).
  void restore(Kept kept, std::optional<Duration> passed, Time now);
  void appeared(const std::string& path, Time now) { drivers_.appeared(path, now); }
  void vanished(const std::string& path, Time now) { drivers_.vanished(path, now); }
  void registered(const PluginRegistration& registration, Time now) {
    plugins_.registered(registration, now);
  }
  // The feed has new pods of the node.
  void pods_changed(Time now);
  // Runs what is due.
  void step(Time now);
  std::optional<Time> next_wake() const;
  // Writes what the checkpoint lacks.
  void flush(Time now);

 private:
  // A pod to which a plugin gave no devices.
  struct Refusal {
    std::string text;
    std::uint32_t failures = 0;
    Time retry_at;
  };
  enum class Durable { First, Soon };

  void allocate(Time now);
  void begin(const MissingDevices& missing, Time now);
  void on_answer(const ContainerId& container, const std::string& resource, bool reusable,
                 const Result<AllocateAnswer>& answer, Time now);
  void refuse(const std::string& pod_uid, const std::string& text, Time now);
  void call_drivers(Time now);
  void send(const DriverCall& call);
  void on_results(const DriverCall& call, const Result<ClaimResults>& results, Time now);
  void changed(Durable durable, Time now);
  void publish();
  void heard(Time now);
  void save(Time now);

  const std::string node_;
  PluginClient& client_;
  HealthFeed& feed_;
  Post post_;
  Save save_;
  NodePlugins drivers_;
  DevicePlugins plugins_;
  DeviceAllocations allocations_;
  HealthFeed::Pods pods_;
  std::map<std::string, Refusal> refusals_;  // by pod UID
  bool allocating_ = false;                  // one call at a time
  ClaimInfoCache claims_;
  std::shared_ptr<const ClaimInfos> claims_shown_;
  std::uint64_t claims_shown_version_ = 0, claims_saved_version_ = 0;
  Time saved_at_;
  std::uint64_t saved_devices_ = 0;  // HealthCache::devices_added() then
  std::optional<Time> save_due_;
};

}  // namespace berth::health
