#include "client/http_fetch.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <deque>
#include <map>
#include <mutex>
#include <thread>

#include "base/wake_pacer.h"
#include "client/curl_transfers.h"
#include "client/fetch_job.h"
#include "client/http2_client.h"

namespace berth::client {
namespace {

constexpr Duration kSleepLongest = Duration::seconds(60);

void rest(Duration time) {
  if (time <= Duration()) return;
  const timespec limit{0, static_cast<long>(time.micros() * 1000)};
  ::ppoll(nullptr, 0, &limit, nullptr);
}

}  // namespace

// The thread that moves the bytes, and the queue in front of it.
class HttpFetcher::Loop {
 public:
  Loop(ClusterAccess access, HttpFetcherOptions options, const Clock& clock)
      : access_(std::move(access)), options_(std::move(options)), clock_(clock), token_(access_) {}
  ~Loop() { stop(); }

  Status start();
  void stop();
  void submit(std::unique_ptr<FetchJob> job);
  StreamId stream(std::unique_ptr<FetchJob> job);
  void cancel(StreamId id);
  void after(Duration pause, std::function<void()> callback);

 private:
  void run();
  void wake_up(std::unique_lock<std::mutex> lock);
  bool wants_http2() const;
  std::size_t fetches() const { return transfers_->fetches() + (http2_ ? http2_->fetches() : 0); }
  bool take_work();
  void begin(std::unique_ptr<FetchJob> job);
  void work_over_http2();
  void call_due_timers();
  void sleep();
  Duration sleep_at_most();
  void end_all();

  const ClusterAccess access_;
  const HttpFetcherOptions options_;
  const Clock& clock_;

  std::mutex mutex_;  // guards what follows, up to the thread's own
  std::deque<std::unique_ptr<FetchJob>> waiting_;
  std::deque<std::unique_ptr<FetchJob>> new_streams_;
  std::vector<StreamId> cancelled_;
  std::multimap<Time, std::function<void()>> timers_;  // by when they are due, monotonic
  StreamId next_id_ = 1;
  std::size_t streams_begun_ = 0;  // those that were open when the thread looked here last
  bool stopping_ = false;
  bool asleep_ = false;  // the thread, or about to be

  int wake_file_ = -1;  // an eventfd
  BearerToken token_;   // the thread's own, as all that follows
  std::unique_ptr<CurlTransfers> transfers_;
  std::unique_ptr<Http2Client> http2_;  // null: fetches are transfers, too
  std::vector<pollfd> files_;           // wake_file_ and those of http2_
  WakePacer pacer_;
  std::thread thread_;
};

Status HttpFetcher::Loop::start() {
  transfers_ = TRY(CurlTransfers::open(access_, options_, clock_, token_));
  if (wants_http2()) http2_ = TRY(Http2Client::open(access_, options_, clock_, token_));
  wake_file_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (wake_file_ < 0) return Error(ErrorCode::Unavailable, "no eventfd: too many files are open");
  thread_ = std::thread([this] { run(); });
  return {};
}

// libcurl knows proxies, and which of the environment's are for this server.
bool HttpFetcher::Loop::wants_http2() const {
  const ServerUrl server = parse_server_url(access_.server);
  const bool has_proxy = !access_.proxy_url.empty() || (environment_names_proxy() && !server.is_loopback());
  return options_.connections == Connections::Shared && server.is_https && !has_proxy;
}

void HttpFetcher::Loop::stop() {
  if (thread_.joinable()) {
    std::unique_lock lock(mutex_);
    stopping_ = true;
    wake_up(std::move(lock));
    thread_.join();
  }
  if (wake_file_ >= 0) ::close(std::exchange(wake_file_, -1));
}

// A thread that is awake looks at the queue before it sleeps: only one that sleeps costs a system call.
void HttpFetcher::Loop::wake_up(std::unique_lock<std::mutex> lock) {
  if (!std::exchange(asleep_, false)) return;
  lock.unlock();
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(wake_file_, &one, sizeof one);
}

void HttpFetcher::Loop::submit(std::unique_ptr<FetchJob> job) {
  std::unique_lock lock(mutex_);
  if (stopping_ || waiting_.size() >= kFetchesQueuedMax) {
    lock.unlock();
    return finish(*job, Delivery::NotSent, "the queue of requests is full");
  }
  waiting_.push_back(std::move(job));
  wake_up(std::move(lock));
}

HttpFetcher::StreamId HttpFetcher::Loop::stream(std::unique_ptr<FetchJob> job) {
  std::unique_lock lock(mutex_);
  const StreamId id = next_id_++;
  job->id = id;
  if (stopping_ || streams_begun_ + new_streams_.size() >= kFetchStreamsMax) {
    lock.unlock();
    finish(*job, Delivery::NotSent, "too many streams are open");
    return id;
  }
  new_streams_.push_back(std::move(job));
  wake_up(std::move(lock));
  return id;
}

void HttpFetcher::Loop::cancel(StreamId id) {
  std::unique_lock lock(mutex_);
  cancelled_.push_back(id);
  wake_up(std::move(lock));
}

void HttpFetcher::Loop::after(Duration pause, std::function<void()> callback) {
  std::unique_lock lock(mutex_);
  if (stopping_) return;
  BERTH_ASSERT(timers_.size() < kFetchTimersMax, "each user of the fetcher keeps few timers");
  timers_.emplace(clock_.monotonic() + pause, std::move(callback));
  wake_up(std::move(lock));
}

void HttpFetcher::Loop::run() {
  while (take_work()) {
    if (http2_) work_over_http2();
    transfers_->perform();
    call_due_timers();
    sleep();
  }
  end_all();
}

// Begins what waits, ends what was cancelled. False when it is time to stop.
bool HttpFetcher::Loop::take_work() {
  std::deque<std::unique_ptr<FetchJob>> begun;
  std::vector<StreamId> cancelled;
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return false;
    asleep_ = false;
    streams_begun_ = transfers_->streams() + new_streams_.size();
    begun.swap(new_streams_);
    cancelled.swap(cancelled_);
    for (std::size_t free = kFetchesUnderWayMax - fetches(); free > 0 && !waiting_.empty(); --free) {
      begun.push_back(std::move(waiting_.front()));
      waiting_.pop_front();
    }
  }
  for (std::unique_ptr<FetchJob>& job : begun) begin(std::move(job));
  for (const StreamId id : cancelled) transfers_->cancel(id);
  return true;
}

void HttpFetcher::Loop::begin(std::unique_ptr<FetchJob> job) {
  if (http2_ && !job->stream) return http2_->begin(std::move(job));
  transfers_->begin(std::move(job));
}

void HttpFetcher::Loop::work_over_http2() {
  http2_->work(std::span(files_).subspan(std::min<std::size_t>(files_.size(), 1)));
  if (!http2_->is_http1()) return;
  for (std::unique_ptr<FetchJob>& job : http2_->take_waiting()) transfers_->begin(std::move(job));
  http2_.reset();
}

void HttpFetcher::Loop::call_due_timers() {
  std::vector<std::function<void()>> due;
  {
    const std::lock_guard lock(mutex_);
    const auto end = timers_.upper_bound(clock_.monotonic());
    for (auto it = timers_.begin(); it != end; ++it) due.push_back(std::move(it->second));
    timers_.erase(timers_.begin(), end);
  }
  for (const std::function<void()>& callback : due) callback();
}

void HttpFetcher::Loop::sleep() {
  rest(pacer_.spend(clock_.monotonic()));
  files_.assign(1, {.fd = wake_file_, .events = POLLIN, .revents = 0});
  if (http2_) http2_->append_files(files_);
  transfers_->wait(files_, sleep_at_most());
  if (!files_[0].revents) return;
  std::uint64_t count = 0;
  [[maybe_unused]] const ssize_t read = ::read(wake_file_, &count, sizeof count);
}

// From here on whoever brings work wakes the thread up.
Duration HttpFetcher::Loop::sleep_at_most() {
  const Time now = clock_.monotonic();
  Time until = now + kSleepLongest;
  if (const Time due = http2_ ? http2_->wakes_at() : Time(); due.is_set()) until = std::min(until, due);
  const std::lock_guard lock(mutex_);
  const bool may_begin = fetches() < kFetchesUnderWayMax && !waiting_.empty();
  if (stopping_ || may_begin || !new_streams_.empty() || !cancelled_.empty()) return Duration();
  asleep_ = true;
  if (!timers_.empty()) until = std::min(until, timers_.begin()->first);
  return until - now;
}

void HttpFetcher::Loop::end_all() {
  transfers_->end_all();
  if (http2_) http2_->end_all();
  std::deque<std::unique_ptr<FetchJob>> unsent;
  {
    const std::lock_guard lock(mutex_);
    unsent.swap(waiting_);
    for (std::unique_ptr<FetchJob>& job : new_streams_) unsent.push_back(std::move(job));
    new_streams_.clear();
  }
  for (const std::unique_ptr<FetchJob>& job : unsent) finish(*job, Delivery::NotSent, kStopped);
}

std::string_view HttpReply::header(std::string_view name) const {
  for (const auto& [key, value] : headers)
    if (key == name) return value;
  return {};
}

HttpFetcher::HttpFetcher(std::unique_ptr<Loop> loop) : loop_(std::move(loop)) {}
HttpFetcher::~HttpFetcher() {
  loop_->stop();
}

Result<std::unique_ptr<HttpFetcher>> HttpFetcher::open(ClusterAccess access, HttpFetcherOptions options,
                                                       const Clock& clock) {
  if (!access.server.starts_with("http://") && !access.server.starts_with("https://"))
    return Error(ErrorCode::Invalid, access.server, "neither http:// nor https://");
  auto loop = std::make_unique<Loop>(std::move(access), std::move(options), clock);
  TRY(loop->start());
  return std::unique_ptr<HttpFetcher>(new HttpFetcher(std::move(loop)));
}

void HttpFetcher::submit(HttpFetch fetch, std::function<void(HttpReply)> done) {
  auto job = std::make_unique<FetchJob>();
  job->fetch = std::move(fetch);
  job->done = std::move(done);
  loop_->submit(std::move(job));
}

HttpFetcher::StreamId HttpFetcher::stream(HttpFetch fetch, StreamCallbacks callbacks) {
  auto job = std::make_unique<FetchJob>();
  job->fetch = std::move(fetch);
  job->stream = std::move(callbacks);
  return loop_->stream(std::move(job));
}

void HttpFetcher::cancel(StreamId id) {
  loop_->cancel(id);
}

void HttpFetcher::after(Duration pause, std::function<void()> callback) {
  loop_->after(pause, std::move(callback));
}

}  // namespace berth::client
