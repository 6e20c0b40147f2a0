#include "cel/parser.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "cel/macros.h"

namespace berth::cel {
namespace {

constexpr std::array<std::string_view, 17> kReserved = {
    "as",  "break", "const",   "continue",  "else",   "for", "function", "if",   "import",
    "let", "loop",  "package", "namespace", "return", "var", "void",     "while"};
constexpr std::array<std::string_view, 4> kKeywords = {"in", "true", "false", "null"};

constexpr std::string_view kExpectedFirst = " expecting {'[', '{', '(', '.', '-', '!', ";
constexpr std::string_view kExpectedRest =
    "'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}";

struct Binary {
  std::string_view token;
  int strength;
  std::string_view function;
};
constexpr int kAndStrength = 2, kOrStrength = 1, kWeakestBinary = 3;
constexpr std::array<Binary, 12> kBinary = {{{"<", 3, "_<_"},
                                             {"<=", 3, "_<=_"},
                                             {">=", 3, "_>=_"},
                                             {">", 3, "_>_"},
                                             {"==", 3, "_==_"},
                                             {"!=", 3, "_!=_"},
                                             {"in", 3, "@in"},
                                             {"+", 4, "_+_"},
                                             {"-", 4, "_-_"},
                                             {"*", 5, "_*_"},
                                             {"/", 5, "_/_"},
                                             {"%", 5, "_%_"}}};

template <class Container>
bool contains(const Container& container, std::string_view text) {
  return std::find(container.begin(), container.end(), text) != container.end();
}

// Recursive descent; after the first error every function returns null.
class Parser {
 public:
  explicit Parser(const std::vector<Token>& tokens) : tokens_(tokens) {}

  std::variant<NodeRef, Diagnostic> run() {
    NodeRef node = expression();
    if (node && peek().kind != TokenKind::End) {
      const bool extra = peek().text == ")" || peek().text == "]" || peek().text == "}" ||
                         peek().kind == TokenKind::Punctuation;
      fail(peek(), std::string("Syntax error: ") + (extra ? "extraneous" : "mismatched") + " input '" +
                       std::string(peek().text) + "' expecting <EOF>");
    }
    if (fault_) return *fault_;
    return node;
  }

 private:
  // Counts one level of nesting during its lifetime.
  class Level {
   public:
    explicit Level(Parser& parser) : parser_(parser) { ++parser_.depth_; }
    Level(const Level&) = delete;
    ~Level() { --parser_.depth_; }

   private:
    Parser& parser_;
  };

  const Token& peek(std::size_t ahead = 0) const {
    return tokens_[std::min(at_ + ahead, tokens_.size() - 1)];
  }
  bool at(std::string_view punctuation) const {
    return peek().kind == TokenKind::Punctuation && peek().text == punctuation;
  }
  bool accept(std::string_view punctuation) {
    if (!at(punctuation)) return false;
    ++at_;
    return true;
  }
  std::nullptr_t fail(const Token& token, std::string message) {
    if (!fault_) fault_ = Diagnostic{token.offset, std::move(message)};
    return nullptr;
  }
  std::string shown(const Token& token) const {
    return token.kind == TokenKind::End ? "<EOF>" : std::string(token.text);
  }
  std::nullptr_t unexpected() {
    const std::string_view optional = at_ == index_begin_ ? "'?', " : "";
    return fail(peek(), "Syntax error: mismatched input '" + shown(peek()) + "'" +
                            std::string(kExpectedFirst) + std::string(optional) + std::string(kExpectedRest));
  }
  bool expect(std::string_view punctuation) {
    if (accept(punctuation)) return true;
    fail(peek(), "Syntax error: mismatched input '" + shown(peek()) + "' expecting '" +
                     std::string(punctuation) + "'");
    return false;
  }
  bool too_deep(int depth) {
    if (depth <= kNestingMax) return false;
    fail(peek(), "expression recursion limit exceeded: " + std::to_string(kNestingMax));
    return true;
  }

  static int depth_of_args(const Node& node) {
    int deepest = 0;
    for (const NodeRef& arg : node.args) deepest = std::max<int>(deepest, arg->depth);
    return deepest;
  }

  // Left-leaning chains nest without nested calls of this parser; the tree's own depth bounds them.
  NodeRef measured(NodeRef node) {
    if (!node) return nullptr;
    node->depth = std::max<std::uint16_t>(node->depth, static_cast<std::uint16_t>(depth_of_args(*node) + 1));
    return too_deep(node->depth) ? nullptr : std::move(node);
  }

  NodeRef expression() {
    const Level level(*this);
    if (too_deep(depth_)) return nullptr;
    NodeRef condition = logic(kOrStrength);
    if (!condition || !at("?")) return condition;
    const std::uint32_t offset = peek().offset;
    ++at_;
    NodeRef yes = logic(kOrStrength);
    if (!yes || !expect(":")) return nullptr;
    NodeRef no = expression();
    if (!no) return nullptr;
    return measured(call(offset, "_?_:_", std::move(condition), std::move(yes), std::move(no)));
  }

  NodeRef logic(int strength) {
    const std::string_view token = strength == kOrStrength ? "||" : "&&";
    std::vector<NodeRef> terms;
    std::vector<std::uint32_t> offsets;
    do {
      NodeRef term = strength == kOrStrength ? logic(kAndStrength) : binary(kWeakestBinary);
      if (!term) return nullptr;
      terms.push_back(std::move(term));
      if (at(token)) offsets.push_back(peek().offset);
    } while (accept(token));
    return balanced(strength == kOrStrength ? "_||_" : "_&&_", terms, offsets, 0, terms.size() - 1);
  }

  // The tree of terms[low..high]; logarithmic depth, so that long chains do not count as nesting.
  NodeRef balanced(std::string_view function, std::vector<NodeRef>& terms,
                   const std::vector<std::uint32_t>& offsets, std::size_t low, std::size_t high) {
    if (low == high) return std::move(terms[low]);
    const std::size_t middle = (low + high) / 2;
    NodeRef left = balanced(function, terms, offsets, low, middle);
    NodeRef right = balanced(function, terms, offsets, middle + 1, high);
    return measured(call(offsets[middle], std::string(function), std::move(left), std::move(right)));
  }

  const Binary* operator_here() const {
    const bool is_in = peek().kind == TokenKind::Identifier && peek().text == "in";
    if (peek().kind != TokenKind::Punctuation && !is_in) return nullptr;
    const auto* found =
        std::find_if(kBinary.begin(), kBinary.end(), [&](const Binary& b) { return b.token == peek().text; });
    return found == kBinary.end() ? nullptr : found;
  }

  NodeRef binary(int strength) {
    NodeRef left = strength > 5 ? unary() : binary(strength + 1);
    for (const Binary* op; left && (op = operator_here()) && op->strength == strength;) {
      const std::uint32_t offset = peek().offset;
      ++at_;
      NodeRef right = strength >= 5 ? unary() : binary(strength + 1);
      if (!right) return nullptr;
      left = measured(call(offset, std::string(op->function), std::move(left), std::move(right)));
    }
    return left;
  }

  NodeRef unary() {
    const bool is_not = at("!"), is_minus = at("-");
    if (!is_not && !is_minus) return member();
    const std::uint32_t offset = peek().offset;
    const std::string_view token = is_not ? "!" : "-";
    const bool literal_next = peek(1).kind == TokenKind::Int || peek(1).kind == TokenKind::Double;
    if (is_minus && literal_next) return member();
    int count = 0;
    while (at(token)) ++at_, ++count;
    NodeRef operand = member();
    if (!operand || count % 2 == 0) return operand;
    return measured(call(offset, is_not ? "!_" : "-_", std::move(operand)));
  }

  NodeRef member() {
    NodeRef node = primary();
    while (node) {
      const std::uint32_t offset = peek().offset;
      if (accept("."))
        node = measured(select(std::move(node), offset));
      else if (accept("["))
        node = measured(index(std::move(node), offset));
      else
        return node;
    }
    return nullptr;
  }

  NodeRef select(NodeRef target, std::uint32_t offset) {
    const bool optional = accept("?");
    const Token& name = peek();
    if (name.kind != TokenKind::Identifier || contains(kKeywords, name.text))
      return fail(tokens_[at_ - 1],
                  "Syntax error: no viable alternative at input '." + std::string(name.text) + "'");
    ++at_;
    if (at("(") && !optional) return call_of(std::string(name.text), std::move(target));
    if (at("{") && !optional) {
      if (const std::string path = dotted(*target); !path.empty())
        return message(path + "." + std::string(name.text));
    }
    NodeRef node = new_node(NodeKind::Select, offset);
    node->is_optional = optional;
    node->name = name.text;
    node->args.push_back(std::move(target));
    return node;
  }

  NodeRef index(NodeRef target, std::uint32_t offset) {
    index_begin_ = at_;
    const bool optional = accept("?");
    NodeRef key = expression();
    if (!key || !expect("]")) return nullptr;
    NodeRef node = call(offset, optional ? "_[?_]" : "_[_]", std::move(target), std::move(key));
    node->is_optional = optional;
    return node;
  }

  static std::string dotted(const Node& node) {
    if (node.kind == NodeKind::Identifier) return node.name;
    if (node.kind != NodeKind::Select || node.is_optional) return "";
    const std::string left = dotted(*node.args[0]);
    return left.empty() ? "" : left + "." + node.name;
  }

  NodeRef call_of(std::string name, NodeRef target) {
    NodeRef node = new_call(peek().offset, std::move(name), {});
    node->is_member = target != nullptr;
    if (target) node->args.push_back(std::move(target));
    ++at_;
    while (!at(")")) {
      NodeRef arg = expression();
      if (!arg) return nullptr;
      node->args.push_back(std::move(arg));
      if (!accept(",") || at(")")) break;
    }
    if (!expect(")")) return nullptr;
    const int depth = depth_of_args(*node);
    std::variant<NodeRef, Diagnostic> expanded = expand_macro(std::move(node));
    if (Diagnostic* fault = std::get_if<Diagnostic>(&expanded)) {
      if (!fault_) fault_ = std::move(*fault);
      return nullptr;
    }
    NodeRef result = std::get<NodeRef>(std::move(expanded));
    result->depth = static_cast<std::uint16_t>(depth + 1);
    return result;
  }

  NodeRef primary() {
    const Token& token = peek();
    if (token.kind == TokenKind::End) return unexpected();
    if (token.kind == TokenKind::Identifier) return identifier();
    if (token.kind != TokenKind::Punctuation || token.text == "-") return literal();
    if (accept("(")) {
      NodeRef inner = expression();
      if (!inner || !expect(")")) return nullptr;
      return inner;
    }
    if (at("[")) return list();
    if (at("{")) return map();
    if (accept(".")) {
      NodeRef named = identifier();
      if (named && named->kind == NodeKind::Constant) return fail(token, "a name must follow the dot");
      if (named) named->is_absolute = named->kind == NodeKind::Identifier;
      return named;
    }
    return unexpected();
  }

  NodeRef identifier() {
    const Token& token = peek();
    if (token.kind != TokenKind::Identifier || token.text == "in") return unexpected();
    ++at_;
    const bool is_true = token.text == "true";
    if (is_true || token.text == "false") return constant(token, Value::of_bool(is_true));
    if (token.text == "null") return constant(token, Value());
    if (at("(")) return call_of(std::string(token.text), nullptr);
    if (contains(kReserved, token.text))
      return fail(token, "reserved identifier: " + std::string(token.text));
    if (at("{")) return message(std::string(token.text));
    NodeRef node = new_node(NodeKind::Identifier, token.offset);
    node->name = token.text;
    return node;
  }

  NodeRef constant(const Token& token, Value value) {
    NodeRef node = new_node(NodeKind::Constant, token.offset);
    node->constant = std::move(value);
    return node;
  }

  NodeRef literal() {
    const Token& first = peek();
    const bool negative = accept("-");
    const Token& token = peek();
    ++at_;
    if (token.kind == TokenKind::String) return constant(token, Value::of_string(token.content));
    if (token.kind == TokenKind::Bytes) return constant(token, Value::of_bytes(token.content));
    std::string text = (negative ? "-" : "") + std::string(token.text);
    if (token.kind == TokenKind::Double) {
      const double value = std::strtod(text.c_str(), nullptr);
      if (value > 1.7976931348623157e308 || value < -1.7976931348623157e308)
        return fail(first, "invalid double literal");
      return constant(first, Value::of_double(value));
    }
    const bool is_uint = token.kind == TokenKind::Uint;
    if (is_uint) text.pop_back();
    const std::size_t sign = negative ? 1 : 0;
    const bool hex = text.size() > sign + 1 && (text[sign + 1] == 'x' || text[sign + 1] == 'X');
    if (hex) text.erase(sign, 2);
    const auto parsed = [&](auto& number) {
      const auto [end, error] =
          std::from_chars(text.data(), text.data() + text.size(), number, hex ? 16 : 10);
      return error == std::errc() && end == text.data() + text.size();
    };
    std::uint64_t natural = 0;
    std::int64_t integer = 0;
    if (is_uint ? !parsed(natural) : !parsed(integer))
      return fail(first, is_uint ? "invalid uint literal" : "invalid int literal");
    return constant(first, is_uint ? Value::of_uint(natural) : Value::of_int(integer));
  }

  NodeRef list() {
    NodeRef node = new_node(NodeKind::List, peek().offset);
    ++at_;
    while (!at("]")) {
      node->optional_entries.push_back(accept("?"));
      NodeRef item = expression();
      if (!item) return nullptr;
      node->args.push_back(std::move(item));
      if (!accept(",")) break;
    }
    return expect("]") ? measured(std::move(node)) : nullptr;
  }

  NodeRef map() {
    NodeRef node = new_node(NodeKind::Map, peek().offset);
    ++at_;
    while (!at("}")) {
      node->optional_entries.push_back(accept("?"));
      NodeRef key = expression();
      if (!key) return nullptr;
      node->entry_offsets.push_back(peek().offset);
      if (!expect(":")) return nullptr;
      NodeRef value = expression();
      if (!value) return nullptr;
      node->args.push_back(std::move(key));
      node->args.push_back(std::move(value));
      if (!accept(",")) break;
    }
    return expect("}") ? measured(std::move(node)) : nullptr;
  }

  NodeRef message(std::string name) {
    NodeRef node = new_node(NodeKind::Message, peek().offset);
    node->name = std::move(name);
    ++at_;
    while (!at("}")) {
      node->optional_entries.push_back(accept("?"));
      if (peek().kind != TokenKind::Identifier) return unexpected();
      node->fields.emplace_back(peek().text);
      ++at_;
      node->entry_offsets.push_back(peek().offset);
      if (!expect(":")) return nullptr;
      NodeRef value = expression();
      if (!value) return nullptr;
      node->args.push_back(std::move(value));
      if (!accept(",")) break;
    }
    return expect("}") ? measured(std::move(node)) : nullptr;
  }

  template <class... Nodes>
  static NodeRef call(std::uint32_t offset, std::string function, Nodes... nodes) {
    std::vector<NodeRef> args;
    (args.push_back(std::move(nodes)), ...);
    return new_call(offset, std::move(function), std::move(args));
  }

  const std::vector<Token>& tokens_;
  std::size_t at_ = 0;
  std::size_t index_begin_ = std::string_view::npos;  // behind the '[' of the latest index
  int depth_ = 0;
  std::optional<Diagnostic> fault_;
};

}  // namespace

std::variant<NodeRef, Diagnostic> parse(std::string_view text) {
  std::vector<Token> tokens;
  if (std::optional<Diagnostic> fault = tokenize(text, tokens)) return std::move(*fault);
  return Parser(tokens).run();
}

}  // namespace berth::cel
