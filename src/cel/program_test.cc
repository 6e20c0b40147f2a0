#include "cel/program.h"

#include <gtest/gtest.h>

#include "cel/dra_environment.h"
#include "cel/patch_types.h"

namespace berth::cel {
namespace {

DeviceRecord gpu() {
  DeviceRecord device("gpu.example.com", true);
  device.add_attribute("model", Value::of_string("A100"));
  device.add_attribute("type", Value::of_string("gpu"));
  device.add_attribute("vendor.io/index", Value::of_int(3));
  device.add_attribute("healthy", Value::of_bool(true));
  device.add_attribute("driverVersion", Value::of_semver(*parse_semver("1.10.0")));
  device.add_capacity("memory", *parse_quantity("80Gi"));
  return device;
}

// "true", "error: …" or "compile: …"; the value as text for results of other types.
std::string answer(std::string_view text, CostBudget budget = {}) {
  const auto compiled = compile(dra_environment(), text, ResultRule::Any);
  if (const auto* error = std::get_if<CompileError>(&compiled)) return "compile: " + error->message;
  const DeviceRecord device = gpu();
  const Value variables[] = {Value::borrow_object(device)};
  const EvalResult result = std::get<Program>(compiled).evaluate(variables, budget);
  if (result.ok()) return debug_text(result.value());
  return (result.failure().failure_class == FailureClass::Cost ? "cost: " : "error: ") +
         result.failure().text_and_hint();
}

struct Case {
  const char* text;
  const char* answer;
};

TEST(Evaluation, Devices) {
  const Case kCases[] = {
      {"device.driver == 'gpu.example.com'", "true"},
      {"device.attributes['gpu.example.com'].model == 'A100'", "true"},
      {"device.attributes['vendor.io'].index > 2", "true"},
      {"'unknown.io' in device.attributes", "false"},
      {"size(device.attributes['unknown.io'])", "0"},
      {"has(device.attributes.unknown)", "true"},
      {"device.attributes[?'unknown'].hasValue()", "true"},
      {"device.attributes['unknown.io'].?x.orValue(7)", "7"},
      {"device.attributes.all(d, d.endsWith('o') || d.endsWith('com'))", "true"},
      {"device.attributes['gpu.example.com'].driverVersion.isGreaterThan(semver('1.9.0'))", "true"},
      {"device.capacity['gpu.example.com'].memory.compareTo(quantity('40Gi'))", "1"},
      {"device.allowMultipleAllocations", "true"},
      {"device.attributes['gpu.example.com'].healthy", "true"},
  };
  for (const auto& [text, expected] : kCases) EXPECT_EQ(answer(text), expected) << text;
}

// Results of the real environment for new expressions, with and without the two gates.
TEST(Environments, GatesTakeFromNewExpressions) {
  struct Row {
    const char* text;
    const char* without_lists;  // the error; empty: legal
    const char* without_capacity;
  };
  const std::string no_range =
      "expression of type 'any' cannot be range of a comprehension (must be list, map, or dynamic)";
  const Row kRows[] = {
      {"device.attributes['d'].l.includes('a')", "undeclared reference to 'includes'", ""},
      {"['a'].includes('a')", "undeclared reference to 'includes'", ""},
      {"device.attributes['d'].l.exists(x, x == 'a')", no_range.c_str(), ""},
      {"device.attributes['d'].l.sortBy(x, x) == ['a']", no_range.c_str(), ""},
      {"cel.bind(x, device.attributes['d'].l, x.all(y, y == 'a'))", no_range.c_str(), ""},
      {"[device.attributes['d'].i, 'x'].size() == 2", "expected type 'any' but found 'string'",
       "expected type 'dyn' but found 'string'"},
      {"device.attributes['d'].exists(k, k == 'l')", "", ""},
      {"dyn(device.attributes['d'].l).exists(x, x == 'a')", "", ""},
      {"'a' in device.attributes['d'].l && device.attributes['d'].l[0] == 'a'", "", ""},
      {"device.attributes['d'].i + 1 == 4 && device.attributes['d'].s.startsWith('v')", "", ""},
      {"device.allowMultipleAllocations", "", "undefined field 'allowMultipleAllocations'"},
  };
  const auto complaint = [](DraFeatures features, const char* text) {
    const auto compiled = compile(dra_environment(features), text);
    const auto* error = std::get_if<CompileError>(&compiled);
    return error ? error->text : "";
  };
  for (const Row& row : kRows) {
    for (const auto& [features, expected] : {std::pair{DraFeatures{false, true}, row.without_lists},
                                             {DraFeatures{true, false}, row.without_capacity}}) {
      const std::string found = complaint(features, row.text);
      EXPECT_EQ(found.empty(), *expected == 0) << row.text << ": " << found;
      EXPECT_NE(found.find(expected), std::string::npos) << row.text << ": " << found;
    }
  }
}

// The authorization library is declared, but no variable holds an authorizer.
TEST(Environments, AuthorizationHasNoAuthorizer) {
  const std::string s = "device.attributes['gpu.example.com'].model";
  const std::vector<std::pair<std::string, std::string>> rows = {
      {s + ".allowed()", "error: no such overload: allowed(string)"},
      {s + ".path('/').check('get').allowed()", "error: no such overload: path(string, string)"},
      {s + ".group('a').resource('b').subresource('c').namespace('n').name('m').check('get').allowed()",
       "error: no such overload: group(string, string)"},
      {s + ".serviceAccount('a', 'b').path('/').check('get').errored()",
       "error: no such overload: serviceAccount(string, string, string)"},
      {s + ".labelSelector('a=b').check('x').reason() == ''",
       "error: no such overload: labelSelector(string, string)"},
      {"device.driver.allowed()", "compile: found no matching overload for 'allowed' applied to 'string.()'"},
      {s + ".path('/').allowed()",
       "compile: found no matching overload for 'allowed' applied to "
       "'kubernetes.authorization.PathCheck.()'"},
      {"authorizer.path('/').check('get').allowed()", "compile: undeclared reference to 'authorizer'"},
      {"isImage('a')", "compile: undeclared reference to 'isImage'"},
  };
  for (const auto& [text, expected] : rows) EXPECT_TRUE(answer(text).starts_with(expected)) << answer(text);
  for (const auto& [text, cost] :
       {std::pair{s + ".fieldSelector('a=b').check('x').allowed()", 350116u},
        {s + ".fieldSelector('').check('x').allowed()", 350015u},
        {s + ".check('x').allowed() || " + s + ".check('y').allowed()", 700010u}}) {
    const auto compiled = compile(dra_environment(), text);
    ASSERT_TRUE(std::holds_alternative<Program>(compiled)) << text;
    EXPECT_EQ(std::get<Program>(compiled).estimated_cost(), cost) << text;
  }
}

TEST(Evaluation, ErrorsAreAbsorbedByDecisiveOperandsOnly) {
  const Case kCases[] = {
      {"1 / 0 == 1 || true", "true"},
      {"1 / 0 == 1 && false", "false"},
      {"1 / 0 == 1 || false", "error: division by zero"},
      {"[1, 2].exists(x, 1 / (x - 1) == 1)", "true"},
      {"[0, 2].exists_one(x, 2 / x == 1)", "error: division by zero"},
      {"cel.bind(x, 1 / 0, true)", "true"},
      {"cel.bind(x, 1 / 0, x == 1)", "error: division by zero"},
      {"optional.of(1).orValue(1 / 0)", "1"},
      {"dyn(1) || true", "true"},
      {"dyn(1) || false", "error: no such overload"},
      {"1 / 0 in []", "false"},
      {"1 / 0 in [1]", "error: division by zero"},
  };
  for (const auto& [text, expected] : kCases) EXPECT_EQ(answer(text), expected) << text;
}

TEST(Evaluation, Libraries) {
  const Case kCases[] = {
      {"{'a': 1}.transformMap(k, v, v + 1)", "{\"a\": 2}"},
      {"[3, 1, 2].sortBy(x, -x)", "[3, 2, 1]"},
      {"'a,b,,c'.split(',')", "[\"a\", \"b\", \"\", \"c\"]"},
      {"'1a22'.findAll('[0-9]+')", "[\"1\", \"22\"]"},
      {"'abc'.findAll('x*')", "[\"\", \"\", \"\", \"\"]"},
      {"string(ip('2001:db8:0:0:1::1'))", "\"2001:db8::1:0:0:1\""},
      {"string(cidr('10.1.2.3/9').masked())", "\"10.0.0.0/9\""},
      {"url('https://u@h.x:8/p%20q?a=1&a=b+c').getQuery()", "{\"a\": [\"1\", \"b c\"]}"},
      {"string(timestamp('2024-02-29T12:00:00.5Z') + duration('24h'))", "\"2024-03-01T12:00:00.5Z\""},
      {"string(duration('-1.5s'))", "\"-1.5s\""},
      {"timestamp('2024-07-01T00:00:00Z').getHours('Europe/Berlin')", "2"},
      {"'%d %s %x %.1f'.format([7, [1, 'a'], 'hi', 2.25])", "\"7 [1, \\\"a\\\"] 6869 2.2\""},
      {"[1, 1.0, dyn(2)].size()", "compile: expected type 'int' but found 'double'"},
      {"'%.1f %e'.format([dyn('-Infinity'), 'NaN'])", "\"-∞ NaN\""},
      {"'%.1f'.format([dyn(1)])",
       "error: error during formatting: fixed-point clause can only be used on doubles, was given int"},
      {"'%.1f'.format([1])",
       "compile: error during formatting: fixed-point clause can only be used on doubles, was given int"},
      {"1 in [].map(x, -x)",
       "compile: found no matching overload for '@in' applied to '(int, list(double))'"},
      {"cel.bind(v, 1, .v)", "compile: undeclared reference to 'v' (in container ''); did you mean 'v'?"},
      {".true", "compile: a name must follow the dot"},
      {"[1].all(.v, v)", "compile: argument must be a simple name"},
      {"'ö'ß", "compile: Syntax error: token recognition error at: 'ß'"},
      {"dyn(1) == 1.0 && dyn(1u) == 1 && 1 < 1.5", "true"},
      {"0.0 / 0.0 < 1.0", "error: NaN values cannot be ordered"},
      {"[[1, [2]]] == [[1, [2]]]", "compile: expected type 'int' but found 'list(int)'"},
      {"lists.range(5).map(x, x * x).filter(x, x % 2 == 0)", "[0, 4, 16]"},
      {"optional.of(2).optMap(x, x * 2).value()", "4"},
      {"1.includes(1) && [1, 2].includes(2) && !'a'.includes('b')", "true"},
      {"type(device.capacity['x'])", "map"},
      {"sets.equivalent([1, 2, 2], [2, 1])", "true"},
  };
  for (const auto& [text, expected] : kCases) EXPECT_EQ(answer(text), expected) << text;
}

std::string patch_answer(std::string_view text) {
  Environment environment = Environment::extending([]() -> const Environment& {
    static const Environment kLibrary = [] {
      Environment library;
      declare_standard_library(library);
      declare_patch_types(library);
      return library;
    }();
    return kLibrary;
  }());
  const auto compiled = compile(environment, text, ResultRule::Any);
  if (const auto* error = std::get_if<CompileError>(&compiled)) return "compile: " + error->message;
  const Program& program = std::get<Program>(compiled);
  const EvalResult result = program.evaluate({});
  if (!result.ok()) return "error: " + result.failure().text;
  return program.result_type() + " " + debug_text(result.value());
}

TEST(Messages, LiteralsOfPatchesMakeValues) {
  const struct {
    const char *text, *answer;
  } rows[] = {{"Object{spec: Object.spec{replicas: 3, anything: 'x'}}", "Object Object{}"},
              {"true ? [JSONPatch{op: 'add', path: '/a', value: 1}] : []", "list(JSONPatch) [JSONPatch{}]"},
              {"Object{a: 1} == Object{a: 1}", "bool true"},
              {"Object{a: 1} == Object{a: 1, b: 2}", "bool false"},
              {"Object{?a: optional.none()} == Object{}", "bool true"},
              {"Object{?a: optional.of(1)} == Object{a: 1}", "bool true"},
              {"Object{?a: dyn(1)}", "error: cannot initialize optional entry 'a' from non-optional value"},
              {"Object{?a: 1}", "compile: expected type 'optional_type(dyn)' but found 'int'"},
              {"Object{a: 1}.a", "error: no such key: a"},
              {"JSONPatch{op: 'add'}.op + JSONPatch{}.path", "string \"add\""},
              {"JSONPatch{op: 1}", "compile: expected type 'string' but found 'int'"},
              {"JSONPatch{ops: ''}", "compile: undefined field 'ops'"},
              {"Objects{}", "compile: undeclared reference to 'Objects' (in container '')"},
              {"jsonpatch.escapeKey('a/b~c')", "string \"a~1b~0c\""}};
  for (const auto& row : rows)
    EXPECT_EQ(patch_answer(row.text).substr(0, std::string_view(row.answer).size()), row.answer) << row.text;
}

TEST(Compilation, MessagesNameWhatWasProbablyMeant) {
  const Case kCases[] = {
      {"devise.driver == 'a'",
       "compile: undeclared reference to 'devise' (in container ''); did you mean 'device'?"},
      {"device.atributes", "compile: undefined field 'atributes'; did you mean 'attributes'?"},
      {"'a'.startWith('b')",
       "compile: undeclared reference to 'startWith' (in container ''); did you mean 'startsWith'?"},
      {"device.nope", "compile: undefined field 'nope'"},
      {"quantity('1') > quantity('2')",
       "compile: found no matching overload for '_>_' applied to '(kubernetes.Quantity, "
       "kubernetes.Quantity)'"},
      {"[?dyn(1)] == [1]", "compile: an optional entry needs a value of optional type, this one is dynamic"},
      {"true || int('abc') == 1",
       "compile: program instantiation failed: type conversion error from 'string' to 'int'"},
      {"true || double('0x10') == 16.0",
       "compile: program instantiation failed: type conversion error from 'string' to 'double'"},
  };
  for (const auto& [text, expected] : kCases) EXPECT_EQ(answer(text), expected) << text;
}

TEST(Compilation, SelectorsYieldBool) {
  const auto compiled = compile(dra_environment(), "device.driver");
  ASSERT_EQ(compiled.index(), 1u);
  EXPECT_EQ(std::get<CompileError>(compiled).text, "must evaluate to bool or the unknown type, not string");
}

TEST(Compilation, TextIsWhatKubernetesPrints) {
  const auto compiled = compile(dra_environment(), "true &&\n 1 + 'é'");
  ASSERT_EQ(compiled.index(), 1u);
  const CompileError& error = std::get<CompileError>(compiled);
  EXPECT_EQ(error.line, 2);
  EXPECT_EQ(error.column, 4);
  EXPECT_EQ(error.text,
            "compilation failed: ERROR: <input>:2:4: found no matching overload for '_+_' applied to '(int, "
            "string)'\n"
            " |  1 + 'é'\n | ...^");
}

TEST(MissingKeys, TheTextOfKubernetesComesFirstAndWhatWasMeantAfterIt) {
  const struct {
    const char* text;
    const char* id;
    const char* hint;
  } kCases[] = {
      {"device.attributes['type'].string == 'gpu'", "string",
       "'type' is read as a domain, and this device has none of that name; its driver publishes 'type', so "
       "write "
       "device.attributes['gpu.example.com'].type (a value has no .string)"},
      {"device.attributes['kind'].string == 'gpu'", "string",
       "'kind' is read as a domain, and this device has none of that name; for an attribute 'kind' of the "
       "driver "
       "write device.attributes['gpu.example.com'].kind"},
      {"device.attributes['gpu.exmaple.com'].model == 'A100'", "model",
       "'gpu.exmaple.com' is read as a domain, and this device has none of that name; did you mean "
       "device.attributes['gpu.example.com'].model?"},
      {"device.attributes['gpu.example.com'].modle == 'A100'", "modle",
       "domain 'gpu.example.com' has no 'modle'; nearest: 'model'"},
      {"device.attributes['gpu.example.com'].zzzzzz == 'A100'", "zzzzzz",
       "domain 'gpu.example.com' has 'driverVersion', 'healthy', 'model' and others"},
      {"device.attributes['vendor.io'].zzzzzz == 1", "zzzzzz", "domain 'vendor.io' has 'index'"},
  };
  for (const auto& [text, id, hint] : kCases)
    EXPECT_EQ(
        answer(text),
        "error: no such key: " + std::string(id) +
            ". consider using CEL optional chaining (.? followed by orValue()) or guarding the check with "
            "has() for optional fields; " +
            hint);
}

TEST(Environments, GatesTakeNamesFromNewExpressionsOnly) {
  const struct {
    const char* text;
    DraFeatures without;
    const char* fault;
  } kCases[] = {
      {"device.attributes['a'].b.includes(1)",
       {.list_attributes = false},
       "undeclared reference to 'includes' (in container '')"},
      {"device.allowMultipleAllocations",
       {.consumable_capacity = false},
       "undefined field 'allowMultipleAllocations'"},
  };
  for (const auto& [text, without, fault] : kCases) {
    EXPECT_EQ(compile(dra_environment(), text).index(), 0u) << text;
    EXPECT_EQ(compile(dra_environment({}), text).index(), 0u) << text;
    const auto refused = compile(dra_environment(without), text);
    ASSERT_EQ(refused.index(), 1u) << text;
    EXPECT_EQ(std::get<CompileError>(refused).message, fault);
    EXPECT_EQ(compile(dra_environment({false, false}), text).index(), 1u) << text;
  }
}

TEST(Budget, LongWorkEndsInACostFailure) {
  EXPECT_EQ(answer("lists.range(1000).all(x, lists.range(1000).all(y, x + y >= 0))"),
            "cost: operation cancelled: actual cost limit exceeded");
  EXPECT_EQ(answer("[1, 2, 3].all(x, x > 0) || true", {5}),
            "cost: operation cancelled: actual cost limit exceeded");
}

TEST(Budget, EstimatesTellTheTooComplexApart) {
  const struct {
    const char* text;
    bool is_too_complex;
  } kCases[] = {
      {"device.driver == 'a'", false},
      {"device.attributes['a'].b.matches('^x+$')", false},
      {"device.attributes.all(d, device.attributes[d].all(i, i.startsWith('a')))", false},
      {"lists.range(1000).all(x, lists.range(1000).all(y, x + y >= 0))", true},
      {"device.attributes.all(a, device.attributes.all(b, device.attributes.all(c, device.attributes.all(d, "
       "a == d))))",
       true},
  };
  for (const auto& [text, is_too_complex] : kCases) {
    const auto compiled = compile(dra_environment(), text);
    ASSERT_EQ(compiled.index(), 0u) << text;
    const std::uint64_t estimate = std::get<Program>(compiled).estimated_cost();
    EXPECT_EQ(estimate > kSelectorCostMax, is_too_complex) << text << " is estimated at " << estimate;
  }
}

// What costs little as Kubernetes counts it, but takes long.
TEST(Budget, WorkThatCostDoesNotCountIsBounded) {
  constexpr const char* kTerms[] = {
      "lists.range(900000).size() > 0",
      "(lists.range(900000) + lists.range(900000)).size() > 0",
      "lists.range(900000).sort().size() > 0",
      "lists.range(900000) == lists.range(900000)",
      "lists.range(2000).map(x, [x]).distinct().size() > 0",
      "'a'.replace('', 'aaaaaaaaaaaaaaaa').size() > 0",
  };
  for (const std::string term : kTerms) {
    std::uint64_t left = 2'000'000;
    const auto compiled = compile(dra_environment(), "lists.range(10).map(i, " + term + ").size() > 0");
    ASSERT_EQ(compiled.index(), 0u) << term;
    const Program& program = std::get<Program>(compiled);
    EvalResult result = program.evaluate(std::vector<Value>(1), {UINT64_MAX / 2, &left});
    for (int i = 0; i < 100'000 && result.ok(); ++i)
      result = program.evaluate(std::vector<Value>(1), {UINT64_MAX / 2, &left});
    ASSERT_FALSE(result.ok()) << term;
    EXPECT_EQ(result.failure().failure_class, FailureClass::Cost) << term;
    EXPECT_EQ(left, 0u) << term;
  }
}

TEST(Budget, TypesDoNotDouble) {
  std::string text = "v40 == v40";
  for (int i = 40; i > 0; --i)
    text = "cel.bind(v" + std::to_string(i) + ", {v" + std::to_string(i - 1) + ": v" + std::to_string(i - 1) +
           "}, " + text + ")";
  const auto compiled = compile(dra_environment(), "cel.bind(v0, 1, " + text + ")");
  ASSERT_EQ(compiled.index(), 1u);
  EXPECT_NE(std::get<CompileError>(compiled).text.find("nests more than 600 types"), std::string::npos);
}

TEST(Budget, BigValuesEndInAnError) {
  std::string nested = "cel.bind(a0, lists.range(100000), ";
  for (int i = 1; i <= 20; ++i)
    nested += "cel.bind(a" + std::to_string(i) + ", a" + std::to_string(i - 1) + " + a" +
              std::to_string(i - 1) + ", ";
  nested += "a20.size() > 0" + std::string(21, ')');
  EXPECT_EQ(answer(nested), "error: list exceeds 2097152 items");
}

}  // namespace
}  // namespace berth::cel
