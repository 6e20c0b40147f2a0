// One operating-system process of a simulated world: parts of the control plane behind a hostile network,
// with a clock of its own and, when it is one of several, a Lease to lead by.
//
// Owner: one HostileWorld, on one thread. A killed process leaves nothing but the requests that it had sent.
// One that stops leading dies at once and is started again, as kube-scheduler is.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "api/gates.h"
#include "client/leader_election.h"
#include "plane/control_plane.h"
#include "sim/hostile_client.h"

namespace berth::sim {

struct ProcessOptions {
  std::string name;
  plane::ControlPlaneOptions parts;
  std::string lease;          // empty: leads without being elected
  Duration clock_ahead = {};  // of the world's time; negative: behind
};

class Process {
 public:
  // `network` and `gates` outlive the world's last event.
  Process(ProcessNetwork& network, const api::Gates& gates, ProcessOptions options);
  ~Process();

  // Begins with an empty view. Only when it does not run.
  void start();
  // SIGKILL.
  void kill();
  // SIGTERM: gives the Lease back and ends, without waiting for answers.
  void stop();
  // SIGSTOP: the clock goes on, the process does not. Until resume().
  void pause();
  void resume();
  void jump_clock(Duration by) { clock_ahead_ = clock_ahead_ + by; }
  void correct_clock() { clock_ahead_ = {}; }

  bool runs() const { return incarnation_ != nullptr; }
  bool paused() const { return paused_; }
  bool leads() const;
  // Times that a scheduler in this process began without a memory, or went on after a pause.
  int scheduler_interruptions() const { return options_.parts.scheduler ? starts_ + resumes_ : 0; }
  // Null while it does not run.
  plane::ControlPlane* plane();
  const std::string& name() const { return options_.name; }
  ProcessNetwork& network() { return network_; }

  // Works off what is due. True when it did anything.
  bool step();
  // In the world's time; nothing when only a message could wake it.
  std::optional<Time> next_wake() const;

 private:
  struct Incarnation;
  Time own_time() const { return network_.shared.events.now() + clock_ahead_; }
  void lead(engine::Leading leading);
  void poll_lease();
  void schedule_poll();
  void send(client::ApiRequest request);

  ProcessNetwork& network_;
  const api::Gates& gates_;
  const ProcessOptions options_;
  Duration clock_ahead_;
  bool paused_ = false;
  int starts_ = 0;
  int resumes_ = 0;
  std::shared_ptr<Incarnation> incarnation_;  // null: not running
};

// Steps of one process at one moment; one that needs more never comes to rest, which is a defect.
inline constexpr std::size_t kProcessStepsMax = 50'000;

}  // namespace berth::sim
