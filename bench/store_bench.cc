// rooms: base store
// What the store sustains: commits by writers that wait for their answers, fan-out of events, lists, opening.
#include <benchmark/benchmark.h>
#include <stdlib.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "store/store.h"

namespace berth::store {
namespace {

constexpr std::size_t kObjectBytes = 3'000;
constexpr int kUpdatesEachObject = 4;  // a pod is created, then written a few times
constexpr int kWatchers = 100;
constexpr int kOpenObjects = 50'000;

class Directory {
 public:
  explicit Directory(bool durable) {
    if (!durable) return;
    std::string pattern = "./berth-bench-XXXXXX";  // not /tmp, which may be memory
    path_ = mkdtemp(pattern.data());
  }
  ~Directory() {
    if (!path_.empty()) std::filesystem::remove_all(path_);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

WriteRequest write_of(int writer, std::int64_t number) {
  const bool creates = number % (1 + kUpdatesEachObject) == 0;
  WriteRequest write;
  write.kind = creates ? WriteRequest::Kind::Create : WriteRequest::Kind::Update;
  write.key = {"pods", "default",
               "worker-" + std::to_string(writer) + "-" + std::to_string(number / (1 + kUpdatesEachObject))};
  write.uid = "01234567-89ab-cdef-0123-456789abcdef";
  write.draft.head.reserve(kObjectBytes + 32);
  write.draft.head.assign(kObjectBytes / 2, 'h');
  write.draft.tail.assign(kObjectBytes / 2, 't');
  return write;
}

// `writers` threads write until `total` writes are acknowledged.
void write_all(Store& store, int writers, std::int64_t total, std::int64_t first) {
  std::vector<std::thread> threads;
  for (int writer = 0; writer < writers; ++writer) {
    threads.emplace_back([&store, writer, writers, total, first] {
      for (std::int64_t i = 0; i < total / writers; ++i) {
        if (!store.write(write_of(writer, first + i)).ok()) std::abort();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// Arguments: writers, durable, writes an iteration.
void BM_Commits(benchmark::State& state) {
  Directory directory(state.range(1) != 0);
  auto store = open_store({.directory = directory.path(), .watch_window_events = 10'000}).value();
  std::int64_t first = 0;
  for (auto _ : state) {
    write_all(*store, static_cast<int>(state.range(0)), state.range(2), first);
    first += state.range(2) / state.range(0);
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(store->revision()));
}
BENCHMARK(BM_Commits)
    ->ArgNames({"writers", "durable", "writes"})
    ->Args({1, 0, 50'000})
    ->Args({8, 0, 100'000})
    ->Args({64, 0, 100'000})
    ->Args({1, 1, 5'000})
    ->Args({8, 1, 20'000})
    ->Args({64, 1, 100'000})
    ->UseRealTime()
    ->MeasureProcessCPUTime()
    ->Unit(benchmark::kMillisecond);

// One thread submits without waiting: the store's own cost. Arguments: durable.
void BM_Pipelined(benchmark::State& state) {
  constexpr std::int64_t kInFlight = 1'024;
  Directory directory(state.range(0) != 0);
  auto store = open_store({.directory = directory.path(), .watch_window_events = 10'000}).value();
  std::int64_t number = 0;
  std::atomic<std::int64_t> answered = 0;
  for (auto _ : state) {
    while (number - answered.load(std::memory_order_acquire) >= kInFlight) std::this_thread::yield();
    store->submit(write_of(0, number++), [&answered](const WriteResult& result) {
      if (!result.ok()) std::abort();
      answered.fetch_add(1, std::memory_order_release);
    });
  }
  store.reset();
  state.SetItemsProcessed(number);
}
BENCHMARK(BM_Pipelined)->ArgName("durable")->Arg(0)->Arg(1)->UseRealTime()->MeasureProcessCPUTime();

class CountingSink final : public WatchSink {
 public:
  void on_events(std::span<const WatchEventPtr> events, Revision) override { seen += events.size(); }
  std::size_t seen = 0;
};

// Inline commits seen by 100 watchers. Items are deliveries.
void BM_WatchFanOut(benchmark::State& state) {
  auto store = open_store({.watch_window_events = 10'000, .synchronous = true}).value();
  std::vector<CountingSink> sinks(kWatchers);
  std::vector<std::unique_ptr<WatchHandle>> handles;
  for (CountingSink& sink : sinks) handles.push_back(store->watch("pods", 0, sink).value());
  std::int64_t number = 0;
  for (auto _ : state) benchmark::DoNotOptimize(store->write(write_of(0, number++)));
  handles.clear();
  state.SetItemsProcessed(number * kWatchers);
}
BENCHMARK(BM_WatchFanOut);

// A page of 500 out of 50,000 objects, at the newest state.
void BM_ListPage(benchmark::State& state) {
  auto store = open_store({.watch_window_events = 10'000, .synchronous = true}).value();
  for (int i = 0; i < kOpenObjects; ++i) (void)store->write(write_of(i, 0));
  for (auto _ : state) benchmark::DoNotOptimize(store->list({.resource = "pods", .limit = 500}));
}
BENCHMARK(BM_ListPage)->Unit(benchmark::kMicrosecond);

// Opening a store of 50,000 objects of 3 KB.
void BM_Open(benchmark::State& state) {
  Directory directory(true);
  {
    auto store = open_store({.directory = directory.path()}).value();
    std::atomic<int> answered = 0;
    for (int i = 0; i < kOpenObjects; ++i) {
      while (i - answered.load() > 4'096) std::this_thread::yield();
      store->submit(write_of(i, 0), [&answered](const WriteResult&) { ++answered; });
    }
  }
  for (auto _ : state) {
    auto store = open_store({.directory = directory.path()});
    if (!store.ok() || (*store)->count("pods") != kOpenObjects) std::abort();
    state.PauseTiming();
    store->reset();
    state.ResumeTiming();
  }
}
BENCHMARK(BM_Open)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace berth::store

BENCHMARK_MAIN();
