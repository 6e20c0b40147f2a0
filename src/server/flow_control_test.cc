#include "server/flow_control.h"

#include <gtest/gtest.h>

#include "rbac/user.h"
#include "server/flow_rows.h"
#include "server/test_bench.h"

namespace berth::server {
namespace {

class LeavingPeer final : public Said {
 public:
  void on_close(std::function<void()> callback) override {
    if (has_left_) return callback();
    callback_ = std::move(callback);
  }
  void leave() {
    has_left_ = true;
    if (const auto callback = std::exchange(callback_, nullptr)) callback();
  }

 private:
  bool has_left_ = false;
  std::function<void()> callback_;
};

class FlowControls : public testing::Test {
 protected:
  using Peer = std::shared_ptr<LeavingPeer>;

  void make(const std::string& plural, const std::string& name, const std::string& spec) {
    const auto made = std::make_shared<Said>();
    bench.ask("POST", "/apis/flowcontrol.apiserver.k8s.io/v1/" + plural, {},
              R"({"metadata":{"name":")" + name + R"("},"spec":)" + spec + "}", made);
    EXPECT_EQ(made->response.status, 201) << made->response.body;
  }
  // `more`: further members of `limited`.
  void make_level(const std::string& name, int shares, const std::string& response,
                  const std::string& more = "") {
    make("prioritylevelconfigurations", name,
         R"({"type":"Limited","limited":{"nominalConcurrencyShares":)" + std::to_string(shares) +
             R"(,"limitResponse":)" + response + more + "}}");
  }
  void make_schema(const std::string& name, const std::string& level, const std::string& group) {
    make("flowschemas", name,
         R"({"priorityLevelConfiguration":{"name":")" + level + R"("},"matchingPrecedence":500,)" +
             R"("distinguisherMethod":{"type":"ByUser"},"rules":[{"subjects":)" +
             R"([{"kind":"Group","group":{"name":")" + group + R"("}}],"resourceRules":)" +
             R"([{"verbs":["*"],"apiGroups":["*"],"resources":["*"],"namespaces":["*"]}]}]})");
    const api::ResourceInfo* schemas =
        api::find_resource(std::string(kFlowControlGroup), "v1", "flowschemas");
    flows.noted({schemas, "", name, ""});
  }
  // `shares` of 300 in all: two seats each. Of a flow 6 requests may wait, of all flows 12.
  void make_levels(int shares = 1, const std::string& response = kQueues) {
    make_level("small", shares, response);
    make_level("rest", 300 - shares, kRejects);
    make_schema("all", "small", "testers");
  }
  // Levels of two seats each, of which one lends both.
  void make_lender(const std::string& borrower = "") {
    make_level("small", 1, kQueues, borrower);
    make_level("lender", 1, kQueues, R"(,"lendablePercent":100)");
    make_level("rest", 298, kRejects);
    make_schema("all", "small", "testers");
    make_schema("lent", "lender", "owners");
  }
  // Those that run stay in `running`, by user.
  Peer ask(const std::string& user, std::size_t body_bytes = 0) {
    return ask_by(std::make_shared<LeavingPeer>(), user, body_bytes);
  }
  Peer ask_by(const Peer& peer, const std::string& user, std::size_t body_bytes = 0) {
    const rbac::User who{user, {user == kOwner ? "owners" : "testers"}};
    flows.admit({.user = who, .verb = "list", .resource = "pods", .ns = "default"},
                {peer, body_bytes, Encoding::Json, [this, user](std::shared_ptr<HttpExchange> exchange) {
                   running.emplace_back(user, std::move(exchange));
                 }});
    return peer;
  }
  std::string users_that_run() const {
    std::string users;
    for (const auto& [user, exchange] : running) users += user;
    return users;
  }
  // The first one that runs is answered.
  void answer() {
    const auto first = std::move(running.front());
    running.erase(running.begin());
    first.second->respond(text_response(200, "ok"));
  }
  // The same, but it is not.
  void drop() {
    std::shared_ptr<HttpExchange> first = std::move(running.front().second);
    running.erase(running.begin());
    first.reset();
  }
  std::string metrics() const {
    MetricsText text;
    flows.write_metrics(text);
    return text.take();
  }

  static constexpr const char* kOwner = "o";
  static constexpr const char* kRejects = R"({"type":"Reject"})";
  static constexpr const char* kQueues =
      R"({"type":"Queue","queuing":{"queues":4,"handSize":2,"queueLengthLimit":3}})";
  ServerBench bench;
  std::vector<std::pair<std::string, std::shared_ptr<HttpExchange>>> running;
  FlowControl flows{bench.server.registry()};
};

TEST_F(FlowControls, AFloodOfOneUserDelaysThatUser) {
  make_levels();
  std::vector<Peer> flood;
  for (int n = 0; n < 9; ++n) flood.push_back(ask("a"));
  EXPECT_EQ(users_that_run(), "aa");
  EXPECT_EQ(flood[7]->response.status, 0) << "the sixth that waits";
  EXPECT_EQ(flood[8]->response.status, 429);
  ask("b");
  ask("b");
  answer();
  EXPECT_EQ(users_that_run(), "aa") << "whose flow waited first";
  answer();
  EXPECT_EQ(users_that_run(), "ab") << "then each flow in turn";
  answer();
  EXPECT_EQ(users_that_run(), "ba");
  answer();
  EXPECT_EQ(users_that_run(), "ab");
  for (int n = 0; n < 5; ++n) answer();
  EXPECT_EQ(users_that_run(), "a");
  answer();
  EXPECT_EQ(users_that_run(), "");
  EXPECT_EQ(flood[0]->response.body, "ok");
  EXPECT_NE(metrics().find(R"(apiserver_flowcontrol_dispatched_requests_total{priority_level="small",)"
                           R"(flow_schema="all"} 10)"),
            std::string::npos)
      << metrics();
  EXPECT_NE(metrics().find(R"(flow_schema="all",reason="queue-full"} 1)"), std::string::npos);
  EXPECT_NE(metrics().find(R"(nominal_limit_seats{priority_level="small"} 2)"), std::string::npos);
}

TEST_F(FlowControls, ManyUsersFillTheLevel) {
  make_levels();
  for (const char* user : {"a", "b", "c"})
    for (int n = 0; n < 5; ++n) ask(user);
  const Peer last = ask("d");
  EXPECT_EQ(last->response.status, 429) << "12 wait: 3 of a, 5 of b, 4 of c";
  answer();
  EXPECT_EQ(ask("d")->response.status, 0);
}

TEST_F(FlowControls, WhatWaitsForLongIsRefused) {
  make_levels();
  ask("a");
  ask("a");
  const Peer third = ask("a");
  bench.clock.advance(Duration::seconds(14));
  const Peer fourth = ask("b");
  flows.tick(bench.clock.monotonic());
  EXPECT_EQ(third->response.status, 0);
  bench.clock.advance(Duration::seconds(2));
  flows.tick(bench.clock.monotonic());
  EXPECT_EQ(third->response.status, 429);
  EXPECT_EQ(fourth->response.status, 0);
  answer();
  EXPECT_EQ(users_that_run(), "ab");
  EXPECT_NE(metrics().find(R"(reason="time-out"} 1)"), std::string::npos);
}

TEST_F(FlowControls, ASeatIsGivenBackOnce) {
  make_levels();
  ask("a");
  ask("a");
  ask("a");
  ask("a");
  ask("a");
  // A stream has none from its begin on.
  const std::shared_ptr<HttpExchange> stream = running.front().second;
  running.erase(running.begin());
  stream->begin_stream(200, {});
  EXPECT_EQ(users_that_run(), "aa");
  stream->end_stream();
  EXPECT_EQ(users_that_run(), "aa");
  // Nor has a request that nobody answers.
  drop();
  EXPECT_EQ(users_that_run(), "aa");
  drop();
  EXPECT_EQ(users_that_run(), "aa");
  drop();
  EXPECT_EQ(users_that_run(), "a");
}

TEST_F(FlowControls, ALevelMayRefuseInsteadOfQueueing) {
  make_levels(1, kRejects);
  ask("a");
  ask("a");
  EXPECT_EQ(ask("b")->response.status, 429);
  EXPECT_NE(metrics().find(R"(reason="concurrency-limit"} 1)"), std::string::npos);
}

TEST_F(FlowControls, ALevelThatIsGivenSeatsLetsMoreRun) {
  make_levels(0);
  ask("a");
  EXPECT_EQ(users_that_run(), "");
  const auto changed = std::make_shared<Said>();
  HttpRequest request{.method = "PATCH",
                      .path = "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations/small",
                      .query = {},
                      .headers = {{"Content-Type", "application/merge-patch+json"}},
                      .body = R"({"spec":{"limited":{"nominalConcurrencyShares":1}}})",
                      .user = {"root", {"system:masters"}}};
  bench.server.handle(std::move(request), changed);
  EXPECT_EQ(changed->response.status, 200) << changed->response.body;
  flows.noted({api::find_resource(std::string(kFlowControlGroup), "v1", "prioritylevelconfigurations"), "",
               "small", ""});
  ask("b");
  flows.tick(bench.clock.monotonic());
  EXPECT_EQ(users_that_run(), "ab");
}

TEST_F(FlowControls, ARequestWhosePeerGoesWaitsNoLonger) {
  make_levels();
  std::vector<Peer> peers;
  for (int n = 0; n < 8; ++n) peers.push_back(ask("a"));
  EXPECT_EQ(ask("a")->response.status, 429) << "two run, and six wait";
  peers[3]->leave();
  EXPECT_EQ(ask("a")->response.status, 0) << "in the place that is free";
  EXPECT_NE(metrics().find(R"(current_inqueue_requests{priority_level="small",flow_schema="all"} 6)"),
            std::string::npos);
  EXPECT_NE(metrics().find(R"(reason="cancelled"} 1)"), std::string::npos);
  const auto gone = std::make_shared<LeavingPeer>();
  gone->leave();
  ask_by(gone, "b");
  EXPECT_NE(metrics().find(R"(reason="cancelled"} 2)"), std::string::npos) << "it went before it waited";
  for (int n = 0; n < 8; ++n) answer();
  EXPECT_EQ(users_that_run(), "");
  EXPECT_EQ(peers[2]->response.status, 200);
  EXPECT_EQ(peers[3]->response.status, 0);
  EXPECT_EQ(gone->response.status, 0);
}

TEST_F(FlowControls, WhatRunsHearsOfItsPeerAlone) {
  make_levels();
  ask("a");
  ask("a");
  const Peer third = ask("a");
  answer();
  bool heard = false;
  running.back().second->on_close([&heard] { heard = true; });
  third->leave();
  EXPECT_TRUE(heard);
  EXPECT_EQ(metrics().find(R"(reason="cancelled")"), std::string::npos);
}

// The level has 1 of 300 shares: 894,785 bytes, and a flow an eighth of that: 111,848.
TEST_F(FlowControls, TheBodiesOfWhatWaitsAreBounded) {
  make_levels();
  ask("a", 3'000'000);
  ask("a", 3'000'000);
  EXPECT_EQ(ask("a", 100'000)->response.status, 0);
  EXPECT_EQ(ask("a", 11'848)->response.status, 0);
  EXPECT_EQ(ask("a", 1)->response.status, 429) << "more than the flow may have";
  EXPECT_EQ(ask("a")->response.status, 0);
  EXPECT_EQ(ask("b", 782'938)->response.status, 429) << "more than the level may have";
  EXPECT_EQ(ask("b", 700'000)->response.status, 0) << "the first body of a flow may be large";
  EXPECT_EQ(ask("c", 82'937)->response.status, 0);
  EXPECT_EQ(ask("d", 1)->response.status, 429);
  EXPECT_EQ(ask("d")->response.status, 0);
  EXPECT_NE(metrics().find(R"(reason="queue-full"} 3)"), std::string::npos);
  answer();
  EXPECT_EQ(ask("d", 100'000)->response.status, 0) << "the first of a runs";
}

TEST_F(FlowControls, AnEmptyLevelTakesABodyOfAnySize) {
  make_levels(0);
  EXPECT_EQ(ask("a", 3'000'000)->response.status, 0);
  EXPECT_EQ(ask("b", 1)->response.status, 429);
}

TEST_F(FlowControls, AnIdleLevelLendsItsSeats) {
  make_lender();
  for (int n = 0; n < 5; ++n) ask("a");
  EXPECT_EQ(users_that_run(), "aaaa") << "two seats of its own, and two that are lent";
  const Peer owner = ask(kOwner);
  EXPECT_EQ(users_that_run(), "aaaa");
  EXPECT_EQ(owner->response.status, 0) << "it waits for a lent seat";
  answer();
  EXPECT_EQ(users_that_run(), "aaao") << "who waits for his own seat is first";
  answer();
  EXPECT_EQ(users_that_run(), "aaoa") << "one seat is still lent";
  EXPECT_NE(metrics().find(R"(nominal_limit_seats{priority_level="small"} 2)"), std::string::npos);
}

TEST_F(FlowControls, ALevelBorrowsUpToItsBound) {
  make_lender(R"(,"borrowingLimitPercent":50)");
  for (int n = 0; n < 5; ++n) ask("a");
  EXPECT_EQ(users_that_run(), "aaa");
  ask(kOwner);
  EXPECT_EQ(users_that_run(), "aaao");
  ask(kOwner);
  EXPECT_EQ(users_that_run(), "aaao") << "the other seat is lent";
}

TEST_F(FlowControls, ADeletedLevelGoesWhenNothingWaitsInIt) {
  make_levels();
  for (int n = 0; n < 3; ++n) ask("a");
  EXPECT_EQ(users_that_run(), "aa");
  const auto gone = std::make_shared<Said>();
  bench.ask("DELETE", "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations/small", {}, "",
            gone);
  EXPECT_EQ(gone->response.status, 200) << gone->response.body;
  flows.noted({api::find_resource(std::string(kFlowControlGroup), "v1", "prioritylevelconfigurations"), "",
               "small", ""});
  ask("b");
  EXPECT_EQ(users_that_run(), "aab") << "no schema has a level for it";
  flows.tick(bench.clock.monotonic());
  const std::string seats = R"(nominal_limit_seats{priority_level="small"} 2)";
  EXPECT_NE(metrics().find(seats), std::string::npos) << "a request waits";
  answer();
  EXPECT_EQ(users_that_run(), "aba");
  flows.tick(bench.clock.monotonic());
  EXPECT_EQ(metrics().find(seats), std::string::npos);
  while (!running.empty()) answer();
  EXPECT_NE(metrics().find(R"(executing_requests{priority_level="small",flow_schema="all"} 0)"),
            std::string::npos);
}

TEST(FlowRowsOfMetrics, AreCountedTogetherBeyondTheBound) {
  FlowRows rows;
  FlowCounts& first = rows.of({"level", "s0"});
  for (std::size_t n = 0; n < kFlowRowsMax + 10; ++n)
    ++rows.of({"level", "s" + std::to_string(n)}).dispatched;
  EXPECT_EQ(rows.copy().size(), kFlowRowsMax);
  EXPECT_EQ(first.dispatched, 1u) << "rows stay where they are";
  EXPECT_EQ(rows.of({"level", "s4094"}).dispatched, 1u);
  EXPECT_EQ(rows.of({"level", "new"}).dispatched, 11u);
  EXPECT_EQ(rows.copy().front().first, FlowRows::Name());
}

// Of a whole server with the objects of every cluster.
class FlowsOfACluster : public testing::Test {
 protected:
  FlowsOfACluster() { EXPECT_TRUE(bench.server.make_flow_objects().ok()); }

  // "schema level" as the answer names them.
  std::string flow_of(rbac::User user, std::string method, std::string path) {
    const auto said = std::make_shared<Said>();
    HttpRequest request;
    request.method = std::move(method);
    request.path = std::move(path);
    request.user = std::move(user);
    bench.server.handle(std::move(request), said);
    std::string names;
    for (const auto& [header, plural] :
         {std::pair("X-Kubernetes-PF-FlowSchema-UID", "flowschemas"),
          std::pair("X-Kubernetes-PF-PriorityLevel-UID", "prioritylevelconfigurations")}) {
      std::string uid;
      for (const auto& [name, value] : said->response.headers)
        if (name == header) uid = value;
      names += (names.empty() ? "" : " ") + name_of(plural, uid);
    }
    return names;
  }
  std::string name_of(const std::string& plural, const std::string& uid) {
    store::ListQuery query;
    query.resource = plural + ".flowcontrol.apiserver.k8s.io";
    const Result<store::ListPage> page = bench.store->list(query);
    for (const store::ObjectPtr& object : page->objects)
      if (object->uid == uid) return object->key.name;
    return "none";
  }

  ServerBench bench;
  const std::vector<std::string> known{"system:authenticated"};
  const std::string leases = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases";
};

TEST_F(FlowsOfACluster, AnswersNameTheirSchemaAndLevel) {
  const auto account = [](const std::string& ns) {
    rbac::User user{rbac::service_account_user(ns, "x"), rbac::service_account_groups(ns)};
    user.groups.emplace_back("system:authenticated");
    return user;
  };
  const rbac::User node{"system:node:n", {"system:nodes", "system:authenticated"}};
  EXPECT_EQ(flow_of({"root", {"system:masters"}}, "GET", "/api/v1/pods"), "exempt exempt");
  EXPECT_EQ(flow_of({"eve", known}, "GET", "/api/v1/pods"), "global-default global-default");
  EXPECT_EQ(flow_of({"eve", known}, "GET", "/version"), "global-default global-default");
  EXPECT_EQ(flow_of({"system:anonymous", {"system:unauthenticated"}}, "GET", "/api"),
            "global-default global-default");
  EXPECT_EQ(flow_of(account("default"), "GET", "/api/v1/pods"), "service-accounts workload-low");
  EXPECT_EQ(flow_of(account("kube-system"), "GET", leases + "/x"), "system-leader-election leader-election");
  EXPECT_EQ(flow_of(account("kube-system"), "DELETE", leases + "/x"),
            "kube-system-service-accounts workload-high");
  EXPECT_EQ(flow_of(node, "GET", "/api/v1/nodes/n/status"), "system-node-high node-high");
  EXPECT_EQ(flow_of(node, "GET", "/api/v1/pods"), "system-nodes system");
}

TEST_F(FlowsOfACluster, SchemasSayWhetherTheirLevelExists) {
  const auto dangling = [&](const std::string& name) {
    const store::ObjectPtr object = bench.store->get({"flowschemas.flowcontrol.apiserver.k8s.io", "", name});
    const Json schema = *parse_json(object->bytes);
    std::string text;
    for (const Json& condition : schema.part("status").items_at("conditions"))
      for (const char* member : {"type", "status", "reason", "message"})
        text.append(condition.string_at(member)).append("|");
    return text;
  };
  bench.server.tick(bench.clock.monotonic());
  const std::string named =
      "This FlowSchema references the PriorityLevelConfiguration object named \"workload-low\" ";
  EXPECT_EQ(dangling("service-accounts"), "Dangling|False|Found|" + named + "and it exists|");
  const std::size_t before = bench.store->revision();
  bench.server.tick(bench.clock.monotonic());
  EXPECT_EQ(bench.store->revision(), before) << "nothing is left to report";
  const auto gone = std::make_shared<Said>();
  bench.ask("DELETE", "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations/workload-low", {},
            "", gone);
  EXPECT_EQ(gone->response.status, 200);
  bench.server.tick(bench.clock.monotonic());
  EXPECT_EQ(dangling("service-accounts"), "Dangling|True|NotFound|" + named + "but there is no such object|");
  EXPECT_EQ(dangling("exempt").substr(0, 20), "Dangling|False|Found");
}

TEST_F(FlowsOfACluster, AreMadeOnce) {
  const std::size_t before = bench.store->revision();
  EXPECT_TRUE(bench.server.make_flow_objects().ok());
  EXPECT_EQ(bench.store->revision(), before);
}

}  // namespace
}  // namespace berth::server
