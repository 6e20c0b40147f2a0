#include "engine/refused_write_log.h"

#include <gtest/gtest.h>

#include "client/api_path.h"

namespace berth::engine {
namespace {

std::string logged(RefusedWriteLog& log, const client::ApiRequest& request, const client::ApiReply& reply,
                   Time now) {
  ::testing::internal::CaptureStderr();
  log.note(request, reply, now);
  return ::testing::internal::GetCapturedStderr();
}

TEST(RefusedWriteLog, SaysARefusalOnceAndHowManyFollowed) {
  RefusedWriteLog log;
  const Time now = Time::from_seconds(100);
  const client::ApiRequest request{.verb = client::Verb::MergePatch,
                                   .resource = api::ref_of(api::Kind::ResourceClaim),
                                   .ns = "d",
                                   .name = "c",
                                   .subresource = "status"};
  const client::ApiReply refusal = client::refused_reply(403, "Forbidden", "it may not patch");
  const std::string line = logged(log, request, refusal, now);
  for (const char* part : {"PATCH resourceclaims/status", "d/c", "403", "it may not patch"})
    EXPECT_NE(line.find(part), std::string::npos) << line;
  for (int i = 0; i < 3; ++i) EXPECT_EQ(logged(log, request, refusal, now), "");
  EXPECT_NE(logged(log, request, client::refused_reply(400, "BadRequest", "m"), now), "") << "another code";
  const std::string later = logged(log, request, refusal, now + kRefusedWriteQuiet);
  EXPECT_NE(later.find("more=3"), std::string::npos) << later;
}

TEST(RefusedWriteLog, RacesAndLostAnswersAreNoRefusals) {
  RefusedWriteLog log;
  const Time now = Time::from_seconds(100);
  client::ApiRequest request{.verb = client::Verb::JsonPatch, .resource = api::ref_of(api::Kind::Pod)};
  for (const int code : {404, 409, 422})
    EXPECT_EQ(logged(log, request, client::refused_reply(code, "", "m"), now), "");
  client::ApiReply lost;
  lost.delivery = client::Delivery::Lost;
  EXPECT_EQ(logged(log, request, lost, now), "");
  request.verb = client::Verb::Update;
  EXPECT_NE(logged(log, request, client::refused_reply(422, "Invalid", "m"), now), "");
}

}  // namespace
}  // namespace berth::engine
