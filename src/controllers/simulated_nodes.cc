#include <algorithm>
#include <array>
#include <span>

#include "base/hex.h"
#include "base/stable_hash.h"
#include "controllers/controllers.h"
#include "controllers/patches.h"
#include "controllers/simulated.h"

namespace berth::controllers {

namespace {

// Kubelets renew a lease of 40 s every 10 s. That many nodes in one process would write constantly: above 200
// nodes the period grows so that all together renew about 20 times a second.
constexpr Duration kRenewPeriodMin = Duration::seconds(10);
constexpr std::int64_t kRenewalsPerSecondMax = 20;
constexpr std::int64_t kLeasePeriods = 4;

struct ConditionRow {
  std::string_view type, status, reason, message;
};
constexpr std::array<ConditionRow, 4> kConditions = {{
    {"MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"},
    {"DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"},
    {"PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"},
    {"Ready", "True", "KubeletReady", "kubelet is posting ready status"},
}};

Json default_capacity() {
  return Json::object({{"cpu", "32"}, {"ephemeral-storage", "256Gi"}, {"memory", "128Gi"}, {"pods", "110"}});
}

constexpr ConditionRow kNotReady = {"Ready", "False", "KubeletNotReady",
                                    "the annotation berth.dev/agent says so"};

Json conditions_json(std::span<const ConditionRow> rows, Time now) {
  JsonArray conditions;
  for (const ConditionRow& row : rows)
    conditions.push_back(Json::object({{"type", row.type},
                                       {"status", row.status},
                                       {"lastHeartbeatTime", format_time(now)},
                                       {"lastTransitionTime", format_time(now)},
                                       {"reason", row.reason},
                                       {"message", row.message}}));
  return conditions;
}

Json node_info(const std::string& node) {
  const std::string id = hex_of(stable_hash("machine/" + node)) + hex_of(stable_hash("boot/" + node));
  return Json::object({{"machineID", id},
                       {"systemUUID", id},
                       {"bootID", id},
                       {"kernelVersion", "simulated"},
                       {"osImage", "Berth simulated node"},
                       {"containerRuntimeVersion", "berth://0.1.0"},
                       {"kubeletVersion", "v1.37.0"},
                       {"kubeProxyVersion", ""},
                       {"operatingSystem", "linux"},
                       {"architecture", "amd64"}});
}

Json status_of(const api::Node& node, Time now) {
  Json status = Json::object();
  if (node.capacity.empty()) status["capacity"] = default_capacity();
  if (node.allocatable.empty()) {
    Json allocatable = Json::object();
    for (const auto& [name, amount] : node.capacity) allocatable[name] = amount.text();
    status["allocatable"] = node.capacity.empty() ? default_capacity() : std::move(allocatable);
  }
  status["conditions"] = conditions_json(kConditions, now);
  status["addresses"] =
      Json::array({Json::object({{"type", "InternalIP"}, {"address", simulated_host_ip(node.meta.name)}}),
                   Json::object({{"type", "Hostname"}, {"address", node.meta.name}})});
  status["nodeInfo"] = node_info(node.meta.name);
  // What a kubelet of 1.37 declares by default and pod fields can require.
  if (node.declared_features.empty())
    status["declaredFeatures"] = Json::array({"RestartAllContainersOnContainerExits"});
  return status;
}

// Extended resources that somebody wrote into the capacity, as the documentation of Kubernetes tells people
// to: a kubelet makes them allocatable. Null when there are none.
Json advertised(const api::Node& node) {
  Json allocatable = Json::object();
  for (const auto& [name, amount] : node.capacity)
    if (name.find('/') != std::string::npos && !node.allocatable.contains(name))
      allocatable[name] = amount.text();
  return allocatable.as_object().empty() ? Json() : allocatable;
}

// What the node's status lacks; null: nothing.
Json missing_of(const api::Node& node, Time now) {
  const bool ready = api::condition_is_true(node.conditions, "Ready");
  if (node.meta.annotation(api::kAgentAnnotation) == api::kAgentNotReady) {
    const api::Condition* shown = api::find_condition(node.conditions, "Ready");
    if (shown && shown->status == kNotReady.status) return {};
    return Json::object({{"conditions", conditions_json({&kNotReady, 1}, now)}});
  }
  if (!ready || node.capacity.empty() || node.allocatable.empty()) return status_of(node, now);
  Json more = advertised(node);
  return more.is_null() ? Json() : Json::object({{"allocatable", std::move(more)}});
}

Duration renew_period(std::size_t nodes) {
  return std::max(kRenewPeriodMin,
                  Duration::seconds(static_cast<std::int64_t>(nodes) / kRenewalsPerSecondMax));
}

class SimulatedNodes final : public client::Reconciler {
 public:
  std::string_view name() const override { return "simulated-nodes"; }

  std::vector<client::Interest> interests() const override {
    return {{Kind::Node,
             {},
             [](const View&, const Delta& delta, std::vector<api::ObjectKey>& keys) {
               if (delta.after && is_simulated(*std::get<std::shared_ptr<const api::Node>>(*delta.after)))
                 keys.push_back(delta.key);
             }},
            {Kind::Lease, {}, [](const View&, const Delta& delta, std::vector<api::ObjectKey>& keys) {
               if (delta.key.ns == kNodeLeaseNamespace && !delta.after)
                 keys.push_back({Kind::Node, "", delta.key.name, {}});
             }}};
  }

  Effects reconcile(const View& view, const api::ObjectKey& key, Time now) override {
    const api::Node* node = view.nodes.find("", key.name);
    if (!node || node->meta.deleting() || !is_simulated(*node)) return Effects::nothing();
    if (node->meta.annotation(api::kAgentAnnotation) == api::kAgentSilent) return Effects::nothing();
    const Duration period = renew_period(view.nodes.size());
    const api::Lease* lease = view.leases.find(kNodeLeaseNamespace, key.name);
    Effects effects;
    if (Json status = missing_of(*node, now); !status.is_null())
      effects.chains.push_back({key, {patch_status(key, std::move(status), node->meta.uid)}});
    Time renewed = now;
    const api::ObjectKey lease_key{Kind::Lease, std::string(kNodeLeaseNamespace), key.name, {}};
    if (!lease)
      effects.chains.push_back({lease_key, {new_lease(*node, period, now)}});
    else if (!lease->renewed.is_set() || now - lease->renewed >= period)
      effects.chains.push_back({lease_key, {renewal(lease_key, *lease, period, now)}});
    else
      renewed = lease->renewed;
    effects.wake_at = renewed + period;
    return effects;
  }

 private:
  static Json lease_spec(const std::string& node, Duration period, Time now) {
    return Json::object({{"holderIdentity", node},
                         {"leaseDurationSeconds", (period * kLeasePeriods).whole_seconds()},
                         {"renewTime", format_micro_time(now)}});
  }

  static client::Write new_lease(const api::Node& node, Duration period, Time now) {
    const api::OwnerReference owner{"v1", "Node", node.meta.name, node.meta.uid, false, false};
    const Json meta = Json::object({{"name", node.meta.name},
                                    {"namespace", kNodeLeaseNamespace},
                                    {"ownerReferences", Json::array({api::to_json(owner)})}});
    return client::create(Kind::Lease, std::string(kNodeLeaseNamespace),
                          Json::object({{"apiVersion", api::ref_of(Kind::Lease).api_version()},
                                        {"kind", "Lease"},
                                        {"metadata", meta},
                                        {"spec", lease_spec(node.meta.name, period, now)}}));
  }

  static client::Write renewal(const api::ObjectKey& key, const api::Lease& lease, Duration period,
                               Time now) {
    return client::merge_patch(key, Json::object({{"spec", lease_spec(key.name, period, now)}}),
                               lease.meta.uid, 0);
  }
};

}  // namespace

std::string simulated_host_ip(std::string_view node_name) {
  const std::uint64_t hash = stable_hash(node_name);
  return "172.20." + std::to_string(hash % 254 + 1) + "." + std::to_string(hash / 254 % 254 + 1);
}

std::string simulated_pod_ip(std::string_view pod_uid) {
  const std::uint64_t hash = stable_hash(pod_uid);
  return "10." + std::to_string(hash % 256) + "." + std::to_string(hash / 256 % 256) + "." +
         std::to_string(hash / 65536 % 254 + 1);
}

std::optional<Duration> annotated_duration(const api::ObjectMeta& meta, std::string_view annotation) {
  const std::string_view text = meta.annotation(annotation);
  if (text.empty()) return std::nullopt;
  const auto duration = parse_duration(text);
  if (!duration || *duration < Duration{}) return std::nullopt;
  return *duration;
}

void complete_simulated_node(Json& node) {
  if (node.part("metadata").part("labels").string_at(kSimulatedLabel) != "true") return;
  Json& status = node["status"];
  const auto empty = [&](std::string_view field) {
    const Json& amounts = status.part(field);
    return !amounts.is_object() || amounts.as_object().empty();
  };
  if (empty("capacity")) status["capacity"] = default_capacity();
  if (!empty("allocatable")) return;
  Json capacity = status.part("capacity");
  status["allocatable"] = std::move(capacity);
}

Json simulated_node_object(std::size_t n) {
  const std::string name = "node-" + std::to_string(n);
  const Json labels = Json::object({{kSimulatedLabel.data(), "true"},
                                    {"kubernetes.io/arch", "amd64"},
                                    {"kubernetes.io/hostname", name},
                                    {"kubernetes.io/os", "linux"}});
  const Json capacity = default_capacity();
  return Json::object({{"apiVersion", "v1"},
                       {"kind", "Node"},
                       {"metadata", Json::object({{"name", name}, {"labels", labels}})},
                       {"spec", Json::object()},
                       {"status", Json::object({{"capacity", capacity}, {"allocatable", capacity}})}});
}

std::unique_ptr<client::Reconciler> make_simulated_nodes() {
  return std::make_unique<SimulatedNodes>();
}

}  // namespace berth::controllers
