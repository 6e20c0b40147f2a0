// One operating-system process of a simulated world: components of the control plane behind a hostile
// network, with a clock of its own. One of several processes also has a Lease.
//
// Owner: one HostileWorld, on one thread. A killed process leaves only the requests that it had sent. A
// process that stops leading exits at once and is restarted, like kube-scheduler.
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
  std::string lease;          // empty: leads without an election
  Duration clock_ahead = {};  // of the world's time; negative: behind
};

class Process {
 public:
  // `network` and `gates` outlive the world's last event.
  Process(ProcessNetwork& network, const api::Gates& gates, ProcessOptions options);
  ~Process();

  // Starts with an empty view. Only while stopped.
  void start();
  // SIGKILL.
  void kill();
  // SIGTERM: releases the Lease and ends, without waiting for responses.
  void stop();
  // SIGSTOP until resume(): its clock continues, the process does not.
  void pause();
  void resume();
  void jump_clock(Duration by) { clock_ahead_ = clock_ahead_ + by; }
  void correct_clock() { clock_ahead_ = {}; }

  bool runs() const { return incarnation_ != nullptr; }
  bool paused() const { return paused_; }
  bool leads() const;
  // How often a scheduler in this process started without memory, or continued after a pause.
  int scheduler_interruptions() const { return options_.parts.scheduler ? starts_ + resumes_ : 0; }
  // Null while it does not run.
  plane::ControlPlane* plane();
  const std::string& name() const { return options_.name; }
  ProcessNetwork& network() { return network_; }

  // Does the due work. True when there was any.
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

// Steps of one process at one moment; more mean that it never comes to rest, which is a defect.
inline constexpr std::size_t kProcessStepsMax = 50'000;

}  // namespace berth::sim
