#include "cli/topology_command.h"

#include <CLI/CLI.hpp>

#include <cstdio>
#include <memory>

#include "api/decode.h"
#include "api/gates.h"
#include "api/kind_rules.h"
#include "api/kinds.h"
#include "api/yaml_write.h"
#include "base/clock.h"
#include "base/printable.h"
#include "cli/complain.h"
#include "cli/manifests.h"
#include "cli/server_calls.h"
#include "cli/topology_sources.h"
#include "client/kubeconfig.h"
#include "dra/cel_check.h"
#include "install/apply.h"
#include "install/objects.h"
#include "planning/text_rows.h"

namespace berth::cli {
namespace {

struct TopologyCommand {
  std::vector<std::string> files;  // empty: a live cluster
  std::string kubeconfig;          // empty: the same search as kubectl's
  std::string output = "table";
  std::string name = std::string(api::kDefaultTopology);
  std::string source;               // empty: the one with the fewest unlabelled nodes
  std::vector<std::string> levels;  // NAME=LABEL; empty: the labels that are known
  bool write = false;
};

using Nodes = std::vector<api::Node>;

// Of several documents about one node the last one counts.
Result<Nodes> nodes_of_files(const TopologyCommand& command) {
  const api::Gates gates(api::GateDefaults::Up);
  const ManifestFiles sources = TRY(manifest_files(command.files, FolderDepth::Top));
  for (const std::string& note : sources.notes) tell(note);
  ManifestSelection read = TRY(read_served_manifests(sources.files, gates));
  Nodes nodes;
  for (const Manifest& manifest : read.manifests)
    if (manifest.resource->kind == "Node") nodes.push_back(api::decode_node(manifest.object, nullptr));
  return nodes;
}

Result<Nodes> nodes_of_cluster(ServerCalls& server) {
  const JsonArray items = TRY(install::list_json(
      [&](client::HttpFetch fetch) { return server.call(std::move(fetch)); }, "/api/v1/nodes"));
  Nodes nodes;
  for (const Json& item : items) nodes.push_back(api::decode_node(item, nullptr));
  return nodes;
}

Result<std::vector<placement::WishLevel>> levels_given(const TopologyCommand& command) {
  std::vector<placement::WishLevel> levels;
  for (const std::string& text : command.levels) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
      return Error(ErrorCode::Invalid, "--level",
                   "\"" + text + "\": write NAME=LABEL, like rack=example.com/rack");
    levels.push_back({text.substr(0, equals), text.substr(equals + 1)});
  }
  return levels;
}

Json topology_object(const TopologyCommand& command, const FoundHierarchy& hierarchy) {
  Json levels = Json::array();
  for (const FoundLevel& found : hierarchy.levels)
    levels.as_array().push_back(Json::object({{"name", found.level.name}, {"nodeLabel", found.level.key}}));
  return Json::object({{"apiVersion", api::ref_of(api::Kind::Topology).api_version()},
                       {"kind", "Topology"},
                       {"metadata", Json::object({{"name", command.name}})},
                       {"spec", Json::object({{"levels", std::move(levels)}})}});
}

// The rules of the API server.
Status check_topology(const Json& object) {
  const api::Gates gates(api::GateDefaults::Up);
  const api::RuleContext ctx{gates, dra::check_cel, Time(), "berth-topology", {}, {}};
  const api::KindInfo& info = api::info_of(api::Kind::Topology);
  const api::FieldErrors errors = api::rules_of(info.group, info.resource).validate_create(object, ctx);
  return errors.empty() ? Status() : Error(ErrorCode::Invalid, "topology", api::to_text(errors));
}

Json hierarchy_json(const FoundHierarchy& hierarchy) {
  Json levels = Json::array();
  for (const FoundLevel& found : hierarchy.levels)
    levels.as_array().push_back(Json::object({{"name", found.level.name},
                                              {"nodeLabel", found.level.key},
                                              {"domains", found.domains},
                                              {"nodes", found.nodes},
                                              {"unlabelled", hierarchy.survey.nodes - found.nodes}}));
  Json json = Json::object({{"source", hierarchy.source},
                            {"levels", std::move(levels)},
                            {"nodes", hierarchy.survey.nodes},
                            {"unlabelledNodes", hierarchy.survey.unlabelled}});
  if (!hierarchy.survey.valid()) json["message"] = hierarchy.survey.message;
  return json;
}

std::string table_text(const std::vector<FoundHierarchy>& hierarchies, const FoundHierarchy& chosen,
                       const TopologyCommand& command) {
  std::vector<planning::TextRow> rows = {{"SOURCE", "LEVEL", "LABEL", "DOMAINS", "NODES", "UNLABELLED"}};
  for (const FoundHierarchy& hierarchy : hierarchies)
    for (const FoundLevel& found : hierarchy.levels)
      rows.push_back({hierarchy.source, found.level.name, found.level.key, std::to_string(found.domains),
                      std::to_string(found.nodes), std::to_string(hierarchy.survey.nodes - found.nodes)});
  std::string text;
  planning::append_table(text, std::move(rows));
  if (!chosen.survey.valid())
    text += "\n" + chosen.source + ": " + printable_line(chosen.survey.message) + "\n";
  if (command.write) return text;
  return text + "\nTopology " + command.name + " from " +
         (command.levels.empty() ? chosen.source : "--level") +
         ": `-o yaml` prints it, `--write` creates or updates it.\n";
}

Result<const FoundHierarchy*> choose(const std::vector<FoundHierarchy>& found, const TopologyCommand& command,
                                     std::size_t nodes) {
  if (found.empty())
    return Error(ErrorCode::NotFound, "topology",
                 "none of " + std::to_string(nodes) + (nodes == 1 ? " node" : " nodes") +
                     " has a topology label that is known (" + source_names() +
                     "): name your own labels with --level NAME=LABEL");
  if (command.source.empty()) return &found.front();
  for (const FoundHierarchy& one : found)
    if (one.source == command.source) return &one;
  std::string names;
  for (const FoundHierarchy& one : found) names.append(names.empty() ? "" : ", ").append(one.source);
  return Error(ErrorCode::NotFound, "--source",
               "no node has labels of " + command.source + "; found: " + names);
}

Status show(const TopologyCommand& command, const Nodes& nodes, ServerCalls* server) {
  std::vector<placement::LabelledNode> labelled;
  for (const api::Node& node : nodes) labelled.push_back({node.meta.name, &node.meta.labels});
  const std::vector<placement::WishLevel> levels = TRY(levels_given(command));
  const std::vector<FoundHierarchy> found =
      levels.empty() ? find_hierarchies(labelled) : std::vector{given_hierarchy(levels, labelled)};
  const FoundHierarchy* chosen = TRY(choose(found, command, nodes.size()));
  const Json object = topology_object(command, *chosen);
  TRY(check_topology(object));
  if (command.output == "yaml") {
    std::fputs(api::to_yaml(object).c_str(), stdout);
  } else if (command.output == "json") {
    Json hierarchies = Json::array();
    for (const FoundHierarchy& one : found) hierarchies.as_array().push_back(hierarchy_json(one));
    const Json all = Json::object({{"hierarchies", std::move(hierarchies)}, {"topology", object}});
    std::printf("%s\n", to_pretty_string(all).c_str());
  } else {
    std::fputs(table_text(found, *chosen, command).c_str(), stdout);
  }
  if (!command.write) return {};
  const install::Applied applied = TRY(
      install::apply_object([&](client::HttpFetch fetch) { return server->call(std::move(fetch)); }, object));
  tell("topology.scheduling.berth.dev/" + command.name + " " + std::string(install::name_of(applied.change)));
  return {};
}

Status run(const TopologyCommand& command) {
  const bool live = command.files.empty() || command.write;
  const SystemClock clock;
  std::optional<ServerCalls> server;
  if (live)
    server = TRY(ServerCalls::open(
        TRY(client::read_kubeconfig(command.kubeconfig, "", client::KubeEnvironment::of_process())),
        "topology", clock));
  const Nodes nodes = TRY(command.files.empty() ? nodes_of_cluster(*server) : nodes_of_files(command));
  return show(command, nodes, server ? &*server : nullptr);
}

}  // namespace

void add_topology(CLI::App& app, Commands& commands) {
  CLI::App* topology =
      app.add_subcommand("topology", "find the topology labels of nodes, and make the Topology object");
  auto given = std::make_shared<TopologyCommand>();
  topology->add_option("-f,--file", given->files, "nodes instead of a cluster: a file, a folder or -");
  topology->add_option("--kubeconfig", given->kubeconfig, "file; default: as kubectl");
  topology->add_option("-o,--output", given->output, "table, yaml (the Topology) or json")
      ->check(CLI::IsMember({"table", "yaml", "json"}));
  topology->add_flag("--write", given->write, "create or update the Topology in the cluster");
  topology->add_option("--name", given->name, "name of the Topology")->capture_default_str();
  topology->add_option("--source", given->source,
                       "the labels to use, if nodes have several kinds: " + source_names());
  topology
      ->add_option(
          "--level", given->levels,
          "NAME=LABEL, repeatable, the broadest first: your own labels instead of those that are known")
      ->allow_extra_args(false);
  add_tool(topology, commands, [given] {
    const Status done = run(*given);
    return done ? 0 : (complain(done.error()), 1);
  });
}

}  // namespace berth::cli
