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
#include "cli/server_calls.h"
#include "client/api_path.h"
#include "client/kubeconfig.h"
#include "dra/cel_selectors.h"
#include "explain/explanation.h"
#include "explain/question.h"
#include "placement/refusal/berth_words.h"
#include "planning/remedies.h"

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

// Every object that a decision reads. Refuses where one of the kinds may not be listed.
Result<std::vector<planning::Document>> cluster_documents(ServerCalls& api) {
  std::vector<planning::Document> documents;
  for (std::size_t at = 0; at < api::kTypedKindCount; ++at) {
    const auto kind = static_cast<api::Kind>(at);
    if (kind == api::Kind::Lease) continue;
    const Json list = TRY(api.get(
        client::path_of({.verb = client::Verb::Get, .resource = api::ref_of(kind), .ns = "", .name = ""})));
    for (const Json& object : list.items_at("items")) documents.push_back({kind, object});
  }
  return documents;
}

// Paid for only when somebody asks: the objects are read once and the remedies tried here.
void put_remedies(Json& answer, ServerCalls& api, Time now) {
  Result<std::vector<planning::Document>> documents = cluster_documents(api);
  if (!documents) {
    answer["note"] = "No remedies were looked for: " + documents.error().text();
    return;
  }
  const api::Gates gates(api::GateDefaults::Up);
  planning::PlanOptions options;
  options.now = now;
  options.gates = &gates;
  options.device_gates = dra::gates_of(gates);
  dra::CelSelectors selectors;
  const client::NamedKey pod{std::string(answer.string_at("namespace")),
                             std::string(answer.string_at("name"))};
  const auto remedies = planning::find_remedies(*std::move(documents), pod, options, selectors);
  if (!remedies || remedies->empty()) return;
  JsonArray& rows = (answer["remedies"] = Json::array()).as_array();
  for (const placement::Remedy& remedy : *remedies)
    rows.push_back(Json::object({{"kind", placement::name_of(remedy.kind)},
                                 {"node", remedy.node},
                                 {"text", placement::words_of(remedy)}}));
}

Result<Json> ask(const ExplainCommand& command, api::Kind kind, const Clock& clock) {
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
  if (kind == api::Kind::Pod && answer.string_at("state") == "Unschedulable")
    put_remedies(answer, api, clock.now());
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
int run_explain(const ExplainCommand& command) {
  const auto* row = std::find_if(std::begin(kKinds), std::end(kKinds),
                                 [&](const KindWord& known) { return known.word == command.kind; });
  if (row == std::end(kKinds)) {
    std::fprintf(stderr, "berth: explain: \"%s\" is neither pod nor podgroup\n", command.kind.c_str());
    return 2;
  }
  const SystemClock clock;
  const Result<Json> explanation = ask(command, row->kind, clock);
  if (!explanation) return complain(explanation.error()), 1;
  std::fputs(shown(command, row->kind, *explanation).c_str(), stdout);
  return 0;
}

}  // namespace

void add_explain(CLI::App& app, Commands& commands) {
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
  add_tool(explain, commands, [asked] { return run_explain(*asked); });
}

}  // namespace berth::cli
