// Caches stay bounded while nodes, slices, classes, claims and expressions come and go.
#include <gtest/gtest.h>

#include <set>

#include "dra/cel_selectors.h"
#include "dra/compiled_request.h"
#include "dra/test_world.h"

namespace berth::dra {
namespace {

api::ResourceSlice slice_for(const std::string& node) {
  api::ResourceSlice slice;
  slice.meta.name = "slice-" + node;
  slice.driver = "d";
  slice.pool = node;
  slice.generation = slice.slice_count = 1;
  slice.node_name = node;
  slice.devices.emplace_back().name = "gpu";
  slice.devices.back().attributes["idx"] = std::int64_t{1};
  return slice;
}

void put_node(TestWorld& world, const std::string& name) {
  api::Node node;
  node.meta.name = name;
  world.put(api::Kind::Node, node);
}

ClaimPtr claim_with(const std::string& selector) {
  api::ResourceClaim claim;
  claim.meta.ns = "default";
  claim.meta.name = claim.meta.uid = "want";
  claim.requests.push_back({"r", false, {{.name = "r", .device_class = "any", .selectors = {selector}}}});
  return std::make_shared<const api::ResourceClaim>(std::move(claim));
}

class Bounds : public ::testing::Test {
 protected:
  Bounds() {
    api::DeviceClass any;
    any.meta.name = "any";
    world.put(api::Kind::DeviceClass, any);
  }
  bool allocates(const ClaimPtr& claim, const std::string& node) {
    const auto compiled = allocator.prepare(std::span(&claim, 1));
    return std::holds_alternative<Allocations>(
        allocator.allocate(**compiled, world.cluster.find_node(node), Explain::Nothing));
  }

  TestWorld world;
  PlainSelectors selectors;
  SeededRandom random{1};
  Allocator allocator{world.cluster, selectors, random};
};

TEST_F(Bounds, NodesAndSlicesThatAreGoneAreForgotten) {
  constexpr std::size_t kRounds = 3 * kSlicesBeforeSweep;
  const ClaimPtr claim = claim_with("true");
  put_node(world, "stays");
  world.put(api::Kind::ResourceSlice, slice_for("stays"));
  std::size_t most_nodes = 0, most_slices = 0;
  for (std::size_t i = 0; i < kRounds; ++i) {
    const std::string name = "n" + std::to_string(i);
    put_node(world, name);
    world.put(api::Kind::ResourceSlice, slice_for(name));
    ASSERT_TRUE(allocates(claim, name));
    world.erase(api::Kind::ResourceSlice, "", "slice-" + name);
    world.erase(api::Kind::Node, "", name);
    most_nodes = std::max(most_nodes, allocator.cache_sizes().nodes);
    most_slices = std::max(most_slices, allocator.cache_sizes().slices);
    ASSERT_TRUE(i % 100 != 0 || allocates(claim, "stays"));
  }
  EXPECT_EQ(most_nodes, kNodesBeforeSweep + 1);
  EXPECT_LE(most_slices, kSlicesBeforeSweep + 1);
  EXPECT_GT(most_slices, kNodesBeforeSweep) << "else the slices' own bound was not looked at";
}

TEST_F(Bounds, TheLongestUnusedOfTooManyNodesAreForgotten) {
  const ClaimPtr claim = claim_with("true");
  std::size_t most = 0;
  for (std::size_t i = 0; i <= kNodesKeptMax + 1; ++i) {
    const std::string name = "n" + std::to_string(i);
    put_node(world, name);
    allocator.stamp(world.cluster.find_node(name));
    most = std::max(most, allocator.cache_sizes().nodes);
  }
  EXPECT_EQ(most, kNodesKeptMax + 1);
  EXPECT_EQ(allocator.cache_sizes().nodes, kNodesKeptMax / 2 + 2);
  world.put(api::Kind::ResourceSlice, slice_for("n0"));
  EXPECT_TRUE(allocates(claim, "n0")) << "who was forgotten is looked at again";
}

TEST_F(Bounds, UnusedSelectorListsAndCompiledClaimsAreEvicted) {
  constexpr std::size_t kRounds = 4 * kCompiledSpecsMax;
  put_node(world, "n");
  world.put(api::Kind::ResourceSlice, slice_for("n"));
  std::size_t most_sets = 0, most_claim_specs = 0;
  for (std::size_t i = 0; i < kRounds; ++i) {
    const bool fits = i % 2 == 0;
    const ClaimPtr claim = claim_with(fits ? "has idx" : "has idx" + std::to_string(i));
    ASSERT_EQ(allocates(claim, "n"), fits) << i;
    const std::string other = "device.driver == \"d" + std::to_string(i) + "\"";
    ASSERT_FALSE(allocates(claim_with(other), "n")) << i;
    most_sets = std::max(most_sets, allocator.cache_sizes().selector_sets);
    most_claim_specs = std::max(most_claim_specs, allocator.cache_sizes().claim_specs);
  }
  EXPECT_EQ(most_claim_specs, kCompiledSpecsMax);
  EXPECT_LE(most_sets, 2 * kCompiledSpecsMax + kSetsBeforeSweep);
}

// A slot that another list reuses: the results are the new list's, and claims stay distinct.
TEST_F(Bounds, ASlotUsedAgainAnswersForItsNewList) {
  DeviceColumns columns;
  SelectorCache selector_cache(columns, selectors);
  const SliceRows rows = columns.admit(std::make_shared<const api::ResourceSlice>(slice_for("n")));
  const SelectorSetId held = selector_cache.intern({}, {"has idx"});
  const SelectorSetRef hold = selector_cache.reference(held);
  std::set<std::uint64_t> numbers;
  for (std::size_t i = 0; i < 3 * kSetsBeforeSweep; ++i) {
    std::vector<std::string> list;  // each a different one, of selectors that are true
    for (std::size_t bit = 0; bit < 16; ++bit) list.push_back((i >> bit) % 2 == 0 ? "true" : "has idx");
    if (i % 3 == 0) list.push_back("false");
    const SelectorSetId id = selector_cache.intern({}, list);
    ASSERT_EQ(selector_cache.of(rows, id).match.any(), i % 3 != 0) << i;
    EXPECT_TRUE(numbers.insert(selector_cache.number_of(id)).second);
    ASSERT_TRUE(selector_cache.of(rows, held).match.any());
  }
  EXPECT_EQ(selector_cache.slots(), kSetsBeforeSweep);
}

TEST_F(Bounds, TheLeastRecentlyUsedResultsAreEvicted) {
  DeviceColumns columns;
  SelectorCache selector_cache(columns, selectors);
  const SliceRows rows = columns.admit(std::make_shared<const api::ResourceSlice>(slice_for("n")));
  const auto evaluations_of = [&](std::size_t list) {
    const std::size_t before = selectors.evaluations;
    selector_cache.of(rows,
                      selector_cache.intern({}, {"device.driver == \"d" + std::to_string(list) + "\""}));
    return selectors.evaluations - before;
  };
  for (std::size_t list = 0; list < kAnsweredSetsMax; ++list) ASSERT_EQ(evaluations_of(list), 1u);
  EXPECT_EQ(evaluations_of(0), 0u) << "all fit";
  EXPECT_EQ(evaluations_of(kAnsweredSetsMax), 1u);
  EXPECT_EQ(evaluations_of(0), 0u) << "used after list 1";
  EXPECT_EQ(evaluations_of(1), 1u) << "evicted";
}

// The text of an error may be read after the results were evicted, and before a slice changes.
TEST_F(Bounds, AnErrorsTextIsNotTakenForResults) {
  DeviceColumns columns;
  SelectorCache selector_cache(columns, selectors);
  const auto slice = std::make_shared<const api::ResourceSlice>(slice_for("n"));
  const SliceRows rows = columns.admit(slice);
  const SelectorSetId id = selector_cache.intern({}, {"error"});
  EXPECT_NE(selector_cache.fault_of(id, "d", slice->devices[0]).text, "");
  const SliceRows later = columns.admit(std::make_shared<const api::ResourceSlice>(slice_for("m")));
  EXPECT_TRUE(selector_cache.of(rows, id).error.any());
  EXPECT_TRUE(selector_cache.of(later, id).error.any());
}

TEST_F(Bounds, ASliceKeepsSomeDerivedAttributes) {
  DeviceGates gates;
  gates.derived_attributes = true;
  put_node(world, "n");
  world.put(api::Kind::ResourceSlice, slice_for("n"));
  Inventory inventory(world.cluster, selectors, gates);
  NodeDevices& devices = inventory.of(world.cluster.find_node("n"));
  for (std::size_t i = 0; i < 10 * kDerivedMax; ++i) {
    const std::string expression = i % 2 == 0 ? "idx" : "missing";
    const std::string key = "x" + std::to_string(i);
    inventory.trim_values(devices);
    const ValueTable& table = inventory.values(devices, key, "x/side", {expression, key});
    EXPECT_EQ(table.ids(1, 0).size(), i % 2 == 0 ? 1u : 0u);
    EXPECT_NE(table.error(2, 0), nullptr);
    EXPECT_LE(devices.slices[0]->derived.size(), kDerivedMax);
  }
  EXPECT_LE(devices.values.size(), kValueTablesMax + 1);
}

TEST(CelSelectorsBounds, ProgramsAreKeptForTheLatestTexts) {
  CelSelectors selectors;
  api::Device device;
  device.attributes["a"] = std::int64_t{1};
  for (std::size_t i = 0; i < 4 * kRecentProgramsMax; ++i) {
    const std::string number = std::to_string(i);
    const auto made = selectors.derive("device.attributes['d'].a + " + number, "d", device);
    ASSERT_TRUE(made);
    EXPECT_EQ(std::get<std::int64_t>(*made), static_cast<std::int64_t>(i + 1));
    EXPECT_FALSE(selectors.derive("nonsense " + number, "d", device));
    EXPECT_TRUE(*selectors.evaluate("device.attributes['d'].a < 2 + " + number, "d", device));
  }
  EXPECT_EQ(selectors.kept(), 2 * kRecentProgramsMax);
}

}  // namespace
}  // namespace berth::dra
