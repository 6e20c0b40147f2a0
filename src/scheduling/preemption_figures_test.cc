// What kube-scheduler's metrics of preemption count.
#include "scheduling/preemption_figures.h"

#include <gtest/gtest.h>

#include "scheduling/test_bench.h"

namespace berth::scheduling {
namespace {

// The sample's value; "": there is none.
std::string value_of(const std::string& text, const std::string& sample) {
  const auto at = text.find("\n" + sample + " ");
  if (at == std::string::npos) return "";
  const auto begin = at + sample.size() + 2;
  return text.substr(begin, text.find('\n', begin) - begin);
}

std::string shown(const PreemptionFigures& figures) {
  MetricsText text;
  figures.write_metrics(text);
  return "\n" + text.take();
}

TEST(PreemptionFigures, CountsAttemptsVictimsAndBudgets) {
  TestBench bench;
  bench.put_node({"n1"});
  const std::string bound = R"(,"nodeName":"n1","priority":5)";
  bench.put_pod({"low-1", "2", "", bound});
  bench.put_pod({"low-2", "2", "", bound});
  bench.put(api::Kind::PodDisruptionBudget,
            R"({"metadata":{"name":"b","namespace":"default","generation":1},"spec":{"selector":{}},)"
            R"("status":{"observedGeneration":1,"disruptionsAllowed":1}})");
  for (const char* pod : {"low-1", "low-2"}) {
    Json running = *parse_json(*bench.view.pods.find("default", pod)->raw);
    running["status"]["phase"] = "Running";
    bench.put_json(api::Kind::Pod, std::move(running));
  }
  bench.put_pod({"never", "4", "", R"(,"priority":9,"preemptionPolicy":"Never")"});
  bench.put_pod({"high", "4", "", R"(,"priority":9)"});
  bench.run();
  const std::string text = shown(bench.decisions.preemptions());
  EXPECT_EQ(value_of(text, "scheduler_preemption_attempts_total"), "2");
  EXPECT_EQ(value_of(text, "scheduler_preemption_victims_count"), "1");
  EXPECT_EQ(value_of(text, "scheduler_preemption_victims_sum"), "2");
  EXPECT_EQ(value_of(text, R"(scheduler_preemption_pdb_violations_total{preemptor="pod"})"), "1");
  EXPECT_EQ(value_of(text, R"(scheduler_preemption_workload_disruptions_count{preemptor="pod"})"), "0");
}

}  // namespace
}  // namespace berth::scheduling
