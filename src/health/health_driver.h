// A DRA driver's node side with scripted reports: for tests and experiments.
//
// Serves registration, health and claims on one socket. Thread-safe. Every new stream gets its newest state
// at once. It reads no claims: it prepares each as all of its devices.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "health/plugin_client.h"

namespace berth::health {

struct HealthDriverOptions {
  std::string socket;  // in a plugins_registry folder; an old one is replaced
  std::string name = "gpu.example.com";
  std::string type = "DRAPlugin";
  std::vector<std::string> services = {"v1.DRAPlugin", "v1.DRAResourceHealth"};
};

class HealthDriver {
 public:
  static Result<std::unique_ptr<HealthDriver>> serve(HealthDriverOptions options);
  // Ends the streams and removes the socket.
  ~HealthDriver();

  // Merges these reports into the state and sends all of it; silenced streams stay open.
  void report(const Reports& reports);
  // Registration results so far: "registered", or the refusal.
  std::vector<std::string> answers() const;
  std::size_t streams() const;
  // "NodePrepareResources d/a,d/b", "NodeUnprepareResources d/a": the calls so far, by name.
  std::vector<std::string> calls() const;
  // From now on every claim of a call fails with `error`, unless it is empty, and calls take `delay`.
  void answer_claims(const std::string& error, std::chrono::milliseconds delay = {});

 private:
  struct Parts;
  explicit HealthDriver(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace berth::health
