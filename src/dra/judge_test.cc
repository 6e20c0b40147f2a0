// The fast allocator finds a solution exactly when the judge does, on random small worlds; each solution is
// verified by itself.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <set>

#include "dra/judge/certificate_checker.h"
#include "dra/judge/fragmentation.h"
#include "dra/judge/judge.h"
#include "dra/judge/pools.h"
#include "dra/judge/rules.h"
#include "dra/judge/validity.h"
#include "dra/test_world.h"

namespace berth::dra {
namespace {

int any_below(int bound) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange(0, bound));
}
bool any_one_in(int one_in) {
  return any_below(one_in) == 0;
}
std::string name(const char* prefix, int i) {
  return prefix + std::to_string(i);
}

const char* const kSelectors[] = {"true", "true", "has numa", "has idx", "false", "error"};
std::vector<std::string> any_selectors() {
  std::vector<std::string> texts;
  if (any_one_in(3)) texts.push_back(kSelectors[any_below(any_one_in(6) ? 6 : 5)]);
  return texts;
}

std::vector<std::string> any_groups() {
  std::vector<std::string> groups;
  for (const char* group : {"a", "b", "c"})
    if (any_one_in(3) && groups.size() < 2) groups.emplace_back(group);
  return groups;
}

api::DeviceCapacity any_capacity() {
  api::DeviceCapacity capacity{Quantity::of(2 + any_below(4)), {}};
  if (any_one_in(2)) return capacity;
  api::CapacityPolicy& policy = capacity.policy.emplace();
  if (any_one_in(3)) policy.default_value = Quantity::of(1);
  if (any_one_in(2)) {
    policy.range_min = Quantity::of(1);
    if (any_one_in(2)) policy.range_step = Quantity::of(2);
    if (any_one_in(2)) policy.range_max = Quantity::of(3);
  } else if (any_one_in(2)) {
    policy.valid_values = {Quantity::of(1), Quantity::of(3)};
  }
  return capacity;
}

api::Device any_device(int index, bool own_node, bool counters) {
  api::Device device;
  device.name = name("g", any_one_in(12) ? 0 : index);
  if (!any_one_in(4)) device.attributes["numa"] = std::int64_t{any_below(2)};
  if (any_one_in(2)) device.attributes["d0/idx"] = std::int64_t{any_below(3)};
  if (any_one_in(5)) device.attributes["idx"] = std::vector<std::int64_t>{any_below(3), any_below(3)};
  if (any_one_in(4)) device.taints.push_back({"t", "", any_below(2) ? "NoSchedule" : "None", {}});
  if (any_one_in(5)) device.binding_conditions = {"Ready"};
  if (any_one_in(5)) device.binds_to_node = true;
  device.allow_multiple = any_one_in(4);
  if (any_one_in(3)) device.capacity["mem"] = any_capacity();
  for (int set = 0; set < 2; ++set)
    if (counters && any_one_in(2))
      device.consumes.push_back({any_one_in(60) ? "unknown" : name("set", set),
                                 {{"m", Quantity::of(1 + any_below(2))}},
                                 any_groups()});
  if (own_node && !any_one_in(3)) device.node_name = any_below(3) ? "n0" : "n1";
  if (own_node && device.node_name.empty() && any_one_in(2)) {
    const api::NodeSelectorTerm zone{{{"zone", "In", {any_one_in(3) ? "z1" : "z0"}}}, {}};
    device.node_selector = api::NodeSelector{{zone}};
    if (any_one_in(3)) device.node_selector->terms.push_back({{{"zone", "Exists", {}}}, {}});
  }
  if (own_node && device.node_name.empty() && !device.node_selector) device.all_nodes = true;
  return device;
}

api::ResourceSlice any_slice(int index, bool counters) {
  api::ResourceSlice slice;
  slice.meta.name = name("s", index);
  slice.driver = name("d", any_below(2));
  slice.pool = name("p", any_one_in(3) ? 1 : 0);
  slice.generation = any_one_in(12) ? 2 : 1;
  slice.slice_count = 1 + any_below(2);
  switch (any_below(5)) {
    case 0:
      slice.all_nodes = true;
      break;
    case 1:
      slice.per_device_node_selection = true;
      break;
    case 2:
      slice.node_selector = api::NodeSelector{{{{{"zone", "In", {"z0"}}}, {}}}};
      break;
    default:
      slice.node_name = any_below(4) ? "n0" : "n1";
  }
  const int count = 1 + any_below(3);
  for (int i = 0; i < count; ++i)
    slice.devices.push_back(any_device(index * 3 + i, slice.per_device_node_selection, counters));
  return slice;
}

api::DeviceSubRequest any_sub(const std::string& called) {
  api::DeviceSubRequest sub;
  sub.name = called;
  sub.device_class = any_one_in(80) ? "missing" : name("c", any_below(2));
  sub.selectors = any_selectors();
  sub.count = any_one_in(3) ? 1 + any_below(3) : 1;
  if (any_one_in(8)) sub.mode = api::AllocationMode::All;
  if (any_one_in(3)) sub.tolerations.push_back({"t", "Exists", "", "", {}});
  if (any_one_in(5)) sub.capacity["mem"] = Quantity::of(1 + any_below(3));
  return sub;
}

api::ResourceClaim any_claim(int index) {
  api::ResourceClaim claim;
  claim.meta.name = name("want", index);
  claim.meta.ns = "default";
  claim.meta.uid = claim.meta.name;
  const int requests = 1 + any_below(2);
  for (int r = 0; r < requests; ++r) {
    api::DeviceRequest request{name("r", r), any_one_in(4), {}};
    if (request.prioritized) {
      for (int a = 0; a < 1 + r; ++a) request.alternatives.push_back(any_sub(name("a", a)));
    } else {
      request.alternatives.push_back(any_sub(request.name));
      request.alternatives[0].admin_access = any_one_in(6);
    }
    claim.requests.push_back(std::move(request));
  }
  if (any_one_in(3)) claim.constraints.push_back({{}, any_below(2) ? "d0/numa" : "d0/idx", ""});
  if (any_one_in(6)) claim.constraints.push_back({{}, "", "d0/numa"});
  if (any_one_in(8)) {  // the named attribute is derived from another one
    claim.constraints.push_back({{"r0"}, "x/side", ""});
    for (api::DeviceSubRequest& sub : claim.requests[0].alternatives)
      sub.derived_attributes.emplace_back("x/side", any_one_in(2) ? "numa" : "d0/idx");
  }
  if (any_one_in(4)) claim.constraints.push_back({{"r0"}, "", "d0/idx"});
  return claim;
}

struct Scene {
  TestWorld world;
  std::vector<ClaimPtr> claims;
  DeviceGates gates;

  Scene() {
    gates.compatibility_groups = !any_one_in(4);
    gates.list_attributes = !any_one_in(3);
    gates.derived_attributes = !any_one_in(8);
    if (any_one_in(8)) gates.partitionable_devices = false;
    if (any_one_in(8)) gates.binding_conditions = false;
    if (any_one_in(8)) gates.consumable_capacity = false;
    if (any_one_in(8)) gates.device_taints = false;
    if (any_one_in(12)) gates.prioritized_list = false;
    if (any_one_in(12)) gates.admin_access = false;
    put_nodes();
    for (int i = 0; i < 2; ++i) {
      api::DeviceClass device_class;
      device_class.meta.name = name("c", i);
      device_class.selectors = any_selectors();
      world.put(api::Kind::DeviceClass, device_class);
    }
    const int slices = 1 + any_below(4);
    std::vector<api::ResourceSlice> made;
    const bool counters = any_one_in(2);
    for (int i = 0; i < slices; ++i) made.push_back(any_slice(i, counters));
    if (counters) add_counter_sets(made);
    for (api::ResourceSlice& slice : made) {
      // Mostly complete pools: the slice count that is right for this driver and pool.
      const auto same_pool = [&](const api::ResourceSlice& other) {
        return other.driver == slice.driver && other.pool == slice.pool &&
               other.generation == slice.generation;
      };
      if (!any_one_in(6)) slice.slice_count = std::count_if(made.begin(), made.end(), same_pool);
      world.put(api::Kind::ResourceSlice, slice);
    }
    if (!any_one_in(4)) take_some();
    const int wanted = 1 + any_below(2);
    for (int i = 0; i < wanted; ++i) {
      world.put(api::Kind::ResourceClaim, any_claim(i));
      claims.push_back(world.view.claims.find_shared("default", name("want", i)));
    }
  }

  struct Empty {};
  explicit Scene(Empty) {}
  void put_nodes() {
    for (int i = 0; i < 2; ++i) {
      api::Node node;
      node.meta.name = name("n", i);
      node.meta.labels["zone"] = "z0";
      world.put(api::Kind::Node, node);
    }
  }

  // One slice of counter sets for every pool.
  static void add_counter_sets(std::vector<api::ResourceSlice>& slices) {
    std::set<std::pair<std::string, std::string>> pools;
    for (std::size_t i = 0, count = slices.size(); i < count; ++i) {
      if (!pools.emplace(slices[i].driver, slices[i].pool).second) continue;
      api::ResourceSlice sets;
      sets.meta.name = name("t", static_cast<int>(i));
      sets.driver = slices[i].driver;
      sets.pool = slices[i].pool;
      sets.generation = slices[i].generation;
      sets.all_nodes = true;
      for (int set = 0; set < 2; ++set)
        sets.shared_counters.push_back({name("set", set), {{"m", Quantity::of(1 + any_below(5))}}});
      slices.push_back(std::move(sets));
    }
  }

  void take_some() {
    int index = 0;
    for (const auto& [key, slice] : world.view.slices.all())
      for (const api::Device& device : slice->devices) {
        if (!any_one_in(4)) continue;
        api::ResourceClaim claim;
        claim.meta.name = name("held", index++);
        claim.meta.ns = "default";
        claim.meta.uid = claim.meta.name;
        api::DeviceResult result;
        result.driver = slice->driver;
        result.pool = slice->pool;
        result.device = device.name;
        result.admin_access = any_one_in(6);
        if (device.allow_multiple && !any_one_in(5)) {
          result.share_id = "share";
          if (device.capacity.contains("mem")) result.consumed_capacity["mem"] = Quantity::of(1);
        }
        if (any_one_in(4) && !device.consumes.empty())
          result.groups[device.consumes[0].counter_set] = any_groups();
        claim.allocation = api::Allocation{{result}, {}, {}, {}};
        world.put(api::Kind::ResourceClaim, claim);
      }
  }

  judge::JudgedWorld for_judge(SelectorEvaluator& selectors) const {
    return world.for_judge("n0", selectors, gates);
  }
};

std::string text_of_device(const api::Device& device) {
  std::string text = " " + device.name + (device.allow_multiple ? " shareable" : "") +
                     (device.binding_conditions.empty() ? "" : " conditioned") +
                     (device.all_nodes ? " everywhere" : "") + " node=" + device.node_name;
  for (const auto& [key, value] : device.attributes) {
    text += " " + key + "=";
    for (const std::string& item : judge::value_set(value, true)) text += item + "|";
  }
  for (const auto& [key, capacity] : device.capacity) text += " cap " + key + "=" + capacity.value.text();
  for (const api::Taint& taint : device.taints) text += " taint " + taint.effect;
  for (const auto& entry : device.consumes) {
    text += " draws " + entry.counter_set;
    for (const auto& [counter, amount] : entry.counters) text += " " + counter + "=" + amount.text();
    for (const std::string& group : entry.groups) text += " @" + group;
  }
  return text;
}

std::string text_of_claim(const api::ResourceClaim& claim) {
  std::string text = claim.meta.name + ":\n";
  for (const api::DeviceRequest& request : claim.requests)
    for (const api::DeviceSubRequest& sub : request.alternatives) {
      text += "  " + request.name + "/" + sub.name + " " + sub.device_class + " x" +
              std::to_string(sub.count) + (sub.mode == api::AllocationMode::All ? " all" : "") +
              (sub.admin_access ? " admin" : "") + (sub.tolerations.empty() ? "" : " tolerates");
      for (const std::string& selector : sub.selectors) text += " [" + selector + "]";
      for (const auto& [name, wish] : sub.capacity) text += " " + name + ">=" + wish.text();
      for (const auto& [name, expression] : sub.derived_attributes) text += " " + name + ":=" + expression;
      text += "\n";
    }
  for (const api::DeviceConstraint& constraint : claim.constraints) {
    text += "  match " + constraint.match_attribute + " distinct " + constraint.distinct_attribute;
    for (const std::string& name : constraint.requests) text += " " + name;
    text += "\n";
  }
  if (!claim.allocation) return text;
  for (const api::DeviceResult& result : claim.allocation->results)
    text += "  has " + result.driver + "/" + result.pool + "/" + result.device +
            (result.share_id.empty() ? "" : " share") + (result.admin_access ? " admin" : "") + "\n";
  return text;
}

std::string describe(const Scene& scene) {
  std::string text;
  const DeviceGates& gates = scene.gates;
  const std::pair<const char*, bool> kOn[] = {
      {"partitions", gates.partitionable_devices}, {"conditions", gates.binding_conditions},
      {"shares", gates.consumable_capacity},       {"taints", gates.device_taints},
      {"groups", gates.compatibility_groups},      {"lists", gates.list_attributes},
      {"alternatives", gates.prioritized_list},    {"admin", gates.admin_access}};
  for (const auto& [gate, on] : kOn) text += std::string(on ? "+" : "-") + gate + " ";
  text += "\n";
  for (const auto& [key, slice] : scene.world.view.slices.all()) {
    text += slice->meta.name + " " + slice->driver + "/" + slice->pool + " gen " +
            std::to_string(slice->generation) + " count " + std::to_string(slice->slice_count) + " node " +
            slice->node_name + "\n";
    for (const auto& set : slice->shared_counters)
      for (const auto& [counter, amount] : set.counters)
        text += "  set " + set.name + " " + counter + "=" + amount.text() + "\n";
    for (const api::Device& device : slice->devices) text += " " + text_of_device(device) + "\n";
  }
  for (const auto& [key, found] : scene.world.view.classes.all())
    for (const std::string& selector : found->selectors) text += found->meta.name + " " + selector + "\n";
  for (const auto& [key, claim] : scene.world.view.claims.all()) text += text_of_claim(*claim);
  return text;
}

// One random world; counts its kind.
void compare_once(const Scene& scene, std::map<std::string, int>& seen) {
  PlainSelectors selectors;
  SeededRandom random(1);
  Allocator allocator(scene.world.cluster, selectors, random, scene.gates);
  if (any_one_in(2)) allocator.skip_plain_search();
  const model::NodeId node = scene.world.cluster.find_node("n0");
  const auto compiled = allocator.prepare(scene.claims);
  const AllocationVerdict fast = compiled ? allocator.allocate(**compiled, node)
                                          : AllocationVerdict(AllocationError{compiled.error().text()});
  if (std::getenv("BERTH_SHOW_WORLDS")) std::printf("---\n%s", describe(scene).c_str());
  const judge::JudgedWorld judged = scene.for_judge(selectors);
  const judge::Judgement slow = judge::allocate(judged, scene.claims);
  if (std::getenv("BERTH_SHOW_WORLDS"))
    std::printf(
        "judge %d, fast %zu %s\n", static_cast<int>(slow.answer), fast.index(),
        std::holds_alternative<AllocationError>(fast) ? std::get<AllocationError>(fast).error.c_str() : "");
  if (const auto* yes = std::get_if<Allocations>(&fast)) {
    ++seen["yes"];
    RC_ASSERT((slow.answer == judge::Answer::Yes));
    const std::string complaint = judge::complaint_about(judged, scene.claims, *yes);
    RC_ASSERT(complaint == "");
    std::vector<std::string> mine, theirs;
    for (const ClaimResult& claim : yes->claims)
      for (const api::DeviceResult& result : claim.allocation->results)
        mine.push_back(result.driver + "/" + result.pool + "/" + result.device);
    for (const judge::Chosen& chosen : slow.chosen)
      theirs.push_back(chosen.slice->driver + "/" + chosen.slice->pool + "/" + chosen.device->name);
    RC_ASSERT(mine == theirs);
  } else if (const auto* no = std::get_if<Impossible>(&fast)) {
    ++seen["no"];
    RC_ASSERT((slow.answer == judge::Answer::No));
    RC_ASSERT(!no->reason.empty());
    RC_ASSERT(no->certificate.has_value());
    ++seen[std::string(name_of(no->certificate->kind)) +
           (no->certificate->proof == Proof::Search ? " by search" : "")];
    const std::string complaint = judge::complaint_about(judged, scene.claims, *no->certificate);
    if (!complaint.empty()) RC_LOG() << to_words(*no->certificate) << std::endl << describe(scene);
    RC_ASSERT(complaint == "");
    RC_ASSERT(std::holds_alternative<Impossible>(allocator.allocate(**compiled, node, Explain::Nothing)));
  } else {
    ++seen["error"];
    RC_ASSERT(std::holds_alternative<AllocationError>(fast));
    RC_ASSERT((slow.answer == judge::Answer::Error));
  }
}

// Many interchangeable devices among devices and requests: the symmetry-pruned search must not lose what it
// prunes.
struct InterchangeableScene : Scene {
  InterchangeableScene() : Scene(Empty{}) {
    gates.compatibility_groups = true;
    put_nodes();
    api::DeviceClass device_class;
    device_class.meta.name = "c0";
    world.put(api::Kind::DeviceClass, device_class);
    api::ResourceSlice slice;
    slice.meta.name = "s";
    slice.driver = "d0";
    slice.pool = "p0";
    slice.generation = 1;
    slice.slice_count = 2;
    slice.node_name = "n0";
    api::ResourceSlice sets = slice;
    sets.meta.name = "t";
    for (int set = 0; set < 2; ++set)
      sets.shared_counters.push_back({name("set", set), {{"m", Quantity::of(2 + any_below(6))}}});
    std::vector<api::Device> kinds;
    for (int kind = 0; kind < 3; ++kind) kinds.push_back(any_device(kind, false, any_one_in(2)));
    for (api::Device& kind : kinds)
      for (auto& entry : kind.consumes) entry.counter_set = name("set", any_below(2));
    for (api::Device& kind : kinds)
      if (kind.consumes.size() > 1) kind.consumes.pop_back();
    const int devices = 3 + any_below(4);
    for (int i = 0; i < devices; ++i) {
      slice.devices.push_back(kinds[static_cast<std::size_t>(any_below(3))]);
      slice.devices.back().name = name("g", i);
    }
    world.put(api::Kind::ResourceSlice, slice);
    world.put(api::Kind::ResourceSlice, sets);
    const int wanted = 1 + any_below(2);
    const api::ResourceClaim like = any_interchangeable_claim();
    for (int i = 0; i < wanted; ++i) {
      api::ResourceClaim claim = any_one_in(3) ? any_interchangeable_claim() : like;
      claim.meta.name = claim.meta.uid = name("want", i);
      world.put(api::Kind::ResourceClaim, claim);
      claims.push_back(world.view.claims.find_shared("default", claim.meta.name));
    }
  }
  static api::ResourceClaim any_interchangeable_claim() {
    api::ResourceClaim claim;
    claim.meta.ns = "default";
    const api::DeviceSubRequest like = any_plain_sub(), other = any_plain_sub();
    const int requests = 1 + any_below(4);
    for (int r = 0; r < requests; ++r) {
      api::DeviceRequest request{name("r", r), any_one_in(6), {any_one_in(4) ? other : like}};
      if (request.prioritized) request.alternatives.push_back(other);
      for (std::size_t a = 0; a < request.alternatives.size(); ++a)
        request.alternatives[a].name = request.prioritized ? name("a", static_cast<int>(a)) : request.name;
      claim.requests.push_back(std::move(request));
    }
    if (any_one_in(3)) claim.constraints.push_back({{}, any_below(2) ? "d0/numa" : "d0/idx", ""});
    if (any_one_in(3)) claim.constraints.push_back({{}, "", any_below(2) ? "d0/numa" : "d0/idx"});
    return claim;
  }
  static api::DeviceSubRequest any_plain_sub() {
    api::DeviceSubRequest sub;
    sub.device_class = "c0";
    if (any_one_in(3)) sub.selectors = {any_below(2) ? "has numa" : "has idx"};
    sub.count = 1 + any_below(2);
    if (any_one_in(10)) sub.mode = api::AllocationMode::All;
    if (any_one_in(2)) sub.tolerations.push_back({"t", "Exists", "", "", {}});
    if (any_one_in(4)) sub.capacity["mem"] = Quantity::of(1 + any_below(2));
    return sub;
  }
};

TEST(Judge, AgreesOnInterchangeableDevices) {
  constexpr int kWorldsEachRun = 4;
  std::map<std::string, int> seen;
  EXPECT_TRUE(rc::check("fast and judge agree among interchangeable devices", [&] {
    for (int i = 0; i < kWorldsEachRun; ++i) compare_once(InterchangeableScene(), seen);
  }));
  for (const auto& [kind, count] : seen) std::printf("%s %d\n", kind.c_str(), count);
  EXPECT_GT(seen["yes"], 20);
  EXPECT_GT(seen["no"], 20);
}

// Partitions of two pieces of hardware and shareable devices, some in use: worlds where the choice matters.
struct PartitionScene : Scene {
  PartitionScene() : Scene(Empty{}) {
    gates.compatibility_groups = any_one_in(2);
    put_nodes();
    api::DeviceClass device_class;
    device_class.meta.name = "c0";
    world.put(api::Kind::DeviceClass, device_class);
    api::ResourceSlice slice;
    slice.meta.name = "s";
    slice.driver = "d0";
    slice.pool = "p0";
    slice.slice_count = 2;
    slice.node_name = "n0";
    api::ResourceSlice sets = slice;
    sets.meta.name = "t";
    for (int set = 0; set < 2; ++set)
      sets.shared_counters.push_back(
          {name("set", set), {{"m", Quantity::of(4 + any_below(4))}, {"n", Quantity::of(2 + any_below(2))}}});
    const int devices = 4 + any_below(5);
    for (int i = 0; i < devices; ++i) slice.devices.push_back(any_partition(i));
    if (any_one_in(2)) {
      slice.per_device_node_selection = true;
      slice.node_name.clear();
      for (api::Device& device : slice.devices) device.node_name = any_one_in(5) ? "n1" : "n0";
    }
    world.put(api::Kind::ResourceSlice, slice);
    world.put(api::Kind::ResourceSlice, sets);
    take_some();
    const int wanted = 1 + any_below(2);
    for (int i = 0; i < wanted; ++i) {
      api::ResourceClaim claim;
      claim.meta.ns = "default";
      claim.meta.name = claim.meta.uid = name("want", i);
      for (int r = 0; r < 1 + any_below(2); ++r) {
        api::DeviceSubRequest sub{.name = name("r", r), .device_class = "c0", .count = 1 + any_below(2)};
        if (any_one_in(3)) sub.capacity["mem"] = Quantity::of(1 + any_below(2));
        claim.requests.push_back({sub.name, false, {sub}});
      }
      if (any_one_in(4)) claim.constraints.push_back({{}, "d0/numa", ""});
      world.put(api::Kind::ResourceClaim, claim);
      claims.push_back(world.view.claims.find_shared("default", claim.meta.name));
    }
  }
  api::Device any_partition(int index) const {
    api::Device device;
    device.name = name("g", index);
    if (!any_one_in(4)) device.attributes["numa"] = std::int64_t{any_below(2)};
    if (any_one_in(6)) device.binding_conditions = {"Ready"};
    device.allow_multiple = any_one_in(3);
    if (any_one_in(2)) device.capacity["mem"] = {Quantity::of(2 + any_below(4)), {}};
    const std::vector<std::string> groups =
        gates.compatibility_groups ? any_groups() : std::vector<std::string>();
    for (int set = 0; set < 2; ++set)
      if (any_one_in(2))
        device.consumes.push_back({name("set", set),
                                   {{"m", Quantity::of(1 + any_below(4))}, {"n", Quantity::of(any_below(2))}},
                                   groups});
    return device;
  }
};

TEST(Judge, AgreesOnPartitions) {
  constexpr int kWorldsEachRun = 4;
  std::map<std::string, int> seen;
  EXPECT_TRUE(rc::check("fast and judge agree on partitions", [&] {
    for (int i = 0; i < kWorldsEachRun; ++i) compare_once(PartitionScene(), seen);
  }));
  for (const auto& [kind, count] : seen) std::printf("%s %d\n", kind.c_str(), count);
  EXPECT_GT(seen["yes"], 20);
  EXPECT_GT(seen["no"], 20);
}

// An allocation in the judge's form.
std::vector<judge::Chosen> chosen_in(const Allocations& allocations, const judge::JudgedWorld& world,
                                     std::span<const ClaimPtr> claims) {
  const std::vector<judge::Candidate> candidates = judge::gather(world).candidates;
  std::vector<judge::Chosen> chosen;
  for (std::size_t c = 0; c < allocations.claims.size(); ++c) {
    const std::vector<std::uint32_t>& alternatives = allocations.claims[c].alternatives;
    for (const api::DeviceResult& result : allocations.claims[c].allocation->results)
      for (std::size_t r = 0; r < alternatives.size(); ++r) {
        const api::DeviceRequest& request = claims[c]->requests[r];
        const std::string& own = request.alternatives[alternatives[r]].name;
        if (result.request != (request.prioritized ? request.name + "/" + own : request.name)) continue;
        for (const judge::Candidate& one : candidates)
          if (one.slice->driver == result.driver && one.slice->pool == result.pool &&
              one.device->name == result.device)
            chosen.push_back({c, r, alternatives[r], one.slice, one.device});
      }
  }
  return chosen;
}

// Scoring changes which devices are chosen, never whether; and no allocation is better than the chosen one.
void compare_scored(const Scene& scene, std::map<std::string, int>& seen) {
  constexpr std::size_t kChoicesMax = 300;
  PlainSelectors selectors;
  SeededRandom random(1);
  Allocator first(scene.world.cluster, selectors, random, scene.gates);
  Allocator best(scene.world.cluster, selectors, random, scene.gates);
  best.set_scoring(DeviceScoring::LeastFragmenting);
  if (any_one_in(2)) best.skip_plain_search();
  const model::NodeId node = scene.world.cluster.find_node("n0");
  const auto compiled = first.prepare(scene.claims), other = best.prepare(scene.claims);
  RC_ASSERT(compiled.ok() == other.ok());
  if (!compiled) return;
  const AllocationVerdict reference = first.allocate(**compiled, node),
                          branch_and_bound = best.allocate(**other, node);
  RC_ASSERT(reference.index() == branch_and_bound.index());
  const auto* yes = std::get_if<Allocations>(&branch_and_bound);
  if (!yes) return;
  const judge::JudgedWorld judged = scene.for_judge(selectors);
  const std::string complaint = judge::complaint_about(judged, scene.claims, *yes);
  if (!complaint.empty()) RC_LOG() << describe(scene);
  RC_ASSERT(complaint == "");
  judge::Alternatives alternatives;
  const auto& before = std::get<Allocations>(reference);
  for (std::size_t c = 0; c < yes->claims.size(); ++c) {
    RC_ASSERT(yes->claims[c].alternatives == before.claims[c].alternatives);
    alternatives.emplace_back(yes->claims[c].alternatives.begin(), yes->claims[c].alternatives.end());
  }
  const auto of_yes = chosen_in(*yes, judged, scene.claims),
             of_first = chosen_in(before, judged, scene.claims);
  const judge::Loss mine = judge::loss_of(judged, scene.claims, of_yes);
  const judge::Loss theirs = judge::loss_of(judged, scene.claims, of_first);
  ++seen[mine < theirs ? "better" : "as good"];
  const auto every = judge::every_choice(judged, scene.claims, alternatives, kChoicesMax);
  RC_ASSERT(!every.empty());
  if (every.size() == kChoicesMax) return void(++seen["too many"]);
  ++seen[every.size() > 1 ? "a choice" : "no choice"];
  judge::Loss least = theirs;
  for (const auto& choice : every) least = std::min(least, judge::loss_of(judged, scene.claims, choice));
  if (mine != least) {
    RC_LOG() << describe(scene) << "\nlost " << mine.lost << ", least " << least.lost << "\n";
    for (const auto& one : of_yes) RC_LOG() << " " << one.device->name;
  }
  RC_ASSERT((mine == least));
}

TEST(Judge, NoAllocationFragmentsLess) {
  constexpr int kWorldsEachRun = 4;
  std::map<std::string, int> seen;
  EXPECT_TRUE(rc::check("the least fragmenting allocation is taken", [&] {
    for (int i = 0; i < kWorldsEachRun; ++i) {
      switch (any_below(4)) {
        case 0:
          compare_scored(Scene(), seen);
          break;
        case 1:
          compare_scored(InterchangeableScene(), seen);
          break;
        default:
          compare_scored(PartitionScene(), seen);
      }
    }
  }));
  for (const auto& [kind, count] : seen) std::printf("%s %d\n", kind.c_str(), count);
  EXPECT_GT(seen["better"], 10);
  EXPECT_GT(seen["a choice"], 40);
}

// A request with admin access reserves no device: the numbers are those of the other requests, even where
// more devices of one value are visible.
TEST(Judge, CertificateOfAMatchBesideAdminAccess) {
  Scene scene{Scene::Empty{}};
  scene.put_nodes();
  api::DeviceClass device_class;
  device_class.meta.name = "c0";
  scene.world.put(api::Kind::DeviceClass, device_class);
  api::ResourceSlice slice;
  slice.meta.name = "s";
  slice.driver = "d0";
  slice.pool = "p0";
  slice.generation = slice.slice_count = 1;
  slice.node_name = "n0";
  for (int i = 0; i < 3; ++i) {
    slice.devices.push_back({.name = name("g", i)});
    slice.devices.back().attributes["numa"] = std::int64_t{i > 0};
  }
  scene.world.put(api::Kind::ResourceSlice, slice);
  api::ResourceClaim held;
  held.meta.name = held.meta.uid = "held";
  held.meta.ns = "default";
  held.allocation =
      api::Allocation{{api::DeviceResult{.driver = "d0", .pool = "p0", .device = "g1"}}, {}, {}, {}};
  scene.world.put(api::Kind::ResourceClaim, held);
  api::ResourceClaim claim;
  claim.meta.name = claim.meta.uid = "want";
  claim.meta.ns = "default";
  for (const bool admin : {true, false}) {
    api::DeviceSubRequest sub;
    sub.name = admin ? "watch" : "use";
    sub.device_class = "c0";
    sub.count = admin ? 1 : 2;
    sub.admin_access = admin;
    claim.requests.push_back({sub.name, false, {sub}});
  }
  claim.constraints.push_back({{}, "d0/numa", ""});
  scene.world.put(api::Kind::ResourceClaim, claim);
  scene.claims.push_back(scene.world.view.claims.find_shared("default", "want"));
  PlainSelectors selectors;
  SeededRandom random(1);
  Allocator allocator(scene.world.cluster, selectors, random, scene.gates);
  const auto compiled = allocator.prepare(scene.claims);
  ASSERT_TRUE(compiled);
  const AllocationVerdict verdict = allocator.allocate(**compiled, scene.world.cluster.find_node("n0"));
  ASSERT_TRUE(std::holds_alternative<Impossible>(verdict));
  const Certificate& shown = *std::get<Impossible>(verdict).certificate;
  EXPECT_EQ(to_words(shown), "needs 2 devices with the same d0/numa; the best group has 1: g0");
  EXPECT_EQ(judge::complaint_about(scene.for_judge(selectors), scene.claims, shown), "");
}

// A device that is unusable and one that is in use: neither is usable and free.
TEST(Judge, CertificateCountsWhatIsUsableAndFree) {
  Scene scene{Scene::Empty{}};
  scene.put_nodes();
  api::DeviceClass device_class;
  device_class.meta.name = "c0";
  scene.world.put(api::Kind::DeviceClass, device_class);
  api::ResourceSlice slice;
  slice.meta.name = "s";
  slice.driver = "d0";
  slice.pool = "p0";
  slice.generation = slice.slice_count = 1;
  slice.per_device_node_selection = true;
  for (int i = 0; i < 2; ++i) slice.devices.push_back({.name = name("g", i)});
  const api::NodeSelectorTerm zone{{{"zone", "Exists", {}}}, {}};
  slice.devices[0].node_selector = api::NodeSelector{{zone, zone}};
  slice.devices[1].node_name = "n0";
  scene.world.put(api::Kind::ResourceSlice, slice);
  api::ResourceClaim held, claim;
  held.meta.name = held.meta.uid = "held";
  claim.meta.name = claim.meta.uid = "want";
  held.meta.ns = claim.meta.ns = "default";
  held.allocation =
      api::Allocation{{api::DeviceResult{.driver = "d0", .pool = "p0", .device = "g1"}}, {}, {}, {}};
  claim.requests.push_back({"r", false, {{.name = "r", .device_class = "c0", .count = 2}}});
  scene.world.put(api::Kind::ResourceClaim, held);
  scene.world.put(api::Kind::ResourceClaim, claim);
  scene.claims.push_back(scene.world.view.claims.find_shared("default", "want"));
  PlainSelectors selectors;
  SeededRandom random(1);
  Allocator allocator(scene.world.cluster, selectors, random, scene.gates);
  const AllocationVerdict verdict =
      allocator.allocate(**allocator.prepare(scene.claims), scene.world.cluster.find_node("n0"));
  ASSERT_TRUE(std::holds_alternative<Impossible>(verdict));
  const Certificate& shown = *std::get<Impossible>(verdict).certificate;
  EXPECT_EQ(to_words(shown), "needs 2 devices; 0 are usable and free");
  EXPECT_EQ(judge::complaint_about(scene.for_judge(selectors), scene.claims, shown), "");
}

TEST(Judge, AgreesOnRandomWorlds) {
  constexpr int kWorldsEachRun = 8;
  std::map<std::string, int> seen;
  EXPECT_TRUE(rc::check("fast and judge agree", [&] {
    for (int i = 0; i < kWorldsEachRun; ++i) compare_once(Scene(), seen);
  }));
  RecordProperty("yes", seen["yes"]);
  for (const auto& [kind, count] : seen) std::printf("%s %d\n", kind.c_str(), count);
  // A generator that makes only one kind of world would test nothing.
  EXPECT_GT(seen["yes"], 40);
  EXPECT_GT(seen["no"], 40);
}

}  // namespace
}  // namespace berth::dra
