// The network between one simulated process and the API server: its current faults, and their counts.
//
// Owner: one simulated world, on one thread. Every random decision is a function of the world's seed and of
// its subject, not of earlier decisions: a plan with a step left out behaves alike.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "base/time.h"
#include "client/api_client.h"
#include "sim/event_queue.h"
#include "sim/fault_class.h"
#include "sim/write_history.h"
#include "store/store.h"

namespace berth::sim {

// Chances in 1/1000 of each request, or of each delivery of a watch.
using FaultRates1000 = std::array<std::uint32_t, kFaultClassCount>;

// What all processes of a world share.
struct SharedNetwork {
  EventQueue& events;
  store::Store& store;
  WriteHistory& history;
  client::ApiClient& server;  // carries a request out and answers at once
  std::uint64_t seed = 1;
  Time outage_until = {};                          // the API server is unavailable until then
  std::function<void(FaultClass)> note = nullptr;  // called for every fault
  std::function<void()> departed = nullptr;        // called for every write that leaves a process
  std::size_t creates_under_way = 0;               // of bind requests
  std::size_t bindings_under_way = 0;              // of pods
  // Events are a quarter of all writes and no decision reads them: accepted, but not stored.
  bool keeps_events = true;

  // The request that is being carried out: its process (empty: a user's), and when it left.
  std::string landing_of = {};
  Time landing_left = {};

  bool is_out() const { return outage_until.is_set() && events.now() < outage_until; }
};

// The network path of one process to the API server. Outlives the process's restarts.
struct ProcessNetwork {
  SharedNetwork& shared;
  std::string process;
  FaultRates1000 rates = {};
  std::uint32_t writes_per_second = 0;                          // 0: no limit
  Duration watch_lag_max = {};                                  // none: milliseconds
  std::map<std::string, std::uint64_t, std::less<>> seen = {};  // requests so far, by subject
  // Its process dies before it sends its n-th write from now to a resource; 0: never.
  std::uint64_t writes_to_live = 0;
  std::string deadly_resource = {};          // plural
  std::function<void()> on_death = nullptr;  // called soon after

  std::uint32_t rate(FaultClass fault) const { return rates[static_cast<std::size_t>(fault)]; }
  void note(FaultClass fault) const {
    if (shared.note) shared.note(fault);
  }
};

// A number that depends on the arguments alone.
std::uint64_t chance_of(std::uint64_t seed, std::string_view about, std::uint64_t nth);
// In [low, high), from a random number.
Duration span_of(std::uint64_t chance, Duration low, Duration high);

}  // namespace berth::sim
