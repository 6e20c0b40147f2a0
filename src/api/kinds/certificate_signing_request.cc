// Rules of certificates.k8s.io CertificateSigningRequest: who asks is what the server knows of the client,
// the request does not change, /approval writes the conditions Approved and Denied and /status the others.
//
// Of the request itself only the PEM form and the outermost length are checked, not the signature. Source:
// registry/certificates and pkg/apis/certificates/validation of Kubernetes 1.37.
#include <algorithm>

#include "api/kinds/core_parts.h"
#include "api/kinds/stored_kinds.h"
#include "base/base64.h"

namespace berth::api {
namespace {

constexpr std::string_view kApprovalSubresource = "approval";
constexpr std::string_view kDecisions[] = {"Approved", "Denied"};
constexpr std::string_view kVerdictTypes[] = {"Approved", "Denied", "Failed"};
constexpr std::int64_t kExpirationSecondsMin = 600;
constexpr std::string_view kUsages[] = {"any",
                                        "cert sign",
                                        "client auth",
                                        "code signing",
                                        "content commitment",
                                        "crl sign",
                                        "data encipherment",
                                        "decipher only",
                                        "digital signature",
                                        "email protection",
                                        "encipher only",
                                        "ipsec end system",
                                        "ipsec tunnel",
                                        "ipsec user",
                                        "key agreement",
                                        "key encipherment",
                                        "microsoft sgc",
                                        "netscape sgc",
                                        "ocsp signing",
                                        "s/mime",
                                        "server auth",
                                        "signing",
                                        "timestamping"};

template <class List>
bool lists(const List& list, std::string_view text) {
  return std::find(std::begin(list), std::end(list), text) != std::end(list);
}

const TypeInfo& signing_type(std::string_view name) {
  return table_type("certificates.k8s.io", "v1", name);
}

void prepare_signing(Json& object, const RuleContext& ctx) {
  static const TypeInfo& type = signing_type("CertificateSigningRequestSpec");
  put(object, signing_type("CertificateSigningRequest"), "status", Json::object());
  Json* spec = present(object, "spec");
  if (!spec) return;
  for (std::string_view field : {"username", "uid", "groups", "extra"}) spec->as_object().erase(field);
  if (!ctx.user.empty()) put(*spec, type, "username", ctx.user);
  if (!ctx.user_uid.empty()) put(*spec, type, "uid", ctx.user_uid);
  if (!ctx.user_groups.empty())
    put(*spec, type, "groups", JsonArray(ctx.user_groups.begin(), ctx.user_groups.end()));
  if (!ctx.user_extra || ctx.user_extra->empty()) return;
  Json extra = Json::object();
  for (const auto& [key, values] : *ctx.user_extra) extra[key] = JsonArray(values.begin(), values.end());
  put(*spec, type, "extra", std::move(extra));
}

void keep_spec(Json& next, const Json& old, const RuleContext&) {
  if (const Json* spec = present(old, "spec")) next["spec"] = *spec;
}

const JsonArray& conditions_in(const Json& object) {
  return items(present(object, "status"), "conditions");
}

std::vector<Json> of_type(const Json& object, std::string_view type) {
  std::vector<Json> found;
  for (const Json& condition : conditions_in(object))
    if (condition.string_at("type") == type) found.push_back(condition);
  return found;
}

// Times that the client left out; a status that stays keeps the time of its transition.
void fill_in_times(Json& next, const Json& old, Time now) {
  static const TypeInfo& type = signing_type("CertificateSigningRequestCondition");
  if (conditions_in(next).empty()) return;
  for (Json& condition : items(next["status"], "conditions")) {
    put_default(condition, type, "lastUpdateTime", format_time(now));
    Json since = format_time(now);
    for (const Json& before : of_type(old, condition.string_at("type")))
      if (before.string_at("status") == condition.string_at("status") &&
          present(before, "lastTransitionTime"))
        since = before.string_at("lastTransitionTime");
    put_default(condition, type, "lastTransitionTime", std::move(since));
  }
}

// The standing decisions, where as many of them are sent: their values are not those of this subresource.
void keep_decisions(Json& next, const Json& old) {
  for (const std::string_view type : kDecisions) {
    const std::vector<Json> before = of_type(old, type);
    if (before.empty() || before.size() != of_type(next, type).size()) continue;
    std::size_t n = 0;
    for (Json& condition : items(next["status"], "conditions"))
      if (condition.string_at("type") == type) condition = before[n++];
  }
}

void prepare_signing_status(Json& next, const Json& old, const RuleContext& ctx) {
  keep_spec(next, old, ctx);
  const bool approves = ctx.subresource == kApprovalSubresource;
  if (!approves) keep_decisions(next, old);
  fill_in_times(next, old, ctx.now);
  if (!approves) return;
  Json status = old.part("status");
  if (status.is_null()) status = Json::object();
  static const TypeInfo& type = signing_type("CertificateSigningRequestStatus");
  if (const Json* conditions = present_at(next, {"status", "conditions"}))
    put(status, type, "conditions", *conditions);
  else
    status.as_object().erase("conditions");
  put(next, signing_type("CertificateSigningRequest"), "status", std::move(status));
}

// Go's words; empty for a PEM block of this type that holds one DER sequence.
std::string pem_problem(std::string_view base64, const std::string& type, std::string_view other_type) {
  const std::string begin = "-----BEGIN " + type + "-----", end = "-----END " + type + "-----";
  const Result<std::string> pem = base64_decode(base64);
  const std::size_t from = pem ? pem->find(begin) : std::string::npos;
  const std::size_t to = from == std::string::npos ? from : pem->find(end, from);
  if (to == std::string::npos) return std::string(other_type);
  const std::size_t body = from + begin.size();
  const Result<std::string> der = base64_decode(std::string_view(*pem).substr(body, to - body));
  if (!der || der->size() < 2 || der->front() != '\x30') return "asn1: syntax error";
  const auto first = static_cast<unsigned char>((*der)[1]);
  std::size_t length = first, header = 2;
  if (first >= 0x80) {
    const std::size_t bytes = first & 0x7f;
    if (bytes == 0 || bytes > 4 || der->size() < header + bytes) return "asn1: syntax error";
    length = 0;
    for (std::size_t i = 0; i < bytes; ++i)
      length = length << 8 | static_cast<unsigned char>((*der)[header + i]);
    header += bytes;
  }
  return header + length == der->size() ? "" : "asn1: syntax error: data truncated";
}

FieldErrors check_signer_name(const std::string& path, std::string_view name) {
  if (name.empty()) return {required(path)};
  const std::size_t slash = name.find('/');
  if (slash == std::string_view::npos || name.find('/', slash + 1) != std::string_view::npos)
    return {invalid(path, name,
                    "must be a fully qualified domain and path of the form 'example.com/signer-name'")};
  const std::string_view domain = name.substr(0, slash);
  FieldErrors errors;
  append(errors, check_format(path, domain, dns_subdomain_problems));
  if (domain.find('.') == std::string_view::npos)
    errors.push_back(
        invalid(path, domain, "should be a domain with at least two segments separated by dots"));
  append(errors, check_format(path, name.substr(slash + 1), dns_subdomain_problems));
  return errors;
}

FieldErrors check_usages(const FieldPath& path, const JsonArray& usages) {
  if (usages.empty()) return {required(path)};
  FieldErrors errors;
  ItemSet seen;
  for (std::size_t i = 0; i < usages.size(); ++i) {
    if (!lists(kUsages, usages[i].as_string()))
      errors.push_back(not_supported(path.index(i), usages[i], kUsages));
    if (!seen.add(usages[i])) errors.push_back(duplicate(path.index(i), usages[i]));
  }
  return errors;
}

FieldErrors check_conditions(const FieldPath& path, const JsonArray& conditions) {
  FieldErrors errors;
  const NamedItems by_type(conditions, "type");
  for (std::size_t i = 0; i < conditions.size(); ++i) {
    const std::string_view type = conditions[i].string_at("type"), status = conditions[i].string_at("status");
    const FieldPath at = path.index(i);
    if (type.empty()) errors.push_back(required(at.child("type")));
    if (status.empty())
      errors.push_back(required(at.child("status")));
    else if (lists(kVerdictTypes, type))
      append(errors, check_one_of(at.child("status"), status, {"True"}));
    else
      append(errors, check_one_of(at.child("status"), status, {"False", "True", "Unknown"}));
    const std::string_view opposite = type == kDecisions[0]   ? kDecisions[1]
                                      : type == kDecisions[1] ? kDecisions[0]
                                                              : "";
    const Json* other = opposite.empty() ? nullptr : by_type.find(opposite);
    if (other && other < &conditions[i])
      errors.push_back(invalid(path, type, "Approved and Denied conditions are mutually exclusive"));
    if (by_type.is_repeated(conditions[i])) errors.push_back(duplicate(at.child("type"), type));
  }
  return errors;
}

FieldErrors validate_signing(const Json& object, const RuleContext&) {
  const FieldPath path("spec");
  const Json& spec = object.part("spec");
  FieldErrors errors;
  const std::string problem = pem_problem(spec.string_at("request"), "CERTIFICATE REQUEST",
                                          "PEM block type must be CERTIFICATE REQUEST");
  if (!problem.empty()) errors.push_back(invalid(path.child("request"), spec.string_at("request"), problem));
  append(errors, check_usages(path.child("usages"), items(&spec, "usages")));
  const std::string_view signer = spec.string_at("signerName");
  if (signer == "kubernetes.io/legacy-unknown")
    errors.push_back(invalid(path.child("signerName"), signer,
                             "the legacy signerName is not allowed via this API version"));
  else
    append(errors, check_signer_name(path.child("signerName"), signer));
  const Json* expiration = present(spec, "expirationSeconds");
  if (expiration && expiration->as_int() < kExpirationSecondsMin)
    errors.push_back(invalid(path.child("expirationSeconds"), *expiration,
                             "may not specify a duration less than 600 seconds (10 minutes)"));
  return errors;
}

// What the subresource may not change of the decisions.
void check_decisions(FieldErrors& errors, const Json& next, const Json& old) {
  for (const std::string_view type : kDecisions) {
    const std::vector<Json> before = of_type(old, type), after = of_type(next, type);
    const std::string quoted = "a condition of type \"" + std::string(type) + "\"";
    if (after.size() > before.size())
      errors.push_back(forbidden("status.conditions", "updates may not add " + quoted));
    else if (after.size() == before.size() && after != before)
      errors.push_back(forbidden("status.conditions", "updates may not modify " + quoted));
  }
}

FieldErrors validate_signing_status(const Json& next, const Json& old, const RuleContext& ctx) {
  FieldErrors errors = check_conditions(FieldPath("status").child("conditions"), conditions_in(next));
  for (const std::string_view type : kVerdictTypes)
    if (of_type(next, type).size() < of_type(old, type).size())
      errors.push_back(forbidden("status.conditions",
                                 "updates may not remove a condition of type \"" + std::string(type) + "\""));
  if (ctx.subresource == kApprovalSubresource) return errors;
  check_decisions(errors, next, old);
  const std::string_view before = old.part("status").string_at("certificate");
  const std::string_view after = next.part("status").string_at("certificate");
  if (after == before) return errors;
  if (!before.empty())
    errors.push_back(forbidden("status.certificate", "updates may not modify existing certificate content"));
  const std::string problem =
      after.empty() ? ""
                    : pem_problem(after, "CERTIFICATE", "must contain at least one CERTIFICATE PEM block");
  if (!problem.empty()) errors.push_back(invalid("status.certificate", "<certificate data>", problem));
  return errors;
}

}  // namespace

void adjust_signing_requests(KindRules& rules) {
  rules.status_writer = kApprovalSubresource;
  rules.name_problems = [](const Json&, std::string_view) { return NameProblems(); };
  rules.prepare_create = prepare_signing;
  rules.prepare_update = keep_spec;
  rules.prepare_status_update = prepare_signing_status;
  rules.validate_create = validate_signing;
  rules.validate_status_update = validate_signing_status;
}

}  // namespace berth::api
