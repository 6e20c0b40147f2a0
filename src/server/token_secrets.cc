#include "server/token_secrets.h"

#include "base/base64.h"
#include "base/log.h"
#include "server/metadata.h"
#include "server/service_account_tokens.h"

namespace berth::server {
namespace {

constexpr const char* kSecretsPlural = "secrets";
constexpr const char* kAccountsPlural = "serviceaccounts";
constexpr std::string_view kTokenType = "kubernetes.io/service-account-token";
constexpr const char* kAccountName = "kubernetes.io/service-account.name";
constexpr const char* kAccountUid = "kubernetes.io/service-account.uid";
constexpr int kServerFailure = 500;

ObjectTarget core_target(std::string_view plural, const std::string& ns, const std::string& name) {
  return {api::find_resource("", "v1", plural), ns, name, ""};
}

WriteOptions token_controller_write() {
  WriteOptions options;
  options.in_process = true;
  return options;
}

std::string annotation_of(const Json& document, const char* key) {
  return std::string(metadata_of(document).part("annotations").string_at(key));
}

}  // namespace

void TokenSecrets::noted(const ObjectTarget& target) {
  const bool is_secret = is_core(target, kSecretsPlural);
  if (!is_secret && !is_core(target, kAccountsPlural)) return;
  const std::lock_guard lock(mutex_);
  if (all_) return;
  (is_secret ? secrets_ : written_accounts_).emplace(target.ns, target.name);
  if (secrets_.size() + written_accounts_.size() <= kWrittenSecretsMax) return;
  all_ = true;
  secrets_.clear();
  written_accounts_.clear();
}

TokenSecrets::Names TokenSecrets::take_written(Time monotonic_now) {
  Names secrets, accounts;
  bool all = false;
  {
    const std::lock_guard lock(mutex_);
    secrets.swap(secrets_);
    accounts.swap(written_accounts_);
    all = std::exchange(all_, false);
    if (monotonic_now >= next_retry_ && !failed_.empty()) {
      secrets.merge(failed_);
      next_retry_ = monotonic_now + kTokenSecretsRetry;
    }
  }
  if (!all && accounts.empty()) return secrets;
  for (const auto& [secret, account] : accounts_)
    if (all || accounts.contains({secret.first, account})) secrets.insert(secret);
  if (!all) return secrets;
  for (const store::ObjectPtr& object : registry_.stored_with(kSecretsPlural, kTokenType))
    secrets.emplace(object->key.ns, object->key.name);
  return secrets;
}

void TokenSecrets::tick(Time monotonic_now) {
  if (!ca_) return;
  if (left_.empty()) left_ = take_written(monotonic_now);
  for (std::size_t n = 0; n < kTokenSecretsPerRunMax && !left_.empty(); ++n) {
    const auto next = left_.extract(left_.begin());
    look_at(next.value().first, next.value().second);
  }
}

void TokenSecrets::look_at(const std::string& ns, const std::string& name) {
  const store::ObjectPtr secret = registry_.store().get({kSecretsPlural, ns, name});
  const Result<Json> document = secret ? registry_.document_of(*secret) : Result<Json>(Json());
  if (!document || document->string_at("type") != kTokenType) {
    const auto gone = accounts_.extract({ns, name});
    if (!gone.empty()) drop_reference(ns, name, gone.mapped());
    return;
  }
  const std::string account_name = annotation_of(*document, kAccountName);
  accounts_[{ns, name}] = account_name;
  if (is_deleting(*document) || account_name.empty()) return;
  const store::ObjectPtr account = registry_.store().get({kAccountsPlural, ns, account_name});
  const std::string uid = annotation_of(*document, kAccountUid);
  if (!account || (!uid.empty() && uid != account->uid)) return remove(*secret);
  fill(*secret, *document, *account);
}

void TokenSecrets::fill(const store::Object& secret, const Json& document, const store::Object& account) {
  const Json& data = document.part("data");
  Json missing = Json::object();
  if (const std::string ca = base64_encode(*ca_); !ca_->empty() && data.string_at("ca.crt") != ca)
    missing["ca.crt"] = ca;
  if (data.string_at("namespace").empty()) missing["namespace"] = base64_encode(secret.key.ns);
  if (data.string_at("token").empty()) {
    const Result<std::string> token = tokens_.secret_token(secret.key, account);
    if (!token)
      return log(LogLevel::Warning, "a token could not be signed",
                 {{"secret", secret.key.name}, {"error", token.error().message()}});
    missing["token"] = base64_encode(*token);
  }
  if (missing.as_object().empty()) return;
  const ObjectTarget target = core_target(kSecretsPlural, secret.key.ns, secret.key.name);
  const auto change = [target, missing, seen = std::to_string(secret.revision),
                       uid = account.uid](const Json& current) -> ApiResult<Json> {
    // Another write is news, which the next run looks at.
    if (metadata_of(current).string_at("resourceVersion") != seen) return current;
    Json next = current;
    for (const JsonMember& member : missing.as_object()) next["data"][member.key] = member.value;
    metadata_of(next)["annotations"][kAccountUid] = uid;
    return canonical(target, std::move(next), current);
  };
  registry_.modify(target, change, token_controller_write(),
                   repeats_on_failure(secret.key.ns, secret.key.name));
}

void TokenSecrets::remove(const store::Object& secret) {
  DeleteOptions options;
  options.uid = secret.uid;
  registry_.remove(core_target(kSecretsPlural, secret.key.ns, secret.key.name), std::move(options),
                   token_controller_write(), repeats_on_failure(secret.key.ns, secret.key.name));
}

void TokenSecrets::drop_reference(const std::string& ns, const std::string& secret,
                                  const std::string& account) {
  const ObjectTarget target = core_target(kAccountsPlural, ns, account);
  const auto change = [target, secret](const Json& current) -> ApiResult<Json> {
    JsonArray kept;
    for (const Json& reference : current.items_at("secrets"))
      if (reference.string_at("name") != secret) kept.push_back(reference);
    if (kept.size() == current.items_at("secrets").size()) return current;
    Json next = current;
    next["secrets"] = std::move(kept);
    return canonical(target, std::move(next), current);
  };
  registry_.modify(target, change, token_controller_write(), [](const ApiResult<Answer>&) {});
}

Done TokenSecrets::repeats_on_failure(const std::string& ns, const std::string& name) {
  return [this, ns, name](const ApiResult<Answer>& made) {
    if (made || made.error().code < kServerFailure) return;
    log(LogLevel::Warning, "a token Secret could not be written",
        {{"secret", ns + "/" + name}, {"error", made.error().message}});
    const std::lock_guard lock(mutex_);
    failed_.emplace(ns, name);
  };
}

}  // namespace berth::server
