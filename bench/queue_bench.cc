// rooms: placement scheduling dra
// The queue beside many pods that fit nowhere: how long a pod that fits takes then, and what events cost that
// concern none of them. Writes succeed at once and are seen; the binder's part is a version of the pod with
// its node. CPU times of the thread, of the scheduler alone: objects are decoded outside of the measured
// time.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

#include "dra/cel_selectors.h"
#include "scheduling/scheduler.h"

namespace berth::scheduling {
namespace {

constexpr int kNodes = 5000;
constexpr int kPodsARound = 500;
constexpr int kShapes = 1000;  // of pods that fit nowhere
constexpr int kClasses = 100;  // of devices that are all taken
constexpr int kGroups = 10'000;

[[noreturn]] void give_up(const std::string& what) {
  std::fprintf(stderr, "queue_bench: %s\n", what.c_str());
  std::abort();
}

double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

class Loop {
 public:
  void put(api::Kind kind, const std::string& text) { apply(kind, typed(kind, text)); }
  void put_node(int i) {
    const std::string n = std::to_string(i);
    put(api::Kind::Node, R"({"metadata":{"name":"node-)" + n + R"(","uid":"n)" + n +
                             R"(","labels":{"rack":"r)" + std::to_string(i / 100) + R"("}},"status":{)" +
                             R"("allocatable":{"cpu":"64","memory":"256Gi","pods":"110"}}})");
  }
  static std::string pod_text(const std::string& name, const std::string& cpu, const std::string& node,
                              const std::string& more = "") {
    return R"({"metadata":{"name":")" + name + R"(","namespace":"default","uid":"u)" + name +
           R"(","generation":1},"spec":{"schedulerName":"berth","preemptionPolicy":"Never",)" +
           (node.empty() ? "" : R"("nodeName":")" + node + "\",") +
           R"("containers":[{"name":"c","resources":{"requests":{"cpu":")" + cpu + "\"}}}]" + more + "}}";
  }
  void erase_pod(const std::string& name) {
    for (const api::Kind kind : {api::Kind::BindRequest, api::Kind::Pod})
      if (auto delta = view_.erase({kind, "default", name, {}}, UINT64_MAX))
        scheduler_.apply(view_, *delta, now_);
  }
  // Decides and carries out until nothing is due.
  void settle() {
    for (client::Effects effects = decide(); !effects.chains.empty() || !effects.events.empty();
         effects = decide())
      carry_out(effects);
  }
  // The seconds that the pod took: its first version, its decision, and its version with a node.
  double place(const std::string& name) {
    const api::TypedObject waiting = typed(api::Kind::Pod, pod_text(name, "100m", ""));
    double seconds = -thread_seconds();
    apply(api::Kind::Pod, waiting);
    const client::Effects effects = decide();
    seconds += thread_seconds();
    const std::string node = carry_out(effects);
    if (node.empty()) give_up("pod " + name + " got no node");
    const api::TypedObject bound = typed(api::Kind::Pod, pod_text(name, "100m", node));
    seconds -= thread_seconds();
    apply(api::Kind::Pod, bound);
    return seconds + thread_seconds();
  }
  // The seconds that the change took, and what followed from it.
  double change(api::Kind kind, const std::string& text) {
    const api::TypedObject object = typed(kind, text);
    const double begin = thread_seconds();
    apply(kind, object);
    const client::Effects effects = decide();
    const double seconds = thread_seconds() - begin;
    if (!effects.chains.empty()) give_up("a change woke a pod:\n" + client::to_text(effects));
    return seconds;
  }
  // The seconds from the end of a pod to the decision about a pod that waits.
  double free_and_decide(const std::string& pod) {
    const double begin = thread_seconds();
    if (auto delta = view_.erase({api::Kind::Pod, "default", pod, {}}, UINT64_MAX))
      scheduler_.apply(view_, *delta, now_);
    client::Effects effects;
    const auto binds = [](const client::Chain& chain) { return chain.key.kind == api::Kind::BindRequest; };
    for (int turn = 0; turn < kGroups && std::ranges::none_of(effects.chains, binds); ++turn)
      effects = decide();
    const double seconds = thread_seconds() - begin;
    if (carry_out(effects).empty()) give_up("the room of pod " + pod + " was not taken");
    return seconds;
  }
  void erase_bind_requests() {
    std::vector<api::ObjectKey> keys;
    for (const auto& [key, request] : view_.bind_requests.all())
      keys.push_back({api::Kind::BindRequest, key.ns, key.name, {}});
    for (const api::ObjectKey& key : keys)
      if (auto delta = view_.erase(key, UINT64_MAX)) scheduler_.apply(view_, *delta, now_);
  }
  void pass(Duration time) { now_ = now_ + time; }
  const SchedulingQueue& queue() const { return scheduler_.queue(); }

 private:
  api::TypedObject typed(api::Kind kind, const std::string& text) {
    Json object = *parse_json(text);
    object["metadata"]["resourceVersion"] = std::to_string(++version_);
    return *api::decode_typed(kind, std::make_shared<const std::string>(to_string(object)));
  }
  void apply(api::Kind kind, const api::TypedObject& object) {
    const api::ObjectMeta& meta = api::meta_of(object);
    scheduler_.apply(view_, *view_.put({kind, meta.ns, meta.name, {}}, object), now_);
  }
  client::Effects decide() { return scheduler_.decide(view_, now_); }
  // The node of the BindRequest that was written; empty: none was.
  std::string carry_out(const client::Effects& effects) {
    std::string node;
    client::Outcome outcome{effects.decision_id, {}};
    for (const client::Chain& chain : effects.chains) {
      for (const client::Write& write : chain.writes) {
        Json body = *parse_json(write.request.body);
        if (chain.key.kind == api::Kind::BindRequest) {
          body["metadata"]["uid"] = "r" + chain.key.name;
          put(api::Kind::BindRequest, to_string(body));
          node = view_.bind_requests.find(chain.key.ns, chain.key.name)->node;
        } else if (chain.key.kind == api::Kind::Pod) {
          Json pod = *parse_json(*view_.pods.find(chain.key.ns, chain.key.name)->raw);
          pod["status"]["conditions"] = body.part("status").part("conditions");
          put(api::Kind::Pod, to_string(pod));
        }
      }
      outcome.chains.push_back({chain.key, true, chain.writes.size(), {}});
    }
    scheduler_.on_outcome(view_, outcome, now_);
    return node;
  }

  Time now_ = Time::from_seconds(1'800'000'000);
  client::View view_;
  dra::CelSelectors selectors_;
  DecisionCounts counts_;
  Scheduler scheduler_{{}, selectors_, &counts_};
  int version_ = 0;
};

// So many pods ask for more than a node has, and wait.
void put_waiting(Loop& loop, int waiting) {
  for (int i = 0; i < kNodes; ++i) loop.put_node(i);
  for (int i = 0; i < waiting; ++i)
    loop.put(api::Kind::Pod,
             Loop::pod_text("large-" + std::to_string(i), std::to_string(100 + i % kShapes), ""));
  loop.settle();
  if (loop.queue().unschedulable_count() + loop.queue().backoff_count() != static_cast<std::size_t>(waiting))
    give_up("pods that fit nowhere do not wait");
}

// The 99th percentile of 500 pods that fit, beside those that wait.
void PlacedBeside(benchmark::State& state) {
  Loop loop;
  put_waiting(loop, static_cast<int>(state.range(0)));
  std::vector<double> seconds;
  std::size_t name = 0;
  for (auto _ : state) {
    std::vector<std::string> placed;
    double sum = 0;
    for (int i = 0; i < kPodsARound; ++i) {
      loop.pass(Duration::millis(1));
      placed.push_back("small-" + std::to_string(name++));
      seconds.push_back(loop.place(placed.back()));
      sum += seconds.back();
    }
    for (const std::string& pod : placed) loop.erase_pod(pod);
    loop.settle();
    state.SetIterationTime(sum / kPodsARound);
  }
  std::ranges::sort(seconds);
  state.counters["p99"] = seconds[seconds.size() * 99 / 100];
}

// A pod that fits, and the search of room for one that was overtaken for too long. It fits nowhere even if
// all others leave, so the next second has another search.
void RoomSearchedBeside(benchmark::State& state) {
  constexpr Duration kPause = Duration::seconds(1);
  Loop loop;
  put_waiting(loop, static_cast<int>(state.range(0)));
  std::size_t name = 0;
  const auto place_next = [&] { return loop.place("small-" + std::to_string(name++)); };
  for (Duration passed; passed < SchedulerOptions().overtaking_limit * 2; passed = passed + kPause) {
    place_next();
    loop.pass(kPause);
  }
  for (auto _ : state) {
    state.SetIterationTime(place_next());
    loop.pass(kPause);
  }
}

void put_claim(Loop& loop, const std::string& name, const std::string& device_class,
               const std::string& device, const std::string& user) {
  const std::string status =
      device.empty() ? ""
                     : R"(,"status":{"allocation":{"devices":{"results":[{"request":"r","driver":")" +
                           device_class + R"(.example.com","pool":"node-0","device":")" + device +
                           R"("}]}},"reservedFor":[{"resource":"pods","name":")" + user + R"(","uid":"u)" +
                           user + "\"}]}";
  loop.put(api::Kind::ResourceClaim,
           R"({"metadata":{"name":")" + name + R"(","namespace":"default","uid":"c)" + name +
               R"("},"spec":{"devices":{"requests":[{"name":"r","exactly":{"deviceClassName":")" +
               device_class + "\"}}]}}" + status + "}");
}

void put_class(Loop& loop, const std::string& name, int devices) {
  loop.put(api::Kind::DeviceClass, R"({"metadata":{"name":")" + name + R"("},"spec":{"selectors":[{"cel":)" +
                                       R"({"expression":"device.driver == ')" + name +
                                       R"(.example.com'"}}]}})");
  std::string list;
  for (int i = 0; i < devices; ++i)
    list += std::string(i == 0 ? "" : ",") + R"({"name":"d)" + std::to_string(i) + "\"}";
  loop.put(api::Kind::ResourceSlice, R"({"metadata":{"name":"s-)" + name + R"("},"spec":{"driver":")" + name +
                                         R"(.example.com","pool":{"name":"node-0","generation":1,)" +
                                         R"("resourceSliceCount":1},"nodeName":"node-0","devices":[)" + list +
                                         "]}}");
}

// One event of a claim, beside as many pods that wait for devices of a hundred other classes. The claim is
// allocated and given up in turn.
void ClaimEventBeside(benchmark::State& state) {
  const auto waiting = static_cast<int>(state.range(0));
  Loop loop;
  for (int i = 0; i < kNodes / 10; ++i) loop.put_node(i);
  for (int i = 0; i < kClasses; ++i) {
    const std::string name = "class-" + std::to_string(i);
    put_class(loop, name, 1);
    put_claim(loop, "full-" + name, name, "d0", "full-" + name);
    loop.put(api::Kind::Pod,
             Loop::pod_text("full-" + name, "100m", "node-0",
                            R"(,"resourceClaims":[{"name":"c","resourceClaimName":"full-)" + name + "\"}]"));
  }
  put_class(loop, "free", 4);
  for (int i = 0; i < waiting; ++i) {
    const std::string name = "waits-" + std::to_string(i);
    put_claim(loop, name, "class-" + std::to_string(i % kClasses), "", "");
    loop.put(api::Kind::Pod,
             Loop::pod_text(name, "100m", "",
                            R"(,"resourceClaims":[{"name":"c","resourceClaimName":")" + name + "\"}]"));
  }
  loop.settle();
  if (loop.queue().active_count() > 0) give_up("pods that wait for devices are tried");
  const std::string claim = R"({"metadata":{"name":"busy","namespace":"default","uid":"cbusy"},"spec":)"
                            R"({"devices":{"requests":[{"name":"r","exactly":{"deviceClassName":"free"}}]}})";
  const std::string allocated =
      R"(,"status":{"allocation":{"devices":{"results":[{"request":"r","driver":"free.example.com",)"
      R"("pool":"node-0","device":"d0"}]}}})";
  bool is_allocated = false;
  for (auto _ : state) {
    is_allocated = !is_allocated;
    loop.pass(Duration::millis(1));
    state.SetIterationTime(
        loop.change(api::Kind::ResourceClaim, claim + (is_allocated ? allocated : std::string()) + "}"));
  }
}

// 50 full racks; in one of them three nodes are free, and then a fourth: the oldest of 10,000 gangs of four
// that need whole nodes of one rack gets them.
void RackFreedBesideGroups(benchmark::State& state) {
  Loop loop;
  const auto occupant = [](int node) {
    return Loop::pod_text("full-" + std::to_string(node), "60", "node-" + std::to_string(node));
  };
  for (int i = 0; i < kNodes; ++i) {
    loop.put_node(i);
    if (i % 100 >= 3 || i / 100 != 7) loop.put(api::Kind::Pod, occupant(i));
  }
  for (int i = 0; i < kGroups; ++i) {
    const std::string group = "gang-" + std::to_string(i);
    loop.put(api::Kind::PodGroup, R"({"metadata":{"name":")" + group + R"(","namespace":"default","uid":"u)" +
                                      group +
                                      R"("},"spec":{"schedulingConstraints":{"topology":[{"key":"rack"}]},)"
                                      R"("schedulingPolicy":{"gang":{"minCount":4}}}})");
    for (int k = 0; k < 4; ++k)
      loop.put(api::Kind::Pod, Loop::pod_text(group + "-" + std::to_string(k), "60", "",
                                              R"(,"schedulingGroup":{"podGroupName":")" + group + "\"}"));
  }
  loop.settle();
  for (auto _ : state) {
    loop.pass(Duration::seconds(60));
    state.SetIterationTime(loop.free_and_decide("full-703"));
    loop.erase_bind_requests();
    loop.put(api::Kind::Pod, occupant(703));
    loop.settle();
  }
}

BENCHMARK(RackFreedBesideGroups)->Iterations(10)->UseManualTime()->Unit(benchmark::kMillisecond);
BENCHMARK(PlacedBeside)->Arg(0)->Arg(100000)->Iterations(20)->UseManualTime()->Unit(benchmark::kMicrosecond);
BENCHMARK(RoomSearchedBeside)
    ->Arg(1000)
    ->Arg(100000)
    ->Iterations(20)
    ->UseManualTime()
    ->Unit(benchmark::kMicrosecond);
BENCHMARK(ClaimEventBeside)
    ->Arg(0)
    ->Arg(10000)
    ->Iterations(20000)
    ->UseManualTime()
    ->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace berth::scheduling
