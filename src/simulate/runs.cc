#include "simulate/runs.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>

namespace berth::simulate {
namespace {

double rounded(double value) {
  return std::round(value * 100) / 100;
}

// Figures of a run that have a mean, by their path in its document.
struct Figure {
  const char* section;  // empty: none
  const char* name;
  double (*of)(const RunResult& result);
};
constexpr Figure kFigures[] = {
    {"", "allocatedGpuPercent", [](const RunResult& one) { return one.allocated_gpu_percent; }},
    {"", "fragmentationPercent", [](const RunResult& one) { return one.fragmentation_percent; }},
    {"pods", "placed", [](const RunResult& one) { return static_cast<double>(one.placed); }},
    {"pods", "refused", [](const RunResult& one) { return static_cast<double>(one.refused); }},
    {"waits", "p50", [](const RunResult& one) { return one.wait_p50.seconds_f(); }},
    {"waits", "p99", [](const RunResult& one) { return one.wait_p99.seconds_f(); }},
    {"", "evictions", [](const RunResult& one) { return static_cast<double>(one.evictions); }},
    {"", "lostChipSeconds", [](const RunResult& one) { return static_cast<double>(one.lost_chip_seconds); }},
    {"racksPerGang", "mean", [](const RunResult& one) { return one.racks_mean; }},
    {"racksPerGang", "minimum", [](const RunResult& one) { return one.racks_minimum; }},
};

// Whole numbers without a fraction.
Json number(double value) {
  const double shown = rounded(value);
  if (shown == std::floor(shown)) return static_cast<std::int64_t>(shown);
  return shown;
}

void add_figures(Json& to, const std::function<double(const Figure&)>& value_of) {
  for (const Figure& figure : kFigures) {
    Json& section = *figure.section ? to[figure.section] : to;
    if (section.is_null()) section = Json::object();
    section[figure.name] = number(value_of(figure));
  }
}

Json curve_of(const RunResult& result) {
  Json curve = Json::array();
  for (const UsePoint& point : result.curve)
    curve.as_array().push_back(Json::object({{"arrivedPercent", number(point.arrived)},
                                             {"allocatedPercent", number(point.allocated)},
                                             {"fragmentationPercent", number(point.fragmentation)}}));
  return curve;
}

// The runs of each policy, in their order.
std::vector<std::pair<const Policy*, std::vector<const RunResult*>>> by_policy(const std::vector<Run>& runs) {
  std::vector<std::pair<const Policy*, std::vector<const RunResult*>>> all;
  for (const Run& run : runs) {
    if (all.empty() || all.back().first != run.policy) all.emplace_back(run.policy, 0);
    all.back().second.push_back(&run.result);
  }
  return all;
}

double mean_of(const std::vector<const RunResult*>& results, const Figure& figure) {
  double sum = 0;
  for (const RunResult* one : results) sum += figure.of(*one);
  return sum / static_cast<double>(results.size());
}

std::string row(const std::string& policy, const std::string& seed,
                const std::function<double(const Figure&)>& value_of) {
  char line[160];
  std::snprintf(line, sizeof line, "%-18s %5s %10.2f %10.2f %8.0f %8.0f %9.0f %9.0f %9.0f %6.2f\n",
                policy.c_str(), seed.c_str(), value_of(kFigures[0]), value_of(kFigures[1]),
                value_of(kFigures[2]), value_of(kFigures[3]), value_of(kFigures[4]), value_of(kFigures[5]),
                value_of(kFigures[6]), value_of(kFigures[8]));
  return line;
}

}  // namespace

Result<std::vector<Run>> simulate_all(const RunPlan& plan, const MakeScript& make_script) {
  std::vector<Run> runs;
  for (const Policy* policy : plan.policies)
    for (const std::uint64_t seed : plan.seeds) runs.push_back({policy, seed});
  std::vector<std::optional<Error>> errors(runs.size());
  const auto run_one = [&](std::size_t i) {
    planning::PlanOptions options = plan.options;
    options.seed = runs[i].seed;
    runs[i].policy->apply(options, runs[i].seed);
    const Result<Script> script = make_script(runs[i].seed);
    if (!script) {
      errors[i] = script.error();
      return;
    }
    Result<RunResult> result = simulate(*script, options);
    if (result)
      runs[i].result = *std::move(result);
    else
      errors[i] = result.error();
  };
  if (plan.threads <= 1 || runs.size() == 1) {
    for (std::size_t i = 0; i < runs.size(); ++i) run_one(i);
  } else {
    const auto pool = make_thread_pool(std::min(plan.threads, runs.size()));
    for (std::size_t i = 0; i < runs.size(); ++i) pool->post([&run_one, i] { run_one(i); });
    pool->stop();
  }
  for (const std::optional<Error>& error : errors)
    if (error) return *error;
  return runs;
}

Json to_json(const std::vector<Run>& runs) {
  Json each = Json::array(), mean = Json::object();
  for (const Run& run : runs) {
    Json one = Json::object({{"policy", run.policy->name}, {"seed", static_cast<std::int64_t>(run.seed)}});
    add_figures(one, [&](const Figure& figure) { return figure.of(run.result); });
    one["digest"] = run.result.digest;
    one["curve"] = curve_of(run.result);
    each.as_array().push_back(std::move(one));
  }
  for (const auto& [policy, results] : by_policy(runs)) {
    Json one = Json::object();
    add_figures(one, [&results](const Figure& figure) { return mean_of(results, figure); });
    mean[policy->name] = std::move(one);
  }
  return Json::object({{"runs", std::move(each)}, {"mean", std::move(mean)}});
}

std::string to_table(const std::vector<Run>& runs) {
  std::string text =
      "POLICY              SEED  ALLOCATED% FRAGMENT%    PLACED  REFUSED  WAIT P50  WAIT P99 EVICTIONS  "
      "RACKS\n";
  for (const Run& run : runs)
    text += row(std::string(run.policy->name), std::to_string(run.seed),
                [&](const Figure& figure) { return figure.of(run.result); });
  if (runs.size() == 1) return text;
  for (const auto& [policy, results] : by_policy(runs))
    text += row(std::string(policy->name), "mean",
                [&results](const Figure& figure) { return mean_of(results, figure); });
  return text;
}

}  // namespace berth::simulate
