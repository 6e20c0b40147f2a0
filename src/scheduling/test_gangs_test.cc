// The worlds of gang_judge_test.cc, and the answer by trying every assignment.
#include "scheduling/test_gangs.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <set>
#include <unordered_set>

#include "base/random.h"

namespace berth::scheduling {
namespace {

std::string kind_name(int kind) {
  return kind < 0 ? "any" : "kind-" + std::to_string(kind);
}

Json name_only(const std::string& name) {
  return Json::object({{"name", name}});
}

bool is_in(const std::vector<int>& list, int one) {
  return std::find(list.begin(), list.end(), one) != list.end();
}

// Tries every assignment; refused states are remembered.
class EveryAssignment {
 public:
  explicit EveryAssignment(const GangWorld& world)
      : world_(world), used_(world.devices.size()), nodes_of_(world.claims.size()) {
    for (const GangWorld::Pool& pool : world.pools) left_.push_back(pool.counters);
    order_.resize(world.members.size());
    std::iota(order_.begin(), order_.end(), 0);
    const auto size = [&](int member) {
      int sum = world.members[member].cpu + world.members[member].memory;
      for (const int claim : world.members[member].claims)
        for (const GangWorld::Request& request : world.claims[claim].requests) sum += 8 * request[0].count;
      return sum;
    };
    std::stable_sort(order_.begin(), order_.end(), [&](int a, int b) { return size(a) > size(b); });
  }

  std::optional<bool> answer() {
    std::set<int> racks = {0};
    if (world_.racked)
      for (const GangWorld::Node& node : world_.nodes) racks.insert(node.rack);
    for (const int rack : racks) {
      if (world_.racked && rack < 0) continue;
      rack_ = rack;
      room_ = world_.nodes;
      refused_.clear();
      if (place(0, static_cast<int>(world_.members.size()) - world_.minimum)) return true;
      if (steps_ > kGangJudgeStepsMax) return std::nullopt;
    }
    return false;
  }

 private:
  using Then = std::function<bool()>;

  bool place(std::size_t next, int may_skip) {
    if (next == order_.size()) return true;
    if (++steps_ > kGangJudgeStepsMax) return false;
    std::string state = describe(next, may_skip);
    if (refused_.contains(state)) return false;
    const GangWorld::Member& member = world_.members[order_[next]];
    for (int node = 0; node < static_cast<int>(room_.size()); ++node) {
      if (world_.racked && room_[node].rack != rack_) continue;
      if (room_[node].cpu < member.cpu || room_[node].memory < member.memory) continue;
      if (member.port != 0 && ports_.contains({node, member.port})) continue;
      room_[node].cpu -= member.cpu;
      room_[node].memory -= member.memory;
      if (member.port != 0) ports_.insert({node, member.port});
      const bool found = serve(member, 0, node, [&] { return place(next + 1, may_skip); });
      if (member.port != 0) ports_.erase({node, member.port});
      room_[node].cpu += member.cpu;
      room_[node].memory += member.memory;
      if (found) return true;
    }
    if (may_skip > 0 && place(next + 1, may_skip - 1)) return true;
    if (steps_ <= kGangJudgeStepsMax) refused_.insert(std::move(state));
    return false;
  }

  bool serve(const GangWorld::Member& member, std::size_t nth, int node, const Then& then) {
    if (nth == member.claims.size()) return then();
    const int claim = member.claims[nth];
    const auto rest = [&] { return serve(member, nth + 1, node, then); };
    if (nodes_of_[claim]) return is_in(*nodes_of_[claim], node) && rest();
    std::vector<int> taken;
    return request(claim, 0, node, taken, rest);
  }

  bool request(int claim, std::size_t nth, int node, std::vector<int>& taken, const Then& then) {
    const GangWorld::Claim& asked = world_.claims[claim];
    if (nth == asked.requests.size()) {
      std::vector<int> all(world_.nodes.size());
      std::iota(all.begin(), all.end(), 0);
      for (const int device : taken)
        std::erase_if(all, [&](int one) { return !is_in(pool_of(device).nodes, one); });
      nodes_of_[claim] = all;
      const bool found = then();
      nodes_of_[claim].reset();
      return found;
    }
    return std::any_of(asked.requests[nth].begin(), asked.requests[nth].end(), [&](const auto& alternative) {
      return devices(claim, nth, alternative, alternative.count, 0, node, taken, then);
    });
  }

  bool devices(int claim, std::size_t nth, const GangWorld::Alternative& alternative, int count,
               std::size_t from, int node, std::vector<int>& taken, const Then& then) {
    if (++steps_ > kGangJudgeStepsMax) return false;
    if (count == 0) return request(claim, nth + 1, node, taken, then);
    for (std::size_t d = from; d < world_.devices.size(); ++d) {
      const GangWorld::Device& device = world_.devices[d];
      if (used_[d] || !is_in(pool_of(static_cast<int>(d)).nodes, node) || equals_an_earlier_free_one(d, from))
        continue;
      if (alternative.kind >= 0 && device.kind != alternative.kind) continue;
      if (world_.claims[claim].same_numa && !taken.empty() &&
          world_.devices[taken.front()].numa != device.numa)
        continue;
      std::vector<int>& left = left_[device.pool];
      bool fed = true;
      for (std::size_t c = 0; c < left.size(); ++c) fed &= device.draws[c] <= left[c];
      if (!fed || device.cpu > room_[node].cpu) continue;
      room_[node].cpu -= device.cpu;
      for (std::size_t c = 0; c < left.size(); ++c) left[c] -= device.draws[c];
      used_[d] = true;
      taken.push_back(static_cast<int>(d));
      const bool found = devices(claim, nth, alternative, count - 1, d + 1, node, taken, then);
      taken.pop_back();
      used_[d] = false;
      room_[node].cpu += device.cpu;
      for (std::size_t c = 0; c < left.size(); ++c) left[c] += device.draws[c];
      if (found) return true;
    }
    return false;
  }

  bool equals_an_earlier_free_one(std::size_t device, std::size_t from) const {
    for (std::size_t d = from; d < device; ++d)
      if (!used_[d] && world_.devices[d] == world_.devices[device]) return true;
    return false;
  }

  const GangWorld::Pool& pool_of(int device) const { return world_.pools[world_.devices[device].pool]; }

  // Equal devices are a number.
  std::string describe(std::size_t next, int may_skip) const {
    std::string text;
    const auto add = [&](int number) { text += static_cast<char>(number + 1); };
    add(static_cast<int>(next));
    add(may_skip);
    for (const GangWorld::Node& node : room_) {
      add(node.cpu);
      add(node.memory);
    }
    for (std::size_t d = 0; d < used_.size(); ++d) {
      std::size_t first = 0;
      while (!(world_.devices[first] == world_.devices[d])) ++first;
      if (first != d) continue;
      int free = 0;
      for (std::size_t e = d; e < used_.size(); ++e)
        if (!used_[e] && world_.devices[e] == world_.devices[d]) ++free;
      add(free);
    }
    for (const auto& [node, port] : ports_) {
      add(node);
      add(port);
    }
    for (const auto& nodes : nodes_of_) {
      add(nodes ? static_cast<int>(nodes->size()) : 100);
      if (nodes)
        for (const int node : *nodes) add(node);
    }
    return text;
  }

  const GangWorld& world_;
  std::vector<int> order_;  // members, the largest first
  int rack_ = 0;
  std::vector<GangWorld::Node> room_;
  std::set<std::pair<int, int>> ports_;  // in use, by node
  std::vector<bool> used_;
  std::vector<std::vector<int>> left_;                     // by pool and counter
  std::vector<std::optional<std::vector<int>>> nodes_of_;  // of an allocated claim
  std::unordered_set<std::string> refused_;
  std::size_t steps_ = 0;
};

// Draws a world around an assignment that it keeps to itself.
class Planter {
 public:
  explicit Planter(std::uint64_t seed) : random_(SeededRandom(seed).next()) {}

  GangWorld heterogeneous() {
    make_nodes();
    for (std::size_t node = 0; node < world_.nodes.size(); ++node) make_local_pools(static_cast<int>(node));
    if (one_in(4)) make_fabric(2 + below(2));
    const int size = one_in(2) ? 2 + below(11) : 9 + below(4);
    const int claims = 1 + below(2);
    for (int i = 0; i < size; ++i) plant_member(own_claims(claims));
    return finish();
  }

  GangWorld taking() {
    takes_ = true;
    return heterogeneous();
  }

  GangWorld sharing() {
    make_nodes();
    for (std::size_t node = 0; node < world_.nodes.size(); ++node)
      if (one_in(2)) make_local_pools(static_cast<int>(node));
    for (int i = 1 + below(3); i > 0; --i) make_fabric(2 + below(3));
    const int size = 2 + below(7);
    // The members of each claim that is shared, then what they have besides.
    std::vector<std::vector<int>> claims(static_cast<std::size_t>(size));
    std::vector<int> places;
    for (int i = 0; i < size; ++i) places.push_back(a_planted_node());
    for (int c = 1 + below(2); c > 0; --c) plant_shared(claims, places);
    for (int i = 0; i < size; ++i) {
      const int own = one_in(2) ? own_claims(1) : 0;
      plant_member(own, places[static_cast<std::size_t>(i)], claims[static_cast<std::size_t>(i)]);
    }
    return finish();
  }

 private:
  int below(int bound) { return static_cast<int>(random_.below(static_cast<std::uint64_t>(bound))); }
  bool one_in(int n) { return below(n) == 0; }
  int own_claims(int most) { return one_in(3) ? 0 : 1 + below(most); }

  void make_nodes() {
    const int nodes = 2 + below(7);
    world_.racked = one_in(3);
    const int racks = world_.racked ? 2 + below(2) : 1;
    for (int i = 0; i < nodes; ++i) world_.nodes.push_back({0, 0, world_.racked ? below(racks + 1) - 1 : 0});
    if (world_.racked) world_.nodes[0].rack = 0;
    kinds_ = 1 + below(3);
    sizes_ = one_in(3) ? 3 : 6;
    for (int i = 0; i < nodes; ++i)
      if (world_.nodes[i].rack == 0) planted_.push_back(i);
  }
  int a_planted_node() {
    return planted_[static_cast<std::size_t>(below(static_cast<int>(planted_.size())))];
  }

  void add_device(int pool, int kind, int numa, std::vector<int> draws) {
    const bool own = world_.pools[static_cast<std::size_t>(pool)].nodes.size() == 1;
    world_.devices.push_back({pool, kind, numa, takes_ && own ? below(4) : 0, std::move(draws)});
    taken_.push_back(false);
  }

  void make_local_pools(int node) {
    if (one_in(6)) return;
    const int pool = static_cast<int>(world_.pools.size());
    if (one_in(2)) {
      world_.pools.push_back({{node}, {}});
      for (int i = 1 + below(4); i > 0; --i) add_device(pool, below(kinds_), below(2), {});
      return;
    }
    // Cards of four units: the whole, halves and quarters draw on them.
    const int cards = 1 + below(2);
    world_.pools.push_back({{node}, std::vector<int>(static_cast<std::size_t>(cards), 4)});
    for (int card = 0; card < cards; ++card)
      for (const auto& [units, count] : {std::pair{4, 1}, {2, 2}, {1, one_in(2) ? 0 : 2}})
        for (int i = 0; i < count; ++i) {
          std::vector<int> draws(static_cast<std::size_t>(cards));
          draws[static_cast<std::size_t>(card)] = units;
          add_device(pool, units == 4 ? 0 : units == 2 ? kinds_ - 1 : below(kinds_), card, std::move(draws));
        }
  }

  void make_fabric(int reach) {
    std::vector<int> nodes;
    for (int i = 0; i < static_cast<int>(world_.nodes.size()); ++i)
      if (below(static_cast<int>(world_.nodes.size())) < reach) nodes.push_back(i);
    if (nodes.size() < 2) return;
    const int pool = static_cast<int>(world_.pools.size());
    world_.pools.push_back({nodes, {}});
    for (int i = 1 + below(3); i > 0; --i) add_device(pool, below(kinds_), below(2), {});
  }

  bool is_free(int device) const {
    if (taken_[static_cast<std::size_t>(device)]) return false;
    const GangWorld::Device& one = world_.devices[static_cast<std::size_t>(device)];
    std::vector<int> left = world_.pools[static_cast<std::size_t>(one.pool)].counters;
    for (std::size_t d = 0; d < world_.devices.size(); ++d)
      if (taken_[d] && world_.devices[d].pool == one.pool)
        for (std::size_t c = 0; c < left.size(); ++c) left[c] -= world_.devices[d].draws[c];
    for (std::size_t c = 0; c < left.size(); ++c)
      if (one.draws[c] > left[c]) return false;
    return true;
  }

  // Takes free devices that all of `nodes` reach and returns a claim that they satisfy; -1: there are none.
  int plant_claim(const std::vector<int>& nodes) {
    std::vector<int> free;
    for (int d = 0; d < static_cast<int>(world_.devices.size()); ++d)
      if (is_free(d) && std::all_of(nodes.begin(), nodes.end(), [&](int node) {
            return is_in(
                world_.pools[static_cast<std::size_t>(world_.devices[static_cast<std::size_t>(d)].pool)]
                    .nodes,
                node);
          }))
        free.push_back(d);
    if (free.empty()) return -1;
    const GangWorld::Device first = world_.devices[static_cast<std::size_t>(
        free[static_cast<std::size_t>(below(static_cast<int>(free.size())))])];
    const int wanted = one_in(3) ? 2 : 1;
    int count = 0;
    bool same_numa = true;
    for (const int d : free) {
      if (count == wanted || !is_free(d) || world_.devices[static_cast<std::size_t>(d)].kind != first.kind)
        continue;
      taken_[static_cast<std::size_t>(d)] = true;
      world_.nodes[static_cast<std::size_t>(nodes.front())].cpu +=
          world_.devices[static_cast<std::size_t>(d)].cpu;
      same_numa &= count == 0 || world_.devices[static_cast<std::size_t>(d)].numa == numa_;
      numa_ = world_.devices[static_cast<std::size_t>(d)].numa;
      ++count;
    }
    GangWorld::Request request = {{one_in(3) ? -1 : first.kind, count}};
    if (one_in(3)) request.insert(request.begin(), {below(kinds_ + 1) - 1, count + 1});
    if (one_in(4)) request.push_back({below(kinds_), 1});
    std::vector<GangWorld::Request> requests = {request};
    // Two of them are one request for two, or two requests.
    if (count == 2 && request.size() == 1 && one_in(2))
      requests = {{{first.kind, 1}}, {{request[0].kind, 1}}};
    world_.claims.push_back({requests, same_numa && count > 1 && one_in(2)});
    return static_cast<int>(world_.claims.size()) - 1;
  }

  void plant_shared(std::vector<std::vector<int>>& claims, const std::vector<int>& places) {
    std::vector<int> users, nodes;
    const bool all = one_in(2);
    for (int i = 0; i < static_cast<int>(claims.size()); ++i)
      if (all || one_in(2)) users.push_back(i);
    if (users.size() < 2) return;
    for (const int user : users) nodes.push_back(places[static_cast<std::size_t>(user)]);
    const int claim = plant_claim(nodes);
    if (claim < 0) return;
    for (const int user : users) claims[static_cast<std::size_t>(user)].push_back(claim);
  }

  void plant_member(int own) { plant_member(own, a_planted_node(), {}); }
  void plant_member(int own, int node, std::vector<int> claims) {
    GangWorld::Member member{below(sizes_), below(sizes_), std::move(claims)};
    for (; own > 0; --own)
      if (const int claim = plant_claim({node}); claim >= 0) member.claims.push_back(claim);
    if (const int port = takes_ && one_in(4) ? 1 + below(2) : 0;
        port != 0 && ports_.insert({node, port}).second)
      member.port = port;
    GangWorld::Node& place = world_.nodes[static_cast<std::size_t>(node)];
    place.cpu += member.cpu;
    place.memory += member.memory;
    world_.members.push_back(std::move(member));
  }

  GangWorld finish() {
    world_.minimum = static_cast<int>(world_.members.size());
    // Devices that the hidden assignment leaves free are mostly removed.
    for (std::size_t d = world_.devices.size(); d-- > 0;)
      if (world_.pools[static_cast<std::size_t>(world_.devices[d].pool)].counters.empty() && !taken_[d] &&
          !one_in(4)) {
        world_.devices.erase(world_.devices.begin() + static_cast<std::ptrdiff_t>(d));
        taken_.erase(taken_.begin() + static_cast<std::ptrdiff_t>(d));
      }
    for (GangWorld::Node& node : world_.nodes) {
      if (node.rack != 0) node = {below(12), below(12), node.rack};
      if (one_in(4)) node.cpu += below(3);
      if (one_in(4)) node.memory += below(3);
    }
    for (int more = one_in(4) ? 1 + below(3) : 0; more > 0 && world_.members.size() < 12; --more)
      add_spare_member();
    world_.planted = true;
    if (one_in(4)) spoil();
    for (std::size_t i = world_.members.size(); i > 1; --i)
      std::swap(world_.members[i - 1], world_.members[static_cast<std::size_t>(below(static_cast<int>(i)))]);
    return std::move(world_);
  }

  // Beyond the minimum.
  void add_spare_member() {
    world_.members.push_back({below(sizes_), below(sizes_), {}});
    if (world_.claims.empty() || one_in(2)) return;
    world_.claims.push_back(world_.claims.front());
    world_.members.back().claims = {static_cast<int>(world_.claims.size()) - 1};
  }

  // Takes something away: the world may be infeasible then.
  void spoil() {
    world_.planted = false;
    GangWorld::Node& node = world_.nodes[static_cast<std::size_t>(a_planted_node())];
    if (one_in(2) && !world_.devices.empty())
      world_.devices.erase(world_.devices.begin() + below(static_cast<int>(world_.devices.size())));
    else if (node.cpu > 0)
      --node.cpu;
    else if (node.memory > 0)
      --node.memory;
    else
      world_.members.front().cpu += 1;
  }

  SeededRandom random_;
  GangWorld world_;
  std::vector<int> planted_;  // nodes of the rack with the hidden assignment
  std::vector<bool> taken_;   // by device
  int kinds_ = 1;             // of devices
  int sizes_ = 6;             // that members ask for
  bool takes_ = false;
  std::set<std::pair<int, int>> ports_;
  int numa_ = 0;
};

Json claim_object(const GangWorld::Claim& claim, const std::string& name) {
  Json requests = Json::array({});
  for (std::size_t r = 0; r < claim.requests.size(); ++r) {
    Json alternatives = Json::array({});
    for (const GangWorld::Alternative& one : claim.requests[r]) {
      Json json = Json::object({{"deviceClassName", kind_name(one.kind)},
                                {"allocationMode", "ExactCount"},
                                {"count", static_cast<std::int64_t>(one.count)}});
      if (claim.requests[r].size() > 1) json["name"] = "a" + std::to_string(alternatives.as_array().size());
      alternatives.as_array().push_back(std::move(json));
    }
    Json request = name_only("r" + std::to_string(r));
    if (claim.requests[r].size() > 1)
      request["firstAvailable"] = std::move(alternatives);
    else
      request["exactly"] = alternatives.as_array().front();
    requests.as_array().push_back(std::move(request));
  }
  Json devices = Json::object({{"requests", std::move(requests)}});
  if (claim.same_numa)
    devices["constraints"] = Json::array({Json::object({{"matchAttribute", "gpu.example.com/numa"}})});
  return Json::object(
      {{"metadata", Json::object({{"name", name}, {"namespace", "default"}, {"uid", "uid-claim-" + name}})},
       {"spec", Json::object({{"devices", std::move(devices)}})}});
}

Json device_object(const GangWorld::Device& device, std::size_t index) {
  Json json = name_only("d" + std::to_string(index));
  json["attributes"] =
      Json::object({{"kind", Json::object({{"string", kind_name(device.kind)}})},
                    {"numa", Json::object({{"int", static_cast<std::int64_t>(device.numa)}})}});
  if (device.cpu > 0)
    json["nodeAllocatableResources"] = Json::object(
        {{"cpu",
          Json::object({{"mapping", Json::object({{"deviceMultiplier", std::to_string(device.cpu)}})}})}});
  Json counters = Json::object();
  for (std::size_t c = 0; c < device.draws.size(); ++c)
    if (device.draws[c] > 0)
      counters["card" + std::to_string(c)] = Json::object({{"value", std::to_string(device.draws[c])}});
  if (!device.draws.empty())
    json["consumesCounters"] =
        Json::array({Json::object({{"counterSet", "cards"}, {"counters", std::move(counters)}})});
  return json;
}

Json reach_of(const GangWorld::Pool& pool, std::size_t index) {
  if (pool.nodes.size() == 1) return Json::object({{"nodeName", "n" + std::to_string(pool.nodes[0])}});
  Json term = Json::object({{"key", "pool-" + std::to_string(index)}, {"operator", "Exists"}});
  Json terms = Json::array({Json::object({{"matchExpressions", Json::array({std::move(term)})}})});
  return Json::object({{"nodeSelector", Json::object({{"nodeSelectorTerms", std::move(terms)}})}});
}

void put_pool(TestBench& bench, const GangWorld& world, std::size_t index) {
  const GangWorld::Pool& pool = world.pools[index];
  const std::string name = "pool-" + std::to_string(index);
  const std::int64_t slices = pool.counters.empty() ? 1 : 2;
  const auto put = [&](const std::string& part, const char* key, Json value) {
    Json spec = reach_of(pool, index);
    spec["driver"] = "gpu.example.com";
    spec["pool"] =
        Json::object({{"name", name}, {"generation", std::int64_t{1}}, {"resourceSliceCount", slices}});
    spec[key] = std::move(value);
    bench.put_json(api::Kind::ResourceSlice,
                   Json::object({{"metadata", name_only(name + part)}, {"spec", std::move(spec)}}));
  };
  Json devices = Json::array({});
  for (std::size_t d = 0; d < world.devices.size(); ++d)
    if (world.devices[d].pool == static_cast<int>(index))
      devices.as_array().push_back(device_object(world.devices[d], d));
  put("-devices", "devices", std::move(devices));
  if (pool.counters.empty()) return;
  Json counters = Json::object();
  for (std::size_t c = 0; c < pool.counters.size(); ++c)
    counters["card" + std::to_string(c)] = Json::object({{"value", std::to_string(pool.counters[c])}});
  put("-counters", "sharedCounters",
      Json::array({Json::object({{"name", "cards"}, {"counters", std::move(counters)}})}));
}

Json pod_object(const GangWorld::Member& member, const std::string& name) {
  Json claims = Json::array({}), used = Json::array({});
  for (const int claim : member.claims) {
    const std::string its = "c" + std::to_string(claim);
    claims.as_array().push_back(Json::object({{"name", its}, {"resourceClaimName", its}}));
    used.as_array().push_back(name_only(its));
  }
  Json container = name_only("c");
  container["resources"] =
      Json::object({{"requests", Json::object({{"cpu", std::to_string(member.cpu)},
                                               {"memory", std::to_string(member.memory) + "Gi"}})},
                    {"claims", std::move(used)}});
  if (member.port != 0)
    container["ports"] =
        Json::array({Json::object({{"hostPort", static_cast<std::int64_t>(8000 + member.port)}})});
  return Json::object(
      {{"metadata", Json::object({{"name", name}, {"namespace", "default"}, {"uid", "uid-" + name}})},
       {"spec", Json::object({{"schedulerName", "berth"},
                              {"schedulingGroup", Json::object({{"podGroupName", "g"}})},
                              {"resourceClaims", std::move(claims)},
                              {"containers", Json::array({std::move(container)})}})},
       {"status", Json::object({{"phase", "Pending"}})}});
}

}  // namespace

void GangWorld::put(TestBench& bench) const {
  bench.put_class("any", "true");
  for (int kind = 0; kind < 3; ++kind)
    bench.put_class(kind_name(kind), "device.kind == '" + kind_name(kind) + "'");
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    NodeSpec spec{"n" + std::to_string(i), std::to_string(nodes[i].cpu),
                  std::to_string(nodes[i].memory) + "Gi"};
    if (nodes[i].rack >= 0) spec.labels["rack"] = "r" + std::to_string(nodes[i].rack);
    for (std::size_t p = 0; p < pools.size(); ++p)
      if (is_in(pools[p].nodes, static_cast<int>(i))) spec.labels["pool-" + std::to_string(p)] = "";
    bench.put_node(spec);
  }
  for (std::size_t p = 0; p < pools.size(); ++p) put_pool(bench, *this, p);
  for (std::size_t c = 0; c < claims.size(); ++c)
    bench.put_json(api::Kind::ResourceClaim, claim_object(claims[c], "c" + std::to_string(c)));
  bench.put_group("g", minimum, racked ? "rack" : "");
  for (std::size_t i = 0; i < members.size(); ++i)
    bench.put_json(api::Kind::Pod, pod_object(members[i], "p" + std::to_string(i)));
}

std::string GangWorld::complaint_about(const TestBench& bench) const {
  std::vector<Node> left = nodes;
  std::set<int> racks;
  std::set<std::pair<int, int>> ports;
  int placed = 0;
  std::map<std::string, std::set<std::string>> devices_of;  // by claim
  for (std::size_t i = 0; i < members.size(); ++i) {
    const std::string pod = "p" + std::to_string(i), place = bench.node_of(pod);
    if (place.empty()) continue;
    ++placed;
    const int at = std::stoi(place.substr(1));
    Node& node = left[static_cast<std::size_t>(at)];
    node.cpu -= members[i].cpu;
    node.memory -= members[i].memory;
    if (members[i].port != 0 && !ports.insert({at, members[i].port}).second)
      return place + " has a port twice";
    racks.insert(node.rack);
    const auto& chosen = bench.view.bind_requests_of_pod("default", pod).front()->claims;
    if (chosen.size() != members[i].claims.size()) return pod + " lacks a claim";
    for (const api::ClaimAllocation& claim : chosen) {
      std::set<std::string> names;
      for (const api::DeviceResult& result : claim.allocation.results) {
        names.insert(result.device);
        node.cpu -= devices[static_cast<std::size_t>(std::stoi(result.device.substr(1)))].cpu;
        if (!is_in(pools[static_cast<std::size_t>(std::stoi(result.pool.substr(5)))].nodes, at))
          return pod + " does not reach " + result.device;
      }
      const auto [known, added] = devices_of.emplace(claim.claim_name, names);
      if (known->second != names) return claim.claim_name + " has two allocations";
    }
    if (node.cpu < 0 || node.memory < 0) return place + " is overcommitted";
  }
  if (placed < minimum) return "too few are placed";
  if (racked && (racks.size() != 1 || *racks.begin() < 0)) return "several racks";
  std::set<std::string> seen;
  std::vector<std::vector<int>> counters;
  for (const Pool& pool : pools) counters.push_back(pool.counters);
  for (const auto& [claim, names] : devices_of)
    for (const std::string& name : names) {
      if (!seen.insert(name).second) return name + " is taken twice";
      const Device& device = devices[static_cast<std::size_t>(std::stoi(name.substr(1)))];
      std::vector<int>& units = counters[static_cast<std::size_t>(device.pool)];
      for (std::size_t c = 0; c < units.size(); ++c)
        if ((units[c] -= device.draws[c]) < 0) return "a counter is overdrawn by " + name;
    }
  return "";
}

std::string GangWorld::text() const {
  std::string text = "minimum " + std::to_string(minimum) + (racked ? ", one rack" : "") + "\n";
  for (std::size_t i = 0; i < nodes.size(); ++i)
    text += "n" + std::to_string(i) + " cpu " + std::to_string(nodes[i].cpu) + " memory " +
            std::to_string(nodes[i].memory) + " rack " + std::to_string(nodes[i].rack) + "\n";
  for (std::size_t p = 0; p < pools.size(); ++p) {
    text += "pool-" + std::to_string(p) + " of";
    for (const int node : pools[p].nodes) text += " n" + std::to_string(node);
    for (std::size_t d = 0; d < devices.size(); ++d) {
      if (devices[d].pool != static_cast<int>(p)) continue;
      text += "; d" + std::to_string(d) + " " + kind_name(devices[d].kind) + " numa " +
              std::to_string(devices[d].numa);
      if (devices[d].cpu > 0) text += " takes " + std::to_string(devices[d].cpu);
      for (const int draw : devices[d].draws) text += " " + std::to_string(draw);
    }
    text += "\n";
  }
  for (std::size_t c = 0; c < claims.size(); ++c) {
    text += "c" + std::to_string(c) + (claims[c].same_numa ? " same numa" : "");
    for (const Request& request : claims[c].requests)
      for (const Alternative& one : request)
        text += " " + std::to_string(one.count) + " " + kind_name(one.kind) +
                (&one == &request.back() ? "" : " or");
    text += "\n";
  }
  for (std::size_t i = 0; i < members.size(); ++i) {
    text += "p" + std::to_string(i) + " cpu " + std::to_string(members[i].cpu) + " memory " +
            std::to_string(members[i].memory);
    if (members[i].port != 0) text += " port " + std::to_string(members[i].port);
    for (const int claim : members[i].claims) text += " c" + std::to_string(claim);
    text += "\n";
  }
  return text;
}

std::optional<bool> fits_by_trying_all(const GangWorld& world) {
  return EveryAssignment(world).answer();
}

GangWorld heterogeneous_gang(std::uint64_t seed) {
  return Planter(seed).heterogeneous();
}

GangWorld taking_gang(std::uint64_t seed) {
  return Planter(seed).taking();
}

GangWorld sharing_gang(std::uint64_t seed) {
  return Planter(seed).sharing();
}

}  // namespace berth::scheduling
