// Racks of nodes with GPUs, pods that hold them, and a gang that waits: worlds for tests of moves.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "placement/defragmentation/defragmentation.h"
#include "placement/groups/group_members.h"
#include "placement/preemption/test_victims.h"

namespace berth::placement {

struct FleetPod {
  int node = 0;
  int devices = 1;
  std::string owner = "ReplicaSet";  // kind of its controller; empty: none
  bool guarded = false;              // by the budget
  bool in_group = false;             // of the PodGroup "t"
  std::string annotation = {};       // "key":"value"
  std::int64_t priority = 0;
  std::string claim = {};  // that it shares; empty: one of its own
};

struct Fleet {
  int racks = 2, nodes = 2, devices = 2;  // nodes of a rack, devices of a node
  bool claims = false;                    // devices of slices; else nvidia.com/gpu
  int permitted = 0;                      // by the budget
  int minimum = 1;                        // of the group "t"
  bool as_one = false;                    // it is disrupted as one
  int waiting = 0;                        // members of the gang "g", with one device each, in one rack
  std::set<int> cordoned = {};            // nodes
  bool dedicated = false;                 // every node has a NoExecute taint, which every pod tolerates
  std::set<int> broken = {};              // nodes with one that no pod tolerates
  std::vector<FleetPod> pods = {};
  DefragmentationLimits limits = {};
};

inline std::string fleet_claim(const std::string& name, int devices, const std::string& status) {
  return R"({"metadata":{"name":")" + name + R"(","namespace":"ns","uid":"uid-)" + name +
         R"("},"spec":{"devices":{"requests":[{"name":"r","exactly":{"deviceClassName":"gpu",)" +
         R"("allocationMode":"ExactCount","count":)" + std::to_string(devices) + "}}]}}" + status + "}";
}

class FleetBench {
 public:
  explicit FleetBench(const Fleet& fleet) : fleet_(fleet) {
    put_class_and_budget(bench, fleet.permitted);
    put_group("t", fleet.minimum, fleet.as_one ? R"(,"disruptionMode":{"all":{}})" : "");
    for (int node = 0; node < fleet.racks * fleet.nodes; ++node) put_node(node);
    for (std::size_t at = 0; at < fleet.pods.size(); ++at) put_pod(at);
    if (fleet.waiting > 0)
      put_group("g", fleet.waiting, R"(,"schedulingConstraints":{"topology":[{"key":"rack"}]})");
    for (int i = 0; i < fleet.waiting; ++i) {
      const std::string name = "g" + std::to_string(i);
      if (fleet.claims) bench.put(api::Kind::ResourceClaim, fleet_claim(name, 1, ""));
      bench.put(api::Kind::Pod, meta(name) + spec_start() + R"("schedulingGroup":{"podGroupName":"g"},)" +
                                    containers(name, 1) + "}}");
    }
  }

  // The gang as a decision takes it; whether it fits as things are.
  GroupInput gang() {
    return group_input(*bench.view.pod_groups.find("ns", "g"),
                       group_members(bench.view, bench.cluster, questions(), "ns", "g"),
                       [](const api::Pod&) { return AvoidSet{}; });
  }
  bool gang_fits() {
    model::Ledger::Transaction transaction(bench.cluster.ledger());
    return core.place_group(context, gang(), transaction).kind == GroupOutcome::Kind::Placed;
  }
  DefragmentationPlan find() {
    std::vector<WaitingEntity> waiting;
    if (fleet_.waiting > 0) waiting.push_back({{"ns", "g", EntityKind::Group}, gang()});
    const std::vector<std::string> level = {"rack"};
    const OwnersOf owners = [](const std::string&, const api::OwnerReference&) { return KnownOwners(); };
    const std::set<PodId> stay;
    model::Ledger::Transaction transaction(bench.cluster.ledger());
    return find_defragmentation(core, {context, level, waiting, stay, owners, fleet_.limits}, transaction);
  }
  // "r0 whole, g fits: p0 n0>n2" for each domain, then "r1: NoController p3" for those that are unchanged.
  std::string text(const DefragmentationPlan& plan) const {
    std::string out;
    for (const DefragmentedDomain& domain : plan.domains) {
      out += domain.path + (domain.whole ? " whole" : "") + (domain.fits.empty() ? "" : ", g fits") + ":";
      for (const PodMove& move : domain.moves)
        out += " " + name(move.pod) + " " + bench.cluster.node(move.from).name + ">" +
               bench.cluster.node(move.to).name + (move.with_group ? "*" : "");
      out += "; ";
    }
    for (const KeptDomain& kept : plan.kept)
      out += kept.path + ": " + std::string(name_of(kept.reason)) +
             (kept.pod.valid() ? " " + name(kept.pod) : "") + "; ";
    if (plan.ended) out += "ended; ";
    if (!out.empty()) out.resize(out.size() - 2);
    return out;
  }
  std::string name(PodId pod) const { return bench.cluster.pod(pod).key.name; }

  PluginBench bench;
  DecisionCore core{bench.cluster, bench.selectors, {}};
  const SchedulingContext context{bench.view, bench.cluster, core.allocator()};

 private:
  static GroupQuestions questions() {
    return {[](const api::Pod&) { return true; }, [](const std::string&) { return false; },
            [](const std::string&) { return false; }};
  }
  void put_group(const std::string& name, int minimum, const std::string& more) {
    bench.put(api::Kind::PodGroup, R"({"metadata":{"name":")" + name + R"(","namespace":"ns","uid":")" +
                                       name + R"("},"spec":{"schedulingPolicy":{"gang":{"minCount":)" +
                                       std::to_string(minimum) + "}}" + more + "}}");
  }
  void put_node(int node) {
    const std::string number = std::to_string(node), devices = std::to_string(fleet_.devices);
    bench.put(api::Kind::Node, R"({"metadata":{"name":"n)" + number + R"(","labels":{"rack":"r)" +
                                   std::to_string(node / fleet_.nodes) + R"("}},"spec":{"unschedulable":)" +
                                   (fleet_.cordoned.contains(node) ? "true" : "false") + R"(,"taints":[)" +
                                   taints_of(node) +
                                   R"(]},"status":{"allocatable":{"cpu":"64","memory":"64Gi","pods":"99")" +
                                   (fleet_.claims ? "" : R"(,"nvidia.com/gpu":")" + devices + "\"") + "}}}");
    if (!fleet_.claims) return;
    std::string offers;
    for (int d = 0; d < fleet_.devices; ++d)
      offers += std::string(d == 0 ? "" : ",") + R"({"name":"d)" + std::to_string(d) + "\"}";
    bench.put(api::Kind::ResourceSlice, R"({"metadata":{"name":"s)" + number +
                                            R"("},"spec":{"driver":"gpu.example.com","pool":{"name":"n)" +
                                            number + R"(","generation":1,"resourceSliceCount":1},)" +
                                            R"("nodeName":"n)" + number + R"(","devices":[)" + offers +
                                            "]}}");
  }
  std::string taints_of(int node) const {
    const std::string team = R"({"key":"team","effect":"NoExecute"})";
    const std::string broken = R"({"key":"broken","effect":"NoExecute"})";
    if (!fleet_.broken.contains(node)) return fleet_.dedicated ? team : "";
    return fleet_.dedicated ? team + "," + broken : broken;
  }
  static std::string meta(const std::string& name, const std::string& more = "") {
    return R"({"metadata":{"name":")" + name + R"(","namespace":"ns","uid":")" + name + "\"" + more + "},";
  }
  std::string spec_start() const {
    return std::string(R"("spec":{)") +
           (fleet_.dedicated ? R"("tolerations":[{"key":"team","operator":"Exists"}],)" : "");
  }
  std::string containers(const std::string& claim, int devices) const {
    const std::string gpus = fleet_.claims ? "" : R"(,"nvidia.com/gpu":")" + std::to_string(devices) + "\"";
    return (fleet_.claims ? R"("resourceClaims":[{"name":"c","resourceClaimName":")" + claim + R"("}],)"
                          : "") +
           R"("containers":[{"name":"c","resources":{"requests":{"cpu":"1")" + gpus + "}}}]";
  }
  void put_pod(std::size_t at) {
    const FleetPod& pod = fleet_.pods[at];
    const std::string name = "p" + std::to_string(at), node = "n" + std::to_string(pod.node);
    const std::string claim = pod.claim.empty() ? name : pod.claim;
    if (fleet_.claims) put_claim(pod, claim, name);
    std::string more = pod.guarded ? R"(,"labels":{"guarded":"yes"})" : "";
    if (!pod.annotation.empty()) more += R"(,"annotations":{)" + pod.annotation + "}";
    if (!pod.owner.empty())
      more += R"(,"ownerReferences":[{"apiVersion":"apps/v1","kind":")" + pod.owner +
              R"(","name":"o","uid":"o","controller":true}])";
    bench.put(api::Kind::Pod, meta(name, more) + spec_start() + R"("nodeName":")" + node +
                                  R"(","priority":)" + std::to_string(pod.priority) + "," +
                                  (pod.in_group ? R"("schedulingGroup":{"podGroupName":"t"},)" : "") +
                                  containers(claim, pod.devices) +
                                  R"(},"status":{"phase":"Running","conditions":[{"type":"Ready","status":)" +
                                  R"("True"}]}})");
  }
  void put_claim(const FleetPod& pod, const std::string& claim, const std::string& name) {
    const bool shared = !pod.claim.empty();
    std::string& users = users_[claim];
    std::string& results = results_[claim];
    users += std::string(users.empty() ? "" : ",") + R"({"resource":"pods","name":")" + name +
             R"(","uid":")" + name + "\"}";
    if (!shared || results.empty())
      for (int i = 0; i < pod.devices; ++i)
        results += std::string(results.empty() ? "" : ",") +
                   R"({"request":"r","driver":"gpu.example.com","pool":"n)" + std::to_string(pod.node) +
                   R"(","device":"d)" + std::to_string(used_[pod.node]++) + "\"}";
    bench.put(api::Kind::ResourceClaim, fleet_claim(claim, pod.devices,
                                                    R"(,"status":{"allocation":{"devices":{"results":[)" +
                                                        results + R"(]}},"reservedFor":[)" + users + "]}"));
  }

  const Fleet fleet_;
  std::map<int, int> used_;  // devices, by node
  std::map<std::string, std::string> users_, results_;
};

}  // namespace berth::placement
