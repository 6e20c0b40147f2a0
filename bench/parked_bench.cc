// rooms: binding engine
// Memory of BindRequests that wait for their devices (KEP-5007), a request: what the binder remembers, what
// the engine's queue keeps until the deadline, and the objects in the view, which others need as well.
#include <benchmark/benchmark.h>
#include <malloc.h>

#include <cstdlib>

#include "binding/binder.h"
#include "engine/work_queue.h"

namespace berth::binding {
namespace {

constexpr int kParked = 100'000;
constexpr Time kNow = Time::from_seconds(1'800'000'000);

std::size_t heap_in_use() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

double per_request(std::size_t before) {
  return static_cast<double>(heap_in_use() - before) / kParked;
}

std::string uid_of(const char* kind, int number) {
  std::string text = std::to_string(100'000'000 + number);
  return std::string(kind) + text + "-7f50-4a5e-9a3c-0123456789ab";
}

void put(client::View& view, api::Kind kind, const std::string& text) {
  auto typed = api::decode_typed(kind, std::make_shared<const std::string>(text));
  const api::ObjectMeta& meta = api::meta_of(*typed);
  view.put({kind, meta.ns, meta.name, {}}, *typed);
}

// A pod that was decided for n1, whose claim is allocated and reserved and whose device is not ready.
void put_waiting(client::View& view, int i) {
  const std::string name = "training-job-" + std::to_string(i), pod_uid = uid_of("p", i);
  const std::string claim = name + "-gpu-x7k2p", claim_uid = uid_of("c", i);
  const std::string results =
      R"({"devices":{"results":[{"request":"gpu","driver":"fabric.example.com","pool":"fabric-pool",)"
      R"("device":"card-)" +
      std::to_string(i) +
      R"(","bindingConditions":["fabric.example.com/Attached"],)"
      R"("bindingFailureConditions":["fabric.example.com/AttachFailed"]}]}})";
  put(view, api::Kind::Pod,
      R"({"metadata":{"namespace":"team-a","name":")" + name + R"(","uid":")" + pod_uid +
          R"(","resourceVersion":"7"},"spec":{"schedulerName":"berth","containers":)"
          R"([{"name":"main","image":"registry.example.com/train:1"}],)"
          R"("resourceClaims":[{"name":"gpu","resourceClaimName":")" +
          claim + R"("}]},"status":{"phase":"Pending","nominatedNodeName":"n1"}})");
  put(view, api::Kind::ResourceClaim,
      R"({"metadata":{"namespace":"team-a","name":")" + claim + R"(","uid":")" + claim_uid +
          R"(","resourceVersion":"8","finalizers":["resource.kubernetes.io/delete-protection"]},)"
          R"("spec":{"devices":{"requests":[{"name":"gpu","exactly":{"deviceClassName":"fabric"}}]}},)"
          R"("status":{"allocation":)" +
          results.substr(0, results.size() - 1) + R"(,"allocationTimestamp":"2027-01-15T08:00:00Z"})" +
          R"(,"reservedFor":[{"resource":"pods","name":")" + name + R"(","uid":")" + pod_uid + R"("}]}})");
  put(view, api::Kind::BindRequest,
      R"({"metadata":{"namespace":"team-a","name":")" + name + R"(-0a1b2c3d","uid":")" + uid_of("b", i) +
          R"(","resourceVersion":"9"},"spec":{"podName":")" + name + R"(","podUID":")" + pod_uid +
          R"(","selectedNode":"n1","decisionID":")" + uid_of("d", i) +
          R"(","resourceClaimAllocations":[{"name":"gpu","claimName":")" + claim + R"(","claimUID":")" +
          claim_uid + R"(","allocation":)" + results +
          R"(}]},"status":{"phase":"Pending","step":"WaitingForDevices","decisionID":")" + uid_of("d", i) +
          R"("}})");
}

void report_parked_requests(benchmark::State& state) {
  for (auto _ : state) {
    client::View view;
    put(view, api::Kind::Node, R"({"metadata":{"name":"n1","uid":"n"}})");
    std::size_t before = heap_in_use();
    for (int i = 0; i < kParked; ++i) put_waiting(view, i);
    state.counters["objects_B"] = per_request(before);

    const std::vector<api::ObjectKey> keys = view.keys(api::Kind::BindRequest);
    auto binder = *Binder::make({});
    before = heap_in_use();
    std::vector<Time> wakes;
    wakes.reserve(keys.size());
    const std::size_t of_wakes = heap_in_use() - before;
    for (const api::ObjectKey& key : keys) {
      const client::Effects effects = binder->reconcile(view, key, kNow);
      if (!effects.wake_at) std::abort();  // it does not wait
      wakes.push_back(*effects.wake_at);
    }
    state.counters["binder_B"] = per_request(before + of_wakes);

    engine::WorkQueue queue;
    before = heap_in_use();
    for (const api::ObjectKey& key : keys) queue.add(0, key);
    for (const Time wake : wakes) queue.done(queue.take(), engine::RunResult::Fine, wake, kNow);
    state.counters["queue_B"] = per_request(before);
  }
}
BENCHMARK(report_parked_requests)->Iterations(1)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace berth::binding
