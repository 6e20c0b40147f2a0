// No wake-up is lost, whatever of nodes, pods and labels changes.
#include <gtest/gtest.h>

#include "scheduling/test_wakes.h"

namespace berth::scheduling {
namespace {

class NoWakeUpIsLost : public testing::TestWithParam<std::uint64_t> {};

TEST_P(NoWakeUpIsLost, WhateverChanges) {
  expect_no_wake_up_lost<WakeWorld>(GetParam(), 150, 60);
}
INSTANTIATE_TEST_SUITE_P(Shards, NoWakeUpIsLost, testing::Range<std::uint64_t>(0, 4));

}  // namespace
}  // namespace berth::scheduling
