// A seeded cluster in one thread with faulty processes, network and API server, in virtual time.
//
// The real API server and store, and the real control plane in one or several processes. The same seed and
// the same calls give the same bytes. Owner: one test or one storm; nothing here is thread-safe.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sim/process.h"

namespace berth::sim {

struct HostileWorldOptions {
  std::uint64_t seed = 1;
  std::string feature_gates;  // changes from the defaults of `berth up`
};

class HostileWorld {
 public:
  // Refuses unknown feature gates.
  static Result<std::unique_ptr<HostileWorld>> make(const HostileWorldOptions& options);
  ~HostileWorld();

  // Adds a process in the stopped state, with its components' options.
  Process& add(ProcessOptions options);
  const std::vector<std::unique_ptr<Process>>& processes() const;
  // Null for an unknown name.
  Process* find(std::string_view name);

  // Runs events and processes until `end`.
  void run_until(Time end);
  Time now() const;
  EventQueue& events();
  SharedNetwork& network();
  WriteHistory& history();

  // A request of a user: no faults, answered at once.
  client::ApiReply call(client::ApiRequest request);
  // Creates the object of the document (apiVersion, kind, metadata…).
  client::ApiReply create(const Json& object);
  // The object's document; null when it does not exist.
  Json read(api::Kind kind, const std::string& ns, const std::string& name);
  std::vector<store::ObjectPtr> stored(api::Kind kind);
  // The document of its bytes. The next reader gets the parsed form.
  Json document_of(const store::ObjectPtr& object);

  // Every object, one per line: equal for two runs of one seed.
  std::string text();

 private:
  struct Parts;
  explicit HostileWorld(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

// Events and process steps of one moment; more mean that it never ends.
inline constexpr std::size_t kStepsPerMomentMax = 1'000'000;

}  // namespace berth::sim
