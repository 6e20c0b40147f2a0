// Blocking requests to one server, for short-lived commands.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/json.h"
#include "client/http_fetch.h"

namespace berth::cli {

// Owner: one command, on its thread.
class ServerCalls {
 public:
  // `clock` outlives it. `command` is part of the user agent. Refuses what HttpFetcher refuses.
  static Result<ServerCalls> open(client::ClusterAccess access, std::string_view command, const Clock& clock);

  client::HttpReply call(client::HttpFetch fetch);
  // Null for an absent object. Refuses every response but 200 and 404; 410 is Gone.
  Result<Json> get(std::string target);
  // Of the bodies that get() has read.
  std::size_t bytes_read() const { return bytes_read_; }
  void pause(Duration time);
  const std::string& server() const { return server_; }

 private:
  ServerCalls(std::string server, std::unique_ptr<client::HttpFetcher> fetcher)
      : server_(std::move(server)), fetcher_(std::move(fetcher)) {}
  std::string server_;
  std::unique_ptr<client::HttpFetcher> fetcher_;
  std::size_t bytes_read_ = 0;
};

}  // namespace berth::cli
