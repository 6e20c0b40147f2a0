#include "cli/server_calls.h"

#include <future>

#include "cli/version.h"

namespace berth::cli {

Result<ServerCalls> ServerCalls::open(client::ClusterAccess access, std::string_view command,
                                      const Clock& clock) {
  client::HttpFetcherOptions options;
  options.user_agent = "berth-" + std::string(command) + "/" + kBerthVersion;
  std::string server = access.server;
  return ServerCalls(std::move(server), TRY(client::HttpFetcher::open(std::move(access), options, clock)));
}

client::HttpReply ServerCalls::call(client::HttpFetch fetch) {
  std::promise<client::HttpReply> answered;
  fetcher_->submit(std::move(fetch), [&](client::HttpReply reply) { answered.set_value(std::move(reply)); });
  return answered.get_future().get();
}

Result<Json> ServerCalls::get(std::string target) {
  client::HttpFetch fetch;
  fetch.target = std::move(target);
  const client::HttpReply reply = call(std::move(fetch));
  if (reply.delivery != client::Delivery::Answered)
    return Error(ErrorCode::Unavailable, server_, "does not answer: " + reply.trouble);
  bytes_read_ += reply.body.size();
  if (reply.status == 404) return Json();
  Result<Json> json = parse_json(reply.body);
  if (reply.status != 200)
    return Error(reply.status == 410 ? ErrorCode::Gone : ErrorCode::Forbidden, server_,
                 "answers " + std::to_string(reply.status) + ": " +
                     (json ? std::string(json->string_at("message")) : reply.body.substr(0, 200)));
  return json;
}

void ServerCalls::pause(Duration time) {
  std::promise<void> over;
  fetcher_->after(time, [&] { over.set_value(); });
  over.get_future().wait();
}

}  // namespace berth::cli
