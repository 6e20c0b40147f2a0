#include "install/server_call.h"

namespace berth::install {
namespace {

ErrorCode code_of_status(int status) {
  if (status == 401 || status == 403) return ErrorCode::Forbidden;
  return status == 409 ? ErrorCode::Conflict : ErrorCode::Unavailable;
}

// Escapes the characters of a continue token that a query does not allow.
std::string query_encoded(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string encoded;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '_' || c == '.' || c == '~';
    const auto byte = static_cast<unsigned char>(c);
    if (plain)
      encoded += c;
    else
      encoded.append({'%', kDigits[byte >> 4], kDigits[byte & 15]});
  }
  return encoded;
}

}  // namespace

std::string trouble_of(const client::HttpReply& reply) {
  if (reply.delivery != client::Delivery::Answered) return "does not answer: " + reply.trouble;
  const Result<Json> status = parse_json(reply.body);
  const std::string_view message = status ? status->string_at("message") : std::string_view();
  return "answers " + std::to_string(reply.status) + ": " +
         (message.empty() ? reply.body.substr(0, kShownBytesMax) : std::string(message));
}

Result<Json> answered_json(const client::HttpReply& reply, std::string_view what) {
  const bool answered = reply.delivery == client::Delivery::Answered;
  if (answered && reply.status == 404) return Json();
  if (!answered || reply.status < 200 || reply.status > 299)
    return Error(answered ? code_of_status(reply.status) : ErrorCode::Unavailable, std::string(what),
                 "the API server " + trouble_of(reply));
  Result<Json> json = parse_json(reply.body);
  if (!json) return Error(ErrorCode::Unavailable, std::string(what), "the answer is no JSON");
  return json;
}

Result<Json> get_json(const ServerCall& call, const std::string& target) {
  client::HttpFetch fetch;
  fetch.target = target;
  return answered_json(call(std::move(fetch)), target);
}

client::HttpReply send_json(const ServerCall& call, std::string method, std::string target, const Json& body,
                            std::string_view content_type) {
  client::HttpFetch fetch;
  fetch.method = std::move(method);
  fetch.target = std::move(target);
  fetch.headers = {{"Content-Type", std::string(content_type)}};
  fetch.body = to_string(body);
  return call(std::move(fetch));
}

Result<JsonArray> list_json(const ServerCall& call, const std::string& target) {
  JsonArray items;
  std::string next;
  for (std::size_t page = 0; page < kPagesMax; ++page) {
    const std::string mark = target.find('?') == std::string::npos ? "?" : "&";
    std::string asked = target + mark + "limit=" + std::to_string(kPageObjects);
    if (!next.empty()) asked += "&continue=" + query_encoded(next);
    const Json list = TRY(get_json(call, asked));
    const JsonArray& found = list.items_at("items");
    items.insert(items.end(), found.begin(), found.end());
    next = list.part("metadata").string_at("continue");
    if (next.empty()) return items;
  }
  return Error(ErrorCode::TooLarge, target,
               "has more than " + std::to_string(kPagesMax * kPageObjects) + " objects");
}

}  // namespace berth::install
