// An installation compared with the other rooms: columns, rules and rights.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "api/kind_rules.h"
#include "api/patch.h"
#include "api/test_cel.h"
#include "api/type_table.h"
#include "base/testing/source_dir.h"
#include "cli/cel_lines.h"
#include "cli/configuration.h"
#include "cli/control_plane.h"
#include "cli/version.h"
#include "client/api_path.h"
#include "client/refused_requests.h"
#include "install/chart.h"
#include "install/crd.h"
#include "install/rights.h"
#include "install/testing/stored_text.h"
#include "server/tables.h"

namespace berth::cli {
namespace {

constexpr const char* kChartFolder = "deploy/helm/berth/";

TEST(Installation, PrintsTheColumnsOfTheEmbeddedServer) {
  const std::pair<const char*, std::span<const install::PrinterColumn>> kinds[] = {
      {"bindrequests", install::bind_request_columns()},
      {"devicehealthpolicies", install::health_policy_columns()},
      {"nodedevicehealths", install::node_health_columns()},
      {"topologies", install::topology_columns()},
      {"placementpolicies", install::placement_policy_columns()}};
  for (const auto& [plural, defined] : kinds) {
    const api::ResourceInfo* resource = api::find_resource("scheduling.berth.dev", "v1alpha1", plural);
    ASSERT_NE(resource, nullptr);
    const auto served = server::columns_of(*resource).columns.subspan(1);  // Name is implicit there
    ASSERT_EQ(served.size(), defined.size()) << plural;
    for (std::size_t i = 0; i < served.size(); ++i) {
      EXPECT_EQ(served[i].name, defined[i].name);
      EXPECT_EQ(served[i].priority, defined[i].priority) << served[i].name;
    }
  }
}

TEST(Chart, IsTheOneOfTheTree) {
  std::set<std::string> files;
  for (const install::ChartFile& file : install::chart_files(kBerthVersion)) {
    install::expect_stored(std::string(kChartFolder) + file.path, file.text);
    files.insert(source_path(std::string(kChartFolder) + file.path));
  }
  for (const auto& entry : std::filesystem::recursive_directory_iterator(source_path(kChartFolder)))
    EXPECT_TRUE(entry.is_directory() || files.contains(entry.path())) << entry.path();
}

// A document in the form of `berth cel` variables.
Json cel_variable(const Json& value) {
  if (value.is_object()) {
    Json map = Json::object();
    for (const JsonMember& member : value.as_object()) map[member.key] = cel_variable(member.value);
    return Json::object({{"map", std::move(map)}});
  }
  if (value.is_array()) {
    Json list = Json::array();
    for (const Json& item : value.as_array()) list.as_array().push_back(cel_variable(item));
    return Json::object({{"list", std::move(list)}});
  }
  if (value.is_bool()) return Json::object({{"bool", value}});
  if (value.is_int()) return Json::object({{"int", std::to_string(value.as_int())}});
  return Json::object({{"string", value}});
}

// The messages of the definition's rules that the change violates.
std::vector<std::string> broken_rules(const Json& crd, const Json& next, const Json& old) {
  std::vector<std::string> broken;
  const Json& schema = crd.part("spec").items_at("versions")[0].part("schema").part("openAPIV3Schema");
  for (const Json& rule : schema.items_at("x-kubernetes-validations")) {
    const Json answer = answer_cel(to_string(Json::object(
        {{"id", 1},
         {"expr", rule.string_at("rule")},
         {"vars", Json::object({{"self", cel_variable(next)}, {"oldSelf", cel_variable(old)}})}})));
    EXPECT_EQ(answer.find("error"), nullptr) << to_string(answer);
    if (!answer.bool_at("value")) broken.emplace_back(rule.string_at("message"));
  }
  return broken;
}

TEST(Installation, RulesOfTheDefinitionAreThoseOfTheEmbeddedServer) {
  const Json old = parse_json(R"({"spec":{"podName":"p","podUID":"u","selectedNode":"n","decisionID":"d1",
      "epoch":2,"resourceClaimAllocations":[{"name":"c","claimName":"x"}]},"status":{"phase":"Pending"}})")
                       .value();
  struct Case {
    const char* what;
    const char* old_patch;
    const char* patch;
    bool allowed;
  };
  const Case cases[] = {
      {"nothing changes", "{}", "{}", true},
      {"withdrawn", "{}", R"({"withdrawn":true})", true},
      {"taken back", R"({"spec":{"withdrawn":true}})", R"({"withdrawn":null})", false},
      {"a later term", "{}", R"({"epoch":3})", true},
      {"an earlier term", "{}", R"({"epoch":1})", false},
      {"the first term of another Lease", R"({"spec":{"lease":{"namespace":"n","name":"l","uid":"1"}}})",
       R"({"epoch":1,"lease":{"uid":"2"}})", true},
      {"an earlier term of the same Lease", R"({"spec":{"lease":{"namespace":"n","name":"l","uid":"1"}}})",
       R"({"epoch":1})", false},
      {"another node", "{}", R"({"selectedNode":"m"})", false},
      {"another claim", "{}", R"({"resourceClaimAllocations":[{"name":"c","claimName":"y"}]})", false},
      {"a new member", "{}", R"({"backoffLimit":1})", false},
      {"another pod", R"({"status":{"phase":"Failed"}})", R"({"podUID":"v","decisionID":"d2"})", false},
      {"replaced too early", "{}", R"({"decisionID":"d2","selectedNode":"m"})", false},
      {"replaced", R"({"status":{"phase":"Failed","decisionID":"d1"}})",
       R"({"decisionID":"d2","selectedNode":"m","epoch":1})", true},
      {"changed after it failed", R"({"status":{"phase":"Failed"}})", R"({"selectedNode":"m"})", false},
  };
  const api::Gates gates(api::GateDefaults::Release);
  const api::RuleContext context{gates, api::accept_any_cel};
  const api::KindRules& rules = api::rules_of("scheduling.berth.dev", "bindrequests");
  const Json record = parse_json(R"({"spec":{"members":[{"podName":"p"}]}})").value();
  EXPECT_TRUE(broken_rules(install::bind_request_crd(), record, record).empty());
  EXPECT_FALSE(
      broken_rules(install::bind_request_crd(), parse_json(R"({"spec":{"podName":"p"}})").value(), record)
          .empty());
  for (const Case& row : cases) {
    const Json before = api::merge_patched(old, parse_json(row.old_patch).value());
    Json next = before;
    next["spec"] = api::merge_patched(before.part("spec"), parse_json(row.patch).value());
    EXPECT_EQ(rules.validate_update(next, before, context).empty(), row.allowed) << row.what;
    EXPECT_EQ(broken_rules(install::bind_request_crd(), next, before).empty(), row.allowed) << row.what;
  }
}

TEST(Installation, RulesOfPoliciesAreThoseOfTheEmbeddedServer) {
  struct Case {
    const char* spec;
    bool allowed;
  };
  const Case cases[] = {
      {R"({"driver":"d","effect":"NoSchedule"})", true},
      {R"({"driver":"d","effect":"NoSchedule","holdFor":"30s","recoverAfter":"24h"})", true},
      {R"({"driver":"d","effect":"NoSchedule","holdFor":"24h1s"})", false},
      {R"({"driver":"d","effect":"NoSchedule","recoverAfter":"1441m"})", false},
      {R"({"driver":"d","effect":"NoExecute","budgets":{"cluster":0}})", true},
      {R"({"driver":"d","effect":"NoExecute"})", false},
      {R"({"driver":"d","effect":"NoExecute","budgets":{"node":1}})", false},
      {R"({"driver":"d","health":"Unknown","effect":"NoExecute","budgets":{"cluster":1}})", false},
      {R"({"driver":"d","health":"Unknown","effect":"NoExecute","evictUnknown":true,)"
       R"("budgets":{"cluster":1}})",
       true},
      {R"({"driver":"d","health":"Unknown","effect":"NoSchedule"})", true},
      {R"({"driver":"d","effect":"NoSchedule","budgets":{"rack":1}})", false},
      {R"({"driver":"d","effect":"NoSchedule","budgets":{"rack":1,"rackLabel":"example.com/rack"}})", true},
  };
  const api::Gates gates(api::GateDefaults::Release);
  const api::RuleContext context{gates, api::accept_any_cel};
  const api::KindRules& rules = api::rules_of("scheduling.berth.dev", "devicehealthpolicies");
  for (const Case& c : cases) {
    const Json policy = Json::object({{"spec", *parse_json(c.spec)}});
    EXPECT_EQ(rules.validate_create(policy, context).empty(), c.allowed) << c.spec;
    EXPECT_EQ(broken_rules(install::health_policy_crd(), policy, policy).empty(), c.allowed) << c.spec;
  }
}

TEST(Installation, RulesOfTopologiesAndPlacementPoliciesAreThoseOfTheEmbeddedServer) {
  const std::string target = R"("targetRef":{"kind":"PodGroup","name":"g"})";
  const auto policy = [&](const std::string& more) { return "{" + target + more + "}"; };
  const std::vector<std::tuple<const char*, Json (*)(), std::string, bool>> cases = {
      {"topologies", install::topology_crd, R"({"levels":[{"name":"rack","nodeLabel":"example.com/rack"}]})",
       true},
      {"topologies", install::topology_crd, R"({"levels":[]})", false},
      {"topologies", install::topology_crd, R"({})", false},
      {"topologies", install::topology_crd,
       R"({"levels":[{"name":"rack","nodeLabel":"a"},{"name":"rack","nodeLabel":"b"}]})", false},
      {"topologies", install::topology_crd,
       R"({"levels":[{"name":"block","nodeLabel":"a"},{"name":"rack","nodeLabel":"a"}]})", false},
      {"placementpolicies", install::placement_policy_crd, policy(""), true},
      {"placementpolicies", install::placement_policy_crd, policy(R"(,"preferred":["rack","block"])"), true},
      {"placementpolicies", install::placement_policy_crd, policy(R"(,"preferred":["rack","rack"])"), false},
      {"placementpolicies", install::placement_policy_crd,
       policy(R"(,"segments":{"level":"rack","size":{"min":2,"max":2}})"), true},
      {"placementpolicies", install::placement_policy_crd,
       policy(R"(,"segments":{"level":"rack","size":{"max":2}})"), true},
      {"placementpolicies", install::placement_policy_crd,
       policy(R"(,"segments":{"level":"rack","size":{}})"), false},
      {"placementpolicies", install::placement_policy_crd,
       policy(R"(,"segments":{"level":"rack","size":{"min":3,"max":2}})"), false},
  };
  const api::Gates gates(api::GateDefaults::Release);
  const api::RuleContext context{gates, api::accept_any_cel};
  for (const auto& [plural, crd, spec, allowed] : cases) {
    const api::KindRules& rules = api::rules_of("scheduling.berth.dev", plural);
    const Json object = Json::object({{"spec", *parse_json(spec)}});
    EXPECT_EQ(rules.validate_create(object, context).empty(), allowed) << spec;
    EXPECT_EQ(broken_rules(crd(), object, object).empty(), allowed) << spec;
  }
}

// Records the watches; answers nothing.
class WatchRecorder final : public client::ApiClient {
 public:
  void submit(client::ApiRequest, std::function<void(client::ApiReply)>) override {}
  std::unique_ptr<client::Subscription> list_and_watch(api::ResourceRef resource,
                                                       client::WatchReceiver&) override {
    watched.insert(resource.resource + "." + resource.group);
    return std::make_unique<client::Subscription>();
  }
  std::set<std::string> watched;
};

std::set<std::string> granted_watches(install::Account account) {
  std::set<std::string> granted;
  for (const install::Right& right : install::rights())
    if (right.account == account && right.verbs.find("list,watch") != std::string_view::npos)
      granted.insert(std::string(right.resource) + "." + std::string(right.group));
  return granted;
}

// An API server that refuses everything, as one whose account has no rights.
class RefusesAll final : public client::ApiClient {
 public:
  explicit RefusesAll(const install::Right& right) : right_(right) {}

  void submit(client::ApiRequest, std::function<void(client::ApiReply)> done) override {
    done(allows ? client::answered_reply(200, std::string("{}")) : refusal("write"));
  }
  std::unique_ptr<client::Subscription> list_and_watch(api::ResourceRef,
                                                       client::WatchReceiver& receiver) override {
    for (const std::string_view request : {"list", "watch"}) receiver.on_refused(request, refusal(request));
    if (allows) receiver.on_list({{}, 1});
    if (allows) receiver.on_changes({});
    return std::make_unique<client::Subscription>();
  }

  bool allows = false;

 private:
  client::ApiReply refusal(std::string_view verb) const {
    return client::refused_reply(403, "Forbidden",
                                 "is forbidden: User \"u\" cannot " + std::string(verb) + " resource \"" +
                                     std::string(right_.resource) + "\" in API group \"\"");
  }
  const install::Right& right_;
};

struct Silent final : client::WatchReceiver {
  void on_list(client::RawList) override {}
  void on_changes(std::vector<client::RawChange>) override {}
  void on_trouble(std::string) override { ++troubles; }
  int troubles = 0;
};

client::Verb verb_of(std::string_view name) {
  if (name == "create") return client::Verb::Create;
  if (name == "update") return client::Verb::Update;
  if (name == "delete") return client::Verb::Delete;
  return name == "get" ? client::Verb::Get : client::Verb::MergePatch;
}

// Each right of each account taken away in turn: said with the verb and the resource, and with what helps.
TEST(Installation, AMissingRightIsNamedWhicheverItIs) {
  for (const install::Right& right : install::rights()) {
    std::vector<std::string> verbs;
    api::for_each_listed(right.verbs, [&](std::string_view verb) { verbs.emplace_back(verb); });
    for (const std::string& verb : verbs) {
      const std::string what = verb + " " + install::title_of(right);
      SCOPED_TRACE(what);
      ManualClock clock(Time::from_seconds(1));
      const auto refusals = std::make_shared<client::RefusedRequests>(clock);
      RefusesAll server(right);
      client::RefusalReporter reporter(server, refusals);
      const std::size_t slash = right.resource.find('/');
      const api::ResourceRef resource{std::string(right.group), "v1",
                                      std::string(right.resource.substr(0, slash))};
      const std::string subresource(slash == std::string_view::npos ? "" : right.resource.substr(slash + 1));
      const bool watches = verb == "list" || verb == "watch";
      const auto ask = [&] {
        Silent receiver;
        if (watches)
          (void)reporter.list_and_watch(resource, receiver);
        else
          reporter.submit({verb_of(verb), resource, "berth-system", "x", subresource, "{}"},
                          [](const client::ApiReply&) {});
        EXPECT_EQ(receiver.troubles, 0) << "said twice";
      };
      const auto lines_of = [&] {
        testing::internal::CaptureStderr();
        ask();
        return testing::internal::GetCapturedStderr();
      };
      EXPECT_NE(lines_of().find("W the API server refuses what this process needs request=\"" + what),
                std::string::npos);
      EXPECT_EQ(lines_of(), "") << "again within a minute";
      clock.advance(client::kRefusalQuiet);
      EXPECT_NE(lines_of().find("more=1"), std::string::npos);
      const std::vector<std::string> standing = refusals->standing();
      if (right.resource == "events") {
        EXPECT_TRUE(standing.empty()) << "it works without events";
        continue;
      }
      EXPECT_TRUE(std::any_of(standing.begin(), standing.end(),
                              [&](const std::string& text) { return text.starts_with(what); }));
      const std::string help =
          right.resource == "leases" ? "--leader-elect-resource-namespace" : "`berth install` grants it";
      for (const std::string& text : standing) EXPECT_NE(text.find(help), std::string::npos) << text;
      server.allows = true;
      if (!watches) ask();
      clock.advance(watches ? client::kRefusalStands : Duration());
      EXPECT_TRUE(refusals->standing().empty());
    }
  }
}

TEST(Installation, GrantsTheWatchesOfTheLoops) {
  Configuration config = default_configuration(Component::Scheduler);
  config.feature_gates = "GenericWorkload=true,TopologyAwareWorkloadScheduling=true,CompositePodGroup=true";
  plane::ControlPlaneOptions options = plane_options(config, Plugins{});
  options.controllers = options.simulated_nodes = false;
  options.health_policies = true;
  const api::Gates gates = gates_of(Component::Scheduler, config);
  WatchRecorder recorder;
  plane::ControlPlane plane(recorder, gates, options);
  plane.start();
  EXPECT_EQ(recorder.watched, granted_watches(install::Account::Scheduler));
  EXPECT_EQ(granted_watches(install::Account::NodeAgent), std::set<std::string>()) << "it watches nothing";
}

}  // namespace
}  // namespace berth::cli
