// The table of reasons, row by row, and the sentences made from it.
#include "placement/refusal/reasons.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "placement/plugin_bench.h"
#include "placement/refusal/berth_words.h"

namespace berth::placement {
namespace {

std::size_t subjects_in(std::string_view text) {
  std::size_t count = 0;
  for (std::size_t at = text.find("{}"); at != std::string_view::npos; at = text.find("{}", at + 2)) ++count;
  return count;
}

std::set<std::string_view> plugin_names() {
  const PluginSet set = default_plugins();
  std::set<std::string_view> names = {""};  // the scheduler itself
  for (const auto& one : set.prefilters) names.insert(one->name());
  for (const auto& one : set.filters) names.insert(one->name());
  for (const auto& one : set.lazy_filters) names.insert(one->name());
  return names;
}

TEST(Reasons, EveryRowIsWhole) {
  const std::set<std::string_view> plugins = plugin_names();
  std::set<std::string_view> ids;
  for (const Reason& row : kReasons) {
    EXPECT_FALSE(row.id.empty());
    EXPECT_TRUE(ids.insert(row.id).second) << row.id << " stands twice";
    EXPECT_FALSE(row.text.empty()) << row.id;
    EXPECT_LE(subjects_in(row.text), 2u) << row.id;
    EXPECT_TRUE(plugins.contains(row.plugin)) << row.id << " is of no plugin: " << row.plugin;
    EXPECT_EQ(row.singular.empty(), row.plural.empty()) << row.id << " has one wording of two";
    EXPECT_EQ(subjects_in(row.singular), subjects_in(row.plural)) << row.id;
    EXPECT_LE(subjects_in(row.singular), subjects_in(row.text)) << row.id << " speaks of what the text lacks";
  }
}

// Rows with one text may differ only in their FilterStatus: their nodes are counted together.
TEST(Reasons, OneTextHasOneWording) {
  std::map<std::string_view, std::string_view> wordings;
  for (const Reason& row : kReasons)
    EXPECT_EQ(wordings.emplace(row.text, row.singular).first->second, row.singular) << row.id;
}

TEST(Reasons, SubjectsTakeTheirPlaces) {
  EXPECT_EQ(with_subjects("Insufficient {}", "cpu"), "Insufficient cpu");
  EXPECT_EQ(with_subjects("request {}: device class {} does not exist", "r", "gpu"),
            "request r: device class gpu does not exist");
  EXPECT_EQ(with_subjects("Too many pods", ""), "Too many pods");
  EXPECT_EQ(with_subjects("{}", "braces {} of a message"), "braces {} of a message");
}

TEST(Diagnosis, NumbersAReasonOnce) {
  Diagnosis diagnosis;
  const Reason& shared = reason_row("MappedClaimShared");
  const ReasonId a = diagnosis.reason(shared, "a");
  EXPECT_EQ(diagnosis.reason(shared, "a"), a);
  EXPECT_NE(diagnosis.reason(shared, "b"), a);
  EXPECT_NE(diagnosis.reason(reason_row("ClaimNotFound"), "a"), a);
  diagnosis.clear();
  EXPECT_EQ(diagnosis.reason(shared, "a"), a);
}

// A node that lacks the resource now and one that could never have it are counted together, and separately
// for preemption.
TEST(Diagnosis, ARequestBeyondAllocatableIsUnresolvable) {
  PluginBench bench;
  bench.put_node("n0", "");
  bench.put(api::Kind::Node, R"({"metadata":{"name":"n1"},"status":{"allocatable":{"cpu":"500m",)"
                             R"("memory":"8Gi","pods":"9"}}})");
  bench.put(api::Kind::Pod, R"({"metadata":{"name":"runs","namespace":"ns","uid":"runs"},"spec":{)"
                            R"("nodeName":"n0","containers":[{"name":"c","resources":{"requests":)"
                            R"({"cpu":"4"}}}]}})");
  const api::Pod& pod = bench.put_pod("p");
  EXPECT_EQ(bench.choose(pod), "0/2 nodes are available: 2 Insufficient cpu.");
  const FitError fit_error = bench.index.fit_error(bench.state);
  EXPECT_EQ(fit_error.unresolvable, 1u);
  EXPECT_EQ(fit_error.unschedulable, 1u);
  EXPECT_EQ(
      explanation_of(refuse_pod(pod, fit_error, 2, Preemption::NotTried)),
      "pod ns/p waits: 2 of 2 nodes lack cpu (n0, n1: it asks for 1; n1 comes closest with 500m free).");
  bench.choose_anew(pod);
  EXPECT_EQ(bench.pods.fit_error(bench.state), fit_error);
}

// A record may be read when nodes and attempt are gone.
TEST(Refusal, OutlivesItsCluster) {
  Refusal refusal;
  {
    PluginBench bench;
    for (const char* name : {"n0", "n1", "n2", "n3"}) bench.put_node(name, "");
    bench.put(api::Kind::Node,
              R"({"metadata":{"name":"n4"},"spec":{"taints":[{"key":"k","value":"v",)"
              R"("effect":"NoSchedule"}]},"status":{"allocatable":{"cpu":"9","pods":"9"}}})");
    const api::Pod& pod = bench.put_pod("p", "", R"(,"overhead":{"cpu":"4"},"preemptionPolicy":"Never")");
    bench.choose(pod);
    refusal = refuse_pod(pod, bench.index.fit_error(bench.state), 5, Preemption::NotEligible);
  }
  EXPECT_EQ(
      kubernetes_sentence(refusal),
      "0/5 nodes are available: 1 node(s) had untolerated taint(s), 4 Insufficient cpu. preemption: not "
      "eligible due to preemptionPolicy=Never.");
  EXPECT_EQ(explanation_of(refusal),
            "pod ns/p waits: 4 of 5 nodes lack cpu (n0, n1, n2 and 1 more: it asks for 5; n0 comes closest "
            "with 4 free); 1 of 5 nodes has a taint it does not tolerate (n4: k=v:NoSchedule).");
  EXPECT_EQ(refusal.nodes.reasons.at(0).row->id, "InsufficientAllocatable");
}

}  // namespace
}  // namespace berth::placement
