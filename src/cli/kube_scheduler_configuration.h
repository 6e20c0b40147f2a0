// KubeSchedulerConfiguration of kubescheduler.config.k8s.io/v1: kube-scheduler's own file, read for Berth.
//
// Strict: what Berth does not honour is refused by name, or is a row of kube_scheduler_fields() and gives a
// note. Pure. Source: kube-scheduler/config/v1 and pkg/scheduler/apis/config/validation of 1.37.0.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "cli/yaml_place.h"
#include "placement/profiles.h"

namespace berth::cli {

inline constexpr std::string_view kKubeSchedulerKind = "KubeSchedulerConfiguration";
inline constexpr std::string_view kKubeSchedulerVersion = "kubescheduler.config.k8s.io/v1";
// As many as --scheduler-name.
inline constexpr std::size_t kProfilesMax = 64;

struct KubeSchedulerConfiguration {
  Json document;                             // null: there is none
  std::vector<placement::Profile> profiles;  // at least one, if there is a document
  Duration backoff_first = Duration::seconds(1), backoff_max = Duration::seconds(10);
  Duration lease = Duration::seconds(15), renew_deadline = Duration::seconds(10),
           retry = Duration::seconds(2);
  std::vector<std::string> notes;  // what has no effect, one line each

  // Not set: the file does not say.
  std::optional<bool> leader_elect;
  std::optional<std::string> lease_namespace, lease_name, kubeconfig;
  std::optional<Duration> volume_timeout, binding_timeout;

  std::vector<std::string> scheduler_names() const;
};

// Whether `document` says that it is one, of any version.
bool is_kube_scheduler_configuration(const Json& document);

// `make` gives the plugins of the program.
Result<KubeSchedulerConfiguration> read_kube_scheduler_configuration(const YamlSource& source,
                                                                     const Json& document,
                                                                     const placement::MakePlugins& make);

// What Berth does with each field, apart from profiles: a table for docs/configuration.md.
struct KubeSchedulerField {
  std::string_view path;
  std::string_view what;
  bool has_effect = true;
};
std::span<const KubeSchedulerField> kube_scheduler_fields();
std::string kube_scheduler_reference();

}  // namespace berth::cli
