#include "server/transport/tls.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdint>
#include <new>
#include <utility>

#include "server/transport/subject_names.h"

namespace berth::server {
namespace {

using Bio = std::unique_ptr<BIO, decltype(&BIO_free_all)>;
using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;
using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;

constexpr int kCertificatesMax = 64;  // in one PEM text

Error tls_error(std::string sentence) {
  if (const unsigned long code = ERR_get_error())
    sentence += std::string(": ") + ERR_reason_error_string(code);
  ERR_clear_error();
  return Error(ErrorCode::Invalid, std::move(sentence));
}

Bio reader(const std::string& pem) {
  return Bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), BIO_free_all);
}

Status use_server_certificate(SSL_CTX* context, const TlsMaterial& material) {
  const Bio chain = reader(material.certificate_pem);
  const Certificate leaf(PEM_read_bio_X509(chain.get(), nullptr, nullptr, nullptr), X509_free);
  if (!leaf || SSL_CTX_use_certificate(context, leaf.get()) != 1)
    return tls_error("the server certificate is not a PEM certificate");
  for (int count = 0; count < kCertificatesMax; ++count) {
    X509* issuer = PEM_read_bio_X509(chain.get(), nullptr, nullptr, nullptr);
    if (!issuer) break;
    SSL_CTX_add0_chain_cert(context, issuer);
  }
  const Key key(PEM_read_bio_PrivateKey(reader(material.key_pem).get(), nullptr, nullptr, nullptr),
                EVP_PKEY_free);
  if (!key || SSL_CTX_use_PrivateKey(context, key.get()) != 1 || SSL_CTX_check_private_key(context) != 1)
    return tls_error("the server key is not the PEM key of the server certificate");
  ERR_clear_error();
  return {};
}

Status ask_for_client_certificates(SSL_CTX* context, const std::string& pem) {
  const Bio authorities = reader(pem);
  int found = 0;
  for (; found < kCertificatesMax; ++found) {
    const Certificate ca(PEM_read_bio_X509(authorities.get(), nullptr, nullptr, nullptr), X509_free);
    if (!ca) break;
    X509_STORE_add_cert(SSL_CTX_get_cert_store(context), ca.get());
    SSL_CTX_add_client_CA(context, ca.get());
  }
  if (found == 0) return tls_error("the client CA is not a PEM certificate");
  ERR_clear_error();
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
  return {};
}

int choose_protocol(SSL*, const unsigned char** out, unsigned char* out_size, const unsigned char* offered,
                    unsigned int offered_size, void*) {
  static constexpr unsigned char kHttp11[] = {8, 'h', 't', 't', 'p', '/', '1', '.', '1'};
  unsigned char* chosen = nullptr;
  if (SSL_select_next_proto(&chosen, out_size, kHttp11, sizeof kHttp11, offered, offered_size) !=
      OPENSSL_NPN_NEGOTIATED)
    return SSL_TLSEXT_ERR_ALERT_FATAL;
  *out = chosen;
  return SSL_TLSEXT_ERR_OK;
}

// A BIO on a socket. OpenSSL's own writes with write(), which ends the process when the peer is gone.
int socket_of(BIO* bio) {
  return static_cast<int>(reinterpret_cast<std::intptr_t>(BIO_get_data(bio)));
}

bool would_block() {
  return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

int receive(BIO* bio, char* into, int size) {
  BIO_clear_retry_flags(bio);
  const ssize_t received = ::recv(socket_of(bio), into, static_cast<std::size_t>(size), 0);
  if (received < 0 && would_block()) BIO_set_retry_read(bio);
  return static_cast<int>(received);
}

int transmit(BIO* bio, const char* bytes, int size) {
  BIO_clear_retry_flags(bio);
  const ssize_t sent = ::send(socket_of(bio), bytes, static_cast<std::size_t>(size), MSG_NOSIGNAL);
  if (sent < 0 && would_block()) BIO_set_retry_write(bio);
  return static_cast<int>(sent);
}

long control(BIO*, int command, long, void*) {
  return command == BIO_CTRL_FLUSH ? 1 : 0;
}

const BIO_METHOD* socket_method() {
  static const BIO_METHOD* const method = [] {
    BIO_METHOD* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "socket");
    BIO_meth_set_read(made, receive);
    BIO_meth_set_write(made, transmit);
    BIO_meth_set_ctrl(made, control);
    return made;
  }();
  return method;
}

}  // namespace

void FreeTlsContext::operator()(ssl_ctx_st* context) const {
  SSL_CTX_free(context);
}

Result<TlsContext> server_tls(const TlsMaterial& material) {
  TlsContext context(SSL_CTX_new(TLS_server_method()));
  if (!context) return tls_error("no TLS context");
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  SSL_CTX_set_options(context.get(), SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(context.get(), 0);
  SSL_CTX_set_mode(context.get(), SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                                      SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_read_ahead(context.get(), 1);  // a record's header and body in one system call
  SSL_CTX_set_alpn_select_cb(context.get(), choose_protocol, nullptr);
  TRY(use_server_certificate(context.get(), material));
  if (!material.client_ca_pem.empty())
    TRY(ask_for_client_certificates(context.get(), material.client_ca_pem));
  return context;
}

void FreeTlsSession::operator()(ssl_st* session) const {
  SSL_free(session);
}

TlsSession::TlsSession(ssl_ctx_st* context, int socket) : session_(SSL_new(context)) {
  BIO* bio = session_ ? BIO_new(socket_method()) : nullptr;
  if (!bio) throw std::bad_alloc();
  BIO_set_data(bio, reinterpret_cast<void*>(static_cast<std::intptr_t>(socket)));
  BIO_set_init(bio, 1);
  SSL_set_bio(session_.get(), bio, bio);
}

TlsSession::Step TlsSession::step_of(int outcome, std::size_t bytes) {
  if (outcome > 0) return {State::Done, bytes};
  switch (SSL_get_error(session_.get(), outcome)) {
    case SSL_ERROR_WANT_READ:
      return {State::WantsRead};
    case SSL_ERROR_WANT_WRITE:
      return {State::WantsWrite};
    default:
      return {State::Ended};
  }
}

TlsSession::Step TlsSession::shake_hands() {
  ERR_clear_error();
  const Step step = step_of(SSL_accept(session_.get()), 0);
  const unsigned long error = ERR_peek_error();
  met_plain_http_ = step.state == State::Ended && ERR_GET_LIB(error) == ERR_LIB_SSL &&
                    ERR_GET_REASON(error) == SSL_R_HTTP_REQUEST;
  return step;
}

TlsSession::Step TlsSession::read(std::span<char> into) {
  ERR_clear_error();
  std::size_t bytes = 0;
  const int outcome = SSL_read_ex(session_.get(), into.data(), into.size(), &bytes);
  return step_of(outcome, bytes);
}

TlsSession::Step TlsSession::write(std::string_view bytes) {
  ERR_clear_error();
  std::size_t written = 0;
  const int outcome = SSL_write_ex(session_.get(), bytes.data(), bytes.size(), &written);
  return step_of(outcome, written);
}

bool TlsSession::holds_input() const {
  return SSL_has_pending(session_.get()) == 1;
}

User TlsSession::user() const {
  const X509* certificate = SSL_get0_peer_certificate(session_.get());
  if (!certificate || SSL_get_verify_result(session_.get()) != X509_V_OK) return {};
  SubjectNames subject = subject_names(X509_get_subject_name(certificate));
  if (subject.common_name.empty()) return {};
  return {std::move(subject.common_name), std::move(subject.organizations)};
}

}  // namespace berth::server
