#include "client/http_fetch.h"

#include <curl/curl.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

namespace berth::client {
namespace {

constexpr Duration kTokenFileAge = Duration::seconds(60);  // rotated tokens overlap for longer than that
constexpr Duration kPollLongest = Duration::seconds(1);
// libcurl may hold bytes of one HTTP/2 stream that came with another's, and does not wake up for them.
constexpr Duration kPollLongestUnderWay = Duration::millis(10);
constexpr long kTcpKeepAliveSeconds = 30;
constexpr const char* kForbidden = "this process does not lead any more";

// Of these libcurl failures it is certain that no request left.
constexpr CURLcode kNotSent[] = {
    CURLE_UNSUPPORTED_PROTOCOL, CURLE_URL_MALFORMAT,      CURLE_COULDNT_RESOLVE_PROXY,
    CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_CONNECT,    CURLE_SSL_CONNECT_ERROR,
    CURLE_SSL_CERTPROBLEM,      CURLE_SSL_CACERT_BADFILE, CURLE_PEER_FAILED_VERIFICATION,
};

struct FreeEasy {
  void operator()(CURL* easy) const { curl_easy_cleanup(easy); }
};
struct FreeMulti {
  void operator()(CURLM* multi) const { curl_multi_cleanup(multi); }
};
struct FreeList {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
using List = std::unique_ptr<curl_slist, FreeList>;

void append(List& list, const std::string& line) {
  curl_slist* grown = curl_slist_append(list.get(), line.c_str());
  if (!grown) return;
  (void)list.release();
  list.reset(grown);
}

bool is_https(std::string_view url) {
  return url.starts_with("https://");
}

// "host:port" of an URL.
std::string_view authority_of(std::string_view url) {
  url.remove_prefix(std::min(url.size(), url.find("://") + 3));
  return url.substr(0, url.find('/'));
}

bool is_loopback(std::string_view authority) {
  return authority.starts_with("127.") || authority.starts_with("localhost") ||
         authority.starts_with("[::1]");
}

curl_blob blob_of(const std::string& text) {
  return {.data = const_cast<char*>(text.data()), .len = text.size(), .flags = CURL_BLOB_NOCOPY};
}

// One request on its way; lives until its last callback.
struct Job {
  HttpFetch fetch;
  std::function<void(HttpReply)> done;    // of a fetch
  std::optional<StreamCallbacks> stream;  // of a stream
  HttpFetcher::StreamId id = 0;
  HttpReply reply;
  std::size_t body_sent = 0;
  std::size_t header_bytes = 0;
  bool told_status = false;
  bool too_large = false;
  bool forbidden = false;  // its permit was not granted when it was about to leave
  const Clock* clock = nullptr;
  Time last_heard;
  List headers;
  List connect_to;
  std::array<char, CURL_ERROR_SIZE> trouble{};
  std::unique_ptr<CURL, FreeEasy> easy;
};

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + ('a' - 'A'));
  return out;
}

std::string_view without_space(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

std::size_t on_header(char* bytes, std::size_t, std::size_t size, void* user) {
  Job& job = *static_cast<Job*>(user);
  const std::string_view line(bytes, size);
  job.last_heard = job.clock->monotonic();
  job.header_bytes += size;
  if (job.header_bytes > kReplyHeaderBytesMax) {
    job.too_large = true;
    return 0;
  }
  if (line.starts_with("HTTP/")) {
    job.reply.headers.clear();
    return size;
  }
  const std::size_t colon = line.find(':');
  if (colon != std::string_view::npos)
    job.reply.headers.emplace_back(lower(line.substr(0, colon)), without_space(line.substr(colon + 1)));
  if (!without_space(line).empty()) return size;
  job.reply.headed_at = job.last_heard;
  long status = 0;
  curl_easy_getinfo(job.easy.get(), CURLINFO_RESPONSE_CODE, &status);
  if (status < 200) return size;
  job.reply.status = static_cast<int>(status);
  if (job.stream && !std::exchange(job.told_status, true))
    job.stream->on_status(job.reply.status, job.reply.headers);
  return size;
}

std::size_t on_body(char* bytes, std::size_t, std::size_t size, void* user) {
  Job& job = *static_cast<Job*>(user);
  if (job.stream) {
    job.last_heard = job.clock->monotonic();
    job.stream->on_bytes({bytes, size});
    return size;
  }
  if (job.reply.body.size() + size > kReplyBytesMax) {
    job.too_large = true;
    return 0;
  }
  job.reply.body.append(bytes, size);
  return size;
}

bool may_leave(Job& job) {
  job.forbidden |= job.fetch.permit && !job.fetch.permit->granted();
  return !job.forbidden;
}

// The connection stands, new or kept, and nothing of the request has been written.
int on_connected(void* user, char*, char*, int, int) {
  return may_leave(*static_cast<Job*>(user)) ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT;
}

// There is no seek function on purpose: libcurl then cannot send a body twice when a kept connection dies,
// which for a write whose answer was lost would be a second write.
std::size_t give_body(char* room, std::size_t, std::size_t size, void* user) {
  Job& job = *static_cast<Job*>(user);
  if (job.body_sent == 0 && !may_leave(job)) return CURL_READFUNC_ABORT;
  const std::size_t count = std::min(size, job.fetch.body.size() - job.body_sent);
  std::memcpy(room, job.fetch.body.data() + job.body_sent, count);
  job.body_sent += count;
  return count;
}

// A kept connection that dies unanswered is followed by a second attempt, whose failure alone libcurl tells;
// a body that was begun by then stays begun.
Delivery delivery_of(CURLcode code, const Job& job) {
  if (job.body_sent > 0) return Delivery::Lost;
  if (job.forbidden) return Delivery::NotSent;
  if (std::find(std::begin(kNotSent), std::end(kNotSent), code) != std::end(kNotSent))
    return Delivery::NotSent;
  long request_bytes = 0;
  curl_easy_getinfo(job.easy.get(), CURLINFO_REQUEST_SIZE, &request_bytes);
  return request_bytes == 0 ? Delivery::NotSent : Delivery::Lost;
}

void finish(Job& job, Delivery delivery, std::string trouble) {
  if (job.stream) {
    job.stream->on_end(std::move(trouble));
    return;
  }
  job.reply.delivery = delivery;
  if (delivery != Delivery::Answered) {
    job.reply.status = 0;
    job.reply.headers.clear();
    job.reply.body.clear();
  }
  job.reply.trouble = std::move(trouble);
  if (const std::string_view date = job.reply.header("date"); !date.empty())
    if (const time_t seconds = curl_getdate(std::string(date).c_str(), nullptr); seconds >= 0)
      job.reply.date = Time::from_seconds(seconds);
  job.done(std::move(job.reply));
}

}  // namespace

// The thread with libcurl's multi handle, and the queue in front of it.
class HttpFetcher::Loop {
 public:
  Loop(ClusterAccess access, HttpFetcherOptions options, const Clock& clock)
      : access_(std::move(access)), options_(std::move(options)), clock_(clock) {}
  ~Loop() { stop(); }

  Status start();
  void stop();
  void submit(std::unique_ptr<Job> job);
  StreamId stream(std::unique_ptr<Job> job);
  void cancel(StreamId id);
  void after(Duration pause, std::function<void()> callback);

 private:
  void run();
  void wake_up(std::unique_lock<std::mutex> lock);
  bool take_work();
  void begin(std::unique_ptr<Job> job);
  void set_up(Job& job);
  void set_up_method(Job& job);
  void set_up_target(Job& job);
  void set_up_trust(Job& job);
  void add_credentials(Job& job);
  void collect();
  void end_silent_streams();
  void call_due_timers();
  std::unique_ptr<Job> take_out(CURL* easy);
  void end_all();
  int poll_millis();

  const ClusterAccess access_;
  const HttpFetcherOptions options_;
  const Clock& clock_;
  std::unique_ptr<CURLM, FreeMulti> multi_;

  std::mutex mutex_;  // guards what follows, up to the thread's own
  std::deque<std::unique_ptr<Job>> waiting_;
  std::deque<std::unique_ptr<Job>> new_streams_;
  std::vector<StreamId> cancelled_;
  std::multimap<Time, std::function<void()>> timers_;  // by when they are due, monotonic
  StreamId next_id_ = 1;
  std::size_t stream_count_ = 0;
  bool stopping_ = false;
  bool woken_ = false;  // since the thread looked here last

  std::map<CURL*, std::unique_ptr<Job>> under_way_;  // the thread's own
  std::map<StreamId, CURL*> streams_;
  std::string token_;
  Time token_read_;
  std::thread thread_;
};

Status HttpFetcher::Loop::start() {
  static const CURLcode global = curl_global_init(CURL_GLOBAL_DEFAULT);
  multi_.reset(global == CURLE_OK ? curl_multi_init() : nullptr);
  if (!multi_) return Error(ErrorCode::Internal, "libcurl cannot be initialised");
  curl_multi_setopt(multi_.get(), CURLMOPT_PIPELINING, static_cast<long>(CURLPIPE_MULTIPLEX));
  curl_multi_setopt(multi_.get(), CURLMOPT_MAXCONNECTS, static_cast<long>(kFetchesUnderWayMax));
  thread_ = std::thread([this] { run(); });
  return {};
}

void HttpFetcher::Loop::stop() {
  if (!thread_.joinable()) return;
  {
    std::unique_lock lock(mutex_);
    stopping_ = true;
    wake_up(std::move(lock));
  }
  thread_.join();
}

// Once is enough until the thread has looked: a wake-up is two system calls.
void HttpFetcher::Loop::wake_up(std::unique_lock<std::mutex> lock) {
  if (std::exchange(woken_, true)) return;
  lock.unlock();
  curl_multi_wakeup(multi_.get());
}

void HttpFetcher::Loop::submit(std::unique_ptr<Job> job) {
  std::unique_lock lock(mutex_);
  if (stopping_ || waiting_.size() >= kFetchesQueuedMax) {
    lock.unlock();
    return finish(*job, Delivery::NotSent, "the queue of requests is full");
  }
  waiting_.push_back(std::move(job));
  wake_up(std::move(lock));
}

HttpFetcher::StreamId HttpFetcher::Loop::stream(std::unique_ptr<Job> job) {
  std::unique_lock lock(mutex_);
  const StreamId id = next_id_++;
  job->id = id;
  if (stopping_ || stream_count_ >= kFetchStreamsMax) {
    lock.unlock();
    finish(*job, Delivery::NotSent, "too many streams are open");
    return id;
  }
  ++stream_count_;
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

void HttpFetcher::Loop::run() {
  while (take_work()) {
    int running = 0;
    curl_multi_perform(multi_.get(), &running);
    collect();
    end_silent_streams();
    call_due_timers();
    curl_multi_poll(multi_.get(), nullptr, 0, poll_millis(), nullptr);
  }
  end_all();
}

// Begins what waits, ends what was cancelled. False when it is time to stop.
bool HttpFetcher::Loop::take_work() {
  std::deque<std::unique_ptr<Job>> begun;
  std::vector<StreamId> cancelled;
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return false;
    woken_ = false;
    begun.swap(new_streams_);
    cancelled.swap(cancelled_);
    const std::size_t fetches = under_way_.size() - streams_.size();
    for (std::size_t free = kFetchesUnderWayMax - fetches; free > 0 && !waiting_.empty(); --free) {
      begun.push_back(std::move(waiting_.front()));
      waiting_.pop_front();
    }
  }
  for (std::unique_ptr<Job>& job : begun) begin(std::move(job));
  for (const StreamId id : cancelled) {
    const auto found = streams_.find(id);
    if (found == streams_.end()) continue;
    const std::unique_ptr<Job> job = take_out(found->second);
    finish(*job, Delivery::Lost, "cancelled");
  }
  return true;
}

void HttpFetcher::Loop::begin(std::unique_ptr<Job> job) {
  if (!may_leave(*job)) return finish(*job, Delivery::NotSent, kForbidden);
  job->easy.reset(curl_easy_init());
  CURL* const easy = job->easy.get();
  set_up(*job);
  if (job->stream) streams_.emplace(job->id, easy);
  curl_multi_add_handle(multi_.get(), easy);
  under_way_.emplace(easy, std::move(job));
}

void HttpFetcher::Loop::set_up(Job& job) {
  CURL* const easy = job.easy.get();
  job.clock = &clock_;
  job.last_heard = job.reply.begun_at = clock_.monotonic();
  curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, job.trouble.data());
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  const bool shared = options_.connections == Connections::Shared;
  curl_easy_setopt(easy, CURLOPT_HTTP_VERSION,
                   static_cast<long>(shared ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1));
  // ALPN says whether a connection can be shared; over plain HTTP only its first answer would.
  if (shared && is_https(access_.server)) curl_easy_setopt(easy, CURLOPT_PIPEWAIT, 1L);
  curl_easy_setopt(easy, CURLOPT_USERAGENT, options_.user_agent.c_str());
  curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(options_.connect_timeout.millis()));
  if (!job.stream)
    curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, static_cast<long>(options_.reply_timeout.millis()));
  curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
  curl_easy_setopt(easy, CURLOPT_TCP_KEEPIDLE, kTcpKeepAliveSeconds);
  curl_easy_setopt(easy, CURLOPT_TCP_KEEPINTVL, kTcpKeepAliveSeconds / 2);
  curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, on_connected);
  curl_easy_setopt(easy, CURLOPT_PREREQDATA, &job);
  curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
  curl_easy_setopt(easy, CURLOPT_HEADERDATA, &job);
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, &job);
  set_up_method(job);
  set_up_target(job);
  set_up_trust(job);
  for (const auto& [name, value] : job.fetch.headers) append(job.headers, name + ": " + value);
  append(job.headers, "Expect:");  // a round trip for nothing: bodies are small
  add_credentials(job);
  curl_easy_setopt(easy, CURLOPT_HTTPHEADER, job.headers.get());
}

void HttpFetcher::Loop::set_up_method(Job& job) {
  CURL* const easy = job.easy.get();
  const std::string& method = job.fetch.method;
  if (!job.fetch.body.empty()) {
    curl_easy_setopt(easy, CURLOPT_UPLOAD, 1L);
    curl_easy_setopt(easy, CURLOPT_INFILESIZE_LARGE, static_cast<curl_off_t>(job.fetch.body.size()));
    curl_easy_setopt(easy, CURLOPT_READFUNCTION, give_body);
    curl_easy_setopt(easy, CURLOPT_READDATA, &job);
  } else if (method == "HEAD") {
    curl_easy_setopt(easy, CURLOPT_NOBODY, 1L);
  } else if (method != "GET") {
    // Without a body nothing stops libcurl from sending twice on a kept connection: so take none.
    curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, 1L);
  }
  if (method != "GET" && method != "HEAD") curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, method.c_str());
}

// With tls-server-name the URL carries that name (libcurl takes SNI and the name to verify from there) and
// the connection is led to the real host.
void HttpFetcher::Loop::set_up_target(Job& job) {
  CURL* const easy = job.easy.get();
  std::string url = access_.server;
  const std::string authority(authority_of(url));
  if (!access_.tls_server_name.empty() && is_https(url)) {
    const std::size_t colon = authority.rfind(':');
    const bool has_port = colon != std::string::npos && authority.find(']', colon) == std::string::npos;
    const std::string port = has_port ? authority.substr(colon + 1) : "443";
    const std::string host = has_port ? authority.substr(0, colon) : authority;
    url = "https://" + access_.tls_server_name + ":" + port +
          url.substr(url.find(authority) + authority.size());
    append(job.connect_to, "::" + host + ":" + port);
    append(job.headers, "Host: " + authority);
    curl_easy_setopt(easy, CURLOPT_CONNECT_TO, job.connect_to.get());
  }
  url += job.fetch.target;
  curl_easy_setopt(easy, CURLOPT_URL, url.c_str());
  curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L);
  if (!access_.proxy_url.empty())
    curl_easy_setopt(easy, CURLOPT_PROXY, access_.proxy_url.c_str());
  else if (is_loopback(authority))
    curl_easy_setopt(easy, CURLOPT_PROXY, "");
}

void HttpFetcher::Loop::set_up_trust(Job& job) {
  CURL* const easy = job.easy.get();
  curl_easy_setopt(easy, CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  if (access_.insecure_skip_tls_verify) {
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 0L);
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 0L);
  }
  const auto set_blob = [easy](CURLoption option, const std::string& pem) {
    if (pem.empty()) return;
    curl_blob blob = blob_of(pem);
    curl_easy_setopt(easy, option, &blob);
  };
  set_blob(CURLOPT_CAINFO_BLOB, access_.ca_pem);
  set_blob(CURLOPT_SSLCERT_BLOB, access_.client_certificate_pem);
  set_blob(CURLOPT_SSLKEY_BLOB, access_.client_key_pem);
}

void HttpFetcher::Loop::add_credentials(Job& job) {
  if (!is_https(access_.server)) return;
  if (!access_.token_file.empty()) {
    const Time now = clock_.monotonic();
    if (!token_read_.is_set() || now - token_read_ > kTokenFileAge) {
      Result<std::string> token = read_token_file(access_.token_file);
      if (token) token_ = std::move(*token);  // else the old one, which may still be good
      token_read_ = now;
    }
  }
  const std::string& token = access_.token_file.empty() ? access_.token : token_;
  if (!token.empty()) append(job.headers, "Authorization: Bearer " + token);
}

void HttpFetcher::Loop::collect() {
  int left = 0;
  while (const CURLMsg* message = curl_multi_info_read(multi_.get(), &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    const CURLcode code = message->data.result;
    const std::unique_ptr<Job> job = take_out(message->easy_handle);
    if (code == CURLE_OK) {
      finish(*job, Delivery::Answered, {});
      continue;
    }
    const Delivery delivery = delivery_of(code, *job);
    std::string trouble = job->forbidden    ? kForbidden
                          : job->too_large  ? "the answer is too large"
                          : job->trouble[0] ? job->trouble.data()
                                            : curl_easy_strerror(code);
    finish(*job, delivery, std::move(trouble));
  }
}

void HttpFetcher::Loop::end_silent_streams() {
  std::vector<CURL*> silent;
  const Time now = clock_.monotonic();
  for (const auto& [id, easy] : streams_)
    if (now - under_way_.at(easy)->last_heard > options_.stream_idle_timeout) silent.push_back(easy);
  for (CURL* const easy : silent) {
    const std::unique_ptr<Job> job = take_out(easy);
    finish(*job, Delivery::Lost, "nothing was heard for too long");
  }
}

std::unique_ptr<Job> HttpFetcher::Loop::take_out(CURL* easy) {
  const auto found = under_way_.find(easy);
  BERTH_ASSERT(found != under_way_.end(), "libcurl names only handles that it was given");
  std::unique_ptr<Job> job = std::move(found->second);
  under_way_.erase(found);
  curl_multi_remove_handle(multi_.get(), easy);
  if (!job->stream) return job;
  streams_.erase(job->id);
  const std::lock_guard lock(mutex_);
  --stream_count_;
  return job;
}

void HttpFetcher::Loop::end_all() {
  while (!under_way_.empty()) {
    const std::unique_ptr<Job> job = take_out(under_way_.begin()->first);
    finish(*job, Delivery::Lost, "stopped");
  }
  std::deque<std::unique_ptr<Job>> unsent;
  {
    const std::lock_guard lock(mutex_);
    unsent.swap(waiting_);
    for (std::unique_ptr<Job>& job : new_streams_) unsent.push_back(std::move(job));
    new_streams_.clear();
  }
  for (const std::unique_ptr<Job>& job : unsent) finish(*job, Delivery::NotSent, "stopped");
}

int HttpFetcher::Loop::poll_millis() {
  const bool may_hold_bytes = options_.connections == Connections::Shared && !under_way_.empty();
  Duration wait = may_hold_bytes ? kPollLongestUnderWay : kPollLongest;
  const Time now = clock_.monotonic();
  for (const auto& [id, easy] : streams_)
    wait = std::min(wait, under_way_.at(easy)->last_heard + options_.stream_idle_timeout - now);
  {
    const std::lock_guard lock(mutex_);
    const bool may_begin = under_way_.size() - streams_.size() < kFetchesUnderWayMax;
    if (may_begin && !waiting_.empty()) return 0;
    if (!timers_.empty()) wait = std::min(wait, timers_.begin()->first - now);
  }
  return static_cast<int>(std::max<std::int64_t>(wait.millis() + 1, 1));
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
  if (!access.server.starts_with("http://") && !is_https(access.server))
    return Error(ErrorCode::Invalid, access.server, "neither http:// nor https://");
  auto loop = std::make_unique<Loop>(std::move(access), std::move(options), clock);
  TRY(loop->start());
  return std::unique_ptr<HttpFetcher>(new HttpFetcher(std::move(loop)));
}

void HttpFetcher::submit(HttpFetch fetch, std::function<void(HttpReply)> done) {
  auto job = std::make_unique<Job>();
  job->fetch = std::move(fetch);
  job->done = std::move(done);
  loop_->submit(std::move(job));
}

HttpFetcher::StreamId HttpFetcher::stream(HttpFetch fetch, StreamCallbacks callbacks) {
  auto job = std::make_unique<Job>();
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
