#include "cel/parser.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "cel/dra_environment.h"
#include "cel/program.h"

namespace berth::cel {
namespace {

std::string tree_of(std::string_view text) {
  std::variant<NodeRef, Diagnostic> parsed = parse(text);
  if (const Diagnostic* fault = std::get_if<Diagnostic>(&parsed))
    return std::to_string(fault->offset) + ": " + fault->message;
  return ast_text(*std::get<NodeRef>(parsed));
}

TEST(Parser, Trees) {
  const struct {
    const char* text;
    const char* tree;
  } kCases[] = {
      {"1 + 2 * 3", "(_+_ 1 (_*_ 2 3))"},
      {"1 - 2 - 3", "(_-_ (_-_ 1 2) 3)"},
      {"a < b == c", "(_==_ (_<_ a b) c)"},
      {"a || b && c", "(_||_ a (_&&_ b c))"},
      {"a && b && c && d", "(_&&_ (_&&_ a b) (_&&_ c d))"},
      {"a ? b : c ? d : e", "(_?_:_ a b (_?_:_ c d e))"},
      {"!!a", "a"},
      {"---a", "(-_ a)"},
      {"-1", "-1"},
      {"-9223372036854775808", "-9223372036854775808"},
      {"0xFFu", "255u"},
      {".5e1", "5.0"},
      {"a.b[0].?c[?'d']", "(_[?_] (_[_] a.b 0).?c \"d\")"},
      {"[1, ?x]", "(list 1 ?x)"},
      {"{'a': 1, ?'b': x}", "(map \"a\":1 ?\"b\":x)"},
      {"has(a.b)", "has(a.b)"},
      {"'\\u00e9\\x41\\101' + r'\\n'", "(_+_ \"éAA\" \"\\\\n\")"},
      {"b'\\xff'", "b\"\xff\""},
      {"'''a\n'b'''", "\"a\\n'b\""},
      {"1.includes(2)", "(.includes 1 2)"},
      {"x.all(i, i > 0)",
       "(fold i @result x true (@not_strictly_false @result) (_&&_ @result (_>_ i 0)) @result)"},
      {"x.map(i, i > 0, i)",
       "(fold i @result x (list) true (_?_:_ (_>_ i 0) (_+_ @result (list i)) @result) @result)"},
      {"x.transformMap(k, v, v)", "(fold k,v @result x (map) true (cel.@mapInsert @result k v) @result)"},
      {"cel.bind(a, 1, a)", "(fold #unused a (list) 1 false a a)"},
      {"a // comment", "a"},
  };
  for (const auto& [text, tree] : kCases) EXPECT_EQ(tree_of(text), tree) << text;
}

TEST(Parser, Faults) {
  const struct {
    const char* text;
    const char* fault;
  } kCases[] = {
      {"true)", "4: Syntax error: extraneous input ')' expecting <EOF>"},
      {"true and false", "5: Syntax error: mismatched input 'and' expecting <EOF>"},
      {"a[",
       "2: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', '?', "
       "'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}"},
      {"a[1 +",
       "5: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', "
       "'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}"},
      {"9223372036854775808", "0: invalid int literal"},
      {"has(a)", "4: invalid argument to has() macro"},
      {"[1].all(1, true)", "8: argument must be a simple name"},
      {"[1].exists(v, v, true)", "14: duplicate variable name: v"},
      {"for", "0: reserved identifier: for"},
      {"'\\ud800'", "0: Syntax error: token recognition error at: ''\\ud800'"},
      {"\xff", "0: expression is not valid UTF-8"},
  };
  for (const auto& [text, fault] : kCases) EXPECT_EQ(tree_of(text), fault) << text;
}

std::string repeated(std::string_view text, std::size_t times) {
  std::string out;
  for (std::size_t i = 0; i < times; ++i) out += text;
  return out;
}

TEST(Parser, HostileExpressionsEndInANamedError) {
  const std::string kDepth = "expression recursion limit exceeded: 250";
  const struct {
    std::string text;
    std::string message;
  } kCases[] = {
      {repeated("(", 1000) + "1" + repeated(")", 1000), kDepth},
      {repeated("[", 5000), kDepth},
      {"1" + repeated("+1", 4000), kDepth},
      {"a" + repeated(".a", 4000), kDepth},
      {"a" + repeated("[0]", 3000), kDepth},
      {repeated("{1:", 3000), kDepth},
      {repeated("a?b:", 2000), kDepth},
      {repeated("[1].map(x,", 1000), kDepth},
      {"a" + repeated(".f()", 2000), kDepth},
      {"(1" + repeated("+1", 240) + ")" + repeated("+1", 240), kDepth},
      {repeated("x", kExpressionBytesMax + 1), "expression is 10241 bytes long, the limit is 10240"},
  };
  for (const auto& [text, message] : kCases) {
    const std::string tree = tree_of(text);
    EXPECT_NE(tree.find(message), std::string::npos) << text.substr(0, 40) << " gave " << tree.substr(0, 200);
  }
}

TEST(Parser, LongFlatChainsAreFine) {
  EXPECT_EQ(compile(dra_environment(), "true" + repeated(" && true", 1200)).index(), 0u);
  EXPECT_EQ(compile(dra_environment(), "[1" + repeated(",1", 4000) + "] == []").index(), 0u);
  EXPECT_EQ(compile(dra_environment(), repeated("!", 8000) + "true").index(), 0u);
}

// Random sequences of fragments reach further into the parser than random bytes.
const std::vector<std::string>& fragments() {
  static const std::vector<std::string> kFragments = {"device",
                                                      ".attributes",
                                                      ".capacity",
                                                      ".driver",
                                                      "[",
                                                      "]",
                                                      "(",
                                                      ")",
                                                      "{",
                                                      "}",
                                                      "'a'",
                                                      "\"b\"",
                                                      "1",
                                                      "2u",
                                                      "1.5",
                                                      "-",
                                                      "!",
                                                      "&&",
                                                      "||",
                                                      "==",
                                                      "<",
                                                      "+",
                                                      "%",
                                                      "?",
                                                      ":",
                                                      ".",
                                                      ",",
                                                      " in ",
                                                      "true",
                                                      "null",
                                                      ".all(x,",
                                                      ".map(x,",
                                                      "x",
                                                      ".exists(i, v,",
                                                      "cel.bind(x,",
                                                      "has(",
                                                      ".?",
                                                      "[?",
                                                      "orValue(",
                                                      "optional.of(",
                                                      "size(",
                                                      "b'",
                                                      "r\"",
                                                      "\\",
                                                      "'''",
                                                      "é",
                                                      "\n",
                                                      "//",
                                                      "0x",
                                                      "1e",
                                                      "lists.range(",
                                                      ".format([",
                                                      "%s",
                                                      "semver('1.2.3')",
                                                      "quantity('1')"};
  return kFragments;
}

TEST(Parser, NoTextCrashesAnyPhase) {
  rc::check("compile and evaluate random texts", [] {
    const auto picks =
        *rc::gen::container<std::vector<std::size_t>>(rc::gen::inRange<std::size_t>(0, fragments().size()));
    std::string text;
    for (const std::size_t pick : picks) text += fragments()[pick];
    const auto compiled = compile(dra_environment(), text, ResultRule::Any);
    if (const auto* error = std::get_if<CompileError>(&compiled)) {
      RC_ASSERT(!error->message.empty());
      return;
    }
    const DeviceRecord device("dra.example.com");
    const Value variables[] = {Value::borrow_object(device)};
    std::get<Program>(compiled).evaluate(variables, {10000});
  });
}

}  // namespace
}  // namespace berth::cel
