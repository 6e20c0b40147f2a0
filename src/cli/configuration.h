// The configuration of a running component, as one table: kind BerthConfiguration, config.berth.dev/v1alpha1.
// A KubeSchedulerConfiguration may come with it, in the same file.
//
// A row of configuration.def is a field: its path in the file, its flag, its type with bounds, the components
// that have it, its default, its meaning. Members, flags, parsing, printing and the page
// docs/configuration.md all derive from the rows. Pure, apart from effective_configuration, which reads one
// file.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "api/gates.h"
#include "base/time.h"
#include "cli/kube_scheduler_configuration.h"

namespace berth::cli {

enum class Component : std::uint8_t { Up, ApiServer, Scheduler, Binder, NodeAgent };
inline constexpr std::size_t kComponentCount = 5;
// The name of its command: "node-agent".
std::string_view name_of(Component component);
// The defaults of the component's feature gates.
api::GateDefaults gate_defaults(Component component);

struct Configuration;

// The rule for a text; only a path and an address that may be none may be empty, and not as the entry of a
// list.
enum class TextRule : std::uint8_t {
  Path,
  Listen,
  ListenOrNone,
  Label,
  Subdomain,
  Host,
  Controller,
  WebhookService
};

struct TextField {
  using Value = std::string;
  Value Configuration::* member;
  TextRule rule;
};
struct ChoiceField {
  using Value = std::string;
  Value Configuration::* member;
  std::span<const std::string_view> words;
};
struct SwitchField {
  using Value = bool;
  Value Configuration::* member;
};
struct CountField {
  using Value = std::int64_t;
  Value Configuration::* member;
  std::int64_t min, max;
};
struct DurationField {
  using Value = Duration;
  Value Configuration::* member;
  Duration min, max;
};
struct ListField {
  using Value = std::vector<std::string>;
  Value Configuration::* member;
  TextRule rule;
  std::size_t min, max;
};
struct GatesField {
  using Value = std::string;
  Value Configuration::* member;
};

// One member per field; docs/configuration.md documents each.
struct Configuration {
#define FIELD(type, member, ...) type::Value member{};
#include "cli/configuration.def"
#undef FIELD
  KubeSchedulerConfiguration kube_scheduler{};
};

using FieldType =
    std::variant<TextField, ChoiceField, SwitchField, CountField, DurationField, ListField, GatesField>;

struct ConfigurationField {
  std::string_view path;  // "binding.gangTimeout"
  std::string_view flag;  // "--gang-timeout", or "-f,--file"
  std::uint8_t parts;     // one bit each, by Component
  FieldType type;
  std::string_view help;

  bool known_to(Component component) const { return ((parts >> static_cast<unsigned>(component)) & 1) != 0; }
  // The long flag: "--file".
  std::string_view long_flag() const { return flag.substr(flag.find("--")); }
};

// In the order of printing; the fields of a section are adjacent.
std::span<const ConfigurationField> configuration_fields();

Configuration default_configuration(Component component);

// Flags by row, with their values as given; an empty value is a flag without a value.
using GivenFlags = std::map<const ConfigurationField*, std::vector<std::string>>;

// The defaults, overridden by `file` (empty: none), overridden by the flags. An error of a flag has the flag
// as its path and one of the file the file, document, line and field: "berth.yaml:4: document 1:
// binding.gangTimeout". `make` gives the scheduler plugins of the program.
Result<Configuration> effective_configuration(
    Component component, const std::string& file, const GivenFlags& flags,
    const placement::MakePlugins& make = placement::default_plugins);

// Reads a KubeSchedulerConfiguration and a BerthConfiguration, at most one each, over `configuration`; what
// both set, the latter decides. Refuses other kinds, fields that the component does not have, values of a
// wrong type or beyond their bounds, duplicate keys and further documents.
Status apply_configuration(Component component, std::string_view text, const std::string& file,
                           Configuration& configuration,
                           const placement::MakePlugins& make = placement::default_plugins);

// Every field of the component, and every gate, in YAML; then the KubeSchedulerConfiguration, if there is
// one. Reading it back gives the same text.
std::string configuration_text(Component component, const Configuration& configuration);

// The fields as the Markdown table of docs/configuration.md.
std::string configuration_reference();

// The gates of a configuration that effective_configuration accepted.
api::Gates gates_of(Component component, const Configuration& configuration);

}  // namespace berth::cli
