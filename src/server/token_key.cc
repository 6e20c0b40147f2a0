#include "server/token_key.h"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/sha.h>
#include <openssl/x509.h>

#include <array>

#include "base/base64.h"
#include "base/text_file.h"

namespace berth::server {
namespace {

constexpr std::size_t kCoordinateBytes = 32;
constexpr std::size_t kSignatureBytes = 2 * kCoordinateBytes;
constexpr std::size_t kKeyFileBytesMax = 64u << 10;
constexpr const char* kCurve = "P-256";

using Number = std::unique_ptr<BIGNUM, decltype(&BN_free)>;
using Signature = std::unique_ptr<ECDSA_SIG, decltype(&ECDSA_SIG_free)>;
using Digest = std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)>;
using Memory = std::unique_ptr<BIO, decltype(&BIO_free_all)>;

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

EVP_PKEY* pkey(const std::shared_ptr<void>& key) {
  return static_cast<EVP_PKEY*>(key.get());
}

Error key_error(std::string sentence) {
  ERR_clear_error();
  return Error(ErrorCode::Internal, std::move(sentence));
}

bool is_p256(EVP_PKEY* key) {
  std::array<char, 32> curve{};
  std::size_t size = 0;
  return EVP_PKEY_get_base_id(key) == EVP_PKEY_EC &&
         EVP_PKEY_get_group_name(key, curve.data(), curve.size(), &size) == 1 &&
         std::string_view(curve.data(), size) == SN_X9_62_prime256v1;
}

std::string coordinate_of(EVP_PKEY* key, const char* name) {
  BIGNUM* number = nullptr;
  EVP_PKEY_get_bn_param(key, name, &number);
  const Number owned(number, BN_free);
  std::string bytes(kCoordinateBytes, '\0');
  if (number) BN_bn2binpad(number, reinterpret_cast<unsigned char*>(bytes.data()), kCoordinateBytes);
  return bytes;
}

// r and s of 32 bytes each, and the DER form that OpenSSL takes.
std::string raw_of(const std::string& der) {
  const unsigned char* at = bytes_of(der);
  const Signature signature(d2i_ECDSA_SIG(nullptr, &at, static_cast<long>(der.size())), ECDSA_SIG_free);
  std::string raw(kSignatureBytes, '\0');
  auto* out = reinterpret_cast<unsigned char*>(raw.data());
  if (!signature) return "";
  BN_bn2binpad(ECDSA_SIG_get0_r(signature.get()), out, kCoordinateBytes);
  BN_bn2binpad(ECDSA_SIG_get0_s(signature.get()), out + kCoordinateBytes, kCoordinateBytes);
  return raw;
}

std::string der_of(std::string_view raw) {
  const Signature signature(ECDSA_SIG_new(), ECDSA_SIG_free);
  const auto number = [&](std::size_t from) {
    return BN_bin2bn(bytes_of(raw.substr(from)), kCoordinateBytes, nullptr);
  };
  ECDSA_SIG_set0(signature.get(), number(0), number(kCoordinateBytes));
  unsigned char* der = nullptr;
  const int size = i2d_ECDSA_SIG(signature.get(), &der);
  std::string bytes(reinterpret_cast<char*>(der), size > 0 ? static_cast<std::size_t>(size) : 0);
  OPENSSL_free(der);
  return bytes;
}

}  // namespace

void TokenKey::Free::operator()(void* key) const {
  EVP_PKEY_free(static_cast<EVP_PKEY*>(key));
}

Result<TokenKey> TokenKey::of(Handle key) {
  if (!key || !is_p256(pkey(key)))
    return Error(ErrorCode::Invalid, "the signing key of tokens is no private key of P-256 in PEM");
  unsigned char* der = nullptr;
  const int size = i2d_PUBKEY(pkey(key), &der);
  if (size <= 0) return key_error("the public key of the tokens' signing key cannot be written");
  std::array<unsigned char, SHA256_DIGEST_LENGTH> hash{};
  SHA256(der, static_cast<std::size_t>(size), hash.data());
  OPENSSL_free(der);
  const std::string_view digest(reinterpret_cast<const char*>(hash.data()), hash.size());
  return TokenKey(std::move(key), base64url_encode(digest));
}

Result<TokenKey> TokenKey::generate() {
  Handle key(EVP_EC_gen(kCurve), Free());
  if (!key) return key_error("OpenSSL made no key for tokens");
  return of(std::move(key));
}

Result<TokenKey> TokenKey::parse(const std::string& pem) {
  const Memory memory(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), BIO_free_all);
  Handle key(PEM_read_bio_PrivateKey(memory.get(), nullptr, nullptr, nullptr), Free());
  ERR_clear_error();
  return of(std::move(key));
}

Result<TokenKey> TokenKey::in_file(const std::string& path) {
  const Result<std::string> stored = read_text_file(path, kKeyFileBytesMax);
  if (stored) {
    Result<TokenKey> key = parse(*stored);
    return key ? std::move(key) : Error(key.error().code(), path, key.error().message());
  }
  if (stored.error().code() != ErrorCode::NotFound) return stored.error();
  TokenKey key = TRY(generate());
  const std::string pem = TRY(key.pem());
  TRY(replace_text_file(path, pem));
  return key;
}

Result<std::string> TokenKey::pem() const {
  const Memory memory(BIO_new(BIO_s_mem()), BIO_free_all);
  if (PEM_write_bio_PrivateKey(memory.get(), pkey(key_), nullptr, nullptr, 0, nullptr, nullptr) != 1)
    return key_error("the signing key of tokens cannot be written");
  char* text = nullptr;
  const long size = BIO_get_mem_data(memory.get(), &text);
  return std::string(text, static_cast<std::size_t>(size));
}

Result<std::string> TokenKey::sign(std::string_view text) const {
  const Digest digest(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  std::size_t size = 0;
  std::string der;
  bool done = EVP_DigestSignInit(digest.get(), nullptr, EVP_sha256(), nullptr, pkey(key_)) == 1 &&
              EVP_DigestSign(digest.get(), nullptr, &size, bytes_of(text), text.size()) == 1;
  der.resize(size);
  done = done && EVP_DigestSign(digest.get(), reinterpret_cast<unsigned char*>(der.data()), &size,
                                bytes_of(text), text.size()) == 1;
  if (!done) return key_error("OpenSSL signed no token");
  der.resize(size);
  return raw_of(der);
}

bool TokenKey::verifies(std::string_view text, std::string_view signature) const {
  if (signature.size() != kSignatureBytes) return false;
  const std::string der = der_of(signature);
  const Digest digest(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  const bool good =
      EVP_DigestVerifyInit(digest.get(), nullptr, EVP_sha256(), nullptr, pkey(key_)) == 1 &&
      EVP_DigestVerify(digest.get(), bytes_of(der), der.size(), bytes_of(text), text.size()) == 1;
  ERR_clear_error();
  return good;
}

Json TokenKey::public_jwk() const {
  return Json::object({{"use", "sig"},
                       {"kty", "EC"},
                       {"kid", id_},
                       {"crv", kCurve},
                       {"alg", "ES256"},
                       {"x", base64url_encode(coordinate_of(pkey(key_), OSSL_PKEY_PARAM_EC_PUB_X))},
                       {"y", base64url_encode(coordinate_of(pkey(key_), OSSL_PKEY_PARAM_EC_PUB_Y))}});
}

}  // namespace berth::server
