#include "install/rights.h"

#include <algorithm>

#include "api/type_table.h"
#include "install/workloads.h"

namespace berth::install {
namespace {

using enum Account;
using enum Scope;

constexpr std::string_view kDevices = "resource.k8s.io";
constexpr std::string_view kGroups = "scheduling.k8s.io";
constexpr std::string_view kOwn = api::kBerthGroup;
constexpr std::string_view kStorage = "storage.k8s.io";
constexpr std::string_view kLeases = "coordination.k8s.io";
constexpr std::string_view kAuthentication = "authentication.k8s.io";
constexpr std::string_view kAuthorization = "authorization.k8s.io";

constexpr std::string_view kStatusReason = "the phase that the project's controllers wait for";
constexpr std::string_view kOwnerReason = "owners of groups, where a PlacementPolicy is about an owner";
constexpr std::string_view kReplicaReason = "which pods are replicas, to spread them by default";

// What is watched and written is also read: a write that conflicts, or whose answer was lost, is read back.
constexpr Right kRights[] = {
    {Scheduler, Cluster, "", "nodes", "", "list,watch", "where pods can go"},
    {Scheduler, Cluster, "", "pods", "", "get,list,watch,delete",
     "pods that wait, and what the others take; one of lower priority goes although its budget is spent"},
    {Scheduler, Cluster, "", "pods/eviction", "", "create", "a pod of lower priority makes room"},
    {Scheduler, Cluster, "policy", "poddisruptionbudgets", "", "list,watch", "how many pods may be evicted"},
    {Scheduler, Cluster, "", "namespaces", "", "list,watch", "labels that terms between pods select by"},
    {Scheduler, Cluster, "", "services", "", "list,watch", kReplicaReason},
    {Scheduler, Cluster, "", "replicationcontrollers", "", "list,watch", kReplicaReason},
    {Scheduler, Cluster, "apps", "replicasets", "", "list,watch", kReplicaReason},
    {Scheduler, Cluster, "apps", "statefulsets", "", "list,watch", kReplicaReason},
    {Scheduler, Cluster, "", "pods/binding", "", "create", "a pod gets its node"},
    {Scheduler, Cluster, "", "pods/status", "", "patch",
     "condition PodScheduled; the claim of extended resources and what devices take of the node"},
    {Scheduler, Cluster, "", "events", "", "create,patch",
     "FailedScheduling and others, folded into a count"},
    {Scheduler, Cluster, "", "persistentvolumeclaims", "", "get,list,watch,patch",
     "claims of waiting pods; the node for which a volume is provisioned"},
    {Scheduler, Cluster, "", "persistentvolumes", "", "get,list,watch,patch",
     "where volumes can be used; one is reserved for its claim"},
    {Scheduler, Cluster, kStorage, "storageclasses", "", "list,watch",
     "when and where volumes are provisioned"},
    {Scheduler, Cluster, kStorage, "csidrivers", "", "list,watch",
     "which drivers publish capacities, or must be installed on the node"},
    {Scheduler, Cluster, kStorage, "csistoragecapacities", "", "list,watch", "free storage of nodes"},
    {Scheduler, Cluster, kStorage, "csinodes", "", "list,watch", "how many volumes a node can attach"},
    {Scheduler, Cluster, kStorage, "volumeattachments", "", "list,watch",
     "volumes that are still attached although their pods are gone"},
    {Scheduler, Cluster, kDevices, "deviceclasses", "", "list,watch", "what a request may get"},
    {Scheduler, Cluster, kDevices, "resourceslices", "", "list,watch", "which devices there are"},
    {Scheduler, Cluster, kDevices, "devicetaintrules", "", "get,list,watch,create,patch,delete",
     "devices to keep off; what a DeviceHealthPolicy says of those that are not healthy"},
    {Scheduler, Cluster, kDevices, "resourceclaims", "", "get,list,watch,create,update,patch,delete",
     "the finalizer before an allocation; claims for extended resources are made and deleted"},
    {Scheduler, Cluster, kDevices, "resourceclaims/status", "", "update,patch", "allocation and reservation"},
    {Scheduler, Cluster, kDevices, "resourceclaims/binding", "", "update,patch",
     "allocation and reservation, where the API server asks for these fields by themselves"},
    {Scheduler, Cluster, kGroups, "podgroups", "", "get,list,watch,create,patch,delete",
     "gangs; one is made for each group of another project"},
    {Scheduler, Cluster, kGroups, "podgroups/status", "", "update,patch",
     "conditions of a gang; one of them is its commit"},
    {Scheduler, Cluster, kGroups, "compositepodgroups", "", "get,list,watch,create",
     "trees of gangs, also those of other projects"},
    {Scheduler, Cluster, kGroups, "compositepodgroups/status", "", "update,patch",
     "conditions of a tree; one of them is its commit"},
    {Scheduler, Cluster, kGroups, "workloads", "", "get", kOwnerReason},
    {Scheduler, Cluster, "batch", "jobs", "", "get", kOwnerReason},
    {Scheduler, Cluster, "apps", "statefulsets", "", "get", kOwnerReason},
    {Scheduler, Cluster, "jobset.x-k8s.io", "jobsets", "", "get", kOwnerReason},
    {Scheduler, Cluster, "leaderworkerset.x-k8s.io", "leaderworkersets", "", "get", kOwnerReason},
    {Scheduler, Cluster, "scheduler.grove.io", "podgangs", "", "get,list,watch", "groups of Grove"},
    {Scheduler, Cluster, "scheduler.grove.io", "podgangs/status", "", "patch", kStatusReason},
    {Scheduler, Cluster, "scheduling.run.ai", "podgroups", "", "get,list,watch", "groups of KAI Scheduler"},
    {Scheduler, Cluster, "scheduling.run.ai", "podgroups/status", "", "patch", kStatusReason},
    {Scheduler, Cluster, "scheduling.volcano.sh", "podgroups", "", "get,list,watch", "groups of Volcano"},
    {Scheduler, Cluster, "scheduling.volcano.sh", "podgroups/status", "", "patch", kStatusReason},
    {Scheduler, Cluster, "scheduling.x-k8s.io", "podgroups", "", "get,list,watch",
     "groups of scheduler-plugins"},
    {Scheduler, Cluster, "scheduling.x-k8s.io", "podgroups/status", "", "patch", kStatusReason},
    {Scheduler, Cluster, kOwn, "bindrequests", "", "get,list,watch,create,update,patch,delete",
     "decisions under way; one goes with its pod, the record of a gang with its last member"},
    {Scheduler, Cluster, kOwn, "bindrequests/status", "", "patch", "how far a binding is"},
    {Scheduler, Cluster, kOwn, "devicehealthpolicies", "", "get,list,watch",
     "what follows from device health"},
    {Scheduler, Cluster, kOwn, "devicehealthpolicies/status", "", "patch", "how many devices it taints"},
    {Scheduler, Cluster, kOwn, "nodedevicehealths", "", "list,watch",
     "device health, as node agents report it"},
    {Scheduler, Cluster, kOwn, "topologies", "", "get,list,watch", "names of levels of node labels"},
    {Scheduler, Cluster, kOwn, "topologies/status", "", "patch", "domains of each level, and faults"},
    {Scheduler, Cluster, kOwn, "placementpolicies", "", "get,list,watch,create",
     "where groups prefer to go; one is created for a group of another project that prefers a domain"},
    {Scheduler, Cluster, kOwn, "placementpolicies/status", "", "patch", "which preferences were met"},
    {Scheduler, Cluster, kAuthentication, "tokenreviews", "", "create", "who asks for its metrics"},
    {Scheduler, Cluster, kAuthorization, "subjectaccessreviews", "", "create",
     "whether that user may get /metrics"},
    {Scheduler, OwnNamespace, kLeases, "leases", "", "create", "leader election"},
    {Scheduler, OwnNamespace, kLeases, "leases", "berth-scheduler", "get,update", "leader election"},
    {NodeAgent, Cluster, "", "nodes", "", "get", "the owner of its report"},
    {NodeAgent, Cluster, kOwn, "nodedevicehealths", "", "get,create,patch", "its report"},
    {NodeAgent, Cluster, kAuthentication, "tokenreviews", "", "create", "who asks for its metrics"},
    {NodeAgent, Cluster, kAuthorization, "subjectaccessreviews", "", "create",
     "whether that user may get /metrics"},
};

std::string spaced(std::string_view list) {
  std::string text;
  api::for_each_listed(list,
                       [&](std::string_view word) { text.append(text.empty() ? "" : ", ").append(word); });
  return text;
}

}  // namespace

std::string_view name_of(Account account) {
  return account == Scheduler ? "berth-scheduler" : "berth-node-agent";
}

std::span<const Right> rights() {
  return kRights;
}

std::string title_of(const Right& right) {
  const std::size_t slash = right.resource.find('/');
  std::string title(right.resource.substr(0, slash));
  if (!right.group.empty()) title.append(".").append(right.group);
  if (slash != std::string_view::npos) title.append(right.resource.substr(slash));
  return title;
}

Json policy_rules(Account account, Scope scope) {
  Json rules = Json::array();
  for (const Right& right : kRights) {
    if (right.account != account || right.scope != scope) continue;
    Json rule = Json::object(
        {{"apiGroups", Json::array({right.group})}, {"resources", Json::array({right.resource})}});
    if (!right.name.empty()) rule["resourceNames"] = Json::array({right.name});
    rule["verbs"] = words(right.verbs);
    rules.as_array().push_back(std::move(rule));
  }
  return rules;
}

std::string rights_reference() {
  std::string text = "| who | where | resource | verbs | why |\n|---|---|---|---|---|\n";
  for (const Right& right : kRights) {
    text.append("| ").append(name_of(right.account)).append(" | ");
    text.append(right.scope == Cluster ? "cluster" : "its namespace").append(" | `");
    text.append(title_of(right));
    text.append("`");
    if (!right.name.empty()) text.append(" `").append(right.name).append("`");
    text.append(" | ").append(spaced(right.verbs)).append(" | ").append(right.reason).append(" |\n");
  }
  return text;
}

}  // namespace berth::install
