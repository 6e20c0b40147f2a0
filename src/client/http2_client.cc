#include "client/http2_client.h"

#include <algorithm>

#include "base/backoff.h"

namespace berth::client {

using Phase = Http2Connection::Phase;

Http2Client::Http2Client(TlsContext context, const ClusterAccess& access, const HttpFetcherOptions& options,
                         const Clock& clock, BearerToken& token)
    : context_(std::move(context)),
      shared_{.options = options,
              .clock = clock,
              .token = token,
              .server = parse_server_url(access.server),
              .waiting = {}},
      name_(access.tls_server_name.empty() ? shared_.server.host : access.tls_server_name) {}

Result<std::unique_ptr<Http2Client>> Http2Client::open(const ClusterAccess& access,
                                                       const HttpFetcherOptions& options, const Clock& clock,
                                                       BearerToken& token) {
  TlsContext context = TRY(client_tls(access));
  return std::unique_ptr<Http2Client>(new Http2Client(std::move(context), access, options, clock, token));
}

std::size_t Http2Client::fetches() const {
  std::size_t count = shared_.waiting.size();
  for (const auto& connection : connections_) count += connection->fetches();
  return count;
}

void Http2Client::begin(std::unique_ptr<FetchJob> job) {
  if (!may_leave(*job)) return finish(*job, Delivery::NotSent, kNotLeading);
  job->deadline = shared_.clock.monotonic() + shared_.options.reply_timeout;
  shared_.waiting.push_back(std::move(job));
}

void Http2Client::append_files(std::vector<pollfd>& files) const {
  for (const auto& connection : connections_) files.push_back(connection->awaited());
}

Time Http2Client::wakes_at() const {
  Time first;
  const auto consider = [&first](Time time) { first = first.is_set() ? std::min(first, time) : time; };
  for (const auto& connection : connections_) consider(connection->wakes_at());
  if (!shared_.waiting.empty()) {
    consider(shared_.waiting.front()->deadline);
    if (may_connect()) consider(connects_at_);
  }
  return first;
}

bool Http2Client::may_connect() const {
  const bool has_taker = std::any_of(connections_.begin(), connections_.end(), [](const auto& connection) {
    return connection->phase() == Phase::Opening || connection->phase() == Phase::Open;
  });
  return !has_taker && connections_.size() < kHttp2ConnectionsMax;
}

void Http2Client::work(std::span<const pollfd> files) {
  const Time now = shared_.clock.monotonic();
  end_late(now);
  for (std::size_t i = 0; i < connections_.size(); ++i)
    connections_[i]->work(i < files.size() ? files[i].revents : short{0});
  settle();
  if (is_http1_ || shared_.waiting.empty() || !may_connect()) return;
  if (connects_at_.is_set() && now < connects_at_) return;
  connect(now);
  settle();
}

void Http2Client::connect(Time now) {
  connects_at_ = now + backoff(kReconnectPause, kReconnectPauseMax, ++unanswered_);
  const Time deadline = now + shared_.options.connect_timeout;
  Result<std::unique_ptr<TlsStream>> stream =
      TlsStream::connect(context_.get(), shared_.server, name_, deadline);
  if (!stream) return end_waiting(stream.error().text());
  connections_.push_back(std::make_unique<Http2Connection>(shared_, std::move(*stream), deadline));
  connections_.back()->work(0);
}

void Http2Client::settle() {
  for (const auto& connection : connections_) {
    if (connection->take_answered()) {
      unanswered_ = 0;
      connects_at_ = Time();
    }
    if (connection->phase() == Phase::Http1) is_http1_ = true;
    if (connection->phase() == Phase::Over && !connection->was_open()) end_waiting(connection->trouble());
  }
  std::erase_if(connections_, [](const auto& connection) { return connection->phase() >= Phase::Http1; });
}

void Http2Client::end_late(Time now) {
  while (!shared_.waiting.empty() && shared_.waiting.front()->deadline <= now) {
    const std::unique_ptr<FetchJob> job = std::move(shared_.waiting.front());
    shared_.waiting.pop_front();
    finish(*job, Delivery::NotSent, "no turn on the connection in time");
  }
}

void Http2Client::end_waiting(const std::string& trouble) {
  for (const std::unique_ptr<FetchJob>& job : take_waiting()) finish(*job, Delivery::NotSent, trouble);
}

void Http2Client::end_all() {
  for (const auto& connection : connections_) connection->end(kStopped);
  connections_.clear();
  end_waiting(kStopped);
}

}  // namespace berth::client
