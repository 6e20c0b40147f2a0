// Random worlds in which pods wait while objects come, change and go: a judge of lost wake-ups.
//
// After each few changes a scheduler that has just started, and so tries every pod, must place none of those
// that wait in this one. Objects have few names, so that changes meet waiting pods.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "base/random.h"
#include "scheduling/test_bench.h"

namespace berth::scheduling {

class WakeWorld {
 public:
  explicit WakeWorld(std::uint64_t seed, const SchedulerOptions& options = {});
  virtual ~WakeWorld() = default;

  // One change. Here: of nodes, pods, labels, and a slice or volume now and then.
  virtual void step();
  // Lets every write be seen and every decided pod be bound.
  void settle();
  // What a scheduler places that knows nothing but the objects.
  std::string placed_afresh() const;

  std::string log;
  TestBench bench;

 protected:
  std::string pick(const std::string& prefix, std::uint64_t count) {
    return prefix + std::to_string(random_.below(count));
  }
  bool sometimes(std::uint64_t one_in) { return random_.below(one_in) == 0; }
  std::uint64_t below(std::uint64_t count) { return random_.below(count); }
  void note(const std::string& what) { log += what + " "; }
  // Puts the object and notes it.
  void put(api::Kind kind, const std::string& text);
  // If it is there.
  void erase(api::Kind kind, const std::string& name, const std::string& ns = "default");

  void put_node();
  // What a pod asks for besides resources: members of its spec.
  virtual std::string asks(const std::string& pod);
  void put_pod();
  // A bound pod, or none.
  const api::Pod* bound_pod();
  void end_pod();
  // The pod is erased already.
  virtual void ended(const api::Pod& pod);
  // As the binder writes it; the request is still there.
  virtual void bound(const api::Pod& pod, const api::BindRequest& request);
  template <class Change>
  void change(api::Kind kind, const api::RawPtr& raw, Change change) {
    Json object = *parse_json(*raw);
    change(object);
    bench.put_json(kind, std::move(object));
  }
  std::string zone_affinity();

 private:
  std::string term();
  void bind(const api::Pod& pod);
  void resize_pod();
  void relabel_pod();
  void put_volume();
  void label_namespace();

  const SchedulerOptions options_;
  SeededRandom random_;
  int pods_ = 0;
};

// Runs worlds of the shard; `Clusters` takes a seed.
template <class Clusters>
void expect_no_wake_up_lost(std::uint64_t shard, std::uint64_t worlds, int steps) {
  std::size_t waited = 0;
  for (std::uint64_t seed = shard * worlds; seed < (shard + 1) * worlds; ++seed) {
    Clusters world(seed);
    for (int i = 0; i < steps; ++i) {
      world.step();
      if (i % 6 != 5) continue;
      world.settle();
      ASSERT_FALSE(testing::Test::HasFatalFailure()) << "seed " << seed;
      // Room that is kept for another pod is not free; who started just now does not know of it.
      if (!world.bench.scheduler.cluster().ledger().holds().empty()) continue;
      waited += world.bench.scheduler.queue().unschedulable_count();
      const std::string found = world.placed_afresh();
      ASSERT_EQ(found, "") << "seed " << seed << ": "
                           << world.bench.message_of(found.substr(0, found.find(' '))) << "\n"
                           << world.log;
    }
  }
  EXPECT_GT(waited, worlds) << "pods wait in these worlds";
}

}  // namespace berth::scheduling
