#include "sim/process.h"

#include <algorithm>

#include "client/lease_fence.h"

namespace berth::sim {
namespace {

// Longer than the product's own: fewer writes an hour of virtual time. Only their order matters.
constexpr Duration kLease = Duration::seconds(45);
constexpr Duration kRenewDeadline = Duration::seconds(30);
constexpr Duration kRetry = Duration::seconds(8);
constexpr Duration kPoll = Duration::millis(500);             // the product polls every 100 ms
constexpr Duration kPollAfterWaking = Duration::millis(100);  // a resumed leader may work for that long
constexpr Duration kRestart = Duration::seconds(2);
constexpr Duration kRestartMax = Duration::seconds(8);
constexpr Duration kWakeMin = Duration::millis(1);  // between two wake-ups of a process

}  // namespace

struct Process::Incarnation {
  static plane::ControlPlaneOptions parts_of(const ProcessOptions& options, int number) {
    plane::ControlPlaneOptions parts = options.parts;
    if (options.lease.empty()) parts.process = std::to_string(number);
    return parts;
  }
  Incarnation(ProcessNetwork& network, const api::Gates& gates, const ProcessOptions& options, int number)
      : client(network),
        clock(network.shared.events),
        fence(std::make_shared<client::LeaseFence>(clock)),
        fenced(client, fence),
        plane(options.lease.empty() ? static_cast<client::ApiClient&>(client) : fenced, gates,
              parts_of(options, number)) {
    if (options.lease.empty()) return;
    client::ElectionOptions election_options;
    election_options.name = options.lease;
    election_options.identity = options.name + "_" + std::to_string(number);
    election_options.lease = kLease;
    election_options.renew_deadline = kRenewDeadline;
    election_options.retry = kRetry;
    election.emplace(election_options);
  }

  HostileClient client;
  WorldClock clock;
  std::shared_ptr<client::LeaseFence> fence;
  client::FencedClient fenced;
  plane::ControlPlane plane;
  std::optional<client::LeaderElection> election;
  bool leads = false;
  bool messages = true;  // or has not been stepped yet
  std::optional<Time> wake;
};

Process::Process(ProcessNetwork& network, const api::Gates& gates, ProcessOptions options)
    : network_(network), gates_(gates), options_(std::move(options)), clock_ahead_(options_.clock_ahead) {}

Process::~Process() = default;

void Process::start() {
  if (incarnation_) return;
  paused_ = false;
  incarnation_ = std::make_shared<Incarnation>(network_, gates_, options_, ++starts_);
  for (engine::Engine* engine : {incarnation_->plane.scheduling(), incarnation_->plane.controllers()})
    if (engine) engine->on_message([of = incarnation_.get()] { of->messages = true; });
  lead(incarnation_->election ? engine::Leading::No : engine::Leading::Yes);
  incarnation_->plane.start();
  if (incarnation_->election) poll_lease();
}

// The only place that tells a control plane whether it leads.
void Process::lead(engine::Leading leading) {
  incarnation_->leads = leading == engine::Leading::Yes;
  incarnation_->messages = true;
  client::Leadership leadership;
  if (incarnation_->election && incarnation_->leads) leadership = incarnation_->election->term();
  incarnation_->plane.lead(leading, leadership);
}

void Process::kill() {
  paused_ = false;
  incarnation_.reset();
}

void Process::stop() {
  if (!incarnation_) return;
  if (incarnation_->election)
    if (auto request = incarnation_->election->release(own_time(), network_.shared.events.now()))
      incarnation_->client.submit(*std::move(request), [](client::ApiReply) {});
  kill();
}

void Process::pause() {
  if (!incarnation_ || paused_) return;
  paused_ = true;
  incarnation_->client.pause();
}

void Process::resume() {
  if (!incarnation_ || !paused_) return;
  paused_ = false;
  ++resumes_;
  incarnation_->messages = true;
  incarnation_->client.resume();
  if (!incarnation_->election) return;
  network_.shared.events.after(kPollAfterWaking, [this, of = std::weak_ptr(incarnation_)] {
    if (of.lock() == incarnation_ && incarnation_ && !paused_) poll_lease();
  });
}

plane::ControlPlane* Process::plane() {
  return incarnation_ ? &incarnation_->plane : nullptr;
}

bool Process::leads() const {
  return incarnation_ && incarnation_->leads;
}

void Process::poll_lease() {
  Incarnation& now = *incarnation_;
  const Time monotonic = network_.shared.events.now();
  if (std::optional<client::ApiRequest> request = now.election->next_request(own_time(), monotonic))
    send(*std::move(request));
  const bool leads_now = now.election->leads(monotonic);
  if (leads_now && !now.leads) lead(engine::Leading::Yes);
  if (!leads_now && now.leads) {
    network_.note(FaultClass::LeaseLost);
    kill();
    const std::uint64_t chance = chance_of(network_.shared.seed, options_.name + "/restart", starts_);
    network_.shared.events.after(span_of(chance, kRestart, kRestartMax), [this] { start(); });
    return;
  }
  schedule_poll();
}

void Process::schedule_poll() {
  network_.shared.events.after(kPoll, [this, of = std::weak_ptr(incarnation_), number = starts_] {
    if (!incarnation_ || of.lock() != incarnation_ || number != starts_) return;
    if (paused_)
      schedule_poll();
    else
      poll_lease();
  });
}

void Process::send(client::ApiRequest request) {
  incarnation_->client.submit(std::move(request),
                              [this, of = std::weak_ptr(incarnation_)](const client::ApiReply& reply) {
                                const auto still = of.lock();
                                if (!still || still != incarnation_) return;
                                still->election->answered(reply, network_.shared.events.now());
                                if (still->election->leads(network_.shared.events.now()))
                                  still->fence->open_until(still->election->deadline());
                              });
}

bool Process::step() {
  if (!incarnation_ || paused_) return false;
  const std::optional<Time> wake = next_wake();
  if (!incarnation_->messages && (!wake || *wake > network_.shared.events.now())) return false;
  incarnation_->messages = false;
  std::size_t steps = 0;
  while (incarnation_->plane.step(own_time()))
    BERTH_ASSERT(++steps < kProcessStepsMax, "a process comes to rest at every moment");
  incarnation_->wake = incarnation_->plane.next_wake();
  const Time soonest = own_time() + kWakeMin;
  if (incarnation_->wake) incarnation_->wake = std::max(*incarnation_->wake, soonest);
  return true;
}

std::optional<Time> Process::next_wake() const {
  if (!incarnation_ || paused_ || !incarnation_->wake) return std::nullopt;
  return *incarnation_->wake - clock_ahead_;
}

}  // namespace berth::sim
