#include "server/service_account_tokens.h"

#include <algorithm>

#include "api/types/meta.h"
#include "base/base64.h"
#include "rbac/policy_rule.h"
#include "server/metadata.h"
#include "server/registry.h"
#include "server/write_errors.h"

namespace berth::server {
namespace {

constexpr std::string_view kTokenRequestGroup = "authentication.k8s.io";
constexpr std::string_view kPrivateClaims = "kubernetes.io";
constexpr std::string_view kInvalidated = "service account token has been invalidated";

Json reference_to(const store::Object& object) {
  return Json::object({{"name", object.key.name}, {"uid", object.uid}});
}

// The claims of a token in a Secret.
struct SecretClaims {
  const char* ns = "kubernetes.io/serviceaccount/namespace";
  const char* secret = "kubernetes.io/serviceaccount/secret.name";
  const char* account = "kubernetes.io/serviceaccount/service-account.name";
  const char* account_uid = "kubernetes.io/serviceaccount/service-account.uid";
};
constexpr SecretClaims kSecretClaims;

bool is_of_secret(const Json& claims) {
  return claims.string_at("iss") == kSecretTokenIssuer;
}

// The claims of a Secret's token with those of other tokens that say the same.
Json common_form(Json claims) {
  const Json& read = claims;
  Json account = Json::object(
      {{"name", read.string_at(kSecretClaims.account)}, {"uid", read.string_at(kSecretClaims.account_uid)}});
  claims[kPrivateClaims] =
      Json::object({{"namespace", read.string_at(kSecretClaims.ns)}, {"serviceaccount", std::move(account)}});
  claims["aud"] = Json::array({kTokenIssuer});
  return claims;
}

ApiStatus invalid_request(const api::FieldErrors& errors) {
  return invalid(kTokenRequestGroup, "TokenRequest", "", errors);
}

Error does_not_hold(std::string_view why) {
  return Error(ErrorCode::Forbidden, std::string(why));
}

// A name and a UID in the request must be the account's.
ApiResult<void> check_account(const ObjectTarget& target, const store::Object& account,
                              const Json& metadata) {
  const auto check = [&](std::string_view member, std::string_view wanted) -> ApiResult<void> {
    const std::string_view given = metadata.string_at(member);
    if (given.empty() || given == wanted) return {};
    const std::string field = "metadata." + std::string(member), what(member);
    return invalid(kTokenRequestGroup, "TokenRequest", target.name,
                   {api::invalid(field, given, "must match the service account " + what + " if specified")});
  };
  TRY(check("name", target.name));
  TRY(check("namespace", target.ns));
  const std::string_view uid = metadata.string_at("uid");
  if (uid.empty() || uid == account.uid) return {};
  return conflict({kTokenRequestGroup, "TokenRequest"}, target.name,
                  "the UID in the token request (" + std::string(uid) +
                      ") does not match the UID of the service account (" + account.uid + ")");
}

// With the defaults of what the client left out.
ApiResult<void> complete_spec(Json& spec) {
  if (std::as_const(spec).items_at("audiences").empty()) spec["audiences"] = Json::array({kTokenIssuer});
  if (!std::as_const(spec).part("expirationSeconds").is_int())
    spec["expirationSeconds"] = kTokenSecondsDefault;
  if (std::as_const(spec).part("boundObjectRef").is_null()) spec.as_object().erase("boundObjectRef");
  const std::int64_t seconds = spec.int_at("expirationSeconds");
  const char* const problem = seconds < kTokenSecondsMin ? "may not specify a duration less than 10 minutes"
                              : seconds > kTokenSecondsMax
                                  ? "may not specify a duration larger than 2^32 seconds"
                                  : nullptr;
  if (problem) return invalid_request({api::invalid("spec.expirationSeconds", seconds, problem)});
  const Json& attestations = std::as_const(spec).part("attestations");
  if (attestations.is_object() && !attestations.as_object().empty())
    return invalid_request(
        {api::invalid("spec.attestations", attestations,
                      "attestations may only be specified with a webhook bound object reference")});
  return {};
}

std::vector<std::string> audiences_of(const Json& claims) {
  const Json& audience = claims.part("aud");
  if (audience.is_string()) return {audience.as_string()};
  return api::decode_strings(claims.items_at("aud"));
}

User user_of(const Json& claims) {
  const Json& own = claims.part(kPrivateClaims);
  const std::string_view ns = own.string_at("namespace");
  const Json& account = own.part("serviceaccount");
  User user{rbac::service_account_user(ns, account.string_at("name")), rbac::service_account_groups(ns),
            std::string(account.string_at("uid"))};
  user.groups.emplace_back(rbac::kAuthenticated);
  const auto add = [&user](const std::string& key, std::string_view value) {
    if (!value.empty()) user.extra["authentication.kubernetes.io/" + key] = {std::string(value)};
  };
  if (const std::string_view id = claims.string_at("jti"); !id.empty())
    add("credential-id", "JTI=" + std::string(id));
  for (const char* const kind : {"pod", "node"}) {
    add(std::string(kind) + "-name", own.part(kind).string_at("name"));
    add(std::string(kind) + "-uid", own.part(kind).string_at("uid"));
  }
  return user;
}

// What a token can be bound to.
struct BoundKind {
  std::string_view kind, resource, claim, what;
  bool namespaced;
};
constexpr BoundKind kBoundKinds[] = {{"Pod", "pods", "pod", "pod", true},
                                     {"Secret", "secrets", "secret", "secret", true},
                                     {"Node", "nodes", "node", "node", false}};

}  // namespace

ApiResult<Json> ServiceAccountTokens::issue(const ObjectTarget& target, Json request) const {
  const Time now = registry_.dependencies().clock.now();
  ObjectTarget account_target = target;
  account_target.subresource.clear();
  const Answer account = TRY(registry_.get(account_target));
  TRY(check_account(target, *account.object, metadata_of(std::as_const(request))));
  Json& spec = request["spec"];
  if (!spec.is_object()) spec = Json::object();
  TRY(complete_spec(spec));
  const std::int64_t seconds = spec.int_at("expirationSeconds");
  Json own = Json::object({{"namespace", target.ns}, {"serviceaccount", reference_to(*account.object)}});
  if (const Json* reference = std::as_const(spec).find("boundObjectRef"))
    TRY(bind(account_target, *reference, own));
  Json claims = Json::object({{"aud", spec.part("audiences")},
                              {"exp", now.whole_seconds() + seconds},
                              {"iat", now.whole_seconds()},
                              {"iss", kTokenIssuer},
                              {"jti", registry_.dependencies().random.uuid()},
                              {std::string(kPrivateClaims), std::move(own)},
                              {"nbf", now.whole_seconds()},
                              {"sub", rbac::service_account_user(target.ns, target.name)}});
  Result<std::string> token = signed_text(claims);
  if (!token) return internal_error("failed to generate token: " + token.error().message());
  request["kind"] = "TokenRequest";
  request["apiVersion"] = std::string(kTokenRequestGroup) + "/v1";
  Json& metadata = metadata_of(request);
  metadata["name"] = target.name;
  metadata["namespace"] = target.ns;
  metadata["uid"] = account.object->uid;
  metadata["creationTimestamp"] = format_time(now);
  request["status"] = Json::object(
      {{"token", *std::move(token)}, {"expirationTimestamp", format_time(now + Duration::seconds(seconds))}});
  return in_api_order(std::move(request));
}

Result<std::string> ServiceAccountTokens::secret_token(const store::Key& secret,
                                                       const store::Object& account) const {
  return signed_text(Json::object({{"iss", kSecretTokenIssuer},
                                   {kSecretClaims.ns, secret.ns},
                                   {kSecretClaims.secret, secret.name},
                                   {kSecretClaims.account, account.key.name},
                                   {kSecretClaims.account_uid, account.uid},
                                   {"sub", rbac::service_account_user(secret.ns, account.key.name)}}));
}

Result<std::string> ServiceAccountTokens::signed_text(const Json& claims) const {
  const Json header = Json::object({{"alg", "ES256"}, {"kid", key_.id()}});
  std::string token = base64url_encode(to_string(header)) + "." + base64url_encode(to_string(claims));
  const std::string signature = TRY(key_.sign(token));
  return token + "." + base64url_encode(signature);
}

ApiResult<void> ServiceAccountTokens::bind(const ObjectTarget& account, const Json& reference,
                                           Json& claims) const {
  const std::string_view kind = reference.string_at("kind"), version = reference.string_at("apiVersion"),
                         uid = reference.string_at("uid");
  const auto* const row = std::find_if(std::begin(kBoundKinds), std::end(kBoundKinds),
                                       [kind](const BoundKind& one) { return one.kind == kind; });
  if (row == std::end(kBoundKinds) || (!version.empty() && version != "v1"))
    return bad_request("cannot bind token to object of type " + std::string(version) +
                       ", Kind=" + std::string(kind));
  const ObjectTarget bound{api::find_resource("", "v1", row->resource), row->namespaced ? account.ns : "",
                           std::string(reference.string_at("name")), ""};
  const Answer found = TRY(registry_.get(bound));
  if (!uid.empty() && uid != found.object->uid)
    return conflict({"", kind}, bound.name,
                    "the UID in the bound object reference (" + std::string(uid) +
                        ") does not match the UID in record. The object might have been deleted and then "
                        "recreated");
  claims[row->claim] = reference_to(*found.object);
  if (kind != "Pod") return {};
  const Result<Json> pod = registry_.document_of(*found.object);
  if (!pod) return internal_error("stored object does not parse");
  const Json& spec = pod->part("spec");
  if (spec.string_at("serviceAccountName") != account.name)
    return bad_request("cannot bind token for serviceaccount \"" + account.name +
                       "\" to pod running with different serviceaccount name.");
  const std::string node(spec.string_at("nodeName"));
  if (node.empty()) return {};
  const store::ObjectPtr stored = registry_.store().get({"nodes", "", node});
  claims["node"] = stored ? reference_to(*stored) : Json::object({{"name", node}});
  return {};
}

Result<ServiceAccountTokens::Credential> ServiceAccountTokens::authenticate(
    std::string_view token, std::span<const std::string> audiences) {
  const Claims claims = TRY(verified(token));
  TRY(check_time(*claims));
  Credential credential;
  const std::vector<std::string> own = audiences_of(*claims);
  std::copy_if(audiences.begin(), audiences.end(), std::back_inserter(credential.audiences),
               [&own](const std::string& one) { return rbac::lists(own, one); });
  if (credential.audiences.empty()) return does_not_hold("token audiences are not those that are accepted");
  TRY(check_objects(*claims, token));
  credential.user = user_of(*claims);
  return credential;
}

Result<User> ServiceAccountTokens::authenticate(std::string_view token) {
  static const std::string kOwn[] = {std::string(kTokenIssuer)};
  Credential credential = TRY(authenticate(token, kOwn));
  return std::move(credential.user);
}

// A good signature stays good; what else it says is looked at each time.
Result<ServiceAccountTokens::Claims> ServiceAccountTokens::verified(std::string_view token) {
  {
    const std::lock_guard lock(mutex_);
    // at() makes it the latest used: tokens that are in use stay.
    if (known_.find(token)) return known_.at(token);
  }
  Claims claims = TRY(read(token));
  const std::lock_guard lock(mutex_);
  return known_.at(token, [&] { return std::move(claims); });
}

Result<ServiceAccountTokens::Claims> ServiceAccountTokens::read(std::string_view token) const {
  const Error kNoToken = does_not_hold("invalid bearer token");
  if (token.size() > kTokenBytesMax) return kNoToken;
  const std::size_t first = token.find('.'), last = token.rfind('.');
  if (first == std::string_view::npos || first == last) return kNoToken;
  const auto part = [&](std::size_t from, std::size_t to) {
    const Result<std::string> text = base64url_decode(token.substr(from, to - from));
    return text ? *text : std::string();
  };
  const Result<Json> header = parse_json(part(0, first));
  if (!header || header->string_at("alg") != "ES256") return kNoToken;
  if (const std::string_view key = header->string_at("kid"); !key.empty() && key != key_.id())
    return kNoToken;
  if (!key_.verifies(token.substr(0, last), part(last + 1, token.size()))) return kNoToken;
  Result<Json> claims = parse_json(part(first + 1, last));
  if (!claims) return kNoToken;
  if (is_of_secret(*claims)) return std::make_shared<const Json>(common_form(*claims));
  if (claims->string_at("iss") != kTokenIssuer) return kNoToken;
  return std::make_shared<const Json>(*std::move(claims));
}

Status ServiceAccountTokens::check_time(const Json& claims) const {
  if (is_of_secret(claims)) return {};
  const std::int64_t now = registry_.dependencies().clock.now().whole_seconds();
  const std::int64_t leeway = kTokenLeeway.whole_seconds();
  if (now - leeway > claims.int_at("exp")) return does_not_hold("service account token has expired");
  if (now + leeway < claims.int_at("nbf")) return does_not_hold("service account token is not valid yet");
  return {};
}

Status ServiceAccountTokens::check_objects(const Json& claims, std::string_view token) const {
  const Json& own = claims.part(kPrivateClaims);
  const std::string_view ns = own.string_at("namespace");
  if (is_of_secret(claims))
    TRY(check_copy({"secrets", std::string(ns), std::string(claims.string_at(kSecretClaims.secret))}, token));
  TRY(check_object("serviceaccounts", ns, own.part("serviceaccount"), "service account"));
  for (const BoundKind& row : kBoundKinds) {
    const Json* reference = own.find(row.claim);
    // The node of a pod is told, not bound to.
    const bool of_pod = row.claim == "node" && own.find("pod");
    if (reference && !of_pod) TRY(check_object(row.resource, row.namespaced ? ns : "", *reference, row.what));
  }
  return {};
}

Status ServiceAccountTokens::check_copy(const store::Key& secret, std::string_view token) const {
  const store::ObjectPtr object = registry_.store().get(secret);
  const Result<Json> document = object ? registry_.document_of(*object) : Result<Json>(Json());
  if (!object || !document || is_deleting(*document)) return does_not_hold(kInvalidated);
  const Result<std::string> copy = base64_decode(document->part("data").string_at("token"));
  return copy && *copy == token ? Status()
                                : does_not_hold("service account token does not match server's copy");
}

Status ServiceAccountTokens::check_object(std::string_view resource, std::string_view ns,
                                          const Json& reference, std::string_view what) const {
  const std::string name(reference.string_at("name")), uid(reference.string_at("uid"));
  const bool is_account = resource == "serviceaccounts";
  const store::ObjectPtr object = registry_.store().get({std::string(resource), std::string(ns), name});
  if (!object)
    return does_not_hold(is_account ? "serviceaccount \"" + name + "\" not found"
                                    : std::string(kInvalidated));
  if (object->uid != uid)
    return does_not_hold(std::string(what) + " UID (" + object->uid + ") does not match claim (" + uid + ")");
  if (object->bytes.find("\"deletionTimestamp\"") == std::string::npos) return {};
  const Result<Json> document = registry_.document_of(*object);
  if (!document || !is_deleting(*document)) return {};
  const Result<Time> deleted = parse_time(metadata_of(*document).string_at("deletionTimestamp"));
  if (deleted && registry_.dependencies().clock.now() > *deleted + kTokenLeeway)
    return does_not_hold(kInvalidated);
  return {};
}

Json ServiceAccountTokens::discovery_document(std::string_view server) const {
  return Json::object({{"issuer", kTokenIssuer},
                       {"jwks_uri", std::string(server) + "/openid/v1/jwks"},
                       {"response_types_supported", Json::array({"id_token"})},
                       {"subject_types_supported", Json::array({"public"})},
                       {"id_token_signing_alg_values_supported", Json::array({"ES256"})}});
}

Json ServiceAccountTokens::key_set() const {
  return Json::object({{"keys", Json::array({key_.public_jwk()})}});
}

}  // namespace berth::server
