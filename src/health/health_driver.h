// A DRA driver's node side that reports what it is told: for tests and for trying things out.
//
// Serves registration and health on one socket. Thread-safe. It reports its newest state to every new stream
// at once.
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
  // Ends the streams and takes the socket away.
  ~HealthDriver();

  // Sends the whole state, with these reports in it; silent streams stay open.
  void report(const Reports& reports);
  // What registration said so far: "registered", or the refusal.
  std::vector<std::string> answers() const;
  std::size_t streams() const;

 private:
  struct Parts;
  explicit HealthDriver(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace berth::health
