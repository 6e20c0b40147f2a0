// Decides which claims of a node its DRA drivers prepare and unprepare, and remembers what they answered.
//
// Owner: one thread. Pure: time is passed in. Each driver of a claim's devices that is known on the node
// prepares the claim while a pod of the node needs it, and unprepares it after that. When due() returns,
// infos() has what each driver will be asked, and for which pods. A checkpoint of it, written before the
// calls are made and reported, survives a crash at any point. After a restart a claim of it is still prepared
// where its answer was kept, or it is prepared again, or unprepared. A claim has one call in flight a driver.
// Once its unpreparing has begun it takes no new pod until that is done. Cost of due(): O(claims of the
// node). Source: kubelet's DRA manager of 1.37 (PrepareResources, UnprepareResources).
#pragma once

#include <optional>

#include "base/result.h"
#include "base/time.h"
#include "health/claim_info.h"
#include "health/plugin_devices.h"

namespace berth::health {

inline constexpr std::size_t kClaimsPerCallMax = 128;
inline constexpr int kClaimCallsPerDriverMax = 16;  // in flight at once
inline constexpr Duration kPrepareBackoffBase = Duration::seconds(1),
                          kPrepareBackoffMax = Duration::seconds(60);

// One call: all claims of a pod that the driver has not prepared, or claims whose pods are gone.
struct DriverCall {
  std::string driver;
  ClaimOperation operation = ClaimOperation::Prepare;
  std::vector<ClaimId> claims;
  std::string pod_uid;  // empty for Unprepare
};

class ClaimInfoCache {
 public:
  enum class Boot { Same, Another };
  // Called first, if at all. After another boot of the machine nothing is prepared any more.
  void restore(ClaimInfos infos, Boot boot);

  // Ends the references of pods that are not among `pods`.
  void retain(const NodePods& pods);
  // The calls to make now; each counts as in flight until answered().
  std::vector<DriverCall> due(const NodePods& pods, const ClaimDrivers& drivers, Time now);
  // The outcome of a call, with an error when nobody knows whether it was carried out. Returns what went
  // wrong, in kubelet's words, or nothing.
  std::string answered(const DriverCall& call, const Result<ClaimResults>& results, Time now);
  // Repeats failed calls at once: a driver registered.
  void retry_now();
  // When due() must be called next, if nothing happens before.
  std::optional<Time> next_wake() const;

  ClaimInfos infos() const;
  // By pod UID: why a claim of the pod is not prepared.
  std::map<std::string, std::string> failures() const;
  // Grows with every change of infos() or failures().
  std::uint64_t version() const { return version_; }

 private:
  struct Retry {
    std::uint32_t failures = 0;
    std::optional<Time> at;
    bool waits(Time now) const { return at && now < *at; }
    void fail(Time now);
  };
  struct Entry {
    ClaimInfo info;
    std::set<std::string> in_flight;  // drivers
    bool unpreparing = false;
    Retry retry;  // of unpreparing
  };
  struct PodFailure {
    std::string text;
    Retry retry;
  };
  using Entries = std::map<std::string, Entry, std::less<>>;

  Entries::iterator forget_if_done(Entries::iterator entry);
  void unprepare_due(const std::set<std::string_view>& needed, const ClaimDrivers& drivers, Time now,
                     std::vector<DriverCall>& calls);
  void prepare_due(const NodePod& pod, const ClaimDrivers& drivers, Time now, std::vector<DriverCall>& calls);
  const ClaimInfo* find(const std::string& uid) const;
  bool is_prepared(const NodePod& pod, const ClaimDrivers& drivers) const;
  std::string refusal(const NodePod& pod, const ClaimDrivers& drivers) const;
  void add_references(const NodePod& pod, const ClaimDrivers& drivers);
  std::optional<DriverCall> prepare_call(const NodePod& pod, const std::string& driver);
  void begin(DriverCall call, std::vector<DriverCall>& calls);
  void take(const DriverCall& call, const ClaimResults& results);
  void fail(const std::string& pod_uid, std::string text, Time now);

  Entries entries_;
  std::map<std::string, PodFailure> failures_;  // by pod UID
  std::map<std::string, int> calls_in_flight_;  // by driver
  std::uint64_t version_ = 0;
};

}  // namespace berth::health
