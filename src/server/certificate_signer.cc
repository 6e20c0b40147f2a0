#include "server/certificate_signer.h"

#include <algorithm>

#include "api/types/meta.h"
#include "base/base64.h"
#include "base/log.h"
#include "rbac/policy_rule.h"
#include "rbac/user.h"
#include "server/conditions.h"
#include "server/metadata.h"

namespace berth::server {
namespace {

constexpr std::string_view kClientSigner = "kubernetes.io/kube-apiserver-client";
constexpr std::string_view kKubeletClientSigner = "kubernetes.io/kube-apiserver-client-kubelet";
constexpr std::string_view kKubeletServingSigner = "kubernetes.io/kubelet-serving";
constexpr std::string_view kNodesOrganization = "system:nodes";
constexpr std::string_view kNodePrefix = "system:node:";
constexpr Duration kBackdated = Duration::minutes(5);
constexpr Duration kShortLife = Duration::minutes(8 * 60);  // its end is not moved to the front as well
constexpr Duration kLifeMin = Duration::minutes(10);

using Texts = std::vector<std::string>;

// A usage of the API, and OpenSSL's word for it.
struct Usage {
  std::string_view name, word;
  bool extended;
};
constexpr Usage kUsagesThatSignersTake[] = {{"digital signature", "digitalSignature", false},
                                            {"key encipherment", "keyEncipherment", false},
                                            {"client auth", "clientAuth", true},
                                            {"server auth", "serverAuth", true}};

bool is_known_signer(std::string_view signer) {
  return signer == kClientSigner || signer == kKubeletClientSigner || signer == kKubeletServingSigner;
}

Texts usages_in(const Json& spec) {
  return api::decode_strings(spec.items_at("usages"));
}

bool waits_for_signature(const Json& request) {
  const Json& status = request.part("status");
  return is_known_signer(request.part("spec").string_at("signerName")) &&
         condition_is_true(status, "Approved") && !condition_is_true(status, "Denied") &&
         !condition_is_true(status, "Failed") && status.string_at("certificate").empty();
}

std::string client_usage_problem(const Texts& usages) {
  for (const std::string& usage : usages)
    if (usage != "digital signature" && usage != "key encipherment" && usage != "client auth")
      return "invalid usage for client certificate: " + usage;
  return rbac::lists(usages, "client auth") ? ""
                                            : "missing required usage for client certificate: client auth";
}

// A kubelet's key may be one that enciphers nothing.
std::string kubelet_usage_problem(Texts usages, const std::string& purpose) {
  std::sort(usages.begin(), usages.end());
  Texts wanted = {purpose, "digital signature", "key encipherment"};
  std::sort(wanted.begin(), wanted.end());
  const std::string problem = "usages did not match [" + wanted[0] + " " + wanted[1] + " " + wanted[2] + "]";
  if (usages == wanted) return "";
  wanted.erase(std::find(wanted.begin(), wanted.end(), "key encipherment"));
  return usages == wanted ? "" : problem;
}

std::string kubelet_problem(const SigningRequest& request, const Texts& usages, bool serves) {
  if (request.organizations != Texts{std::string(kNodesOrganization)})
    return "subject organization is not system:nodes";
  if (serves && request.dns_names == 0 && request.addresses == 0)
    return "DNS or IP subjectAltName is required";
  if (!serves && request.dns_names > 0) return "DNS subjectAltNames are not allowed";
  if (request.emails > 0) return "Email subjectAltNames are not allowed";
  if (!serves && request.addresses > 0) return "IP subjectAltNames are not allowed";
  if (request.uris > 0) return "URI subjectAltNames are not allowed";
  const bool named = request.common_name.starts_with(kNodePrefix);
  const std::string usage = kubelet_usage_problem(usages, serves ? "server auth" : "client auth");
  if (serves && !usage.empty()) return usage;
  return named ? usage : "subject common name does not begin with system:node:";
}

SigningTerms terms_of(const Json& spec, Time now) {
  Duration life = kSignedValidity;
  if (const Json* seconds = spec.find("expirationSeconds"); seconds && seconds->is_int())
    life = std::clamp(Duration::seconds(seconds->as_int()), kLifeMin, kSignedValidity);
  SigningTerms terms{now - kBackdated, now + (life < kShortLife ? life : life - kBackdated), {}, {}};
  const Texts usages = usages_in(spec);
  for (const Usage& usage : kUsagesThatSignersTake)
    if (rbac::lists(usages, usage.name))
      (usage.extended ? terms.extended_usages : terms.key_usages).emplace_back(usage.word);
  return terms;
}

Json failed(const std::string& why, Time now) {
  return Json::object({{"type", "Failed"},
                       {"status", "True"},
                       {"reason", "SignerValidationFailure"},
                       {"message", why},
                       {"lastUpdateTime", format_time(now)}});
}

// The certificate, or why there is none.
Result<std::string> certificate_for(const Identity& ca, const Json& spec, Time now) {
  const std::string pem = TRY(base64_decode(spec.string_at("request")));
  const SigningRequest request = TRY(read_signing_request(pem));
  const std::string problem = signing_problem(spec.string_at("signerName"), request, usages_in(spec));
  if (!problem.empty()) return Error(ErrorCode::Invalid, problem);
  return sign_request(ca, pem, terms_of(spec, now));
}

}  // namespace

std::string signing_problem(std::string_view signer, const SigningRequest& request, const Texts& usages) {
  if (signer == kClientSigner) return client_usage_problem(usages);
  if (signer == kKubeletClientSigner) return kubelet_problem(request, usages, false);
  return signer == kKubeletServingSigner ? kubelet_problem(request, usages, true) : "";
}

std::string subject_problem(const Json& spec) {
  if (spec.string_at("signerName") != kClientSigner) return "";
  const Result<std::string> pem = base64_decode(spec.string_at("request"));
  // What does not parse is the signer's to refuse.
  const auto request = pem ? read_signing_request(*pem) : Result<SigningRequest>(pem.error());
  if (!request || !rbac::lists(request->organizations, rbac::kMasters)) return "";
  return "use of " + std::string(kClientSigner) + " signer with system:masters group is not allowed";
}

void CertificateSigner::tick(Time monotonic_now) {
  if (has_failed_ && monotonic_now >= next_retry_) {
    has_failed_ = false;
    next_retry_ = monotonic_now + kSigningRetry;
    seen_ = 0;
  }
  const std::uint64_t written = written_;
  if (!ca_ || seen_ == written) return;
  std::size_t signatures = 0;
  for (const store::ObjectPtr& object : registry_.stored("certificatesigningrequests.certificates.k8s.io")) {
    const Result<Json> request = registry_.document_of(*object);
    if (!request || !waits_for_signature(*request)) continue;
    // Its own write is news, so the rest is seen again.
    if (++signatures > kSignaturesPerRunMax) break;
    sign(*object, *request);
  }
  seen_ = written;
}

void CertificateSigner::sign(const store::Object& stored, const Json& request) {
  const Time now = registry_.dependencies().clock.now();
  const Result<std::string> certificate = certificate_for(*ca_, request.part("spec"), now);
  const ObjectTarget target{api::find_resource(kCertificatesGroup, "v1", "certificatesigningrequests"), "",
                            stored.key.name, "status"};
  WriteOptions options;
  options.in_process = true;
  const auto change = [target, certificate, now](const Json& current) -> ApiResult<Json> {
    if (!waits_for_signature(current)) return current;
    Json next = current;
    if (certificate)
      next["status"]["certificate"] = base64_encode(*certificate);
    else
      condition_place(next, "Failed") = failed(certificate.error().message(), now);
    return canonical(target, std::move(next), current);
  };
  registry_.modify(target, change, std::move(options),
                   [this, name = stored.key.name](const ApiResult<Answer>& made) {
                     if (made) return;
                     has_failed_ = true;
                     log(LogLevel::Warning, "a certificate could not be stored",
                         {{"request", name}, {"error", made.error().message}});
                   });
}

}  // namespace berth::server
