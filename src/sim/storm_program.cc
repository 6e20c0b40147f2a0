#include "sim/storm_program.h"

#include <cstdio>
#include <fstream>
#include <sstream>

#include "base/json.h"
#include "sim/storm_shrink.h"

namespace berth::sim {
namespace {

Json counts_json(const FaultCounts& counts) {
  Json json = Json::object();
  for (std::size_t i = 0; i < counts.size(); ++i)
    if (counts[i] > 0) json[name_of(static_cast<FaultClass>(i))] = static_cast<std::int64_t>(counts[i]);
  return json;
}

Json result_json(std::uint64_t seed, const StormResult& result) {
  Json json = Json::object({{"seed", static_cast<std::int64_t>(seed)},
                            {"virtualMs", result.virtual_time.millis()},
                            {"pods", static_cast<std::int64_t>(result.pods)},
                            {"bindings", static_cast<std::int64_t>(result.bindings)},
                            {"writes", static_cast<std::int64_t>(result.writes)},
                            {"digest", std::to_string(result.digest)},
                            {"faults", counts_json(result.faults)}});
  for (std::size_t state = 0; state < kStormStates.size(); ++state)
    json["coverage"][kStormStates[state]] = counts_json(result.coverage[state]);
  JsonArray broken;
  for (const std::string& sentence : result.broken) broken.emplace_back(sentence);
  json["broken"] = std::move(broken);
  return json;
}

// A number is a seed, anything else a file.
Result<StormPlan> plan_of(const std::string& which) {
  if (!which.empty() && which.find_first_not_of("0123456789") == std::string::npos)
    return make_storm_plan(std::stoull(which));
  std::ifstream file(which);
  if (!file) return Error(ErrorCode::NotFound, which, "there is no such file");
  std::stringstream text;
  text << file.rdbuf();
  return parse_storm_plan(text.str(), which);
}

Status run_many(std::uint64_t first, std::uint64_t step, std::uint64_t count, const StormOptions& options) {
  for (std::uint64_t i = 0, seed = first; i < count; ++i, seed += step) {
    std::printf("{\"begins\":%llu}\n", static_cast<unsigned long long>(seed));
    std::fflush(stdout);
    const StormResult result = TRY(run_storm(make_storm_plan(seed), options));
    std::printf("%s\n", to_string(result_json(seed, result)).c_str());
    std::fflush(stdout);
  }
  return {};
}

Status run_one(const std::string& which, const StormOptions& options) {
  const StormPlan plan = TRY(plan_of(which));
  const StormResult result = TRY(run_storm(plan, options));
  std::printf("%s\n", to_string(result_json(plan.seed, result)).c_str());
  return {};
}

Status shrink(const std::string& which, const StormOptions& options) {
  const ShrunkStorm shrunk = TRY(shrink_storm(TRY(plan_of(which)), options.ignored));
  if (shrunk.broken.empty()) return Error(ErrorCode::Invalid, which, "this storm does not fail");
  std::printf("# %s\n%s", shrunk.broken.c_str(), storm_plan_text(shrunk.plan).c_str());
  return {};
}

}  // namespace

Status run_storms(const std::vector<std::string>& words, StormOptions options) {
  const std::string verb = words.empty() ? "" : words[0];
  if (verb == "run" && words.size() == 4)
    return run_many(std::stoull(words[1]), std::stoull(words[2]), std::stoull(words[3]), options);
  if (verb == "only" && words.size() == 3)
    options.trace = [](const std::string& line) { std::printf("%s\n", line.c_str()); };
  if (verb == "only" && words.size() >= 2) return run_one(words[1], options);
  if (verb == "shrink" && words.size() == 2) return shrink(words[1], options);
  if (verb != "plan" || words.size() != 2)
    return Error(ErrorCode::Invalid, "sim-storm",
                 "use: run FIRST STEP COUNT, only, plan or shrink SEED|FILE");
  std::printf("%s", storm_plan_text(TRY(plan_of(words[1]))).c_str());
  return {};
}

StormWords storm_words(int count, char** arguments) {
  constexpr std::string_view kIgnore = "--ignore=", kDefect = "--defect=";
  StormWords words;
  for (const std::string& word : std::vector<std::string>(arguments + 1, arguments + count)) {
    if (word.starts_with(kIgnore))
      words.options.ignored.push_back(word.substr(kIgnore.size()));
    else if (word.starts_with(kDefect))
      words.defect = word.substr(kDefect.size());
    else
      words.words.push_back(word);
  }
  return words;
}

int exit_code_of(const Status& ran) {
  if (!ran) std::fprintf(stderr, "%s\n", ran.error().text().c_str());
  return ran ? 0 : 1;
}

}  // namespace berth::sim
