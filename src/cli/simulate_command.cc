#include "cli/simulate_command.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <numeric>
#include <thread>

#include "cli/complain.h"
#include "cli/configuration_page.h"
#include "cli/scenario_file.h"
#include "cli/simulate_questions.h"
#include "cli/told_input.h"
#include "cli/trace_file.h"
#include "planning/expected_start.h"
#include "planning/offline_cluster.h"
#include "planning/workload_pods.h"
#include "simulate/runs.h"

namespace berth::cli {
namespace {

constexpr std::size_t kThreadsMax = 256;

struct SimulateCommand {
  std::string scenario;
  std::vector<std::string> files;  // objects from the start
  std::string arrivals;            // a Scenario without nodes
  std::string openb_nodes, openb_pods;
  double load = 1.0;
  std::uint64_t seed = 1;
  std::uint64_t seeds = 0;  // not 0: the seeds 1 to this
  std::string policy = "default";
  bool list_policies = false;
  std::size_t threads = 0;  // 0: as many as the machine has
  std::string output = "table";
  std::string config;
  std::string feature_gates;
  QuestionFlags questions;
  bool has_question() const { return questions.asks() || questions.changes_start(); }
};

Error wrong_flag(const std::string& flag, const std::string& why) {
  return Error(ErrorCode::Invalid, flag, why);
}

// Where the script comes from: exactly one of three forms.
Status check_input(const SimulateCommand& command) {
  const bool trace = !command.openb_nodes.empty() || !command.openb_pods.empty();
  const bool objects = !command.files.empty() || !command.arrivals.empty();
  const int forms = !command.scenario.empty() + trace + objects;
  if (forms != 1)
    return wrong_flag("--scenario", std::string(forms == 0 ? "no input is given" : "two inputs are given") +
                                        ": use --scenario FILE, or -f with --arrivals, or --openb-nodes "
                                        "with --openb-pods");
  if (trace && command.openb_nodes.empty()) return wrong_flag("--openb-nodes", "is missing: the node list");
  if (trace && command.openb_pods.empty()) return wrong_flag("--openb-pods", "is missing: the pod list");
  if (objects && command.files.empty()) return wrong_flag("-f", "is missing: the objects at the start");
  if (objects && command.arrivals.empty() && !command.has_question())
    return wrong_flag("--arrivals", "is missing: what arrives, or a question such as --fit");
  TRY(check_questions(command.questions));
  if (command.questions.asks() && command.seeds > 0)
    return wrong_flag("--seeds", "a question has one answer: use --seed");
  if (!(command.load > 0) || command.load > simulate::kDrawLoadMax)
    return wrong_flag("--load", "wants a number above 0 and up to 100");
  if (command.threads > kThreadsMax)
    return wrong_flag("--threads", "is out of range: at most " + std::to_string(kThreadsMax));
  return {};
}

Result<std::vector<const simulate::Policy*>> policies_of(const std::string& names) {
  std::vector<const simulate::Policy*> chosen;
  for (std::size_t from = 0; from <= names.size();) {
    const std::size_t to = std::min(names.find(',', from), names.size());
    const std::string name = names.substr(from, to - from);
    const simulate::Policy* policy = simulate::find_policy(name);
    if (!policy)
      return wrong_flag("--policy",
                        "\"" + name + "\" is no policy: " + simulate::policy_names() + " are known");
    if (std::ranges::find(chosen, policy) != chosen.end())
      return wrong_flag("--policy", "names \"" + name + "\" twice");
    chosen.push_back(policy);
    from = to + 1;
  }
  return chosen;
}

Result<simulate::MakeScript> scenario_script(const SimulateCommand& command, const api::Gates& gates) {
  std::vector<planning::Document> objects;
  if (!command.files.empty()) objects = TRY(told_documents(command.files, FolderDepth::Top, gates, Time()));
  if (command.scenario.empty() && command.arrivals.empty()) {
    auto start = std::make_shared<simulate::Script>();
    start->objects = std::move(objects);
    return simulate::MakeScript([start](std::uint64_t) -> Result<simulate::Script> { return *start; });
  }
  const std::string& file = command.scenario.empty() ? command.arrivals : command.scenario;
  auto scenario = std::make_shared<const Scenario>(TRY(read_scenario(file, gates, std::move(objects))));
  for (const std::string& warning : scenario->warnings) tell("warning: " + warning);
  return simulate::MakeScript([scenario](std::uint64_t seed) { return script_of(*scenario, seed); });
}

Result<simulate::MakeScript> trace_script(const SimulateCommand& command) {
  auto trace = std::make_shared<simulate::Trace>();
  trace->nodes =
      TRY(simulate::read_trace_nodes(TRY(read_trace_file(command.openb_nodes)), command.openb_nodes));
  trace->tasks =
      TRY(simulate::read_trace_tasks(TRY(read_trace_file(command.openb_pods)), command.openb_pods));
  return simulate::MakeScript([trace, load = command.load](std::uint64_t seed) -> Result<simulate::Script> {
    simulate::Script script;
    simulate::add_nodes(*trace, script);
    TRY(simulate::add_drawn_arrivals(*trace, {load, seed}, script));
    return script;
  });
}

int list_policies() {
  for (const simulate::Policy& policy : simulate::policies())
    std::printf("%-18s %s\n", std::string(policy.name).c_str(), std::string(policy.sentence).c_str());
  return 0;
}

// Policies, seeds and threads.
Result<simulate::RunPlan> run_plan_of(const SimulateCommand& command) {
  simulate::RunPlan plan;
  plan.policies = TRY(policies_of(command.policy));
  if (command.questions.asks() && plan.policies.size() > 1)
    return wrong_flag("--policy", "a question has one answer: name one policy");
  plan.seeds.assign(1, command.seed);
  if (command.seeds > 0) {
    if (command.seeds > simulate::kRunsMax / plan.policies.size())
      return wrong_flag("--seeds", "gives more than " + std::to_string(simulate::kRunsMax) + " runs");
    plan.seeds.resize(command.seeds);
    std::iota(plan.seeds.begin(), plan.seeds.end(), std::uint64_t{1});
  }
  plan.threads = command.threads > 0 ? command.threads : std::max(1u, std::thread::hardware_concurrency());
  return plan;
}

// With the first policy and seed of the plan; the runs that follow begin with what the questions change.
Result<QuestionAnswers> answers_of(const SimulateCommand& command, const simulate::RunPlan& plan,
                                   simulate::MakeScript& make_script) {
  planning::PlanOptions options = plan.options;
  options.seed = plan.seeds.front();
  plan.policies.front()->apply(options, options.seed);
  simulate::Script script = TRY(make_script(options.seed));
  const simulate::StartChanges changes = TRY(start_changes(command.questions, script, options));
  if (command.questions.changes_start())
    make_script = [make = make_script, changes](std::uint64_t seed) -> Result<simulate::Script> {
      return simulate::changed(TRY(make(seed)), changes);
    };
  const Time now = planning::now_of(script.objects, options);
  planning::WorkloadPods made = TRY(planning::with_workload_pods(std::move(script.objects), now));
  for (const std::string& note : made.notes) tell(note);
  script.objects = std::move(made.documents);
  planning::inherit_expected_durations(script.objects);
  return answer_questions(command.questions, changes, script, options);
}

int print(const SimulateCommand& command, const QuestionAnswers& answers,
          const std::vector<simulate::Run>& runs) {
  if (command.output == "json") {
    Json json = answers.json;
    const Json figures = runs.empty() ? Json::object() : simulate::to_json(runs);
    for (const JsonMember& member : figures.as_object()) json[member.key] = member.value;
    std::fputs((to_pretty_string(json) + "\n").c_str(), stdout);
    return 0;
  }
  std::fputs(answers.table.c_str(), stdout);
  if (runs.empty()) return 0;
  std::fputs(((answers.table.empty() ? "" : "\n") + simulate::to_table(runs)).c_str(), stdout);
  return 0;
}

// Whether anything happens over time that nobody answers with a number of its own.
Result<bool> wants_runs(const SimulateCommand& command, const simulate::RunPlan& plan,
                        const simulate::MakeScript& make_script) {
  if (command.questions.asks()) return false;
  if (!command.has_question()) return true;
  const simulate::Script script = TRY(make_script(plan.seeds.front()));
  return !script.arrivals.empty();
}

int run_simulate(const SimulateCommand& command, const placement::MakePlugins& plugins) {
  if (command.list_policies) return list_policies();
  if (const Status checked = check_input(command); !checked) return complain(checked.error()), 2;
  Result<simulate::RunPlan> plan = run_plan_of(command);
  if (!plan) return complain(plan.error()), 2;
  const Result<Configuration> configuration =
      offline_configuration({command.config, command.feature_gates, ""}, plugins);
  if (!configuration) return complain(configuration.error());
  const api::Gates gates = gates_of(Component::Up, *configuration);
  plan->options = plan_options(*configuration, gates, plugins);
  Result<simulate::MakeScript> script =
      command.openb_nodes.empty() ? scenario_script(command, gates) : trace_script(command);
  if (!script) return complain(script.error()), 1;
  QuestionAnswers answers;
  if (command.has_question()) {
    Result<QuestionAnswers> answered = answers_of(command, *plan, *script);
    if (!answered) return complain(answered.error());
    answers = *std::move(answered);
  }
  const Result<bool> runs_too = wants_runs(command, *plan, *script);
  if (!runs_too) return complain(runs_too.error()), 1;
  if (!*runs_too) return print(command, answers, {});
  const Result<std::vector<simulate::Run>> runs = simulate::simulate_all(*plan, *script);
  if (!runs) return complain(runs.error()), 1;
  return print(command, answers, *runs);
}

}  // namespace

void add_simulate(CLI::App& app, Commands& commands, const placement::MakePlugins& plugins) {
  CLI::App* command =
      app.add_subcommand("simulate", "run a cluster in virtual time: arrivals, ends, failures");
  auto simulate = std::make_shared<SimulateCommand>();
  command->add_option("--scenario", simulate->scenario, "a Scenario (" + std::string(kScenarioVersion) + ")");
  command->add_option("-f,--file", simulate->files, "objects at the start: a file, a folder or -");
  command->add_option("--arrivals", simulate->arrivals, "pods that arrive: a Scenario without nodes");
  command->add_option("--openb-nodes", simulate->openb_nodes, "the node list of a public GPU trace");
  command->add_option("--openb-pods", simulate->openb_pods, "its pod list; both may be gzip");
  command->add_option("--load", simulate->load,
                      "GPU demand that is drawn from a trace, as a part of all GPUs");
  command->add_option("--seed", simulate->seed,
                      "seed of generators, of the draw from a trace, and of the policy random");
  command->add_option("--seeds", simulate->seeds, "runs with the seeds 1 to N");
  command->add_option("--policy", simulate->policy, "one or more, with commas: " + simulate::policy_names());
  command->add_flag("--policies", simulate->list_policies, "list the policies and end");
  command->add_option("--threads", simulate->threads, "runs at a time; the results do not depend on it");
  command->add_option("-o,--output", simulate->output, "table or json")
      ->check(CLI::IsMember({"table", "json"}));
  command->add_option("--config", simulate->config,
                      "a BerthConfiguration and a KubeSchedulerConfiguration, as for berth up");
  command->add_option("--feature-gates", simulate->feature_gates,
                      "A=true,B=false, with Kubernetes' gate names");
  add_question_flags(*command, simulate->questions);
  add_tool(command, commands, [simulate, plugins] { return run_simulate(*simulate, plugins); });
}

}  // namespace berth::cli
