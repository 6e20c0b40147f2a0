// What the framework promises a plugin: its slot, the order of Reserve and Unreserve, its events.
#include "placement/framework.h"

#include <gtest/gtest.h>

#include "placement/plugin_bench.h"

namespace berth::placement {
namespace {

struct Seats {
  std::vector<std::string> taken;
  void clear() { taken.clear(); }
};
struct Others {
  int count = 0;
  void clear() { count = 0; }
};

TEST(StateSlots, AreTypedAndEmptyAfterClear) {
  StateSlots slots;
  EXPECT_TRUE(slots.read<Seats>().taken.empty());
  slots.write<Seats>().taken.push_back("a");
  slots.write<Others>().count = 3;
  EXPECT_EQ(slots.read<Seats>().taken.size(), 1u);
  StateSlots moved = std::move(slots);
  EXPECT_EQ(moved.read<Others>().count, 3);
  moved.clear();
  EXPECT_TRUE(moved.read<Seats>().taken.empty());
  EXPECT_EQ(moved.read<Others>().count, 0);
}

// Records the calls, or fails.
class Seat final : public Reserve {
 public:
  Seat(std::string label, bool fails, std::vector<std::string>& seats)
      : label_(std::move(label)), fails_(fails), seats_(seats) {}
  std::string_view name() const override { return "Seat"; }
  Status reserve(const PodQuery&, const NodeChoice&, NodeId, model::Ledger::Transaction&,
                 Reservation&) const override {
    if (fails_) return Error(ErrorCode::Conflict, "no seat " + label_);
    seats_.push_back(label_);
    return {};
  }
  void unreserve(const PodQuery&, NodeId) const override { seats_.push_back("-" + label_); }

 private:
  std::string label_;
  bool fails_;
  std::vector<std::string>& seats_;
};

class ReserveTest : public testing::Test {
 protected:
  ReserveTest() {
    bench_.put_node("n0", "");
    bench_.put_pod("p");
  }
  void install(const std::string& label, bool fails = false) {
    bench_.plugins.reserves.push_back(std::make_unique<Seat>(label, fails, seats_));
  }
  // Whether the pod could be reserved; its charge stays in the transaction.
  bool reserve(model::Ledger::Transaction& transaction) {
    bench_.begin(*bench_.view.pods.find("ns", "p"));
    const NodeId node = bench_.index.choose(bench_.state, {});
    return bench_.pods.reserve(bench_.state, node, transaction).has_value();
  }
  bool is_placed() const { return bench_.cluster.ledger().node_of(bench_.state.pod_id).valid(); }
  const std::vector<std::string>& seats() const { return seats_; }

  std::vector<std::string> seats_;
  PluginBench bench_;
};

TEST_F(ReserveTest, EveryPluginReservesAndThePodIsCharged) {
  install("a");
  install("b");
  model::Ledger::Transaction transaction(bench_.cluster.ledger());
  EXPECT_TRUE(reserve(transaction));
  EXPECT_TRUE(is_placed());
  EXPECT_EQ(seats(), (std::vector<std::string>{"a", "b"}));
}

TEST_F(ReserveTest, AFailureUndoesTheOnesBeforeItInReverse) {
  install("a");
  install("b");
  install("c", true);
  install("d");
  model::Ledger::Transaction transaction(bench_.cluster.ledger());
  EXPECT_FALSE(reserve(transaction));
  EXPECT_FALSE(is_placed());
  EXPECT_EQ(seats(), (std::vector<std::string>{"a", "b", "-b", "-a"}));
  EXPECT_EQ(bench_.state.diagnosis.error(), "running Reserve plugin \"Seat\": no seat c");
}

TEST(QueueingHints, APodWaitsForTheEventsOfThePluginsThatReadIt) {
  PluginBench bench;
  const api::Pod& plain = bench.put_pod("plain");
  const std::uint32_t nodes =
      kEventNodeAdded | kEventNodeChanged | kEventPodGone | kEventPodResized | kEventNamespaceChanged;
  EXPECT_EQ(bench.plugins.events_for(plain), nodes);
  const api::Pod& claims =
      bench.put_pod("claims", "", R"(,"resourceClaims":[{"name":"r","resourceClaimName":"c"}])");
  EXPECT_EQ(bench.plugins.events_for(claims), kEventAny & ~(kEventVolumeChanged | kEventPodPlaced |
                                                            kEventPodRelabelled | kEventSelectorChanged));
  const api::Pod& volumes =
      bench.put_pod("volumes", "", R"(,"volumes":[{"name":"v","persistentVolumeClaim":{"claimName":"c"}}])");
  EXPECT_EQ(bench.plugins.events_for(volumes), nodes | kEventVolumeChanged);
}

// Registers the event SliceChanged for every pod.
class SliceWatcher final : public Filter {
 public:
  std::string_view name() const override { return "SliceWatcher"; }
  QueueingHint events_to_register() const override { return {kEventSliceChanged}; }
  void filter(const PodQuery&, NodeVerdicts&) const override {}
};

TEST(QueueingHints, ANewPluginRegistersItsOwn) {
  PluginBench bench;
  const api::Pod& plain = bench.put_pod("plain");
  EXPECT_EQ(bench.plugins.events_for(plain) & kEventSliceChanged, 0u);
  bench.plugins.filters.push_back(std::make_unique<SliceWatcher>());
  EXPECT_NE(bench.plugins.events_for(plain) & kEventSliceChanged, 0u);
}

}  // namespace
}  // namespace berth::placement
