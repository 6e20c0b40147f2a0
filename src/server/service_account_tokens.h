// Tokens of service accounts: given out by TokenRequests, and read again as credentials.
//
// A token is a JWT (RFC 7519) with Kubernetes' claims. It holds as long as its account, and the Pod, Secret
// or Node that it is bound to, exist with the same UID; that of a Secret (token_secrets.h), which has no end,
// as long as the Secret has the same text. Each use looks at the store. Owner: ApiServer.
// Thread-safe. Cost of a use: a signature for the first one (token_key.h), then a lookup in a cache of
// kKnownTokensMax tokens whose signature was good. Source: pkg/serviceaccount and
// registry/core/serviceaccount of Kubernetes 1.37.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/lru_map.h"
#include "server/http.h"
#include "server/object_target.h"
#include "server/token_key.h"

namespace berth::server {

class Registry;

inline constexpr std::size_t kKnownTokensMax = 4096;
inline constexpr std::size_t kTokenBytesMax = 16u << 10;
inline constexpr std::int64_t kTokenSecondsDefault = 3600;
inline constexpr std::int64_t kTokenSecondsMin = 600;
inline constexpr std::int64_t kTokenSecondsMax = std::int64_t{1} << 32;
// How much clocks may differ, and how long after its deletion an object that is still there counts.
inline constexpr Duration kTokenLeeway = Duration::seconds(60);
// The issuer, and the audience of the API server itself.
inline constexpr std::string_view kTokenIssuer = "https://kubernetes.default.svc.cluster.local";
// Of tokens in Secrets.
inline constexpr std::string_view kSecretTokenIssuer = "kubernetes/serviceaccount";

class ServiceAccountTokens {
 public:
  // `registry` outlives it.
  ServiceAccountTokens(const Registry& registry, TokenKey key)
      : registry_(registry), key_(std::move(key)), known_(kKnownTokensMax) {}

  // The TokenRequest with a new token of the account `target`. Refuses an absent account or bound object, one
  // of another UID, a pod of another account, and a lifetime below ten minutes.
  ApiResult<Json> issue(const ObjectTarget& target, Json request) const;

  // A token without an end, of the account, for the Secret of this key. Fails where the key signs nothing.
  Result<std::string> secret_token(const store::Key& secret, const store::Object& account) const;

  struct Credential {
    User user;
    std::vector<std::string> audiences;  // those of the token that were asked for
  };
  // Whose token it is; the error (Forbidden) says why it does not hold. `audiences`: it is for one of them.
  Result<Credential> authenticate(std::string_view token, std::span<const std::string> audiences);
  // The same for requests to this server.
  Result<User> authenticate(std::string_view token);

  // The documents of OpenID Connect discovery. `server`: "https://127.0.0.1:6443".
  Json discovery_document(std::string_view server) const;
  Json key_set() const;

 private:
  using Claims = std::shared_ptr<const Json>;
  Result<Claims> verified(std::string_view token);
  Result<Claims> read(std::string_view token) const;
  Result<std::string> signed_text(const Json& claims) const;
  Status check_time(const Json& claims) const;
  // Of the account and of what the token is bound to.
  Status check_objects(const Json& claims, std::string_view token) const;
  Status check_copy(const store::Key& secret, std::string_view token) const;
  Status check_object(std::string_view resource, std::string_view ns, const Json& reference,
                      std::string_view what) const;
  ApiResult<void> bind(const ObjectTarget& account, const Json& reference, Json& claims) const;

  const Registry& registry_;
  const TokenKey key_;
  std::mutex mutex_;
  LruMap<Claims> known_;  // by token
};

}  // namespace berth::server
