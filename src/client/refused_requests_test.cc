#include "client/refused_requests.h"

#include <gtest/gtest.h>

#include "client/api_path.h"

namespace berth::client {
namespace {

const api::ResourceRef kRefusedLease = api::ref_of(api::Kind::Lease);
const api::ResourceRef kRefusedPod = api::ref_of(api::Kind::Pod);
const api::ResourceRef kRefusedRequest = api::ref_of(api::Kind::BindRequest);

TEST(RefusedRequests, OnlyWhatDoesNotHealByItselfCounts) {
  struct Row {
    const char* what;
    api::ResourceRef resource;
    ApiReply reply;
    const char* help;  // part of it; empty: none
  };
  const std::string denied = "leases is forbidden: User \"u\" cannot create resource \"leases\" in API group";
  const Row rows[] = {
      {"a right", kRefusedLease, refused_reply(403, "Forbidden", denied),
       "--leader-elect-resource-namespace"},
      {"a quota", kRefusedPod, refused_reply(403, "Forbidden", "pods \"p\" is forbidden: exceeded quota: q"),
       ""},
      {"the Lease's namespace", kRefusedLease, refused_reply(404, "NotFound", "namespaces \"x\" not found"),
       "create the namespace"},
      {"a namespace that went", kRefusedPod, refused_reply(404, "NotFound", "namespaces \"x\" not found"),
       ""},
      {"no Lease yet", kRefusedLease, refused_reply(404, "NotFound", "leases \"x\" not found"), ""},
      {"a definition", kRefusedRequest, answered_reply(404, std::string("404 page not found")),
       "`berth install`"},
      {"an optional kind", api::ref_of(api::Kind::PodGroup),
       answered_reply(404, std::string("404 page not found")), ""},
      {"an overload", kRefusedPod, refused_reply(429, "TooManyRequests", "slow down"), ""},
      {"no answer", kRefusedPod, ApiReply{Delivery::Lost, 0, "", "timed out"}, ""},
      {"success", kRefusedPod, answered_reply(200, std::string("{}")), ""},
  };
  for (const Row& row : rows) {
    const std::string help = refusal_reason(row.resource, row.reply).help;
    if (*row.help == '\0')
      EXPECT_EQ(help, "") << row.what;
    else
      EXPECT_NE(help.find(row.help), std::string::npos) << row.what << ": " << help;
  }
}

struct Receiver final : WatchReceiver {
  void on_list(RawList) override {}
  void on_changes(std::vector<RawChange>) override {}
  void on_not_served() override { ++not_served; }
  void on_trouble(std::string text) override { trouble = std::move(text); }
  int not_served = 0;
  std::string trouble;
};

struct Server final : ApiClient {
  void submit(ApiRequest, std::function<void(ApiReply)>) override {}
  std::unique_ptr<Subscription> list_and_watch(api::ResourceRef, WatchReceiver& to) override {
    receiver = &to;
    return std::make_unique<Subscription>();
  }
  WatchReceiver* receiver = nullptr;
};

TEST(RefusedRequests, AMissingDefinitionOfBindRequestsIsNamedUntilItIsListed) {
  ManualClock clock(Time::from_seconds(1));
  const auto refusals = std::make_shared<RefusedRequests>(clock);
  Server server;
  RefusalReporter reporter(server, refusals);
  Receiver receiver;
  const auto watch = reporter.list_and_watch(kRefusedRequest, receiver);
  server.receiver->on_not_served();
  EXPECT_EQ(receiver.not_served, 1);
  ASSERT_EQ(refusals->standing().size(), 1u);
  EXPECT_EQ(refusals->standing().front(),
            "list bindrequests.scheduling.berth.dev is refused (404): the API server does not serve it (404 "
            "page not found); run `berth install`, or `berth crds | kubectl apply -f -`");
  EXPECT_EQ(refusals->counts(), (std::map<std::pair<std::string, int>, std::uint64_t>{
                                    {{"list bindrequests.scheduling.berth.dev", 404}, 1}}));
  server.receiver->on_list({{}, 1});
  EXPECT_TRUE(refusals->standing().empty());
}

TEST(RefusedRequests, AnOptionalResourceThatMayNotBeListedCountsAsNotServed) {
  struct Row {
    const char* what;
    std::vector<api::ResourceRef> optional;
    const char* request;
    int not_served;
    std::size_t standing;
  };
  const Row rows[] = {{"optional", {kRefusedPod}, "list", 1, 0},
                      {"its watch", {kRefusedPod}, "watch", 0, 0},
                      {"another is optional", {kRefusedLease}, "list", 0, 1},
                      {"needed", {}, "list", 0, 1}};
  for (const Row& row : rows) {
    SCOPED_TRACE(row.what);
    ManualClock clock(Time::from_seconds(1));
    const auto refusals = std::make_shared<RefusedRequests>(clock);
    Server server;
    RefusalReporter reporter(server, refusals, row.optional);
    Receiver receiver;
    const auto watch = reporter.list_and_watch(kRefusedPod, receiver);
    server.receiver->on_refused(
        row.request,
        refused_reply(403, "Forbidden", "pods is forbidden: User \"u\" cannot list resource \"pods\""));
    EXPECT_EQ(receiver.not_served, row.not_served);
    EXPECT_EQ(receiver.trouble, "");
    EXPECT_EQ(refusals->standing().size(), row.standing);
    EXPECT_EQ(refusals->counts().size(), 1u) << "it is told in any case";
  }
}

TEST(RefusedRequests, OtherTroubleIsPassedOn) {
  ManualClock clock(Time::from_seconds(1));
  const auto refusals = std::make_shared<RefusedRequests>(clock);
  Server server;
  RefusalReporter reporter(server, refusals);
  Receiver receiver;
  const auto watch = reporter.list_and_watch(kRefusedPod, receiver);
  server.receiver->on_refused("list", refused_reply(500, "InternalError", "etcd"));
  EXPECT_EQ(receiver.trouble, "list: 500 InternalError: etcd");
  EXPECT_TRUE(refusals->standing().empty());
}

}  // namespace
}  // namespace berth::client
