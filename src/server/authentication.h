// Authentication: who asks, and whom the asker impersonates.
//
// Any thread. Source: the filters of authentication and impersonation of k8s.io/apiserver 1.37.
#pragma once

#include "server/access.h"
#include "server/http.h"
#include "server/service_account_tokens.h"
#include "server/status.h"

namespace berth::server {

// The user that the transport established, or that of the bearer token, or the one that this user
// impersonates; without credentials system:anonymous. 401 for a token that does not hold (`tokens` null: none
// does). 403 for a user that may not impersonate one of the name, the groups, the UID and the extras that the
// headers ask for; 400 for these without a name.
ApiResult<User> authenticate(const HttpRequest& request, Access& access, ServiceAccountTokens* tokens);

}  // namespace berth::server
