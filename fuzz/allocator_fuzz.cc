// rooms: dra
// Any bytes as a small world of devices and claims: the fast allocator and the judge give the same answer.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "dra/judge/judge.h"
#include "dra/judge/validity.h"
#include "dra/test_world.h"

namespace berth::dra {
namespace {

// The next choice below `bound`; 0 when the bytes are used up.
class Choices {
 public:
  Choices(const std::uint8_t* bytes, std::size_t size) : bytes_(bytes), left_(size) {}
  int pick(int bound) {
    if (left_ == 0) return 0;
    --left_;
    return *bytes_++ % bound;
  }
  bool chance(int one_in) { return pick(one_in) == 1; }

 private:
  const std::uint8_t* bytes_;
  std::size_t left_;
};

api::ResourceSlice any_slice(Choices& from) {
  api::ResourceSlice slice;
  slice.meta.name = "devices";
  slice.driver = "d0";
  slice.pool = "p0";
  slice.generation = 1;
  slice.slice_count = 2;
  slice.node_name = "n0";
  const int count = 1 + from.pick(5);
  for (int i = 0; i < count; ++i) {
    api::Device& device = slice.devices.emplace_back();
    device.name = "g" + std::to_string(from.chance(16) ? 0 : i);
    if (!from.chance(4)) device.attributes["numa"] = std::int64_t{from.pick(2)};
    if (from.chance(4)) device.attributes["d0/idx"] = std::vector<std::int64_t>{from.pick(3), from.pick(3)};
    if (from.chance(4)) device.taints.push_back({"t", "", "NoSchedule", {}});
    device.allow_multiple = from.chance(4);
    if (from.chance(3)) device.capacity["mem"].value = Quantity::of(from.pick(6) - 1);
    if (from.chance(2))
      device.consumes.push_back(
          {"set", {{"m", Quantity::of(from.pick(4) - 1)}}, {from.chance(2) ? "a" : "b"}});
  }
  return slice;
}

api::ResourceClaim any_claim(Choices& from, int index) {
  api::ResourceClaim claim;
  claim.meta.name = claim.meta.uid = "want" + std::to_string(index);
  claim.meta.ns = "default";
  const int requests = 1 + from.pick(3);
  for (int r = 0; r < requests; ++r) {
    api::DeviceRequest request{"r" + std::to_string(r), from.chance(4), {}};
    const int alternatives = request.prioritized ? 1 + from.pick(2) : 1;
    for (int a = 0; a < alternatives; ++a) {
      api::DeviceSubRequest& sub = request.alternatives.emplace_back();
      sub.name = request.prioritized ? "a" + std::to_string(a) : request.name;
      sub.device_class = "c0";
      sub.count = 1 + from.pick(3);
      if (from.chance(8)) sub.mode = api::AllocationMode::All;
      if (from.chance(4)) sub.selectors = {"has numa"};
      if (from.chance(2)) sub.tolerations.push_back({"t", "Exists", "", "", {}});
      if (from.chance(4)) sub.capacity["mem"] = Quantity::of(from.pick(4) - 1);
      sub.admin_access = !request.prioritized && from.chance(8);
    }
    claim.requests.push_back(std::move(request));
  }
  if (from.chance(3)) claim.constraints.push_back({{}, from.chance(2) ? "d0/numa" : "d0/idx", ""});
  if (from.chance(3)) claim.constraints.push_back({{}, "", from.chance(2) ? "d0/numa" : "d0/idx"});
  return claim;
}

void require(bool holds) {
  if (!holds) std::abort();
}

void compare(Choices from) {
  TestWorld world;
  api::Node node;
  node.meta.name = "n0";
  world.put(api::Kind::Node, node);
  api::DeviceClass device_class;
  device_class.meta.name = "c0";
  world.put(api::Kind::DeviceClass, device_class);
  api::ResourceSlice slice = any_slice(from), sets = slice;
  sets.meta.name = "sets";
  sets.devices.clear();
  sets.shared_counters.push_back({"set", {{"m", Quantity::of(from.pick(8) - 1)}}});
  world.put(api::Kind::ResourceSlice, slice);
  world.put(api::Kind::ResourceSlice, sets);
  std::vector<ClaimPtr> claims;
  const int wanted = 1 + from.pick(2);
  for (int i = 0; i < wanted; ++i) {
    const api::ResourceClaim claim = any_claim(from, i);
    world.put(api::Kind::ResourceClaim, claim);
    claims.push_back(world.view.claims.find_shared("default", claim.meta.name));
  }
  PlainSelectors selectors;
  SeededRandom random(1);
  DeviceGates gates;
  gates.compatibility_groups = gates.list_attributes = true;
  Allocator allocator(world.cluster, selectors, random, gates);
  if (from.chance(2)) allocator.skip_plain_search();
  const auto compiled = allocator.prepare(claims);
  const AllocationVerdict fast = compiled ? allocator.allocate(**compiled, world.cluster.find_node("n0"))
                                          : AllocationVerdict(AllocationError{compiled.error().text()});
  judge::JudgedWorld judged;
  judged.node = world.view.nodes.find("", "n0");
  for (const auto& [key, found] : world.view.slices.all()) judged.slices.push_back(found.get());
  for (const auto& [key, found] : world.view.classes.all()) judged.classes.push_back(found.get());
  judged.selectors = &selectors;
  judged.gates = gates;
  const judge::Answer slow = judge::allocate(judged, claims).answer;
  if (const auto* yes = std::get_if<Allocations>(&fast)) {
    require(slow == judge::Answer::Yes);
    require(judge::complaint_about(judged, claims, *yes).empty());
  } else if (std::holds_alternative<Impossible>(fast)) {
    require(slow == judge::Answer::No);
  } else if (std::holds_alternative<AllocationError>(fast)) {
    require(slow == judge::Answer::Error);
  }
}

}  // namespace
}  // namespace berth::dra

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  berth::dra::compare(berth::dra::Choices(bytes, size));
  return 0;
}
