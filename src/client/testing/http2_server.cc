#include "client/testing/http2_server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <nghttp2/nghttp2.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstring>
#include <map>

#include "client/testing/test_certificate.h"

namespace berth::client {
namespace {

constexpr int kPollMillis = 10;
constexpr std::size_t kHeaderBlockBytesMax = 1u << 20;  // headers that are too large can be sent, too

std::uint8_t* octets(std::string_view text) {
  return reinterpret_cast<std::uint8_t*>(const_cast<char*>(text.data()));
}

int choose_h2(SSL*, const unsigned char** out, unsigned char* out_size, const unsigned char*, unsigned int,
              void*) {
  *out = reinterpret_cast<const unsigned char*>("h2");
  *out_size = 2;
  return SSL_TLSEXT_ERR_OK;
}

// One connection.
class Peer final : public Http2Peer {
 public:
  using OnRequest = std::function<void(Peer&, Http2Request)>;

  Peer(int file, SSL_CTX* context, const Http2ServerOptions& options, OnRequest on_request);
  ~Peer() override {
    nghttp2_session_del(session_);
    SSL_free(tls_);
    ::close(file_);
  }
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  void respond(std::int32_t stream, int status, std::string body, const HttpHeaders& headers) override;
  void respond_head(std::int32_t stream, std::size_t length) override;
  void reset(std::int32_t stream, std::uint32_t code) override {
    nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, stream, code);
  }
  void go_away(std::int32_t last_stream) override {
    nghttp2_submit_goaway(session_, NGHTTP2_FLAG_NONE, last_stream, NGHTTP2_NO_ERROR, nullptr, 0);
  }
  void cut() override { is_cut_ = true; }
  void fall_silent() override { speaks_ = false; }

  pollfd awaited() const {
    const bool listens = speaks_ || !shook_hands_;
    return {.fd = listens ? file_ : -1,
            .events = static_cast<short>(POLLIN | (unsent_.empty() ? 0 : POLLOUT)),
            .revents = 0};
  }
  int streams() const { return static_cast<int>(open_.size()); }
  // False when the connection is to be closed.
  bool work();

 private:
  bool read();
  bool write();
  static int on_header(nghttp2_session*, const nghttp2_frame* frame, const std::uint8_t* name,
                       std::size_t name_size, const std::uint8_t* value, std::size_t value_size, std::uint8_t,
                       void* user);
  static int on_data(nghttp2_session*, std::uint8_t, std::int32_t stream, const std::uint8_t* bytes,
                     std::size_t size, void* user);
  static int on_frame(nghttp2_session*, const nghttp2_frame* frame, void* user);
  static int on_close(nghttp2_session*, std::int32_t stream, std::uint32_t, void* user);
  static ssize_t on_answer_wanted(nghttp2_session*, std::int32_t stream, std::uint8_t* room, std::size_t size,
                                  std::uint32_t* flags, nghttp2_data_source*, void* user);

  int file_;
  SSL* tls_;
  const OnRequest on_request_;
  nghttp2_session* session_ = nullptr;
  std::map<std::int32_t, Http2Request> open_;
  std::map<std::int32_t, std::string> answers_;  // what is left of their bodies
  std::string unsent_;
  bool shook_hands_ = false, speaks_ = true, is_cut_ = false;
};

Peer::Peer(int file, SSL_CTX* context, const Http2ServerOptions& options, OnRequest on_request)
    : file_(file), tls_(SSL_new(context)), on_request_(std::move(on_request)), speaks_(options.speaks) {
  const int on = 1;
  ::fcntl(file_, F_SETFL, O_NONBLOCK);
  ::setsockopt(file_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  SSL_set_fd(tls_, file_);
  SSL_set_accept_state(tls_);
  nghttp2_session_callbacks* callbacks = nullptr;
  nghttp2_session_callbacks_new(&callbacks);
  nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
  nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
  nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_close);
  nghttp2_option* option = nullptr;
  nghttp2_option_new(&option);
  nghttp2_option_set_max_send_header_block_length(option, kHeaderBlockBytesMax);
  nghttp2_session_server_new2(&session_, callbacks, this, option);
  nghttp2_option_del(option);
  nghttp2_session_callbacks_del(callbacks);
  const nghttp2_settings_entry settings[] = {
      {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, options.streams_max},
      {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, options.stream_window_bytes}};
  nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, settings, std::size(settings));
}

int Peer::on_header(nghttp2_session*, const nghttp2_frame* frame, const std::uint8_t* name,
                    std::size_t name_size, const std::uint8_t* value, std::size_t value_size, std::uint8_t,
                    void* user) {
  Http2Request& request = static_cast<Peer*>(user)->open_[frame->hd.stream_id];
  const std::string key(reinterpret_cast<const char*>(name), name_size);
  const std::string text(reinterpret_cast<const char*>(value), value_size);
  request.stream = frame->hd.stream_id;
  if (key == ":method") request.method = text;
  if (key == ":path") request.path = text;
  request.headers.emplace_back(key, text);
  return 0;
}

int Peer::on_data(nghttp2_session*, std::uint8_t, std::int32_t stream, const std::uint8_t* bytes,
                  std::size_t size, void* user) {
  static_cast<Peer*>(user)->open_[stream].body.append(reinterpret_cast<const char*>(bytes), size);
  return 0;
}

int Peer::on_frame(nghttp2_session*, const nghttp2_frame* frame, void* user) {
  Peer& self = *static_cast<Peer*>(user);
  const bool carries = frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA;
  if (carries && (frame->hd.flags & NGHTTP2_FLAG_END_STREAM))
    self.on_request_(self, self.open_[frame->hd.stream_id]);
  return 0;
}

int Peer::on_close(nghttp2_session*, std::int32_t stream, std::uint32_t, void* user) {
  static_cast<Peer*>(user)->open_.erase(stream);
  static_cast<Peer*>(user)->answers_.erase(stream);
  return 0;
}

ssize_t Peer::on_answer_wanted(nghttp2_session*, std::int32_t stream, std::uint8_t* room, std::size_t size,
                               std::uint32_t* flags, nghttp2_data_source*, void* user) {
  std::string& left = static_cast<Peer*>(user)->answers_[stream];
  const std::size_t count = std::min(size, left.size());
  std::memcpy(room, left.data(), count);
  left.erase(0, count);
  if (left.empty()) *flags |= NGHTTP2_DATA_FLAG_EOF;
  return static_cast<ssize_t>(count);
}

nghttp2_nv field(std::string_view name, std::string_view value) {
  return {octets(name), octets(value), name.size(), value.size(), NGHTTP2_NV_FLAG_NONE};
}

void Peer::respond(std::int32_t stream, int status, std::string body, const HttpHeaders& headers) {
  const std::string code = std::to_string(status);
  std::vector<nghttp2_nv> fields = {field(":status", code)};
  for (const auto& [name, value] : headers) fields.push_back(field(name, value));
  answers_[stream] = std::move(body);
  const nghttp2_data_provider provider{.source = {}, .read_callback = on_answer_wanted};
  nghttp2_submit_response(session_, stream, fields.data(), fields.size(), &provider);
}

void Peer::respond_head(std::int32_t stream, std::size_t length) {
  const std::string size = std::to_string(length);
  const nghttp2_nv fields[] = {field(":status", "200"), field("content-length", size)};
  nghttp2_submit_headers(session_, NGHTTP2_FLAG_NONE, stream, nullptr, fields, std::size(fields), nullptr);
}

bool Peer::read() {
  char bytes[16384];
  for (;;) {
    const int size = SSL_read(tls_, bytes, sizeof bytes);
    if (size <= 0) return SSL_get_error(tls_, size) == SSL_ERROR_WANT_READ;
    if (nghttp2_session_mem_recv(session_, octets({bytes, sizeof bytes}), static_cast<std::size_t>(size)) < 0)
      return false;
    if (!speaks_) return true;
  }
}

bool Peer::write() {
  for (;;) {
    if (unsent_.empty()) {
      const std::uint8_t* bytes = nullptr;
      const ssize_t size = nghttp2_session_mem_send(session_, &bytes);
      if (size <= 0) return size == 0;
      unsent_.assign(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
    }
    const int sent = SSL_write(tls_, unsent_.data(), static_cast<int>(unsent_.size()));
    if (sent <= 0) return SSL_get_error(tls_, sent) == SSL_ERROR_WANT_WRITE;
    unsent_.erase(0, static_cast<std::size_t>(sent));
  }
}

bool Peer::work() {
  ERR_clear_error();
  if (!shook_hands_) {
    const int done = SSL_do_handshake(tls_);
    if (done != 1) return SSL_get_error(tls_, done) == SSL_ERROR_WANT_READ;
    shook_hands_ = true;
  }
  if (!speaks_) return true;
  return read() && (!speaks_ || write()) && !is_cut_;
}

}  // namespace

class Http2Server::Loop {
 public:
  Loop(Http2Server& server, Script script, Options options);
  ~Loop() { ::close(file_); }
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  void run();

 private:
  void accept();

  Http2Server& server_;
  const Script script_;
  const Options options_;
  std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context_{SSL_CTX_new(TLS_server_method()), SSL_CTX_free};
  int file_;
  std::vector<std::unique_ptr<Peer>> peers_;
};

Http2Server::Loop::Loop(Http2Server& server, Script script, Options options)
    : server_(server),
      script_(std::move(script)),
      options_(options),
      file_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ::bind(file_, reinterpret_cast<sockaddr*>(&address), size);
  ::listen(file_, 16);
  ::getsockname(file_, reinterpret_cast<sockaddr*>(&address), &size);

  const TestCertificate made = make_test_certificate();
  server_.access_.server = "https://127.0.0.1:" + std::to_string(ntohs(address.sin_port));
  server_.access_.ca_pem = made.certificate_pem;
  BIO* const certificate = BIO_new_mem_buf(made.certificate_pem.data(), -1);
  BIO* const key = BIO_new_mem_buf(made.key_pem.data(), -1);
  X509* const leaf = PEM_read_bio_X509(certificate, nullptr, nullptr, nullptr);
  EVP_PKEY* const secret = PEM_read_bio_PrivateKey(key, nullptr, nullptr, nullptr);
  SSL_CTX_use_certificate(context_.get(), leaf);
  SSL_CTX_use_PrivateKey(context_.get(), secret);
  X509_free(leaf);
  EVP_PKEY_free(secret);
  BIO_free_all(certificate);
  BIO_free_all(key);
  SSL_CTX_set_alpn_select_cb(context_.get(), choose_h2, nullptr);
  SSL_CTX_set_mode(context_.get(), SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
}

void Http2Server::Loop::accept() {
  const int file = ::accept(file_, nullptr, nullptr);
  if (file < 0) return;
  ++server_.connections_;
  peers_.push_back(
      std::make_unique<Peer>(file, context_.get(), options_, [this](Peer& peer, Http2Request request) {
        server_.streams_max_ = std::max(server_.streams_max_.load(), peer.streams());
        request.number = ++server_.requests_;
        script_(peer, request);
      }));
}

void Http2Server::Loop::run() {
  while (!server_.stopping_) {
    std::vector<pollfd> files = {{.fd = file_, .events = POLLIN, .revents = 0}};
    for (const auto& peer : peers_) files.push_back(peer->awaited());
    ::poll(files.data(), files.size(), kPollMillis);
    std::erase_if(peers_, [](const auto& peer) { return !peer->work(); });
    if (files[0].revents) accept();
  }
}

std::string_view Http2Request::header(std::string_view name) const {
  for (const auto& [key, value] : headers)
    if (key == name) return value;
  return {};
}

Http2Server::Http2Server(Script script, Options options) {
  std::signal(SIGPIPE, SIG_IGN);
  loop_ = std::make_unique<Loop>(*this, std::move(script), options);
  thread_ = std::thread([this] { loop_->run(); });
}

Http2Server::~Http2Server() {
  stopping_ = true;
  thread_.join();
}

}  // namespace berth::client
