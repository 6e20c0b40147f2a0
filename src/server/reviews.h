// Reviews: requests that are answered at once and never stored (SelfSubjectReview, access reviews,
// TokenReview).
//
// Any thread. Source: authorization.k8s.io/v1, authentication.k8s.io/v1; answers observed.
#pragma once

#include <optional>
#include <string_view>

#include "api/type_table.h"
#include "base/time.h"
#include "server/access.h"
#include "server/answer.h"
#include "server/service_account_tokens.h"

namespace berth::server {

struct ReviewContext {
  Access& access;
  ServiceAccountTokens* tokens;  // null: there are none
  const User& user;
  std::string_view ns;  // of the request's path
  Time now;
};

// Nothing when `resource` is no review. `review` is the decoded body.
ApiResult<std::optional<Answer>> review(const api::ResourceInfo& resource, Json review,
                                        const ReviewContext& context);

}  // namespace berth::server
