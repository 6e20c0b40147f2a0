#include "cli/bench_command.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "bench/fill.h"
#include "bench/other_work.h"
#include "cli/api_server_component.h"
#include "cli/complain.h"
#include "cli/control_plane.h"
#include "server/in_process_client.h"

namespace berth::cli {
namespace {

struct BenchCommand {
  std::string name;  // of kBenchmarks
  std::string output = "table";
  std::string bind_requests = "Always";
};

// A temporary directory for one measurement.
class ScratchDirectory {
 public:
  explicit ScratchDirectory(const char* purpose) {
    SystemRandom random;
    path_ = std::filesystem::temp_directory_path() /
            (std::string("berth-bench-") + purpose + random.name_suffix(8));
    std::filesystem::create_directories(path_);
  }
  ~ScratchDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

struct Run {
  const char* name;
  std::size_t offered_per_s;
};
constexpr Run kRuns[] = {{"sustained", 0}, {"offered", 500}};  // throughput, then latency under a steady load
constexpr double kOthersShareMax = 0.1;                        // figures with more are not comparable

struct Benchmark {
  std::string_view name;
  bench::FillShape shape;
};
constexpr Benchmark kBenchmarks[] = {{"dra-fill", bench::kDraFill}, {"gang-fill", bench::kGangFill}};

std::vector<std::string> benchmark_names() {
  std::vector<std::string> names;
  for (const Benchmark& one : kBenchmarks) names.emplace_back(one.name);
  return names;
}

void tell_progress(const std::string& name, const bench::FillShape& shape) {
  const std::string pace = shape.offered_per_s == 0 ? "as fast as they are taken"
                                                    : std::to_string(shape.offered_per_s) + " a second";
  const std::string gangs =
      shape.gang_size == 0 ? "" : " in gangs of " + std::to_string(shape.gang_size) + ", each in one rack,";
  std::fprintf(stderr, "berth: %s: %zu nodes, %zu pods, then %zu measured,%s %s\n", name.c_str(), shape.nodes,
               shape.pods_before, shape.pods_measured, gangs.c_str(), pace.c_str());
}

// A control plane like that of `berth up`, on a durable store, without simulated nodes.
Result<bench::FillResult> measure(const std::string& name, const bench::FillShape& shape,
                                  plane::BindRequests bind_requests) {
  tell_progress(name, shape);
  const ScratchDirectory directory((name + "-").c_str());
  const api::Gates gates(api::GateDefaults::Up);
  ServerOptions options;
  options.data_directory = directory.path();
  const std::unique_ptr<ApiServerComponent> component = TRY(ApiServerComponent::open(options, gates));
  const SystemClock clock;
  const auto client = server::make_in_process_client(component->server(), "system:berth");
  const auto user = server::make_in_process_client(component->server(), "bench");
  plane::ControlPlaneOptions plane_options;
  plane_options.simulated_nodes = false;
  plane_options.bind_requests = bind_requests;
  ControlPlaneLoops plane(*client, clock, gates, plane_options);
  const bench::FillResult result =
      TRY(bench::measure_fill(shape, {*user, clock, [&] { return component->store().revision(); }}));
  plane.stop(Duration::seconds(1));
  return result;
}

Json row(const char* name, const bench::FillResult& result, const bench::FillShape& shape) {
  return Json::object({{"run", name},
                       {"offered_per_s", static_cast<std::int64_t>(shape.offered_per_s)},
                       {"pods_per_s", result.pods_per_s},
                       {"p50_ms", result.p50_ms},
                       {"p99_ms", result.p99_ms},
                       {"writes_per_pod", result.writes_per_pod},
                       {"cpu_us_per_pod", result.cpu_us_per_pod},
                       {"resident_kb", result.resident_kb}});
}

void print_row(const Json& row) {
  std::printf(
      "%-10s %8.0f pods/s   p50 %8.1f ms   p99 %8.1f ms   %5.2f writes a pod   %6.0f us CPU a pod   "
      "%6.1f MB resident\n",
      row.find("run")->as_string().c_str(), row.find("pods_per_s")->as_double(),
      row.find("p50_ms")->as_double(), row.find("p99_ms")->as_double(),
      row.find("writes_per_pod")->as_double(), row.find("cpu_us_per_pod")->as_double(),
      static_cast<double>(row.int_at("resident_kb")) / 1024);
}

int run_bench(const BenchCommand& command) {
  const auto* named = std::ranges::find(kBenchmarks, command.name, &Benchmark::name);
  bench::FillShape shape = named->shape;
  const bench::OtherWork other_work;
  JsonArray rows;
  for (const Run& run : kRuns) {
    shape.offered_per_s = run.offered_per_s;
    const Result<bench::FillResult> result =
        measure(command.name, shape,
                command.bind_requests == "WhenWaiting" ? plane::BindRequests::WhenWaiting
                                                       : plane::BindRequests::Always);
    if (!result) return complain(result.error());
    rows.push_back(row(run.name, *result, shape));
  }
  if (const double share = other_work.share(); share > kOthersShareMax)
    std::fprintf(
        stderr,
        "berth: other work took %.0f%% of the machine during the measurement: do not compare these figures\n",
        share * 100);
  if (command.output == "json") {
    std::printf("%s\n",
                to_string(Json::object({{"benchmark", command.name},
                                        {"nodes", static_cast<std::int64_t>(shape.nodes)},
                                        {"pods_measured", static_cast<std::int64_t>(shape.pods_measured)},
                                        {"runs", rows}}))
                    .c_str());
    return 0;
  }
  for (const Json& shown : rows) print_row(shown);
  return 0;
}

}  // namespace

void add_bench(CLI::App& app, Commands& commands) {
  CLI::App* bench = app.add_subcommand("bench", "measure this machine end to end");
  auto measured = std::make_shared<BenchCommand>();
  bench->add_option("name", measured->name, "dra-fill or gang-fill")
      ->required()
      ->check(CLI::IsMember(benchmark_names()));
  bench->add_option("-o,--output", measured->output, "table or json")
      ->check(CLI::IsMember({"table", "json"}));
  bench->add_option("--bind-requests", measured->bind_requests, "Always or WhenWaiting, as for up")
      ->check(CLI::IsMember({"Always", "WhenWaiting"}));
  add_tool(bench, commands, [measured] { return run_bench(*measured); });
}

}  // namespace berth::cli
