#include "controllers/simulated_containers.h"

#include <algorithm>
#include <string>
#include <vector>

#include "api/serialized.h"
#include "base/ascii.h"
#include "controllers/controllers.h"
#include "controllers/simulated.h"

namespace berth::controllers {
namespace {

constexpr std::int64_t kExitCodeMax = 255;
constexpr std::size_t kStatementsMax = 64;  // of one line of a shell
constexpr std::string_view kShells[] = {"sh", "bash", "ash", "dash"};
// They end at once, with success.
constexpr std::string_view kQuickCommands[] = {"true", ":",      "echo", "printf",   "date", "env",
                                               "id",   "whoami", "ls",   "hostname", "set",  "uname"};
constexpr std::string_view kMissingTags[] = {"404", "missing", "non-existent", "nonexistent", "not-found"};

template <class List>
bool contains(const List& list, std::string_view value) {
  return std::find(std::begin(list), std::end(list), value) != std::end(list);
}

std::vector<std::string> words_in(std::string_view text) {
  std::vector<std::string> words(1);
  for (const char c : text) {
    if (c != ' ' && c != '\t')
      words.back() += c;
    else if (!words.back().empty())
      words.emplace_back();
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

// The statements of "a; b && c", which run one after the other.
std::vector<std::string> statements_in(std::string_view line) {
  std::vector<std::string> statements(1);
  for (std::size_t i = 0; i < line.size(); ++i) {
    const bool both = line.substr(i, 2) == "&&";
    if (line[i] == ';' || line[i] == '\n' || both)
      statements.emplace_back();
    else
      statements.back() += line[i];
    i += both;
  }
  return statements;
}

std::string_view file_name(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

// "5", "0.5", "2m" of the command sleep.
std::optional<Duration> sleep_time(const std::string& text) {
  const bool has_unit = !text.empty() && !(text.back() >= '0' && text.back() <= '9');
  const Result<Duration> time = parse_duration(has_unit ? text : text + "s");
  if (!time || *time < Duration()) return std::nullopt;
  return *time;
}

// What one command does; nothing when it is none of those that are known.
std::optional<ContainersEnd> end_of_command(const std::vector<std::string>& words) {
  const std::string_view command = file_name(words.front());
  if (command == "sleep" && words.size() == 2)
    if (const auto time = sleep_time(words[1])) return ContainersEnd{.after = *time};
  if (command == "false") return ContainersEnd{.after = {}, .exit_code = 1};
  if (command == "exit") {
    const std::int64_t code = words.size() > 1 ? api::to_int(words[1]).value_or(-1) : 0;
    if (code >= 0 && code <= kExitCodeMax) return ContainersEnd{.after = {}, .exit_code = code};
  }
  if (contains(kQuickCommands, command)) return ContainersEnd{};
  return std::nullopt;
}

// A failure in the middle does not end the line, as `a; b` goes on; `a && b` is read alike.
std::optional<ContainersEnd> end_of_line(std::string_view line) {
  ContainersEnd end;
  const std::vector<std::string> statements = statements_in(line);
  if (statements.size() > kStatementsMax) return std::nullopt;
  for (const std::string& statement : statements) {
    const std::vector<std::string> words = words_in(statement);
    if (words.empty()) continue;
    const auto next = end_of_command(words);
    if (!next) return std::nullopt;
    end.after = end.after + next->after;
    end.exit_code = next->exit_code;
    if (words.front() == "exit") break;
  }
  return end;
}

std::optional<ContainersEnd> end_of_container(const Json& container) {
  std::vector<std::string> words = api::decode_strings(container.items_at("command"));
  for (std::string& argument : api::decode_strings(container.items_at("args")))
    words.push_back(std::move(argument));
  if (words.empty()) return std::nullopt;
  if (!contains(kShells, file_name(words.front()))) return end_of_command(words);
  const bool has_line = words.size() == 3 && words[1].starts_with('-') && words[1].ends_with('c');
  return has_line ? end_of_line(words[2]) : std::nullopt;
}

// The pod runs as long as its longest container, and fails with the first code that is not 0.
std::optional<ContainersEnd> end_of_commands(const api::Pod& pod) {
  const auto has = [&](std::string_view member) { return pod.raw->find(member) != std::string::npos; };
  if (!has("\"command\":") && !has("\"args\":")) return std::nullopt;
  const Result<Json> document = api::parse_object(*pod.raw, api::ManagedFields::Skip);
  if (!document) return std::nullopt;
  ContainersEnd all;
  for (const Json& container : document->part("spec").items_at("containers")) {
    const auto end = end_of_container(container);
    if (!end) return std::nullopt;
    all.after = std::max(all.after, end->after);
    if (all.exit_code == 0) all.exit_code = end->exit_code;
  }
  all.restarts = pod.restart_policy == "Always" || (pod.restart_policy == "OnFailure" && all.exit_code != 0);
  return all;
}

// 0 without the annotation, and for text that is no exit code.
std::int64_t exit_code_of(const api::Pod& pod) {
  const std::int64_t code = api::to_int(pod.meta.annotation(kExitCodeAnnotation)).value_or(0);
  return code >= 0 && code <= kExitCodeMax ? code : 0;
}

}  // namespace

std::optional<ContainersEnd> end_of_containers(const api::Pod& pod, Duration job_duration) {
  if (const auto after = annotated_duration(pod.meta, kRunTimeAnnotation))
    return ContainersEnd{.after = *after, .exit_code = exit_code_of(pod)};
  if (const auto end = end_of_commands(pod)) return end;
  const api::OwnerReference* owner = pod.meta.controller();
  const bool is_of_job = owner && owner->kind == "Job" && owner->api_version.starts_with("batch/");
  if (job_duration == Duration() || !is_of_job) return std::nullopt;
  return ContainersEnd{.after = job_duration};
}

bool is_missing_image(std::string_view image) {
  const std::string_view name = file_name(image);
  const std::size_t colon = name.rfind(':');
  const bool has_digest = name.find('@') != std::string_view::npos;
  if (colon != std::string_view::npos && !has_digest && contains(kMissingTags, name.substr(colon + 1)))
    return true;
  const std::size_t slash = image.find('/');
  if (slash == std::string_view::npos) return false;
  const std::string_view registry = image.substr(0, slash);
  return registry.ends_with(".invalid") || registry.starts_with("invalid.");
}

}  // namespace berth::controllers
