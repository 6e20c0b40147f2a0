// Secrets of the type kubernetes.io/service-account-token: each gets a token of its account, the CA of the
// cluster and its namespace, and is removed with the account.
//
// Level-triggered: a run looks at the Secrets and accounts that were written since the run before, the first
// one at all Secrets. A write that the store could not take is repeated. Owner: ApiServer. Thread-safe where
// it says so. Cost of a run without news: a lock; of an account that was written: a look at every token
// Secret's key. Source: pkg/controller/serviceaccount/tokens_controller.go of Kubernetes 1.37.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "server/registry.h"

namespace berth::server {

class ServiceAccountTokens;

// Of one run; the next one continues.
inline constexpr std::size_t kTokenSecretsPerRunMax = 256;
// Names that are remembered until a run takes them; beyond them it looks at all Secrets.
inline constexpr std::size_t kWrittenSecretsMax = 10'000;
// After a write that failed.
inline constexpr Duration kTokenSecretsRetry = Duration::seconds(5);

class TokenSecrets {
 public:
  // Both outlive it.
  TokenSecrets(Registry& registry, const ServiceAccountTokens& tokens)
      : registry_(registry), tokens_(tokens) {}

  // Fills in from here on; `ca`: the certificate (PEM) of the cluster's CA, or empty. Before the first
  // tick().
  void begin(std::string ca) { ca_ = std::move(ca); }
  // An object was written or removed. Any thread.
  void noted(const ObjectTarget& target);
  // About every 200 ms. Nothing before begin().
  void tick(Time monotonic_now);

 private:
  using Names = std::set<std::pair<std::string, std::string>>;  // namespace and name
  Names take_written(Time monotonic_now);
  void look_at(const std::string& ns, const std::string& name);
  void fill(const store::Object& secret, const Json& document, const store::Object& account);
  void remove(const store::Object& secret);
  // Of a Secret that is gone.
  void drop_reference(const std::string& ns, const std::string& secret, const std::string& account);
  // Repeats what the store could not take.
  Done repeats_on_failure(const std::string& ns, const std::string& name);

  Registry& registry_;
  const ServiceAccountTokens& tokens_;
  std::optional<std::string> ca_;
  // The accounts of the token Secrets that exist, by namespace and name: as many as the store has.
  std::map<std::pair<std::string, std::string>, std::string> accounts_;
  // What earlier runs have taken and not looked at. News waits for its end, so that a look at all Secrets
  // ends too.
  Names left_;
  Time next_retry_;

  std::mutex mutex_;                  // of what follows
  Names secrets_, written_accounts_;  // kWrittenSecretsMax together
  Names failed_;                      // kTokenSecretsPerRunMax of a run; taken after kTokenSecretsRetry
  bool all_ = true;
};

}  // namespace berth::server
