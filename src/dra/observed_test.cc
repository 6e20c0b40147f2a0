// The results of Kubernetes' own allocator (k8s.io/dynamic-resource-allocation v0.37.0) on small recorded
// worlds.
#include <gtest/gtest.h>

#include <fstream>
#include <map>

#include "base/testing/source_dir.h"
#include "dra/cel_selectors.h"
#include "dra/judge/certificate_checker.h"
#include "dra/test_world.h"

namespace berth::dra {
namespace {

std::vector<Json> recorded_worlds() {
  std::vector<Json> worlds;
  for (const char* name : {"worlds.jsonl", "fresh-worlds.jsonl"}) {  // the latter by tests/oracle
    std::ifstream file(source_path(std::string("tests/data/dra/") + name));
    for (std::string line; std::getline(file, line);) worlds.push_back(*parse_json(line));
  }
  return worlds;
}

DeviceGates all_gates(const Json& world) {
  DeviceGates gates;
  gates.list_attributes = gates.derived_attributes = gates.optional_node_operations = true;
  gates.compatibility_groups = world.items_at("gatesOff").empty();
  return gates;
}

std::string verdict_text(const AllocationVerdict& verdict) {
  if (std::holds_alternative<Allocations>(verdict)) return "feasible";
  if (const auto* no = std::get_if<Impossible>(&verdict))
    return no->invalid_pools ? "nodeError" : "infeasible";
  if (const auto* failed = std::get_if<AllocationError>(&verdict)) return "error: " + failed->error;
  return "out of budget";
}

// Intended differences, with their reasons.
constexpr std::string_view kSharedBefore =
    "a device with live shares is in use, also when it is no longer shareable";
constexpr std::string_view kPlainFirst =
    "devices without binding conditions come first also inside a pool (KEP-5007 goal 3), so another device "
    "errs";
const std::map<std::string, std::string_view> kDifferences = {
    {"b-formerly-shareable-nocap p n1", kSharedBefore},
    {"b2-formerly-shareable-cap-left p n1", kSharedBefore},
    {"case-1-18 pod-0 n4", kPlainFirst},
    {"case-1-18 pod-1 n4", kPlainFirst},
    {"case-1-134 pod-1 n2", kPlainFirst},
    {"case-1-134 pod-2 n2", kPlainFirst},
    {"fresh-83 p n1", kPlainFirst},
};

class Observed : public ::testing::TestWithParam<bool> {};

TEST_P(Observed, VerdictsAgree) {
  std::size_t agree = 0, different = 0;
  for (const Json& recorded : recorded_worlds()) {
    TestWorld world;
    for (const Json& object : recorded.items_at("objects")) world.put(object);
    CelSelectors selectors;
    SeededRandom random(1);
    Allocator allocator(world.cluster, selectors, random, all_gates(recorded));
    if (GetParam()) allocator.skip_plain_search();
    for (const Json& expected : recorded.items_at("expect")) {
      const api::Pod* pod = world.view.pods.find("default", expected.string_at("name"));
      ASSERT_NE(pod, nullptr);
      const std::vector<ClaimPtr> claims = world.unallocated_claims(*pod);
      for (const Json& node : expected.items_at("nodes")) {
        const model::NodeId id = world.cluster.find_node(node.string_at("name"));
        const auto compiled = allocator.prepare(claims);
        const std::string got =
            compiled ? verdict_text(allocator.allocate(**compiled, id)) : "error: " + compiled.error().text();
        std::string want(node.string_at("verdict"));
        if (want == "error") want += ": " + std::string(node.string_at("error"));
        const std::string where = std::string(recorded.string_at("case")) + " " + pod->meta.name + " " +
                                  std::string(node.string_at("name"));
        if (kDifferences.contains(where)) {
          ++different;
          EXPECT_NE(got, want) << where << " is listed as different";
          continue;
        }
        // Kubernetes' sentence first; Berth's may follow.
        const bool same = got == want || (want.starts_with("error") && got.starts_with(want));
        agree += same ? 1 : 0;
        EXPECT_TRUE(same) << where << ": got " << got << ", want " << want;
      }
    }
  }
  RecordProperty("agree", static_cast<int>(agree));
  RecordProperty("different", static_cast<int>(different));
  std::printf("agree %zu, different %zu\n", agree, different);
  EXPECT_EQ(agree, 1366u);
}
// Every "no" of a recorded world has a true certificate.
TEST_P(Observed, CertificatesAreTrue) {
  std::map<std::string, int> seen;
  for (const Json& recorded : recorded_worlds()) {
    TestWorld world;
    for (const Json& object : recorded.items_at("objects")) world.put(object);
    CelSelectors selectors;
    SeededRandom random(1);
    const DeviceGates gates = all_gates(recorded);
    Allocator allocator(world.cluster, selectors, random, gates);
    if (GetParam()) allocator.skip_plain_search();
    for (const Json& expected : recorded.items_at("expect")) {
      const api::Pod* pod = world.view.pods.find("default", expected.string_at("name"));
      const std::vector<ClaimPtr> claims = world.unallocated_claims(*pod);
      for (const Json& node : expected.items_at("nodes")) {
        const std::string name(node.string_at("name"));
        const auto compiled = allocator.prepare(claims);
        if (!compiled) continue;
        const AllocationVerdict verdict = allocator.allocate(**compiled, world.cluster.find_node(name));
        const auto* no = std::get_if<Impossible>(&verdict);
        if (!no) continue;
        ASSERT_TRUE(no->certificate);
        ++seen[std::string(name_of(no->certificate->kind)) +
               (no->certificate->proof == Proof::Search ? " by search" : "")];
        EXPECT_EQ(judge::complaint_about(world.for_judge(name, selectors, gates), claims, *no->certificate),
                  "")
            << recorded.string_at("case") << " " << pod->meta.name << " " << name << ": "
            << to_words(*no->certificate);
      }
    }
  }
  int all = 0;
  for (const auto& [kind, count] : seen) {
    std::printf("%s %d\n", kind.c_str(), count);
    all += count;
  }
  EXPECT_GT(all, 400);
}
INSTANTIATE_TEST_SUITE_P(Searches, Observed, ::testing::Bool(),
                         [](const auto& symmetry) { return symmetry.param ? "Exact" : "PlainFirst"; });

}  // namespace
}  // namespace berth::dra
