#include "dra/proof/matching.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"

namespace berth::dra {
namespace {

// A few slots and places, with bottlenecks that several places share.
struct SmallCase {
  std::vector<std::uint32_t> multiplicity, bottleneck_of, capacity;
  std::vector<Bits> accepts;  // by slot

  explicit SmallCase(Random& random) {
    const std::uint64_t places = 1 + random.below(5), bottlenecks = random.below(4);
    for (std::uint64_t i = 0; i < places; ++i) {
      multiplicity.push_back(static_cast<std::uint32_t>(1 + random.below(2)));
      const std::uint64_t drawn = random.below(bottlenecks + 1);
      bottleneck_of.push_back(drawn == bottlenecks ? Matching::kNone : static_cast<std::uint32_t>(drawn));
    }
    for (std::uint64_t i = 0; i < bottlenecks; ++i)
      capacity.push_back(static_cast<std::uint32_t>(random.below(4)));
    accepts.assign(1 + random.below(6), Bits(places));
    for (Bits& slot : accepts)
      for (std::uint64_t place = 0; place < places; ++place)
        if (random.below(2) == 0) slot.set(place);
  }

  // Tries everything from slot `at` on; only the slots of `which` count.
  bool can_serve(const std::vector<std::uint32_t>& which, std::size_t at, std::vector<std::uint32_t>& load,
                 std::vector<std::uint32_t>& bottleneck_load) const {
    if (at == which.size()) return true;
    for (std::size_t place = 0; place < multiplicity.size(); ++place) {
      const std::uint32_t bottleneck = bottleneck_of[place];
      const bool full = bottleneck != Matching::kNone && bottleneck_load[bottleneck] >= capacity[bottleneck];
      if (!accepts[which[at]].test(place) || load[place] >= multiplicity[place] || full) continue;
      ++load[place];
      if (bottleneck != Matching::kNone) ++bottleneck_load[bottleneck];
      const bool served = can_serve(which, at + 1, load, bottleneck_load);
      --load[place];
      if (bottleneck != Matching::kNone) --bottleneck_load[bottleneck];
      if (served) return true;
    }
    return false;
  }
  bool can_serve(const std::vector<std::uint32_t>& which) const {
    std::vector<std::uint32_t> load(multiplicity.size()), bottleneck_load(capacity.size());
    return can_serve(which, 0, load, bottleneck_load);
  }
};

std::vector<std::uint32_t> first(std::size_t count) {
  std::vector<std::uint32_t> slots(count);
  for (std::uint32_t i = 0; i < count; ++i) slots[i] = i;
  return slots;
}

// Hall's proof: the blocked slots accept only blocked places, and are more than those can serve together.
void expect_proof(const SmallCase& small, const Matching& matching) {
  const std::vector<std::uint32_t>& slots = matching.blocked_slots();
  EXPECT_FALSE(small.can_serve(slots));
  EXPECT_GT(slots.size(), matching.blocked_capacity());
  for (const std::uint32_t slot : slots)
    for (std::size_t place = 0; place < small.multiplicity.size(); ++place)
      EXPECT_TRUE(!small.accepts[slot].test(place) || matching.blocked_places().test(place) ||
                  (small.bottleneck_of[place] != Matching::kNone &&
                   matching.blocked_bottlenecks()[small.bottleneck_of[place]] != 0));
}

TEST(Matching, ServesWhatCanBeServedAndProvesTheRest) {
  SeededRandom random(3);
  int refused = 0;
  for (int round = 0; round < 3000 && !::testing::Test::HasFailure(); ++round) {
    const SmallCase small(random);
    Matching matching;
    matching.reset(small.multiplicity, small.bottleneck_of, small.capacity.size());
    for (std::uint32_t i = 0; i < small.capacity.size(); ++i) matching.set_bottleneck(i, small.capacity[i]);
    bool served = true;
    for (std::size_t slot = 0; served && slot < small.accepts.size(); ++slot) {
      matching.add_slot(&small.accepts[slot]);
      served = matching.repair();
      ASSERT_EQ(served, small.can_serve(first(slot + 1))) << "round " << round;
    }
    if (served) continue;
    ++refused;
    expect_proof(small, matching);
  }
  EXPECT_GT(refused, 500);
}

}  // namespace
}  // namespace berth::dra
