// An API server made of a table: objects by path, and responses that a test substitutes.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "install/server_call.h"

namespace berth::install {

// Owner: one test. Supports GET, server-side apply (replaces the whole object), DELETE and POST of access
// reviews; lists are the objects below a path.
class FakeServer {
 public:
  ServerCall call();

  void put(const std::string& path, Json object);
  // Every request with this method and path prefix gets this response.
  void answer(const std::string& method, const std::string& path, int status, Json body);
  // An apply without force gets this conflict.
  void conflict(const std::string& path, std::vector<std::string> fields);
  // Access reviews of these are denied: "patch pods/status", "list nodes".
  std::set<std::string> denied;
  bool unreachable = false;
  Time date;  // of every answer, when set

  const Json* find(const std::string& path) const;
  // "PATCH /api/v1/…", in order.
  const std::vector<std::string>& requests() const { return requests_; }
  const std::vector<Json>& bodies() const { return bodies_; }

 private:
  client::HttpReply handle(const client::HttpFetch& fetch);
  client::HttpReply read(const std::string& path);
  client::HttpReply apply(const std::string& path, const client::HttpFetch& fetch);
  client::HttpReply review(Json body);

  struct Answer {
    int status;
    Json body;
  };
  std::map<std::string, Json> objects_;
  std::map<std::string, Answer> answers_;  // by "GET /path"
  std::map<std::string, std::vector<std::string>> conflicts_;
  std::vector<std::string> requests_;
  std::vector<Json> bodies_;
  std::int64_t version_ = 0;
};

}  // namespace berth::install
