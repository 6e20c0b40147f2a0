#include "server/waiting_lanes.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <vector>

namespace berth::server {
namespace {

// The threads of a lane wait; what it has no room for is refused, and another lane is not touched.
TEST(WaitingLanes, AFullLaneRefusesAndOthersGoOn) {
  std::promise<void> opened;
  const std::shared_future<void> gate = opened.get_future().share();
  std::vector<std::promise<void>> begun(kLaneThreadsMax);
  std::atomic<std::size_t> done = 0;
  WaitingLanes lanes;
  for (std::promise<void>& one : begun)
    ASSERT_TRUE(lanes.offer("slow", [&] {
      one.set_value();
      gate.wait();
      ++done;
    }));
  for (std::promise<void>& one : begun) one.get_future().wait();
  for (std::size_t i = 0; i < kLaneWorkMax; ++i) ASSERT_TRUE(lanes.offer("slow", [&] { ++done; })) << i;
  EXPECT_FALSE(lanes.offer("slow", [] { FAIL() << "refused work runs"; }));
  std::promise<void> other;
  EXPECT_TRUE(lanes.offer("other", [&] { other.set_value(); }));
  other.get_future().wait();
  opened.set_value();
  std::promise<void> last;
  lanes.post("slow", [&] { last.set_value(); });
  last.get_future().wait();
  lanes.stop();
  EXPECT_EQ(done, kLaneThreadsMax + kLaneWorkMax);
}

}  // namespace
}  // namespace berth::server
