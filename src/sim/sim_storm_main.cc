// The storm: many seeds on every core. See tools/storm.sh and src/sim/README.md.
#include <cstdio>

#include "base/log.h"
#include "sim/storm.h"

int main(int argc, char** argv) {
  using namespace berth;
  configure_log(LogLevel::Off, LogFormat::Text);
  const std::uint64_t from = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1;
  const std::uint64_t to = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : from;
  int failed = 0;
  for (std::uint64_t seed = from; seed <= to; ++seed) {
    const auto result = sim::run_storm(sim::make_storm_plan(seed), {argc > 3});
    if (!result) return std::printf("%s\n", result.error().text().c_str()), 1;
    std::uint64_t faults = 0;
    for (const auto count : result->faults) faults += count;
    std::printf("seed %lu: pods %lu bound %lu writes %lu faults %lu broken %zu %s\n", seed, result->pods,
                result->bindings, result->writes, faults, result->broken.size(),
                result->broken.empty() ? "" : result->broken[0].c_str());
    failed += !result->broken.empty();
  }
  std::printf("%d failed\n", failed);
}
