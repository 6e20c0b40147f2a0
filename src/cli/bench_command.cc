#include "cli/bench_command.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "cli/apiserver_command.h"
#include "cli/dra_fill.h"

namespace berth::cli {
namespace {

// A directory for one run of a measurement, gone at its end.
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

// What everybody else takes of the machine's processors from here on. Source: proc(5), /proc/stat.
class OtherWork {
 public:
  // Between 0 and 1.
  double share() const {
    const double wall_s = (clock_.monotonic() - began_).seconds_f();
    return std::max(0.0, others_s() - others_s_) /
           (wall_s * static_cast<double>(sysconf(_SC_NPROCESSORS_ONLN)));
  }

 private:
  static double own_s() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    const auto seconds = [](const timeval& time) {
      return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
    };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
  }
  static double others_s() {
    std::ifstream file("/proc/stat");
    std::string label;
    file >> label;
    constexpr int kIdle = 3, kIoWait = 4, kSteal = 7;
    double busy = 0, ticks = 0;
    for (int i = 0; i <= kSteal && file >> ticks; ++i)
      if (i != kIdle && i != kIoWait) busy += ticks;
    return busy / static_cast<double>(sysconf(_SC_CLK_TCK)) - own_s();
  }

  SystemClock clock_;
  Time began_ = clock_.monotonic();
  double others_s_ = others_s();
};

constexpr double kOthersShareMax = 0.1;  // above it figures are not worth comparing

void tell_progress(const BenchCommand& command, std::size_t offered_per_s) {
  const std::string pace =
      offered_per_s == 0 ? "as fast as they are taken" : std::to_string(offered_per_s) + " a second";
  std::fprintf(stderr, "berth: dra-fill: %zu nodes, %zu pods, then %zu measured, %s\n", command.nodes,
               command.pods_before, command.pods_measured, pace.c_str());
}

Result<DraFillResult> measure(const BenchCommand& command, std::size_t offered_per_s) {
  tell_progress(command, offered_per_s);
  const ScratchDirectory directory("dra-fill-");
  return measure_dra_fill(
      {command.nodes, command.devices_per_node, command.pods_before, command.pods_measured, offered_per_s},
      directory.path());
}

Json row(const char* name, const DraFillResult& result, std::size_t offered_per_s) {
  return Json::object({{"run", name},
                       {"offered_per_s", static_cast<std::int64_t>(offered_per_s)},
                       {"pods_per_s", result.pods_per_s},
                       {"p50_ms", result.p50_ms},
                       {"p99_ms", result.p99_ms},
                       {"writes_per_pod", result.writes_per_pod},
                       {"resident_kb", result.resident_kb}});
}

void print_row(const Json& row) {
  std::printf("%-10s %8.0f pods/s   p50 %8.1f ms   p99 %8.1f ms   %5.2f writes a pod   %6.1f MB resident\n",
              row.find("run")->as_string().c_str(), row.find("pods_per_s")->as_double(),
              row.find("p50_ms")->as_double(), row.find("p99_ms")->as_double(),
              row.find("writes_per_pod")->as_double(), static_cast<double>(row.int_at("resident_kb")) / 1024);
}

}  // namespace

int run_bench(const BenchCommand& command) {
  if (command.name != "dra-fill")
    return complain(
        Error(ErrorCode::Invalid, "--name", "\"" + command.name + "\" is no benchmark; there is: dra-fill"));
  const OtherWork other_work;
  const Result<DraFillResult> sustained = measure(command, 0);
  if (!sustained) return complain(sustained.error());
  const Result<DraFillResult> offered = measure(command, command.offered_per_s);
  if (!offered) return complain(offered.error());
  if (const double share = other_work.share(); share > kOthersShareMax)
    std::fprintf(stderr,
                 "berth: other work took %.0f%% of the machine meanwhile: do not compare these figures\n",
                 share * 100);
  const Json rows =
      Json::array({row("sustained", *sustained, 0), row("offered", *offered, command.offered_per_s)});
  if (command.output == "json") {
    std::printf("%s\n",
                to_string(Json::object({{"benchmark", "dra-fill"},
                                        {"nodes", static_cast<std::int64_t>(command.nodes)},
                                        {"pods_measured", static_cast<std::int64_t>(command.pods_measured)},
                                        {"runs", rows}}))
                    .c_str());
    return 0;
  }
  for (const Json& shown : rows.as_array()) print_row(shown);
  return 0;
}

}  // namespace berth::cli
