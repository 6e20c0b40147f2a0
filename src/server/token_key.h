// A key that signs the tokens of service accounts: ECDSA P-256 with SHA-256, the "ES256" of JWS (RFC 7515).
//
// Keys come from OpenSSL's generator, as those of certificates do. Immutable, any thread. Cost: about 30 us
// to sign and 80 us to verify.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"

namespace berth::server {

class TokenKey {
 public:
  static Result<TokenKey> generate();
  // Refuses (Invalid) what is no private key of P-256 in PEM.
  static Result<TokenKey> parse(const std::string& pem);
  // The key in the file, which is made with mode 0600 when absent, so that tokens outlive a restart.
  static Result<TokenKey> in_file(const std::string& path);

  // The 64 bytes r and s.
  Result<std::string> sign(std::string_view text) const;
  bool verifies(std::string_view text, std::string_view signature) const;

  // Base64url of the SHA-256 of the public key's DER form, as Kubernetes names keys.
  const std::string& id() const { return id_; }
  // A JSON Web Key (RFC 7517).
  Json public_jwk() const;
  Result<std::string> pem() const;

 private:
  struct Free {
    void operator()(void* key) const;
  };
  using Handle = std::shared_ptr<void>;  // an EVP_PKEY
  static Result<TokenKey> of(Handle key);
  TokenKey(Handle key, std::string id) : key_(std::move(key)), id_(std::move(id)) {}

  Handle key_;
  std::string id_;
};

}  // namespace berth::server
