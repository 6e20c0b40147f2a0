// Reviews: requests that are answered at once and never stored (SelfSubjectReview, access reviews,
// TokenReview).
//
// Pure, any thread. Source: authorization.k8s.io/v1, authentication.k8s.io/v1; answers observed.
#pragma once

#include <optional>

#include "api/type_table.h"
#include "base/time.h"
#include "server/access.h"
#include "server/answer.h"

namespace berth::server {

// Nothing when `resource` is no review. `review` is the decoded body.
ApiResult<std::optional<Answer>> review(const api::ResourceInfo& resource, Json review, const User& user,
                                        Time now);

}  // namespace berth::server
