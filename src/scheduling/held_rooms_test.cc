#include "scheduling/held_rooms.h"

#include <gtest/gtest.h>

#include "scheduling/test_bench.h"

namespace berth::scheduling {
namespace {

TEST(HeldRooms, SoManyAreListedAndAllAreCounted) {
  TestBench bench;
  bench.put_node({"n1", "4", "8Gi", "1000"});
  for (std::size_t i = 0; i <= kRoomsListedMax; ++i) {
    const std::string name = "p" + std::to_string(i);
    bench.put_pod({name, "1m", "", R"(,"schedulingGates":[{"name":"x"}])"});
    bench.nominate(name, "n1");
  }
  bench.run();
  const HeldRooms held = bench.scheduler.held_rooms();
  EXPECT_EQ(held.total, kRoomsListedMax + 1);
  EXPECT_EQ(held.rooms.size(), kRoomsListedMax);
}

}  // namespace
}  // namespace berth::scheduling
