// Custom objects between their stored shape and that of a request: a read prunes and fills in defaults by the
// schema of now, and a webhook converts.
//
// Every other resource passes unchanged and at once, as does a custom one whose objects have only known one
// schema. For one with a webhook the functions wait for it, so they are called on its lane (post_for). Inside
// of a request its documents have the shape of the request's version and the apiVersion of the stored one, as
// those of every resource.
#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "base/executor.h"
#include "server/answer.h"
#include "server/object_target.h"

namespace berth::server {

bool has_webhook(const ObjectTarget& target);
// Whether reads may show another document than the stored one.
bool is_shaped_by_reads(const ObjectTarget& target);

// Runs `work` where objects of the target may be converted: on its lane, or on `executor`.
void post_for(const ObjectTarget& target, Executor& executor, std::function<void()> work);

// What the schemas of now may add to the objects of one answer, together.
inline constexpr std::size_t kShapedGrowthBytesMax = 256u << 20;

// Stored objects in the version of the target. Null pointers stay.
ApiResult<std::vector<store::ObjectPtr>> in_request_version(const ObjectTarget& target,
                                                            std::vector<store::ObjectPtr> objects);
ApiResult<store::ObjectPtr> in_request_version(const ObjectTarget& target, store::ObjectPtr object);
// The answer to a write or a read: its document is in the request's version already.
ApiResult<Answer> in_request_version(const ObjectTarget& target, Answer answer);

// A document of the request in the shape that is stored.
ApiResult<Json> in_stored_version(const ObjectTarget& target, Json document);
// A document that says its version in another served one; nothing when that fails.
std::optional<Json> in_other_version(const ObjectTarget& target, const Json& document,
                                     std::string_view api_version);

// Whether a write that changes nothing would store the same bytes: they are in the stored version, and in the
// shape, of now.
bool is_stored_as_now(const ObjectTarget& target, const store::Object& object);

}  // namespace berth::server
