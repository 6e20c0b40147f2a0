#include "controllers/simulated_init.h"

#include "controllers/simulated_containers.h"

namespace berth::controllers {
namespace {

// Takes one pod from its record to `now`.
class InitWalk {
 public:
  InitWalk(const api::Pod& pod, Time now)
      : pod_(pod), ends_(ends_of_init_containers(pod)), record_(pod), now_(now) {
    step_.changes.resize(pod.init_containers.size());
  }

  InitStep whole() {
    for (std::size_t i = 0; i < pod_.init_containers.size(); ++i)
      if (!is_past(i)) return std::move(step_);
    step_.is_done = true;
    return std::move(step_);
  }

 private:
  // Whether the next one may start.
  bool is_past(std::size_t i) {
    const Json& before = record_.of(pod_.init_containers[i].name);
    const Json& running = before.part("state").part("running");
    if (pod_.init_containers[i].restartable_init) {
      if (!running.is_object()) start(i, {ContainerState::Running, now_});
      return true;
    }
    if (has_succeeded(before)) return true;
    if (running.is_object()) return goes_past(i, api::decode_time(running.string_at("startedAt")));
    if (before.part("lastState").part("terminated").is_object()) {
      wait_for_restart(i, before);
      return false;
    }
    start(i, {ContainerState::Running, now_});
    return goes_past(i, now_);
  }

  void start(std::size_t i, ContainersAre are) {
    step_.changes[i] = are;
    step_.started.push_back(i);
  }

  // Of one that runs since this time.
  bool goes_past(std::size_t i, Time started) {
    const ContainersEnd& end = ends_[i];
    if (now_ < started + end.after) {
      step_.due = started + end.after;
      return false;
    }
    const ContainerRun run{started, now_, end.exit_code};
    if (end.exit_code != 0 && end.restarts) {
      fail(i, run);
      return false;
    }
    step_.changes[i] = ContainersAre{ContainerState::Ended, started, run};
    step_.has_failed = end.exit_code != 0;
    return !step_.has_failed;
  }

  void fail(std::size_t i, const ContainerRun& run) {
    const std::int64_t restarts = record_.of(pod_.init_containers[i].name).int_at("restartCount");
    const Duration delay = restart_delay(restarts, ends_[i].after);
    if (delay == Duration()) {
      start(i, {ContainerState::Running, now_, run, true});
      return;
    }
    step_.changes[i] = ContainersAre{ContainerState::BackingOff, run.started, run, false, delay};
    step_.backs_off = i;
  }

  void wait_for_restart(std::size_t i, const Json& before) {
    const Time ended = api::decode_time(before.part("lastState").part("terminated").string_at("finishedAt"));
    const Time due = ended + restart_delay(before.int_at("restartCount"), ends_[i].after);
    if (now_ < due)
      step_.due = due;
    else
      start(i, {ContainerState::Running, now_, std::nullopt, true});
  }

  const api::Pod& pod_;
  const std::vector<ContainersEnd> ends_;
  const ContainerRecord record_;
  const Time now_;
  InitStep step_;
};

}  // namespace

InitStep init_step(const api::Pod& pod, Time now) {
  if (!pod.init_containers.empty()) return InitWalk(pod, now).whole();
  InitStep step;
  step.is_done = true;
  return step;
}

}  // namespace berth::controllers
