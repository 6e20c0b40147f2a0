#include "server/transport/certificates.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>

#include "base/text_file.h"
#include "server/transport/subject_names.h"

namespace berth::server {
namespace {

using Bio = std::unique_ptr<BIO, decltype(&BIO_free_all)>;
using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;
using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using Extension = std::unique_ptr<X509_EXTENSION, decltype(&X509_EXTENSION_free)>;

constexpr Duration kSkew = Duration::minutes(60);
constexpr Duration kDay = Duration::minutes(24 * 60);
constexpr Duration kCaValidity = kDay * 3650;
constexpr Duration kLeafValidity = kDay * 365;
constexpr Duration kRenewBefore = kDay * 30;
constexpr std::size_t kPemFileBytesMax = 1u << 20;
constexpr const char* kServerHosts[] = {"localhost",  "127.0.0.1",          "::1",
                                        "kubernetes", "kubernetes.default", "kubernetes.default.svc"};

Error openssl_error(std::string sentence) {
  if (const unsigned long code = ERR_get_error())
    sentence += std::string(": ") + ERR_reason_error_string(code);
  ERR_clear_error();
  return Error(ErrorCode::Internal, std::move(sentence));
}

// A parsed certificate with its key.
struct Pair {
  Certificate certificate{nullptr, X509_free};
  Key key{nullptr, EVP_PKEY_free};
};

struct Subject {
  std::string_view common_name;
  std::string_view organization;
};

struct Purpose {
  const char* basic_constraints;
  const char* key_usage;
  const char* extended_key_usage;  // null: none
};
constexpr Purpose kAuthority = {"critical,CA:TRUE", "critical,keyCertSign,cRLSign,digitalSignature", nullptr};
constexpr Purpose kServing = {"critical,CA:FALSE", "critical,digitalSignature", "serverAuth"};
constexpr Purpose kAsking = {"critical,CA:FALSE", "critical,digitalSignature", "clientAuth"};

std::string written(const Bio& bio) {
  char* text = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &text);
  return std::string(text, static_cast<std::size_t>(size));
}

Identity pem_of(const Pair& pair) {
  const Bio certificate(BIO_new(BIO_s_mem()), BIO_free_all);
  const Bio key(BIO_new(BIO_s_mem()), BIO_free_all);
  PEM_write_bio_X509(certificate.get(), pair.certificate.get());
  PEM_write_bio_PrivateKey(key.get(), pair.key.get(), nullptr, nullptr, 0, nullptr, nullptr);
  return {.certificate_pem = written(certificate), .key_pem = written(key)};
}

std::optional<Pair> parse(const Identity& identity) {
  const Bio certificate(BIO_new_mem_buf(identity.certificate_pem.data(), -1), BIO_free_all);
  const Bio key(BIO_new_mem_buf(identity.key_pem.data(), -1), BIO_free_all);
  Pair pair;
  pair.certificate.reset(PEM_read_bio_X509(certificate.get(), nullptr, nullptr, nullptr));
  pair.key.reset(PEM_read_bio_PrivateKey(key.get(), nullptr, nullptr, nullptr));
  const bool fits =
      pair.certificate && pair.key && X509_check_private_key(pair.certificate.get(), pair.key.get()) == 1;
  ERR_clear_error();
  if (!fits) return std::nullopt;
  return pair;
}

bool is_address(const std::string& host) {
  unsigned char bytes[sizeof(in6_addr)];
  return inet_pton(AF_INET, host.c_str(), bytes) == 1 || inet_pton(AF_INET6, host.c_str(), bytes) == 1;
}

bool extend(X509* certificate, X509* issuer, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  const Extension extension(X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str()), X509_EXTENSION_free);
  return extension && X509_add_ext(certificate, extension.get(), -1) == 1;
}

bool set_serial(X509* certificate) {
  unsigned char bytes[16];
  if (RAND_bytes(bytes, sizeof bytes) != 1) return false;
  bytes[0] = static_cast<unsigned char>((bytes[0] & 0x7f) | 0x40);  // positive and of one length
  const std::unique_ptr<BIGNUM, decltype(&BN_free)> number(BN_bin2bn(bytes, sizeof bytes, nullptr), BN_free);
  return number && BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate));
}

bool set_subject(X509* certificate, const Subject& subject) {
  X509_NAME* name = X509_get_subject_name(certificate);
  const auto add = [&](const char* field, std::string_view text) {
    return text.empty() || X509_NAME_add_entry_by_txt(name, field, MBSTRING_UTF8,
                                                      reinterpret_cast<const unsigned char*>(text.data()),
                                                      static_cast<int>(text.size()), -1, 0) == 1;
  };
  return add("O", subject.organization) && add("CN", subject.common_name);
}

bool set_validity(X509* certificate, Time now, Duration validity) {
  return ASN1_TIME_set(X509_getm_notBefore(certificate), (now - kSkew).whole_seconds()) &&
         ASN1_TIME_set(X509_getm_notAfter(certificate), (now + validity).whole_seconds());
}

std::string alternative_names(const std::vector<std::string>& hosts) {
  std::string names;
  for (const std::string& host : hosts)
    names += (names.empty() ? "" : ",") + std::string(is_address(host) ? "IP:" : "DNS:") + host;
  return names;
}

// A new key with a certificate for it; `issuer` null means self-signed.
Result<Pair> issue(const Subject& subject, const Purpose& purpose, const std::vector<std::string>& hosts,
                   Time now, const Pair* issuer) {
  Pair pair;
  pair.key.reset(EVP_EC_gen("P-256"));
  pair.certificate.reset(X509_new());
  X509* certificate = pair.certificate.get();
  if (!pair.key || !certificate) return openssl_error("a key could not be generated");
  X509* by = issuer ? issuer->certificate.get() : certificate;
  bool good = X509_set_version(certificate, X509_VERSION_3) == 1 && set_serial(certificate) &&
              set_subject(certificate, subject) &&
              set_validity(certificate, now, issuer ? kLeafValidity : kCaValidity) &&
              X509_set_pubkey(certificate, pair.key.get()) == 1 &&
              X509_set_issuer_name(certificate, X509_get_subject_name(by)) == 1 &&
              extend(certificate, by, NID_basic_constraints, purpose.basic_constraints) &&
              extend(certificate, by, NID_key_usage, purpose.key_usage) &&
              extend(certificate, by, NID_subject_key_identifier, "hash") &&
              extend(certificate, by, NID_authority_key_identifier, "keyid:always");
  if (purpose.extended_key_usage)
    good = good && extend(certificate, by, NID_ext_key_usage, purpose.extended_key_usage);
  if (!hosts.empty()) good = good && extend(certificate, by, NID_subject_alt_name, alternative_names(hosts));
  EVP_PKEY* signer = issuer ? issuer->key.get() : pair.key.get();
  if (!good || X509_sign(certificate, signer, EVP_sha256()) == 0)
    return openssl_error("a certificate for \"" + std::string(subject.common_name) +
                         "\" could not be issued");
  return pair;
}

Result<Pair> issue_ca(Time now) {
  return issue({.common_name = "berth-ca", .organization = {}}, kAuthority, {}, now, nullptr);
}

Result<Pair> issue_server(const std::vector<std::string>& hosts, Time now, const Pair& ca) {
  return issue({.common_name = "kube-apiserver", .organization = {}}, kServing, hosts, now, &ca);
}

Result<Pair> issue_admin(Time now, const Pair& ca) {
  return issue({.common_name = "kubernetes-admin", .organization = "system:masters"}, kAsking, {}, now, &ca);
}

std::vector<std::string> server_hosts(const std::vector<std::string>& more) {
  std::vector<std::string> hosts(std::begin(kServerHosts), std::end(kServerHosts));
  for (const std::string& host : more)
    if (std::find(hosts.begin(), hosts.end(), host) == hosts.end()) hosts.push_back(host);
  return hosts;
}

bool is_current(const Pair& pair, Time now) {
  time_t begin = (now).whole_seconds();
  time_t end = (now + kRenewBefore).whole_seconds();
  return X509_cmp_time(X509_get0_notBefore(pair.certificate.get()), &begin) < 0 &&
         X509_cmp_time(X509_get0_notAfter(pair.certificate.get()), &end) > 0;
}

bool is_good_leaf(const Pair& pair, const Pair& ca, const std::vector<std::string>& hosts, Time now) {
  X509* certificate = pair.certificate.get();
  bool good = is_current(pair, now) && X509_verify(certificate, ca.key.get()) == 1;
  for (const std::string& host : hosts)
    good = good && (is_address(host) ? X509_check_ip_asc(certificate, host.c_str(), 0)
                                     : X509_check_host(certificate, host.c_str(), 0, 0, nullptr)) == 1;
  ERR_clear_error();
  return good;
}

// --- The edge to the file system: whole small files.

Error file_error(const std::string& path, const char* sentence) {
  return Error(ErrorCode::Unavailable, path, std::string(sentence) + ": " + std::strerror(errno));
}

Result<std::optional<std::string>> read_file(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0 && errno == ENOENT) return std::optional<std::string>();
  if (file < 0) return file_error(path, "cannot be read");
  std::string text(kPemFileBytesMax, '\0');
  const ssize_t size = ::read(file, text.data(), text.size());
  ::close(file);
  if (size < 0) return file_error(path, "cannot be read");
  text.resize(static_cast<std::size_t>(size));
  return std::optional<std::string>(std::move(text));
}

Result<std::optional<Pair>> read_pair(const std::string& stem) {
  std::optional<std::string> certificate = TRY(read_file(stem + ".crt"));
  std::optional<std::string> key = TRY(read_file(stem + ".key"));
  if (!certificate || !key) return std::optional<Pair>();
  return parse({.certificate_pem = std::move(*certificate), .key_pem = std::move(*key)});
}

Status write_pair(const std::string& stem, const Pair& pair) {
  const Identity identity = pem_of(pair);
  TRY(replace_text_file(stem + ".key", identity.key_pem));
  return replace_text_file(stem + ".crt", identity.certificate_pem);
}

// An existing CA that cannot be used is not replaced: every issued kubeconfig trusts it, so the operator
// decides.
Result<Pair> ca_in(const std::string& directory, Time now) {
  const std::string stem = directory + "/ca";
  std::optional<Pair> found = TRY(read_pair(stem));
  if (found) return std::move(*found);
  const bool half_there = TRY(read_file(stem + ".crt")).has_value();
  if (half_there)
    return Error(ErrorCode::Invalid, stem + ".crt", "not a CA with its key; move it away to get a new one");
  Pair made = TRY(issue_ca(now));
  TRY(write_pair(stem, made));
  return made;
}

}  // namespace

Result<Certificates> generate_certificates(const std::vector<std::string>& hosts, Time now) {
  const Pair ca = TRY(issue_ca(now));
  const Pair server = TRY(issue_server(server_hosts(hosts), now, ca));
  const Pair admin = TRY(issue_admin(now, ca));
  return Certificates{.ca = pem_of(ca), .server = pem_of(server), .admin = pem_of(admin)};
}

Status make_certificate_folder(const std::string& directory) {
  if (::mkdir(directory.c_str(), 0700) == 0 || errno == EEXIST) return {};
  return file_error(directory, "cannot be made");
}

Result<Certificates> certificates_in(const std::string& directory, const std::vector<std::string>& more_hosts,
                                     Time now) {
  TRY(make_certificate_folder(directory));
  const std::vector<std::string> hosts = server_hosts(more_hosts);
  const Pair ca = TRY(ca_in(directory, now));

  std::optional<Pair> server = TRY(read_pair(directory + "/server"));
  if (!server || !is_good_leaf(*server, ca, hosts, now)) {
    server = TRY(issue_server(hosts, now, ca));
    TRY(write_pair(directory + "/server", *server));
  }
  std::optional<Pair> admin = TRY(read_pair(directory + "/admin"));
  if (!admin || !is_good_leaf(*admin, ca, {}, now)) {
    admin = TRY(issue_admin(now, ca));
    TRY(write_pair(directory + "/admin", *admin));
  }
  return Certificates{.ca = pem_of(ca), .server = pem_of(*server), .admin = pem_of(*admin)};
}

namespace {

using Request = std::unique_ptr<X509_REQ, decltype(&X509_REQ_free)>;

struct FreeExtensions {
  void operator()(STACK_OF(X509_EXTENSION) * list) const {
    sk_X509_EXTENSION_pop_free(list, X509_EXTENSION_free);
  }
};
using Extensions = std::unique_ptr<STACK_OF(X509_EXTENSION), FreeExtensions>;
using Names = std::unique_ptr<GENERAL_NAMES, decltype(&GENERAL_NAMES_free)>;

Result<Request> parse_request(const std::string& pem) {
  const Bio memory(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), BIO_free_all);
  Request request(PEM_read_bio_X509_REQ(memory.get(), nullptr, nullptr, nullptr), X509_REQ_free);
  const bool good = request && X509_REQ_get0_pubkey(request.get()) &&
                    X509_REQ_verify(request.get(), X509_REQ_get0_pubkey(request.get())) == 1;
  ERR_clear_error();
  if (!good) return Error(ErrorCode::Invalid, "no certificate request that is signed by its own key");
  return request;
}

std::string with_commas(std::string text, const std::vector<std::string>& words) {
  for (const std::string& word : words) text += (text.empty() ? "" : ",") + word;
  return text;
}

// Of the request, without whatever else it wants.
bool copy_alternative_names(X509* certificate, X509_REQ* request) {
  const Extensions wanted(X509_REQ_get_extensions(request));
  const int at = X509v3_get_ext_by_NID(wanted.get(), NID_subject_alt_name, -1);
  return at < 0 || X509_add_ext(certificate, X509v3_get_ext(wanted.get(), at), -1) == 1;
}

}  // namespace

Result<SigningRequest> read_signing_request(const std::string& pem) {
  const Request request = TRY(parse_request(pem));
  SubjectNames subject = subject_names(X509_REQ_get_subject_name(request.get()));
  SigningRequest read{std::move(subject.common_name), std::move(subject.organizations)};
  const Extensions wanted(X509_REQ_get_extensions(request.get()));
  int found = -1;  // without such an extension
  const Names names(
      static_cast<GENERAL_NAMES*>(X509V3_get_d2i(wanted.get(), NID_subject_alt_name, &found, nullptr)),
      GENERAL_NAMES_free);
  // What is not counted here must not be copied to the certificate.
  if (!names && found != -1) {
    ERR_clear_error();
    return Error(ErrorCode::Invalid, "the request's subjectAltName is there twice, or cannot be read");
  }
  for (int i = 0; names && i < sk_GENERAL_NAME_num(names.get()); ++i)
    switch (sk_GENERAL_NAME_value(names.get(), i)->type) {
      case GEN_DNS:
        ++read.dns_names;
        break;
      case GEN_IPADD:
        ++read.addresses;
        break;
      case GEN_EMAIL:
        ++read.emails;
        break;
      case GEN_URI:
        ++read.uris;
        break;
      default:
        break;
    }
  ERR_clear_error();
  return read;
}

Result<std::string> sign_request(const Identity& ca_identity, const std::string& request_pem,
                                 const SigningTerms& terms) {
  const std::optional<Pair> ca = parse(ca_identity);
  if (!ca) return Error(ErrorCode::Internal, "the CA does not parse");
  const Request request = TRY(parse_request(request_pem));
  X509* by = ca->certificate.get();
  time_t begin = terms.not_before.whole_seconds(), end = terms.not_after.whole_seconds();
  if (X509_cmp_time(X509_get0_notAfter(by), &begin) < 0)
    return Error(ErrorCode::Forbidden, "the CA has ended");
  const Certificate made(X509_new(), X509_free);
  X509* certificate = made.get();
  bool good = certificate && X509_set_version(certificate, X509_VERSION_3) == 1 && set_serial(certificate) &&
              X509_set_subject_name(certificate, X509_REQ_get_subject_name(request.get())) == 1 &&
              X509_set_issuer_name(certificate, X509_get_subject_name(by)) == 1 &&
              X509_set_pubkey(certificate, X509_REQ_get0_pubkey(request.get())) == 1 &&
              ASN1_TIME_set(X509_getm_notBefore(certificate), begin);
  good = good && (X509_cmp_time(X509_get0_notAfter(by), &end) < 0
                      ? X509_set1_notAfter(certificate, X509_get0_notAfter(by)) == 1
                      : ASN1_TIME_set(X509_getm_notAfter(certificate), end) != nullptr);
  good = good && extend(certificate, by, NID_basic_constraints, "critical,CA:FALSE") &&
         extend(certificate, by, NID_authority_key_identifier, "keyid:always") &&
         copy_alternative_names(certificate, request.get());
  if (!terms.key_usages.empty())
    good = good && extend(certificate, by, NID_key_usage, with_commas("critical", terms.key_usages));
  if (!terms.extended_usages.empty())
    good = good && extend(certificate, by, NID_ext_key_usage, with_commas("", terms.extended_usages));
  if (!good || X509_sign(certificate, ca->key.get(), EVP_sha256()) == 0)
    return openssl_error("the certificate could not be issued");
  const Bio memory(BIO_new(BIO_s_mem()), BIO_free_all);
  PEM_write_bio_X509(memory.get(), certificate);
  return written(memory);
}

}  // namespace berth::server
