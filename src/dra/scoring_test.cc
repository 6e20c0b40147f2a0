// Which allocation is taken where several are possible.
#include "dra/scoring.h"

#include <gtest/gtest.h>

namespace berth::dra {
namespace {

TEST(Scoring, NamesAreThoseOfTheTable) {
  for (const DeviceScoringName& row : kDeviceScorings) {
    EXPECT_EQ(name_of(row.scoring), row.name);
    EXPECT_EQ(device_scoring_of(row.name), row.scoring);
  }
  EXPECT_EQ(device_scoring_of("reference"), std::nullopt);
  EXPECT_EQ(device_scoring_names(), "Reference, LeastFragmenting");
}

}  // namespace
}  // namespace berth::dra
