#include "server/access.h"

#include <algorithm>

#include "base/ascii.h"
#include "base/time.h"

namespace berth::server {
namespace {

constexpr std::string_view kMasters = "system:masters";
constexpr std::string_view kAuthenticated = "system:authenticated";
constexpr std::string_view kUnauthenticated = "system:unauthenticated";

bool in_group(const User& user, std::string_view group) {
  return std::find(user.groups.begin(), user.groups.end(), group) != user.groups.end();
}

ApiStatus unauthorized() {
  return {.code = 401, .reason = "Unauthorized", .message = "Unauthorized"};
}

std::string sentence(const User& user, const AccessAttributes& attributes) {
  std::string text = "User \"" + user.name + "\" cannot ";
  text.append(attributes.verb)
      .append(" resource \"")
      .append(attributes.resource)
      .append("\" in API group \"");
  text.append(attributes.group).append("\" ");
  if (attributes.ns.empty()) return text + "at the cluster scope";
  return text.append("in the namespace \"").append(attributes.ns).append("\"");
}

// Every authenticated user may review its own access.
bool asks_about_self(const AccessAttributes& attributes) {
  const bool group =
      attributes.group == "authorization.k8s.io" || attributes.group == "authentication.k8s.io";
  return group && attributes.verb == "create" && attributes.resource.rfind("selfsubject", 0) == 0;
}

constexpr std::string_view kImpersonateUser = "impersonate-user";
constexpr std::string_view kImpersonateGroup = "impersonate-group";

// "impersonate-group", or nothing for a header that is none of impersonation.
std::string impersonation_of(std::string_view header) {
  std::string name = to_lower(header);
  for (const std::string_view one : {kImpersonateGroup, std::string_view("impersonate-uid")})
    if (name == one) return name;
  return name.starts_with("impersonate-extra-") ? name : std::string();
}

// Attributes of a user that is not named: they would be ignored, and the request be the caller's own.
ApiResult<void> check_user_is_named(const HttpRequest& request) {
  for (const auto& [name, value] : request.headers)
    if (const std::string asked = impersonation_of(name); !asked.empty())
      return bad_request("requested " + asked +
                         " without impersonating a user: " + std::string(kImpersonateUser) + " is missing");
  return {};
}

bool is_open_path(std::string_view path) {
  for (std::string_view root : {"/api", "/apis", "/openapi", "/version", "/healthz", "/livez", "/readyz"})
    if (path == root ||
        (path.size() > root.size() && path.substr(0, root.size()) == root && path[root.size()] == '/'))
      return true;
  return false;
}

bool is_public_path(std::string_view path) {
  for (std::string_view root : {"/version", "/healthz", "/livez", "/readyz"})
    if (path.substr(0, root.size()) == root) return true;
  return false;
}

}  // namespace

bool is_administrator(const User& user) {
  return in_group(user, kMasters);
}

ApiResult<User> authenticate(const HttpRequest& request) {
  User user = request.user;
  if (user.name.empty()) {
    if (!request.header("Authorization").empty()) return unauthorized();
    user = {"system:anonymous", {std::string(kUnauthenticated)}};
  } else if (!in_group(user, kAuthenticated)) {
    user.groups.emplace_back(kAuthenticated);
  }
  const std::string_view other = request.header(kImpersonateUser);
  if (other.empty()) {
    TRY(check_user_is_named(request));
    return user;
  }
  TRY(authorize(user, {"impersonate", "", "users", "", other}));
  User impersonated{std::string(other), {}};
  for (const auto& [name, value] : request.headers)
    if (impersonation_of(name) == kImpersonateGroup) impersonated.groups.push_back(value);
  if (!in_group(impersonated, kAuthenticated)) impersonated.groups.emplace_back(kAuthenticated);
  return impersonated;
}

ApiResult<void> authorize(const User& user, const AccessAttributes& attributes) {
  if (is_administrator(user)) return {};
  if (in_group(user, kAuthenticated) && asks_about_self(attributes)) return {};
  const std::string_view plural =
      std::string_view(attributes.resource).substr(0, attributes.resource.find('/'));
  return forbidden({attributes.group, plural}, attributes.name, sentence(user, attributes));
}

ApiResult<void> authorize_path(const User& user, std::string_view method, std::string_view path) {
  if (is_administrator(user) || is_public_path(path)) return {};
  if (in_group(user, kAuthenticated) && is_open_path(path)) return {};
  std::string verb(method);
  for (char& c : verb) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  return ApiStatus{.code = 403,
                   .reason = "Forbidden",
                   .message = "forbidden: User \"" + user.name + "\" cannot " + verb + " path \"" +
                              std::string(path) + "\"",
                   .has_details = true};
}

ApiResult<void> check_timeout(const HttpRequest& request) {
  const std::string* timeout = request.parameter("timeout");
  if (!timeout || timeout->empty() || parse_duration(*timeout)) return {};
  return bad_request("invalid timeout specified in the request URL - time: invalid duration \"" + *timeout +
                     "\"");
}

}  // namespace berth::server
