#include "server/authentication.h"

#include <optional>

#include "base/ascii.h"
#include "server/transport/target.h"

namespace berth::server {
namespace {

constexpr std::string_view kImpersonateUser = "impersonate-user";
constexpr std::string_view kImpersonateGroup = "impersonate-group";
constexpr std::string_view kImpersonateUid = "impersonate-uid";
constexpr std::string_view kImpersonateExtra = "impersonate-extra-";
constexpr std::string_view kAuthenticationGroup = "authentication.k8s.io";

ApiStatus unauthorized() {
  return {.code = 401, .reason = "Unauthorized", .message = "Unauthorized"};
}

// What the headers of a request ask for.
struct Impersonation {
  std::string_view user;
  std::vector<std::string> groups;
  std::string_view uid;
  std::map<std::string, std::vector<std::string>> extra;
};

struct AccountName {
  std::string_view ns, name;
};

std::optional<AccountName> account_of(std::string_view user) {
  if (!user.starts_with(rbac::kServiceAccountPrefix)) return std::nullopt;
  user.remove_prefix(rbac::kServiceAccountPrefix.size());
  const std::size_t colon = user.find(':');
  if (colon == std::string_view::npos || colon == 0 || colon + 1 == user.size()) return std::nullopt;
  return AccountName{user.substr(0, colon), user.substr(colon + 1)};
}

// Keys may be percent-encoded; one that is not well encoded counts as it is.
std::string decoded_key(const std::string& key) {
  const Result<Target> decoded = parse_target("/" + key);
  return decoded ? decoded->path.substr(1) : key;
}

// Attributes of a user that is not named would be ignored, and the request be the caller's own.
ApiResult<Impersonation> impersonation_of(const HttpRequest& request) {
  Impersonation asked;
  std::string attribute;
  for (const auto& [header, value] : request.headers) {
    const std::string name = to_lower(header);
    if (name == kImpersonateUser && asked.user.empty()) asked.user = value;
    if (name == kImpersonateGroup) asked.groups.push_back(value);
    if (name == kImpersonateUid && asked.uid.empty()) asked.uid = value;
    const bool is_extra = name.starts_with(kImpersonateExtra);
    if (is_extra) {
      asked.extra[decoded_key(name.substr(kImpersonateExtra.size()))].push_back(value);
    }
    if (is_extra || name == kImpersonateGroup || name == kImpersonateUid) attribute = name;
  }
  if (asked.user.empty() && !attribute.empty())
    return bad_request("requested " + attribute +
                       " without impersonating a user: " + std::string(kImpersonateUser) + " is missing");
  return asked;
}

// Groups that are named count as they are, but for the one of all who are, or are not, known.
void complete_groups(User& user) {
  const bool anonymous = user.name == rbac::kAnonymous;
  const bool known = user.is_in(rbac::kUnauthenticated) || (!anonymous && user.is_in(rbac::kAuthenticated));
  if (!known) user.groups.emplace_back(anonymous ? rbac::kUnauthenticated : rbac::kAuthenticated);
}

ApiResult<User> impersonated(const User& caller, Impersonation asked, Access& access) {
  const auto check = [&](std::string_view group, std::string resource, std::string_view ns,
                         std::string_view name) {
    return access.authorize(caller, {"impersonate", group, std::move(resource), ns, name});
  };
  User user{std::string(asked.user)};
  if (const std::optional<AccountName> account = account_of(asked.user)) {
    TRY(check("", "serviceaccounts", account->ns, account->name));
    if (asked.groups.empty()) user.groups = rbac::service_account_groups(account->ns);
  } else {
    TRY(check("", "users", "", asked.user));
  }
  for (const std::string& group : asked.groups) TRY(check("", "groups", "", group));
  for (const auto& [key, values] : asked.extra)
    for (const std::string& value : values) TRY(check(kAuthenticationGroup, "userextras/" + key, "", value));
  if (!asked.uid.empty()) TRY(check(kAuthenticationGroup, "uids", "", asked.uid));
  user.groups.insert(user.groups.end(), asked.groups.begin(), asked.groups.end());
  user.uid = asked.uid;
  user.extra = std::move(asked.extra);
  complete_groups(user);
  return user;
}

ApiResult<User> asking_user(const HttpRequest& request, ServiceAccountTokens* tokens) {
  User user = request.user;
  if (!user.name.empty()) {
    if (!user.is_in(rbac::kAuthenticated)) user.groups.emplace_back(rbac::kAuthenticated);
    return user;
  }
  const std::string_view authorization = request.header("Authorization");
  if (authorization.empty())
    return User{std::string(rbac::kAnonymous), {std::string(rbac::kUnauthenticated)}};
  const std::string_view token = bearer_token(authorization);
  if (!tokens || token.empty()) return unauthorized();
  Result<User> account = tokens->authenticate(token);
  return account ? ApiResult<User>(*std::move(account)) : unauthorized();
}

}  // namespace

ApiResult<User> authenticate(const HttpRequest& request, Access& access, ServiceAccountTokens* tokens) {
  User user = TRY(asking_user(request, tokens));
  Impersonation asked = TRY(impersonation_of(request));
  if (asked.user.empty()) return user;
  return impersonated(user, std::move(asked), access);
}

}  // namespace berth::server
