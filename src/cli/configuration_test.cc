#include "cli/configuration.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

#include "base/testing/source_dir.h"
#include "cli/control_plane.h"
#include "cli/field_value.h"

namespace berth::cli {
namespace {

constexpr Component kParts[] = {Component::Up, Component::ApiServer, Component::Scheduler, Component::Binder,
                                Component::NodeAgent};
constexpr const char* kHead = "apiVersion: config.berth.dev/v1alpha1\nkind: BerthConfiguration\n";

const ConfigurationField* row_of(std::string_view path) {
  for (const ConfigurationField& field : configuration_fields())
    if (field.path == path) return &field;
  return nullptr;
}

// A text that a flag of this field accepts and that is not its default.
std::vector<std::string> other_value(const ConfigurationField& field, Component component) {
  if (const auto* text = std::get_if<TextField>(&field.type)) {
    const bool listens = text->rule == TextRule::Listen || text->rule == TextRule::ListenOrNone;
    return {text->rule == TextRule::Path ? "/some where/\"x\"" : listens ? "[::1]:7" : "on"};
  }
  if (const auto* choice = std::get_if<ChoiceField>(&field.type)) {
    const Json initial = value_of(field, component, default_configuration(component));
    return {std::string(choice->words.back() == initial.as_string() ? choice->words.front()
                                                                    : choice->words.back())};
  }
  if (const auto* count = std::get_if<CountField>(&field.type)) return {std::to_string(count->max)};
  if (const auto* list = std::get_if<ListField>(&field.type))
    return list->rule == TextRule::Path             ? std::vector<std::string>{"a: b", "-"}
           : list->rule == TextRule::Controller     ? std::vector<std::string>{"*", "-deployment"}
           : list->rule == TextRule::WebhookService ? std::vector<std::string>{"a/b=https://127.0.0.1:9443"}
                                                    : std::vector<std::string>{"y", "1"};
  if (std::holds_alternative<DurationField>(field.type)) return {"1h0m0.25s"};
  return {std::holds_alternative<GatesField>(field.type) ? "DRADeviceTaints=false" : "true"};
}

TEST(Configuration, IsReadBackToTheSameBytes) {
  for (const Component component : kParts) {
    GivenFlags flags;
    for (const ConfigurationField& field : configuration_fields())
      if (field.known_to(component)) flags[&field] = other_value(field, component);
    for (const GivenFlags& given : {flags, GivenFlags{{row_of("nodeAgent.node"), {"n1"}}}}) {
      const Result<Configuration> config = effective_configuration(component, "", given);
      ASSERT_TRUE(config.ok()) << config.error().text();
      const std::string text = configuration_text(component, *config);
      Configuration read = default_configuration(component);
      const Status applied = apply_configuration(component, text, "printed", read);
      ASSERT_TRUE(applied.ok()) << applied.error().text() << "\n" << text;
      EXPECT_EQ(configuration_text(component, read), text);
    }
    const Result<Configuration> changed = effective_configuration(component, "", flags);
    ASSERT_TRUE(changed.ok());
    for (const ConfigurationField& field : configuration_fields()) {
      if (!field.known_to(component) || std::holds_alternative<SwitchField>(field.type)) continue;
      EXPECT_NE(to_string(value_of(field, component, default_configuration(component))),
                to_string(value_of(field, component, *changed)))
          << field.path;
    }
  }
}

TEST(Configuration, OfEveryPartIsAcceptedAsItIs) {
  for (const Component component : kParts) {
    Configuration config = default_configuration(component);
    EXPECT_TRUE(apply_configuration(component, kHead, "f", config).ok());
    for (const ConfigurationField& field : configuration_fields()) {
      if (!field.known_to(component) || field.path == "nodeAgent.node") continue;
      const Status set =
          set_from_json(field, value_of(field, component, default_configuration(component)), config);
      EXPECT_TRUE(set.ok()) << name_of(component) << " " << field.path << ": " << set.error().text();
    }
  }
}

TEST(Configuration, HasOneFieldAPathAndOneFlagAPart) {
  std::set<std::string_view> paths;
  for (const ConfigurationField& field : configuration_fields()) {
    EXPECT_TRUE(paths.insert(field.path).second) << field.path;
    EXPECT_NE(field.parts, 0) << field.path;
    EXPECT_EQ(field.long_flag().substr(0, 2), "--") << field.path;
    EXPECT_LE(std::count(field.path.begin(), field.path.end(), '.'), 1) << field.path;
  }
  for (const Component component : kParts) {
    std::set<std::string_view> flags;
    for (const ConfigurationField& field : configuration_fields()) {
      if (!field.known_to(component)) continue;
      EXPECT_TRUE(flags.insert(field.long_flag()).second) << field.path;
    }
  }
}

TEST(Configuration, OfAFileIsChangedByFlags) {
  Configuration config = default_configuration(Component::Scheduler);
  const std::string text =
      std::string(kHead) +
      "scheduler: {schedulerNames: [a, b], withBinder: true}\nbinding:\n  gangTimeout: 20s\n"
      "featureGates: {GenericWorkload: true}\nleaderElection:\n";
  ASSERT_TRUE(apply_configuration(Component::Scheduler, text, "f", config).ok());
  EXPECT_EQ(config.scheduler_names, (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(config.with_binder);
  EXPECT_EQ(config.gang_timeout, Duration::seconds(20));
  EXPECT_EQ(config.binding_timeout, Duration::minutes(10));
  EXPECT_TRUE(gates_of(Component::Scheduler, config).enabled("GenericWorkload"));

  ASSERT_TRUE(set_from_flag(*row_of("scheduler.schedulerNames"), {"c"}, config).ok());
  ASSERT_TRUE(set_from_flag(*row_of("scheduler.withBinder"), {"false"}, config).ok());
  ASSERT_TRUE(set_from_flag(*row_of("featureGates"), {"GenericWorkload=false"}, config).ok());
  EXPECT_EQ(config.scheduler_names, (std::vector<std::string>{"c"}));
  EXPECT_FALSE(config.with_binder);
  EXPECT_FALSE(gates_of(Component::Scheduler, config).enabled("GenericWorkload"));
}

TEST(Configuration, NeedsARequestAPodWhereTheBinderIsElsewhere) {
  GivenFlags flags;
  const auto in_force = [&flags] {
    return effective_configuration(Component::Scheduler, "", flags)->bind_requests;
  };
  EXPECT_EQ(in_force(), "Always");
  flags[row_of("bindRequests")] = {"WhenWaiting"};
  EXPECT_EQ(in_force(), "Always");
  flags[row_of("scheduler.withBinder")] = {"true"};
  EXPECT_EQ(in_force(), "WhenWaiting");
}

TEST(Configuration, ReachesTheLoops) {
  Configuration config = default_configuration(Component::Up);
  const plane::ControlPlaneOptions plain = plane_options(config, Plugins{});
  EXPECT_EQ(plain.scheduler_names, (std::vector<std::string>{"berth", "default-scheduler"}));
  EXPECT_FALSE(plain.scheduling.backoff_limit.has_value()) << "the binder's own default holds";
  config.backoff_limit = 7;
  config.binding_timeout = Duration::seconds(31);
  config.gang_timeout = Duration::seconds(32);
  config.volume_timeout = Duration::seconds(41);
  config.retry_base = Duration::seconds(33);
  config.retry_cap = Duration::seconds(34);
  config.device_scoring = "LeastFragmenting";
  config.cool_down = Duration::seconds(35);
  config.overtaking_limit = Duration::seconds(40);
  config.writes_in_flight_max = 36;
  config.health_timeout = Duration::seconds(37);
  config.stream_retry_base = Duration::seconds(38);
  config.stream_retry_max = Duration::seconds(39);
  const plane::ControlPlaneOptions changed = plane_options(config, Plugins{});
  EXPECT_EQ(changed.scheduling.backoff_limit, 7);
  EXPECT_EQ(changed.binding.binding_timeout, Duration::seconds(31));
  EXPECT_EQ(changed.binding.gang_timeout, Duration::seconds(32));
  EXPECT_EQ(changed.binding.volume_timeout, Duration::seconds(41));
  EXPECT_EQ(changed.binding.retry_base, Duration::seconds(33));
  EXPECT_EQ(changed.binding.retry_cap, Duration::seconds(34));
  EXPECT_EQ(changed.scheduling.device_scoring, dra::DeviceScoring::LeastFragmenting);
  EXPECT_EQ(changed.scheduling.cool_down, Duration::seconds(35));
  EXPECT_EQ(changed.scheduling.overtaking_limit, Duration::seconds(40));
  EXPECT_EQ(changed.writes_in_flight_max, 36u);
  const health::HealthTiming health = health_timing(config);
  EXPECT_EQ(health.timeout, Duration::seconds(37));
  EXPECT_EQ(health.stream_retry_base, Duration::seconds(38));
  EXPECT_EQ(health.stream_retry_max, Duration::seconds(39));
}

struct Wrong {
  std::string text;   // after the head, unless it has its own
  std::string place;  // "f:3: document 1: field"
  std::string says;
};

void expect_refused(Component component, const Wrong& wrong) {
  Configuration config = default_configuration(component);
  const bool headed = wrong.text.find("kind:") != std::string::npos || wrong.text.find("apiVersion") == 0;
  const Status read = apply_configuration(component, (headed ? "" : kHead) + wrong.text, "f", config);
  ASSERT_FALSE(read.ok()) << wrong.text;
  EXPECT_EQ(read.error().path(), wrong.place) << wrong.text << read.error().text();
  EXPECT_NE(read.error().message().find(wrong.says), std::string::npos) << read.error().message();
}

TEST(Configuration, RefusesWhatIsNoConfiguration) {
  const std::string head = kHead;
  for (const Wrong& wrong : std::vector<Wrong>{
           {"kind: BerthConfiguration\n", "f:1: document 1: apiVersion",
            "is missing: write apiVersion: config"},
           {"apiVersion: v1\nkind: BerthConfiguration\n", "f:1: document 1: apiVersion",
            "reads config.berth.dev"},
           {"apiVersion: config.berth.dev/v1alpha1\n", "f:1: document 1: kind", "is missing"},
           {"apiVersion: config.berth.dev/v1alpha1\nkind: Pod\n", "f:2: document 1: kind", "is \"Pod\""},
           {"kind: []\napiVersion: config.berth.dev/v1alpha1\n", "f:1: document 1: kind", "is []"},
           {"- apiVersion: x\n  kind: y\n", "f:1: document 1", "is no map"},
           {head + "---\n" + head, "f:4: document 2", "one too many"},
           {head + "listen: a:1\nlisten: a:2\n", "f:4: document 1", "key \"listen\" already set"},
           {head + "part: binder\n", "f:3: document 1: part", "this is berth scheduler"},
       })
    expect_refused(Component::Scheduler, wrong);
  Configuration config = default_configuration(Component::Scheduler);
  const Status empty = apply_configuration(Component::Scheduler, "# nothing\n", "f", config);
  EXPECT_EQ(empty.error().text(), "f: holds no document: write one, or no --config");
}

TEST(Configuration, RefusesFieldsThatThePartDoesNotKnow) {
  for (const Wrong& wrong : std::vector<Wrong>{
           {"junk: 1\n", "f:3: document 1: junk", "is no field of a BerthConfiguration"},
           {"scheduler:\n  schedulerName: [x]\n", "f:4: document 1: scheduler.schedulerName",
            "did you mean scheduler.schedulerNames?"},
           {"gangTimeout: 3s\n", "f:3: document 1: gangTimeout", "did you mean binding.gangTimeout?"},
           {"nodeAgent:\n  node: n\n", "f:4: document 1: nodeAgent",
            "is no field of berth scheduler, only of up, node-agent: remove it"},
           {"binding:\n  gangTimeout:\n    x: 1\n", "f:5: document 1: binding.gangTimeout",
            "wants a duration"},
           {"binding: 3\n", "f:3: document 1: binding", "wants a map of fields, not 3"},
           {"listen.x: 1\n", "f:3: document 1: listen.x", "is no field"},
       })
    expect_refused(Component::Scheduler, wrong);
  expect_refused(Component::Binder, {"binding:\n  backoffLimit: 3\n", "f:4: document 1: binding.backoffLimit",
                                     "is no field of berth binder, only of up, scheduler"});
}

TEST(Configuration, RefusesValuesOfAnotherTypeOrBeyondTheirBounds) {
  for (const Wrong& wrong : std::vector<Wrong>{
           {"listen: nowhere\n", "f:3: document 1: listen", "is no ADDR:PORT"},
           {"listen: 80\n", "f:3: document 1: listen", "wants a text, not 80"},
           {"listen:\n", "f:3: document 1: listen", "has no value"},
           {"logging: {level: loud}\n", "f:3: document 1: logging.level", "none of debug, info"},
           {"binding: {bindingTimeout: 600}\n", "f:3: document 1: binding.bindingTimeout",
            "90s or 1h30m, not 600"},
           {"binding: {bindingTimeout: 10}\n", "f:3: document 1: binding.bindingTimeout", "not 10"},
           {"binding: {bindingTimeout: ten}\n", "f:3: document 1: binding.bindingTimeout",
            "\"ten\" is no duration"},
           {"binding: {bindingTimeout: 999ms}\n", "f:3: document 1: binding.bindingTimeout",
            "999ms is out of bounds: 1s to 24h"},
           {"binding: {bindingTimeout: -1s}\n", "f:3: document 1: binding.bindingTimeout", "out of bounds"},
           {"binding: {bindingTimeout: 24h1s}\n", "f:3: document 1: binding.bindingTimeout", "out of bounds"},
           {"binding: {backoffLimit: 101}\n", "f:3: document 1: binding.backoffLimit", "0 to 100"},
           {"binding: {backoffLimit: -1}\n", "f:3: document 1: binding.backoffLimit", "0 to 100"},
           {"binding: {backoffLimit: 1.5}\n", "f:3: document 1: binding.backoffLimit",
            "whole number, not 1.5"},
           {"binding: {backoffLimit: \"3\"}\n", "f:3: document 1: binding.backoffLimit", "not \"3\""},
           {"binding:\n  retryBackoff: 5m\n", "f:4: document 1: binding.retryBackoff",
            "is 5m, longer than binding.retryBackoffMax, which is 1m"},
           {"scheduler: {schedulerNames: []}\n", "f:3: document 1: scheduler.schedulerNames", "0 entries"},
           {"scheduler: {schedulerNames: x}\n", "f:3: document 1: scheduler.schedulerNames", "wants a list"},
           {"scheduler: {schedulerNames: [x, 1]}\n", "f:3: document 1: scheduler.schedulerNames", "not of 1"},
           {"scheduler: {schedulerNames: [x, x]}\n", "f:3: document 1: scheduler.schedulerNames", "twice"},
           {"scheduler: {schedulerNames: [A_]}\n", "f:3: document 1: scheduler.schedulerNames", "is no name"},
           {"scheduler: {schedulerNames: ['']}\n", "f:3: document 1: scheduler.schedulerNames", "is empty"},
           {"scheduler: {withBinder: maybe}\n", "f:3: document 1: scheduler.withBinder", "true or false"},
           {"leaderElection: {resourceNamespace: ''}\n", "f:3: document 1: leaderElection.resourceNamespace",
            "is no name"},
           {"clientConnection: {maxWritesInFlight: 0}\n",
            "f:3: document 1: clientConnection.maxWritesInFlight", "1 to 4096"},
           {"featureGates: A=true\n", "f:3: document 1: featureGates", "wants a map of gates"},
           {"featureGates: {DRADeviceTaints: 1}\n", "f:3: document 1: featureGates", "takes true or false"},
           {"featureGates:\n  DRADeviceTaint: true\n", "f:4: document 1: featureGates.DRADeviceTaint",
            "did you mean DRADeviceTaints?"},
           {"featureGates:\n  DynamicResourceAllocation: false\n",
            "f:4: document 1: featureGates.DynamicResourceAllocation", "cannot be changed"},
       })
    expect_refused(Component::Scheduler, wrong);
}

TEST(Configuration, RefusesFlagsByTheirName) {
  struct Case {
    const char* path;
    std::vector<std::string> texts;
    const char* error;
  };
  for (const Case& wrong : std::vector<Case>{
           {"binding.gangTimeout", {"0s"}, "--gang-timeout: 0s is out of bounds: 1s to 24h"},
           {"binding.gangTimeout", {"soon"}, "--gang-timeout: \"soon\" is no duration such as 90s or 1h30m"},
           {"binding.retryBackoff",
            {"2m"},
            "--bind-retry-backoff: is 2m, longer than binding.retryBackoffMax, which is 1m"},
           {"scheduler.withBinder", {"yes"}, "--with-binder: \"yes\" is neither true nor false"},
           {"binding.backoffLimit", {"4x"}, "--bind-backoff-limit: \"4x\" is no whole number"},
           {"logging.format", {"xml"}, "--log-format: \"xml\" is none of text, json"},
           {"scheduler.schedulerNames", {"a", "a"}, "--scheduler-name: \"a\" is there twice"},
       }) {
    const Result<Configuration> config =
        effective_configuration(Component::Scheduler, "", {{row_of(wrong.path), wrong.texts}});
    ASSERT_FALSE(config.ok()) << wrong.path;
    EXPECT_EQ(config.error().text(), wrong.error);
  }
  EXPECT_EQ(effective_configuration(Component::NodeAgent, "", {}).error().path(), "--node");
  EXPECT_EQ(effective_configuration(Component::Binder, "/nonexistent/b.yaml", {}).error().path(),
            "/nonexistent/b.yaml");
}

TEST(Configuration, StandsOnItsPage) {
  std::ifstream file(source_path("docs/configuration.md"));
  std::stringstream page;
  page << file.rdbuf();
  EXPECT_NE(page.str().find(configuration_reference()), std::string::npos)
      << "docs/configuration.md wants this table:\n"
      << configuration_reference();
}

}  // namespace
}  // namespace berth::cli
