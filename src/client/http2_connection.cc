#include "client/http2_connection.h"

#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <charconv>

#include "base/ascii.h"

namespace berth::client {
namespace {

std::string_view view(const std::uint8_t* bytes, std::size_t size) {
  return {reinterpret_cast<const char*>(bytes), size};
}

nghttp2_nv field(std::string_view name, std::string_view value) {
  const auto bytes = [](std::string_view text) {
    return reinterpret_cast<std::uint8_t*>(const_cast<char*>(text.data()));
  };
  return {bytes(name), bytes(value), name.size(), value.size(), NGHTTP2_NV_FLAG_NONE};
}

FetchJob* job_of(nghttp2_session* session, std::int32_t stream) {
  return static_cast<FetchJob*>(nghttp2_session_get_stream_user_data(session, stream));
}

ssize_t on_body_wanted(nghttp2_session* session, std::int32_t stream, std::uint8_t* room, std::size_t size,
                       std::uint32_t* flags, nghttp2_data_source*, void*) {
  FetchJob* const job = job_of(session, stream);
  if (!job) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
  const std::size_t given = give_body(*job, reinterpret_cast<char*>(room), size);
  if (job->forbidden) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
  if (job->body_sent == job->fetch.body.size()) *flags |= NGHTTP2_DATA_FLAG_EOF;
  return static_cast<ssize_t>(given);
}

}  // namespace

// What nghttp2 calls. Those that concern a stream which has ended for us find no job and do nothing.
struct Http2Connection::Callbacks {
  static int on_header(nghttp2_session* session, const nghttp2_frame* frame, const std::uint8_t* name,
                       std::size_t name_size, const std::uint8_t* value, std::size_t value_size, std::uint8_t,
                       void* user);
  static int on_data(nghttp2_session* session, std::uint8_t, std::int32_t stream, const std::uint8_t* bytes,
                     std::size_t size, void* user);
  static int on_frame(nghttp2_session* session, const nghttp2_frame* frame, void* user);
  static int on_close(nghttp2_session*, std::int32_t stream, std::uint32_t code, void* user);
  static void take_head(FetchJob& job, Time now);
  static nghttp2_session_callbacks* all();
};

int Http2Connection::Callbacks::on_header(nghttp2_session* session, const nghttp2_frame* frame,
                                          const std::uint8_t* name, std::size_t name_size,
                                          const std::uint8_t* value, std::size_t value_size, std::uint8_t,
                                          void* user) {
  FetchJob* const job = job_of(session, frame->hd.stream_id);
  if (!job || job->reply.headed_at.is_set()) return 0;  // trailers say nothing
  if (view(name, name_size) == ":status") {
    const std::string_view text = view(value, value_size);
    std::from_chars(text.data(), text.data() + text.size(), job->reply.status);
  } else if (!add_header(*job, view(name, name_size), view(value, value_size))) {
    static_cast<Http2Connection*>(user)->reset(frame->hd.stream_id, Delivery::Lost, kTooLarge);
  }
  return 0;
}

int Http2Connection::Callbacks::on_data(nghttp2_session* session, std::uint8_t, std::int32_t stream,
                                        const std::uint8_t* bytes, std::size_t size, void* user) {
  Http2Connection& self = *static_cast<Http2Connection*>(user);
  FetchJob* const job = job_of(session, stream);
  if (job && !add_body(*job, view(bytes, size), self.shared_.options.reply_bytes_max))
    self.reset(stream, Delivery::Lost, kTooLarge);
  return 0;
}

void Http2Connection::Callbacks::take_head(FetchJob& job, Time now) {
  if (job.reply.status >= 200) {
    job.reply.headed_at = now;
  } else {
    job.reply.headers.clear();  // of an interim response
  }
}

int Http2Connection::Callbacks::on_frame(nghttp2_session* session, const nghttp2_frame* frame, void* user) {
  Http2Connection& self = *static_cast<Http2Connection*>(user);
  const nghttp2_frame_hd& head = frame->hd;
  if (head.type == NGHTTP2_SETTINGS && self.phase_ == Phase::Opening) {
    self.phase_ = Phase::Open;
    self.was_open_ = true;
  }
  if (head.type == NGHTTP2_GOAWAY) self.phase_ = Phase::Draining;
  FetchJob* const job = head.stream_id ? job_of(session, head.stream_id) : nullptr;
  if (!job) return 0;
  if (head.type == NGHTTP2_HEADERS && !job->reply.headed_at.is_set()) take_head(*job, self.now_);
  const bool ends = (head.type == NGHTTP2_HEADERS || head.type == NGHTTP2_DATA) &&
                    (head.flags & NGHTTP2_FLAG_END_STREAM) != 0;
  if (!ends) return 0;
  self.has_answered_ = true;
  if (job->body_sent < job->fetch.body.size())  // the server has heard enough
    self.reset(head.stream_id, Delivery::Answered, {});
  else
    finish(*self.take_out(head.stream_id), Delivery::Answered, {});
  return 0;
}

int Http2Connection::Callbacks::on_close(nghttp2_session*, std::int32_t stream, std::uint32_t code,
                                         void* user) {
  const std::unique_ptr<FetchJob> job = static_cast<Http2Connection*>(user)->take_out(stream);
  if (!job) return 0;
  const bool refused = code == NGHTTP2_REFUSED_STREAM && job->reply.status == 0;
  const Delivery delivery = refused || job->forbidden ? Delivery::NotSent : Delivery::Lost;
  finish(*job, delivery,
         job->forbidden ? kNotLeading : "the stream was ended: " + std::string(nghttp2_http2_strerror(code)));
  return 0;
}

nghttp2_session_callbacks* Http2Connection::Callbacks::all() {
  static nghttp2_session_callbacks* const callbacks = [] {
    nghttp2_session_callbacks* made = nullptr;
    nghttp2_session_callbacks_new(&made);
    nghttp2_session_callbacks_set_on_header_callback(made, on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(made, on_data);
    nghttp2_session_callbacks_set_on_frame_recv_callback(made, on_frame);
    nghttp2_session_callbacks_set_on_stream_close_callback(made, on_close);
    return made;
  }();
  return callbacks;
}

void Http2Connection::FreeSession::operator()(nghttp2_session* session) const {
  nghttp2_session_del(session);
}

Http2Connection::Http2Connection(Http2Shared& shared, std::unique_ptr<TlsStream> stream,
                                 Time connect_deadline)
    : shared_(shared), stream_(std::move(stream)), connect_deadline_(connect_deadline) {}
Http2Connection::~Http2Connection() = default;

Time Http2Connection::wakes_at() const {
  if (!session_) return stream_->advances_at();
  if (phase_ == Phase::Opening) return connect_deadline_;
  const HttpFetcherOptions& options = shared_.options;
  const Time silent =
      pinged_at_.is_set() ? pinged_at_ + options.ping_timeout : heard_at_ + options.ping_after_silence;
  return streams_.empty() ? silent : std::min(silent, streams_.begin()->second->deadline);
}

void Http2Connection::work(short ready) {
  now_ = shared_.clock.monotonic();
  const Status moved = move_bytes(ready);
  if (!moved) return end(moved.error().text());
  if (phase_ == Phase::Draining && streams_.empty()) end("the server wants a new connection");
}

Status Http2Connection::move_bytes(short ready) {
  if (!session_) {
    if (!TRY(stream_->advance(now_))) return {};
    if (!stream_->speaks_h2()) {
      phase_ = Phase::Http1;
      return {};
    }
    TRY(begin_session());
  }
  if (ready & ~POLLOUT) TRY(read());
  TRY(check_liveness());
  end_late();
  return write();
}

Status Http2Connection::begin_session() {
  nghttp2_session* session = nullptr;
  if (nghttp2_session_client_new(&session, Callbacks::all(), this) != 0)
    return broken_connection("no HTTP/2 session");
  session_.reset(session);
  const nghttp2_settings_entry settings[] = {
      {NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
      {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, kHttp2StreamWindowBytes},
      {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, kReplyHeaderBytesMax},
  };
  nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, settings, std::size(settings));
  nghttp2_session_set_local_window_size(session, NGHTTP2_FLAG_NONE, 0, kHttp2WindowBytes);
  heard_at_ = now_;
  return {};
}

Status Http2Connection::read() {
  for (std::size_t i = 0; i < kHttp2ReadsMax; ++i) {
    const std::size_t size = TRY(stream_->receive());
    if (size == 0) break;
    now_ = heard_at_ = shared_.clock.monotonic();
    pinged_at_ = Time();
    for (;;) {
      const std::string_view bytes = TRY(stream_->decrypted());
      if (bytes.empty()) break;
      const auto* const input = reinterpret_cast<const std::uint8_t*>(bytes.data());
      const ssize_t taken = nghttp2_session_mem_recv(session_.get(), input, bytes.size());
      if (taken < 0)
        return broken_connection(std::string("no HTTP/2: ") + nghttp2_strerror(static_cast<int>(taken)));
    }
    if (size < kTlsReadBytes) break;
  }
  return {};
}

Status Http2Connection::check_liveness() {
  if (phase_ == Phase::Opening && now_ >= connect_deadline_)
    return broken_connection("no connection in time");
  const HttpFetcherOptions& options = shared_.options;
  if (pinged_at_.is_set() && now_ - pinged_at_ >= options.ping_timeout)
    return broken_connection("the server is silent: a PING was not answered");
  if (!pinged_at_.is_set() && now_ - heard_at_ >= options.ping_after_silence) {
    nghttp2_submit_ping(session_.get(), NGHTTP2_FLAG_NONE, nullptr);
    pinged_at_ = now_;
  }
  return {};
}

void Http2Connection::end_late() {
  while (!streams_.empty() && streams_.begin()->second->deadline <= now_)
    reset(streams_.begin()->first, Delivery::Lost, "no answer in time");
}

// As long as the socket takes everything, so that nothing is begun behind bytes that cannot leave.
Status Http2Connection::write() {
  for (;;) {
    TRY(stream_->flush());
    if (stream_->has_unsent()) return {};
    plain_.clear();
    TRY(fill());
    if (plain_.empty()) break;
    TRY(stream_->write(plain_));
  }
  if (!nghttp2_session_want_read(session_.get()) && !nghttp2_session_want_write(session_.get()))
    return broken_connection("the HTTP/2 session ended");
  return {};
}

Status Http2Connection::fill() {
  do {
    while (plain_.size() < kHttp2WriteBytes) {
      const std::uint8_t* bytes = nullptr;
      const ssize_t size = nghttp2_session_mem_send(session_.get(), &bytes);
      if (size < 0)
        return broken_connection(std::string("no HTTP/2: ") + nghttp2_strerror(static_cast<int>(size)));
      if (size == 0) break;
      plain_.append(view(bytes, static_cast<std::size_t>(size)));
    }
  } while (plain_.size() < kHttp2WriteBytes && begin_next());
  return {};
}

bool Http2Connection::may_begin() const {
  const std::uint32_t streams_max =
      nghttp2_session_get_remote_settings(session_.get(), NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS);
  return phase_ == Phase::Open && streams_.size() < streams_max &&
         nghttp2_session_check_request_allowed(session_.get());
}

// nghttp2 has nothing left to send: the frames of the request that is begun here are the next to leave.
bool Http2Connection::begin_next() {
  while (!shared_.waiting.empty() && may_begin()) {
    std::unique_ptr<FetchJob> job = std::move(shared_.waiting.front());
    shared_.waiting.pop_front();
    if (may_leave(*job)) {
      begin(std::move(job));
      return true;
    }
    finish(*job, Delivery::NotSent, kNotLeading);
  }
  return false;
}

void Http2Connection::begin(std::unique_ptr<FetchJob> job) {
  const HttpFetch& fetch = job->fetch;
  const std::string path = shared_.server.prefix + fetch.target;
  const std::string& token = shared_.token.at(now_);
  const std::string authorization = "Bearer " + token;
  const std::string length = std::to_string(fetch.body.size());
  HttpHeaders headers = fetch.headers;
  std::vector<nghttp2_nv> fields = {field(":method", fetch.method), field(":scheme", "https"),
                                    field(":authority", shared_.server.authority), field(":path", path),
                                    field("user-agent", shared_.options.user_agent)};
  if (!token.empty()) fields.push_back(field("authorization", authorization));
  if (!fetch.body.empty()) fields.push_back(field("content-length", length));
  for (auto& [name, value] : headers) {
    name = to_lower(name);
    fields.push_back(field(name, value));
  }
  nghttp2_data_provider body{.source = {}, .read_callback = on_body_wanted};
  job->reply.begun_at = now_;
  const std::int32_t stream = nghttp2_submit_request(session_.get(), nullptr, fields.data(), fields.size(),
                                                     fetch.body.empty() ? nullptr : &body, job.get());
  if (stream < 0) return finish(*job, Delivery::NotSent, nghttp2_strerror(stream));
  streams_.emplace(stream, std::move(job));
}

std::unique_ptr<FetchJob> Http2Connection::take_out(std::int32_t stream) {
  const auto found = streams_.find(stream);
  if (found == streams_.end()) return nullptr;
  std::unique_ptr<FetchJob> job = std::move(found->second);
  streams_.erase(found);
  nghttp2_session_set_stream_user_data(session_.get(), stream, nullptr);
  return job;
}

void Http2Connection::reset(std::int32_t stream, Delivery delivery, std::string trouble) {
  const std::unique_ptr<FetchJob> job = take_out(stream);
  nghttp2_submit_rst_stream(session_.get(), NGHTTP2_FLAG_NONE, stream, NGHTTP2_CANCEL);
  finish(*job, delivery, std::move(trouble));
}

void Http2Connection::end(std::string trouble) {
  phase_ = Phase::Over;
  trouble_ = std::move(trouble);
  while (!streams_.empty()) finish(*take_out(streams_.begin()->first), Delivery::Lost, trouble_);
}

}  // namespace berth::client
