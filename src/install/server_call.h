// Calls of an API server: one blocking function, so that tests answer from a table.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "client/http_fetch.h"

namespace berth::install {

using ServerCall = std::function<client::HttpReply(client::HttpFetch)>;

inline constexpr std::size_t kPageObjects = 500;
inline constexpr std::size_t kPagesMax = 200;
inline constexpr std::size_t kShownBytesMax = 300;  // of a response that is not a Status

// "answers 403: pods is forbidden: …", or why there is no response.
std::string trouble_of(const client::HttpReply& reply);
// The document of the response; null for 404. Refuses (Forbidden) 401 and 403, (Conflict) 409, (Unavailable)
// every other failure, with `what` as the path.
Result<Json> answered_json(const client::HttpReply& reply, std::string_view what);

Result<Json> get_json(const ServerCall& call, const std::string& target);
// A write with a JSON body.
client::HttpReply send_json(const ServerCall& call, std::string method, std::string target, const Json& body,
                            std::string_view content_type = "application/json");
// Every item of a list, page by page; empty when the resource is not served. Refuses what answered_json
// refuses, and (TooLarge) more than kPagesMax pages. `target` must not set a limit.
Result<JsonArray> list_json(const ServerCall& call, const std::string& target);

}  // namespace berth::install
