#include "controllers/simulated_shell.h"

#include <algorithm>
#include <utility>

#include "base/ascii.h"
#include "controllers/shell_words.h"

namespace berth::controllers {
namespace {

constexpr int kIfDepthMax = 16;
// They end at once, with success.
constexpr std::string_view kQuickCommands[] = {"true", ":",      "echo", "printf",   "date", "env",
                                               "id",   "whoami", "ls",   "hostname", "set",  "uname"};
constexpr std::string_view kListEnds[] = {"then", "elif", "else", "fi"};
constexpr std::string_view kFileTests[] = {"-e", "-f", "-r", "-s", "-w"};

using Words = std::vector<std::string>;

template <class List>
bool has_word(const List& list, std::string_view word) {
  return std::find(std::begin(list), std::end(list), word) != std::end(list);
}

std::string_view file_name(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

// "5", "0.5", "2m" of the command sleep.
std::optional<Duration> sleep_time(const std::string& text) {
  const bool has_unit = !text.empty() && !is_digit(text.back());
  const Result<Duration> time = parse_duration(has_unit ? text : text + "s");
  if (!time || *time < Duration()) return std::nullopt;
  return *time;
}

std::optional<bool> compare(const std::string& left, std::string_view op, const std::string& right) {
  if (op == "=" || op == "==") return left == right;
  if (op == "!=") return left != right;
  const auto a = api::to_int(left), b = api::to_int(right);
  if (!a || !b) return std::nullopt;
  if (op == "-eq") return *a == *b;
  if (op == "-ne") return *a != *b;
  if (op == "-lt") return *a < *b;
  if (op == "-le") return *a <= *b;
  if (op == "-gt") return *a > *b;
  if (op == "-ge") return *a >= *b;
  return std::nullopt;
}

// What `test` says of its operands.
std::optional<bool> test_of(const Words& words, const ShellWorld& world) {
  if (!words.empty() && words.front() == "!") {
    const auto inner = test_of({words.begin() + 1, words.end()}, world);
    return inner ? std::optional(!*inner) : std::nullopt;
  }
  if (words.empty()) return false;
  if (words.size() == 1) return !words[0].empty();
  if (words.size() == 3) return compare(words[0], words[1], words[2]);
  if (words.size() != 2) return std::nullopt;
  if (words[0] == "-n") return !words[1].empty();
  if (words[0] == "-z") return words[1].empty();
  return has_word(kFileTests, words[0]) ? world.has_file(words[1]) : std::nullopt;
}

std::optional<ShellEnd> end_of_test(Words words, const ShellWorld& world) {
  const std::string closing = words.front() == "[" ? "]" : words.front() == "[[" ? "]]" : "";
  if (!closing.empty()) {
    if (words.back() != closing) return std::nullopt;
    words.pop_back();
  }
  words.erase(words.begin());
  const auto holds = test_of(words, world);
  if (!holds) return std::nullopt;
  return ShellEnd{.after = {}, .exit_code = *holds ? 0 : 1};
}

// One pass over the tokens of a line. What is not run, as after `false &&`, is only read.
class ShellRun {
 public:
  ShellRun(std::vector<ShellToken> tokens, ShellWorld& world) : tokens_(std::move(tokens)), world_(world) {}

  std::optional<ShellEnd> whole() {
    list(true, false);
    if (at_ < tokens_.size()) malformed();  // `fi` without `if`
    if (!is_known_) return std::nullopt;
    return ShellEnd{elapsed_, status_};
  }

 private:
  bool runs(bool live) const { return live && is_known_ && !has_ended_; }
  bool at_operator(std::string_view text) const {
    return at_ < tokens_.size() && tokens_[at_].is_operator && tokens_[at_].text == text;
  }
  bool at_word(std::string_view text) const {
    return at_ < tokens_.size() && !tokens_[at_].is_operator && tokens_[at_].text == text;
  }
  bool skip_separators() {
    const std::size_t from = at_;
    while (at_operator(";") || at_operator("\n")) ++at_;
    return at_ > from;
  }
  bool at_list_end() const {
    return at_ == tokens_.size() || (!tokens_[at_].is_operator && has_word(kListEnds, tokens_[at_].text));
  }

  void list(bool live, bool is_condition) {
    skip_separators();
    while (!at_list_end()) {
      const bool last_ran = chain(live);
      if (runs(live) && exits_on_error_ && !is_condition && last_ran && status_ != 0) has_ended_ = true;
      if (!skip_separators() && !at_list_end()) return unknown(live);
    }
  }

  // "a && b || c". Whether its last pipeline ran and may end the line by `set -e`.
  bool chain(bool live) {
    bool last_ran = pipeline(live);
    while (at_operator("&&") || at_operator("||")) {
      const bool wants_success = tokens_[at_++].text == "&&";
      skip_separators();
      const bool goes_on = runs(live) && (status_ == 0) == wants_success;
      last_ran = pipeline(live && goes_on) && goes_on;
    }
    return last_ran;
  }

  // "! a | b". The commands of a pipe run side by side, each in a shell of its own, which `exit` ends.
  bool pipeline(bool live) {
    const bool negates = at_word("!");
    if (negates) ++at_;
    const Duration began = elapsed_;
    const bool had_ended = has_ended_;
    command(live);
    while (at_operator("|")) {
      ++at_;
      has_ended_ = had_ended;
      const Duration longest = std::exchange(elapsed_, began);
      command(live);
      has_ended_ = had_ended;
      elapsed_ = std::max(longest, elapsed_);
    }
    if (negates && runs(live)) status_ = status_ == 0 ? 1 : 0;
    return !negates;
  }

  void command(bool live) {
    if (at_word("if"))
      if_command(live);
    else
      simple_command(live);
  }

  void if_command(bool live) {
    if (++depth_ > kIfDepthMax) return malformed();
    bool is_decided = false;
    do {
      ++at_;  // `if`, `elif`
      const bool asks = live && !is_decided;
      list(asks, true);
      if (!at_word("then")) return malformed();
      ++at_;
      const bool holds = runs(asks) && status_ == 0;
      list(live && holds, false);
      is_decided = is_decided || holds;
      if (runs(live) && !is_decided) status_ = 0;
    } while (at_word("elif"));
    if (at_word("else")) {
      ++at_;
      list(live && !is_decided, false);
    }
    if (!at_word("fi")) return malformed();
    ++at_;
    --depth_;
  }

  void simple_command(bool live) {
    Words words;
    const std::size_t from = at_;
    for (; at_ < tokens_.size(); ++at_) {
      const ShellToken& token = tokens_[at_];
      const bool redirects = token.is_operator && (token.text[0] == '>' || token.text[0] == '<');
      if (token.is_operator && !redirects) break;
      if (!runs(live)) continue;
      if (redirects && token.text.starts_with(">&")) continue;
      if (redirects && ++at_ == tokens_.size()) return unknown(live);
      const auto word = expand_shell_word(tokens_[at_].text, world_.variables);
      if (!word) return unknown(live);
      if (redirects && token.text[0] == '>') world_.files.insert(word->text);
      if (!redirects && (!word->text.empty() || word->was_quoted)) words.push_back(word->text);
    }
    if (at_ == from) {
      unknown(live);
      at_ = std::min(at_ + 1, tokens_.size());
    } else if (runs(live)) {
      run(std::move(words));
    }
  }

  void run(Words words) {
    assign(words);
    if (words.empty()) {
      status_ = 0;
      return;
    }
    const bool exits = words.front() == "exit";
    if (exits && words.size() == 1) words.push_back(std::to_string(status_));
    if (words.front() == "set")
      for (const std::string& option : words)
        if (option.starts_with('-') && option.find('e') != std::string::npos) exits_on_error_ = true;
    const auto end = end_of_command(words, world_);
    if (!end) return unknown(true);
    elapsed_ = elapsed_ + end->after;
    status_ = end->exit_code;
    has_ended_ = exits;
  }

  // "NAME=text" before the command.
  void assign(Words& words) {
    const auto is_assignment = [](const std::string& word) {
      const std::size_t equals = word.find('=');
      return equals != std::string::npos && equals > 0 && !is_digit(word[0]) &&
             std::all_of(word.begin(), word.begin() + static_cast<std::ptrdiff_t>(equals),
                         [](char c) { return is_alphanumeric(c) || c == '_'; });
    };
    const auto command = std::find_if_not(words.begin(), words.end(), is_assignment);
    if (command == words.end())
      for (const std::string& word : words)
        world_.variables[word.substr(0, word.find('='))] = word.substr(word.find('=') + 1);
    words.erase(words.begin(), command);
  }

  void malformed() {
    is_known_ = false;
    at_ = tokens_.size();
  }

  void unknown(bool live) {
    if (runs(live)) is_known_ = false;
    if (live) at_ = tokens_.size();
  }

  const std::vector<ShellToken> tokens_;
  ShellWorld& world_;
  std::size_t at_ = 0;
  int depth_ = 0;
  Duration elapsed_;
  std::int64_t status_ = 0;
  bool has_ended_ = false;  // by `exit`
  bool is_known_ = true;
  bool exits_on_error_ = false;
};

}  // namespace

bool ShellWorld::is_private(std::string_view path) const {
  return std::any_of(private_folders.begin(), private_folders.end(),
                     [&](const std::string& folder) { return path.starts_with(folder + "/"); });
}

std::optional<bool> ShellWorld::has_file(const std::string& path) const {
  if (files.contains(path)) return true;
  return is_private(path) ? std::optional(false) : std::nullopt;
}

std::optional<ShellEnd> end_of_line(std::string_view line, ShellWorld& world) {
  auto tokens = shell_tokens(line);
  if (!tokens) return std::nullopt;
  return ShellRun(std::move(*tokens), world).whole();
}

std::optional<ShellEnd> end_of_command(const std::vector<std::string>& words, ShellWorld& world) {
  const std::string_view command = file_name(words.front());
  if (command == "sleep" && words.size() == 2) {
    const auto time = sleep_time(words[1]);
    return time ? std::optional(ShellEnd{.after = *time}) : std::nullopt;
  }
  if (command == "exit") {
    const auto code =
        words.size() == 2 ? api::to_int(words[1]) : std::optional<std::int64_t>(words.size() == 1 ? 0 : -1);
    if (!code || *code < 0 || *code > kExitCodeMax) return std::nullopt;
    return ShellEnd{.after = {}, .exit_code = *code};
  }
  if (command == "false") return ShellEnd{.after = {}, .exit_code = 1};
  if (command == "test" || command == "[" || command == "[[") return end_of_test(words, world);
  if (command == "touch") {
    world.files.insert(words.begin() + 1, words.end());
    return ShellEnd{};
  }
  return has_word(kQuickCommands, command) ? std::optional(ShellEnd{}) : std::nullopt;
}

}  // namespace berth::controllers
