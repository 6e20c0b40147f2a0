#include "crd/conversion_rules.h"

#include <algorithm>
#include <optional>
#include <set>

#include "api/names.h"
#include "base/base64.h"
#include "crd/names.h"
#include "crd/webhook_client.h"

namespace berth::crd {
namespace {

using api::FieldErrors;
using api::FieldPath;

constexpr std::string_view kOnlyWebhooks = "should not be set when strategy is not set to Webhook";

// The content of the DER sequence at the front, which is removed; nothing where there is none.
std::optional<std::string_view> take_sequence(std::string_view& der) {
  constexpr unsigned char kSequence = 0x30, kLongForm = 0x80;
  const auto byte = [der](std::size_t at) { return static_cast<unsigned char>(der[at]); };
  if (der.size() < 2 || byte(0) != kSequence) return std::nullopt;
  std::size_t length = byte(1), header = 2;
  if (length >= kLongForm) {
    const std::size_t bytes = length - kLongForm;
    if (bytes == 0 || bytes > sizeof(std::uint32_t) || der.size() < header + bytes) return std::nullopt;
    length = 0;
    for (std::size_t i = 0; i < bytes; ++i) length = length << 8 | byte(header + i);
    header += bytes;
  }
  if (der.size() < header + length) return std::nullopt;
  const std::string_view content = der.substr(header, length);
  der.remove_prefix(header + length);
  return content;
}

// Of the outermost two levels; empty where they are a certificate's.
std::string certificate_fault(std::string_view der) {
  std::optional<std::string_view> content = take_sequence(der);
  if (!content) return "x509: malformed certificate";
  if (!der.empty()) return "x509: trailing data";
  return take_sequence(*content) ? "" : "x509: malformed tbs certificate";
}

struct PemBlock {
  std::string type, bytes;
  bool has_headers = false;
};

// The next block, and what follows it; nothing without one.
std::optional<PemBlock> next_block(std::string_view& text) {
  constexpr std::string_view kBegin = "-----BEGIN ", kEnd = "-----END ", kDashes = "-----";
  for (std::size_t at = text.find(kBegin); at != std::string_view::npos; at = text.find(kBegin, at + 1)) {
    if (at > 0 && text[at - 1] != '\n') continue;
    const std::size_t type_at = at + kBegin.size(), line_end = std::min(text.find('\n', at), text.size());
    const std::size_t type_end = text.substr(0, line_end).rfind(kDashes);
    if (type_end == std::string_view::npos || type_end < type_at) continue;
    PemBlock block;
    block.type = text.substr(type_at, type_end - type_at);
    const std::size_t end = text.find(std::string(kEnd) + block.type + std::string(kDashes), line_end);
    if (end == std::string_view::npos) continue;
    std::string_view body = text.substr(line_end, end - line_end);
    if (const std::size_t colon = body.find(':'); colon != std::string_view::npos) {
      block.has_headers = true;
      body.remove_prefix(std::min(body.find("\n\n"), body.size()));
    }
    const Result<std::string> bytes = base64_decode(body);
    if (!bytes) continue;
    block.bytes = *bytes;
    const std::size_t next = std::min(text.find('\n', end), text.size() - 1);
    text.remove_prefix(next + 1);
    return block;
  }
  return std::nullopt;
}

// What keeps a client from using the bundle, in Go's words; empty where nothing does.
std::string bundle_fault(std::string_view base64) {
  const Result<std::string> pem = base64_decode(base64);
  if (!pem || pem->empty()) return "";
  std::string fault = "no valid certificate authority data seen";
  bool is_decided = false;
  for (std::string_view rest = *pem; !rest.empty();) {
    const std::optional<PemBlock> block = next_block(rest);
    if (!block && !is_decided) fault = "unable to parse bytes as PEM block";
    if (!block) break;
    if (block->type != "CERTIFICATE" || block->has_headers) continue;
    const std::string why = certificate_fault(block->bytes);
    if (why.empty()) return "";
    if (!is_decided) fault = "failed to parse certificate: " + why;
    is_decided = true;
  }
  return "unable to load root certificates: " + fault;
}

bool allows_any_bundle(const Json& old) {
  if (old.is_null() || !is_established(old)) return true;
  const Json& client = old.part("spec").part("conversion").part("webhook").part("clientConfig");
  return !bundle_fault(client.string_at("caBundle")).empty();
}

void check_client(FieldErrors& errors, const Json& client, const FieldPath& path, const Json& old) {
  const Json *url = client.find("url"), *service = client.find("service");
  if ((url != nullptr) == (service != nullptr))
    errors.push_back(api::required(path, "exactly one of url or service is required"));
  else if (url)
    check_webhook_url(errors, std::string(client.string_at("url")), path.child("url"));
  else
    check_webhook_service(errors, *service, path.child("service"));
  const std::string_view bundle = client.string_at("caBundle");
  if (bundle.empty() || allows_any_bundle(old)) return;
  if (const std::string fault = bundle_fault(bundle); !fault.empty())
    errors.push_back(api::invalid(path.child("caBundle"), bundle, fault));
}

bool is_known_review(const Json& version) {
  return version == Json("v1") || version == Json("v1beta1");
}

void check_reviews(FieldErrors& errors, const JsonArray& versions, const FieldPath& path, const Json& old) {
  if (versions.empty()) return errors.push_back(api::required(path));
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < versions.size(); ++i) {
    const std::string& version = versions[i].as_string();
    if (!seen.insert(version).second) {
      errors.push_back(api::invalid(path.index(i), version, "duplicate version"));
      continue;
    }
    for (const std::string& problem : api::dns_1035_label_problems(version))
      errors.push_back(api::invalid(path.index(i), version, problem));
  }
  const JsonArray& before =
      old.part("spec").part("conversion").part("webhook").items_at("conversionReviewVersions");
  const bool none_before = !before.empty() && std::none_of(before.begin(), before.end(), is_known_review);
  if (!none_before && std::none_of(versions.begin(), versions.end(), is_known_review))
    errors.push_back(api::invalid(path, Json(versions), "must include at least one of v1, v1beta1"));
}

}  // namespace

FieldErrors check_conversion(const Json& conversion, const FieldPath& path, const Json& old) {
  FieldErrors errors;
  const std::string_view strategy = conversion.string_at("strategy");
  const Json& webhook = conversion.part("webhook");
  const Json* client = webhook.find("clientConfig");
  const FieldPath reviews = path.child("conversionReviewVersions"),
                  config = path.child("webhookClientConfig");
  if (strategy.empty())
    errors.push_back(api::required(path.child("strategy")));
  else if (strategy != "None" && strategy != "Webhook")
    errors.push_back(api::not_supported(path.child("strategy"), strategy, {"None", "Webhook"}));
  if (strategy == "Webhook") {
    if (client)
      check_client(errors, *client, config, old);
    else
      errors.push_back(api::required(config, "required when strategy is set to Webhook"));
    check_reviews(errors, webhook.items_at("conversionReviewVersions"), reviews, old);
    return errors;
  }
  if (client) errors.push_back(api::forbidden(config, kOnlyWebhooks));
  if (!webhook.items_at("conversionReviewVersions").empty())
    errors.push_back(api::forbidden(reviews, kOnlyWebhooks));
  return errors;
}

}  // namespace berth::crd
