#include "cli/node_guest.h"

#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <mutex>
#include <thread>

#include "api/metric_table.h"
#include "base/log.h"
#include "cli/control_plane.h"
#include "cli/plane_metrics.h"
#include "cli/server_options.h"
#include "cli/status_server.h"
#include "cli/version.h"
#include "client/https_client.h"
#include "health/node_agents.h"
#include "health/report_publisher.h"

namespace berth::cli {
namespace {

constexpr Duration kSleepMax = Duration::seconds(10);
constexpr Duration kStartPeriod = Duration::millis(500);

// Carries a publisher's requests, on a thread of its own.
class Publication {
 public:
  // All outlive it.
  Publication(std::string node, client::ApiClient& client, health::HealthFeed& feed, const Clock& wall,
              const Clock& machine)
      : node_(std::move(node)),
        client_(client),
        feed_(feed),
        wall_(wall),
        machine_(machine),
        publisher_(node_),
        inbox_(std::make_shared<Inbox>()) {
    feed_.on_change([inbox = inbox_](const std::string&) {
      const std::lock_guard lock(inbox->mutex);
      inbox->changed = true;
      inbox->wake.notify_one();
    });
    thread_ = std::thread([this] { run(); });
  }
  ~Publication() {
    feed_.on_change({});
    {
      const std::lock_guard lock(inbox_->mutex);
      inbox_->stopping = true;
      inbox_->wake.notify_one();
    }
    thread_.join();
  }
  bool published() const { return published_; }

 private:
  // An answer may come after the end.
  struct Inbox {
    std::mutex mutex;
    std::condition_variable wake;
    std::deque<client::ApiReply> replies;  // one at most: one request is under way
    bool changed = true, stopping = false;
  };

  void run() {
    for (;;) {
      const Duration pause = pause_until(publisher_.next_wake());
      std::unique_lock lock(inbox_->mutex);
      inbox_->wake.wait_for(lock, std::chrono::microseconds(pause.micros()), [this] {
        return inbox_->stopping || inbox_->changed || !inbox_->replies.empty();
      });
      if (inbox_->stopping) return;
      const bool changed = std::exchange(inbox_->changed, false);
      const std::deque<client::ApiReply> replies = std::exchange(inbox_->replies, {});
      lock.unlock();
      for (const client::ApiReply& reply : replies) take(reply);
      if (changed)
        if (const auto health = feed_.latest(node_)) publisher_.observe(*health, wall_.now());
      send();
    }
  }

  Duration pause_until(const std::optional<Time>& at) const {
    if (!at) return kSleepMax;
    const Time now = machine_.monotonic();
    return *at <= now ? Duration() : std::min(kSleepMax, *at - now);
  }

  void send() {
    std::optional<client::ApiRequest> request = publisher_.next_request(wall_.now(), machine_.monotonic());
    if (!request) return;
    client_.submit(std::move(*request), [inbox = inbox_](client::ApiReply reply) {
      const std::lock_guard lock(inbox->mutex);
      inbox->replies.push_back(std::move(reply));
      inbox->wake.notify_one();
    });
  }

  void take(const client::ApiReply& reply) {
    const std::string before = publisher_.trouble();
    publisher_.answered(reply, machine_.monotonic());
    published_ = publisher_.published();
    if (!publisher_.trouble().empty() && publisher_.trouble() != before)
      log(LogLevel::Warning, "the node's report is not written",
          {{"node", node_}, {"cause", publisher_.trouble()}});
  }

  const std::string node_;
  client::ApiClient& client_;
  health::HealthFeed& feed_;
  const Clock &wall_, &machine_;
  health::ReportPublisher publisher_;
  std::atomic<bool> published_ = false;
  const std::shared_ptr<Inbox> inbox_;
  std::thread thread_;
};

// Releases the read-only pages of one loaded object: they are unchanged copies of its file.
int release_pages(dl_phdr_info* object, std::size_t, void*) {
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  for (int n = 0; n < object->dlpi_phnum; ++n) {
    const auto& segment = object->dlpi_phdr[n];
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W) != 0) continue;
    const std::uintptr_t begin = (object->dlpi_addr + segment.p_vaddr) & ~(page - 1);
    const std::uintptr_t end =
        (object->dlpi_addr + segment.p_vaddr + segment.p_memsz + page - 1) & ~(page - 1);
    ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
  }
  return 0;
}

// The program is large and an agent needs little of it once it has started; the kernel maps 64 KiB around
// every page that was touched, and keeps them resident. What is needed comes back from the page cache.
void release_start_up_pages() {
  ::dl_iterate_phdr(release_pages, nullptr);
}

std::string guest_metrics(const client::RefusedRequests& refusals, const SteadyClock& clock) {
  MetricsText text;
  write_metrics(refusals, text);
  text.family(api::family_of(api::Metric::ClockOffset));
  const std::int64_t ahead_ms = clock.offset().millis();
  text.sample({"ahead"}, static_cast<std::uint64_t>(std::max<std::int64_t>(ahead_ms, 0)));
  text.sample({"behind"}, static_cast<std::uint64_t>(std::max<std::int64_t>(-ahead_ms, 0)));
  return text.take();
}

}  // namespace

Status run_node_guest(const Configuration& config, const StopSignal& stop) {
  const SystemClock machine;
  SteadyClock clock(machine);
  client::ServerTime server_time(clock);
  const client::ClusterAccess access =
      TRY(client::read_kubeconfig(config.kubeconfig, "", client::KubeEnvironment::of_process()));
  client::HttpFetcherOptions http;
  http.user_agent = std::string("berth-node-agent/") + kBerthVersion;
  const std::unique_ptr<client::ApiClient> https =
      TRY(client::make_https_client(access, http, machine, {}, &server_time));
  const auto refusals = std::make_shared<client::RefusedRequests>(machine);
  client::RefusalReporter client(*https, refusals);
  const std::string folder =
      config.nodes_directory.empty() ? state_directory() + "/nodes" : config.nodes_directory;
  health::HealthFeed feed;
  const std::unique_ptr<health::NodeAgents> agent =
      TRY(health::NodeAgents::start({folder,
                                     {config.node},
                                     health_timing(config),
                                     health::NodeRole::BesideKubelet,
                                     config.kubelet_directory},
                                    feed, machine));
  Publication publication(config.node, client, feed, clock, machine);
  const std::unique_ptr<StatusServer> pages =
      TRY(StatusServer::open(config.listen,
                             {.ready = [&publication] { return publication.published(); },
                              .refused = [refusals] { return refusals->standing(); },
                              .metrics = [&] { return guest_metrics(*refusals, clock); },
                              .pages = [](std::string_view) { return std::optional<std::string>(); }},
                             *https, machine));
  std::printf("The node-agent works on %s, next to the kubelet of %s; health and metrics are on %s\n",
              access.server.c_str(), config.kubelet_directory.c_str(), pages->url().c_str());
  std::fflush(stdout);
  bool stopped = false;
  while (!stopped && !publication.published()) stopped = stop.wait_for(kStartPeriod);
  release_start_up_pages();
  if (!stopped) stop.wait();
  log(LogLevel::Info, "stopping");
  return {};
}

}  // namespace berth::cli
