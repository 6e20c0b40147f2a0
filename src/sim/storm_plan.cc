#include "sim/storm_plan.h"

#include <algorithm>
#include <array>

#include "api/yaml.h"
#include "api/yaml_write.h"
#include "base/random.h"
#include "sim/fault_class.h"
#include "sim/network.h"
#include "sim/stored_state.h"
#include "sim/storm.h"
#include "sim/storm_objects.h"

namespace berth::sim {
namespace {

constexpr int kGangsMin = 11, kGangsMore = 6;
constexpr int kMembersMin = 2, kMembersMore = 7;
constexpr int kTreesMin = 5, kTreesMore = 5;
constexpr int kReplicaSetsMin = 3, kReplicaSetsMore = 3;
constexpr int kPoliciesMin = 6, kPoliciesMore = 8;
constexpr int kWideMin = 2, kWideMore = 2, kWideMembersMore = 3;
constexpr int kTightTreesMin = 2, kTightTreesMore = 2;
constexpr int kReplacedMin = 2, kReplacedMore = 2;
constexpr std::int64_t kStaysS = 3600;  // on a failed node: longer than a storm
constexpr int kPodsMin = 215;
constexpr int kAimedMin = 10, kAimedMore = 6;
// Seeds with volumes and devices that fall ill, with steps of their own random numbers: others stay as they
// are.
constexpr std::uint64_t kVolumesOneIn = 8, kVolumesFrom = 6;
constexpr std::uint64_t kDeletedLeasesOneIn = 4, kDeletedLeasesFrom = 2;
constexpr int kVolumePods = 60, kLocalDisks = 10, kFlapsMin = 12, kFlapsMore = 12;
constexpr std::int64_t kArrivalsMs = 420'000;
constexpr std::int64_t kTroubleMs = 470'000;
constexpr std::array kSharedClaims = {"one-gpu", "uplink", "two-gpus"};

bool is_in_memory(std::uint64_t seed) {
  if (seed >= kMovingSeeds) return seed % 2 == 1;
  return (seed >= kInMemorySeeds && seed < kTreeSeeds) || seed >= kInMemoryTreeSeeds;
}

class Maker {
 public:
  explicit Maker(std::uint64_t seed) : random_(chance_of(seed, "plan", 0)) { plan_.seed = seed; }

  StormPlan make() {
    choose_processes();
    choose_cluster();
    for (std::size_t i = 0; i < kSharedClaims.size(); ++i) {
      JsonObject& claim = step(below(kArrivalsMs), "claim");
      claim.append("name", "shared-" + std::to_string(i));
      claim.append("need", kSharedClaims[i]);
    }
    if (contended_) make_critical_gang();
    const int gangs = kGangsMin + pick(kGangsMore);
    for (int i = 0; i < gangs; ++i) make_gang(i);
    if (plan_.seed >= kTreeSeeds)
      for (int i = kTreesMin + pick(kTreesMore); i > 0; --i) make_tree(i);
    for (int i = 0; pods_ < kPodsMin; ++i) make_single(i);
    make_users();
    make_cluster_changes();
    make_process_trouble();
    make_network_trouble();
    // I12's limit allows for the faults of the others; with more of them the critical gang waits longer.
    make_aimed();
    if (plan_.seed % kVolumesOneIn == kVolumesFrom) make_volumes_and_health();
    if (plan_.seed % kDeletedLeasesOneIn == kDeletedLeasesFrom && plan_.schedulers > 0) make_deleted_leases();
    if (plan_.seed >= kPolicySeeds) make_policies();
    if (plan_.seed >= kPolicySeeds) make_tight_racks();
    if (plan_.seed >= kMovingSeeds) make_replicas();
    if (plan_.seed >= kReplacingSeeds)
      for (int i = kReplacedMin + pick(kReplacedMore); i > 0; --i) make_replaced("kept-" + std::to_string(i));
    std::stable_sort(plan_.steps.begin(), plan_.steps.end(),
                     [](const Json& a, const Json& b) { return a.int_at("atMs") < b.int_at("atMs"); });
    return std::move(plan_);
  }

 private:
  std::int64_t below(std::int64_t bound) {
    return static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(bound)));
  }
  int pick(int count) { return static_cast<int>(below(count)); }
  bool chance(int percent) { return below(100) < percent; }
  template <std::size_t N>
  const char* one_of(const std::array<const char*, N>& words) {
    return words[static_cast<std::size_t>(pick(N))];
  }
  JsonObject& step(std::int64_t at_ms, const char* what) {
    plan_.steps.push_back(Json::object({{"atMs", at_ms}, {"do", what}}));
    return plan_.steps.back().as_object();
  }

  void choose_processes() {
    struct Row {
      int schedulers, binders;
    };
    static constexpr std::array kRows = {Row{0, 0}, Row{0, 0}, Row{0, 0}, Row{1, 1},
                                         Row{1, 1}, Row{2, 1}, Row{1, 2}, Row{2, 2}};
    const Row& row = kRows[random_.below(kRows.size())];
    plan_.schedulers = row.schedulers;
    plan_.binders = row.binders;
  }

  // Small enough that devices run out, and that choices must be undone.
  void choose_cluster() {
    struct Row {
      int racks, nodes, gpus, cpus;
    };
    static constexpr std::array kRows = {Row{3, 3, 4, 16}, Row{3, 2, 4, 8}, Row{2, 2, 4, 8},
                                         Row{2, 3, 3, 6},  Row{2, 2, 3, 4}, Row{1, 3, 4, 6}};
    const Row& row = kRows[random_.below(kRows.size())];
    plan_.racks = row.racks;
    plan_.nodes_per_rack = row.nodes;
    plan_.gpus_per_node = row.gpus;
    plan_.cpus_per_node = row.cpus;
    contended_ = row.racks > 1 && chance(40);
  }

  std::string process() {
    if (plan_.schedulers == 0) return "all";
    const int which = pick(5);
    if (which == 4) return "controllers";
    const bool scheduler = which < 2;
    const int count = scheduler ? plan_.schedulers : plan_.binders;
    return (scheduler ? "scheduler-" : "binder-") + std::to_string(1 + pick(count));
  }

  void pod(std::int64_t at_ms, const std::string& name, const std::string& need, const std::string& group,
           std::int64_t run_s, const std::string& priority) {
    ++pods_;
    JsonObject& made = step(at_ms, "pod");
    made.append("name", name);
    if (!group.empty()) made.append("group", group);
    if (!need.empty()) made.append("need", need);
    made.append("cpuMillis", 100 + 100 * below(10));
    made.append("runS", run_s);
    if (need == "fabric-card")
      made.append("fabric",
                  one_of(std::array{"ready-after 2s", "ready-after 6s", "ready-after 20s", "ready-after 1s",
                                    kReadyTooLate.data(), "fail-after 3s", "never"}));
    if (!priority.empty()) made.append("priority", priority);
    if (need.empty() && !is_in_memory(plan_.seed)) add_gpus(name, made);
    names_.push_back(name);
  }

  // Shares of the node's own GPUs, and whole ones. Functions of the name, so that other steps stay as they
  // are.
  void add_gpus(const std::string& name, JsonObject& pod) const {
    const std::uint64_t what = chance_of(plan_.seed, name + "/gpus", 0) % 100;
    if (what >= 75) return;
    if (what >= 60) return pod.append("gpus", 1);
    constexpr std::array kShares = {"0.5", "0.5", "0.25", "0.3", "0.7", "0.99", "0.01"};
    pod.append("share", kShares[chance_of(plan_.seed, name + "/share", 0) % kShares.size()]);
    if (what < 15) pod.append("shareGpus", 2);
  }

  std::string priority() { return !chance(15) ? "" : chance(50) ? "high" : "low"; }

  std::string member_need() {
    if (chance(8)) return "fabric-card";
    return one_of(std::array{"one-gpu", "one-gpu", "two-gpus", "mig-1g", "", "whole-or-half", "numa-pair",
                             "nic-share", "uplink", "two-boards"});
  }

  void make_gang(int number) {
    const bool elsewhere = chance(8);
    const std::string name = prefix(elsewhere) + "gang-" + std::to_string(number);
    groups_.push_back(name);
    const int members = kMembersMin + pick(kMembersMore);
    const std::int64_t at = below(kArrivalsMs);
    JsonObject& group = step(at, "group");
    group.append("name", name);
    if (chance(85)) group.append("min", std::int64_t{std::max(1, members - pick(4) + (chance(10) ? 2 : 0))});
    if (chance(60)) group.append("topology", "example.com/rack");
    // Members have the priority of their group, or are refused.
    const std::string priority = this->priority();
    if (!priority.empty()) group.append("priority", priority);
    std::string need = elsewhere ? "one-gpu" : member_need();
    const bool shares = !elsewhere && chance(12);  // one claim for all members
    if (shares) group.append("claim", need = one_of(std::array{"uplink", "one-gpu", "mig-1g"}));
    const std::int64_t run_s = !contended_ && chance(12) ? 0 : 15 + below(60);  // 0: for ever
    for (int i = 0; i < members; ++i) {
      if (!elsewhere && !shares && chance(12)) need = member_need();
      const std::int64_t late = chance(80) ? below(300) : below(60'000);
      pod(std::min(at + 1 + late, kTroubleMs), name + "-" + std::to_string(i), need, name, run_s, priority);
    }
  }

  // A root with two or three children, one of which may be a group of groups itself. Its groups and pods may
  // come late.
  void make_tree(int number) {
    const std::string root = "tree-" + std::to_string(number);
    const std::int64_t at = below(kArrivalsMs);
    const std::string priority = this->priority();
    const int children = 2 + pick(2);
    const bool racked = chance(35);
    const std::int64_t run_s = !contended_ && chance(12) ? 0 : 15 + below(60);
    const auto composite = [&](const std::string& name, int groups, const std::string& parent) {
      JsonObject& made = step(chance(85) ? at : at + below(20'000), "composite");
      made.append("name", name);
      if (chance(80)) made.append("min", std::int64_t{chance(50) ? groups : std::max(1, groups - 1)});
      if (racked && parent.empty()) made.append("topology", "example.com/rack");
      if (!parent.empty()) made.append("parent", parent);
      if (!priority.empty()) made.append("priority", priority);
    };
    composite(root, children, "");
    for (int i = 0; i < children; ++i) {
      const std::string child = root + "-" + std::to_string(i);
      if (i > 0 || !chance(30)) {
        make_group_of_tree(child, root, at, priority, run_s, racked);
        continue;
      }
      composite(child, 2, root);
      for (const char* under : {"-a", "-b"})
        make_group_of_tree(child + under, child, at, priority, run_s, racked);
    }
  }
  void make_group_of_tree(const std::string& name, const std::string& parent, std::int64_t at,
                          const std::string& priority, std::int64_t run_s, bool racked) {
    groups_.push_back(name);
    const int members = 1 + pick(3);
    const std::int64_t from = chance(80) ? at : at + below(40'000);
    JsonObject& group = step(std::min(from, kTroubleMs), "group");
    group.append("name", name);
    group.append("parent", parent);
    if (chance(85)) group.append("min", std::int64_t{std::max(1, members - pick(2))});
    if (!racked && chance(30)) group.append("topology", "example.com/rack");
    if (!priority.empty()) group.append("priority", priority);
    const std::string need = member_need();
    for (int i = 0; i < members; ++i)
      pod(std::min(from + 1 + (chance(80) ? below(300) : below(30'000)), kTroubleMs),
          name + "-" + std::to_string(i), need, name, run_s, priority);
  }

  // Needs most of a rack, while smaller pods of lower priority keep arriving.
  void make_critical_gang() {
    const std::int64_t at = 30'000 + below(60'000);
    const std::int64_t members = plan_.nodes_per_rack * (plan_.gpus_per_node / 2);
    JsonObject& group = step(at, "group");
    group.append("name", "critical");
    group.append("min", members);
    group.append("topology", "example.com/rack");
    group.append("priority", "critical");
    for (std::int64_t i = 0; i < members; ++i)
      pod(at + 1, "critical-" + std::to_string(i), "two-gpus", "critical", 30, "critical");
  }

  static std::string prefix(bool elsewhere) {
    return elsewhere ? std::string(kStormNamespace) + "/" : std::string();
  }

  std::string single_need() {
    if (contended_ && chance(50)) return "one-gpu";
    return one_of(
        std::array{"",           "one-gpu",      "mig-1g",         "mig-three",      "mig-degraded",
                   "vgpu",       "extended",     "fabric-card",    "shared",         "shared",
                   "model-b",    "large",        "new-firmware",   "numa-pair",      "linked-pair",
                   "two-boards", "linked-three", "all-gpus",       "all-nics",       "degraded-gpu",
                   "nic-share",  "nic",          "gpu-and-uplink", "mig-1g+one-gpu", "whole-or-half",
                   "two-or-one", "uplink"});
  }

  void make_single(int number) {
    const bool elsewhere = chance(8);
    std::string need = elsewhere ? one_of(std::array{"one-gpu", "look-at-all", ""}) : single_need();
    if (need == "shared") need = "claim/shared-" + std::to_string(pick(kSharedClaims.size()));
    const std::int64_t run_s = !contended_ && chance(4) ? 0 : 5 + below(50);
    pod(below(kArrivalsMs), prefix(elsewhere) + "pod-" + std::to_string(number), need, "", run_s, priority());
  }

  // Claims of every class, some of which several pods share, and pods with one or two of them.
  void make_volumes_and_health() {
    random_ = SeededRandom(chance_of(plan_.seed, "volumes", 0));
    const int nodes = plan_.racks * plan_.nodes_per_rack;
    step(0, "volume-classes");
    for (int i = 0; i < kLocalDisks; ++i) {
      JsonObject& disk = step(chance(70) ? 0 : below(kArrivalsMs), "volume");
      disk.append("name", "disk-" + std::to_string(i));
      disk.append("node", std::int64_t{1 + pick(nodes)});
    }
    for (int i = 0; i < kVolumePods; ++i) make_volume_pod("vol-" + std::to_string(i));
    for (int i = 0; i < 2; ++i) {
      const std::string gang = "vol-gang-" + std::to_string(i);
      const std::int64_t at = below(kArrivalsMs), members = 2 + below(2);
      JsonObject& group = step(at, "group");
      group.append("name", gang);
      group.append("min", members);
      for (std::int64_t k = 0; k < members; ++k)
        make_volume_pod(gang + "-" + std::to_string(k), at + 1, gang);
    }
    step(0, "health-policy");
    for (int i = kFlapsMin + pick(kFlapsMore); i > 0; --i) {
      JsonObject& flap = step(below(kTroubleMs - 60'000), "flap-health");
      flap.append("node", std::int64_t{1 + pick(nodes)});
      flap.append("device", "gpu-" + std::to_string(1 + pick(plan_.gpus_per_node)));
      flap.append("health", one_of(std::array{"Unhealthy", "Unhealthy", "Unknown"}));
      flap.append("forMs", chance(50) ? 100 + below(8000) : 8000 + below(50'000));
    }
  }

  void make_volume_pod(const std::string& name, std::int64_t at = -1, const std::string& group = "") {
    if (at < 0) at = below(kArrivalsMs);
    std::string claims;
    const int count = group.empty() && chance(20) ? 2 : 1;
    for (int k = 0; k < count; ++k) {
      const bool shared = group.empty() && count == 1 && chance(20) && !volume_claims_.empty();
      const std::string claim = shared ? volume_claims_[random_.below(volume_claims_.size())]
                                       : name + "-data" + (k == 0 ? "" : "-more");
      claims += (claims.empty() ? "" : "+") + claim;
      if (shared) continue;
      const bool early = chance(80);
      JsonObject& made =
          step(early ? std::max<std::int64_t>(0, at - below(3000)) : at + below(10'000), "volume-claim");
      made.append("name", claim);
      made.append("class", one_of(std::array{"local", "local", "made", "slow", "flaky", "now"}));
      if (group.empty()) volume_claims_.push_back(claim);
    }
    pod(at, name, group.empty() && chance(50) ? one_of(std::array{"one-gpu", "fabric-card", "mig-1g"}) : "",
        group, 5 + below(60), group.empty() ? priority() : "");
    plan_.steps.back().as_object().append("volumes", claims);
    if (group.empty() && chance(25)) {
      const char* what = one_of(std::array{"delete-pod", "force-delete-pod", "recreate-pod"});
      step(std::min(at + below(20'000), kTroubleMs), what).append("name", name);
    }
  }

  // Under its holder only where no other candidate exists: two would lead until the first one knows.
  void make_deleted_leases() {
    random_ = SeededRandom(chance_of(plan_.seed, "leases", 0));
    for (int i = 1 + pick(3); i > 0; --i) {
      const bool scheduler = plan_.binders == 0 || chance(75);
      const bool alone = (scheduler ? plan_.schedulers : plan_.binders) == 1;
      JsonObject& deleted = step(60'000 + below(kTroubleMs - 100'000), "delete-lease");
      deleted.append("name", scheduler ? "berth-scheduler" : "berth-binder");
      deleted.append("stopped", !alone || chance(60));
      deleted.append("forMs", 1 + below(5000));
    }
  }

  // Good ones and wrong ones, about groups and the roots of trees; some name a group that another one names.
  void make_policies() {
    random_ = SeededRandom(chance_of(plan_.seed, "policies", 0));
    for (int i = 2 + pick(3); i > 0; --i)
      step(below(kTroubleMs), "topology").append("levels", one_of(std::array{"rack", "rack,host", "host"}));
    for (int i = pick(3); i > 0; --i)
      step(below(kTroubleMs - 60'000), "lose-topology").append("forMs", 1000 + below(40'000));
    for (int i = kPoliciesMin + pick(kPoliciesMore); i > 0; --i) {
      const std::string name = "policy-" + std::to_string(i);
      const bool tree = chance(25);
      const std::string target =
          tree ? "tree-" + std::to_string(1 + pick(kTreesMin)) : groups_[random_.below(groups_.size())];
      std::int64_t at = below(kTroubleMs - 60'000);
      for (int changes = 1 + pick(3); changes > 0 && at < kTroubleMs; --changes, at += below(100'000)) {
        JsonObject& policy = step(at, "policy");
        policy.append("name", name);
        policy.append("target", target);
        policy.append("kind", tree ? "CompositePodGroup" : "PodGroup");
        policy.append("preferred", one_of(std::array{"rack", "rack", "host", "block", "example.com/rack"}));
        if (chance(10)) policy.append("topology", "missing");
        if (requires_rack(name)) policy.append("required", "example.com/rack");
        if (chance(20)) policy.append("ranks", true);
        if (!tree && replaces(name))
          policy.append("replace", one_of(std::array{"Wait", "Widen", "ReplaceGroup"}));
      }
      if (chance(40)) step(below(kTroubleMs), "delete-policy").append("name", name);
    }
    for (int i = 3 + pick(4); i > 0; --i) {
      JsonObject& failed = step(below(kTroubleMs - 60'000), "fail-node");
      failed.append("node", std::int64_t{1 + pick(plan_.racks * plan_.nodes_per_rack)});
      failed.append("forMs", 5'000 + below(50'000));
    }
  }

  // Steps of their own random numbers: others stay as they are.
  void make_tight_racks() {
    random_ = SeededRandom(chance_of(plan_.seed, "tight racks", 0));
    if (plan_.racks > 1)
      for (int i = kWideMin + pick(kWideMore); i > 0; --i) make_wide("wide-" + std::to_string(i));
    for (int i = kTightTreesMin + pick(kTightTreesMore); i > 0; --i)
      make_tight_tree("tight-" + std::to_string(i));
  }
  // A gang or a tree of more members than a rack takes, of which a few are enough, and a policy that keeps it
  // in one rack: who does not read `required` spreads it. PolicyChecker excuses decisions soon after a
  // policy.
  void make_wide(const std::string& name) {
    constexpr std::int64_t kPoliciesMs = 20'000, kFromMs = 180'000;
    const bool tree = chance(50);
    JsonObject& policy = step(below(kPoliciesMs), "policy");
    policy.append("name", "policy-of-" + name);
    policy.append("target", name);
    policy.append("kind", tree ? "CompositePodGroup" : "PodGroup");
    policy.append("preferred", "example.com/rack");
    policy.append("required", "example.com/rack");
    const std::int64_t at = kFromMs + below(kArrivalsMs - kFromMs), run_s = 10 + below(20);
    const int groups = tree ? 2 : 1;
    if (tree) make_parent(at, name, groups, "", "");
    const int members = plan_.nodes_per_rack * plan_.gpus_per_node + 1 + pick(kWideMembersMore);
    for (int i = 0; i < groups; ++i) {
      const std::string group = tree ? name + "-" + std::to_string(i) : name;
      FullGroup words{group, tree ? name : "", 1, (members + i) / groups};
      words.need = "one-gpu";
      make_full_group(at, words, run_s);
    }
  }
  // Its groups, each on one node, take all GPUs of a rack, or all but one: those that are devices, or those
  // that are a resource of the nodes.
  void make_tight_tree(const std::string& root) {
    const std::int64_t at = below(kArrivalsMs), run_s = 10 + below(20);
    const bool devices = chance(50);
    const int gpus = devices ? plan_.gpus_per_node : kStormNodeGpus;
    std::vector<int> sizes;
    for (int node = 0; node < plan_.nodes_per_rack; ++node) {
      const int first = 1 + pick(gpus);
      sizes.push_back(first);
      if (first < gpus) sizes.push_back(gpus - first);
    }
    if (chance(30)) {
      const auto largest = std::ranges::max_element(sizes);
      if (--*largest == 0) sizes.erase(largest);
    }
    const bool deep = sizes.size() > 2 && chance(30);
    const std::string inner = root + "-inner";
    const int groups = static_cast<int>(sizes.size());
    make_parent(at, root, deep ? groups - 1 : groups, "", "example.com/rack");
    if (deep) make_parent(at, inner, 2, root, "");
    for (int i = 0; i < groups; ++i) {
      const int size = sizes[static_cast<std::size_t>(i)];
      FullGroup words{root + "-" + std::to_string(i), deep && i < 2 ? inner : root, size, size};
      words.topology = "kubernetes.io/hostname";
      if (devices) words.need = "one-gpu";
      make_full_group(at, words, run_s);
    }
  }
  struct FullGroup {
    std::string name, parent;
    int min = 1, members = 1;
    std::string need = {}, topology = {};  // without a need one of the node's GPUs
  };
  void make_full_group(std::int64_t at, const FullGroup& words, std::int64_t run_s) {
    JsonObject& group = step(at, "group");
    group.append("name", words.name);
    group.append("min", std::int64_t{words.min});
    if (!words.topology.empty()) group.append("topology", words.topology);
    if (!words.parent.empty()) group.append("parent", words.parent);
    for (int i = 0; i < words.members; ++i) {
      JsonObject& made = step(at + 1, "pod");
      made.append("name", words.name + "-" + std::to_string(i));
      made.append("group", words.name);
      if (words.need.empty())
        made.append("gpus", std::int64_t{1});
      else
        made.append("need", words.need);
      made.append("cpuMillis", std::int64_t{100});
      made.append("runS", run_s);
    }
  }
  void make_parent(std::int64_t at, const std::string& name, int groups, const std::string& parent,
                   const std::string& topology) {
    JsonObject& made = step(at, "composite");
    made.append("name", name);
    made.append("min", std::int64_t{groups});
    if (!topology.empty()) made.append("topology", topology);
    if (!parent.empty()) made.append("parent", parent);
  }

  bool requires_rack(const std::string& policy) const {
    return chance_of(plan_.seed, policy + "/required", 0) % 2 == 0;
  }
  bool replaces(const std::string& policy) const {
    return chance_of(plan_.seed, policy + "/replace", 0) % 2 == 0;
  }

  // Of single pods, and of elastic gangs; their numbers change.
  void make_replicas() {
    plan_.moves = true;
    random_ = SeededRandom(chance_of(plan_.seed, "replicas", 0));
    for (int i = kReplicaSetsMin + pick(kReplicaSetsMore); i > 0; --i) {
      const std::string name = "set-" + std::to_string(i);
      const std::int64_t at = below(kArrivalsMs / 2);
      const bool gang = chance(30);
      if (gang) {
        JsonObject& group = step(at, "group");
        group.append("name", name);
        group.append("min", std::int64_t{1 + pick(2)});
      }
      JsonObject& set = step(at + 1, "replicas");
      set.append("name", name);
      set.append("count", std::int64_t{1 + pick(3)});
      set.append("cpuMillis", std::int64_t{100});
      if (gang) set.append("group", name);
      if (chance(60))
        set.append("need", one_of(std::array{"one-gpu", "mig-1g", "numa-pair"}));
      else
        set.append("gpus", std::int64_t{1});
      for (int changes = pick(3); changes > 0; --changes) {
        JsonObject& scale = step(at + below(kTroubleMs - at), "scale");
        scale.append("name", name);
        scale.append("count", std::int64_t{gang ? 2 + pick(2) : pick(4)});
      }
    }
  }

  // A gang whose members are made again, and tolerate failed nodes for longer than the storm: only the
  // scheduler moves them. Its nodes fail, the last one for good.
  void make_replaced(const std::string& name) {
    random_ = SeededRandom(chance_of(plan_.seed, name, 0));
    const std::int64_t at = below(60'000), members = 2 + below(2);
    JsonObject& policy = step(at, "policy");
    policy.append("name", "policy-of-" + name);
    policy.append("target", name);
    policy.append("kind", "PodGroup");
    policy.append("replace", "Wait");
    policy.append("stays", true);
    JsonObject& group = step(at, "group");
    group.append("name", name);
    group.append("min", members - below(2));
    group.append("topology", "example.com/rack");
    group.append("priority", "high");
    if (chance(50)) {
      JsonObject& budget = step(at, "budget");
      budget.append("name", name);
      budget.append("min", members - 1);
    }
    for (std::int64_t i = 0; i < members; ++i) {
      JsonObject& made = step(at + 1, "pod");
      made.append("name", name + "-" + std::to_string(i));
      made.append("group", name);
      made.append("gpus", std::int64_t{members < plan_.nodes_per_rack ? 2 : 1});
      made.append("cpuMillis", std::int64_t{100});
      made.append("priority", "high");
      made.append("staysS", kStaysS);
      made.append("again", true);
    }
    for (int i = 2 + pick(3); i > 0; --i) {
      JsonObject& failed = step(100'000 + below(kTroubleMs - 160'000), "fail-node");
      failed.append("of", name);
      failed.append("forMs", 5'000 + below(50'000));
    }
    if (chance(50)) step(kTroubleMs - below(100'000), "fail-node").append("of", name);
  }

  void make_users() {
    for (int i = 3 + pick(8); i > 0; --i) {
      const char* what = one_of(std::array{"delete-pod", "delete-pod", "force-delete-pod", "recreate-pod"});
      step(below(kTroubleMs), what).append("name", names_[random_.below(names_.size())]);
    }
    for (int i = pick(3); i > 0; --i)
      step(below(kTroubleMs), "delete-group").append("name", groups_[random_.below(groups_.size())]);
    for (int i = pick(3); i > 0; --i) {
      JsonObject& edit = step(below(kTroubleMs), "edit-group");
      edit.append("name", groups_[random_.below(groups_.size())]);
      edit.append("min", 1 + below(kMembersMore));
    }
    for (int i = pick(4); i > 0; --i) {
      JsonObject& resize = step(below(kTroubleMs), "resize-pod");
      resize.append("name", names_[random_.below(names_.size())]);
      resize.append("cpuMillis", chance(50) ? 50 + below(50) : 1000 + below(2000));
    }
    for (int i = pick(4); i > 0; --i) {
      JsonObject& rival = step(below(kTroubleMs), "rival");
      rival.append("name", "rival-" + std::to_string(i));
      rival.append("forMs", 1000 + below(60'000));
    }
    for (int i = pick(3); i > 0; --i) step(below(kTroubleMs), "flap-fabric");
  }

  void make_cluster_changes() {
    const int nodes = plan_.racks * plan_.nodes_per_rack;
    for (int i = 2 + pick(6); i > 0; --i) {
      const char* what = one_of(std::array{"lose-node", "taint-node", "cordon-node", "relabel-node",
                                           "republish", "republish", "lose-device", "taint-devices"});
      JsonObject& change = step(below(kTroubleMs - 60'000), what);
      change.append("node", std::int64_t{1 + pick(nodes)});
      change.append("forMs", 2000 + below(50'000));
    }
  }

  const char* written_resource() {
    if (plan_.seed >= kTreeSeeds && chance(30)) return "compositepodgroups";
    return one_of(std::array{"bindrequests", "resourceclaims", "pods", "podgroups"});
  }

  void make_process_trouble() {
    for (int i = 2 + pick(7); i > 0; --i) {
      JsonObject& kill = step(below(kTroubleMs - 20'000), "kill");
      kill.append("process", process());
      kill.append("forMs", chance(50) ? 1 + below(500) : 1000 + below(15'000));
    }
    for (int i = pick(5); i > 0; --i) {
      JsonObject& kill = step(below(kTroubleMs - 20'000), "kill-at-write");
      kill.append("process", process());
      kill.append("nth", 1 + below(12));
      kill.append("resource", written_resource());
      kill.append("forMs", chance(50) ? 1 + below(500) : 1000 + below(15'000));
    }
    for (int i = pick(2); i > 0; --i) {
      JsonObject& stop = step(below(kTroubleMs - 20'000), "stop");
      stop.append("process", process());
      stop.append("forMs", 1 + below(5000));
    }
    for (int i = pick(4); i > 0; --i) {
      JsonObject& pause = step(below(kTroubleMs - 60'000), "pause");
      pause.append("process", process());
      pause.append("forMs", chance(50) ? below(5000) : below(50'000));
    }
    for (int i = pick(3); i > 0; --i) {
      JsonObject& jump = step(below(kTroubleMs), "jump-clock");
      jump.append("process", process());
      jump.append("byMs", below(60'000) - 30'000);
    }
  }

  void make_network_trouble() {
    constexpr auto kOfRequest = static_cast<int>(FaultClass::ReadFailed) + 1;
    for (int i = 6 + pick(10); i > 0; --i) {
      JsonObject& trouble = step(below(kTroubleMs), "trouble");
      trouble.append("process", process());
      trouble.append("fault", name_of(static_cast<FaultClass>(pick(kOfRequest))));
      trouble.append("per1000", 30 + below(chance(20) ? 800 : 250));
      trouble.append("forMs", 5000 + below(60'000));
    }
    if (chance(60)) {  // reads are few: most of them after a failed write
      JsonObject& trouble = step(below(kTroubleMs / 2), "trouble");
      trouble.append("process", process());
      trouble.append("fault", name_of(FaultClass::ReadFailed));
      trouble.append("per1000", 100 + below(500));
      trouble.append("forMs", 60'000 + below(200'000));
    }
    for (int i = 2 + pick(4); i > 0; --i) {
      JsonObject& lag = step(below(kTroubleMs), "watch-trouble");
      lag.append("process", process());
      lag.append("lagMs", below(chance(30) ? 30'000 : 4000));
      lag.append("per1000", 100 + below(900));
      lag.append("forMs", 5000 + below(60'000));
    }
    for (int i = 1 + pick(2); i > 0; --i) {
      JsonObject& slow = step(below(kTroubleMs), "slow-writes");
      slow.append("process", process());
      slow.append("perSecond", 1 + below(20));
      slow.append("forMs", 5000 + below(40'000));
    }
    if (chance(40)) step(below(kTroubleMs - 20'000), "outage").append("forMs", 100 + below(15'000));
  }

  // The writing component in a state.
  std::string writer_in(std::string_view state) {
    if (plan_.schedulers == 0 || chance(15)) return process();
    const bool scheduler =
        state == "decided" || state == "creating" || state == "refused" || state == "nothing";
    const int count = scheduler ? plan_.schedulers : plan_.binders;
    return (scheduler ? "scheduler-" : "binder-") + std::to_string(1 + pick(count));
  }

  // Faults that wait until a binding is at a certain step, and strike then.
  void make_aimed() {
    for (int i = kAimedMin + pick(kAimedMore); i > 0; --i) {
      const AimedKind& kind = kAimedKinds[random_.below(kAimedKinds.size())];
      const std::string_view state = kStormStates[random_.below(kStormStates.size())];
      JsonObject& aimed = step(below(kTroubleMs - 60'000), kind.what);
      aimed.append("when", state);
      const std::string writer = writer_in(state);
      if (kind.of_process) aimed.append("process", writer);
      aimed.append("forMs", kind.least_ms + below(kind.more_ms));
      kind.rest(*this, aimed, i);
      // Pods of requests are selected in the state; otherwise one is named now.
      const bool of_request = std::find(kStepNames.begin() + 1, kStepNames.end(), state) != kStepNames.end();
      if (kind.of_pod && !of_request && state != "decided")
        aimed.append("name", names_[random_.below(names_.size())]);
    }
  }

  struct AimedKind {
    const char* what;
    bool of_process, of_pod;
    std::int64_t least_ms, more_ms;
    void (*rest)(Maker& maker, JsonObject& step, int number);
  };
  static void nothing_more(Maker&, JsonObject&, int) {}
  static void with_fault(Maker& maker, JsonObject& step, int) {
    constexpr auto kOfRequest = static_cast<int>(FaultClass::ReadFailed);
    step.append("fault", name_of(static_cast<FaultClass>(maker.pick(kOfRequest))));
    step.append("per1000", 500 + maker.below(500));
  }
  static void with_lag(Maker& maker, JsonObject& step, int) {
    step.append("lagMs", maker.below(8000));
    step.append("per1000", 500 + maker.below(500));
  }
  static void with_jump(Maker& maker, JsonObject& step, int) {
    step.append("byMs", maker.below(60'000) - 30'000);
  }
  static void with_rate(Maker& maker, JsonObject& step, int) { step.append("perSecond", 1 + maker.below(5)); }
  static void with_write(Maker& maker, JsonObject& step, int) {
    step.append("nth", 1 + maker.below(3));
    step.append("resource", maker.written_resource());
  }
  static void with_cpu(Maker& maker, JsonObject& step, int) {
    step.append("cpuMillis", 50 + maker.below(1500));
  }
  static void with_min(Maker& maker, JsonObject& step, int) {
    step.append("min", 1 + maker.below(kMembersMore));
  }
  static void with_name(Maker&, JsonObject& step, int number) {
    step.append("name", "rival-aimed-" + std::to_string(number));
  }
  static constexpr std::array kAimedKinds = {
      AimedKind{"trouble", true, false, 300, 5000, with_fault},
      AimedKind{"trouble", true, false, 300, 5000, with_fault},
      AimedKind{"trouble", true, false, 300, 5000, with_fault},
      AimedKind{"trouble", true, false, 300, 5000, with_fault},
      AimedKind{"trouble", true, false, 300, 5000, with_fault},
      AimedKind{"watch-trouble", true, false, 2000, 20'000, with_lag},
      AimedKind{"slow-writes", true, false, 2000, 20'000, with_rate},
      AimedKind{"kill", true, false, 1, 10'000, nothing_more},
      AimedKind{"kill-at-write", true, false, 1, 10'000, with_write},
      AimedKind{"stop", true, false, 1, 5000, nothing_more},
      AimedKind{"pause", true, false, 1, 50'000, nothing_more},
      AimedKind{"jump-clock", true, false, 1, 1, with_jump},
      AimedKind{"outage", false, false, 100, 5000, nothing_more},
      AimedKind{"delete-pod", false, true, 1, 1, nothing_more},
      AimedKind{"force-delete-pod", false, true, 1, 1, nothing_more},
      AimedKind{"recreate-pod", false, true, 1, 1, nothing_more},
      AimedKind{"resize-pod", false, true, 1, 1, with_cpu},
      AimedKind{"edit-group", false, false, 1, 1, with_min},
      AimedKind{"lose-node", false, false, 2000, 50'000, nothing_more},
      AimedKind{"relabel-node", false, false, 2000, 50'000, nothing_more},
      AimedKind{"republish", false, false, 1, 1, nothing_more},
      AimedKind{"lose-device", false, false, 2000, 50'000, nothing_more},
      AimedKind{"taint-devices", false, false, 2000, 50'000, nothing_more},
      AimedKind{"rival", false, false, 1000, 20'000, with_name}};

  SeededRandom random_;
  StormPlan plan_;
  int pods_ = 0;
  bool contended_ = false;  // a critical gang exists, and only it runs for ever
  std::vector<std::string> names_;
  std::vector<std::string> groups_;
  std::vector<std::string> volume_claims_;  // of single pods
};

}  // namespace

namespace {

// A binder's faults go to the scheduler with its number, or to the last one.
StormPlan with_binders_in_schedulers(StormPlan plan) {
  constexpr std::string_view kBinder = "binder-";
  for (Json& step : plan.steps)
    for (JsonMember& member : step.as_object()) {
      if (!member.value.is_string() || !member.value.as_string().starts_with(kBinder)) continue;
      const int number = std::atoi(member.value.as_string().c_str() + kBinder.size());
      member.value = "scheduler-" + std::to_string(std::min(number, plan.schedulers));
    }
  plan.binders = 0;
  plan.in_memory = true;
  return plan;
}

}  // namespace

StormPlan make_storm_plan(std::uint64_t seed) {
  static_assert(kTroubleMs < kStormHeals.millis());
  StormPlan plan = Maker(seed).make();
  return !is_in_memory(seed) ? plan : with_binders_in_schedulers(std::move(plan));
}

std::string storm_plan_text(const StormPlan& plan) {
  Json document = Json::object({{"storm", static_cast<std::int64_t>(plan.seed)},
                                {"schedulers", std::int64_t{plan.schedulers}},
                                {"binders", std::int64_t{plan.binders}},
                                {"inMemory", plan.in_memory},
                                {"moves", plan.moves},
                                {"racks", std::int64_t{plan.racks}},
                                {"nodesPerRack", std::int64_t{plan.nodes_per_rack}},
                                {"gpusPerNode", std::int64_t{plan.gpus_per_node}},
                                {"cpusPerNode", std::int64_t{plan.cpus_per_node}}});
  document["steps"] = JsonArray(plan.steps);
  return api::to_yaml(document);
}

Result<StormPlan> parse_storm_plan(std::string_view text, std::string_view file) {
  const std::vector<api::YamlDocument> documents = TRY(api::parse_yaml_documents(text, file));
  if (documents.size() != 1 || !documents.front().value.find("storm"))
    return Error(ErrorCode::Invalid, std::string(file), "a storm is one YAML document with a line `storm:`");
  const Json& document = documents.front().value;
  StormPlan plan;
  plan.seed = static_cast<std::uint64_t>(document.int_at("storm"));
  plan.schedulers = static_cast<int>(document.int_at("schedulers"));
  plan.binders = static_cast<int>(document.int_at("binders"));
  plan.in_memory = document.bool_at("inMemory");
  plan.moves = document.bool_at("moves");
  plan.racks = static_cast<int>(document.int_at("racks", plan.racks));
  plan.nodes_per_rack = static_cast<int>(document.int_at("nodesPerRack", plan.nodes_per_rack));
  plan.gpus_per_node = static_cast<int>(document.int_at("gpusPerNode", plan.gpus_per_node));
  plan.cpus_per_node = static_cast<int>(document.int_at("cpusPerNode", plan.cpus_per_node));
  plan.steps = document.items_at("steps");
  return plan;
}

}  // namespace berth::sim
