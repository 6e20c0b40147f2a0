#include "cli/metrics_access.h"

#include "api/serialized.h"
#include "base/log.h"
#include "server/http.h"

namespace berth::cli {
namespace {

client::ApiRequest review_of(const char* group, const char* resource, const char* kind, Json spec) {
  client::ApiRequest request;
  request.verb = client::Verb::Create;
  request.resource = {group, "v1", resource};
  request.body = to_string(
      Json::object({{"apiVersion", std::string(group) + "/v1"}, {"kind", kind}, {"spec", std::move(spec)}}));
  return request;
}

// Nothing when the API server gave no review.
Json status_in(const client::ApiReply& reply) {
  if (!reply.ok() || !reply.object) {
    log(LogLevel::Warning, "who asks for a page is not known: the API server reviews no tokens or accesses",
        {{"reason", reply.message}});
    return {};
  }
  const Result<Json> review = api::parse_object(*reply.object);
  return review ? review->part("status") : Json();
}

}  // namespace

void MetricsAccess::ask(std::string_view authorization, Done done) {
  const std::string token(server::bearer_token(authorization));
  if (token.empty() || token.size() > kTokenBytesMax) return done(Answer::NoUser);
  {
    std::unique_lock lock(mutex_);
    const Known* known = known_.find(token);
    if (known && clock_.monotonic() < known->until) {
      const Answer answer = known->answer;
      lock.unlock();
      return done(answer);
    }
    if (in_flight_ == kReviewsInFlightMax) {
      lock.unlock();
      return done(Answer::Unknown);
    }
    ++in_flight_;
  }
  review_token(token, [self = shared_from_this(), token, done = std::move(done)](Answer answer) {
    {
      const std::lock_guard lock(self->mutex_);
      --self->in_flight_;
      if (answer != Answer::Unknown)
        self->known_.at(token) = {answer, self->clock_.monotonic() + Duration::seconds(kAccessKnownS)};
    }
    done(answer);
  });
}

void MetricsAccess::review_token(const std::string& token, Done done) {
  client_.submit(
      review_of("authentication.k8s.io", "tokenreviews", "TokenReview", Json::object({{"token", token}})),
      [self = shared_from_this(), done = std::move(done)](const client::ApiReply& reply) {
        const Json status = status_in(reply);
        if (!status.is_object()) return done(Answer::Unknown);
        if (!status.bool_at("authenticated")) return done(Answer::NoUser);
        self->review_access(status.part("user"), done);
      });
}

void MetricsAccess::review_access(const Json& user, Done done) {
  Json spec = Json::object({{"nonResourceAttributes", Json::object({{"path", path_}, {"verb", "get"}})},
                            {"user", user.string_at("username")}});
  for (const char* member : {"groups", "uid", "extra"})
    if (const Json* value = user.find(member)) spec[member] = *value;
  client_.submit(
      review_of("authorization.k8s.io", "subjectaccessreviews", "SubjectAccessReview", std::move(spec)),
      [done = std::move(done)](const client::ApiReply& reply) {
        const Json status = status_in(reply);
        if (!status.is_object()) return done(Answer::Unknown);
        done(status.bool_at("allowed") ? Answer::Allowed : Answer::Forbidden);
      });
}

}  // namespace berth::cli
