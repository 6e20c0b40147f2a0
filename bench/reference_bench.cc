// rooms: base
// Work that no change of the program touches: tools/run-bench takes it for the speed of the machine when it
// compares rows with bench/recorded.json. Like a decision it allocates, compares texts and follows pointers.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <map>
#include <string>

namespace berth {
namespace {

constexpr std::uint32_t kNames = 2'000;

void FixedWork(benchmark::State& state) {
  for (auto _ : state) {
    std::map<std::string, std::uint32_t> numbers;
    std::uint32_t random = 1;
    for (std::uint32_t i = 0; i < kNames; ++i) {
      random = random * 1'664'525 + 1'013'904'223;
      numbers.emplace("a name beyond the small ones/" + std::to_string(random), i);
    }
    std::uint64_t sum = 0;
    for (const auto& [name, number] : numbers) sum += name.size() * number;
    if (sum == 0) std::abort();
    benchmark::DoNotOptimize(sum);
  }
}
BENCHMARK(FixedWork)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace berth
