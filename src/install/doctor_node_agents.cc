#include <algorithm>

#include "api/types/node_device_health.h"
#include "install/examination.h"
#include "install/rights.h"

namespace berth::install {
namespace {

constexpr std::string_view kWritesStatuses = "--report=PodStatus";

bool writes_statuses(const Json& daemon_set) {
  const JsonArray& containers = daemon_set.part("spec").part("template").part("spec").items_at("containers");
  return std::any_of(containers.begin(), containers.end(), [](const Json& container) {
    const JsonArray& args = container.items_at("args");
    return std::find(args.begin(), args.end(), Json(kWritesStatuses)) != args.end();
  });
}

}  // namespace

void check_node_agents(Examination& exam) {
  const std::string name(name_of(Account::NodeAgent));
  const std::optional<Json> daemon_set =
      exam.read("/apis/apps/v1/namespaces/" + exam.options.ns + "/daemonsets/" + name);
  if (!daemon_set || daemon_set->is_null()) return;
  if (writes_statuses(*daemon_set))
    exam.warns("DaemonSet " + exam.options.ns + "/" + name,
               "has " + std::string(kWritesStatuses) + ": a kubelet and this agent undo each other's writes",
               "run `berth install --node-agent` with the other flags of the installation");
  const std::optional<JsonArray> reports = exam.list("/apis/scheduling.berth.dev/v1alpha1/nodedevicehealths");
  if (!reports) return;
  std::vector<std::string> silent;
  for (const Json& report : *reports) {
    const Result<Time> observed = parse_time(report.part("spec").string_at("observed"));
    if (!observed || *observed + api::kNodeHealthSilenceMax < exam.now)
      silent.emplace_back(report.part("metadata").string_at("name"));
  }
  if (silent.empty()) return;
  exam.warns("NodeDeviceHealths",
             std::to_string(silent.size()) + (silent.size() == 1 ? " was" : " were") +
                 " not renewed for more than " + std::to_string(api::kNodeHealthSilenceMax.whole_seconds()) +
                 "s (" + shortened(silent) + "): to policies their devices are Unknown",
             "look at the pods of DaemonSet " + name + " on these nodes");
}

}  // namespace berth::install
