#include "cli/plan_command.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>

#include "api/yaml_write.h"
#include "cli/complain.h"
#include "cli/configuration_page.h"
#include "cli/told_input.h"
#include "cli/what_if_changes.h"
#include "dra/cel_selectors.h"
#include "planning/comparison.h"
#include "planning/defragmentation.h"

namespace berth::cli {
namespace {

struct PlanCommand {
  std::vector<std::string> files;
  bool recursive = false;
  std::string output = "table";   // table, json or yaml
  std::string verdicts = "none";  // none, summary or all
  std::string now;                // RFC 3339; empty: the newest timestamp of the input
  std::uint64_t seed = 0;
  std::string config;                // file; empty: the defaults of `up`
  std::string device_scoring;        // a name of dra::kDeviceScorings; empty: the configuration's
  std::string feature_gates;         // after the configuration's
  std::vector<std::string> what_if;  // changes, in their order
  bool compare = false;              // decide about placed pods instead
  bool defragment = false;           // moves of placed pods instead
  std::string level;                 // of the domains that moves make whole; empty: the topology's
  placement::DefragmentationLimits limits = {};
  double ratio = static_cast<double>(limits.ratio_min) / placement::kRatioUnit;
};

// Larger ones could not be met: no domain has so many devices.
constexpr double kRatioMost = 1'000'000;

planning::Verdicts verdicts_of(const std::string& name) {
  if (name == "all") return planning::Verdicts::All;
  return name == "summary" ? planning::Verdicts::Summary : planning::Verdicts::None;
}

void print(const planning::Plan& plan, const PlanCommand& command) {
  const planning::Verdicts verdicts = verdicts_of(command.verdicts);
  if (command.output == "yaml") {
    for (const Json& object : plan.objects) std::printf("---\n%s", api::to_yaml(object).c_str());
  } else if (command.output == "json") {
    std::printf("%s\n", to_pretty_string(planning::to_json(plan, verdicts)).c_str());
  } else {
    std::fputs(planning::to_table(plan, verdicts).c_str(), stdout);
  }
}

// As JSON, YAML or a table.
template <class Answer>
void print_answer(const Answer& answer, const std::string& output) {
  const std::string text = output == "json"   ? to_pretty_string(planning::to_json(answer)) + "\n"
                           : output == "yaml" ? api::to_yaml(planning::to_json(answer))
                                              : planning::to_table(answer);
  std::fputs(text.c_str(), stdout);
}

// 1: Berth would not place some pod where it is.
int run_comparison(const PlanCommand& command, std::vector<planning::Document> documents,
                   const planning::PlanOptions& options) {
  dra::CelSelectors selectors;
  const auto pods = planning::compare_placements(std::move(documents), options, selectors);
  if (!pods) return complain(pods.error()), 1;
  print_answer(*pods, command.output);
  return std::ranges::any_of(
      *pods, [](const planning::ComparedPod& pod) { return pod.agreement == planning::Agreement::Refused; });
}

// 0 with and without moves: both are an answer.
int run_defragmentation(const PlanCommand& command, std::vector<planning::Document> documents,
                        const planning::PlanOptions& options) {
  planning::DefragmentationOptions asked{command.level, command.limits};
  if (!(command.ratio >= 0 && command.ratio <= kRatioMost))
    return complain(Error(ErrorCode::Invalid, "--ratio", "is a number from 0 to 1000000"));
  asked.limits.ratio_min = std::llround(command.ratio * placement::kRatioUnit);
  dra::CelSelectors selectors;
  const auto plan = planning::plan_defragmentation(std::move(documents), options, asked, selectors);
  if (!plan) return complain(plan.error());
  for (const std::string& note : plan->notes) tell(note);
  print_answer(*plan, command.output);
  return 0;
}

int run_plan(const PlanCommand& command, const placement::MakePlugins& plugins) {
  const Result<Configuration> configuration =
      offline_configuration({command.config, command.feature_gates, command.device_scoring}, plugins);
  if (!configuration) return complain(configuration.error());
  for (const std::string& note : configuration->kube_scheduler.notes) tell("note: " + note);
  const api::Gates gates = gates_of(Component::Up, *configuration);
  planning::PlanOptions options = plan_options(*configuration, gates, plugins);
  if (!command.now.empty()) {
    const Result<Time> now = parse_time(command.now);
    if (!now) return complain(Error(ErrorCode::Invalid, "--now", "is no RFC 3339 time: " + command.now));
    options.now = *now;
  }
  options.seed = command.seed;
  options.verdicts = verdicts_of(command.verdicts);
  options.objects = command.output == "yaml";
  options.workloads = true;

  Result<std::vector<planning::Document>> documents = told_documents(
      command.files, command.recursive ? FolderDepth::Recursive : FolderDepth::Top, gates, options.now);
  if (!documents) return complain(documents.error()), 1;
  if (command.compare) return run_comparison(command, *std::move(documents), options);
  if (command.defragment) return run_defragmentation(command, *std::move(documents), options);
  Result<WhatIfChanges> what_if = what_if_changes(command.what_if, gates, options.now);
  if (!what_if) return complain(what_if.error());
  for (const std::string& warning : what_if->warnings) tell("warning: " + warning);
  dra::CelSelectors selectors;
  const Result<planning::Plan> plan =
      what_if->changes.empty()
          ? planning::make_plan(*std::move(documents), options, selectors)
          : planning::make_what_if(*std::move(documents), what_if->changes, options, selectors);
  if (!plan) return complain(plan.error()), 1;
  for (const std::string& note : plan->notes) tell(note);
  print(*plan, command);
  return plan->complete() ? 0 : 1;
}

void add_defragmentation(CLI::App& command, PlanCommand& plan) {
  CLI::Option* defragment =
      command.add_flag("--defragment", plan.defragment,
                       "find moves of pods that free whole domains, and the pods that then fit");
  const auto add = [&](const char* flag, auto& value, const char* help) {
    return command.add_option(flag, value, help)->needs(defragment)->capture_default_str();
  };
  add("--level", plan.level, "level of the Topology default, or a node label, whose domains are freed");
  add("--moves", plan.limits.moves_max, "at most so many pods move")->check(CLI::Range(1, 10'000));
  add("--moves-per-domain", plan.limits.moves_per_domain_max, "at most so many pods of one domain move")
      ->check(CLI::Range(1, 10'000));
  add("--domains", plan.limits.domains_max, "pods leave at most so many domains")
      ->check(CLI::Range(1, 10'000));
  add("--ratio", plan.ratio, "least number of devices gained for each device moved");
  defragment->excludes("--compare")->excludes("--what-if")->excludes("--verdicts");
}

}  // namespace

void add_plan(CLI::App& app, Commands& commands, const placement::MakePlugins& plugins) {
  CLI::App* command =
      app.add_subcommand("plan", "decide for files: where every pending pod would go, and why not");
  auto plan = std::make_shared<PlanCommand>();
  command->add_option("-f,--file", plan->files, "objects: a file, a folder or -")->required();
  command->add_flag("-R,--recursive", plan->recursive, "read the folders inside a folder too");
  command->add_option("-o,--output", plan->output, "table, json or yaml")
      ->check(CLI::IsMember({"table", "json", "yaml"}));
  command->add_option("--verdicts", plan->verdicts, "none, summary or all: judge every node for every pod")
      ->check(CLI::IsMember({"none", "summary", "all"}));
  command->add_option("--now", plan->now, "RFC 3339; default: the newest timestamp of the input");
  command->add_option("--config", plan->config,
                      "a BerthConfiguration and a KubeSchedulerConfiguration, as for berth up");
  std::vector<std::string> scorings;
  for (const dra::DeviceScoringName& row : dra::kDeviceScorings) scorings.emplace_back(row.name);
  command
      ->add_option("--device-scoring", plan->device_scoring,
                   "which of several allocations on a node: " + dra::device_scoring_names())
      ->check(CLI::IsMember(scorings));
  command->add_flag("--compare", plan->compare,
                    "decide each pod that has a node again, and compare the nodes");
  command->add_option("--seed", plan->seed, "seed of the ids of device shares");
  command->add_option("--feature-gates", plan->feature_gates, "A=true,B=false, with Kubernetes' gate names");
  command
      ->add_option(
          "--what-if", plan->what_if,
          "a change of the input; repeatable, in order: add=FILE, remove=KIND/[NS/]NAME, cordon=NODE, "
          "scale=KIND/NS/NAME:N, preempt=on|off")
      ->allow_extra_args(false);
  add_defragmentation(*command, *plan);
  add_tool(command, commands, [plan, plugins] { return run_plan(*plan, plugins); });
}

}  // namespace berth::cli
