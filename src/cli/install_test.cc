// An installation compared with the other rooms: columns, rules and rights.
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "api/kind_rules.h"
#include "api/patch.h"
#include "api/test_cel.h"
#include "base/testing/source_dir.h"
#include "cli/cel_lines.h"
#include "cli/configuration.h"
#include "cli/control_plane.h"
#include "cli/version.h"
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
      {"nodedevicehealths", install::node_health_columns()}};
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

TEST(Installation, GrantsTheWatchesOfTheLoops) {
  const Configuration config = default_configuration(Component::Scheduler);
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
