#include "health/health_policy.h"

#include <gtest/gtest.h>

#include "api/types/health_policy.h"
#include "api/types/node_device_health.h"

namespace berth::health {
namespace {

using api::Kind;

// A view with one policy, nodes of two racks, and a feed.
struct PolicyBench {
  client::View view;
  HealthFeed feed;
  std::map<std::string, HealthCache> caches;
  std::unique_ptr<client::Reconciler> policies = make_health_policies(&feed);
  Time now = Time::from_seconds(1800000000);
  const api::ObjectKey key{Kind::Other, "", "careful", api::health_policy_resource()};
  int version = 1;

  explicit PolicyBench(const std::string& spec) {
    for (const char* node : {"node-1", "node-2", "node-3"})
      put({Kind::Node, "", node, {}}, std::string(R"({"metadata":{"name":")") + node +
                                          R"(","uid":"n","labels":{"rack":")" +
                                          (std::string(node) == "node-3" ? "r2" : "r1") + R"("}}})");
    put(key,
        R"({"metadata":{"name":"careful","uid":"p1"},"spec":{"driver":"gpu.example.com",)" + spec + "}}");
  }
  void put(const api::ObjectKey& at, const std::string& object) {
    auto typed = api::decode_typed(at.kind, std::make_shared<const std::string>(object));
    ASSERT_TRUE(typed.ok());
    view.put(at, *typed);
  }
  void report(const std::string& node, const char* device, Health health, std::string message = "") {
    caches[node].update("gpu.example.com", {{{node, device}, {health, std::move(message)}, 86400}}, now);
    feed.publish(node, caches[node].snapshot());
  }
  // Runs the policy, applies its writes like the API server, and tells them: "+gpu-1:NoExecute -gpu-2".
  std::string run() {
    const client::Effects effects = policies->reconcile(view, key, now);
    wake_at = effects.wake_at;
    std::string text;
    for (const client::Chain& chain : effects.chains) {
      const client::ApiRequest& request = chain.writes.at(0).request;
      const Json body = request.body.empty() ? Json::object() : *parse_json(request.body);
      if (chain.key.kind == Kind::Other) continue;
      const std::string effect(body.part("spec").part("taint").string_at("effect"));
      if (request.verb == client::Verb::Create) {
        Json object = body;
        object["metadata"]["uid"] = "r" + std::to_string(++version);
        object["metadata"]["resourceVersion"] = std::to_string(++version);
        put(chain.key, to_string(object));
        text += "+" + device(chain.key) + ":" + effect + " ";
      } else if (request.verb == client::Verb::Delete) {
        text += "-" + device(chain.key) + " ";
        view.erase(chain.key, 1000000);
      } else {
        Json object = *parse_json(*view.taint_rules.find("", chain.key.name)->raw);
        object["spec"]["taint"]["effect"] = effect;
        object["metadata"]["resourceVersion"] = std::to_string(++version);
        put(chain.key, to_string(object));
        text += "~" + device(chain.key) + ":" + effect + " ";
      }
    }
    return text;
  }
  std::string device(const api::ObjectKey& rule) const {
    return view.taint_rules.find("", rule.name)->device;
  }
  std::string after(std::int64_t seconds) {
    now = now + Duration::seconds(seconds);
    return run();
  }
  std::optional<Time> wake_at;
};

TEST(HealthPolicy, TaintsWhatStaysSickAndLiftsWhatStaysHealthy) {
  PolicyBench bench(R"("messagePattern":"xid *","holdFor":"10s","recoverAfter":"60s","effect":"NoSchedule")");
  bench.report("node-1", "gpu-1", Health::Unhealthy, "xid 79");
  bench.report("node-1", "gpu-2", Health::Unhealthy, "too warm");
  EXPECT_EQ(bench.run(), "");
  EXPECT_EQ(bench.wake_at, bench.now + Duration::seconds(10));
  EXPECT_EQ(bench.after(9), "");
  // A moment of health begins the period anew.
  bench.report("node-1", "gpu-1", Health::Healthy);
  EXPECT_EQ(bench.run(), "");
  bench.report("node-1", "gpu-1", Health::Unhealthy, "xid 80");
  EXPECT_EQ(bench.after(1), "");
  EXPECT_EQ(bench.after(10), "+gpu-1:NoSchedule ");
  EXPECT_EQ(bench.after(100), "") << "once";
  bench.report("node-1", "gpu-1", Health::Healthy);
  EXPECT_EQ(bench.run(), "");
  EXPECT_EQ(bench.wake_at, bench.now + Duration::seconds(60));
  bench.report("node-1", "gpu-1", Health::Unknown);
  EXPECT_EQ(bench.after(60), "") << "Unknown is no recovery";
  bench.report("node-1", "gpu-1", Health::Healthy);
  EXPECT_EQ(bench.after(1), "");
  EXPECT_EQ(bench.after(60), "-gpu-1 ");
}

TEST(HealthPolicy, BudgetsOfNodeRackAndClusterBoundEvictions) {
  struct Case {
    std::string budgets, writes;
  };
  const Case cases[] = {
      {R"("cluster":9)", "+a:NoExecute +b:NoExecute +c:NoExecute +d:NoExecute "},
      {R"("cluster":9,"node":1)", "+a:NoExecute +b:NoSchedule +c:NoExecute +d:NoExecute "},
      {R"("cluster":9,"rack":2,"rackLabel":"rack")", "+a:NoExecute +b:NoExecute +c:NoSchedule +d:NoExecute "},
      {R"("cluster":1)", "+a:NoExecute +b:NoSchedule +c:NoSchedule +d:NoSchedule "},
      {R"("cluster":0)", "+a:NoSchedule +b:NoSchedule +c:NoSchedule +d:NoSchedule "},
  };
  for (const Case& c : cases) {
    PolicyBench bench(R"("effect":"NoExecute","budgets":{)" + c.budgets + "}");
    bench.report("node-1", "a", Health::Unhealthy);
    bench.report("node-1", "b", Health::Unhealthy);
    bench.report("node-2", "c", Health::Unhealthy);
    bench.report("node-3", "d", Health::Unhealthy);
    EXPECT_EQ(bench.run(), c.writes) << c.budgets;
  }
}

TEST(HealthPolicy, ABudgetThatIsFreeAgainIsTheNextOnesThatStillMatches) {
  PolicyBench bench(R"("effect":"NoExecute","recoverAfter":"10s","budgets":{"cluster":1})");
  for (const char* device : {"a", "b", "c"}) bench.report("node-1", device, Health::Unhealthy);
  EXPECT_EQ(bench.run(), "+a:NoExecute +b:NoSchedule +c:NoSchedule ");
  EXPECT_EQ(bench.run(), "");
  bench.report("node-1", "a", Health::Healthy);
  bench.report("node-1", "b", Health::Unknown);
  EXPECT_EQ(bench.run(), "");
  EXPECT_EQ(bench.after(10), "-a ~c:NoExecute ");
}

TEST(HealthPolicy, UnknownIsForPoliciesAboutItAlone) {
  PolicyBench sick(R"("effect":"NoExecute","budgets":{"cluster":5})");
  PolicyBench unknown(R"("effect":"NoSchedule","health":"Unknown")");
  for (PolicyBench* bench : {&sick, &unknown}) bench->report("node-1", "a", Health::Unknown);
  EXPECT_EQ(sick.run(), "");
  EXPECT_EQ(unknown.run(), "+a:NoSchedule ");
}

TEST(HealthPolicy, ARestartedProcessKeepsTheRulesAndBeginsPeriodsAnew) {
  PolicyBench bench(R"("effect":"NoSchedule","holdFor":"10s","recoverAfter":"10s")");
  bench.report("node-1", "a", Health::Unhealthy);
  bench.run();
  EXPECT_EQ(bench.after(10), "+a:NoSchedule ");
  bench.policies = make_health_policies(&bench.feed);
  EXPECT_EQ(bench.after(100), "");
  bench.report("node-1", "a", Health::Healthy);
  bench.policies = make_health_policies(&bench.feed);
  EXPECT_EQ(bench.after(100), "");
  EXPECT_EQ(bench.after(10), "-a ");
}

TEST(HealthPolicy, RulesGoWithTheirNode) {
  PolicyBench bench(R"("effect":"NoSchedule")");
  bench.report("node-1", "a", Health::Unhealthy);
  EXPECT_EQ(bench.run(), "+a:NoSchedule ");
  bench.feed.stop_serving("node-1");
  EXPECT_EQ(bench.after(1000), "") << "an agent that is away says nothing";
  bench.view.erase({Kind::Node, "", "node-1", {}}, 1000000);
  EXPECT_EQ(bench.run(), "-a ");
}

// Its reports may outlive a node; a rule that is made only to go again would be written without end.
TEST(HealthPolicy, ADeviceOfANodeThatIsGoneGetsItsRuleWhenTheNodeReturns) {
  PolicyBench bench(R"("effect":"NoExecute")");
  const std::string node = *bench.view.nodes.find("", "node-1")->raw;
  bench.view.erase({Kind::Node, "", "node-1", {}}, 1000000);
  bench.report("node-1", "gpu-1", Health::Unhealthy);
  EXPECT_EQ(bench.run(), "");
  EXPECT_EQ(bench.after(30), "");
  bench.put({Kind::Node, "", "node-1", {}}, node);
  EXPECT_EQ(bench.run(), "+gpu-1:NoExecute ");
}

TEST(HealthPolicy, PatternsFitTheWholeMessage) {
  const std::tuple<const char*, const char*, bool> cases[] = {
      {"", "anything", true},
      {"xid 79", "xid 79", true},
      {"xid 79", "xid 799", false},
      {"xid *", "xid 79", true},
      {"*fallen*bus", "x fallen off the bus", true},
      {"*", "", true},
      {"a*b*c", "abc-c", true},
      {"a*b*c", "acb", false},
      {"xid", "", false},
  };
  for (const auto& [pattern, text, fits] : cases)
    EXPECT_EQ(api::matches_pattern(pattern, text), fits) << pattern << " on " << text;
}

// Half a character would be refused with the whole rule, for ever.
TEST(HealthPolicy, CutsALongCauseBetweenCharacters) {
  std::string euros = "x";
  for (int n = 0; n < 300; ++n) euros += "\u20ac";
  PolicyBench bench(R"("health":"Unhealthy","effect":"NoSchedule","holdFor":"0s")");
  bench.report("node-1", "gpu-1", Health::Unhealthy, euros);
  const client::Effects effects = bench.policies->reconcile(bench.view, bench.key, bench.now);
  ASSERT_FALSE(effects.chains.empty());
  const Json rule = *parse_json(effects.chains[0].writes.at(0).request.body);
  const std::string_view cause = rule.part("metadata").part("annotations").string_at(kTaintCauseAnnotation);
  EXPECT_TRUE(cause.ends_with("\u20ac...")) << cause;
  EXPECT_LE(cause.size(), 512u);
}

// What agents elsewhere report: NodeDeviceHealth objects instead of the feed.
struct ReportBench : PolicyBench {
  explicit ReportBench(const std::string& spec) : PolicyBench(spec) {
    policies = make_health_policies(nullptr);
    for (const client::Interest& interest : policies->interests())
      if (interest.resource == api::node_device_health_resource()) routes = interest.keys;
  }
  // `devices`: {{"gpu-1", "Unhealthy"}}
  void write(const std::string& node, const std::vector<std::pair<std::string, std::string>>& devices) {
    std::string list;
    for (const auto& [device, health] : devices)
      list += std::string(list.empty() ? "" : ",") + R"({"driver":"gpu.example.com","pool":")" + node +
              R"(","device":")" + device + R"(","health":")" + health + R"("})";
    const api::ObjectKey at{Kind::Other, "", node, api::node_device_health_resource()};
    const std::string object = R"({"metadata":{"name":")" + node + R"(","uid":"h-)" + node +
                               R"(","resourceVersion":")" + std::to_string(++version) +
                               R"("},"spec":{"devices":[)" + list + "]}}";
    auto typed = api::decode_typed(Kind::Other, std::make_shared<const std::string>(object));
    const auto delta = view.put(at, *typed);
    std::vector<api::ObjectKey> keys;
    routes(view, *delta, keys);
    EXPECT_EQ(keys, std::vector<api::ObjectKey>{key}) << "every policy runs";
  }
  std::function<void(const client::View&, const client::Delta&, std::vector<api::ObjectKey>&)> routes;
};

TEST(HealthPolicyOnReports, ActsOnWhatNodeAgentsWrite) {
  ReportBench bench(R"("effect":"NoSchedule","holdFor":"10s","recoverAfter":"60s")");
  bench.write("node-1", {{"gpu-1", "Unhealthy"}, {"gpu-2", "Healthy"}});
  EXPECT_EQ(bench.run(), "");
  EXPECT_EQ(bench.after(10), "+gpu-1:NoSchedule ");
  bench.write("node-1", {{"gpu-1", "Healthy"}, {"gpu-2", "Healthy"}});
  EXPECT_EQ(bench.run(), "");
  EXPECT_EQ(bench.after(60), "-gpu-1 ");
}

TEST(HealthPolicyOnReports, ASilentAgentLiftsNoTaintAndMakesNone) {
  ReportBench bench(R"("effect":"NoSchedule","recoverAfter":"1h")");
  bench.write("node-1", {{"gpu-1", "Unhealthy"}, {"gpu-2", "Healthy"}});
  EXPECT_EQ(bench.run(), "+gpu-1:NoSchedule ");
  bench.write("node-1", {{"gpu-1", "Healthy"}, {"gpu-2", "Healthy"}});
  EXPECT_EQ(bench.run(), "");
  // Its last words were "Healthy"; nobody says so any more.
  EXPECT_EQ(bench.after(180), "");
  EXPECT_EQ(bench.after(3600), "");
  bench.write("node-1", {{"gpu-1", "Healthy"}, {"gpu-2", "Healthy"}});
  EXPECT_EQ(bench.run(), "");
  for (int n = 0; n < 60; ++n) {
    bench.write("node-1", {{"gpu-1", "Healthy"}, {"gpu-2", "Healthy"}});  // renewals
    EXPECT_EQ(bench.after(60), n == 59 ? "-gpu-1 " : "") << n;
  }
}

TEST(HealthPolicyOnReports, ReportsOfNodesThatAreGoneCountForNothing) {
  ReportBench bench(R"("effect":"NoSchedule")");
  bench.write("ghost", {{"gpu-1", "Unhealthy"}});
  EXPECT_EQ(bench.run(), "");
  bench.write("node-1", {{"gpu-1", "Unhealthy"}});
  EXPECT_EQ(bench.run(), "+gpu-1:NoSchedule ");
  bench.view.erase({Kind::Node, "", "node-1", {}}, 1000000);
  EXPECT_EQ(bench.run(), "-gpu-1 ");
  EXPECT_EQ(bench.run(), "") << "its report is there until it is collected";
}

// The incremental reading agrees with one from scratch after every change.
TEST(HealthPolicyOnReports, AgreesWithAFreshReadingOnRandomReports) {
  std::uint64_t state = 99;
  const auto random = [&state](std::uint64_t below) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % below;
  };
  const char* healths[] = {"Healthy", "Unhealthy", "Unknown"};
  ReportBench bench(R"("effect":"NoSchedule","recoverAfter":"0s")");
  std::set<std::string> tainted;
  for (int turn = 0; turn < 400; ++turn) {
    const std::string node = "node-" + std::to_string(1 + random(3));
    std::vector<std::pair<std::string, std::string>> devices;
    for (int d = 0; d < 4; ++d)
      if (random(5) > 0) devices.emplace_back("gpu-" + std::to_string(d), healths[random(3)]);
    bench.write(node, devices);
    bench.after(1);
    ReportBench fresh(R"("effect":"NoSchedule","recoverAfter":"0s")");
    std::swap(fresh.view, bench.view);
    for (const auto& [other, report] : fresh.view.others.at(api::node_device_health_resource()).all()) {
      std::vector<api::ObjectKey> keys;
      fresh.routes(fresh.view,
                   {{Kind::Other, "", other.name, api::node_device_health_resource()},
                    std::nullopt,
                    *fresh.view.find({Kind::Other, "", other.name, api::node_device_health_resource()})},
                   keys);
    }
    fresh.now = bench.now;
    EXPECT_EQ(fresh.run(), "") << "turn " << turn;
    std::swap(fresh.view, bench.view);
  }
}

}  // namespace
}  // namespace berth::health
