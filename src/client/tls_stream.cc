#include "client/tls_stream.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace berth::client {
namespace {

using Bio = std::unique_ptr<BIO, decltype(&BIO_free_all)>;
using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;
using PrivateKey = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;

constexpr int kCertificatesMax = 1024;  // in one PEM text
constexpr unsigned char kProtocols[] = {2, 'h', '2', 8, 'h', 't', 't', 'p', '/', '1', '.', '1'};
// Where libcurl looks too; OpenSSL's own places are those of the machine that it was built for.
constexpr const char* kAuthoritiesFile = "/etc/ssl/certs/ca-certificates.crt";
constexpr int kKeepAliveSeconds = 30;

std::string with_reason(std::string sentence) {
  if (const unsigned long code = ERR_get_error())
    if (const char* reason = ERR_reason_error_string(code)) sentence += std::string(": ") + reason;
  ERR_clear_error();
  return sentence;
}

Error invalid(std::string sentence) {
  return Error(ErrorCode::Invalid, with_reason(std::move(sentence)));
}

Bio reader(const std::string& pem) {
  return Bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), BIO_free_all);
}

// A key with a password is refused: OpenSSL would ask on the terminal.
int no_password(char*, int, int, void*) {
  return 0;
}

Status trust(SSL_CTX* context, const std::string& authorities_pem) {
  X509_STORE* const store = SSL_CTX_get_cert_store(context);
  X509_STORE_set_flags(store, X509_V_FLAG_PARTIAL_CHAIN);  // each of them is trusted by itself, as in Go
  if (authorities_pem.empty()) {
    SSL_CTX_set_default_verify_paths(context);
    SSL_CTX_load_verify_file(context, kAuthoritiesFile);
    ERR_clear_error();
    return {};
  }
  const Bio authorities = reader(authorities_pem);
  int found = 0;
  for (; found < kCertificatesMax; ++found) {
    const Certificate authority(PEM_read_bio_X509(authorities.get(), nullptr, nullptr, nullptr), X509_free);
    if (!authority) break;
    X509_STORE_add_cert(store, authority.get());
  }
  if (found == 0) return invalid("the certificate authority is no PEM certificate");
  ERR_clear_error();
  return {};
}

Status show(SSL_CTX* context, const std::string& certificate_pem, const std::string& key_pem) {
  const Bio chain = reader(certificate_pem);
  const Certificate leaf(PEM_read_bio_X509(chain.get(), nullptr, nullptr, nullptr), X509_free);
  if (!leaf || SSL_CTX_use_certificate(context, leaf.get()) != 1)
    return invalid("the client certificate is no PEM certificate");
  for (int count = 0; count < kCertificatesMax; ++count) {
    X509* const issuer = PEM_read_bio_X509(chain.get(), nullptr, nullptr, nullptr);
    if (!issuer) break;
    SSL_CTX_add0_chain_cert(context, issuer);
  }
  ERR_clear_error();
  const PrivateKey key(PEM_read_bio_PrivateKey(reader(key_pem).get(), nullptr, no_password, nullptr),
                       EVP_PKEY_free);
  if (!key || SSL_CTX_use_PrivateKey(context, key.get()) != 1 || SSL_CTX_check_private_key(context) != 1)
    return invalid("the client key is not the PEM key of the client certificate");
  return {};
}

bool is_address(const std::string& name) {
  unsigned char bytes[sizeof(in6_addr)];
  return inet_pton(AF_INET, name.c_str(), bytes) == 1 || inet_pton(AF_INET6, name.c_str(), bytes) == 1;
}

bool expect_name(SSL* tls, const std::string& name) {
  if (is_address(name)) return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(tls), name.c_str()) == 1;
  return SSL_set1_host(tls, name.c_str()) == 1 && SSL_set_tlsext_host_name(tls, name.c_str()) == 1;
}

}  // namespace

void FreeTls::operator()(ssl_ctx_st* context) const {
  SSL_CTX_free(context);
}
void FreeTls::operator()(ssl_st* session) const {
  SSL_free(session);
}
void FreeTls::operator()(addrinfo* addresses) const {
  freeaddrinfo(addresses);
}

Error broken_connection(std::string sentence) {
  return Error(ErrorCode::Unavailable, std::move(sentence));
}

Result<TlsContext> client_tls(const ClusterAccess& access) {
  TlsContext context(SSL_CTX_new(TLS_client_method()));
  if (!context) return invalid("no TLS context");
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  SSL_CTX_set_options(context.get(), SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
  SSL_CTX_set_verify(context.get(), access.insecure_skip_tls_verify ? SSL_VERIFY_NONE : SSL_VERIFY_PEER,
                     nullptr);
  SSL_CTX_set_alpn_protos(context.get(), kProtocols, sizeof kProtocols);
  if (!access.insecure_skip_tls_verify) TRY(trust(context.get(), access.ca_pem));
  if (!access.client_certificate_pem.empty())
    TRY(show(context.get(), access.client_certificate_pem, access.client_key_pem));
  return context;
}

TlsStream::TlsStream(ssl_ctx_st* context, std::string name)
    : context_(context), name_(std::move(name)), room_(kTlsReadBytes) {}

TlsStream::~TlsStream() {
  close_socket();
}

void TlsStream::close_socket() {
  if (file_ >= 0) ::close(std::exchange(file_, -1));
}

Result<std::unique_ptr<TlsStream>> TlsStream::connect(ssl_ctx_st* context, const ServerUrl& server,
                                                      const std::string& name, Time deadline) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_ADDRCONFIG | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  if (is_address(server.host)) hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  if (const int failure = getaddrinfo(server.host.c_str(), server.port.c_str(), &hints, &found))
    return broken_connection(server.authority + " has no address: " + gai_strerror(failure));
  std::unique_ptr<TlsStream> stream(new TlsStream(context, name));
  stream->addresses_.reset(found);
  stream->next_address_ = found;
  stream->deadline_ = deadline;
  for (const addrinfo* one = found; one && stream->addresses_left_ < kTlsAddressesMax; one = one->ai_next)
    ++stream->addresses_left_;
  return stream;
}

pollfd TlsStream::awaited() const {
  const bool writes = state_ == State::Connecting || has_unsent();
  return {
      .fd = file_,
      .events = static_cast<short>(state_ == State::Connecting ? POLLOUT : POLLIN | (writes ? POLLOUT : 0)),
      .revents = 0};
}

Status TlsStream::try_next_address(Time now) {
  while (addresses_left_ > 0) {
    close_socket();
    const addrinfo& address = *std::exchange(next_address_, next_address_->ai_next);
    const auto share = static_cast<std::int64_t>(addresses_left_--);
    address_deadline_ = now + Duration::micros((deadline_ - now).micros() / share);
    file_ = ::socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (file_ >= 0 && (::connect(file_, address.ai_addr, address.ai_addrlen) == 0 || errno == EINPROGRESS)) {
      state_ = State::Connecting;
      return {};
    }
    trouble_ = std::string("no connection: ") + std::strerror(errno);
  }
  return broken_connection(trouble_);
}

Result<bool> TlsStream::advance(Time now) {
  if (state_ == State::Open) return true;
  if (file_ < 0) TRY(try_next_address(now));
  for (;;) {
    Result<bool> opened = state_ == State::Connecting ? finish_connect() : shake_hands();
    if (opened && *opened) return true;
    if (opened && now < address_deadline_) return false;
    trouble_ = opened ? "no connection in time" : opened.error().text();
    TRY(try_next_address(now));
  }
}

Result<bool> TlsStream::finish_connect() {
  pollfd file{.fd = file_, .events = POLLOUT, .revents = 0};
  if (::poll(&file, 1, 0) == 0) return false;
  int failure = 0;
  socklen_t size = sizeof failure;
  ::getsockopt(file_, SOL_SOCKET, SO_ERROR, &failure, &size);
  if (failure != 0) return broken_connection(std::string("no connection: ") + std::strerror(failure));
  TRY(begin_handshake());
  return shake_hands();
}

Status TlsStream::begin_handshake() {
  const int on = 1;
  ::setsockopt(file_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  ::setsockopt(file_, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  ::setsockopt(file_, IPPROTO_TCP, TCP_KEEPIDLE, &kKeepAliveSeconds, sizeof kKeepAliveSeconds);
  unsent_.clear();
  sent_ = 0;
  tls_.reset(SSL_new(context_));
  BIO* const received = BIO_new(BIO_s_mem());
  BIO* const written = BIO_new(BIO_s_mem());
  if (!tls_ || !received || !written) return broken_connection("no TLS session");
  BIO_set_mem_eof_return(received, -1);
  SSL_set_bio(tls_.get(), received, written);
  SSL_set_connect_state(tls_.get());
  if (!expect_name(tls_.get(), name_))
    return broken_connection(with_reason("\"" + name_ + "\" is no server name"));
  state_ = State::Handshaking;
  return {};
}

Result<bool> TlsStream::shake_hands() {
  TRY(flush());
  for (;;) {
    ERR_clear_error();
    const int done = SSL_do_handshake(tls_.get());
    const int reason = SSL_get_error(tls_.get(), done);
    take_encrypted();
    if (done != 1 && reason != SSL_ERROR_WANT_READ) {
      (void)flush().ok();  // the alert that says why
      const long verified = SSL_get_verify_result(tls_.get());
      std::string sentence = with_reason("no TLS connection");
      if (verified != X509_V_OK) sentence += std::string(": ") + X509_verify_cert_error_string(verified);
      return broken_connection(std::move(sentence));
    }
    TRY(flush());
    if (done == 1) break;
    if (TRY(receive()) == 0) return false;
  }
  state_ = State::Open;
  return true;
}

bool TlsStream::speaks_h2() const {
  const unsigned char* chosen = nullptr;
  unsigned int size = 0;
  SSL_get0_alpn_selected(tls_.get(), &chosen, &size);
  return size == 2 && std::memcmp(chosen, "h2", 2) == 0;
}

Result<std::size_t> TlsStream::receive() {
  const ssize_t size = ::recv(file_, room_.data(), room_.size(), 0);
  if (size == 0) return broken_connection("the server closed the connection");
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return std::size_t{0};
  if (size < 0) return broken_connection(std::string("the connection broke: ") + std::strerror(errno));
  if (BIO_write(SSL_get_rbio(tls_.get()), room_.data(), static_cast<int>(size)) != size)
    return broken_connection("no memory for what was received");
  return static_cast<std::size_t>(size);
}

Result<std::string_view> TlsStream::decrypted() {
  ERR_clear_error();
  const int size = SSL_read(tls_.get(), room_.data(), static_cast<int>(room_.size()));
  if (size > 0) return std::string_view(room_.data(), static_cast<std::size_t>(size));
  const int reason = SSL_get_error(tls_.get(), size);
  take_encrypted();  // an answer to a key update, or an alert
  if (reason == SSL_ERROR_WANT_READ) return std::string_view();
  if (reason == SSL_ERROR_ZERO_RETURN) return broken_connection("the server closed the connection");
  return broken_connection(with_reason("the TLS connection broke"));
}

Status TlsStream::write(std::string_view plain) {
  ERR_clear_error();
  std::size_t written = 0;
  if (!plain.empty() && SSL_write_ex(tls_.get(), plain.data(), plain.size(), &written) != 1)
    return broken_connection(with_reason("the TLS connection broke"));
  take_encrypted();
  return {};
}

void TlsStream::take_encrypted() {
  BIO* const written = SSL_get_wbio(tls_.get());
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(written, &bytes);
  if (size > 0) unsent_.append(bytes, static_cast<std::size_t>(size));
  (void)BIO_reset(written);
}

Status TlsStream::flush() {
  while (has_unsent()) {
    const ssize_t size = ::send(file_, unsent_.data() + sent_, unsent_.size() - sent_, MSG_NOSIGNAL);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == EAGAIN) return {};
    if (size < 0) return broken_connection(std::string("the connection broke: ") + std::strerror(errno));
    sent_ += static_cast<std::size_t>(size);
  }
  unsent_.clear();
  sent_ = 0;
  return {};
}

}  // namespace berth::client
