// Who may read a part's page, such as its metrics, where others can reach it: the API server says whose token
// it is, and whether that user may.
//
// Answers are kept for a while, so that a Prometheus costs two requests a minute. Thread-safe; one that is
// not known yet calls back on a thread of the client. Source: the delegated authentication and authorization
// of kube-scheduler's own /metrics (TokenReview, SubjectAccessReview of the path).
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/json.h"
#include "base/lru_map.h"
#include "client/api_client.h"

namespace berth::cli {

inline constexpr std::size_t kTokensKnownMax = 64;
inline constexpr std::size_t kReviewsInFlightMax = 8;  // more are Unknown
inline constexpr std::int64_t kAccessKnownS = 60;
inline constexpr std::size_t kTokenBytesMax = 16u << 10;

class MetricsAccess : public std::enable_shared_from_this<MetricsAccess> {
 public:
  // Unknown: the API server did not say, or there are too many questions.
  enum class Answer { Allowed, NoUser, Forbidden, Unknown };
  using Done = std::function<void(Answer)>;

  // Both outlive every answer. `path`: what they must be allowed to get.
  MetricsAccess(client::ApiClient& client, const Clock& clock, std::string path = "/metrics")
      : client_(client), clock_(clock), path_(std::move(path)) {}

  // `authorization`: the header's value.
  void ask(std::string_view authorization, Done done);

 private:
  struct Known {
    Answer answer = Answer::Unknown;
    Time until;
  };
  void review_token(const std::string& token, Done done);
  void review_access(const Json& user, Done done);

  client::ApiClient& client_;
  const Clock& clock_;
  const std::string path_;
  std::mutex mutex_;
  LruMap<Known> known_{kTokensKnownMax};
  std::size_t in_flight_ = 0;
};

}  // namespace berth::cli
