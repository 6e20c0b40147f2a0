#include <array>

#include "api/types/bind_request.h"
#include "cli/configuration.h"
#include "dra/scoring.h"
#include "health/health_cache.h"
#include "plane/control_plane.h"
#include "store/store.h"

namespace berth::cli {
namespace {

constexpr std::uint8_t bit(Component component) {
  return static_cast<std::uint8_t>(1u << static_cast<unsigned>(component));
}
constexpr std::uint8_t kUp = bit(Component::Up), kServer = bit(Component::ApiServer),
                       kScheduler = bit(Component::Scheduler), kBinder = bit(Component::Binder),
                       kAgent = bit(Component::NodeAgent);
constexpr std::uint8_t kServers = kUp | kServer, kElected = kScheduler | kBinder, kParts = kElected | kAgent,
                       kAll = kServers | kParts;

constexpr std::string_view kLevels[] = {"debug", "info", "warning", "error", "off"};
constexpr std::string_view kFormats[] = {"text", "json"};
constexpr auto kScorings = [] {
  std::array<std::string_view, dra::kDeviceScorings.size()> names;
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = dra::kDeviceScorings[i].name;
  return names;
}();

constexpr Duration kSecond = Duration::seconds(1), kDay = Duration::minutes(24 * 60);

using C = Configuration;
using F = ConfigurationField;
const F kFields[] = {
    {"listen", "--listen", kAll, TextField{&C::listen, TextRule::Listen},
     "where to serve (a part: /healthz, /readyz and /metrics, over plain HTTP on loopback); port 0 picks a "
     "free one"},
    {"logging.level", "--log-level", kAll, ChoiceField{&C::log_level, kLevels}, "what is logged at least"},
    {"logging.format", "--log-format", kAll, ChoiceField{&C::log_format, kFormats},
     "sentences with fields, or one JSON object a line"},
    {"clientConnection.kubeconfig", "--kubeconfig", kParts, TextField{&C::kubeconfig, TextRule::Path},
     "the cluster to work on; empty: as kubectl finds it, then what a pod finds in its cluster"},
    {"clientConnection.maxWritesInFlight", "--max-writes-in-flight", kParts | kUp,
     CountField{&C::writes_in_flight_max, 1, 4096},
     "writes that the scheduler, and all other loops together, have under way at once; of a binder: "
     "bindings"},
    {"server.kubeconfig", "--kubeconfig", kServers, TextField{&C::kubeconfig_written, TextRule::Path},
     "file to write once the server is ready; empty: in the data directory"},
    {"server.dataDirectory", "--data-dir", kServers, TextField{&C::data_directory, TextRule::Path},
     "where objects are kept; empty: $XDG_STATE_HOME/berth, else ~/.local/state/berth"},
    {"server.inMemory", "--in-memory", kServers, SwitchField{&C::in_memory},
     "keep nothing on disk, whatever dataDirectory says"},
    {"server.insecure", "--insecure", kServers, SwitchField{&C::insecure},
     "plain HTTP on loopback, where every request is the administrator's"},
    {"server.auditLog", "--audit-log", kServers, TextField{&C::audit_log, TextRule::Path},
     "file that gets one JSON line a request; empty: none"},
    {"server.watchWindow", "--watch-window", kServers, CountField{&C::watch_window_events, 1, 100'000'000},
     "events kept for watches and for lists of an old version"},
    {"embedded.nodes", "--nodes", kUp, CountField{&C::nodes, 0, 100'000}, "how many nodes to simulate"},
    {"embedded.manifests", "-f,--file", kUp, ListField{&C::files, TextRule::Path, 0, 10'000},
     "objects to create at the start: files, folders or -"},
    {"embedded.watchPlacements", "--watch-placements", kUp, SwitchField{&C::watch_placements},
     "print each placement as it happens"},
    {"leaderElection.leaderElect", "--leader-elect", kElected, SwitchField{&C::leader_elect},
     "work only while holding the Lease"},
    {"leaderElection.resourceNamespace", "--leader-elect-resource-namespace", kElected,
     TextField{&C::lease_namespace, TextRule::Label}, "namespace of the Lease"},
    {"leaderElection.resourceName", "--leader-elect-resource-name", kElected,
     TextField{&C::lease_name, TextRule::Subdomain}, "name of the Lease"},
    {"scheduler.schedulerNames", "--scheduler-name", kUp | kScheduler,
     ListField{&C::scheduler_names, TextRule::Subdomain, 1, 64}, "schedulerName of the pods it places"},
    {"scheduler.withBinder", "--with-binder", kScheduler, SwitchField{&C::with_binder},
     "bind in the same process"},
    {"scheduler.deviceScoring", "--device-scoring", kUp | kScheduler,
     ChoiceField{&C::device_scoring, kScorings},
     "which of several devices on a node a claim gets: the first in Kubernetes' order of search, or those "
     "that leave the rest most useful"},
    {"scheduler.failedBindingCoolDown", "--failed-binding-cool-down", kUp | kScheduler,
     DurationField{&C::cool_down, Duration(), kDay},
     "how long a pod avoids the node or the devices that a binding failed on"},
    {"scheduler.overtakingLimit", "--overtaking-limit", kUp | kScheduler,
     DurationField{&C::overtaking_limit, kSecond, kDay},
     "how long lower priorities may be placed before a waiting pod or group of higher priority until room is "
     "kept for it"},
    {"binding.bindingTimeout", "--binding-timeout", kUp | kElected,
     DurationField{&C::binding_timeout, kSecond, kDay},
     "from a claim's allocationTimestamp until all its binding conditions are True (KEP-5007)"},
    {"binding.gangTimeout", "--gang-timeout", kUp | kElected, DurationField{&C::gang_timeout, kSecond, kDay},
     "for the next bind request of a gang to appear; begins anew with each one"},
    {"binding.retryBackoff", "--bind-retry-backoff", kUp | kElected,
     DurationField{&C::retry_base, Duration::millis(10), kDay},
     "before a refused binding is tried again; doubled each time"},
    {"binding.retryBackoffMax", "--bind-retry-backoff-max", kUp | kElected,
     DurationField{&C::retry_cap, Duration::millis(10), kDay}, "bound of that doubling"},
    {"binding.backoffLimit", "--bind-backoff-limit", kUp | kScheduler, CountField{&C::backoff_limit, 0, 100},
     "attempts after the first, written into each BindRequest; then another place is chosen"},
    {"nodeAgent.node", "--node", kAgent, TextField{&C::node, TextRule::Subdomain},
     "name of the node; needed"},
    {"nodeAgent.nodesDirectory", "--nodes-dir", kUp | kAgent, TextField{&C::nodes_directory, TextRule::Path},
     "where drivers find the nodes' plugin sockets; empty: nodes/ in the data directory"},
    {"nodeAgent.healthTimeout", "--health-timeout", kUp | kAgent,
     DurationField{&C::health_timeout, health::kHealthTimeoutMin, health::kHealthTimeoutMax},
     "after which a device that names no timeout of its own counts as Unknown"},
    {"nodeAgent.streamRetryBackoff", "--stream-retry-backoff", kUp | kAgent,
     DurationField{&C::stream_retry_base, Duration::millis(100), kDay},
     "before a broken health stream is opened again; doubled each time"},
    {"nodeAgent.streamRetryBackoffMax", "--stream-retry-backoff-max", kUp | kAgent,
     DurationField{&C::stream_retry_max, Duration::millis(100), kDay}, "bound of that doubling"},
    {"featureGates", "--feature-gates", kAll, GatesField{&C::feature_gates},
     "A=true,B=false with Kubernetes' gate names; in the file a map"},
};

constexpr std::string_view kPartNames[kComponentCount] = {"up", "apiserver", "scheduler", "binder",
                                                          "node-agent"};

}  // namespace

std::string_view name_of(Component component) {
  return kPartNames[static_cast<std::size_t>(component)];
}

api::GateDefaults gate_defaults(Component component) {
  return component == Component::Up ? api::GateDefaults::Up : api::GateDefaults::Release;
}

std::span<const ConfigurationField> configuration_fields() {
  return kFields;
}

// What other rooms decide for themselves is asked of them.
Configuration default_configuration(Component component) {
  const plane::ControlPlaneOptions plane;
  const health::HealthTiming health;
  Configuration made;
  made.writes_in_flight_max = static_cast<std::int64_t>(plane.writes_in_flight_max);
  made.lease_name = "berth-" + std::string(name_of(component));
  made.watch_window_events = static_cast<std::int64_t>(store::StoreOptions{}.watch_window_events);
  made.scheduler_names =
      component == Component::Up ? plane.scheduler_names : plane.scheduling.scheduler_names;
  made.device_scoring = dra::name_of(plane.scheduling.device_scoring);
  made.cool_down = plane.scheduling.cool_down;
  made.overtaking_limit = plane.scheduling.overtaking_limit;
  made.binding_timeout = plane.binding.binding_timeout;
  made.gang_timeout = plane.binding.gang_timeout;
  made.retry_base = plane.binding.retry_base;
  made.retry_cap = plane.binding.retry_cap;
  made.backoff_limit = api::kBackoffLimitDefault;
  made.health_timeout = health.timeout;
  made.stream_retry_base = health.stream_retry_base;
  made.stream_retry_max = health.stream_retry_max;
  return made;
}

api::Gates gates_of(Component component, const Configuration& configuration) {
  Result<api::Gates> gates = api::Gates::parse(gate_defaults(component), configuration.feature_gates);
  BERTH_ASSERT(gates.ok(), "the gates were read before");
  return std::move(gates).value();
}

}  // namespace berth::cli
