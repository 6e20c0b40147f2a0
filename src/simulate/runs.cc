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
  int width = 0;  // of its column in the table; 0: it has none
  int decimals = 0;
};
constexpr Figure kFigures[] = {
    {"", "allocatedGpuPercent", [](const RunResult& one) { return one.allocated_gpu_percent; }, 10, 2},
    {"", "fragmentationPercent", [](const RunResult& one) { return one.fragmentation_percent; }, 10, 2},
    {"pods", "placed", [](const RunResult& one) { return static_cast<double>(one.placed); }, 8},
    {"pods", "refused", [](const RunResult& one) { return static_cast<double>(one.refused); }, 8},
    {"waits", "p50", [](const RunResult& one) { return one.wait_p50.seconds_f(); }, 9},
    {"waits", "p99", [](const RunResult& one) { return one.wait_p99.seconds_f(); }, 9},
    {"", "evictions", [](const RunResult& one) { return static_cast<double>(one.evictions); }, 9},
    {"", "lostChipSeconds", [](const RunResult& one) { return static_cast<double>(one.lost_chip_seconds); }},
    {"racksPerGang", "mean", [](const RunResult& one) { return one.racks_mean; }, 6, 2},
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
  char cell[64];
  std::snprintf(cell, sizeof cell, "%-18s %5s", policy.c_str(), seed.c_str());
  std::string line = cell;
  for (const Figure& figure : kFigures) {
    if (figure.width == 0) continue;
    std::snprintf(cell, sizeof cell, " %*.*f", figure.width, figure.decimals, value_of(figure));
    line += cell;
  }
  return line + "\n";
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
