// The plugins of one node: registers new sockets, keeps one health stream a driver, ages the reports.
//
// Owner: one thread, on which `post` also delivers every response of the client. Reads no clock. The stream
// of a driver's newest instance is read; that of the previous one is kept until the newer one's first message
// or kHandOverMax. A plugin that sends too much or malformed data loses its stream and is contacted again
// after a backoff; its reports age until then. Claims are the newest instance's too. Source: kubelet
// pluginmanager and DRA manager, KEP-4680.
//
// On a node with a kubelet it is the second reader of a stream, and answers no registration. Some drivers
// have one channel for all their streams: a message reaches one reader then. Gaps show such a driver: no
// report within kGuestFirstReportMax of a new stream, or kGuestGapsMax times a device that reports again
// after silence beyond its deadline. Its stream is then closed for kGuestBackoffBase, doubled each time.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "health/health_cache.h"
#include "health/health_feed.h"
#include "health/plugin_client.h"

namespace berth::health {

inline constexpr std::size_t kPluginSocketsPerNodeMax = 64;
inline constexpr Duration kRegisterBackoffBase = Duration::millis(200),
                          kRegisterBackoffMax = Duration::seconds(30);
// Calls until a plugin that does not answer is not waited for: a socket exists a moment before it is served.
inline constexpr std::uint32_t kIntroductionsAwaited = 2;
inline constexpr Duration kHandOverMax = Duration::seconds(60);
inline constexpr int kMessagesPerSecondMax = 200;  // of one driver
inline constexpr Duration kGuestFirstReportMax = Duration::seconds(30);
inline constexpr int kGuestGapsMax = 2;
inline constexpr Duration kGuestBackoffBase = Duration::minutes(1), kGuestBackoffMax = Duration::minutes(60);
// A stream without a gap for so long has the driver's trust again: backoffs start again.
inline constexpr Duration kGuestCalm = Duration::minutes(10);

class NodePlugins {
 public:
  // Runs `work` on the owner's thread with the time of that moment; never after the owner's destruction.
  using Post = std::function<void(std::function<void(NodePlugins&, Time)> work)>;
  // Called on the owner's thread.
  struct Observer {
    std::function<void(Time)> changed;  // readers see a difference
    std::function<void(Time)> heard;    // a report came
    std::function<void(Time)> claims;   // claim_drivers() changed
    // Whether a plugin has not answered its first kIntroductionsAwaited calls of GetInfo; repeated.
    std::function<void(bool)> introducing;
  };
  // `client` outlives it.
  NodePlugins(std::string node, PluginClient& client, Post post, Observer observer, HealthTiming timing = {},
              NodeRole role = NodeRole::OwnsNodes);
  ~NodePlugins();

  const HealthCache& cache() const { return cache_; }
  // Called first, if at all (HealthCache::restore).
  void restore(const KeptDrivers& kept, std::optional<Duration> passed, Time now) {
    cache_.restore(kept, passed, now);
  }

  // The drivers that registered a service for claims since the node exists; a restart restores their names.
  const ClaimDrivers& claim_drivers() const { return claim_drivers_; }
  void restore_claim_drivers(const std::set<std::string>& names);
  // Whom to call for claims: the newest instance of a registered driver.
  struct ClaimEndpoint {
    std::string socket;
    ClaimService service = ClaimService::V1;
  };
  ClaimEndpoint claim_endpoint(const std::string& driver) const;

  // A socket with this path appeared; the previous one with the path is gone.
  void appeared(const std::string& path, Time now);
  void vanished(const std::string& path, Time now);
  // Runs due retries, hand-overs and timeouts.
  void step(Time now);
  std::optional<Time> next_wake() const;

 private:
  struct Socket {
    std::uint64_t generation = 0;
    std::string driver;  // empty until registered
    std::uint32_t failures = 0;
    std::optional<Time> retry_at;
  };
  struct Instance {
    std::string socket;
    std::string endpoint;
    std::optional<HealthService> service;
    std::optional<ClaimService> claims;
  };
  struct Listening {
    std::uint64_t generation = 0;
    Instance instance;
    std::unique_ptr<PluginClient::Stream> stream;
    std::uint32_t failures = 0;
    std::optional<Time> retry_at;
    Time second;  // start of the window in which messages are counted
    int messages = 0;
    // Of a guest.
    Time opened_at;
    std::optional<Time> first_report_by;
    int gaps = 0;
    std::uint32_t yields = 0;
  };
  struct Driver {
    std::vector<Instance> instances;  // newest last
    std::optional<Listening> current;
    std::optional<Listening> successor;
    Time hand_over_by;
  };

  void introduce(const std::string& path);
  void note_introductions() const;
  void on_info(const std::string& path, std::uint64_t generation, const Result<PluginInfo>& info, Time now);
  Result<Instance> accepted(const std::string& path, const PluginInfo& info) const;
  void forget(Socket& socket, const std::string& path, Time now);
  void retry(Socket& socket, Time now);
  void choose(const std::string& name, Time now);
  void update_claim_driver(const std::string& name, Time now);
  void open(const std::string& name, Listening& listening, Time now);
  Listening* find(Driver& driver, std::uint64_t generation);
  void on_message(const std::string& name, std::uint64_t generation, Reports reports, Time now);
  void on_end(const std::string& name, std::uint64_t generation, const Error& error, Time now);
  bool is_guest() const { return role_ == NodeRole::BesideKubelet; }
  // Whether the message shows that another reader takes the stream's messages.
  bool shows_gaps(const std::string& name, Listening& listening, const Reports& reports, Time now) const;
  void yield(const std::string& name, Listening& listening, const char* cause, Time now);
  void answer_registration(const std::string& path, std::uint64_t generation);
  void show(HealthCache::Visible visible, Time now);

  std::string node_;
  PluginClient& client_;
  Post post_;
  Observer observer_;
  HealthTiming timing_;
  NodeRole role_;
  HealthCache cache_;
  std::map<std::string, Socket> sockets_;  // by path
  std::map<std::string, Driver> drivers_;
  ClaimDrivers claim_drivers_;
  std::uint64_t last_generation_ = 0;
};

}  // namespace berth::health
