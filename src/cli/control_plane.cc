#include "cli/control_plane.h"

#include <array>
#include <mutex>

#include "base/log.h"
#include "binding/binder.h"
#include "cli/plane_metrics.h"
#include "engine/loop.h"
#include "explain/decision_history.h"

namespace berth::cli {
namespace {

constexpr Duration kFiguresPeriod = Duration::seconds(1);

// A loop's snapshot of its engine, refreshed periodically.
template <class Figures>
class Shown {
 public:
  explicit Shown(const Clock& clock) : clock_(clock) {}
  // Called on the loop's thread.
  template <class Take>
  void refresh(Take take) {
    const Time now = clock_.monotonic();
    if (taken_.is_set() && now - taken_ < kFiguresPeriod) return;
    taken_ = now;
    Figures figures = take();
    const std::lock_guard lock(mutex_);
    figures_ = std::move(figures);
  }
  Figures figures() const {
    const std::lock_guard lock(mutex_);
    return figures_;
  }

 private:
  const Clock& clock_;
  Time taken_;
  mutable std::mutex mutex_;
  Figures figures_;
};

// What the binder does with requests whose term their Lease does not have.
constexpr std::array<std::string_view, binding::kTermDoubtNames.size()> kDoubtSentences = {
    "BindRequests of an earlier term of their Lease; late ones are refused",
    "BindRequests name an epoch that their Lease has not reached; it counts for nothing",
    "BindRequests name a Lease that does not exist; their term counts for nothing",
    "BindRequests name a Lease that may not be read; their term counts for nothing: grant `get` of it",
    "BindRequests name a Lease in another namespace than --leader-elect-resource-namespace; their term "
    "counts "
    "for nothing"};

// Says at warning level which BindRequests' terms are not those of their Leases: once, then once in
// kRefusalQuiet, with their number.
class TermDoubtLog {
 public:
  void look(const binding::TermDoubts& doubts, Time now) {
    for (std::size_t i = 0; i < doubts.counts.size(); ++i) {
      Row& row = rows_[i];
      const bool quiet = row.noted_at.is_set() && now - row.noted_at < client::kRefusalQuiet;
      if (doubts.counts[i] == row.noted || quiet) continue;
      log(LogLevel::Warning, kDoubtSentences[i],
          {{"count", std::to_string(doubts.counts[i] - row.noted)}, {"latest", doubts.latest[i]}});
      row = {doubts.counts[i], now};
    }
  }

 private:
  struct Row {
    std::uint64_t noted = 0;
    Time noted_at = {};
  };
  std::array<Row, binding::kTermDoubtNames.size()> rows_;
};

plane::ControlPlaneOptions with_log(plane::ControlPlaneOptions options, scheduling::DecisionLog& decisions) {
  options.decisions = &decisions;
  return options;
}

scheduling::DefragmentationSettings defragmentation_settings(const Configuration& configuration) {
  scheduling::DefragmentationSettings settings;
  settings.mode = scheduling::defragmentation_mode_of(configuration.defragmentation).value_or(settings.mode);
  settings.level = configuration.defragmentation_level;
  settings.interval = configuration.defragmentation_interval;
  settings.moves_at_once = configuration.defragmentation_moves;
  settings.moves_an_hour = configuration.defragmentation_moves_an_hour;
  settings.ratio = configuration.defragmentation_ratio;
  return settings;
}

// Passes on which rooms the scheduler holds, once a change is known.
class HeldRoomReport {
 public:
  void look(const scheduling::Scheduler& scheduler, explain::DecisionSink& sink, Time now) {
    if (looked_at_.is_set() && now - looked_at_ < kFiguresPeriod) return;
    looked_at_ = now;
    if (scheduler.cluster().ledger().holds().empty() && reported_.total == 0) return;
    scheduling::HeldRooms rooms = scheduler.held_rooms();
    if (rooms == reported_) return;
    reported_ = rooms;
    sink.hold(std::move(rooms));
  }

 private:
  Time looked_at_;
  scheduling::HeldRooms reported_;
};

// Passes on what the scheduler's engine has written.
class WriteReport {
 public:
  void look(const engine::EffectExecutorCounters& counters, explain::DecisionSink& sink) {
    const explain::WriteCounts now{counters.accepted, counters.conflicts + counters.refused + counters.lost};
    if (now == reported_) return;
    sink.add_writes({now.accepted - reported_.accepted, now.failed - reported_.failed});
    reported_ = now;
  }

 private:
  explain::WriteCounts reported_;
};

}  // namespace

plane::ControlPlaneOptions plane_options(const Configuration& configuration, const Plugins& plugins) {
  plane::ControlPlaneOptions options;
  options.scheduler_names = configuration.scheduler_names;
  options.controller_names = configuration.controllers;
  options.simulated = {configuration.simulated_job_duration, configuration.simulated_termination};
  if (configuration.bind_requests == "WhenWaiting") options.bind_requests = plane::BindRequests::WhenWaiting;
  options.writes_in_flight_max = static_cast<std::size_t>(configuration.writes_in_flight_max);
  options.scheduling.device_scoring =
      dra::device_scoring_of(configuration.device_scoring).value_or(options.scheduling.device_scoring);
  options.scheduling.victim_scoring =
      placement::victim_scoring_of(configuration.victim_scoring).value_or(options.scheduling.victim_scoring);
  options.scheduling.defragmentation = defragmentation_settings(configuration);
  options.scheduling.plugins = plugins.scheduler;
  options.scheduling.profiles = configuration.kube_scheduler.profiles;
  options.scheduling.backoff = {configuration.kube_scheduler.backoff_first,
                                configuration.kube_scheduler.backoff_max};
  options.scheduling.cool_down = configuration.cool_down;
  options.scheduling.overtaking_limit = configuration.overtaking_limit;
  if (configuration.backoff_limit != api::kBackoffLimitDefault)
    options.scheduling.backoff_limit = static_cast<std::int32_t>(configuration.backoff_limit);
  options.binding.binding_timeout = configuration.binding_timeout;
  options.binding.volume_timeout = configuration.volume_timeout;
  options.binding.gang_timeout = configuration.gang_timeout;
  options.binding.retry_base = configuration.retry_base;
  options.binding.retry_cap = configuration.retry_cap;
  options.binding.benign_failure_conditions = configuration.benign_failure_conditions;
  options.binding.lease_namespace = configuration.lease_namespace;
  options.binding.gpu_sharing = configuration.gpu_sharing;
  if (configuration.gpu_reservations == "Pods")
    options.binding.gpu_reservations = binding::GpuReservations::Pods;
  options.binding.gpu_reservation_image = configuration.gpu_reservation_image;
  options.binding.gpu_reservation_timeout = configuration.gpu_reservation_timeout;
  options.binding.registry = plugins.binder;
  options.binding.plugins = configuration.binder_plugins;
  return options;
}

Result<std::unique_ptr<const binding::PodAdmission>> pod_admission(
    const plane::ControlPlaneOptions& options) {
  auto admission = binding::PodAdmission::make(options.binding, options.scheduler_names);
  if (!admission) return Error(ErrorCode::Invalid, "--binder-plugins", admission.error().message());
  return admission;
}

health::HealthTiming health_timing(const Configuration& configuration) {
  return {configuration.health_timeout, configuration.stream_retry_base, configuration.stream_retry_max};
}

struct ControlPlaneLoops::Parts {
  Parts(client::ApiClient& client, const Clock& clock, const api::Gates& gates,
        const plane::ControlPlaneOptions& options, explain::DecisionSink* decisions)
      : history(decisions),
        profile(options.scheduler_names.front()),
        binds(options.binder),
        scheduler_shown(clock),
        binder_shown(clock),
        timer(client, clock),
        plane(timer, gates, with_log(options, history)) {}

  explain::DecisionHistory history;
  const std::string profile;
  const bool binds;
  Shown<SchedulerFigures> scheduler_shown;
  Shown<BinderFigures> binder_shown;
  TermDoubtLog term_doubts;   // of the thread that steps the binder
  HeldRoomReport held_rooms;  // of the scheduler's thread
  WriteReport writes;         // the same
  client::WriteTimer timer;
  plane::ControlPlane plane;
  std::unique_ptr<engine::Loop> scheduling;
  std::unique_ptr<engine::Loop> controllers;
  std::unique_ptr<engine::Loop> observing;
};

ControlPlaneLoops::ControlPlaneLoops(client::ApiClient& client, const Clock& clock, const api::Gates& gates,
                                     plane::ControlPlaneOptions options,
                                     std::optional<client::Leadership> leadership,
                                     explain::DecisionSink* decisions)
    : parts_(std::make_unique<Parts>(client, clock, gates, options, decisions)) {
  Parts& parts = *parts_;
  parts.plane.lead(leadership ? engine::Leading::Yes : engine::Leading::No,
                   leadership.value_or(client::Leadership{}));
  const auto report = [&parts, &clock, decisions](const engine::Engine& scheduling) {
    if (!decisions) return;
    parts.held_rooms.look(parts.plane.scheduler(), *decisions, clock.monotonic());
    parts.writes.look(scheduling.write_counters(), *decisions);
    if (const auto times = parts.timer.take()) decisions->add_write_times(*times);
  };
  const auto show_binder = [&parts, &clock](const engine::Engine* engine) {
    if (engine != parts.plane.binding()) return;
    parts.term_doubts.look(parts.plane.binder()->term_doubts(), clock.monotonic());
    parts.binder_shown.refresh([&] { return figures_of(engine->view(), *parts.plane.binder()); });
  };
  if (engine::Engine* engine = parts.plane.scheduling()) {
    parts.scheduling = std::make_unique<engine::Loop>(
        *engine, clock, "berth-scheduler", [&parts, show_binder, report, engine] {
          parts.history.flush();
          report(*engine);
          parts.scheduler_shown.refresh(
              [&] { return figures_of(parts.plane.queue(), parts.plane.decisions()); });
          show_binder(engine);
        });
  }
  if (engine::Engine* engine = parts.plane.controllers())
    parts.controllers =
        std::make_unique<engine::Loop>(*engine, clock, "berth-control", [=] { show_binder(engine); });
  if (engine::Engine* engine = parts.plane.observing())
    parts.observing = std::make_unique<engine::Loop>(*engine, clock, "berth-observer");
  parts.plane.start();
}

ControlPlaneLoops::~ControlPlaneLoops() {
  stop(Duration());
}

bool ControlPlaneLoops::synced() const {
  return (!parts_->scheduling || parts_->scheduling->synced()) &&
         (!parts_->controllers || parts_->controllers->synced());
}

void ControlPlaneLoops::lead(client::Leadership leadership) {
  parts_->plane.lead(engine::Leading::Yes, leadership);
}

void ControlPlaneLoops::write_metrics(MetricsText& text) const {
  std::vector<LoopFigures> loops;
  if (parts_->scheduling) loops.push_back({"scheduler", parts_->scheduling->counters()});
  if (parts_->controllers) loops.push_back({"controllers", parts_->controllers->counters()});
  cli::write_metrics(loops, text);
  if (parts_->scheduling) cli::write_metrics(parts_->scheduler_shown.figures(), parts_->profile, text);
  if (parts_->binds) cli::write_metrics(parts_->binder_shown.figures(), text);
}

std::optional<std::string> ControlPlaneLoops::page(std::string_view path) const {
  if (!parts_->scheduling) return std::nullopt;
  return explain::decision_page(parts_->history, path);
}

void ControlPlaneLoops::remember(std::string_view decisions) {
  parts_->history.remember(decisions);
}

void ControlPlaneLoops::stop(Duration grace) {
  for (auto* loop : {&parts_->scheduling, &parts_->controllers, &parts_->observing})
    if (*loop) (*loop)->stop(grace);
  parts_->plane.stop_watching();
}

}  // namespace berth::cli
