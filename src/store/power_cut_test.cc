// A store on the simulated disk: power cuts, torn writes, syncs that lie, each operation failing once.
#include <gtest/gtest.h>

#include <atomic>

#include "base/random.h"
#include "store/simulated_disk.h"
#include "store/test_tools.h"

namespace berth::store {
namespace {

constexpr int kCutsDefault = 2'000;
constexpr int kRoundsOfOneDisk = 20;
constexpr int kLyingRounds = 200;
constexpr std::uint64_t kChangesBeforeCutMax = 60;
constexpr int kWritesOfARound = 40;
constexpr std::uint64_t kKeys = 24;
constexpr std::uint64_t kContentBytesMax = 6'000;  // some need overflow pages
constexpr std::size_t kLogBytesMax = 64 * 1024;    // so that most rounds checkpoint
constexpr std::uint64_t kOperationsMax = 5'000;    // of one workload; the loop over all of them ends before

const std::vector<std::string> kCutResources = {"pods"};

// A disk, the store on it across reopenings, and the invariants of both.
class PowerCutHarness {
 public:
  PowerCutHarness(std::uint64_t seed, SimulatedDisk::Syncs syncs) : disk_(seed, syncs), random_(seed) {}

  SimulatedDisk& disk() { return disk_; }
  SeededRandom& random() { return random_; }

  // Opens, writes, closes. Whatever the disk does meanwhile, every result must be the judge's or a failed
  // disk's.
  void work(int writes) {
    Result<std::unique_ptr<Store>> opened =
        open_store({.directory = "store", .log_bytes_max = kLogBytesMax}, &disk_);
    if (!opened.ok()) return;
    std::unique_ptr<Store> store = std::move(*opened);
    RememberingSink sink;
    const auto handle = store->watch("", store->revision(), sink).value();
    for (int i = 0; i < writes; ++i) submit(*store);
    store.reset();
    seen_ = std::max(seen_, sink.progress());
  }

  // Opens without faults and returns the violation; empty when there is none.
  std::string violation() {
    if (!wrong_answer_.empty()) return wrong_answer_;
    const Result<std::unique_ptr<Store>> opened =
        open_store({.directory = "store", .synchronous = true}, &disk_);
    if (!opened.ok()) return "does not open: " + opened.error().text();
    const Store& store = **opened;
    const Revision recovered = store.revision();
    if (recovered < acknowledged_)
      return "acknowledged revision " + std::to_string(acknowledged_) + " is lost; " +
             std::to_string(recovered) + " was recovered";
    if (recovered < seen_) return "revision " + std::to_string(seen_) + " was seen and is lost";
    if (recovered > judge_.revision()) return "a revision nobody wrote";
    if (std::string found = difference(store, judge_, kCutResources); !found.empty()) return found;
    judge_.forget_behind(recovered);
    return "";
  }

 private:
  void submit(Store& store) {
    Key key = pod("n" + std::to_string(random_.below(kKeys)));
    std::string content(random_.below(kContentBytesMax), static_cast<char>('a' + random_.below(26)));
    WriteRequest write = remove(key);
    if (const std::uint64_t kind = random_.below(4); kind < 2) {
      write = update(key, 0, std::move(content));
    } else if (kind == 2) {
      write = create(key, std::move(content));
    }
    const Judge::Expected verdict = judge_.write(write);
    const auto note = [this, verdict](const WriteResult& result) { check(verdict, result); };
    // Waiting occasionally gives commits of one write beside those of many.
    if (random_.below(4) == 0) {
      note(store.write(std::move(write)));
    } else {
      store.submit(std::move(write), note);
    }
  }

  // On the committer's thread or this one, never both at once: a waiting submit() returns after all earlier
  // results.
  void check(const Judge::Expected& verdict, const WriteResult& result) {
    if (!result.ok()) {
      const ErrorCode code = result.error().code();
      const bool expected = code == ErrorCode::Internal || (!verdict.made && code == verdict.refused);
      if (!expected) wrong_answer_ = "refused: " + result.error().text();
    } else if (!verdict.made || !same(**result, *verdict.made)) {
      wrong_answer_ = "an answer that the judge does not give";
    } else {
      acknowledged_ = std::max<Revision>(acknowledged_, (*result)->revision);
    }
  }

  SimulatedDisk disk_;
  SeededRandom random_;
  Judge judge_;
  Revision seen_ = 0;
  std::string wrong_answer_;
  std::atomic<Revision> acknowledged_ = 0;
};

// The number of rounds that end with a violation; the first one is described.
struct PowerCutTally {
  int cuts = 0;
  int violations = 0;
  std::string first;
};

PowerCutTally cut_power(int rounds, SimulatedDisk::Syncs syncs) {
  PowerCutTally tally;
  for (int round = 0; round < rounds;) {
    PowerCutHarness world(static_cast<std::uint64_t>(round), syncs);
    for (int i = 0; i < kRoundsOfOneDisk && round < rounds; ++i, ++round) {
      world.disk().cut_power_before_change(1 + world.random().below(kChangesBeforeCutMax));
      world.work(kWritesOfARound);
      tally.cuts += world.disk().fault_pending() ? 0 : 1;
      world.disk().power_on();
      const std::string violation = world.violation();
      if (violation.empty()) continue;
      if (tally.violations++ == 0) tally.first = "round " + std::to_string(round) + ": " + violation;
      round += kRoundsOfOneDisk - i;  // this disk cannot be trusted any more
      break;
    }
  }
  return tally;
}

TEST(PowerCut, LosesNothingThatWasAcknowledged) {
  const PowerCutTally tally = cut_power(kCutsDefault, SimulatedDisk::Syncs::Honoured);
  EXPECT_EQ(tally.violations, 0) << tally.first;
  EXPECT_GT(tally.cuts, kCutsDefault / 4) << "the power must go off while the store works";
}

TEST(PowerCut, ALossWouldBeSeen) {
  const PowerCutTally tally = cut_power(kLyingRounds, SimulatedDisk::Syncs::Ignored);
  EXPECT_GT(tally.violations, 0)
      << "a disk that lies about syncs loses data, and the check above must notice";
}

// Whatever happens in between, all of it is there or none.
TEST(PowerCut, WhatBelongsTogetherIsThereOrNot) {
  constexpr std::size_t kTogether = 30;
  std::size_t none = 0, all = 0;
  for (std::uint64_t change = 1; all < 3; ++change) {
    ASSERT_LT(change, kOperationsMax) << "the power never stays on";
    SimulatedDisk disk(change);
    {
      ASSERT_TRUE(open_store({.directory = "store"}, &disk).ok());
    }
    bool acknowledged = false;
    disk.cut_power_before_change(change);
    if (const auto store = open_store({.directory = "store"}, &disk); store.ok())
      acknowledged = (*store)
                         ->together([&] {
                           for (std::size_t i = 0; i < kTogether; ++i) {
                             const auto made = (*store)->write(
                                 create(pod("p" + std::to_string(i)), std::string(kContentBytesMax, 'x')));
                             if (!made) return Status(made.error());
                           }
                           return Status();
                         })
                         .ok();
    disk.power_on();
    const auto found = open_store({.directory = "store"}, &disk);
    ASSERT_TRUE(found.ok()) << found.error().text();
    const std::size_t count = (*found)->count("pods");
    EXPECT_TRUE(count == kTogether || (count == 0 && !acknowledged)) << count << ", change " << change;
    (count == 0 ? none : all) += 1;
  }
  EXPECT_GT(none, 0u);
}

enum class Afterwards { Reopen, PowerCut };

void fail_each_operation(Afterwards afterwards) {
  std::uint64_t operation = 1;
  for (; operation < kOperationsMax; ++operation) {
    PowerCutHarness world(operation, SimulatedDisk::Syncs::Honoured);
    world.work(3);  // some data to lose
    world.disk().fail_operation(operation);
    world.work(10);
    if (world.disk().fault_pending()) break;
    if (afterwards == Afterwards::PowerCut) world.disk().power_on();
    ASSERT_EQ(world.violation(), "") << "after operation " << operation << " failed";
  }
  EXPECT_GT(operation, 30u) << "the workload did too little";
  EXPECT_LT(operation, kOperationsMax) << "the workload never ended";
}

TEST(FailingDisk, EachOperationMayFailBeforeAReopen) {
  fail_each_operation(Afterwards::Reopen);
}
TEST(FailingDisk, EachOperationMayFailBeforeAPowerCut) {
  fail_each_operation(Afterwards::PowerCut);
}

}  // namespace
}  // namespace berth::store
