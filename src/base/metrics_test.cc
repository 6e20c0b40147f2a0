#include "base/metrics.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

TEST(MetricsText, IsTheExpositionFormat) {
  MetricsText text;
  text.family("berth_writes_total", MetricType::Counter, "Writes\nby \"result\".");
  text.sample({{"result", "ok"}, {"by", "a\"b\\c\nd"}}, 3);
  text.sample({}, UINT64_MAX);
  text.single("berth_up", MetricType::Gauge, "Is up.", 1);
  EXPECT_EQ(text.take(),
            "# HELP berth_writes_total Writes\\nby \"result\".\n"
            "# TYPE berth_writes_total counter\n"
            "berth_writes_total{result=\"ok\",by=\"a\\\"b\\\\c\\nd\"} 3\n"
            "berth_writes_total 18446744073709551615\n"
            "# HELP berth_up Is up.\n"
            "# TYPE berth_up gauge\n"
            "berth_up 1\n");
}

}  // namespace
}  // namespace berth
