// Compares with results recorded from the real environment: value and error class must agree; the number of
// equal costs and error texts must not fall.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>

#include "base/json.h"
#include "base/testing/source_dir.h"
#include "base/text_file.h"
#include "cel/dra_environment.h"
#include "cel/program.h"

namespace berth::cel {
namespace {

Value attribute_of(const Json& json) {
  if (const Json* value = json.find("string")) return Value::of_string(value->as_string());
  if (const Json* value = json.find("int")) return Value::of_int(value->as_int());
  if (const Json* value = json.find("bool")) return Value::of_bool(value->as_bool());
  if (const Json* value = json.find("version")) return Value::of_semver(*parse_semver(value->as_string()));
  static constexpr std::pair<const char*, const char*> kLists[] = {
      {"strings", "string"}, {"ints", "int"}, {"bools", "bool"}, {"versions", "version"}};
  std::vector<Value> items;
  for (const auto& [list, single] : kLists)
    for (const Json& item : json.items_at(list))
      items.push_back(attribute_of(Json::object({{single, item}})));
  return Value::of_list(std::move(items));
}

DeviceRecord device_of(const Json& json) {
  DeviceRecord device(std::string(json.string_at("driver")), json.bool_at("allowMultipleAllocations"));
  if (const Json* attributes = json.find("attributes"))
    for (const auto& [name, value] : attributes->as_object()) device.add_attribute(name, attribute_of(value));
  if (const Json* capacity = json.find("capacity"))
    for (const auto& [name, value] : capacity->as_object())
      device.add_capacity(name, *parse_quantity(value.string_at("value")));
  return device;
}

struct Answer {
  std::string verdict;  // "true", "false", "compile", "runtime"
  std::string text;
  std::int64_t cost = -1;
};

Answer our_answer(const Json& line) {
  auto compiled = compile(dra_environment(), line.string_at("expr"));
  if (const CompileError* error = std::get_if<CompileError>(&compiled)) return {"compile", error->text};
  const DeviceRecord device = device_of(*line.find("device"));
  const Value variables[] = {Value::borrow_object(device)};
  const EvalResult result = std::get<Program>(compiled).evaluate(variables);
  const auto cost = static_cast<std::int64_t>(result.cost);
  if (!result.ok()) return {"runtime", result.failure().text, cost};
  return {result.value().as_bool() ? "true" : "false", "", cost};
}

Answer recorded_answer(const Json& line) {
  const Json& expect = *line.find("expect");
  if (const Json* value = expect.find("value"))
    return {value->as_bool() ? "true" : "false", "", line.int_at("cost", expect.int_at("cost", -1))};
  return {std::string(expect.string_at("error")), std::string(expect.string_at("text"))};
}

// Intended differences.
struct Difference {
  const char* expression;
  const char* ours;
  const char* reason;
};
constexpr Difference kDifferences[] = {
    {"quantity('500m') == quantity('1e3').sub(0)", "false",
     "the reference compares a value with a pointer there and finds no overload"},
};

const Difference* difference_of(std::string_view expression) {
  for (const Difference& difference : kDifferences)
    if (difference.expression == expression) return &difference;
  return nullptr;
}

constexpr int kRecorded = 1500, kSameCost = 825, kSameText = 603;

TEST(Recorded, EverySelectorAgrees) {
  std::FILE* file = std::fopen(source_path("src/cel/testdata/device-selectors.jsonl").c_str(), "r");
  ASSERT_NE(file, nullptr);
  char* buffer = nullptr;
  std::size_t capacity = 0;
  int lines = 0, agreed = 0, same_text = 0, errors = 0, costed = 0, same_cost = 0;
  const bool verbose = std::getenv("CEL_VERBOSE") != nullptr;
  for (ssize_t length; (length = getline(&buffer, &capacity, file)) > 0;) {
    const Result<Json> line = parse_json(std::string_view(buffer, static_cast<std::size_t>(length)));
    ASSERT_TRUE(line.ok());
    const Answer expected = recorded_answer(*line), actual = our_answer(*line);
    ++lines;
    if (expected.verdict == actual.verdict) ++agreed;
    const Difference* known = difference_of(line->string_at("expr"));
    EXPECT_EQ(known ? known->ours : expected.verdict, actual.verdict)
        << line->string_at("expr") << "\n theirs: " << expected.text << "\n ours: " << actual.text;
    if (!expected.text.empty()) {
      ++errors;
      if (actual.text.starts_with(expected.text))
        ++same_text;
      else if (verbose)
        std::printf("TEXT %s\n  theirs: %s\n  ours:   %s\n", std::string(line->string_at("expr")).c_str(),
                    expected.text.c_str(), actual.text.c_str());
    }
    if (expected.cost >= 0) {
      ++costed;
      if (expected.cost == actual.cost)
        ++same_cost;
      else if (verbose)
        std::printf("COST %lld ours %lld %s\n", static_cast<long long>(expected.cost),
                    static_cast<long long>(actual.cost), std::string(line->string_at("expr")).c_str());
    }
  }
  std::free(buffer);
  std::fclose(file);
  std::printf("agreed %d of %d; same cost %d of %d; same error text %d of %d\n", agreed, lines, same_cost,
              costed, same_text, errors);
  EXPECT_EQ(lines, kRecorded);
  EXPECT_EQ(agreed, kRecorded - static_cast<int>(std::size(kDifferences)));
  EXPECT_GE(same_cost, kSameCost) << "of " << costed;
  EXPECT_GE(same_text, kSameText) << "of " << errors;
}

// Equality of each kind with each other one, positions beyond a text, optional indexes of what is no
// container: the whole answer, by the lowered program and, where it is not lowered, by the tree walker.
TEST(Recorded, EqualityAndIndexesAgree) {
  constexpr std::size_t kFileBytesMax = 1u << 20;
  const std::string path = source_path("src/cel/testdata/equality-and-indexes.json");
  const Json data = parse_json(read_text_file(path, kFileBytesMax).value()).value();
  ASSERT_GT(data.items_at("rows").size(), 1500u);
  for (const Json& row : data.items_at("rows")) {
    const JsonArray& fields = row.as_array();
    const Answer answer = our_answer(Json::object({{"expr", fields[0]}, {"device", data.part("device")}}));
    const std::string& expected = fields[1].as_string();
    EXPECT_EQ(answer.verdict, expected) << fields[0].as_string() << " " << answer.text;
    if (fields.size() > 3 && answer.verdict == expected) {
      EXPECT_TRUE(answer.text.starts_with(fields[3].as_string()))
          << fields[0].as_string() << " " << answer.text;
    }
  }
}

// Selectors with the largest cost that k8s.io/dynamic-resource-allocation 0.37 estimates:
// "116\t\"expression\"".
TEST(Recorded, EveryEstimateIsTheSame) {
  std::ifstream file(source_path("src/cel/testdata/device-estimates.tsv"));
  int lines = 0;
  for (std::string line; std::getline(file, line); ++lines) {
    const std::size_t tab = line.find('\t');
    ASSERT_NE(tab, std::string::npos);
    const std::string expression = parse_json(std::string_view(line).substr(tab + 1)).value().as_string();
    const auto compiled = compile(dra_environment(), expression);
    ASSERT_EQ(compiled.index(), 0u) << expression;
    EXPECT_EQ(std::to_string(std::get<Program>(compiled).estimated_cost()), line.substr(0, tab))
        << expression;
  }
  EXPECT_EQ(lines, 1175);
}

}  // namespace
}  // namespace berth::cel
