// The only file of the room that includes Boost. Asio moves bytes, Beast's parser is fed by hand: that gives
// one code path for plain and TLS, and keeps this file at a few seconds of compile time.
#include "server/transport/transport.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <chrono>
#include <condition_variable>
#include <future>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "base/log.h"
#include "server/transport/host_names.h"
#include "server/transport/response_queue.h"
#include "server/transport/strangers.h"
#include "server/transport/target.h"

namespace berth::server {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using boost::system::error_code;
using Strand = asio::strand<asio::io_context::executor_type>;
using Socket = asio::basic_stream_socket<asio::ip::tcp, Strand>;
using Acceptor = asio::basic_socket_acceptor<asio::ip::tcp, Strand>;
using Timer = asio::basic_waitable_timer<std::chrono::steady_clock,
                                         asio::wait_traits<std::chrono::steady_clock>, Strand>;
using Parser = http::request_parser<http::string_body>;
using Instant = std::chrono::steady_clock::time_point;

constexpr std::size_t kReadBytes = 16u << 10;        // of one read: a TLS record
constexpr std::size_t kWriteTurnBytes = 256u << 10;  // of one connection, then others have their turn
constexpr Duration kRetiredLinger =
    Duration::millis(100);  // clients keep idle connections; a stop does not wait for them
constexpr std::string_view kPlainHttpAnswer =
    "HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n";
constexpr Instant kNever = Instant::max();
constexpr std::chrono::minutes kEvictionSaidEvery(1);
constexpr auto kAcceptPause =
    std::chrono::milliseconds(50);  // after an accept failed, usually for lack of file descriptors

std::chrono::microseconds chrono_of(Duration duration) {
  return std::chrono::microseconds(duration.micros());
}

Time time_of(Instant instant) {
  return Time::from_micros(
      std::chrono::duration_cast<std::chrono::microseconds>(instant.time_since_epoch()).count());
}

// Whether a browser sends the request for a page that this machine did not serve. Without credentials, that
// page would else act as the administrator. Other clients name no origin.
bool is_foreign_origin(std::string_view origin) {
  if (origin.empty()) return false;
  const std::size_t scheme = origin.find("://");
  if (scheme == std::string_view::npos) return true;  // "null": a sandboxed page or a file
  const std::string_view host = host_of(origin.substr(scheme + 3));
  return host != "localhost" && host != "127.0.0.1" && host != "[::1]";
}

// Unlike an assignment, it gives the memory back.
void release(std::string& buffer) {
  std::string().swap(buffer);
}

class Connection;

// State shared by connections. Outlives them.
struct Shared {
  explicit Shared(HttpHandler& the_handler) : handler(the_handler) {}
  // Enters one more, a stranger, and returns who has to go for it, if someone. False: there is no slot.
  bool admit(const std::shared_ptr<Connection>& connection, const std::string& address,
             std::shared_ptr<Connection>& evicted);
  void forget(const Connection* connection);
  // Changes what is known of the strangers.
  template <class Note>
  void note_stranger(Note note) {
    const std::lock_guard lock(mutex);
    note(strangers);
  }
  std::vector<std::shared_ptr<Connection>> everyone();

  HttpHandler& handler;
  TransportLimits limits;
  User insecure_user;
  std::vector<std::string> names;
  const Clock* clock = nullptr;
  TlsContext tls;  // null: plain HTTP
  std::atomic<std::size_t> unsent_bytes = 0;

  std::mutex mutex;
  std::condition_variable gone;
  std::map<const Connection*, std::shared_ptr<Connection>> connections;
  bool stopping = false;
  Strangers strangers;
  Instant eviction_said_at = {};
};

// One peer. Everything below runs on its strand; at most one read and one write are in flight. It waits for
// its socket without a buffer: what is read lies on the stack until the parser has taken it.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(Socket socket, Shared& shared)
      : shared_(shared), socket_(std::move(socket)), watchdog_(socket_.get_executor()) {
    if (shared_.tls) tls_.emplace(shared_.tls.get(), socket_.native_handle());
  }

  void start();
  // From any thread.
  void post_retire() { post(&Connection::retire); }
  void post_close() { post(&Connection::close); }
  std::future<std::size_t> post_buffered_bytes();

 private:
  using Step = TlsSession::Step;
  using State = TlsSession::State;

  void post(void (Connection::*step)()) {
    asio::post(socket_.get_executor(), [self = shared_from_this(), step] { (self.get()->*step)(); });
  }
  // Calls `step` when the socket is ready, unless the connection was closed.
  void await(State wanted, void (Connection::*step)());
  void shake_hands();
  void read();
  void take_input();
  Step receive(std::span<char> into);
  Step transmit(std::string_view bytes);
  void on_input(std::string_view bytes);
  void on_peer_end();
  void parse() { parse(in_); }
  void parse(std::string_view input);
  bool feed_parser(std::string_view input, error_code& error);
  void keep_unparsed(std::string_view input);
  void greet_expectation();
  bool has_unknown_coding() const;
  void refuse(const error_code& error);
  void refuse(HttpResponse answer);
  AnswerForm form_of_request() const;
  void open_response_queue(AnswerForm form);
  void dispatch();
  void drain();
  bool write_out();
  void on_writable();
  void on_wake();
  void complete(ResponseQueue::Next end);
  void linger();
  void retire();
  void close();
  // It has shown credentials, or is gone.
  void leave_strangers();
  void note_heard();
  void note_answering(bool begins);
  std::optional<HttpResponse> refusal_of(std::string_view origin, std::string_view host) const;
  void set_read_deadline(Duration from_now);
  void arm();
  void on_watchdog();

  Shared& shared_;
  Socket socket_;
  bool stranger_ = true;
  bool heard_ = false;  // it has sent something since it was last answered
  bool handshake_began_ = false;
  std::optional<TlsSession> tls_;
  Timer watchdog_;
  Instant watchdog_at_ = kNever;
  Instant read_deadline_ = kNever;
  Instant write_deadline_ = kNever;
  User user_;

  std::string in_;  // read but not parsed
  std::optional<Parser> parser_;
  bool expectation_met_ = false;
  bool greeting_ = false;                          // `out_` is a "100 Continue", not part of a response
  std::shared_ptr<ResponseQueue> response_queue_;  // of the request being answered
  std::string out_;                                // being written
  std::size_t out_done_ = 0;
  std::size_t turn_bytes_ = 0;  // written since others had their turn
  std::size_t lingered_bytes_ = 0;
  bool reading_ = false;
  bool writing_ = false;
  bool peer_ended_ = false;
  bool retired_ = false;
  bool lingering_ = false;
  bool closed_ = false;
};

void Shared::forget(const Connection* connection) {
  std::shared_ptr<Connection> last;
  const std::lock_guard lock(mutex);
  const auto found = connections.find(connection);
  if (found == connections.end()) return;
  last = std::move(found->second);
  connections.erase(found);
  if (connections.empty()) gone.notify_all();
}

bool Shared::admit(const std::shared_ptr<Connection>& connection, const std::string& address,
                   std::shared_ptr<Connection>& evicted) {
  const Instant now = std::chrono::steady_clock::now();
  const std::lock_guard lock(mutex);
  if (stopping) return false;
  const Strangers::Admission admission = strangers.admit(connection.get(), address, time_of(now));
  if (!admission.admitted) return false;
  Strangers::Id goes = admission.evicted;
  if (!goes && connections.size() >= limits.connections_max) {
    goes = strangers.evict_but(connection.get());
    if (!goes) return strangers.remove(connection.get()), false;
  }
  const auto found = connections.find(static_cast<const Connection*>(goes));
  if (found != connections.end()) {
    evicted = std::move(found->second);
    connections.erase(found);
  }
  if (evicted && now - eviction_said_at >= kEvictionSaidEvery) {
    eviction_said_at = now;
    log(LogLevel::Warning, "connections that send nothing are closed: they take all slots",
        {{"address", address}, {"connections", std::to_string(connections.size())}});
  }
  connections.emplace(connection.get(), connection);
  return true;
}

std::vector<std::shared_ptr<Connection>> Shared::everyone() {
  const std::lock_guard lock(mutex);
  std::vector<std::shared_ptr<Connection>> all;
  for (const auto& [key, connection] : connections) all.push_back(connection);
  return all;
}

void Connection::start() {
  error_code ignored;
  socket_.set_option(asio::ip::tcp::no_delay(true), ignored);
  socket_.set_option(asio::socket_base::keep_alive(true), ignored);
  socket_.non_blocking(true, ignored);
  if (tls_) {
    set_read_deadline(shared_.limits.header_timeout);
    post(&Connection::shake_hands);
  } else {
    user_ = shared_.insecure_user;
    post(&Connection::parse);
  }
}

void Connection::await(State wanted, void (Connection::*step)()) {
  const auto what = wanted == State::WantsWrite ? Socket::wait_write : Socket::wait_read;
  socket_.async_wait(what, [self = shared_from_this(), step](error_code) {
    if (!self->closed_) (self.get()->*step)();
  });
}

void Connection::shake_hands() {
  if (closed_) return;
  const Step step = tls_->shake_hands();
  if (handshake_began_) note_heard();
  handshake_began_ = true;
  if (step.state == State::Ended) {
    error_code ignored;
    if (tls_->met_plain_http()) socket_.write_some(asio::buffer(kPlainHttpAnswer), ignored);
    return close();
  }
  if (step.state != State::Done) return await(step.state, &Connection::shake_hands);
  user_ = tls_->user();
  if (!user_.name.empty()) leave_strangers();
  parse();
}

void Connection::read() {
  if (reading_ || closed_ || peer_ended_) return;
  reading_ = true;
  if (tls_ && tls_->holds_input()) return post(&Connection::take_input);
  await(State::WantsRead, &Connection::take_input);
}

void Connection::take_input() {
  if (closed_) return;
  std::array<char, kReadBytes> chunk;
  const Step step = receive(chunk);
  if (step.state == State::WantsRead || step.state == State::WantsWrite)
    return await(step.state, &Connection::take_input);
  reading_ = false;
  if (step.state == State::Ended) return on_peer_end();
  on_input({chunk.data(), step.bytes});
}

Connection::Step Connection::receive(std::span<char> into) {
  if (tls_) return tls_->read(into);
  error_code error;
  const std::size_t size = socket_.read_some(asio::buffer(into.data(), into.size()), error);
  if (error == asio::error::would_block) return {State::WantsRead};
  return error ? Step{State::Ended} : Step{State::Done, size};
}

Connection::Step Connection::transmit(std::string_view bytes) {
  if (tls_) return tls_->write(bytes);
  error_code error;
  const std::size_t size = socket_.write_some(asio::buffer(bytes.data(), bytes.size()), error);
  if (error == asio::error::would_block) return {State::WantsWrite};
  return error ? Step{State::Ended} : Step{State::Done, size};
}

void Connection::on_input(std::string_view bytes) {
  note_heard();
  if (lingering_) {
    lingered_bytes_ += bytes.size();
    return lingered_bytes_ > kLingerBytesMax ? close() : read();
  }
  if (!response_queue_ && in_.empty()) return parse(bytes);
  in_.append(bytes);
  if (!response_queue_) return parse();
  if (in_.size() < kPipelinedBytesMax) read();
}

// The peer sends nothing more. This ends a watch; another response may still be wanted (`nc -N`).
void Connection::on_peer_end() {
  peer_ended_ = true;
  if (!response_queue_ || response_queue_->is_endless() || tls_) close();
}

// `input` is what has been read and not parsed.
void Connection::parse(std::string_view input) {
  if (closed_ || response_queue_ || lingering_) return;
  error_code error;
  const bool complete = feed_parser(input, error);
  if (has_unknown_coding())
    return refuse(status_response(501, "NotImplemented", "Unsupported transfer encoding"));
  if (error) return refuse(error);
  if (complete) return dispatch();
  if (retired_ && !parser_ && in_.empty()) return close();
  greet_expectation();
  if (!closed_ && !response_queue_) read();
}

// Gives the parser what has been read. True when one whole request is complete; the rest is in `in_`.
bool Connection::feed_parser(std::string_view input, error_code& error) {
  const bool fresh = !parser_;
  if (input.empty()) {
    if (fresh) set_read_deadline(shared_.limits.idle_timeout);
    return false;
  }
  if (fresh) {
    parser_.emplace();
    parser_->header_limit(kHeaderBytesMax);
    parser_->body_limit(kBodyBytesMax);
    parser_->eager(true);
    expectation_met_ = false;
  }
  const bool had_header = parser_->is_header_done();
  const std::size_t used = parser_->put(asio::buffer(input.data(), input.size()), error);
  keep_unparsed(input.substr(used));
  if (error == http::error::need_more) error = {};
  if (error || parser_->is_done()) return !error;
  if (parser_->is_header_done() && !had_header)
    set_read_deadline(shared_.limits.body_timeout);
  else if (fresh)
    set_read_deadline(shared_.limits.header_timeout);
  return false;
}

void Connection::keep_unparsed(std::string_view input) {
  if (input.empty())
    release(in_);
  else if (in_.empty())
    in_ = input;
  else
    in_.erase(0, in_.size() - input.size());
}

// curl sends a large body only after "100 Continue" or a second of silence.
void Connection::greet_expectation() {
  if (!parser_ || !parser_->is_header_done() || expectation_met_) return;
  expectation_met_ = true;
  if (!boost::beast::iequals(parser_->get()[http::field::expect], "100-continue")) return;
  out_ = "HTTP/1.1 100 Continue\r\n\r\n";
  out_done_ = 0;
  greeting_ = true;
  write_out();
}

// Anything but "chunked" alone: the body would be read as what it is not.
bool Connection::has_unknown_coding() const {
  if (!parser_ || !parser_->is_header_done()) return false;
  const auto [first, last] = parser_->get().equal_range(http::field::transfer_encoding);
  if (first == last) return false;
  return std::next(first) != last || !boost::beast::iequals(first->value(), "chunked");
}

void Connection::refuse(const error_code& error) {
  HttpResponse answer;
  if (error == http::error::body_limit)
    answer = status_response(413, "RequestEntityTooLarge",
                             "Request entity too large: limit is " + std::to_string(kBodyBytesMax));
  else if (error == http::error::header_limit)
    answer = status_response(
        431, "BadRequest", "the request header is larger than " + std::to_string(kHeaderBytesMax) + " bytes");
  else
    answer = status_response(400, "BadRequest", "the request is not HTTP/1.1: " + error.message());
  refuse(std::move(answer));
}

void Connection::refuse(HttpResponse answer) {
  release(in_);
  open_response_queue({.keep_alive = false});
  response_queue_->respond(std::move(answer));
  drain();
}

AnswerForm Connection::form_of_request() const {
  const auto& message = parser_->get();
  return {.body_wanted = message.method() != http::verb::head,
          .chunks_known = message.version() >= 11,
          .keep_alive = message.keep_alive() && !retired_};
}

void Connection::open_response_queue(AnswerForm form) {
  parser_.reset();
  read_deadline_ = kNever;
  response_queue_ =
      std::make_shared<ResponseQueue>(form, shared_.clock, shared_.unsent_bytes, [weak = weak_from_this()] {
        if (const auto self = weak.lock()) self->post(&Connection::on_wake);
      });
}

void Connection::leave_strangers() {
  if (!std::exchange(stranger_, false)) return;
  shared_.note_stranger([this](Strangers& strangers) { strangers.remove(this); });
}

void Connection::note_heard() {
  if (!stranger_ || std::exchange(heard_, true)) return;
  shared_.note_stranger(
      [this](Strangers& strangers) { strangers.heard(this, time_of(std::chrono::steady_clock::now())); });
}

// Whether it is one that is being answered, and may stay.
void Connection::note_answering(bool begins) {
  if (!stranger_) return;
  heard_ = begins;
  shared_.note_stranger([this, begins](Strangers& strangers) {
    if (begins)
      strangers.answering(this);
    else
      strangers.rests(this, time_of(std::chrono::steady_clock::now()));
  });
}

// Of a request that a browser may have sent for a page of others.
std::optional<HttpResponse> Connection::refusal_of(std::string_view origin, std::string_view host) const {
  if (tls_) return std::nullopt;
  if (is_foreign_origin(origin))
    return status_response(
        403, "Forbidden", "requests of other origins are refused where every request is the administrator's");
  if (may_be_called(host, shared_.names)) return std::nullopt;
  return status_response(
      403, "Forbidden",
      "the host \"" + std::string(host_of(host)) +
          "\" is not a name of this server, where every request is the administrator's: ask "
          "it as localhost, or start it with --allowed-host");
}

void Connection::dispatch() {
  if (!tls_) leave_strangers();
  note_answering(true);
  const AnswerForm form = form_of_request();
  auto message = parser_->release();
  open_response_queue(form);
  const auto answer_at_once = [this](HttpResponse answer) {
    response_queue_->respond(std::move(answer));
    drain();
  };
  const auto text_of = [&message](http::field field) {
    const auto text = message[field];
    return std::string_view(text.data(), text.size());
  };
  if (std::optional<HttpResponse> refused =
          refusal_of(text_of(http::field::origin), text_of(http::field::host)))
    return answer_at_once(*std::move(refused));
  Result<Target> target = parse_target({message.target().data(), message.target().size()});
  if (!target) return answer_at_once(status_response(400, "BadRequest", target.error().message()));
  if (shared_.unsent_bytes > shared_.limits.unsent_bytes_max && !health_path(target->path)) {
    HttpResponse later = status_response(
        429, "TooManyRequests", "too many bytes of answers have not been read yet, please try again later");
    later.headers.emplace_back("Retry-After", "1");
    return answer_at_once(std::move(later));
  }
  HttpRequest request;
  request.method = std::string(message.method_string());
  request.path = std::move(target->path);
  request.query = std::move(target->query);
  for (const auto& field : message)
    request.headers.emplace_back(std::string(field.name_string()), std::string(field.value()));
  request.body = std::move(message.body());
  request.user = user_;
  const auto exchange = std::make_shared<Exchange>(response_queue_);
  try {
    shared_.handler.handle(std::move(request), exchange);
  } catch (const std::exception& failure) {  // a handler's defect ends its request, not the process
    log(LogLevel::Error, "a request failed", {{"reason", failure.what()}});
    exchange->respond(status_response(500, "InternalError", "Internal error occurred"));
  }
  drain();
}

void Connection::on_wake() {
  if (closed_ || !response_queue_) return;
  if (writing_ && response_queue_->is_cut()) return close();
  drain();
}

void Connection::drain() {
  while (!closed_ && !writing_ && response_queue_) {
    switch (const ResponseQueue::Next next = response_queue_->next(out_)) {
      case ResponseQueue::Next::Bytes:
        if (!write_out()) return;
        break;
      case ResponseQueue::Next::Later:
        turn_bytes_ = 0;
        if (peer_ended_ && response_queue_->is_endless()) return close();
        if (in_.size() < kPipelinedBytesMax) read();  // to detect a disconnecting peer
        return;
      case ResponseQueue::Next::Cut:
        return close();
      case ResponseQueue::Next::Finished:
      case ResponseQueue::Next::Last:
        return complete(next);
    }
  }
}

// Writes `out_` as far as the socket and this connection's turn allow. True when all is written; else
// on_writable() goes on, or the connection is closed.
bool Connection::write_out() {
  while (out_done_ < out_.size()) {
    if (turn_bytes_ >= kWriteTurnBytes) {
      writing_ = true;
      post(&Connection::on_writable);
      return false;
    }
    const Step step = transmit(std::string_view(out_).substr(out_done_));
    if (step.state == State::Ended) {
      close();
      return false;
    }
    if (step.state != State::Done) {
      writing_ = true;
      write_deadline_ = std::chrono::steady_clock::now() + chrono_of(shared_.limits.stall_timeout);
      arm();
      await(step.state, &Connection::on_writable);
      return false;
    }
    out_done_ += step.bytes;
    turn_bytes_ += step.bytes;
    if (!greeting_) response_queue_->sent(step.bytes);
  }
  release(out_);
  out_done_ = 0;
  greeting_ = false;
  return true;
}

void Connection::on_writable() {
  writing_ = false;
  write_deadline_ = kNever;
  turn_bytes_ = 0;
  if (!closed_ && write_out()) drain();
}

void Connection::complete(ResponseQueue::Next end) {
  note_answering(false);
  response_queue_->close();
  response_queue_.reset();
  turn_bytes_ = 0;
  if (end == ResponseQueue::Next::Last || retired_ || peer_ended_) return linger();
  if (in_.empty()) return parse();
  // Posted: pipelined requests with ready answers would otherwise nest without bound.
  post(&Connection::parse);
}

// Closing with unread input makes the kernel drop the response in flight: so it reads for a while first.
void Connection::linger() {
  if (peer_ended_) return close();
  lingering_ = true;
  release(in_);
  set_read_deadline(retired_ ? std::min(kRetiredLinger, shared_.limits.linger_timeout)
                             : shared_.limits.linger_timeout);
  error_code ignored;
  socket_.shutdown(asio::socket_base::shutdown_send, ignored);
  read();
}

std::future<std::size_t> Connection::post_buffered_bytes() {
  auto told = std::make_shared<std::promise<std::size_t>>();
  asio::post(socket_.get_executor(), [self = shared_from_this(), told] {
    told->set_value(self->in_.capacity() + self->out_.capacity());
  });
  return told->get_future();
}

// The server stops: idle connections close at once, the others after their response.
void Connection::retire() {
  if (closed_) return;
  retired_ = true;
  if (response_queue_) return response_queue_->retire();
  if (!parser_ && !lingering_) close();
}

void Connection::close() {
  if (closed_) return;
  closed_ = true;
  error_code ignored;
  watchdog_.cancel();
  socket_.close(ignored);
  if (response_queue_) response_queue_->close();
  leave_strangers();
  shared_.forget(this);
}

void Connection::set_read_deadline(Duration from_now) {
  read_deadline_ = std::chrono::steady_clock::now() + chrono_of(from_now);
  arm();
}

// One timer serves all deadlines and is not touched when a deadline moves later: most never expire.
void Connection::arm() {
  const Instant first = std::min(read_deadline_, write_deadline_);
  if (closed_ || first >= watchdog_at_) return;
  watchdog_at_ = first;
  watchdog_.expires_at(first);
  watchdog_.async_wait([self = shared_from_this()](error_code error) {
    if (!error) self->on_watchdog();
  });
}

void Connection::on_watchdog() {
  const Instant now = std::chrono::steady_clock::now();
  if (now < watchdog_at_) return;
  watchdog_at_ = kNever;
  if (now < std::min(read_deadline_, write_deadline_)) return arm();
  if (now >= write_deadline_ && response_queue_ && response_queue_->is_endless())
    log(LogLevel::Warning, "a watch was cut: its peer takes nothing",
        {{"user", user_.name}, {"seconds", std::to_string(shared_.limits.stall_timeout.whole_seconds())}});
  close();
}

}  // namespace

// The threads and the listening socket.
class Transport::Pool {
 public:
  explicit Pool(HttpHandler& handler) : shared_(handler), acceptor_(strand_), pause_(strand_) {}
  ~Pool() { stop(Duration()); }

  Status open(const TransportOptions& options);
  void accept_now();
  void stop(Duration grace);
  Endpoint local() const { return local_; }
  std::size_t connection_count() {
    const std::lock_guard lock(shared_.mutex);
    return shared_.connections.size();
  }
  std::size_t buffered_bytes();
  Status use_identity(const TlsMaterial& material);

 private:
  Status bind(const TransportOptions& options);
  void accept();
  void admit(Socket socket);
  void retire_all();

  asio::io_context io_;  // destroyed after everything that uses it
  Shared shared_;
  Strand strand_ = asio::make_strand(io_);
  Acceptor acceptor_;
  Timer pause_;
  Endpoint local_;
  unsigned thread_count_ = 0;
  std::vector<std::thread> threads_;
};

Status Transport::Pool::bind(const TransportOptions& options) {
  error_code error;
  const std::string numeric = options.address == "localhost" ? "127.0.0.1" : options.address;
  const asio::ip::address address = asio::ip::make_address(numeric, error);
  if (error) return Error(ErrorCode::Invalid, options.address, "not an IP address");
  if (!options.tls && !address.is_loopback())
    return Error(
        ErrorCode::Forbidden, options.address,
        "plain HTTP is served on loopback addresses only: anyone who reaches it is the administrator");
  const asio::ip::tcp::endpoint endpoint(address, options.port);
  acceptor_.open(endpoint.protocol(), error);
  if (!error) acceptor_.set_option(asio::socket_base::reuse_address(true), error);
  if (!error) acceptor_.bind(endpoint, error);
  if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
  if (error)
    return Error(ErrorCode::Unavailable, options.address + ":" + std::to_string(options.port),
                 "cannot listen: " + error.message());
  local_ = {.address = numeric, .port = acceptor_.local_endpoint(error).port()};
  return {};
}

Status Transport::Pool::open(const TransportOptions& options) {
  BERTH_ASSERT(options.threads > 0, "someone has to serve");
  shared_.limits = options.limits;
  shared_.strangers = Strangers(options.limits.strangers_per_address_max);
  shared_.insecure_user = options.insecure_user;
  shared_.names = options.names;
  shared_.clock = options.clock;
  if (options.tls) shared_.tls = TRY(server_tls(*options.tls));
  TRY(bind(options));
  thread_count_ = options.threads;
  if (options.accepts == Accepts::AtOnce) accept_now();
  return {};
}

// The threads come last: without an accept under way they have nothing to wait for, and would end.
void Transport::Pool::accept_now() {
  asio::post(strand_, [this] { accept(); });
  for (unsigned i = 0; i < thread_count_; ++i) threads_.emplace_back([this] { io_.run(); });
}

Status Transport::Pool::use_identity(const TlsMaterial& material) {
  BERTH_ASSERT(shared_.tls, "it serves TLS");
  TlsContext context = TRY(server_tls(material));
  // Connections are made on this strand; open ones keep the context that they have.
  asio::post(strand_, [this, context = std::move(context)]() mutable { shared_.tls = std::move(context); });
  return {};
}

std::size_t Transport::Pool::buffered_bytes() {
  std::size_t bytes = 0;
  for (const auto& connection : shared_.everyone()) bytes += connection->post_buffered_bytes().get();
  return bytes;
}

void Transport::Pool::accept() {
  if (!acceptor_.is_open()) return;
  acceptor_.async_accept(asio::make_strand(io_), [this](error_code error, Socket socket) {
    if (error == asio::error::operation_aborted) return;
    if (!error) {
      admit(std::move(socket));
      return accept();
    }
    log(LogLevel::Warning, "a connection could not be accepted", {{"error", error.message()}});
    pause_.expires_after(kAcceptPause);
    pause_.async_wait([this](error_code stopped) {
      if (!stopped) accept();
    });
  });
}

void Transport::Pool::admit(Socket socket) {
  error_code gone;
  const std::string address = socket.remote_endpoint(gone).address().to_string();
  if (gone) return;
  const auto connection = std::make_shared<Connection>(std::move(socket), shared_);
  std::shared_ptr<Connection> evicted;
  const bool admitted = shared_.admit(connection, address, evicted);
  if (evicted) evicted->post_close();
  if (admitted) connection->start();
}

void Transport::Pool::retire_all() {
  asio::post(strand_, [this] {
    error_code ignored;
    acceptor_.close(ignored);
    pause_.cancel();
  });
  for (const auto& connection : shared_.everyone()) connection->post_retire();
}

void Transport::Pool::stop(Duration grace) {
  {
    const std::lock_guard lock(shared_.mutex);
    if (shared_.stopping) return;
    shared_.stopping = true;
  }
  retire_all();
  {
    std::unique_lock lock(shared_.mutex);
    shared_.gone.wait_for(lock, chrono_of(grace), [this] { return shared_.connections.empty(); });
  }
  for (const auto& connection : shared_.everyone()) connection->post_close();
  for (std::thread& thread : threads_) thread.join();
}

Transport::Transport(std::unique_ptr<Pool> pool) : pool_(std::move(pool)) {}
Transport::~Transport() = default;

Result<std::unique_ptr<Transport>> Transport::listen(const TransportOptions& options, HttpHandler& handler) {
  try {
    auto pool = std::make_unique<Pool>(handler);
    TRY(pool->open(options));
    return std::unique_ptr<Transport>(new Transport(std::move(pool)));
  } catch (const std::exception& failure) {
    return Error(ErrorCode::Internal, options.address, std::string("cannot listen: ") + failure.what());
  }
}

Endpoint Transport::local() const {
  return pool_->local();
}
void Transport::accept_now() {
  pool_->accept_now();
}
Status Transport::use_identity(const TlsMaterial& material) {
  return pool_->use_identity(material);
}
std::size_t Transport::connection_count() const {
  return pool_->connection_count();
}
std::size_t Transport::buffered_bytes() const {
  return pool_->buffered_bytes();
}
void Transport::stop(Duration grace) {
  pool_->stop(grace);
}

}  // namespace berth::server
