#include <array>

#include "api/types/bind_request.h"
#include "cli/configuration.h"
#include "dra/scoring.h"
#include "health/health_cache.h"
#include "plane/control_plane.h"
#include "server/webhook_endpoint.h"
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
constexpr std::string_view kBindRequests[] = {"Always", "WhenWaiting"};
constexpr std::string_view kReports[] = {"NodeDeviceHealth", "PodStatus"};
constexpr std::string_view kGpuReservations[] = {"Ledger", "Pods"};
constexpr auto kScorings = [] {
  std::array<std::string_view, dra::kDeviceScorings.size()> names;
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = dra::kDeviceScorings[i].name;
  return names;
}();

constexpr Duration kSecond = Duration::seconds(1), kDay = Duration::minutes(24 * 60);

using C = Configuration;
using F = ConfigurationField;
const F kFields[] = {
#define FIELD(type, member, path, flag, parts, initial, help, ...) \
  {path, flag, parts, type{&C::member __VA_OPT__(, ) __VA_ARGS__}, help},
#include "cli/configuration.def"
#undef FIELD
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

// The defaults of other rooms are taken from their options.
Configuration default_configuration(Component component) {
  const plane::ControlPlaneOptions plane;
  const health::HealthTiming health;
  const store::StoreOptions store;
  Configuration made;
#define FIELD(type, member, path, flag, parts, initial, ...) made.member = type::Value(initial);
#include "cli/configuration.def"
#undef FIELD
  return made;
}

api::Gates gates_of(Component component, const Configuration& configuration) {
  Result<api::Gates> gates = api::Gates::parse(gate_defaults(component), configuration.feature_gates);
  BERTH_ASSERT(gates.ok(), "the gates were read before");
  return std::move(gates).value();
}

}  // namespace berth::cli
