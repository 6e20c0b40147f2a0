// Random clusters whose pods evict each other and come back: they come to rest, and nobody is evicted for a
// pod that is not placed afterwards, unless a higher priority came.
#include <gtest/gtest.h>

#include <set>

#include "base/random.h"
#include "scheduling/test_bench.h"

namespace berth::scheduling {
namespace {

constexpr int kShards = 8;
constexpr int kWorldsOfAShard = 1250;
constexpr int kRoundsMax = 100;  // each evicts, ends, replaces and binds

class EvictingPods {
 public:
  explicit EvictingPods(std::uint64_t seed) : random_(seed) {
    const int nodes = 2 + below(3), pods = 4 + below(8);
    for (int i = 0; i < nodes; ++i) {
      const std::string name = "n" + std::to_string(i);
      bench_.put_node({name, std::to_string(2 + below(4)), "8Gi", "110", {{"host", name}}});
    }
    if (below(2) == 0)
      bench_.put(
          api::Kind::PodDisruptionBudget,
          R"({"metadata":{"name":"b","namespace":"default","uid":"b","generation":1},"spec":{"selector":)"
          R"({"matchLabels":{"app":"a"}}},"status":{"observedGeneration":1,"disruptionsAllowed":)" +
              std::to_string(below(2)) + "}}");
    for (int i = 0; i < pods; ++i) {
      Replica replica{std::to_string(1 + below(3)), R"(,"priority":)" + std::to_string(below(4))};
      if (below(4) == 0)
        replica.spec +=
            R"(,"affinity":{"podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{)"
            R"("labelSelector":{"matchLabels":{"app":"a"}},"topologyKey":"host"}]}})";
      replica.has_label = below(2) == 0;
      replicas_.push_back(replica);
    }
  }

  // False: it did not come to rest.
  bool run() {
    for (int round = 0; round < kRoundsMax; ++round) {
      bench_.now = bench_.now + Duration::seconds(11);
      bench_.run();
      const bool arrives = arrived_ < replicas_.size();
      if (!act() && !arrives) {
        bench_.now = bench_.now + kKeptMax * 2;  // what is kept for an overtaken pod ends, too
        bench_.run();
        if (!act()) return true;
      }
      // Pods of high priority come late as often as early.
      if (arrives && below(3) > 0) create(arrived_++);
    }
    return false;
  }
  std::size_t evictions() const { return bench_.evictions.size(); }
  std::string broken() const {
    for (const client::EventNote& event : bench_.events) {
      if (event.reason != "Preempted") continue;
      const std::string_view start = "Preempted by pod ";
      const std::string uid = event.message.substr(start.size(), event.message.find(" on ") - start.size());
      if (!bound_.contains(uid) && !outranked_.contains(uid))
        return event.regarding.name + " was evicted for " + uid + ", which waits";
    }
    if (!bench_.scheduler.cluster().ledger().holds().empty()) return "room is held at rest";
    return "";
  }

 private:
  struct Replica {
    std::string cpu, spec;
    bool has_label = false;
    int generation = 0;
    std::string name = "";
  };

  int below(int bound) { return static_cast<int>(random_.next() % static_cast<std::uint64_t>(bound)); }
  void create(std::size_t at) {
    Replica& replica = replicas_[at];
    replica.name = "p" + std::to_string(at) + "-" + std::to_string(replica.generation++);
    bench_.put_pod({replica.name, replica.cpu, "", replica.spec});
    const std::int32_t priority = bench_.view.pods.find("default", replica.name)->priority;
    for (const auto& [name, pod] : bench_.view.pods.all())
      if (!pod->bound() && pod->priority < priority) outranked_.insert(pod->meta.uid);
    if (!replica.has_label) return;
    Json pod = *parse_json(*bench_.view.pods.find("default", replica.name)->raw);
    pod["metadata"]["labels"]["app"] = "a";
    bench_.put_json(api::Kind::Pod, std::move(pod));
  }
  void run_pod(const api::Pod& pod) {
    const std::string name = pod.meta.name;
    bench_.bind(name);
    Json running = *parse_json(*bench_.view.pods.find("default", name)->raw);
    running["status"]["phase"] = "Running";
    running["status"]["startTime"] = format_time(bench_.now);
    running["status"]["conditions"] = *parse_json(R"([{"type":"Ready","status":"True"}])");
    bench_.put_json(api::Kind::Pod, std::move(running));
  }
  // As kubelet, controller and binder; false: nothing is to be done.
  bool act() {
    bool acted = false;
    for (std::size_t i = 0; i < arrived_; ++i) {
      const api::Pod& pod = *bench_.view.pods.find("default", replicas_[i].name);
      const api::BindRequest* request = placement::standing_request(bench_.view, pod);
      if (pod.meta.deleting()) {
        bench_.erase(api::Kind::Pod, pod.meta.name);
        create(i);
      } else if (!pod.bound() && request && request->withdrawn) {
        bench_.erase(api::Kind::BindRequest, request->meta.name);
      } else if (!pod.bound() && request && below(3) > 0) {
        bound_.insert(pod.meta.uid);
        run_pod(pod);
      } else if (pod.bound() || !request) {
        continue;
      }
      acted = true;
    }
    return acted;
  }

  SeededRandom random_;
  // Without reservations for pods that were overtaken: they last minutes.
  TestBench bench_{{.overtaking_limit = Duration::minutes(24 * 60)}};
  std::vector<Replica> replicas_;
  std::size_t arrived_ = 0;
  std::set<std::string, std::less<>> bound_;      // UIDs
  std::set<std::string, std::less<>> outranked_;  // the same: pods of higher priority came after them
};

class PreemptionComesToRest : public testing::TestWithParam<int> {};

TEST_P(PreemptionComesToRest, AndEveryEvictionHadItsPreemptor) {
  std::size_t evictions = 0;
  for (int i = 0; i < kWorldsOfAShard; ++i) {
    const auto seed = static_cast<std::uint64_t>(GetParam() * kWorldsOfAShard + i);
    EvictingPods world(seed);
    ASSERT_TRUE(world.run()) << "seed " << seed;
    ASSERT_EQ(world.broken(), "") << "seed " << seed;
    evictions += world.evictions();
  }
  EXPECT_GT(evictions, std::size_t{kWorldsOfAShard} / 4) << "too few pods are evicted to show anything";
}

INSTANTIATE_TEST_SUITE_P(Shards, PreemptionComesToRest, testing::Range(0, kShards));

}  // namespace
}  // namespace berth::scheduling
