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
#include "cli/complain.h"
#include "cli/configuration_page.h"
#include "cli/live_what_if.h"
#include "cli/plan_input.h"
#include "cli/server_calls.h"
#include "cli/what_if_answer.h"
#include "client/kubeconfig.h"
#include "explain/explanation.h"
#include "planning/offline_cluster.h"
#include "planning/workload_pods.h"

namespace berth::cli {
namespace {

struct ExplainCommand {
  std::string kind;  // pod, podgroup or compositepodgroup, or kubectl's short names for them
  std::string name;
  std::string ns;          // empty: the kubeconfig's
  std::string kubeconfig;  // empty: the same search as kubectl's
  std::string server;      // serves the scheduler's record; empty: the API server
  std::string output = "table";
  std::vector<std::string> files;  // empty: a live cluster
  std::string config;              // with files: of the scheduler; empty: the defaults of `up`
  std::string feature_gates;       // with files
};

struct KindWord {
  std::string_view word;
  api::Kind kind;
};
constexpr KindWord kKinds[] = {
    {"pod", api::Kind::Pod},
    {"pods", api::Kind::Pod},
    {"po", api::Kind::Pod},
    {"podgroup", api::Kind::PodGroup},
    {"podgroups", api::Kind::PodGroup},
    {"compositepodgroup", api::Kind::CompositePodGroup},
    {"compositepodgroups", api::Kind::CompositePodGroup},
};

// About objects in files.
Result<Json> ask_files(const ExplainCommand& command, api::Kind kind, const placement::MakePlugins& make) {
  const Configuration configuration =
      TRY(offline_configuration({command.config, command.feature_gates, ""}, make));
  const api::Gates gates = gates_of(Component::Up, configuration);
  WhatIfQuestion asked{{kind, command.ns.empty() ? "default" : command.ns, command.name},
                       {},
                       plan_options(configuration, gates, make)};
  ManifestFiles sources = TRY(manifest_files(command.files, FolderDepth::Top));
  for (const std::string& note : sources.notes) tell(note);
  ManifestSelection read = TRY(read_served_manifests(sources.files, gates));
  PlanInput input = TRY(plan_input(std::move(read), gates, asked.options.now));
  for (const std::string& warning : input.warnings) tell("warning: " + warning);
  const Time now = planning::now_of(input.documents, asked.options);
  planning::WorkloadPods made = TRY(planning::with_workload_pods(std::move(input.documents), now));
  for (const std::string& note : made.notes) tell(note);
  asked.documents = std::move(made.documents);
  return answer_offline(std::move(asked));
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
  const explain::Question question{kind, ns, command.name};
  Json answer = TRY(explain::answer(question, read, clock.now()));
  add_live_what_if(api, read.decisions, question, clock.now(), make, answer);
  return answer;
}

explain::Colour colour_wanted() {
  return ::isatty(STDOUT_FILENO) != 0 && !std::getenv("NO_COLOR") ? explain::Colour::Yes
                                                                  : explain::Colour::No;
}

std::string_view word_of(api::Kind kind) {
  const auto* row = std::find_if(std::begin(kKinds), std::end(kKinds),
                                 [&](const KindWord& known) { return known.kind == kind; });
  return row->word;
}

std::string shown(const ExplainCommand& command, api::Kind kind, const Json& explanation) {
  if (command.output == "json") return to_pretty_string(explanation) + "\n";
  if (command.output == "yaml") return api::to_yaml(explanation);
  if (command.output == "name") return std::string(word_of(kind)) + "/" + command.name + "\n";
  const explain::Detail detail = command.output == "wide" ? explain::Detail::Wide : explain::Detail::Table;
  return explain::explanation_text(explanation, detail, colour_wanted());
}

// 1 when the object does not exist.
int run_explain(const ExplainCommand& command, const placement::MakePlugins& make) {
  const auto* row = std::find_if(std::begin(kKinds), std::end(kKinds),
                                 [&](const KindWord& known) { return known.word == command.kind; });
  if (row == std::end(kKinds)) {
    std::fprintf(stderr, "berth: explain: \"%s\" is none of pod, podgroup, compositepodgroup\n",
                 command.kind.c_str());
    return 2;
  }
  const SystemClock clock;
  const Result<Json> explanation =
      command.files.empty() ? ask(command, row->kind, clock, make) : ask_files(command, row->kind, make);
  if (!explanation) return complain(explanation.error()), 1;
  std::fputs(shown(command, row->kind, *explanation).c_str(), stdout);
  return 0;
}

}  // namespace

void add_explain(CLI::App& app, Commands& commands, const placement::MakePlugins& make) {
  CLI::App* explain =
      app.add_subcommand("explain", "explain why a pod or a group waits, or how it was placed");
  auto asked = std::make_shared<ExplainCommand>();
  explain->add_option("kind", asked->kind, "pod, podgroup or compositepodgroup")->required();
  explain->add_option("name", asked->name, "its name")->required();
  explain->add_option("-n,--namespace", asked->ns, "default: the kubeconfig's");
  explain->add_option("--kubeconfig", asked->kubeconfig, "file; default: as kubectl");
  explain->add_option("--server", asked->server,
                      "URL of a scheduler's status server, if the API server is not Berth's");
  explain->add_option("-f,--file", asked->files,
                      "objects to ask instead of a cluster: a file, a folder or -");
  explain->add_option("--config", asked->config,
                      "with -f: a BerthConfiguration and a KubeSchedulerConfiguration, as for berth up");
  explain->add_option("--feature-gates", asked->feature_gates,
                      "with -f: A=true,B=false, with Kubernetes' gate names");
  explain->add_option("-o,--output", asked->output, "table, wide, json, yaml or name")
      ->check(CLI::IsMember({"table", "wide", "json", "yaml", "name"}));
  add_tool(explain, commands, [asked, make] { return run_explain(*asked, make); });
}

}  // namespace berth::cli
