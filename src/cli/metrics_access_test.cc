// Who may read metrics, as the API server says.
#include "cli/metrics_access.h"

#include <gtest/gtest.h>

#include <vector>

namespace berth::cli {
namespace {

// Knows the tokens of prometheus, who may get /metrics, and of eve, who may not.
class Reviewer final : public client::ApiClient {
 public:
  void submit(client::ApiRequest request, std::function<void(client::ApiReply)> done) override {
    asked.push_back(request.resource.resource);
    const Json spec = parse_json(request.body).value_or(Json()).part("spec");
    client::ApiReply reply;
    if (!reviews) {
      reply.code = 403;
      reply.message = "forbidden";
      return done(std::move(reply));
    }
    reply.code = 201;
    const Json status = request.resource.resource == "tokenreviews" ? user_of(spec) : access_of(spec);
    reply.object = std::make_shared<const std::string>(to_string(Json::object({{"status", status}})));
    if (holds)
      held.emplace_back([done = std::move(done), reply] { done(reply); });
    else
      done(std::move(reply));
  }
  std::unique_ptr<client::Subscription> list_and_watch(api::ResourceRef, client::WatchReceiver&) override {
    return std::make_unique<client::Subscription>();
  }

  bool reviews = true;
  bool holds = false;
  std::vector<std::string> asked;
  std::vector<std::function<void()>> held;

 private:
  static Json user_of(const Json& spec) {
    const std::string_view token = spec.string_at("token");
    const std::string_view name = token == "p" ? "prometheus" : token == "e" ? "eve" : "";
    return Json::object(
        {{"authenticated", !name.empty()},
         {"user", Json::object({{"username", name}, {"groups", Json::array({"system:authenticated"})}})}});
  }
  static Json access_of(const Json& spec) {
    const Json& path = spec.part("nonResourceAttributes");
    const bool right = path.string_at("path") == "/metrics" && path.string_at("verb") == "get" &&
                       !spec.items_at("groups").empty() && spec.string_at("user") == "prometheus";
    return Json::object({{"allowed", right}});
  }
};

class MetricsAccessTest : public testing::Test {
 protected:
  using Answer = MetricsAccess::Answer;
  Answer answer(const char* authorization) {
    Answer given = Answer::Unknown;
    access->ask(authorization, [&](Answer answer) { given = answer; });
    return given;
  }
  Reviewer reviewer;
  ManualClock clock{Time::from_seconds(1'000)};
  const std::shared_ptr<MetricsAccess> access = std::make_shared<MetricsAccess>(reviewer, clock);
};

TEST_F(MetricsAccessTest, IsForUsersWithTheRight) {
  EXPECT_EQ(answer("Bearer p"), Answer::Allowed);
  EXPECT_EQ(answer("bearer e"), Answer::Forbidden);
  EXPECT_EQ(answer("Bearer x"), Answer::NoUser);
  for (const char* none : {"", "Bearer ", "Basic cDpw", "p"}) EXPECT_EQ(answer(none), Answer::NoUser) << none;
}

TEST_F(MetricsAccessTest, IsKnownForAWhile) {
  EXPECT_EQ(answer("Bearer p"), Answer::Allowed);
  EXPECT_EQ(answer("Bearer p"), Answer::Allowed);
  EXPECT_EQ(reviewer.asked.size(), 2u);
  clock.advance(Duration::seconds(kAccessKnownS + 1));
  reviewer.reviews = false;
  EXPECT_EQ(answer("Bearer p"), Answer::Unknown) << "what was is no answer";
}

TEST_F(MetricsAccessTest, QuestionsUnderWayAreBounded) {
  reviewer.holds = true;
  std::vector<Answer> given;
  for (std::size_t i = 0; i <= kReviewsInFlightMax; ++i)
    access->ask("Bearer x" + std::to_string(i), [&](Answer answer) { given.push_back(answer); });
  EXPECT_EQ(given, std::vector<Answer>{Answer::Unknown});
  for (const auto& reply : reviewer.held) reply();
  EXPECT_EQ(given.size(), kReviewsInFlightMax + 1);
}

}  // namespace
}  // namespace berth::cli
