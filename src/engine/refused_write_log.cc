#include "engine/refused_write_log.h"

#include "base/log.h"
#include "client/api_path.h"

namespace berth::engine {
namespace {

bool is_race(const client::ApiRequest& request, const client::ApiReply& reply) {
  constexpr int kNotFound = 404, kConflict = 409, kUnprocessable = 422;
  return reply.code == kNotFound || reply.code == kConflict ||
         (reply.code == kUnprocessable && request.verb == client::Verb::JsonPatch);
}

}  // namespace

void RefusedWriteLog::note(const client::ApiRequest& request, const client::ApiReply& reply, Time now) {
  if (reply.delivery != client::Delivery::Answered || is_race(request, reply)) return;
  const std::string resource =
      request.resource.resource + (request.subresource.empty() ? "" : "/" + request.subresource);
  const std::string write = std::string(client::form_of(request.verb).method) + " " + resource;
  Kind& kind = kinds_.at(write + " " + std::to_string(reply.code));
  if (kind.told_at.is_set() && now - kind.told_at < kRefusedWriteQuiet) return void(++kind.left_out);
  log(LogLevel::Warning, "the API server refuses a write",
      {{"write", write},
       {"object", request.ns.empty() ? request.name : request.ns + "/" + request.name},
       {"code", std::to_string(reply.code)},
       {"cause", reply.message},
       {"more", std::to_string(std::exchange(kind.left_out, 0))}});
  kind.told_at = now;
}

}  // namespace berth::engine
