#include "crd/json_path.h"

#include <charconv>

namespace berth::crd {
namespace {

const Json* value_at(const Json& item, const std::vector<std::string>& members) {
  const Json* at = &item;
  for (const std::string& name : members) {
    at = at->find(name);
    if (!at) return nullptr;
  }
  return at;
}

// Below 0: less; above 0: more; nothing for values that have no order.
std::optional<int> order_of(const Json& a, const Json& b) {
  if (a.is_number() && b.is_number())
    return a.as_double() < b.as_double() ? -1 : a.as_double() > b.as_double() ? 1 : 0;
  if (a.is_string() && b.is_string()) return a.as_string().compare(b.as_string());
  return std::nullopt;
}

}  // namespace

class JsonPath::Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<JsonPath> run() {
    JsonPath path;
    if (text_.size() > kPathBytesMax)
      return refused("is longer than " + std::to_string(kPathBytesMax) + " bytes");
    if (text_.starts_with("{") && text_.ends_with("}")) text_ = text_.substr(1, text_.size() - 2);
    if (text_.starts_with("$")) ++at_;
    while (at_ < text_.size()) {
      Step step;
      if (!read_step(step)) return refused("cannot be read at byte " + std::to_string(at_));
      if (step.kind != Kind::Member || !step.name.empty()) path.steps_.push_back(std::move(step));
    }
    return path;
  }

 private:
  Error refused(const std::string& why) const { return Error(ErrorCode::Invalid, "the JSON path " + why); }

  bool read_step(Step& step) {
    if (text_[at_] == '[') return ++at_, read_bracket(step);
    if (text_[at_] == '.') {
      ++at_;
      if (at_ < text_.size() && text_[at_] == '.') {
        ++at_;
        step.kind = Kind::Deep;
        return read_name(step.name) && !step.name.empty();
      }
      if (at_ < text_.size() && text_[at_] == '[') return true;
    }
    if (at_ < text_.size() && text_[at_] == '*') {
      ++at_;
      step.kind = Kind::Every;
      return true;
    }
    return read_name(step.name);
  }

  // A name ends at a dot or a bracket; a backslash takes the next character as it is.
  bool read_name(std::string& name) {
    for (; at_ < text_.size() && text_[at_] != '.' && text_[at_] != '['; ++at_) {
      if (text_[at_] == ']' || text_[at_] == ' ') return false;
      if (text_[at_] == '\\' && ++at_ == text_.size()) return false;
      name += text_[at_];
    }
    return true;
  }

  bool eat(std::string_view token) {
    skip_blanks();
    if (!text_.substr(at_).starts_with(token)) return false;
    at_ += token.size();
    return true;
  }
  void skip_blanks() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }

  bool read_quoted(std::string& text) {
    const char quote = text_[at_];
    for (++at_; at_ < text_.size() && text_[at_] != quote; ++at_) {
      if (text_[at_] == '\\' && ++at_ == text_.size()) return false;
      text += text_[at_];
    }
    return at_ < text_.size() && ++at_;
  }

  bool read_int(std::optional<std::int64_t>& number) {
    skip_blanks();
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (error != std::errc()) return false;
    at_ = static_cast<std::size_t>(end - text_.data());
    number = value;
    return true;
  }

  bool read_bracket(Step& step) {
    skip_blanks();
    if (at_ >= text_.size()) return false;
    if (text_[at_] == '\'' || text_[at_] == '"') return read_quoted(step.name) && eat("]");
    if (eat("*")) {
      step.kind = Kind::Every;
      return eat("]");
    }
    if (eat("?(")) return read_filter(step);
    step.kind = Kind::Index;
    const bool has_from = read_int(step.from);
    if (eat(":")) {
      step.kind = Kind::Slice;
      read_int(step.to);
      return eat("]");
    }
    return has_from && eat("]");
  }

  bool read_operand(Operand& operand) {
    skip_blanks();
    if (at_ >= text_.size()) return false;
    if (text_[at_] == '@') {
      ++at_;
      while (at_ < text_.size() && text_[at_] == '.') {
        std::string name;
        for (++at_;
             at_ < text_.size() && std::string_view(".=!<> )[").find(text_[at_]) == std::string_view::npos;
             ++at_) {
          if (text_[at_] == '\\' && ++at_ == text_.size()) return false;
          name += text_[at_];
        }
        operand.members.push_back(std::move(name));
      }
      return true;
    }
    if (text_[at_] == '\'' || text_[at_] == '"') {
      std::string text;
      if (!read_quoted(text)) return false;
      operand.constant = Json(std::move(text));
      return true;
    }
    std::size_t end = at_;
    while (end < text_.size() && text_[end] != ')' && text_[end] != ' ') ++end;
    const Result<Json> parsed = parse_json(text_.substr(at_, end - at_));
    if (!parsed) return false;
    at_ = end;
    operand.constant = *parsed;
    return true;
  }

  bool read_filter(Step& step) {
    struct Word {
      std::string_view text;
      Compare compare;
    };
    static constexpr Word kWords[] = {{"==", Compare::Equal},       {"!=", Compare::Unequal},
                                      {"<=", Compare::LessOrEqual}, {">=", Compare::GreaterOrEqual},
                                      {"<", Compare::Less},         {">", Compare::Greater}};
    step.kind = Kind::Filter;
    if (!read_operand(step.left)) return false;
    for (const Word& word : kWords) {
      if (!eat(word.text)) continue;
      step.compare = word.compare;
      return read_operand(step.right) && eat(")") && eat("]");
    }
    return eat(")") && eat("]");
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

bool JsonPath::passes(const Step& step, const Json& item) {
  const auto value_of = [&item](const Operand& operand) {
    return operand.constant ? &*operand.constant : value_at(item, operand.members);
  };
  const Json* left = value_of(step.left);
  if (step.compare == Compare::Exists) return left != nullptr;
  const Json* right = value_of(step.right);
  if (!left || !right) return false;
  const std::optional<int> order = order_of(*left, *right);
  switch (step.compare) {
    case Compare::Exists:
      break;
    case Compare::Equal:
      return order ? *order == 0 : *left == *right;
    case Compare::Unequal:
      return order ? *order != 0 : !(*left == *right);
    case Compare::Less:
      return order && *order < 0;
    case Compare::LessOrEqual:
      return order && *order <= 0;
    case Compare::Greater:
      return order && *order > 0;
    case Compare::GreaterOrEqual:
      return order && *order >= 0;
  }
  return false;
}

// Depth first, until one value is found.
class JsonPath::Walk {
 public:
  explicit Walk(const std::vector<Step>& steps) : steps_(steps) {}

  const Json* from(const Json& value, std::size_t at) {
    if (++visited_ > kPathStepsMax) return nullptr;
    if (at == steps_.size()) return &value;
    const Step& step = steps_[at];
    switch (step.kind) {
      case Kind::Member: {
        const Json* member = value.find(step.name);
        return member ? from(*member, at + 1) : nullptr;
      }
      case Kind::Deep:
        return deep(value, at);
      default:
        return value.is_array() ? items(value.as_array(), at) : members(value, at);
    }
  }

 private:
  const Json* members(const Json& value, std::size_t at) {
    if (!value.is_object()) return nullptr;
    const Step& step = steps_[at];
    if (step.kind != Kind::Every && step.kind != Kind::Filter) return nullptr;
    for (const JsonMember& member : value.as_object())
      if (step.kind == Kind::Every || passes(step, member.value))
        if (const Json* found = from(member.value, at + 1)) return found;
    return nullptr;
  }

  const Json* items(const JsonArray& list, std::size_t at) {
    const Step& step = steps_[at];
    const auto count = static_cast<std::int64_t>(list.size());
    const auto place = [count](std::int64_t index) { return index < 0 ? index + count : index; };
    std::int64_t begin = 0, end = count;
    if (step.kind == Kind::Index) {
      begin = place(*step.from);
      end = begin + 1;
    } else if (step.kind == Kind::Slice) {
      begin = place(step.from.value_or(0));
      end = place(step.to.value_or(count));
    }
    for (std::int64_t i = std::max<std::int64_t>(begin, 0); i < std::min(end, count); ++i) {
      const Json& item = list[static_cast<std::size_t>(i)];
      if (step.kind == Kind::Filter && !passes(step, item)) continue;
      if (const Json* found = from(item, at + 1)) return found;
    }
    return nullptr;
  }

  const Json* deep(const Json& value, std::size_t at) {
    if (++visited_ > kPathStepsMax) return nullptr;
    if (const Json* member = value.find(steps_[at].name))
      if (const Json* found = from(*member, at + 1)) return found;
    if (value.is_object())
      for (const JsonMember& member : value.as_object())
        if (const Json* found = deep(member.value, at)) return found;
    if (value.is_array())
      for (const Json& item : value.as_array())
        if (const Json* found = deep(item, at)) return found;
    return nullptr;
  }

  const std::vector<Step>& steps_;
  std::size_t visited_ = 0;
};

Result<JsonPath> JsonPath::parse(std::string_view text) {
  return Parser(text).run();
}

const Json* JsonPath::first(const Json& document) const {
  return Walk(steps_).from(document, 0);
}

}  // namespace berth::crd
