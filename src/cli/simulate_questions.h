// The questions of `berth simulate`: their flags, the files that these name, and the answers.
#pragma once

#include <string>
#include <vector>

#include "simulate/questions.h"

namespace CLI {
class App;
}

namespace berth::cli {

struct QuestionFlags {
  std::vector<std::string> fail;  // each a node, LABEL=VALUE or LEVEL=VALUE
  std::vector<std::string> add;   // files
  std::string fit;                // a file
  std::string eta;                // the name of a pod or group
  std::string min_nodes;          // a file
  bool changes_start() const { return !fail.empty() || !add.empty(); }
  // One that has its own answer instead of runs.
  bool asks() const { return !fit.empty() || !eta.empty() || !min_nodes.empty(); }
};

// Refuses two questions that have an answer each.
Status check_questions(const QuestionFlags& flags);
void add_question_flags(CLI::App& command, QuestionFlags& flags);

// What the flags change at the start. Reads the files. Errors name the flag.
Result<simulate::StartChanges> start_changes(const QuestionFlags& flags, const simulate::Script& script,
                                             const planning::PlanOptions& options);

struct QuestionAnswers {
  Json json = Json::object();  // a member for each question
  std::string table;
};
// `script`: as it is without the changes.
Result<QuestionAnswers> answer_questions(const QuestionFlags& flags, const simulate::StartChanges& changes,
                                         const simulate::Script& script,
                                         const planning::PlanOptions& options);

}  // namespace berth::cli
