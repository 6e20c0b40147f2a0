#include "api/selectors.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <set>

#include "api/names.h"

namespace berth::api {
namespace {

Error invalid_selector(std::string message) {
  return Error(ErrorCode::Invalid, std::move(message));
}

enum class Token : std::uint8_t {
  Close,
  Comma,
  Bang,
  DoubleEquals,
  Equals,
  Greater,
  In,
  Less,
  NotEquals,
  NotIn,
  Open,
  Identifier,
  End,
  Bad
};

constexpr std::array<std::pair<std::string_view, Token>, 11> kWords = {{{")", Token::Close},
                                                                        {",", Token::Comma},
                                                                        {"!", Token::Bang},
                                                                        {"==", Token::DoubleEquals},
                                                                        {"=", Token::Equals},
                                                                        {">", Token::Greater},
                                                                        {"in", Token::In},
                                                                        {"<", Token::Less},
                                                                        {"!=", Token::NotEquals},
                                                                        {"notin", Token::NotIn},
                                                                        {"(", Token::Open}}};
constexpr std::string_view kSymbols = "=!(),><";
constexpr std::string_view kSpaces = " \t\r\n";
constexpr std::string_view kBinaryOperators = "in, notin, =, ==, !=, gt, lt";

struct Lexeme {
  Token token;
  std::string text;
};

std::optional<Token> word(std::string_view text) {
  for (const auto& [name, token] : kWords)
    if (name == text) return token;
  return std::nullopt;
}

std::optional<std::int64_t> whole_number(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::vector<Lexeme> scan(std::string_view text) {
  std::vector<Lexeme> out;
  for (std::size_t at = 0;;) {
    at = std::min(text.find_first_not_of(kSpaces, at), text.size());
    if (at == text.size()) break;
    const bool symbol = kSymbols.find(text[at]) != std::string_view::npos;
    if (!symbol) {
      std::size_t end = at;
      while (end < text.size() && kSymbols.find(text[end]) == std::string_view::npos &&
             kSpaces.find(text[end]) == std::string_view::npos)
        ++end;
      const std::string_view found = text.substr(at, end - at);
      out.push_back({word(found).value_or(Token::Identifier), std::string(found)});
      at = end;
      continue;
    }
    const std::size_t size = word(text.substr(at, 2)) ? std::min<std::size_t>(2, text.size() - at) : 1;
    out.push_back({word(text.substr(at, size)).value_or(Token::Bad), std::string(text.substr(at, size))});
    at += size;
  }
  out.push_back({Token::End, ""});
  return out;
}

Result<LabelRequirement> checked(LabelRequirement requirement, std::string_view key_path) {
  std::vector<std::string> problems;
  const auto add = [&](std::string_view path, std::string_view value, std::string_view why) {
    problems.push_back(fmt::format("{}: Invalid value: {}: {}", path, to_string(Json(value)), why));
  };
  if (const NameProblems bad = qualified_name_problems(requirement.key); !bad.empty())
    add(key_path, requirement.key, fmt::format("{}", fmt::join(bad, "; ")));
  const bool ordered =
      requirement.op == LabelOperator::GreaterThan || requirement.op == LabelOperator::LessThan;
  const bool set = requirement.op == LabelOperator::In || requirement.op == LabelOperator::NotIn;
  if (set && requirement.values.empty())
    problems.emplace_back(
        "values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty");
  if (!set && !ordered && !requirement.values.empty())
    problems.emplace_back("values: Invalid value: values set must be empty for exists and does not exist");
  for (std::size_t i = 0; i < requirement.values.size(); ++i) {
    const std::string& value = requirement.values[i];
    if (ordered && !whole_number(value))
      add(fmt::format("values[{}]", i), value, "for 'Gt', 'Lt' operators, the value must be an integer");
    if (const NameProblems bad = label_value_problems(value); !bad.empty())
      add(fmt::format("values[{}][{}]", i, requirement.key), value, fmt::format("{}", fmt::join(bad, "; ")));
  }
  std::sort(requirement.values.begin(), requirement.values.end());
  requirement.values.erase(std::unique(requirement.values.begin(), requirement.values.end()),
                           requirement.values.end());
  if (problems.empty()) return requirement;
  if (problems.size() == 1) return invalid_selector(problems.front());
  return invalid_selector(fmt::format("[{}]", fmt::join(problems, ", ")));
}

// The grammar and the sentences of the reference's recursive descent.
class Parser {
 public:
  explicit Parser(std::string_view text) : lexemes_(scan(text)) {}

  Result<std::vector<LabelRequirement>> run() {
    std::vector<LabelRequirement> found;
    while (true) {
      const Lexeme& first = look();
      if (token_of(first) == Token::End) return found;
      if (token_of(first) != Token::Identifier && token_of(first) != Token::Bang)
        return invalid_selector(
            fmt::format("found '{}', expected: !, identifier, or 'end of string'", first.text));
      Result<LabelRequirement> next = requirement();
      if (!next) return invalid_selector("unable to parse requirement: " + next.error().message());
      found.push_back(*std::move(next));
      const Lexeme& then = take();
      if (then.token == Token::End) return found;
      if (then.token != Token::Comma)
        return invalid_selector(fmt::format("found '{}', expected: ',' or 'end of string'", then.text));
      if (token_of(look()) != Token::Identifier && token_of(look()) != Token::Bang)
        return invalid_selector(fmt::format("found '{}', expected: identifier after ','", look().text));
    }
  }

 private:
  const Lexeme& look() const { return lexemes_[at_]; }
  const Lexeme& take() { return lexemes_[at_ + 1 < lexemes_.size() ? at_++ : at_]; }
  // `in` and `notin` are plain words except in an operator's position.
  static Token token_of(const Lexeme& lexeme) {
    return lexeme.token == Token::In || lexeme.token == Token::NotIn ? Token::Identifier : lexeme.token;
  }
  static Error expected_identifier(const Lexeme& found) {
    return invalid_selector(fmt::format("found '{}', expected: identifier", found.text));
  }

  Result<LabelRequirement> requirement() {
    LabelRequirement made;
    const bool negated = token_of(look()) == Token::Bang;
    if (negated) take();
    const Lexeme& key = take();
    if (token_of(key) != Token::Identifier) return expected_identifier(key);
    made.key = key.text;
    if (const NameProblems bad = qualified_name_problems(made.key); !bad.empty())
      return invalid_selector(
          fmt::format("<nil>: Invalid value: {}: {}", to_string(Json(made.key)), fmt::join(bad, "; ")));
    const bool alone = look().token == Token::End || look().token == Token::Comma;
    if (negated || alone) {
      made.op = negated ? LabelOperator::DoesNotExist : LabelOperator::Exists;
      return made;
    }
    const Lexeme& op = take();
    switch (op.token) {
      case Token::In:
      case Token::NotIn:
        made.op = op.token == Token::In ? LabelOperator::In : LabelOperator::NotIn;
        made.values = TRY(value_set());
        break;
      case Token::Equals:
      case Token::DoubleEquals:
        made.op = LabelOperator::In;
        break;
      case Token::NotEquals:
        made.op = LabelOperator::NotIn;
        break;
      case Token::Greater:
        made.op = LabelOperator::GreaterThan;
        break;
      case Token::Less:
        made.op = LabelOperator::LessThan;
        break;
      default:
        return invalid_selector(fmt::format("found '{}', expected: {}", op.text, kBinaryOperators));
    }
    if (op.token != Token::In && op.token != Token::NotIn) made.values.push_back(TRY(exact_value()));
    return checked(std::move(made), "key");
  }

  Result<std::string> exact_value() {
    if (look().token == Token::End || look().token == Token::Comma) return std::string();
    const Lexeme& value = take();
    if (token_of(value) != Token::Identifier) return expected_identifier(value);
    return value.text;
  }

  // "(a,,b)": an empty place is an empty value.
  Result<std::vector<std::string>> value_set() {
    const Lexeme& open = take();
    if (open.token != Token::Open)
      return invalid_selector(fmt::format("found '{}' expected: '('", open.text));
    const Token first = token_of(look());
    if (first == Token::Close) return take(), std::vector<std::string>{""};
    if (first != Token::Identifier && first != Token::Comma)
      return invalid_selector(fmt::format("found '{}', expected: ',', ')' or identifier", look().text));
    std::vector<std::string> values;
    while (true) {
      const Lexeme& part = take();
      if (token_of(part) == Token::Identifier) {
        values.push_back(part.text);
        if (look().token == Token::Close) return take(), values;
        if (look().token != Token::Comma)
          return invalid_selector(fmt::format("found '{}', expected: ',' or ')'", look().text));
      } else if (part.token == Token::Comma) {
        if (values.empty() || look().token == Token::Comma || look().token == Token::Close)
          values.emplace_back();
        if (look().token == Token::Close) return take(), values;
      } else {
        return invalid_selector(fmt::format("found '{}', expected: ',', or identifier", part.text));
      }
    }
  }

  std::vector<Lexeme> lexemes_;
  std::size_t at_ = 0;
};

Result<LabelRequirement> expression(const Json& source) {
  static constexpr std::array<std::pair<std::string_view, LabelOperator>, 4> kOperators = {
      {{"In", LabelOperator::In},
       {"NotIn", LabelOperator::NotIn},
       {"Exists", LabelOperator::Exists},
       {"DoesNotExist", LabelOperator::DoesNotExist}}};
  LabelRequirement made;
  made.key = source.string_at("key");
  const std::string_view op = source.string_at("operator");
  const auto* known =
      std::find_if(kOperators.begin(), kOperators.end(), [&](const auto& row) { return row.first == op; });
  if (known == kOperators.end())
    return invalid_selector(fmt::format("\"{}\" is not a valid label selector operator", op));
  made.op = known->second;
  for (const Json& value : source.items_at("values"))
    if (value.is_string()) made.values.push_back(value.as_string());
  return checked(std::move(made), "key");
}

}  // namespace

bool LabelRequirement::holds(const std::string* value) const {
  switch (op) {
    case LabelOperator::In:
      return value && std::binary_search(values.begin(), values.end(), *value);
    case LabelOperator::NotIn:
      return !value || !std::binary_search(values.begin(), values.end(), *value);
    case LabelOperator::Exists:
      return value != nullptr;
    case LabelOperator::DoesNotExist:
      return value == nullptr;
    case LabelOperator::GreaterThan:
    case LabelOperator::LessThan:
      break;
  }
  const std::optional<std::int64_t> number = value ? whole_number(*value) : std::nullopt;
  const std::optional<std::int64_t> bound = values.size() == 1 ? whole_number(values.front()) : std::nullopt;
  if (!number || !bound) return false;
  return op == LabelOperator::GreaterThan ? *number > *bound : *number < *bound;
}

Result<LabelSelector> LabelSelector::parse(std::string_view text) {
  if (text.size() > kSelectorBytesMax) return Error(ErrorCode::TooLarge, "the label selector is too long");
  LabelSelector selector;
  selector.requirements_ = TRY(Parser(text).run());
  return selector;
}

Result<LabelSelector> LabelSelector::of(const Json& source) {
  LabelSelector selector;
  selector.nothing_ = source.is_null();
  if (const Json* labels = source.find("matchLabels"); labels && labels->is_object())
    for (const JsonMember& label : labels->as_object())
      selector.requirements_.push_back(TRY(checked(
          {label.key, LabelOperator::In, {label.value.is_string() ? label.value.as_string() : std::string()}},
          "key")));
  for (const Json& part : source.items_at("matchExpressions"))
    selector.requirements_.push_back(TRY(expression(part)));
  return selector;
}

void LabelSelector::also_requires(std::string key, LabelOperator op, std::string value) {
  requirements_.push_back({std::move(key), op, {std::move(value)}});
}

const LabelRequirement* LabelSelector::first_in() const {
  const auto found = std::ranges::find(requirements_, LabelOperator::In, &LabelRequirement::op);
  return found == requirements_.end() ? nullptr : &*found;
}

bool LabelSelector::matches(const Json* labels) const {
  return !nothing_ &&
         std::all_of(requirements_.begin(), requirements_.end(), [&](const LabelRequirement& requirement) {
           const Json* value = labels ? labels->find(requirement.key) : nullptr;
           return requirement.holds(value && value->is_string() ? &value->as_string() : nullptr);
         });
}

bool LabelSelector::matches(const std::map<std::string, std::string, std::less<>>& labels) const {
  return !nothing_ &&
         std::all_of(requirements_.begin(), requirements_.end(), [&](const LabelRequirement& requirement) {
           const auto found = labels.find(requirement.key);
           return requirement.holds(found == labels.end() ? nullptr : &found->second);
         });
}

}  // namespace berth::api
