#include "base/metrics.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

TEST(MetricsText, IsTheExpositionFormat) {
  MetricsText text;
  text.family({"berth_writes_total", MetricType::Counter, "Writes\nby \"result\".", {"result", "by"}});
  text.sample({"ok", "a\"b\\c\nd"}, 3);
  text.sample({"", ""}, UINT64_MAX);
  text.single({"berth_up", MetricType::Gauge, "Is up."}, 1);
  EXPECT_EQ(text.take(),
            "# HELP berth_writes_total Writes\\nby \"result\".\n"
            "# TYPE berth_writes_total counter\n"
            "berth_writes_total{result=\"ok\",by=\"a\\\"b\\\\c\\nd\"} 3\n"
            "berth_writes_total{result=\"\",by=\"\"} 18446744073709551615\n"
            "# HELP berth_up Is up.\n"
            "# TYPE berth_up gauge\n"
            "berth_up 1\n");
}

TEST(MetricsText, CumulatesTheBucketsOfAHistogram) {
  static constexpr double kBounds[] = {0.1, 0.2, 25.6};
  Histogram histogram(kBounds);
  for (const double value : {0.05, 0.1, 0.15, 30.0, 1e9}) histogram.observe(value);
  EXPECT_EQ(histogram.count(), 5u);
  MetricsText text;
  text.family({"h_seconds", MetricType::Histogram, "H.", {"a"}});
  text.histogram({"b"}, histogram);
  EXPECT_EQ(text.take(),
            "# HELP h_seconds H.\n"
            "# TYPE h_seconds histogram\n"
            "h_seconds_bucket{a=\"b\",le=\"0.1\"} 2\n"
            "h_seconds_bucket{a=\"b\",le=\"0.2\"} 3\n"
            "h_seconds_bucket{a=\"b\",le=\"25.6\"} 3\n"
            "h_seconds_bucket{a=\"b\",le=\"+Inf\"} 5\n"
            "h_seconds_sum{a=\"b\"} 1000000030.3\n"
            "h_seconds_count{a=\"b\"} 5\n");
}

}  // namespace
}  // namespace berth
