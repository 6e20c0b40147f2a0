// A DRA driver's node side with scripted reports: for tests and experiments.
//
// Serves registration and health on one socket. Thread-safe. Every new stream gets its newest state at once.
#pragma once

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

 private:
  struct Parts;
  explicit HealthDriver(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace berth::health
