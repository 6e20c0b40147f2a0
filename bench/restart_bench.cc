// rooms: engine scheduling placement dra client api
// A restart: how long a scheduler takes from the bytes of the lists of a full cluster to its first decision.
//
// 5,000 nodes of eight devices, 150,000 pods that run, of which 20,000 have a device, and one that waits for
// one. Lists come as from an API server: in pages, in protobuf, by name; one thread decodes them for the
// engine, as that of the HTTP client does. The row is the CPU time of both threads; wall_ms is what passed.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <map>
#include <semaphore>
#include <string>
#include <thread>
#include <vector>

#include "api/protobuf_objects.h"
#include "client/serialized_stream.h"
#include "dra/cel_selectors.h"
#include "engine/engine.h"
#include "scheduling/scheduler.h"

namespace berth::scheduling {
namespace {

constexpr int kNodes = 5000, kPods = 150'000, kPodsWithDevice = 20'000, kDevicesOfANode = 8;
constexpr std::size_t kPageObjects = 500;

template <class T>
T must(Result<T> result) {
  if (result) return *std::move(result);
  std::fprintf(stderr, "restart_bench: %s\n", result.error().text().c_str());
  std::abort();
}

// The pages of each kind's list.
class Lists {
 public:
  Lists() {
    add(api::Kind::DeviceClass, "gpu", "",
        R"("spec":{"selectors":[{"cel":{"expression":"device.driver == 'gpu.example.com'"}}]})");
    for (int i = 0; i < kNodes; ++i) add_node(i);
    for (int i = 0; i < kPods; ++i) add_pod(i);
    add_claim("waiting", "");
    add_pod("waiting", "", R"(,"resourceClaims":[{"name":"gpu","resourceClaimName":"waiting"}])");
    for (const auto& [kind, texts] : texts_) write_pages(kind, texts);
    texts_.clear();
  }
  // Empty: there are no such objects.
  const std::vector<std::string>& pages_of(const api::ResourceRef& resource) const {
    static const std::vector<std::string> kNone;
    const auto found = pages_.find(api::kind_of_resource(resource.group, resource.resource));
    return found == pages_.end() ? kNone : found->second;
  }

 private:
  using Texts = std::map<std::string, std::string>;  // by name

  // `meta` and `rest`: members of the metadata and of the object.
  void add(api::Kind kind, const std::string& name, const std::string& meta, const std::string& rest) {
    const std::string ns = api::info_of(kind).namespaced ? R"("namespace":"default",)" : "";
    texts_[kind][name] = R"({"metadata":{)" + ns + R"("name":")" + name + R"(","uid":")" + name +
                         R"(-3f2504e0-4f89-11d3-9a0c",)" + meta + R"("resourceVersion":")" +
                         std::to_string(++version_) + R"("},)" + rest + "}";
  }
  void add_node(int i) {
    const std::string node = "node-" + std::to_string(i);
    add(api::Kind::Node, node,
        R"("labels":{"kubernetes.io/hostname":")" + node + R"(","topology.kubernetes.io/zone":"zone-)" +
            std::to_string(i % 3) + R"("},)",
        R"("status":{"allocatable":{"cpu":"128","memory":"1Ti","pods":"110"}})");
    std::string devices;
    for (int d = 0; d < kDevicesOfANode; ++d)
      devices += std::string(d == 0 ? "" : ",") + R"({"name":"gpu-)" + std::to_string(d) +
                 R"(","attributes":{"model":{"string":"H100"},"index":{"int":)" + std::to_string(d) +
                 R"(}},"capacity":{"memory":{"value":"80Gi"}}})";
    add(api::Kind::ResourceSlice, "slice-" + std::to_string(i), "",
        R"("spec":{"driver":"gpu.example.com","nodeName":")" + node + R"(","pool":{"name":")" + node +
            R"(","generation":1,"resourceSliceCount":1},"devices":[)" + devices + "]}");
  }
  void add_pod(int i) {
    const std::string name = "web-" + std::to_string(i), node = "node-" + std::to_string(i % kNodes);
    if (i >= kPodsWithDevice) return add_pod(name, node, "");
    add_claim(name, R"(,"status":{"allocation":{"devices":{"results":[{"request":"r","driver":)"
                    R"("gpu.example.com","pool":")" +
                        node + R"(","device":"gpu-)" + std::to_string(i / kNodes) +
                        R"("}]}},"reservedFor":[{"resource":"pods","name":")" + name + R"(","uid":")" + name +
                        R"(-3f2504e0-4f89-11d3-9a0c"}]})");
    add_pod(name, node, R"(,"resourceClaims":[{"name":"gpu","resourceClaimName":")" + name + "\"}]");
  }
  void add_claim(const std::string& name, const std::string& status) {
    add(api::Kind::ResourceClaim, name, "",
        R"("spec":{"devices":{"requests":[{"name":"r","exactly":{"deviceClassName":"gpu",)"
        R"("allocationMode":"ExactCount","count":1}}]}})" +
            status);
  }
  void add_pod(const std::string& name, const std::string& node, const std::string& more) {
    add(api::Kind::Pod, name,
        R"("labels":{"app":"web","pod-template-hash":"5d4f8c7b9"},"ownerReferences":[{"apiVersion":)"
        R"("apps/v1","kind":"ReplicaSet","name":"web-5d4f8c7b9","uid":"set-uid","controller":true}],)",
        R"("spec":{"schedulerName":"berth",)" + (node.empty() ? "" : R"("nodeName":")" + node + "\",") +
            R"("serviceAccountName":"default","tolerations":[{"key":"node.kubernetes.io/not-ready",)" +
            R"("operator":"Exists","effect":"NoExecute"}],"containers":[{"name":"main","image":)" +
            R"("registry.example.com/web:1.2.3","env":[{"name":"MODE","value":"production"}],"resources":)" +
            R"({"requests":{"cpu":"100m","memory":"256Mi"},"limits":{"memory":"512Mi"}}}])" + more +
            R"(},"status":{"phase":")" + (node.empty() ? "Pending" : "Running") + "\"}");
  }
  void write_pages(api::Kind kind, const Texts& texts) {
    const std::string version = api::ref_of(kind).api_version(),
                      list = std::string(api::info_of(kind).name) + "List";
    const api::ProtobufListWriter writer({version, list, api::find_kind(version, list)});
    const std::string meta = R"({"resourceVersion":")" + std::to_string(version_ + 1) + "\"}";
    std::string items;
    std::size_t written = 0;
    for (const auto& [name, text] : texts) {
      if (!writer.append_item(items, text)) std::abort();
      if (++written % kPageObjects != 0 && written != texts.size()) continue;
      pages_[kind].push_back(must(writer.head(meta, items.size())) + items + api::ProtobufListWriter::tail());
      items.clear();
    }
  }

  std::map<api::Kind, Texts> texts_;
  std::map<api::Kind, std::vector<std::string>> pages_;
  int version_ = 0;
};

// Sends each list once, on a thread of its own, and answers no write.
class ListServer final : public client::ApiClient {
 public:
  explicit ListServer(const Lists& lists) : lists_(lists) {}

  void submit(client::ApiRequest, std::function<void(client::ApiReply)>) override {}
  std::unique_ptr<client::Subscription> list_and_watch(api::ResourceRef resource,
                                                       client::WatchReceiver& receiver) override {
    asked_.push_back({std::move(resource), &receiver});
    return nullptr;
  }
  void send() const {
    for (const auto& [resource, receiver] : asked_) {
      client::RawList list;
      for (const std::string& body : lists_.pages_of(resource)) {
        client::ListPage page = must(client::read_list(body));
        list.resource_version = std::stoull(page.resource_version);
        std::ranges::move(page.objects, std::back_inserter(list.objects));
      }
      receiver->on_list(std::move(list));
    }
  }

 private:
  const Lists& lists_;
  std::vector<std::pair<api::ResourceRef, client::WatchReceiver*>> asked_;
};

struct Process {
  explicit Process(const Lists& lists) : server(lists) {
    engine.add(scheduler);
    engine.attach_to(informers);
    engine.on_message([this] { arrived.release(); });
    informers.start();
  }
  void decide_first(Time now) {
    std::jthread sender([this] { server.send(); });
    for (;;) {
      const bool more = engine.step(now);
      if (counts.count(placement::DecisionResult::Placed) > 0) return;
      if (!more) arrived.acquire();
    }
  }

  ListServer server;
  dra::CelSelectors selectors;
  DecisionCounts counts;
  Scheduler scheduler{{}, selectors, &counts};
  std::shared_ptr<api::DecodedVersions> decoded =
      std::make_shared<api::DecodedVersions>(api::kDecodedVersionsBytesMax, api::Texts::OfWhatBindingReads);
  engine::SharedInformers informers{server, decoded};
  std::counting_semaphore<> arrived{0};
  engine::Engine engine{server, {}};
};

void FirstDecision(benchmark::State& state) {
  const Lists lists;
  std::chrono::duration<double, std::milli> passed{};
  for (auto _ : state) {
    const auto began = std::chrono::steady_clock::now();
    auto process = std::make_unique<Process>(lists);
    process->decide_first(Time::from_seconds(1'800'000'000));
    state.PauseTiming();
    passed += std::chrono::steady_clock::now() - began;
    process.reset();
    state.ResumeTiming();
  }
  state.counters["wall_ms"] = passed.count() / static_cast<double>(state.iterations());
}

BENCHMARK(FirstDecision)->MeasureProcessCPUTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace berth::scheduling
