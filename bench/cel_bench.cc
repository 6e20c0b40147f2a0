// rooms: cel dra
//
// Selectors: evaluations of one program, a selector never seen before over all devices, a changed slice under
// 64 known selectors, and bytes a device in columns. A device has 6 attributes, one of them a text of 40
// bytes of its own, and 1 capacity.
#include <benchmark/benchmark.h>

#include <time.h>

#include <algorithm>

#include "cel/dra_environment.h"
#include "dra/cel_selectors.h"
#include "dra/columns/selector_cache.h"
#include "dra/columns/value_key.h"

namespace berth::dra {
namespace {

constexpr int kDevicesPerSlice = 128;
constexpr const char* kDriver = "gpu.example.com";

api::Device device_of(int index) {
  api::Device device;
  device.name = "gpu-" + std::to_string(index % kDevicesPerSlice);
  device.attributes["numa"] = std::int64_t{index % 8};
  device.attributes["shared"] = index % 3 == 0;
  device.attributes["model"] = "A" + std::to_string(100 + index % 5);
  device.attributes["driverVersion"] = api::AttributeVersion{"1." + std::to_string(index % 4) + ".0"};
  device.attributes["resource.kubernetes.io/pcieRoot"] = "pci0000:" + std::to_string(index % 64);
  std::string uuid = std::to_string(index);
  device.attributes["uuid"] = "GPU-" + std::string(36 - uuid.size(), '0') + uuid;
  device.capacity["memory"].value = Quantity::of(std::int64_t{40 + 40 * (index % 2)} << 30);
  return device;
}

std::shared_ptr<api::ResourceSlice> slice_of(int index, int devices) {
  auto slice = std::make_shared<api::ResourceSlice>();
  slice->driver = kDriver;
  for (int i = 0; i < devices; ++i) slice->devices.push_back(device_of(index * kDevicesPerSlice + i));
  return slice;
}

// The slices' devices are dropped again: 1,000,000 decoded devices would not fit.
struct BenchCluster {
  explicit BenchCluster(int devices) {
    auto empty = std::make_shared<api::ResourceSlice>();
    for (int i = 0; i * kDevicesPerSlice < devices; ++i) {
      auto slice = slice_of(i, kDevicesPerSlice);
      rows.push_back(columns.admit(slice));
      if (i > 0) *slice = *empty;
    }
  }
  DeviceColumns columns;
  std::vector<SliceRows> rows;
  CelSelectors evaluator;
  SelectorCache selector_cache{columns, evaluator};
};

std::string fresh_selector(int i) {
  return "device.attributes['gpu.example.com'].numa == " + std::to_string(i % 8) +
         " && device.attributes['gpu.example.com'].shared == " + (i % 2 ? "true" : "false") +
         " && device.attributes['gpu.example.com'].model == 'A" + std::to_string(100 + i) + "'";
}

void evaluate(benchmark::State& state, const std::string& text) {
  const auto compiled = cel::compile(cel::dra_environment(), text);
  const auto& program = std::get<cel::Program>(compiled);
  const api::Device device = device_of(8);
  const cel::DeviceRecord record = record_of(kDriver, device);
  const cel::Value variables[] = {cel::Value::borrow_object(record)};
  for (auto _ : state) benchmark::DoNotOptimize(program.evaluate(variables));
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK_CAPTURE(evaluate, driver, "device.driver == 'gpu.example.com'");
BENCHMARK_CAPTURE(evaluate, attribute, "device.attributes['gpu.example.com'].numa == 0");
BENCHMARK_CAPTURE(evaluate, three_clauses,
                  "device.attributes['gpu.example.com'].numa == 0 && "
                  "device.attributes['gpu.example.com'].shared == false && "
                  "device.attributes['gpu.example.com'].model == 'A103'");

void compile(benchmark::State& state) {
  int i = 0;
  for (auto _ : state) benchmark::DoNotOptimize(cel::compile(cel::dra_environment(), fresh_selector(i++)));
}
BENCHMARK(compile)->Unit(benchmark::kMicrosecond);

// Of this thread: others that use the machine do not count.
double cpu_micros() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) / 1e3;
}

// Compilation included.
void fresh_over_all_devices(benchmark::State& state) {
  BenchCluster world(static_cast<int>(state.range(0)));
  std::vector<double> micros;
  int i = 0;
  for (auto _ : state) {
    const std::string text = fresh_selector(i++);
    const double start = cpu_micros();
    const SelectorSetId set = world.selector_cache.intern({}, {text});
    benchmark::DoNotOptimize(world.selector_cache.of(world.rows[0], set));
    micros.push_back(cpu_micros() - start);
  }
  std::sort(micros.begin(), micros.end());
  state.counters["median_us"] = micros[micros.size() / 2];
  state.counters["p99_us"] = micros[micros.size() * 99 / 100];
}
BENCHMARK(fresh_over_all_devices)->Arg(100000)->Arg(1000000)->Iterations(5000)->Unit(benchmark::kMicrosecond);

// Every tenth device of the new version has another value, or (second argument) each of them in each
// attribute.
void slice_update_with_64_selectors(benchmark::State& state) {
  BenchCluster world(static_cast<int>(state.range(0)));
  std::vector<SelectorSetId> sets;
  std::vector<SelectorSetRef> holds;
  for (int i = 0; i < 64; ++i) {
    sets.push_back(world.selector_cache.intern({}, {fresh_selector(i)}));
    holds.push_back(world.selector_cache.reference(sets.back()));
  }
  const auto first = slice_of(0, kDevicesPerSlice),
             second = slice_of(state.range(1) ? 1 : 0, kDevicesPerSlice);
  for (int i = 0; i < kDevicesPerSlice; i += 10)
    second->devices[static_cast<std::size_t>(i)].attributes["numa"] = std::int64_t{7};
  bool odd = false;
  for (auto _ : state) {
    odd = !odd;
    world.rows[0] = world.columns.admit(odd ? second : first, &world.rows[0]);
    for (const SelectorSetId set : sets)
      benchmark::DoNotOptimize(world.selector_cache.of(world.rows[0], set));
  }
}
BENCHMARK(slice_update_with_64_selectors)
    ->Args({100000, 0})
    ->Args({100000, 1})
    ->Unit(benchmark::kMicrosecond);

void memory(benchmark::State& state) {
  const auto devices = static_cast<int>(state.range(0));
  for (auto _ : state) {
    const BenchCluster world(devices);
    state.counters["bytes_per_device"] = static_cast<double>(world.columns.bytes()) / devices;
  }
}
BENCHMARK(memory)->Arg(1000000)->Iterations(1)->Unit(benchmark::kMillisecond);

void answer_of_a_known_selector(benchmark::State& state) {
  BenchCluster world(100000);
  const SelectorSetId set = world.selector_cache.intern({}, {fresh_selector(1)});
  std::size_t i = 0;
  for (auto _ : state)
    benchmark::DoNotOptimize(world.selector_cache.of(world.rows[i++ % world.rows.size()], set));
}
BENCHMARK(answer_of_a_known_selector);

}  // namespace
}  // namespace berth::dra
