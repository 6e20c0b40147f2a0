#include "controllers/autoscaler_metrics.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"
#include "engine/testing/engine_fixture.h"

namespace berth::controllers {
namespace {

const Time kAsked = Time::from_seconds(1'800'000'000);

// Ready: for an hour. Starting: ready, but its metrics reach back before that. Unready: was never ready.
// Missing: no metrics.
enum class PodCase { Ready, Starting, Unready, Missing, Pending, Deleted };

struct PodRow {
  int requested, used;  // thousandths of a core
  PodCase is = PodCase::Ready;
};

std::string scaled_pod_text(const std::string& name, const PodRow& row) {
  const auto ago = [](int seconds) { return "\"" + format_time(kAsked - Duration::seconds(seconds)) + "\""; };
  const bool young = row.is == PodCase::Starting || row.is == PodCase::Unready;
  const std::string started = ago(young ? 60 : 3600);
  const std::string ready_since = row.is == PodCase::Starting ? ago(5) : started;
  const bool runs = row.is != PodCase::Missing && row.is != PodCase::Pending;
  return R"({"metadata":{"name":")" + name + R"(","namespace":"d","labels":{"app":"web"},"annotations":{
      "berth.dev/usage":"cpu=)" +
         std::to_string(row.used) + "m\"}" +
         (row.is == PodCase::Deleted ? ",\"deletionTimestamp\":" + ago(1) : "") +
         R"(},"spec":{"nodeName":"n","containers":[{"name":"c","resources":{)" +
         (row.requested > 0 ? R"("requests":{"cpu":")" + std::to_string(row.requested) + "m\"}" : "") +
         R"(}}]},"status":{"phase":")" + (row.is == PodCase::Pending ? "Pending" : "Running") +
         R"(","startTime":)" + started + R"(,"conditions":[{"type":"Ready","status":")" +
         (row.is == PodCase::Unready ? "False" : "True") + R"(","lastTransitionTime":)" + ready_since +
         R"(},{"type":"ContainersReady","status":")" + (runs ? "True" : "False") +
         R"(","lastTransitionTime":)" + started + "}]}}";
}

MetricsProposal ask_metrics(const std::vector<PodRow>& rows, std::int64_t replicas,
                            const std::string& metrics, Tolerances tolerances = {}) {
  client::View view;
  engine::testing::put(view, Kind::Node,
                       R"({"metadata":{"name":"n","labels":{"berth.dev/simulated":"true"}}})");
  for (std::size_t i = 0; i < rows.size(); ++i)
    engine::testing::put(view, Kind::Pod, scaled_pod_text("p" + std::to_string(i), rows[i]));
  const auto pods = scaled_pods(view, "d", *api::LabelSelector::parse("app=web"), kAsked);
  return proposal_of(parse_json(metrics)->as_array(), {pods, replicas, tolerances, "d", kAsked});
}

std::string cpu_utilization(int target) {
  return R"({"type":"Resource","resource":{"name":"cpu","target":{"type":"Utilization",)"
         R"("averageUtilization":)" +
         std::to_string(target) + "}}}";
}
std::string cpu_average(const std::string& value) {
  return R"({"type":"Resource","resource":{"name":"cpu","target":{"type":"AverageValue","averageValue":")" +
         value + "\"}}}";
}

// desired = ceil(pods * current / target); 10 % off the target changes nothing.
TEST(AutoscalerMetrics, AskForAsManyAsTheirTargetNeeds) {
  struct Row {
    const char* why;
    std::vector<PodRow> pods;
    std::string metric;
    std::int64_t replicas, utilization;
  };
  using enum PodCase;
  const Row rows[] = {
      {"75 / 50 = 1.5, of 3: 4.5", {{200, 150}, {200, 150}, {200, 150}}, cpu_utilization(50), 5, 75},
      {"55 / 50 = 1.1 is within", {{200, 110}, {200, 110}, {200, 110}}, cpu_utilization(50), 3, 55},
      {"56 / 50 = 1.12, of 3: 3.36", {{200, 112}, {200, 112}, {200, 112}}, cpu_utilization(50), 4, 56},
      {"45 / 50 = 0.9 is within", {{200, 90}, {200, 90}, {200, 90}}, cpu_utilization(50), 3, 45},
      {"20 / 50 = 0.4, of 3: 1.2", {{200, 40}, {200, 40}, {200, 40}}, cpu_utilization(50), 2, 20},
      {"of all requests together: 300 of 400 is 75", {{100, 90}, {300, 210}}, cpu_utilization(50), 3, 75},
      {"up, the missing uses nothing: 400 of 600 is 66, 66 / 50 of 3: 3.96",
       {{200, 200}, {200, 200}, {200, 0, Missing}},
       cpu_utilization(50),
       4,
       100},
      {"down, the missing uses its request: 280 of 600 is 46, within",
       {{200, 40}, {200, 40}, {200, 0, Missing}},
       cpu_utilization(50),
       3,
       20},
      {"up, unready ones use nothing: 200 of 600 is 33, the other way",
       {{200, 200}, {200, 300, Unready}, {200, 300, Unready}},
       cpu_utilization(50),
       3,
       100},
      {"the same of one whose metrics began before it was ready",
       {{200, 200}, {200, 300, Starting}, {200, 0, Pending}},
       cpu_utilization(50),
       3,
       100},
      {"down, unready ones do not count: 0.4 of 2: 0.8",
       {{200, 40}, {200, 40}, {200, 300, Unready}},
       cpu_utilization(50),
       1,
       20},
      {"deleted ones do not count: 1.5 of 2",
       {{200, 150}, {200, 150}, {200, 9, Deleted}},
       cpu_utilization(50),
       3,
       75},
      {"150m / 100m, of 3: 4.5", {{0, 150}, {0, 150}, {0, 150}}, cpu_average("100m"), 5, 0},
      {"down, the missing uses the target: 140 / 3 is 46, 46 / 100 of 3: 1.38",
       {{0, 20}, {0, 20}, {0, 0, Missing}},
       cpu_average("100m"),
       2,
       0},
  };
  for (const Row& row : rows) {
    const auto count = static_cast<std::int64_t>(row.pods.size());
    const MetricsProposal proposal = ask_metrics(row.pods, count, "[" + row.metric + "]");
    ASSERT_TRUE(proposal.replicas) << row.why << ": " << proposal.error();
    EXPECT_EQ(*proposal.replicas, row.replicas) << row.why;
    EXPECT_EQ(proposal.current.front().part("resource").part("current").int_at("averageUtilization"),
              row.utilization)
        << row.why;
  }
}

// The judge: the steps of Kubernetes' page one after the other, in floating point.
struct JudgedPods {
  double used = 0, requested = 0;
  int count = 0;
  void add(double use, double request) {
    used += use;
    requested += request;
    ++count;
  }
  // In whole percent, as a part of the target.
  double ratio(int target) const { return std::floor(100 * used / requested) / target; }
};

constexpr double kRoundingSlack = 1e-9;

std::int64_t judged_replicas(const std::vector<PodRow>& rows, int target) {
  const auto replicas = static_cast<std::int64_t>(rows.size());
  const auto near = [](double ratio) { return std::abs(ratio - 1) <= 0.1 + kRoundingSlack; };
  const auto rounded_up = [](double number) {
    return static_cast<std::int64_t>(std::ceil(number - kRoundingSlack));
  };
  JudgedPods pods;
  for (const PodRow& row : rows)
    if (row.is == PodCase::Ready) pods.add(row.used, row.requested);
  const double ratio = pods.ratio(target);
  const int ready = pods.count;
  for (const PodRow& row : rows) {
    const bool unready =
        row.is == PodCase::Starting || row.is == PodCase::Unready || row.is == PodCase::Pending;
    if (row.is == PodCase::Missing && ratio < 1)
      pods.add(std::floor(row.requested * std::max(1.0, target / 100.0)), row.requested);
    if (ratio > 1 && (unready || row.is == PodCase::Missing)) pods.add(0, row.requested);
  }
  const double next = pods.ratio(target);
  if (pods.count == ready) return near(ratio) ? replicas : rounded_up(ratio * ready);
  if (near(next) || (ratio > 1) != (next > 1)) return replicas;
  const std::int64_t wanted = rounded_up(next * pods.count);
  return next > 1 ? std::max(wanted, replicas) : std::min(wanted, replicas);
}

TEST(AutoscalerMetrics, AskForWhatTheJudgeDoes) {
  constexpr int kWorlds = 1500;
  SeededRandom random(20261128);
  const auto below = [&](std::uint64_t bound) { return static_cast<int>(random.below(bound)); };
  int judged = 0;
  for (int world = 0; world < kWorlds; ++world) {
    std::vector<PodRow> rows;
    for (int left = 1 + below(6); left > 0; --left) {
      const PodCase is = below(2) == 0 ? PodCase::Ready : static_cast<PodCase>(below(5));
      rows.push_back({100 * (1 + below(4)), 10 * below(60), is});
    }
    const int target = 10 * (1 + below(15));
    if (std::ranges::none_of(rows, [](const PodRow& row) { return row.is == PodCase::Ready; })) continue;
    const auto proposal =
        ask_metrics(rows, static_cast<std::int64_t>(rows.size()), "[" + cpu_utilization(target) + "]");
    ASSERT_TRUE(proposal.replicas) << world << ": " << proposal.error();
    EXPECT_EQ(*proposal.replicas, judged_replicas(rows, target)) << world;
    ++judged;
  }
  EXPECT_GT(judged, kWorlds / 2);
}

TEST(AutoscalerMetrics, SayWhatIsUsed) {
  const MetricsProposal proposal = ask_metrics(
      {{200, 150}, {200, 100}}, 2,
      "[" + cpu_utilization(50) + R"(,{"type":"ContainerResource","containerResource":{"name":"cpu",
              "container":"c","target":{"type":"AverageValue","averageValue":"1"}}}])");
  EXPECT_EQ(to_string(Json(proposal.current)),
            R"([{"type":"Resource","resource":{"name":"cpu","current":{"averageUtilization":62,)"
            R"("averageValue":"125m"}}},{"type":"ContainerResource","containerResource":{"name":"cpu",)"
            R"("container":"c","current":{"averageValue":"125m"}}}])");
  EXPECT_EQ(proposal.metric, "cpu resource utilization (percentage of request)");
  EXPECT_EQ(*proposal.replicas, 3) << "the largest counts";
}

TEST(AutoscalerMetrics, TolerancesOfTheSpecCount) {
  const Tolerances none{Quantity(), Quantity::millis(200)};
  EXPECT_EQ(*ask_metrics({{200, 110}, {200, 110}}, 2, "[" + cpu_utilization(50) + "]", none).replicas, 3);
  EXPECT_EQ(*ask_metrics({{200, 80}, {200, 80}}, 2, "[" + cpu_utilization(50) + "]", none).replicas, 2);
}

TEST(AutoscalerMetrics, SayWhyTheyHaveNoNumber) {
  const std::string pods_metric =
      R"({"type":"Pods","pods":{"metric":{"name":"m"},"target":{"type":"AverageValue","averageValue":"1"}}})";
  struct Row {
    std::vector<PodRow> pods;
    std::string metrics, reason, message;
    bool has_number = false;
  };
  const Row rows[] = {
      {{},
       cpu_utilization(50),
       "FailedGetResourceMetric",
       "failed to get cpu utilization: no pods returned by selector while calculating replica count"},
      {{{0, 10}},
       cpu_utilization(50),
       "FailedGetResourceMetric",
       "failed to get cpu utilization: missing request for cpu in container c of Pod p0"},
      {{{200, 0, PodCase::Missing}},
       cpu_utilization(50),
       "FailedGetResourceMetric",
       "failed to get cpu utilization: unable to get metrics for resource cpu: no metrics returned from "
       "resource "
       "metrics API"},
      {{{200, 10, PodCase::Unready}},
       cpu_utilization(50),
       "FailedGetResourceMetric",
       "failed to get cpu utilization: did not receive metrics for targeted pods (pods might be unready)"},
      {{{200, 10}},
       R"({"type":"ContainerResource","containerResource":{"name":"cpu","container":"x","target":{
           "type":"Utilization","averageUtilization":50}}})",
       "FailedGetContainerResourceMetric",
       "failed to get cpu utilization: container x not present in metrics for pod d/p0"},
      {{{200, 200}, {200, 200}},
       pods_metric + "," + cpu_utilization(50),
       "FailedGetPodsMetric",
       "unable to get metric m: unable to fetch metrics from custom metrics API: no custom metrics API "
       "(custom.metrics.k8s.io) registered",
       true},
      {{{200, 10}, {200, 10}},
       pods_metric + "," + cpu_utilization(50),
       "FailedGetPodsMetric",
       "unable to get metric m: unable to fetch metrics from custom metrics API: no custom metrics API "
       "(custom.metrics.k8s.io) registered"},
  };
  for (const Row& row : rows) {
    const MetricsProposal proposal =
        ask_metrics(row.pods, static_cast<std::int64_t>(row.pods.size()), "[" + row.metrics + "]");
    ASSERT_EQ(proposal.failures.size(), 1u) << row.message;
    EXPECT_EQ(proposal.failures.front().reason, row.reason);
    EXPECT_EQ(proposal.failures.front().message, row.message);
    EXPECT_EQ(proposal.replicas.has_value(), row.has_number) << "fewer replicas would be a guess";
  }
  EXPECT_EQ(ask_metrics({{0, 10}}, 1, "[" + cpu_utilization(50) + "]").error(),
            "invalid metrics (1 invalid out of 1), first error is: failed to get cpu resource metric value: "
            "failed to get cpu utilization: missing request for cpu in container c of Pod p0");
}

}  // namespace
}  // namespace berth::controllers
