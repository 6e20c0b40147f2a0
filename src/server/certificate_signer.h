// Signs approved CertificateSigningRequests of Kubernetes' own signers with the cluster's CA.
//
// Signers: kube-apiserver-client, kube-apiserver-client-kubelet and kubelet-serving of kubernetes.io;
// requests of other signers are left to whoever serves them. Level-triggered: a run looks at every request
// that is approved, has no certificate and has not failed. It writes the certificate or the condition
// Failed; what the store could not take is tried again. Owner: ApiServer. Thread-safe where it says so. Cost
// of a run without news: an atomic read; of one with news, a list of the requests. Source:
// pkg/controller/certificates/signer of Kubernetes 1.37.
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <vector>

#include "server/registry.h"
#include "server/transport/certificates.h"

namespace berth::server {

inline constexpr std::string_view kCertificatesGroup = "certificates.k8s.io";
// Of one run; the next one continues.
inline constexpr std::size_t kSignaturesPerRunMax = 64;
// Between a write that failed and the next look at all requests.
inline constexpr Duration kSigningRetry = Duration::seconds(5);
// Of a certificate whose request asks for no time; a request gets at most as much.
inline constexpr Duration kSignedValidity = Duration::minutes(365 * 24 * 60);

class CertificateSigner {
 public:
  // `registry` outlives it.
  explicit CertificateSigner(Registry& registry) : registry_(registry) {}

  // Signs from here on. Before the first tick().
  void begin(Identity ca) { ca_ = std::move(ca); }
  // An object was written. Any thread.
  void noted(const ObjectTarget& target) {
    if (target.resource->group == kCertificatesGroup) ++written_;
  }
  // About every 200 ms.
  void tick(Time monotonic_now);

 private:
  void sign(const store::Object& stored, const Json& request);

  Registry& registry_;
  std::optional<Identity> ca_;
  std::atomic<std::uint64_t> written_{1};
  std::uint64_t seen_ = 0;
  std::atomic<bool> has_failed_{false};  // a write since the last look at all requests
  Time next_retry_;
};

// Why the request does not get a certificate from the signer, in Kubernetes' words; empty: it does. Signers
// of others have no rules here.
std::string signing_problem(std::string_view signer, const SigningRequest& request,
                            const std::vector<std::string>& usages);

// Why a request (its spec) may not be made at all, in Kubernetes' words; empty: it may. Nobody becomes an
// administrator by a certificate.
std::string subject_problem(const Json& spec);

}  // namespace berth::server
