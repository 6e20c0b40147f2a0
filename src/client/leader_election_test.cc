#include "client/leader_election.h"

#include <gtest/gtest.h>

#include "base/clock.h"

namespace berth::client {
namespace {

// One Lease with optimistic concurrency.
class LeaseServer {
 public:
  ApiReply answer(const ApiRequest& request) {
    EXPECT_EQ(path(request), "kube-system/berth-scheduler");
    ApiReply reply;
    if (down) {
      reply.delivery = Delivery::NotSent;
      return reply;
    }
    const bool write = request.verb != Verb::Get;
    if (write) carry_out(request, reply);
    if (!write) reply.code = lease ? 200 : 404;
    if (reply.code == 404 && !by_proxy) reply.reason = "NotFound";
    if (reply.code < 300) reply.object = std::make_shared<const std::string>(to_string(*lease));
    if (write && losing) {
      reply = {};
      reply.delivery = Delivery::Lost;
    }
    return reply;
  }
  std::string holder() const { return std::string(lease->find("spec")->string_at("holderIdentity")); }
  std::int64_t transitions() const { return lease->find("spec")->int_at("leaseTransitions"); }

  std::optional<Json> lease;
  bool down = false;
  bool losing = false;
  bool by_proxy = false;  // a 404 has no Status

 private:
  static std::string path(const ApiRequest& request) { return request.ns + "/" + request.name; }
  void carry_out(const ApiRequest& request, ApiReply& reply) {
    Json sent = parse_json(request.body).value();
    const std::string_view version = sent["metadata"].string_at("resourceVersion");
    const bool fits = request.verb == Verb::Create
                          ? !lease
                          : lease && lease->find("metadata")->string_at("resourceVersion") == version;
    reply.code = fits ? 200 : 409;
    if (!fits) return;
    sent["metadata"]["resourceVersion"] = std::to_string(++version_);
    if (request.verb == Verb::Create) sent["metadata"]["uid"] = "u" + std::to_string(version_);
    lease = std::move(sent);
  }
  int version_ = 0;
};

class LeaderElectionTest : public testing::Test {
 protected:
  static ElectionOptions of(std::string identity) {
    ElectionOptions options;
    options.name = "berth-scheduler";
    options.identity = std::move(identity);
    return options;
  }
  // Everything that the candidate wants to send now. Its wall clock is an hour off `b`'s.
  void run(LeaderElection& candidate) {
    const Time wall = &candidate == &a ? clock.now() : clock.now() + Duration::minutes(60);
    while (const auto request = candidate.next_request(wall, clock.monotonic()))
      candidate.answered(server.answer(*request), clock.monotonic());
  }
  void pass(Duration span, std::initializer_list<LeaderElection*> candidates) {
    for (const Time end = clock.now() + span; clock.now() < end;) {
      clock.advance(Duration::millis(500));
      for (LeaderElection* candidate : candidates) run(*candidate);
      EXPECT_FALSE(a.leads(clock.monotonic()) && b.leads(clock.monotonic()));
    }
  }
  // A renewal that is refused, and the read that follows.
  void renew_and_read(LeaderElection& candidate) {
    for (int i = 0; i < 2; ++i) {
      clock.advance(Duration::seconds(2));
      const auto request = candidate.next_request(clock.now(), clock.monotonic());
      ASSERT_TRUE(request);
      candidate.answered(server.answer(*request), clock.monotonic());
    }
  }
  bool leads(const LeaderElection& candidate) const { return candidate.leads(clock.monotonic()); }

  ManualClock clock{Time::from_seconds(1'700'000'000)};
  LeaseServer server;
  LeaderElection a{of("a")};
  LeaderElection b{of("b")};
};

TEST_F(LeaderElectionTest, TheFirstOneLeadsAsLongAsItRenews) {
  run(a);
  EXPECT_TRUE(leads(a));
  pass(Duration::minutes(2), {&a, &b});
  EXPECT_TRUE(leads(a));
  EXPECT_EQ(server.holder(), "a");
  EXPECT_EQ(b.holder(), "a");
  EXPECT_EQ(server.transitions(), 0);
}

TEST_F(LeaderElectionTest, ADeadOneIsFollowedAfterItsLeaseAndNotBefore) {
  run(a);
  pass(Duration::seconds(14), {&b});
  EXPECT_FALSE(leads(a));
  EXPECT_FALSE(leads(b));
  pass(Duration::seconds(5), {&b});
  EXPECT_TRUE(leads(b));
  EXPECT_EQ(server.transitions(), 1);
  pass(Duration::seconds(10), {&a, &b});
  EXPECT_TRUE(leads(b));
  EXPECT_EQ(a.holder(), "b");
}

TEST_F(LeaderElectionTest, WhoCannotRenewStopsBeforeTheLeaseEnds) {
  run(a);
  server.down = true;
  pass(Duration::seconds(9), {&a});
  EXPECT_TRUE(leads(a));
  pass(Duration::seconds(1), {&a});
  EXPECT_FALSE(leads(a));
  server.down = false;
  pass(Duration::seconds(3), {&a});
  EXPECT_TRUE(leads(a));
  EXPECT_EQ(server.transitions(), 0);
}

TEST_F(LeaderElectionTest, WhoSeesAnotherHolderStopsAtOnce) {
  run(a);
  (*server.lease)["spec"]["holderIdentity"] = "z";
  (*server.lease)["metadata"]["resourceVersion"] = "77";
  pass(Duration::seconds(5), {&a});
  EXPECT_FALSE(leads(a));
  EXPECT_EQ(a.holder(), "z");
}

TEST_F(LeaderElectionTest, ALostAnswerIsReadAgain) {
  server.losing = true;
  run(a);
  EXPECT_EQ(server.holder(), "a");
  EXPECT_FALSE(leads(a));
  server.losing = false;
  pass(Duration::seconds(3), {&a});
  EXPECT_TRUE(leads(a));
}

TEST_F(LeaderElectionTest, AReleasedLeaseIsTakenSoon) {
  run(a);
  EXPECT_FALSE(b.release(clock.now(), clock.monotonic()));
  const auto request = a.release(clock.now(), clock.monotonic());
  ASSERT_TRUE(request);
  EXPECT_EQ(server.answer(*request).code, 200);
  EXPECT_FALSE(leads(a));
  EXPECT_EQ(server.holder(), "");
  pass(Duration::seconds(3), {&b});
  EXPECT_TRUE(leads(b));
  EXPECT_EQ(server.transitions(), 1);
}

TEST_F(LeaderElectionTest, EachNewHolderHasALargerEpoch) {
  EXPECT_EQ(a.term().epoch, 0u);
  run(a);
  EXPECT_EQ(a.term().epoch, 1u);
  EXPECT_EQ(a.deadline(), clock.monotonic() + Duration::seconds(10));
  pass(Duration::minutes(1), {&a, &b});
  EXPECT_EQ(a.term().epoch, 1u) << "renewals do not count";
  EXPECT_EQ(b.term().epoch, 0u);
  pass(Duration::seconds(20), {&b});  // after a's death
  EXPECT_EQ(b.term().epoch, 2u);
  ASSERT_EQ(server.answer(*b.release(clock.now(), clock.monotonic())).code, 200);
  EXPECT_EQ(b.term().epoch, 0u);
  EXPECT_FALSE(b.deadline().is_set());
  LeaderElection c{of("c")};
  run(c);
  EXPECT_EQ(c.term().epoch, 3u) << "a released Lease counts up too";
}

TEST_F(LeaderElectionTest, ADeletedLeaseDoesNotMakeTheEpochSmaller) {
  const char* const lease = R"({"metadata":{"resourceVersion":"7"},
      "spec":{"holderIdentity":"z","leaseDurationSeconds":15,"leaseTransitions":4}})";
  server.lease = parse_json(lease).value();
  run(a);
  EXPECT_FALSE(leads(a));
  server.lease.reset();
  pass(Duration::seconds(3), {&a});
  EXPECT_TRUE(leads(a));
  EXPECT_EQ(a.term().epoch, 6u);
}

// Others may lead at once, so it cannot go on for its renew deadline.
TEST_F(LeaderElectionTest, WhoseLeaseIsDeletedStopsAndItsNextTermIsOfAnotherLease) {
  run(a);
  const Leadership first = a.term();
  EXPECT_EQ(first.lease, (api::LeaseIdentity{"kube-system", "berth-scheduler", "u1"}));
  server.lease.reset();
  renew_and_read(a);
  EXPECT_FALSE(leads(a)) << "it has read that the Lease is gone";
  run(a);
  EXPECT_TRUE(leads(a));
  EXPECT_NE(a.term().lease.uid, first.lease.uid);
}

TEST_F(LeaderElectionTest, WhoFindsAnotherLeaseOfThatNameStops) {
  run(a);
  (*server.lease)["metadata"]["uid"] = "restored";
  (*server.lease)["metadata"]["resourceVersion"] = "77";
  renew_and_read(a);
  EXPECT_FALSE(leads(a));
}

TEST_F(LeaderElectionTest, ANotFoundOfAProxyIsNoDeletion) {
  run(a);
  server.by_proxy = true;
  const std::optional<Json> lease = std::exchange(server.lease, std::nullopt);
  pass(Duration::seconds(4), {&a});
  EXPECT_TRUE(leads(a));
  server.lease = lease;
  pass(Duration::seconds(20), {&a});
  EXPECT_TRUE(leads(a));
}

TEST_F(LeaderElectionTest, FieldsOfOthersStay) {
  server.lease =
      parse_json(R"({"metadata":{"resourceVersion":"7","labels":{"x":"y"}},"spec":{"strategy":"s"}})")
          .value();
  run(a);
  EXPECT_TRUE(leads(a));
  EXPECT_EQ(server.lease->find("spec")->string_at("strategy"), "s");
  EXPECT_EQ(server.lease->find_path({"metadata", "labels"})->string_at("x"), "y");
}

}  // namespace
}  // namespace berth::client
