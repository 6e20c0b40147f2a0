// What the API server says of a pod, or of a template, that it accepts: Warning headers.
//
// Source: pkg/api/pod/warnings.go and pkg/api/node/util.go of Kubernetes 1.37.
#include <algorithm>
#include <map>

#include "api/kinds/core_parts.h"
#include "api/kinds/pod.h"
#include "api/kinds/resource_parts.h"
#include "api/kinds/warning_parts.h"
#include "api/simulated_usage.h"
#include "base/quantity.h"

namespace berth::api {
namespace {

// A text about each of many items is said of as many.
constexpr std::size_t kPodWarningsMax = 200;
// With as many ports of one number another one is compared.
constexpr std::size_t kPortsComparedMax = 64;

struct Replaced {
  std::string_view key, message;
};
constexpr Replaced kNodeLabels[] = {
    {"beta.kubernetes.io/arch", R"(deprecated since v1.14; use "kubernetes.io/arch" instead)"},
    {"beta.kubernetes.io/os", R"(deprecated since v1.14; use "kubernetes.io/os" instead)"},
    {"failure-domain.beta.kubernetes.io/region",
     R"(deprecated since v1.17; use "topology.kubernetes.io/region" instead)"},
    {"failure-domain.beta.kubernetes.io/zone",
     R"(deprecated since v1.17; use "topology.kubernetes.io/zone" instead)"},
    {"beta.kubernetes.io/instance-type",
     R"(deprecated since v1.17; use "node.kubernetes.io/instance-type" instead)"},
};
constexpr Replaced kPodAnnotations[] = {
    {"scheduler.alpha.kubernetes.io/critical-pod",
     R"(non-functional in v1.16+; use the "priorityClassName" field instead)"},
    {"security.alpha.kubernetes.io/sysctls", R"(non-functional in v1.11+; use the "sysctls" field instead)"},
    {"security.alpha.kubernetes.io/unsafe-sysctls",
     R"(non-functional in v1.11+; use the "sysctls" field instead)"},
};
constexpr Replaced kVolumePlugins[] = {
    {"photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"},
    {"gitRepo", "deprecated in v1.11, and disabled by default in v1.33+"},
    {"scaleIO", "deprecated in v1.16, non-functional in v1.22+"},
    {"flocker", "deprecated in v1.22, non-functional in v1.25+"},
    {"storageos", "deprecated in v1.22, non-functional in v1.25+"},
    {"quobyte", "deprecated in v1.22, non-functional in v1.25+"},
    {"glusterfs", "deprecated in v1.25, non-functional in v1.26+"},
    {"cephfs", "deprecated in v1.28, non-functional in v1.31+"},
    {"rbd", "deprecated in v1.28, non-functional in v1.31+"},
};
constexpr std::string_view kSeccompPod = "seccomp.security.alpha.kubernetes.io/pod";
constexpr std::string_view kSeccompContainer = "container.seccomp.security.alpha.kubernetes.io/";
constexpr std::string_view kAppArmorContainer = "container.apparmor.security.beta.kubernetes.io/";
constexpr std::string_view kNullSelector = "a null labelSelector results in matching no pod";

template <std::size_t N>
const Replaced* row_named(const Replaced (&rows)[N], std::string_view key) {
  for (const Replaced& row : rows)
    if (row.key == key) return &row;
  return nullptr;
}

// One pod spec: `root` is "" of a pod, "spec.template" of a template. In the reference's order.
class PodWarnings {
 public:
  PodWarnings(std::string_view root, const Json& holder)
      : root_(root),
        spec_(holder.part("spec")),
        annotations_(holder.part("metadata").part("annotations")),
        is_template_(!root.empty()) {}

  Warnings all() && {
    node_labels();
    spread();
    for (const Replaced& row : kPodAnnotations)
      if (annotations_.find(row.key)) add(annotation(row.key), row.message);
    volumes();
    repeated("hostAliases", "ip", "duplicate ip");
    repeated("imagePullSecrets", "name", "duplicate name");
    empty_secrets();
    fractions(below("spec").child("overhead"), spec_.part("overhead"));
    if (!security_member(spec_, "seccompProfile") && annotations_.find(kSeccompPod))
      add(annotation(kSeccompPod), R"(non-functional in v1.27+; use the "seccompProfile" field instead)");
    for_each_container([this](const Json& container, const FieldPath& at) { one_container(container, at); });
    ports();
    port_names();
    if (spec_.int_at("terminationGracePeriodSeconds") < 0)
      add(below("spec").child("terminationGracePeriodSeconds"),
          "must be >= 0; negative values are invalid and will be treated as 1");
    for (std::string_view kind : {"podAffinity", "podAntiAffinity"}) affinity(kind);
    usage();
    return std::move(warnings_);
  }

 private:
  void add(const std::string& path, std::string_view text) {
    if (warnings_.size() < kPodWarningsMax) warnings_.push_back(path + ": " + std::string(text));
  }
  FieldPath below(std::string_view name) const {
    return root_.empty() ? FieldPath(name) : FieldPath(root_).child(name);
  }
  FieldPath annotation(std::string_view key) const { return below("metadata").child("annotations").key(key); }
  static const Json* security_member(const Json& owner, std::string_view name) {
    return present(present(owner, "securityContext"), name);
  }

  template <class Visit>
  void for_each_container(Visit visit) const {
    for (std::string_view list : {"initContainers", "containers", "ephemeralContainers"}) {
      const JsonArray& containers = items(&spec_, list);
      for (std::size_t i = 0; i < containers.size(); ++i)
        visit(containers[i], below("spec").child(list).index(i));
    }
  }

  void one_label(const FieldPath& at, std::string_view key) {
    if (const std::string_view message = deprecated_label(key); !message.empty())
      add(at, std::string(key) + " is " + std::string(message));
  }

  void node_labels() {
    for (const JsonMember& entry : entries(present(spec_, "nodeSelector")))
      if (const std::string_view message = deprecated_label(entry.key); !message.empty())
        add(below("spec").child("nodeSelector").key(entry.key), message);
    const Json& affinity = spec_.part("affinity").part("nodeAffinity");
    const FieldPath at = below("spec").child("affinity").child("nodeAffinity");
    constexpr std::string_view kRequiredTerms = "requiredDuringSchedulingIgnoredDuringExecution";
    constexpr std::string_view kPreferredTerms = "preferredDuringSchedulingIgnoredDuringExecution";
    const JsonArray& required = affinity.part(kRequiredTerms).items_at("nodeSelectorTerms");
    for (std::size_t i = 0; i < required.size(); ++i)
      warn_of_labels(warnings_, at.child(kRequiredTerms).child("nodeSelectorTerms").index(i), required[i]);
    const JsonArray& preferred = affinity.items_at(kPreferredTerms);
    for (std::size_t i = 0; i < preferred.size(); ++i)
      warn_of_labels(warnings_, at.child(kPreferredTerms).index(i).child("preference"),
                     preferred[i].part("preference"));
  }

  void spread() {
    const JsonArray& constraints = items(&spec_, "topologySpreadConstraints");
    for (std::size_t i = 0; i < constraints.size(); ++i) {
      const FieldPath at = below("spec").child("topologySpreadConstraints").index(i);
      one_label(at.child("topologyKey"), constraints[i].string_at("topologyKey"));
      if (!present(constraints[i], "labelSelector")) add(at.child("labelSelector"), kNullSelector);
    }
  }

  void affinity(std::string_view kind) {
    const Json& terms = spec_.part("affinity").part(kind);
    const FieldPath at = below("spec").child("affinity").child(kind);
    constexpr std::string_view kRequiredTerms = "requiredDuringSchedulingIgnoredDuringExecution";
    constexpr std::string_view kPreferredTerms = "preferredDuringSchedulingIgnoredDuringExecution";
    const JsonArray& required = terms.items_at(kRequiredTerms);
    for (std::size_t i = 0; i < required.size(); ++i)
      if (!present(required[i], "labelSelector"))
        add(at.child(kRequiredTerms).index(i).child("labelSelector"), kNullSelector);
    const JsonArray& preferred = terms.items_at(kPreferredTerms);
    for (std::size_t i = 0; i < preferred.size(); ++i)
      if (!present(preferred[i].part("podAffinityTerm"), "labelSelector"))
        add(at.child(kPreferredTerms).index(i).child("podAffinityTerm").child("labelSelector"),
            kNullSelector);
  }

  void volumes() {
    const JsonArray& volumes = items(&spec_, "volumes");
    for (std::size_t i = 0; i < volumes.size(); ++i)
      for (const Replaced& row : kVolumePlugins)
        if (present(volumes[i], row.key))
          add(below("spec").child("volumes").index(i).child(row.key == "storageos" ? "storageOS" : row.key),
              row.message);
  }

  void repeated(std::string_view list, std::string_view key, std::string_view text) {
    const JsonArray& given = items(&spec_, list);
    const NamedItems by_key(given, key);
    for (std::size_t i = 0; i < given.size(); ++i)
      if (by_key.is_repeated(given[i]))
        add(below("spec").child(list).index(i).child(key),
            std::string(text) + " " + to_string(Json(given[i].string_at(key))));
  }

  void empty_secrets() {
    const JsonArray& secrets = items(&spec_, "imagePullSecrets");
    for (std::size_t i = 0; i < secrets.size(); ++i)
      if (secrets[i].string_at("name").empty())
        add(below("spec").child("imagePullSecrets").index(i).child("name"), R"(invalid empty name "")");
  }

  void fractions(const FieldPath& at, const Json& amounts) {
    for (std::string_view name : {"memory", "ephemeral-storage"})
      warn_of_fraction(warnings_, at, amounts, name);
  }

  void one_container(const Json& container, const FieldPath& at) {
    const std::string name(container.string_at("name"));
    const std::string seccomp = std::string(kSeccompContainer) + name;
    if (!security_member(container, "seccompProfile") && annotations_.find(seccomp))
      add(annotation(seccomp), R"(non-functional in v1.27+; use the "seccompProfile" field instead)");
    const std::string app_armor = std::string(kAppArmorContainer) + name;
    if (is_template_ && !security_member(container, "appArmorProfile") && annotations_.find(app_armor) &&
        !security_member(spec_, "appArmorProfile"))
      add(annotation(app_armor), R"(deprecated since v1.30; use the "appArmorProfile" field instead)");
    const Json& resources = container.part("resources");
    for (std::string_view name_of_amount : {"memory", "ephemeral-storage"})
      for (std::string_view list : {"limits", "requests"})
        warn_of_fraction(warnings_, at.child("resources").child(list), resources.part(list), name_of_amount);
    environment(items(&container, "env"), at);
  }

  // A later definition that neither refers to the earlier one nor leaves it alone.
  void environment(const JsonArray& variables, const FieldPath& at) {
    const NamedItems by_name(variables, "name");
    for (std::size_t i = 0; i < variables.size(); ++i) {
      if (!by_name.is_repeated(variables[i])) continue;
      const std::string name(variables[i].string_at("name")), reference = "$(" + name + ")";
      const std::string_view value = variables[i].string_at("value");
      if (present(variables[i], "valueFrom") || value == reference ||
          value.find(reference) == std::string_view::npos)
        add(at.child("env").index(i), "hides previous definition of " + to_string(Json(name)) +
                                          ", which may be dropped when using apply");
    }
  }

  // As Go prints its struct.
  static std::string go_port(const Json& port) {
    return "{Name:" + std::string(port.string_at("name")) +
           " HostPort:" + std::to_string(port.int_at("hostPort")) +
           " ContainerPort:" + std::to_string(port.int_at("containerPort")) +
           " Protocol:" + std::string(port.string_at("protocol")) +
           " HostIP:" + std::string(port.string_at("hostIP")) + "}";
  }

  struct PlacedPort {
    std::string path;
    std::string_view host_ip;
    std::int64_t host_port;
  };
  static std::string_view overlap(const PlacedPort& port, const PlacedPort& other) {
    if (port.host_ip == other.host_ip && port.host_port == other.host_port) return "duplicate";
    if (port.host_port == 0 || other.host_port == 0) return "overlapping";
    const bool one_is_open = port.host_ip.empty() != other.host_ip.empty();
    return port.host_port == other.host_port && one_is_open ? "dangerously ambiguous" : "";
  }

  // Berth's own: nobody else says why the pod uses something else.
  void usage() {
    const std::string_view text = annotations_.string_at(kUsageAnnotation);
    if (text.empty()) return;
    if (const auto parsed = parse_usage(text); !parsed)
      add(annotation(kUsageAnnotation), parsed.error().message());
  }

  void ports() {
    std::map<std::string, std::vector<PlacedPort>> placed;
    for_each_container([&](const Json& container, const FieldPath& at) {
      const JsonArray& ports = items(&container, "ports");
      for (std::size_t i = 0; i < ports.size() && warnings_.size() < kPodWarningsMax; ++i) {
        const PlacedPort port{at.child("ports").index(i), ports[i].string_at("hostIP"),
                              ports[i].int_at("hostPort")};
        if (!port.host_ip.empty() && port.host_port == 0)
          add(port.path, "hostIP set without hostPort: " + go_port(ports[i]));
        std::vector<PlacedPort>& others = placed[std::to_string(ports[i].int_at("containerPort")) + "/" +
                                                 std::string(ports[i].string_at("protocol"))];
        for (const PlacedPort& other : others)
          if (const std::string_view kind = overlap(port, other); !kind.empty())
            add(port.path, std::string(kind) + " port definition with " + other.path);
        if (others.size() < kPortsComparedMax) others.push_back(port);
      }
    });
  }

  void port_names() {
    std::map<std::string_view, std::string> first;
    for_each_container([&](const Json& container, const FieldPath& at) {
      const JsonArray& ports = items(&container, "ports");
      for (std::size_t i = 0; i < ports.size(); ++i) {
        const std::string_view name = ports[i].string_at("name");
        if (name.empty()) continue;
        const std::string path = at.child("ports").index(i);
        const auto [found, is_new] = first.emplace(name, path);
        if (!is_new)
          add(path, "duplicate port name " + to_string(Json(name)) + " with " + found->second +
                        ", services and probes that select ports by name will use " + found->second);
      }
    });
  }

  const std::string root_;
  const Json& spec_;
  const Json& annotations_;
  const bool is_template_;
  Warnings warnings_;
};

// The reference prints Go's list of the problems.
std::string label_problems(std::string_view name) {
  std::string text;
  for (const std::string& problem : dns_label_problems(name)) text += (text.empty() ? "" : " ") + problem;
  return text;
}

}  // namespace

std::string_view deprecated_label(std::string_view key) {
  const Replaced* row = row_named(kNodeLabels, key);
  return row ? row->message : std::string_view();
}

void warn_of_labels(Warnings& warnings, const FieldPath& at, const Json& term) {
  const JsonArray& expressions = items(&term, "matchExpressions");
  for (std::size_t i = 0; i < expressions.size() && warnings.size() < kPodWarningsMax; ++i) {
    const std::string_view key = expressions[i].string_at("key"), message = deprecated_label(key);
    if (!message.empty())
      warnings.push_back(at.child("matchExpressions").index(i).child("key").text() + ": " + std::string(key) +
                         " is " + std::string(message));
  }
}

// Kubernetes looks at thousandths, rounded up.
void warn_of_fraction(Warnings& warnings, const FieldPath& at, const Json& amounts, std::string_view name) {
  const Json* amount = present(amounts, name);
  if (!amount || !amount->is_string() || warnings.size() >= kPodWarningsMax) return;
  const Result<Quantity> value = parse_quantity(amount->as_string());
  constexpr __int128 kMilli = 1'000'000, kPerUnit = 1'000;
  if (!value.ok() || ((value->nanos() + (kMilli - 1)) / kMilli) % kPerUnit == 0) return;
  warnings.push_back(at.key(name).text() + ": fractional byte value " + to_string(*amount) +
                     " is invalid, must be an integer");
}

std::vector<std::string> pod_warnings(const Json& pod, const Json* old, const RuleContext&) {
  Warnings warnings;
  const std::string_view name = pod.part("metadata").string_at("name");
  if (const std::string problems = label_problems(name); !old && !problems.empty())
    warnings.push_back(
        "metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; a DNS "
        "label is recommended: [" +
        problems + "]");
  for (std::string& text : PodWarnings("", pod).all()) warnings.push_back(std::move(text));
  return warnings;
}

std::vector<std::string> template_warnings(const Json& object, const Json* old, const TemplatePlace& place) {
  if (old && object.part("metadata").int_at("generation") == old->part("metadata").int_at("generation"))
    return {};
  Warnings warnings;
  const std::string problems = label_problems(object.part("metadata").string_at("name"));
  if (place.names_pods && !old && !problems.empty())
    warnings.push_back(
        "metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a "
        "DNS label is recommended: [" +
        problems + "]");
  const Json* pod_template = present_path(object, place.path);
  if (!pod_template) return warnings;
  for (std::string& text : PodWarnings(place.path, *pod_template).all()) warnings.push_back(std::move(text));
  return warnings;
}

}  // namespace berth::api
