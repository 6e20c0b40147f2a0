#include "cli/explain_command.h"

#include <unistd.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>

#include "api/kinds.h"
#include "api/yaml_write.h"
#include "base/clock.h"
#include "cli/cluster_objects.h"
#include "cli/complain.h"
#include "cli/configuration_page.h"
#include "cli/server_calls.h"
#include "client/kubeconfig.h"
#include "dra/cel_selectors.h"
#include "explain/explanation.h"
#include "explain/question.h"
#include "placement/refusal/berth_words.h"
#include "planning/remedies.h"
#include "planning/score_table.h"

namespace berth::cli {
namespace {

struct ExplainCommand {
  std::string kind;  // pod or podgroup, or kubectl's short names for them
  std::string name;
  std::string ns;          // empty: the kubeconfig's
  std::string kubeconfig;  // empty: the same search as kubectl's
  std::string server;      // serves the scheduler's record; empty: the API server
  std::string output = "table";
};

struct KindWord {
  std::string_view word;
  api::Kind kind;
};
constexpr KindWord kKinds[] = {
    {"pod", api::Kind::Pod},           {"pods", api::Kind::Pod},           {"po", api::Kind::Pod},
    {"podgroup", api::Kind::PodGroup}, {"podgroups", api::Kind::PodGroup},
};

constexpr std::string_view kConfigurationUnknown =
    "The scheduler's configuration is not served here, so the defaults of berth scheduler are assumed: name "
    "the scheduler's own address (its --listen) with --server.";

void add_note(Json& answer, std::string_view text) {
  std::string note(answer.string_at("note"));
  answer["note"] = note.append(note.empty() ? "" : " ").append(text);
}

// How the scheduler decides; without its page as `berth scheduler` does by itself.
Result<DecidingConfiguration> deciding_configuration(ServerCalls& decisions,
                                                     const placement::MakePlugins& make, Json& answer) {
  const Json page = TRY(decisions.get(std::string(kConfigurationPage)));
  if (!page.is_null()) return read_configuration_page(page, make);
  add_note(answer, kConfigurationUnknown);
  return DecidingConfiguration{Component::Scheduler, default_configuration(Component::Scheduler)};
}

struct WhatIf {
  std::vector<planning::Document> documents;
  planning::PlanOptions options;
  client::NamedKey object;
};

Status put_remedies(WhatIf what_if, Json& answer) {
  dra::CelSelectors selectors;
  const auto remedies =
      TRY(planning::find_remedies(std::move(what_if.documents), what_if.object, what_if.options, selectors));
  if (remedies.empty()) return {};
  JsonArray& rows = (answer["remedies"] = Json::array()).as_array();
  for (const placement::Remedy& remedy : remedies)
    rows.push_back(Json::object({{"kind", placement::name_of(remedy.kind)},
                                 {"node", remedy.node},
                                 {"text", placement::words_of(remedy)}}));
  return {};
}

Status put_scores(WhatIf what_if, Json& answer) {
  dra::CelSelectors selectors;
  const auto table = TRY(
      planning::score_placed_pod(std::move(what_if.documents), what_if.object, what_if.options, selectors));
  if (table) answer["scores"] = planning::to_json(*table);
  return {};
}

// What is decided again here, on the objects as they are; paid for only when somebody asks.
struct Decided {
  std::string_view what;
  Status (*put)(WhatIf what_if, Json& answer);
};
constexpr Decided kRemedies = {"remedies", put_remedies}, kScores = {"scores", put_scores};

const Decided* decided_about(const Json& answer) {
  const std::string_view state = answer.string_at("state");
  if (answer.string_at("kind") != "Pod" || state == "Succeeded" || state == "Failed") return nullptr;
  if (state == "Unschedulable") return &kRemedies;
  return answer.find("node") ? &kScores : nullptr;
}

Status decide_live(const Decided& decided, ServerCalls& api, ServerCalls& decisions, Time now,
                   const placement::MakePlugins& make, Json& answer) {
  const DecidingConfiguration deciding = TRY(deciding_configuration(decisions, make, answer));
  const api::Gates gates = gates_of(deciding.component, deciding.configuration);
  WhatIf what_if;
  what_if.options = plan_options(deciding.configuration, gates, make);
  what_if.options.now = now;
  what_if.object = {std::string(answer.string_at("namespace")), std::string(answer.string_at("name"))};
  what_if.documents = TRY(cluster_documents(
      {[&](const std::string& path) { return api.get(path); }, [&] { return api.bytes_read(); }}));
  return decided.put(std::move(what_if), answer);
}

Result<Json> ask(const ExplainCommand& command, api::Kind kind, const Clock& clock,
                 const placement::MakePlugins& make) {
  client::ClusterAccess access =
      TRY(client::read_kubeconfig(command.kubeconfig, "", client::KubeEnvironment::of_process()));
  const std::string ns = command.ns.empty() ? access.ns : command.ns;
  ServerCalls api = TRY(ServerCalls::open(std::move(access), "explain", clock));
  std::optional<ServerCalls> own;
  if (!command.server.empty()) {
    client::ClusterAccess component;
    component.server = command.server;
    while (component.server.ends_with('/')) component.server.pop_back();
    own = TRY(ServerCalls::open(std::move(component), "explain", clock));
  }
  ServerCalls& decisions = own ? *own : api;
  const explain::PageReaders read{[&](const std::string& path) { return api.get(path); },
                                  [&](const std::string& path) { return decisions.get(path); }};
  Json answer = TRY(explain::answer({kind, ns, command.name}, read, clock.now()));
  if (const Decided* decided = decided_about(answer))
    if (const Status put = decide_live(*decided, api, decisions, clock.now(), make, answer); !put)
      add_note(answer, "There are no " + std::string(decided->what) + ": " + put.error().text());
  return answer;
}

explain::Colour colour_wanted() {
  return ::isatty(STDOUT_FILENO) != 0 && !std::getenv("NO_COLOR") ? explain::Colour::Yes
                                                                  : explain::Colour::No;
}

std::string shown(const ExplainCommand& command, api::Kind kind, const Json& explanation) {
  if (command.output == "json") return to_pretty_string(explanation) + "\n";
  if (command.output == "yaml") return api::to_yaml(explanation);
  if (command.output == "name") return (kind == api::Kind::Pod ? "pod/" : "podgroup/") + command.name + "\n";
  const explain::Detail detail = command.output == "wide" ? explain::Detail::Wide : explain::Detail::Table;
  return explain::explanation_text(explanation, detail, colour_wanted());
}

// 1 when the object does not exist.
int run_explain(const ExplainCommand& command, const placement::MakePlugins& make) {
  const auto* row = std::find_if(std::begin(kKinds), std::end(kKinds),
                                 [&](const KindWord& known) { return known.word == command.kind; });
  if (row == std::end(kKinds)) {
    std::fprintf(stderr, "berth: explain: \"%s\" is neither pod nor podgroup\n", command.kind.c_str());
    return 2;
  }
  const SystemClock clock;
  const Result<Json> explanation = ask(command, row->kind, clock, make);
  if (!explanation) return complain(explanation.error()), 1;
  std::fputs(shown(command, row->kind, *explanation).c_str(), stdout);
  return 0;
}

}  // namespace

void add_explain(CLI::App& app, Commands& commands, const placement::MakePlugins& make) {
  CLI::App* explain =
      app.add_subcommand("explain", "explain why a pod or a group waits, or how it was placed");
  auto asked = std::make_shared<ExplainCommand>();
  explain->add_option("kind", asked->kind, "pod or podgroup")->required();
  explain->add_option("name", asked->name, "its name")->required();
  explain->add_option("-n,--namespace", asked->ns, "default: the kubeconfig's");
  explain->add_option("--kubeconfig", asked->kubeconfig, "file; default: as kubectl");
  explain->add_option("--server", asked->server,
                      "URL of a scheduler's status server, if the API server is not Berth's");
  explain->add_option("-o,--output", asked->output, "table, wide, json, yaml or name")
      ->check(CLI::IsMember({"table", "wide", "json", "yaml", "name"}));
  add_tool(explain, commands, [asked, make] { return run_explain(*asked, make); });
}

}  // namespace berth::cli
