#include "cli/configuration.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>

#include "api/yaml.h"
#include "api/yaml_write.h"
#include "base/text_file.h"
#include "cli/field_value.h"

namespace berth::cli {
namespace {

constexpr std::string_view kApiVersion = "config.berth.dev/v1alpha1", kKind = "BerthConfiguration";
constexpr std::size_t kConfigurationBytesMax = 1u << 20;

// Two fields; the first may not exceed the second.
struct Order {
  Duration Configuration::* low;
  Duration Configuration::* high;
};
constexpr Order kOrders[] = {{&Configuration::retry_base, &Configuration::retry_cap},
                             {&Configuration::stream_retry_base, &Configuration::stream_retry_max}};

const ConfigurationField& field_of(Duration Configuration::* member) {
  for (const ConfigurationField& field : configuration_fields())
    if (const auto* type = std::get_if<DurationField>(&field.type); type && type->member == member)
      return field;
  BERTH_ASSERT(false, "every member is a field");
}

const ConfigurationField* find_field(std::string_view path) {
  for (const ConfigurationField& field : configuration_fields())
    if (field.path == path) return &field;
  return nullptr;
}

// Whether the component has fields below `path`; an empty path is the whole file.
bool is_section(std::string_view path, Component component) {
  const std::string prefix = std::string(path) + ".";
  return std::any_of(configuration_fields().begin(), configuration_fields().end(),
                     [&](const ConfigurationField& field) {
                       return field.known_to(component) && field.path.substr(0, prefix.size()) == prefix;
                     });
}

std::string parts_with(std::string_view path) {
  std::string parts;
  for (std::size_t i = 0; i < kComponentCount; ++i) {
    const auto component = static_cast<Component>(i);
    const ConfigurationField* field = find_field(path);
    if (field ? field->known_to(component) : is_section(path, component))
      parts.append(parts.empty() ? "" : ", ").append(name_of(component));
  }
  return parts;
}

// The length of the common prefix: for "did you mean".
std::size_t common(std::string_view a, std::string_view b) {
  const auto [left, right] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  (void)right;
  return static_cast<std::size_t>(left - a.begin());
}

std::string nearest_path(std::string_view path, Component component) {
  std::string_view nearest;
  std::size_t best = 0;
  const std::string_view name = path.substr(path.rfind('.') + 1);
  for (const ConfigurationField& field : configuration_fields()) {
    if (!field.known_to(component)) continue;
    const std::string_view own = field.path.substr(field.path.rfind('.') + 1);
    const std::size_t alike = std::max(common(path, field.path), common(name, own));
    if (own == name || alike > best) nearest = field.path;
    best = own == name ? path.size() + own.size() : std::max(best, alike);
  }
  return std::string(nearest);
}

// The first pair in the wrong order.
const Order* wrong_order(Component component, const Configuration& configuration) {
  for (const Order& order : kOrders)
    if (field_of(order.low).known_to(component) && configuration.*order.low > configuration.*order.high)
      return &order;
  return nullptr;
}

std::string too_long(const Order& order, Component component, const Configuration& configuration) {
  const ConfigurationField& high = field_of(order.high);
  return "is " + value_of(field_of(order.low), component, configuration).as_string() + ", longer than " +
         std::string(high.path) + ", which is " + value_of(high, component, configuration).as_string();
}

// Reads one document over a configuration.
class Reader {
 public:
  Reader(Component component, std::string_view text, const std::string& file, int document,
         Configuration& configuration)
      : component_(component), text_(text), file_(file), document_(document), configuration_(configuration) {}

  Status read(const Json& root) {
    if (!root.is_object()) return refused("", "is no map: a BerthConfiguration begins with its apiVersion");
    if (Status head = read_head(root); !head) return head;
    if (Status fields = read_section(root, ""); !fields) return fields;
    if (const Order* order = wrong_order(component_, configuration_))
      return refused(field_of(order->low).path, too_long(*order, component_, configuration_));
    const Result<api::Gates> gates =
        api::Gates::parse(gate_defaults(component_), configuration_.feature_gates);
    if (!gates) return refused_gate(gates.error());
    return {};
  }

  Error refused(std::string_view path, std::string message) const {
    return Error(ErrorCode::Invalid, api::yaml_position(text_, file_, document_, path), std::move(message));
  }

 private:
  Status read_head(const Json& root) const {
    const auto want = [&](std::string_view key, std::string_view wanted) -> Status {
      const Json* value = root.find(key);
      if (!value) return refused(key, "is missing: write " + std::string(key) + ": " + std::string(wanted));
      if (!value->is_string() || value->as_string() != wanted)
        return refused(key, "is " + to_string(*value) + "; this version of Berth reads " +
                                std::string(wanted) + " alone");
      return {};
    };
    if (Status version = want("apiVersion", kApiVersion); !version) return version;
    if (Status kind = want("kind", kKind); !kind) return kind;
    const Json* component = root.find("part");
    if (component && (!component->is_string() || component->as_string() != name_of(component_)))
      return refused("part", "is " + to_string(*component) + ", but this is berth " +
                                 std::string(name_of(component_)) +
                                 ": give each part a file of its own, or leave the line out");
    return {};
  }

  Status read_section(const Json& section, const std::string& prefix) {
    for (const JsonMember& member : section.as_object()) {
      const std::string path = prefix + member.key;
      if (path == "apiVersion" || path == "kind" || path == "part") continue;
      const ConfigurationField* field = find_field(path);
      if (field && field->known_to(component_)) {
        if (Status set = set_from_json(*field, member.value, configuration_); !set)
          return refused(path, set.error().message());
        continue;
      }
      if (!is_section(path, component_)) return unknown(path);
      if (member.value.is_null()) continue;
      if (!member.value.is_object())
        return refused(path, "wants a map of fields, not " + to_string(member.value));
      if (Status read = read_section(member.value, path + "."); !read) return read;
    }
    return {};
  }

  Error unknown(const std::string& path) const {
    if (const std::string parts = parts_with(path); !parts.empty())
      return refused(path, "is no field of berth " + std::string(name_of(component_)) + ", only of " + parts +
                               ": remove it");
    const std::string nearest = nearest_path(path, component_);
    return refused(path, "is no field of a BerthConfiguration" +
                             (nearest.empty() ? "" : "; did you mean " + nearest + "?"));
  }

  // The message begins with the gate in quotes.
  Error refused_gate(const Error& error) const {
    const std::string& message = error.message();
    const std::size_t end = message.find('"', 1);
    return refused("featureGates." + message.substr(1, end == std::string::npos ? 0 : end - 1), message);
  }

  Component component_;
  std::string_view text_;
  const std::string& file_;
  int document_;
  Configuration& configuration_;
};

Status apply_flags(Component component, const GivenFlags& flags, Configuration& configuration) {
  const auto refused = [](const ConfigurationField& field, const std::string& message) {
    return Error(ErrorCode::Invalid, std::string(field.long_flag()), message);
  };
  for (const auto& [field, texts] : flags)
    if (Status set = set_from_flag(*field, texts, configuration); !set)
      return refused(*field, set.error().message());
  if (const Order* order = wrong_order(component, configuration))
    return refused(field_of(order->low), too_long(*order, component, configuration));
  const Result<api::Gates> gates = api::Gates::parse(gate_defaults(component), configuration.feature_gates);
  if (!gates) return gates.error();
  if (component == Component::NodeAgent && configuration.node.empty())
    return Error(ErrorCode::Invalid, "--node", "is needed: the name of the node whose devices it reports");
  return {};
}

// "`text`", or a dash for an empty text.
std::string code(std::string_view text) {
  return text.empty() ? "–" : "`" + std::string(text) + "`";
}

// By component, where they differ.
std::string defaults_text(const ConfigurationField& field) {
  if (std::holds_alternative<GatesField>(field.type)) return "of the part";
  std::string all;
  std::string last;
  for (std::size_t i = 0; i < kComponentCount; ++i) {
    const auto component = static_cast<Component>(i);
    if (!field.known_to(component)) continue;
    std::string text = code(default_text(field, component));
    if (text != last) all.append(all.empty() ? "" : "; ").append(text);
    last = std::move(text);
  }
  return all;
}

// `line 4: key "listen" already set in map` as an error with its place.
Error twice(const api::YamlDocument& document, const std::string& file) {
  constexpr std::string_view kLine = "line ";
  const std::string& sentence = document.duplicate_keys.front();
  const std::size_t colon = sentence.find(": ");
  return Error(ErrorCode::Invalid,
               file + ":" + sentence.substr(kLine.size(), colon - kLine.size()) + ": document " +
                   std::to_string(document.number),
               sentence.substr(colon + 2) + ": keep one of them");
}

Error one_too_many(const api::YamlDocument& document, const std::string& file, std::string_view kind) {
  return Error(ErrorCode::Invalid,
               file + ":" + std::to_string(document.line) + ": document " + std::to_string(document.number),
               "is one too many: a file holds one " + std::string(kind));
}

constexpr std::string_view kNamesOfProfiles =
    "differ from those of the KubeSchedulerConfiguration's profiles: give each name a profile, or leave the "
    "names "
    "out";

bool names_differ(const Configuration& configuration) {
  const KubeSchedulerConfiguration& kube = configuration.kube_scheduler;
  return !kube.profiles.empty() && configuration.scheduler_names != kube.scheduler_names();
}

// Sets what the component has of it.
Status apply_kube_scheduler(Component component, const YamlSource& source, const Json& document,
                            const placement::MakePlugins& make, Configuration& configuration) {
  if (component != Component::Scheduler && component != Component::Up)
    return source.refused("kind", "is KubeSchedulerConfiguration, which berth " +
                                      std::string(name_of(component)) +
                                      " does not read: only berth scheduler and berth up do");
  configuration.kube_scheduler = TRY(read_kube_scheduler_configuration(source, document, make));
  KubeSchedulerConfiguration& kube = configuration.kube_scheduler;
  configuration.scheduler_names = kube.scheduler_names();
  configuration.volume_timeout = kube.volume_timeout.value_or(configuration.volume_timeout);
  configuration.binding_timeout = kube.binding_timeout.value_or(configuration.binding_timeout);
  if (component == Component::Up) {
    for (const std::string_view section : {"leaderElection", "clientConnection"})
      if (document.find(section))
        kube.notes.push_back(std::string(section) +
                             " has no effect: berth up leads and has a server of its own");
    return {};
  }
  configuration.leader_elect = kube.leader_elect.value_or(configuration.leader_elect);
  configuration.lease_namespace = kube.lease_namespace.value_or(configuration.lease_namespace);
  configuration.lease_name = kube.lease_name.value_or(configuration.lease_name);
  configuration.kubeconfig = kube.kubeconfig.value_or(configuration.kubeconfig);
  return {};
}

}  // namespace

Status apply_configuration(Component component, std::string_view text, const std::string& file,
                           Configuration& configuration, const placement::MakePlugins& make) {
  const std::vector<api::YamlDocument> documents = TRY(api::parse_yaml_documents(text, file));
  if (documents.empty())
    return Error(ErrorCode::Invalid, file, "holds no document: write one, or no --config");
  const api::YamlDocument *own = nullptr, *kube = nullptr;
  for (const api::YamlDocument& document : documents) {
    const bool is_kube = is_kube_scheduler_configuration(document.value);
    const api::YamlDocument*& place = is_kube ? kube : own;
    if (place) return one_too_many(document, file, is_kube ? kKubeSchedulerKind : kKind);
    if (!document.duplicate_keys.empty()) return twice(document, file);
    place = &document;
  }
  if (kube)
    TRY(apply_kube_scheduler(component, {text, file, kube->number}, kube->value, make, configuration));
  if (!own) return {};
  const Reader reader(component, text, file, own->number, configuration);
  TRY(Reader(component, text, file, own->number, configuration).read(own->value));
  if (names_differ(configuration))
    return reader.refused("scheduler.schedulerNames", std::string(kNamesOfProfiles));
  return {};
}

Result<Configuration> effective_configuration(Component component, const std::string& file,
                                              const GivenFlags& flags, const placement::MakePlugins& make) {
  Configuration configuration = default_configuration(component);
  if (!file.empty()) {
    const std::string text = TRY(read_text_file(file, kConfigurationBytesMax));
    TRY(apply_configuration(component, text, file, configuration, make));
  }
  if (Status set = apply_flags(component, flags, configuration); !set) return set.error();
  if (names_differ(configuration))
    return Error(ErrorCode::Invalid, "--scheduler-name", std::string(kNamesOfProfiles));
  // Who decides cannot keep in memory what another process binds.
  if (component == Component::Scheduler && !configuration.with_binder) configuration.bind_requests = "Always";
  return configuration;
}

std::string configuration_text(Component component, const Configuration& configuration) {
  Json root = Json::object({{"apiVersion", kApiVersion}, {"kind", kKind}, {"part", name_of(component)}});
  for (const ConfigurationField& field : configuration_fields()) {
    if (!field.known_to(component)) continue;
    Json value = value_of(field, component, configuration);
    const std::size_t dot = field.path.find('.');
    if (dot == std::string_view::npos) {
      root[field.path] = std::move(value);
    } else {
      root[field.path.substr(0, dot)][field.path.substr(dot + 1)] = std::move(value);
    }
  }
  const Json& kube = configuration.kube_scheduler.document;
  return api::to_yaml(root) + (kube.is_null() ? "" : "---\n" + api::to_yaml(kube));
}

std::string configuration_reference() {
  std::string text = "| field | flag | of | default | bounds | what it is |\n|---|---|---|---|---|---|\n";
  for (const ConfigurationField& field : configuration_fields()) {
    const std::string bounds = bounds_text(field);
    text += "| `" + std::string(field.path) + "` | `" + std::string(field.flag) + "` | " +
            parts_with(field.path) + " | " + defaults_text(field) + " | " + (bounds.empty() ? "–" : bounds) +
            " | " + std::string(field.help) + " |\n";
  }
  return text;
}

}  // namespace berth::cli
