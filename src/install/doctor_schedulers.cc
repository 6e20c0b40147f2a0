#include <algorithm>
#include <set>

#include "install/examination.h"
#include "install/rights.h"

namespace berth::install {
namespace {

constexpr std::string_view kNameFlag = "--scheduler-name=";
constexpr std::string_view kNameSelector = "?labelSelector=app.kubernetes.io%2Fname%3Dberth-scheduler";
constexpr std::string_view kKubeSchedulerLease =
    "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube-scheduler";

// The scheduler names that this Deployment serves.
std::set<std::string> scheduler_names(const Json& deployment) {
  std::set<std::string> names;
  const Json& pod = deployment.part("spec").part("template").part("spec");
  for (const Json& container : pod.items_at("containers"))
    for (const Json& arg : container.items_at("args"))
      if (arg.is_string() && arg.as_string().starts_with(kNameFlag))
        names.insert(arg.as_string().substr(kNameFlag.size()));
  return names;
}

// The current holder of the Lease; empty without one.
std::string holder_of(const Json& lease, Time now) {
  const Json& spec = lease.part("spec");
  const Result<Time> renewed = parse_time(spec.string_at("renewTime"));
  const Duration held_for = Duration::seconds(spec.int_at("leaseDurationSeconds"));
  if (!renewed || *renewed + held_for + kClockSkewMax < now) return "";
  return std::string(spec.string_at("holderIdentity"));
}

std::string title_of_lease(std::string_view ns, std::string_view name) {
  return "Lease " + std::string(ns) + "/" + std::string(name);
}

// An identity is the pod's name, `_` and a random part.
bool is_pod_of(const JsonArray& pods, const std::string& identity) {
  const std::string_view host = std::string_view(identity).substr(0, identity.rfind('_'));
  return std::any_of(pods.begin(), pods.end(),
                     [&](const Json& pod) { return pod.part("metadata").string_at("name") == host; });
}

void check_lease(Examination& exam, const Json& deployment) {
  const std::optional<Json> lease = exam.read("/apis/coordination.k8s.io/v1/namespaces/" + exam.options.ns +
                                              "/leases/" + std::string(kLeaseName));
  if (!lease) return;
  const std::string where = title_of_lease(exam.options.ns, kLeaseName);
  const std::string holder = holder_of(*lease, exam.now);
  if (holder.empty()) {
    if (deployment.part("status").int_at("readyReplicas") > 0)
      exam.blocks(where, "nobody holds it: nothing is scheduled",
                  "`kubectl -n " + exam.options.ns + " logs deployment/berth-scheduler` says why");
    return;
  }
  const std::optional<JsonArray> pods =
      exam.list("/api/v1/namespaces/" + exam.options.ns + "/pods" + std::string(kNameSelector));
  if (pods && !is_pod_of(*pods, holder))
    exam.blocks(where, "is held by " + holder + ", which is no pod of the Deployment",
                "end that process, or give it another --leader-elect-resource-name");
}

void check_deployment(Examination& exam, const Json& deployment) {
  const std::int64_t ready = deployment.part("status").int_at("readyReplicas");
  const std::int64_t wanted = deployment.part("spec").int_at("replicas", 1);
  if (ready == 0)
    exam.blocks(title_of(deployment), "has no ready pod (0 of " + std::to_string(wanted) + ")",
                "`kubectl -n " + exam.options.ns +
                    " describe pods -l app.kubernetes.io/name=berth-scheduler` says why");
  check_lease(exam, deployment);
}

// Other Deployments of Berth that serve one of `names`.
void check_other_berths(Examination& exam, const std::set<std::string>& names) {
  const std::optional<JsonArray> deployments =
      exam.list("/apis/apps/v1/deployments" + std::string(kNameSelector));
  if (!deployments) return;
  for (const Json& other : *deployments) {
    const std::string_view ns = other.part("metadata").string_at("namespace");
    if (ns == exam.options.ns) continue;
    for (const std::string& name : scheduler_names(other))
      if (names.contains(name))
        exam.blocks(
            "Deployment " + std::string(ns) + "/" + std::string(other.part("metadata").string_at("name")),
            "also places the pods that ask for schedulerName " + name,
            "uninstall one of the two (`berth uninstall -n " + std::string(ns) +
                "`), or give it another --scheduler-name");
  }
}

void check_kube_scheduler(Examination& exam, const std::set<std::string>& names) {
  if (!names.contains("default-scheduler")) return;
  const std::optional<Json> lease = exam.read(std::string(kKubeSchedulerLease));
  const std::string holder = lease ? holder_of(*lease, exam.now) : "";
  if (!holder.empty())
    exam.blocks(title_of_lease("kube-system", "kube-scheduler"),
                "is held by " + holder + ": kube-scheduler places the pods of default-scheduler as well",
                "stop kube-scheduler, or let Berth have another --scheduler-name");
}

}  // namespace

void check_schedulers(Examination& exam) {
  const std::optional<Json> deployment =
      exam.read("/apis/apps/v1/namespaces/" + exam.options.ns + "/deployments/" +
                std::string(name_of(Account::Scheduler)));
  std::set<std::string> names;
  if (deployment && !deployment->is_null()) {
    names = scheduler_names(*deployment);
    check_deployment(exam, *deployment);
  }
  if (names.empty()) names.insert(exam.options.scheduler_name);
  check_other_berths(exam, names);
  check_kube_scheduler(exam, names);
}

}  // namespace berth::install
