#include "client/curl_transfers.h"

#include <curl/curl.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "client/url.h"

namespace berth::client {
namespace {

constexpr long kTcpKeepAliveSeconds = 30;
constexpr std::size_t kReadyMax = 64;  // sockets that one wait reports; the others stay ready

// Of these libcurl failures it is certain that no request left.
constexpr CURLcode kNotSent[] = {
    CURLE_UNSUPPORTED_PROTOCOL, CURLE_URL_MALFORMAT,      CURLE_COULDNT_RESOLVE_PROXY,
    CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_CONNECT,    CURLE_SSL_CONNECT_ERROR,
    CURLE_SSL_CERTPROBLEM,      CURLE_SSL_CACERT_BADFILE, CURLE_PEER_FAILED_VERIFICATION,
};

struct FreeEasy {
  void operator()(CURL* easy) const { curl_easy_cleanup(easy); }
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

std::string_view without_space(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

}  // namespace

struct CurlTransfers::Transfer {
  std::unique_ptr<FetchJob> job;
  const Clock* clock = nullptr;
  std::size_t reply_bytes_max = 0;
  Time last_heard;
  bool told_status = false;
  List headers;
  List connect_to;
  std::array<char, CURL_ERROR_SIZE> trouble{};
  std::unique_ptr<CURL, FreeEasy> easy;

  static std::size_t on_header(char* bytes, std::size_t, std::size_t size, void* user);
  static std::size_t on_body(char* bytes, std::size_t, std::size_t size, void* user);
  static int on_connected(void* user, char*, char*, int, int);
  static std::size_t on_body_wanted(char* room, std::size_t, std::size_t size, void* user);
  Delivery delivery_of(CURLcode code) const;
};

std::size_t CurlTransfers::Transfer::on_header(char* bytes, std::size_t, std::size_t size, void* user) {
  Transfer& transfer = *static_cast<Transfer*>(user);
  FetchJob& job = *transfer.job;
  const std::string_view line(bytes, size);
  transfer.last_heard = transfer.clock->monotonic();
  if (line.starts_with("HTTP/")) {
    job.reply.headers.clear();
    return size;
  }
  const std::size_t colon = line.find(':');
  if (colon != std::string_view::npos &&
      !add_header(job, line.substr(0, colon), without_space(line.substr(colon + 1))))
    return 0;
  if (!without_space(line).empty()) return size;
  job.reply.headed_at = transfer.last_heard;
  long status = 0;
  curl_easy_getinfo(transfer.easy.get(), CURLINFO_RESPONSE_CODE, &status);
  if (status < 200) return size;
  job.reply.status = static_cast<int>(status);
  if (job.stream && !std::exchange(transfer.told_status, true))
    job.stream->on_status(job.reply.status, job.reply.headers);
  return size;
}

std::size_t CurlTransfers::Transfer::on_body(char* bytes, std::size_t, std::size_t size, void* user) {
  Transfer& transfer = *static_cast<Transfer*>(user);
  FetchJob& job = *transfer.job;
  if (job.stream) {
    transfer.last_heard = transfer.clock->monotonic();
    job.stream->on_bytes({bytes, size});
    return size;
  }
  return add_body(job, {bytes, size}, transfer.reply_bytes_max) ? size : 0;
}

// The connection stands, new or kept, and nothing of the request has been written.
int CurlTransfers::Transfer::on_connected(void* user, char*, char*, int, int) {
  return may_leave(*static_cast<Transfer*>(user)->job) ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT;
}

// There is no seek function on purpose: libcurl then cannot send a body twice when a kept connection dies,
// which for a write whose answer was lost would be a second write.
std::size_t CurlTransfers::Transfer::on_body_wanted(char* room, std::size_t, std::size_t size, void* user) {
  FetchJob& job = *static_cast<Transfer*>(user)->job;
  const std::size_t given = give_body(job, room, size);
  return job.forbidden ? CURL_READFUNC_ABORT : given;
}

// A kept connection that dies unanswered is followed by a second attempt, whose failure alone libcurl tells;
// a body that was begun by then stays begun.
Delivery CurlTransfers::Transfer::delivery_of(CURLcode code) const {
  if (job->body_sent > 0) return Delivery::Lost;
  if (job->forbidden) return Delivery::NotSent;
  if (std::find(std::begin(kNotSent), std::end(kNotSent), code) != std::end(kNotSent))
    return Delivery::NotSent;
  long request_bytes = 0;
  curl_easy_getinfo(easy.get(), CURLINFO_REQUEST_SIZE, &request_bytes);
  return request_bytes == 0 ? Delivery::NotSent : Delivery::Lost;
}

void CurlTransfers::FreeMulti::operator()(void* multi) const {
  curl_multi_cleanup(multi);
}

CurlTransfers::CurlTransfers(const ClusterAccess& access, const HttpFetcherOptions& options,
                             const Clock& clock, BearerToken& token)
    : access_(access), options_(options), clock_(clock), token_(token) {}
CurlTransfers::~CurlTransfers() {
  under_way_.clear();
  multi_.reset();  // it takes its sockets out of epoll
  if (epoll_ >= 0) ::close(epoll_);
}

Result<std::unique_ptr<CurlTransfers>> CurlTransfers::open(const ClusterAccess& access,
                                                           const HttpFetcherOptions& options,
                                                           const Clock& clock, BearerToken& token) {
  static const CURLcode global = curl_global_init(CURL_GLOBAL_DEFAULT);
  std::unique_ptr<CurlTransfers> transfers(new CurlTransfers(access, options, clock, token));
  transfers->multi_.reset(global == CURLE_OK ? curl_multi_init() : nullptr);
  if (!transfers->multi_) return Error(ErrorCode::Internal, "libcurl cannot be initialised");
  transfers->epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
  if (transfers->epoll_ < 0) return Error(ErrorCode::Internal, "no epoll file can be opened");
  CURLM* const multi = transfers->multi_.get();
  curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, static_cast<long>(kFetchesUnderWayMax));
  curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, CurlTransfers::on_socket);
  curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, transfers.get());
  curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, CurlTransfers::on_timer);
  curl_multi_setopt(multi, CURLMOPT_TIMERDATA, transfers.get());
  return transfers;
}

// `known`: not null once the socket is in epoll.
int CurlTransfers::on_socket(void*, int file, int wanted, void* self, void* known) {
  CurlTransfers& transfers = *static_cast<CurlTransfers*>(self);
  if (wanted == CURL_POLL_REMOVE) {
    ::epoll_ctl(transfers.epoll_, EPOLL_CTL_DEL, file, nullptr);  // fails for one that is closed: it is out
    return 0;
  }
  epoll_event event{};
  event.data.fd = file;
  if (wanted & CURL_POLL_IN) event.events |= EPOLLIN;
  if (wanted & CURL_POLL_OUT) event.events |= EPOLLOUT;
  if (::epoll_ctl(transfers.epoll_, known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, file, &event) != 0) return -1;
  curl_multi_assign(transfers.multi_.get(), file, self);
  return 0;
}

int CurlTransfers::on_timer(void*, long millis, void* self) {
  CurlTransfers& transfers = *static_cast<CurlTransfers*>(self);
  transfers.timer_ = millis < 0 ? Time() : transfers.clock_.monotonic() + Duration::millis(millis);
  return 0;
}

void CurlTransfers::begin(std::unique_ptr<FetchJob> job) {
  if (!may_leave(*job)) return finish(*job, Delivery::NotSent, kNotLeading);
  auto transfer = std::make_unique<Transfer>();
  transfer->job = std::move(job);
  transfer->easy.reset(curl_easy_init());
  CURL* const easy = transfer->easy.get();
  set_up(*transfer);
  if (transfer->job->stream) streams_.emplace(transfer->job->id, easy);
  curl_multi_add_handle(multi_.get(), easy);
  under_way_.emplace(easy, std::move(transfer));
}

void CurlTransfers::set_up(Transfer& transfer) {
  CURL* const easy = transfer.easy.get();
  transfer.clock = &clock_;
  transfer.reply_bytes_max = options_.reply_bytes_max;
  transfer.last_heard = transfer.job->reply.begun_at = clock_.monotonic();
  curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, transfer.trouble.data());
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  curl_easy_setopt(easy, CURLOPT_USERAGENT, options_.user_agent.c_str());
  curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(options_.connect_timeout.millis()));
  if (!transfer.job->stream)
    curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, static_cast<long>(options_.reply_timeout.millis()));
  curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
  curl_easy_setopt(easy, CURLOPT_TCP_KEEPIDLE, kTcpKeepAliveSeconds);
  curl_easy_setopt(easy, CURLOPT_TCP_KEEPINTVL, kTcpKeepAliveSeconds / 2);
  curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, Transfer::on_connected);
  curl_easy_setopt(easy, CURLOPT_PREREQDATA, &transfer);
  curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, Transfer::on_header);
  curl_easy_setopt(easy, CURLOPT_HEADERDATA, &transfer);
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, Transfer::on_body);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, &transfer);
  set_up_method(transfer);
  set_up_target(transfer);
  set_up_trust(transfer);
  for (const auto& [name, value] : transfer.job->fetch.headers) append(transfer.headers, name + ": " + value);
  append(transfer.headers, "Expect:");  // a round trip for nothing: bodies are small
  curl_easy_setopt(easy, CURLOPT_HTTPHEADER, transfer.headers.get());
}

void CurlTransfers::set_up_method(Transfer& transfer) {
  CURL* const easy = transfer.easy.get();
  const HttpFetch& fetch = transfer.job->fetch;
  if (!fetch.body.empty()) {
    curl_easy_setopt(easy, CURLOPT_UPLOAD, 1L);
    curl_easy_setopt(easy, CURLOPT_INFILESIZE_LARGE, static_cast<curl_off_t>(fetch.body.size()));
    curl_easy_setopt(easy, CURLOPT_READFUNCTION, Transfer::on_body_wanted);
    curl_easy_setopt(easy, CURLOPT_READDATA, &transfer);
  } else if (fetch.method == "HEAD") {
    curl_easy_setopt(easy, CURLOPT_NOBODY, 1L);
  } else if (fetch.method != "GET") {
    // Without a body nothing stops libcurl from sending twice on a kept connection: so take none.
    curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, 1L);
  }
  if (fetch.method != "GET" && fetch.method != "HEAD")
    curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, fetch.method.c_str());
}

// With tls-server-name the URL carries that name (libcurl takes SNI and the name to verify from there) and
// the connection is led to the real host.
void CurlTransfers::set_up_target(Transfer& transfer) {
  CURL* const easy = transfer.easy.get();
  const ServerUrl server = parse_server_url(access_.server);
  std::string url = access_.server;
  if (!access_.tls_server_name.empty() && server.is_https) {
    const bool is_ipv6 = server.host.find(':') != std::string::npos;
    url = "https://" + access_.tls_server_name + ":" + server.port + server.prefix;
    append(transfer.connect_to, "::" + (is_ipv6 ? "[" + server.host + "]" : server.host) + ":" + server.port);
    append(transfer.headers, "Host: " + server.authority);
    curl_easy_setopt(easy, CURLOPT_CONNECT_TO, transfer.connect_to.get());
  }
  url += transfer.job->fetch.target;
  curl_easy_setopt(easy, CURLOPT_URL, url.c_str());
  curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L);
  if (!access_.proxy_url.empty())
    curl_easy_setopt(easy, CURLOPT_PROXY, access_.proxy_url.c_str());
  else if (server.is_loopback())
    curl_easy_setopt(easy, CURLOPT_PROXY, "");
  const std::string& token = token_.at(transfer.last_heard);
  if (server.is_https && !token.empty()) append(transfer.headers, "Authorization: Bearer " + token);
}

void CurlTransfers::set_up_trust(Transfer& transfer) {
  CURL* const easy = transfer.easy.get();
  curl_easy_setopt(easy, CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  if (access_.insecure_skip_tls_verify) {
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 0L);
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 0L);
  }
  const auto set_blob = [easy](CURLoption option, const std::string& pem) {
    if (pem.empty()) return;
    curl_blob blob{.data = const_cast<char*>(pem.data()), .len = pem.size(), .flags = CURL_BLOB_NOCOPY};
    curl_easy_setopt(easy, option, &blob);
  };
  set_blob(CURLOPT_CAINFO_BLOB, access_.ca_pem);
  set_blob(CURLOPT_SSLCERT_BLOB, access_.client_certificate_pem);
  set_blob(CURLOPT_SSLKEY_BLOB, access_.client_key_pem);
}

void CurlTransfers::perform() {
  int running = 0;
  for (const Ready& ready : std::exchange(ready_, {}))
    curl_multi_socket_action(multi_.get(), ready.file, ready.events, &running);
  const Time now = clock_.monotonic();
  if (timer_.is_set() && timer_ <= now) {
    timer_ = {};
    curl_multi_socket_action(multi_.get(), CURL_SOCKET_TIMEOUT, 0, &running);
  }
  collect();
  if (now >= silence_look_) end_silent_streams(now);
}

void CurlTransfers::collect() {
  int left = 0;
  while (const CURLMsg* message = curl_multi_info_read(multi_.get(), &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    const CURLcode code = message->data.result;
    const std::unique_ptr<Transfer> transfer = take_out(message->easy_handle);
    FetchJob& job = *transfer->job;
    if (code == CURLE_OK) {
      finish(job, Delivery::Answered, {});
      continue;
    }
    std::string trouble = job.forbidden          ? kNotLeading
                          : job.too_large        ? kTooLarge
                          : transfer->trouble[0] ? transfer->trouble.data()
                                                 : curl_easy_strerror(code);
    finish(job, transfer->delivery_of(code), std::move(trouble));
  }
}

void CurlTransfers::cancel(HttpFetcher::StreamId id) {
  const auto found = streams_.find(id);
  if (found != streams_.end()) finish(*take_out(found->second)->job, Delivery::Lost, "cancelled");
}

void CurlTransfers::end_silent_streams(Time now) {
  silence_look_ = now + kSilenceLookPeriod;
  std::vector<CURL*> silent;
  for (const auto& [id, easy] : streams_)
    if (now - under_way_.at(easy)->last_heard > options_.stream_idle_timeout) silent.push_back(easy);
  for (CURL* const easy : silent)
    finish(*take_out(easy)->job, Delivery::Lost, "nothing was heard for too long");
}

std::unique_ptr<CurlTransfers::Transfer> CurlTransfers::take_out(void* easy) {
  const auto found = under_way_.find(easy);
  BERTH_ASSERT(found != under_way_.end(), "libcurl names only handles that it was given");
  std::unique_ptr<Transfer> transfer = std::move(found->second);
  under_way_.erase(found);
  curl_multi_remove_handle(multi_.get(), easy);
  if (transfer->job->stream) streams_.erase(transfer->job->id);
  return transfer;
}

void CurlTransfers::end_all() {
  while (!under_way_.empty()) finish(*take_out(under_way_.begin()->first)->job, Delivery::Lost, kStopped);
}

void CurlTransfers::wait(std::span<pollfd> others, Duration longest) {
  const Time now = clock_.monotonic();
  if (!streams_.empty()) longest = std::min(longest, silence_look_ - now);
  if (timer_.is_set()) longest = std::min(longest, timer_ - now);
  std::vector<pollfd> files(others.begin(), others.end());
  files.push_back({.fd = epoll_, .events = POLLIN, .revents = 0});
  const auto millis = static_cast<int>(std::max<std::int64_t>((longest.micros() + 999) / 1000, 0));
  if (::poll(files.data(), files.size(), millis) <= 0) return;
  for (std::size_t i = 0; i < others.size(); ++i) others[i].revents = files[i].revents;
  if (files.back().revents) take_ready();
}

void CurlTransfers::take_ready() {
  std::array<epoll_event, kReadyMax> events;
  const int count = ::epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), 0);
  for (int i = 0; i < count; ++i) {
    Ready ready{.file = events[i].data.fd};
    if (events[i].events & EPOLLIN) ready.events |= CURL_CSELECT_IN;
    if (events[i].events & EPOLLOUT) ready.events |= CURL_CSELECT_OUT;
    if (events[i].events & (EPOLLERR | EPOLLHUP)) ready.events |= CURL_CSELECT_ERR;
    ready_.push_back(ready);
  }
}

}  // namespace berth::client
