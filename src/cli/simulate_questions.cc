#include "cli/simulate_questions.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <iterator>
#include <set>

#include "cli/complain.h"
#include "cli/told_input.h"
#include "planning/workload_pods.h"
#include "simulate/stored_objects.h"

namespace berth::cli {
namespace {

using planning::Document;
using planning::PlanOptions;
using simulate::Script;
using simulate::StartChanges;

// Exit code 2, whatever is wrong with the value of a flag.
Error under_flag(const std::string& flag, const Error& error) {
  return Error(ErrorCode::Invalid, flag, error.text());
}

Result<std::vector<Document>> read_objects(const std::string& file, const PlanOptions& options, Time now) {
  std::vector<Document> documents = TRY(told_documents({file}, FolderDepth::Top, *options.gates, now));
  for (const Document& document : documents)
    if (document.kind == api::Kind::Pod && !document.trouble.empty())
      return Error(ErrorCode::Invalid, file,
                   api::to_text(simulate::key_of_document(document)) + ": " + document.trouble);
  planning::WorkloadPods made = TRY(planning::with_workload_pods(std::move(documents), now));
  for (const std::string& note : made.notes) tell(note);
  return std::move(made.documents);
}

Result<std::vector<Document>> objects_of(const std::string& flag, const std::string& file,
                                         const PlanOptions& options, Time now) {
  Result<std::vector<Document>> read = read_objects(file, options, now);
  if (!read) return under_flag(flag, read.error());
  return read;
}

}  // namespace

void add_question_flags(CLI::App& command, QuestionFlags& flags) {
  command
      .add_option("--fail", flags.fail,
                  "which pods are lost, and where they find room, when a node, LABEL=VALUE or LEVEL=VALUE "
                  "goes; repeatable")
      ->allow_extra_args(false);
  command
      .add_option("--add", flags.add,
                  "which waiting pods are placed when the objects of a file are added; repeatable")
      ->allow_extra_args(false);
  command.add_option("--fit", flags.fit,
                     "how many copies of the workload of a file fit, and why not one more");
  command.add_option("--eta", flags.eta,
                     "when a pod or group that waits or arrives starts: [NAMESPACE/]NAME");
  command.add_option(
      "--min-nodes", flags.min_nodes,
      "how many nodes like the one in a file suffice for its workload, or for the waiting pods");
}

Status check_questions(const QuestionFlags& flags) {
  std::string first;
  for (const auto& [flag, value] :
       {std::pair{"--fit", &flags.fit}, {"--eta", &flags.eta}, {"--min-nodes", &flags.min_nodes}}) {
    if (value->empty()) continue;
    if (!first.empty())
      return Error(ErrorCode::Invalid, flag, "is given with " + first + ": ask one question");
    first = flag;
  }
  return {};
}

Result<StartChanges> start_changes(const QuestionFlags& flags, const Script& script,
                                   const PlanOptions& options) {
  StartChanges changes;
  std::set<std::string> lost;
  for (const std::string& domain : flags.fail)
    for (std::string& node : TRY(simulate::nodes_of_domain(script.objects, domain)))
      lost.insert(std::move(node));
  changes.lost_nodes.assign(lost.begin(), lost.end());
  std::set<api::ObjectKey> known;
  for (const Document& document : script.objects)
    if (document.kind != api::Kind::Other) known.insert(simulate::key_of_document(document));
  const Time now = planning::now_of(script.objects, options);
  for (const std::string& file : flags.add)
    for (Document& document : TRY(objects_of("--add", file, options, now))) {
      const api::ObjectKey key = simulate::key_of_document(document);
      if (key.kind != api::Kind::Other && !known.insert(key).second)
        return Error(ErrorCode::Invalid, "--add " + file,
                     "the input has " + api::to_text(key) + " already: give it another name");
      changes.added.push_back(std::move(document));
    }
  return changes;
}

Result<QuestionAnswers> answer_questions(const QuestionFlags& flags, const StartChanges& changes,
                                         const Script& script, const PlanOptions& options) {
  QuestionAnswers answers;
  const auto put = [&answers](const auto& answer) {
    simulate::put_json(answer, answers.json);
    answers.table += (answers.table.empty() ? "" : "\n") + simulate::to_table(answer);
  };
  if (!flags.fail.empty()) put(TRY(simulate::nodes_fail(script, changes.lost_nodes, options)));
  if (!flags.add.empty()) put(TRY(simulate::objects_come(script, changes, options)));
  if (!flags.fit.empty()) {
    const Time now = planning::now_of(script.objects, options);
    const Result<simulate::FitAnswer> fit =
        simulate::copies_fit(script, changes, TRY(objects_of("--fit", flags.fit, options, now)), options);
    if (!fit) return under_flag("--fit " + flags.fit, fit.error());
    put(*fit);
  }
  if (!flags.eta.empty())
    put(TRY(simulate::expected_start(simulate::changed(script, changes), flags.eta, options)));
  if (!flags.min_nodes.empty()) {
    const Time now = planning::now_of(script.objects, options);
    Result<simulate::MinNodesQuestion> asked =
        simulate::min_nodes_question(TRY(objects_of("--min-nodes", flags.min_nodes, options, now)));
    if (!asked) return under_flag("--min-nodes " + flags.min_nodes, asked.error());
    const Result<simulate::MinNodesAnswer> answer = simulate::min_nodes(script, changes, *asked, options);
    if (!answer) return under_flag("--min-nodes " + flags.min_nodes, answer.error());
    put(*answer);
  }
  return answers;
}

}  // namespace berth::cli
