// Rules of core/v1 ConfigMap and Secret.
#include <algorithm>

#include "api/kinds/core_kinds.h"
#include "api/kinds/core_parts.h"
#include "base/base64.h"

namespace berth::api {
namespace {

constexpr std::size_t kContentBytesMax = 1 << 20;
constexpr std::string_view kFrozen = "field is immutable when `immutable` is set";

struct SecretType {
  std::string_view type;
  std::string_view key;  // a required key
};
constexpr SecretType kSecretTypes[] = {{"kubernetes.io/dockercfg", ".dockercfg"},
                                       {"kubernetes.io/dockerconfigjson", ".dockerconfigjson"},
                                       {"kubernetes.io/ssh-auth", "ssh-privatekey"},
                                       {"kubernetes.io/tls", "tls.crt"},
                                       {"kubernetes.io/tls", "tls.key"}};

// Every entry of the member: its key, and its part of the size.
FieldErrors check_entries(const Json& object, std::string_view member, std::size_t& size) {
  FieldErrors errors;
  for (const JsonMember& entry : entries(present(object, member))) {
    append(errors, check_format(FieldPath(member).key(entry.key), entry.key, config_key_problems));
    size += entry.value.as_string().size();
  }
  return errors;
}

// Once `immutable` is set, neither it nor `members` may change.
FieldErrors check_frozen(const Json& next, const Json& old, std::initializer_list<std::string_view> members) {
  FieldErrors errors;
  if (!old.bool_at("immutable")) return errors;
  if (!next.bool_at("immutable")) errors.push_back(forbidden("immutable", kFrozen));
  for (std::string_view member : members)
    if (!same(present(next, member), present(old, member)))
      errors.push_back(forbidden(std::string(member), kFrozen));
  return errors;
}

FieldErrors validate_map(const Json& map, const RuleContext&) {
  std::size_t size = 0;
  FieldErrors errors = check_entries(map, "data", size);
  const Json* plain = present(map, "data");
  for (const JsonMember& entry : entries(present(map, "binaryData")))
    if (plain && plain->find(entry.key))
      errors.push_back(
          invalid(FieldPath("data").key(entry.key), entry.key, "duplicate of key present in binaryData"));
  append(errors, check_entries(map, "binaryData", size));
  if (size > kContentBytesMax) errors.push_back(too_long("", kContentBytesMax));
  return errors;
}

FieldErrors validate_map_update(const Json& next, const Json& old, const RuleContext& ctx) {
  FieldErrors errors = check_frozen(next, old, {"data", "binaryData"});
  append(errors, validate_map(next, ctx));
  return errors;
}

// stringData is write-only: it is never stored.
void set_secret_defaults(Json& secret) {
  static const TypeInfo& type = core_type("Secret");
  if (const Json* texts = present(secret, "stringData")) {
    JsonObject merged;
    if (const Json* stored = present(secret, "data")) merged = stored->as_object();
    for (const JsonMember& text : texts->as_object())
      merged[text.key] = base64_encode(text.value.as_string());
    std::sort(merged.begin(), merged.end(),
              [](const JsonMember& a, const JsonMember& b) { return a.key < b.key; });
    secret.as_object().erase("stringData");
    if (!merged.empty()) put(secret, type, "data", Json(std::move(merged)));
  }
  if (secret.string_at("type").empty()) put(secret, type, "type", "Opaque");
}

FieldErrors validate_secret(const Json& secret, const RuleContext&) {
  std::size_t size = 0;
  FieldErrors errors = check_entries(secret, "data", size);
  if (size > kContentBytesMax / 3 * 4) errors.push_back(too_long("data", kContentBytesMax));
  const std::string_view type = secret.string_at("type");
  const Json* content = present(secret, "data");
  for (const SecretType& row : kSecretTypes)
    if (row.type == type && !(content && content->find(row.key)))
      errors.push_back(required(FieldPath("data").key(row.key)));
  if (type == "kubernetes.io/basic-auth" &&
      !(content && (content->find("username") || content->find("password")))) {
    errors.push_back(required(FieldPath("data").key("username")));
    errors.push_back(required(FieldPath("data").key("password")));
  }
  const bool named = present_at(secret, {"metadata", "annotations", "kubernetes.io/service-account.name"});
  if (type == "kubernetes.io/service-account-token" && !named)
    errors.push_back(
        required(FieldPath("metadata").child("annotations").key("kubernetes.io/service-account.name")));
  return errors;
}

FieldErrors validate_secret_update(const Json& next, const Json& old, const RuleContext& ctx) {
  FieldErrors errors = check_immutable("type", present(next, "type"), present(old, "type"));
  append(errors, check_frozen(next, old, {"data"}));
  append(errors, validate_secret(next, ctx));
  return errors;
}

}  // namespace

KindRules config_map_rules() {
  KindRules rules;
  rules.resource = "configmaps";
  rules.validate_create = validate_map;
  rules.validate_update = validate_map_update;
  return rules;
}

KindRules secret_rules() {
  KindRules rules;
  rules.resource = "secrets";
  rules.set_defaults = set_secret_defaults;
  rules.validate_create = validate_secret;
  rules.validate_update = validate_secret_update;
  return rules;
}

}  // namespace berth::api
