// What a defect of the museum breaks, in tests that are compiled twice. In their room's program the rule must
// hold. In museum_test each defect must break it (base/known_defects.h).
#pragma once

#include <gtest/gtest.h>

#include "base/known_defects.h"

namespace berth {

// In museum_test, with the defect switched on; elsewhere nothing happens.
template <class Holds>
void expect_broken_by([[maybe_unused]] KnownDefect defect, [[maybe_unused]] Holds holds) {
#ifdef BERTH_MUSEUM
  const WithDefect on(defect);
  EXPECT_FALSE(holds()) << "the defect is not found";
#endif
}

template <class Holds>
void expect_shown(KnownDefect defect, Holds holds) {
  EXPECT_TRUE(holds());
  expect_broken_by(defect, holds);
}

}  // namespace berth
