// rooms: crd crd_testing
//
// The CPU time of one definition and of one object, for every shape of crd/testing/hostile_shapes.h: parsing,
// shaping and validation as a request causes them, and for a definition the reading of the stored one.
#include <benchmark/benchmark.h>

#include "crd/definition_rules.h"
#include "crd/rules.h"
#include "crd/served_version.h"
#include "crd/shaping.h"
#include "crd/structure_check.h"
#include "crd/testing/hostile_shapes.h"
#include "crd/values.h"

namespace berth::crd {
namespace {

void read_and_compile(const std::vector<std::string>& schemas) {
  DefinitionBudget budget;
  for (const std::string& text : schemas) {
    const Schema schema = read_schema(parse_json(text).value());
    benchmark::DoNotOptimize(compile_rules(schema, budget));
  }
}

void define(benchmark::State& state, const HostileDefinition& shape) {
  for (auto _ : state) {
    DefinitionBudget budget;
    bool accepted = true;
    for (const std::string& text : shape.schemas)
      accepted &= check_schema(parse_json(text).value(), "s", false, budget).empty();
    if (accepted) read_and_compile(shape.schemas);
  }
}

void write(benchmark::State& state, const HostileObject& shape) {
  const Schema schema = read_schema(parse_json(shape.schema).value());
  DefinitionBudget definition;
  const std::shared_ptr<const RuleSet> rules = compile_rules(schema, definition);
  for (auto _ : state) {
    Json object = parse_json(shape.object).value();
    const Json old = shape.old.empty() ? Json() : parse_json(shape.old).value();
    const Json* before = shape.old.empty() ? nullptr : &old;
    prune(object, schema, true);
    ObjectBudget budget;
    if (!fill_defaults(object, schema)) continue;
    const bool fits = check_value(object, before, schema, LazyPath(""), budget).empty() &&
                      check_lists(object, schema).empty() && check_embedded(object, schema).empty();
    if (fits && rules) check_rules(*rules, schema, object, before, LazyPath(""), budget);
  }
}

const bool kRegistered = [] {
  for (const HostileDefinition& shape : hostile_definitions())
    benchmark::RegisterBenchmark(("definition: " + shape.name).c_str(), define, shape)
        ->Unit(benchmark::kMillisecond);
  for (const HostileObject& shape : hostile_objects(kHostileBytesMax - 50'000))
    benchmark::RegisterBenchmark(("object: " + shape.name).c_str(), write, shape)
        ->Unit(benchmark::kMillisecond);
  return true;
}();

}  // namespace
}  // namespace berth::crd
