// A deterministic cluster in one thread: the real API server, the real deciders, virtual time, seeded
// randomness.
//
// The same seed and the same calls give the same bytes. Owner: one test or one story; nothing here is
// thread-safe.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "api/gates.h"
#include "client/api_client.h"
#include "placement/plugin_arguments.h"
#include "placement/victim_scoring.h"
#include "scheduling/keepers/relocations.h"
#include "sim/faults.h"
#include "sim/reported_health.h"
#include "store/store.h"

namespace berth::sim {

// Of every world's clocks: 2026-01-01T00:00:00Z.
inline constexpr Time kWorldStart = Time::from_seconds(1'767'225'600);

// Keeps nothing on a disk and answers at once.
std::unique_ptr<store::Store> memory_store();

struct WorldOptions {
  std::uint64_t seed = 1;
  std::string feature_gates;          // changes from the defaults of `berth up`
  std::string decider_gates;          // further changes, for the deciders only: version skew
  bool gpu_reservation_pods = false;  // of the binder; else the scheduler's account alone
  placement::ResourcesFitArguments resources_fit = {};
  placement::VictimScoring victim_scoring = placement::VictimScoring::Reference;
  scheduling::DefragmentationSettings defragmentation = {};
  FaultRates faults;  // the default is none
};

class World {
 public:
  // Refuses unknown feature gates.
  static Result<std::unique_ptr<World>> make(WorldOptions options);
  ~World();

  // A request of a user: no faults, answered at once.
  client::ApiReply call(client::ApiRequest request);
  // Creates the object of the document (apiVersion, kind, metadata…).
  client::ApiReply create(const Json& object);
  // The object's document; null when it does not exist.
  Json read(const api::ResourceRef& resource, const std::string& ns, const std::string& name);
  std::vector<Json> read_all(const api::ResourceRef& resource);

  // Drivers' reports about their devices; the deciders get them like those of node agents.
  ReportedHealth& reported_health();

  // Advances time: runs every decider whenever it has work. Returns at once when they die.
  void advance(Duration time);
  // Kills every decider with its memory and its requests in flight, and starts them again from the API.
  void restart_deciders();
  // The same with other gates than the API server's: changes from the world's. Refuses unknown ones.
  Status restart_deciders(const std::string& gates);
  // Kills the deciders at their `nth` write from now to a resource (plural; any when empty), which is not
  // carried out; restart_deciders() starts them again.
  void kill_at_write(std::uint64_t nth, std::string resource = "");
  bool killed() const;
  void stop_faults();
  Time now() const;
  // Of the deciders.
  const api::Gates& gates() const;
  // Every object, one per line: equal for two runs of one seed.
  std::string text();
  // The results of the deciders' writes to a resource, by its plural name.
  WriteCounts writes_to(std::string_view resource) const;
  std::uint64_t faults() const;

 private:
  struct Parts;
  explicit World(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

// Steps of one settle(); more at one instant mean that the world never comes to rest, which is a defect.
inline constexpr std::size_t kStepsPerInstantMax = 200'000;

}  // namespace berth::sim
