// Authentication and authorization.
//
// There is one administrator (group system:masters) and no roles: all other users may only read discovery and
// review their own access. Pure, any thread. Source: responses of kube-apiserver 1.37 with RBAC and no
// bindings.
#pragma once

#include <string>
#include <string_view>

#include "server/http.h"
#include "server/status.h"

namespace berth::server {

struct AccessAttributes {
  std::string_view verb;
  std::string_view group;
  std::string resource;  // "pods", "pods/binding"
  std::string_view ns;   // empty: the cluster scope
  std::string_view name;
};

// The user that the transport established, or the one that the administrator impersonates. Without
// credentials system:anonymous; 401 for a token, since none is ever issued; 403 for a user that may not
// impersonate; 400 for groups, a UID or extras of an impersonated user without a name.
ApiResult<User> authenticate(const HttpRequest& request);

bool is_administrator(const User& user);
// 403 in the reference's words unless `user` may.
ApiResult<void> authorize(const User& user, const AccessAttributes& attributes);
// For paths that are not a resource.
ApiResult<void> authorize_path(const User& user, std::string_view method, std::string_view path);

// Refuses a `timeout` parameter that is no duration; requests here need no deadline. Of everything but
// watches.
ApiResult<void> check_timeout(const HttpRequest& request);

}  // namespace berth::server
