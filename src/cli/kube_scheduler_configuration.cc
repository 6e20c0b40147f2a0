#include "cli/kube_scheduler_configuration.h"

#include <algorithm>
#include <map>

#include "api/names.h"
#include "cli/profile_arguments.h"
#include "cli/scheduler_plugins.h"

namespace berth::cli {
namespace {

constexpr KubeSchedulerField kSchedulerFields[] = {
    {"parallelism", "Berth decides on one thread, from cached verdicts", false},
    {"percentageOfNodesToScore", "Berth considers every node", false},
    {"podInitialBackoffSeconds", "backoff of a pod after its first failed attempt"},
    {"podMaxBackoffSeconds", "upper bound of that backoff"},
    {"delayCacheUntilActive", "a standby of Berth keeps its caches", false},
    {"enableProfiling", "Berth has no /debug/pprof", false},
    {"enableContentionProfiling", "Berth has no /debug/pprof", false},
    {"leaderElection.leaderElect", "`leaderElection.leaderElect`"},
    {"leaderElection.resourceNamespace", "`leaderElection.resourceNamespace`"},
    {"leaderElection.resourceName", "`leaderElection.resourceName`; without it `berth-scheduler`"},
    {"leaderElection.resourceLock", "only `leases`"},
    {"leaderElection.leaseDuration", "how long other candidates wait for a renewal"},
    {"leaderElection.renewDeadline", "how long the leader leads without a renewal"},
    {"leaderElection.retryPeriod", "between tries"},
    {"clientConnection.kubeconfig", "`clientConnection.kubeconfig`"},
    {"clientConnection.qps", "`--max-writes-in-flight` bounds the writes", false},
    {"clientConnection.burst", "`--max-writes-in-flight` bounds the writes", false},
    {"clientConnection.contentType", "Berth picks JSON or protobuf itself", false},
    {"clientConnection.acceptContentTypes", "Berth picks JSON or protobuf itself", false},
    {"profiles", "[profiles](#profiles)"},
    {"profiles[].percentageOfNodesToScore", "Berth considers every node", false},
};

// Fields that are refused with a reason of their own.
struct RefusedField {
  std::string_view path, why;
};
constexpr RefusedField kRefused[] = {
    {"extenders",
     "HTTP extenders are not supported: Berth decides a pod in microseconds from cached verdicts, and an "
     "extender's answers can be neither cached nor undone. Write a plugin instead "
     "(docs/writing-scheduler-plugins.md), or describe the resource with dynamic resource allocation"},
    {"healthzBindAddress",
     "is no field of v1: serve health and metrics with `listen` of a BerthConfiguration"},
    {"metricsBindAddress",
     "is no field of v1: serve health and metrics with `listen` of a BerthConfiguration"},
};

class KubeReader {
 public:
  KubeReader(const YamlSource& source, const Json& document, const placement::MakePlugins& make)
      : root_(source, "", &document), known_(scheduler_plugins(make({}))) {
    read_.document = document;
  }

  Result<KubeSchedulerConfiguration> read() {
    TRY(read_head());
    TRY(read_backoff());
    TRY(read_election());
    TRY(read_connection());
    for (const std::string_view field :
         {"delayCacheUntilActive", "enableProfiling", "enableContentionProfiling"})
      TRY(root_.at(field).flag(false));
    const std::int64_t parallelism = TRY(root_.at("parallelism").whole(16));
    if (parallelism <= 0)
      TRY(invalid(root_.at("parallelism"), parallelism, "should be an integer value greater than zero"));
    TRY(check_percentage(root_.at("percentageOfNodesToScore")));
    for (const KubeSchedulerField& field : kSchedulerFields) note(field);
    TRY(read_profiles());
    return std::move(read_);
  }

 private:
  static Status invalid(const YamlPlace& place, const Json& value, std::string_view why) {
    return place.accept({api::invalid(place.path(), value, why)});
  }

  // Of a field outside of profiles.
  void note(const KubeSchedulerField& field) {
    if (field.has_effect || field.path.find("[]") != std::string_view::npos) return;
    const std::size_t dot = field.path.find('.');
    const YamlPlace section = root_.at(field.path.substr(0, dot));
    const YamlPlace place = dot == std::string_view::npos ? section : section.at(field.path.substr(dot + 1));
    if (place.present()) read_.notes.push_back(place.path() + " has no effect: " + std::string(field.what));
  }

  Status read_head() {
    for (const RefusedField& field : kRefused)
      if (const YamlPlace place = root_.at(field.path); place.present()) {
        const bool empty = place.json().is_array() && place.json().as_array().empty();
        if (!empty) return place.refused(std::string(field.why));
      }
    const std::string version = TRY(root_.at("apiVersion").text(""));
    if (version != kKubeSchedulerVersion)
      return root_.at("apiVersion")
          .refused("is \"" + version + "\": Berth reads " + std::string(kKubeSchedulerVersion) + " alone");
    return root_.has_only(
        {"apiVersion", "kind", "parallelism", "leaderElection", "clientConnection", "enableProfiling",
         "enableContentionProfiling", "percentageOfNodesToScore", "podInitialBackoffSeconds",
         "podMaxBackoffSeconds", "profiles", "extenders", "delayCacheUntilActive"},
        "a KubeSchedulerConfiguration");
  }

  static Status check_percentage(const YamlPlace& place) {
    const std::int64_t percentage = TRY(place.whole(0));
    if (percentage < 0 || percentage > 100) return invalid(place, percentage, "not in valid range [0-100]");
    return {};
  }

  Status read_backoff() {
    constexpr std::int64_t kSecondsMax = 24 * 3600;
    const YamlPlace first = root_.at("podInitialBackoffSeconds"), last = root_.at("podMaxBackoffSeconds");
    const std::int64_t initial = TRY(first.whole(1)), most = TRY(last.whole(10));
    if (initial <= 0) return invalid(first, initial, "must be greater than 0");
    if (most < initial)
      return invalid(last, most, "must be greater than or equal to PodInitialBackoffSeconds");
    if (most > kSecondsMax)
      return last.refused(std::to_string(most) + " is out of bounds: at most 86400 seconds");
    read_.backoff_first = Duration::seconds(initial);
    read_.backoff_max = Duration::seconds(most);
    return {};
  }

  Status read_election() {
    const YamlPlace election = root_.at("leaderElection");
    TRY(election.has_only({"leaderElect", "leaseDuration", "renewDeadline", "retryPeriod", "resourceLock",
                           "resourceName", "resourceNamespace"},
                          "leaderElection"));
    if (const YamlPlace elect = election.at("leaderElect"); elect.present())
      read_.leader_elect = TRY(elect.flag(true));
    read_.lease_namespace = TRY(name_at(election.at("resourceNamespace")));
    read_.lease_name = TRY(name_at(election.at("resourceName")));
    const std::string lock = TRY(election.at("resourceLock").text(""));
    if (!lock.empty() && lock != "leases")
      return invalid(election.at("resourceLock"), election.at("resourceLock").json(),
                     "resourceLock value must be \"leases\"");
    struct Row {
      std::string_view field;
      Duration KubeSchedulerConfiguration::* member;
    };
    for (const Row& row : {Row{"leaseDuration", &KubeSchedulerConfiguration::lease},
                           Row{"renewDeadline", &KubeSchedulerConfiguration::renew_deadline},
                           Row{"retryPeriod", &KubeSchedulerConfiguration::retry}}) {
      const YamlPlace place = election.at(row.field);
      const Duration given = TRY(place.duration(read_.*row.member));
      if (given < Duration()) return invalid(place, place.json(), "must be greater than zero");
      if (given > Duration()) read_.*row.member = given;  // 0 is kube-scheduler's default
    }
    if (read_.lease <= read_.renew_deadline)
      return election.at("leaseDuration").refused("must be greater than `RenewDeadline`");
    if (read_.renew_deadline <= read_.retry)
      return election.at("renewDeadline").refused("must be greater than `RetryPeriod`");
    return {};
  }

  // Not set when absent or empty.
  static Result<std::optional<std::string>> name_at(const YamlPlace& place) {
    std::string name = TRY(place.text(""));
    if (name.empty()) return std::optional<std::string>();
    if (const auto problems = api::dns_subdomain_problems(name); !problems.empty())
      TRY(invalid(place, name, problems.front()));
    return std::optional(std::move(name));
  }

  Status read_connection() {
    const YamlPlace connection = root_.at("clientConnection");
    TRY(connection.has_only({"kubeconfig", "acceptContentTypes", "contentType", "qps", "burst"},
                            "clientConnection"));
    if (std::string file = TRY(connection.at("kubeconfig").text("")); !file.empty())
      read_.kubeconfig = std::move(file);
    for (const std::string_view field : {"acceptContentTypes", "contentType"})
      TRY(connection.at(field).text(""));
    if (const YamlPlace qps = connection.at("qps"); qps.present() && !qps.json().is_number())
      return qps.refused("wants a number, not " + to_string(qps.json()));
    const std::int64_t burst = TRY(connection.at("burst").whole(0));
    if (burst < 0) return invalid(connection.at("burst"), burst, "must be non-negative");
    return {};
  }

  Status read_profiles() {
    const YamlPlace list = root_.at("profiles");
    const std::vector<YamlPlace> profiles = TRY(list.items());
    if (profiles.size() > kProfilesMax)
      return list.refused("has " + std::to_string(profiles.size()) + " profiles: at most " +
                          std::to_string(kProfilesMax));
    if (profiles.empty()) {
      read_.profiles.push_back({"default-scheduler"});
      return {};
    }
    std::map<std::string, std::size_t> named;
    BinderArguments first;
    for (std::size_t i = 0; i < profiles.size(); ++i) {
      const BinderArguments binder = TRY(read_profile(profiles[i], profiles.size() == 1));
      const YamlPlace name = profiles[i].at("schedulerName");
      const auto [at, is_new] = named.emplace(read_.profiles.back().scheduler_name, i);
      if (!is_new)
        TRY(name.accept(
            {api::duplicate(name.path(), "profiles[" + std::to_string(at->second) + "].schedulerName")}));
      if (i == 0) first = binder;
      if (binder.volume_timeout != first.volume_timeout || binder.binding_timeout != first.binding_timeout)
        return profiles[i]
            .at("pluginConfig")
            .refused(
                "bindTimeoutSeconds of VolumeBinding and bindingTimeout of DynamicResources must be the same "
                "for all "
                "profiles: one binder serves them");
    }
    if (first.volume_timeout_given) read_.volume_timeout = first.volume_timeout;
    if (first.binding_timeout_given) read_.binding_timeout = first.binding_timeout;
    return {};
  }

  Result<BinderArguments> read_profile(const YamlPlace& place, bool is_only) {
    TRY(place.has_only({"schedulerName", "percentageOfNodesToScore", "plugins", "pluginConfig"},
                       "a profile"));
    const YamlPlace name = place.at("schedulerName");
    placement::Profile profile;
    profile.scheduler_name = TRY(name.text(is_only ? "default-scheduler" : ""));
    if (profile.scheduler_name.empty()) TRY(name.accept({api::required(name.path())}));
    if (const auto problems = api::dns_subdomain_problems(profile.scheduler_name); !problems.empty())
      TRY(invalid(name, profile.scheduler_name, problems.front()));
    const YamlPlace percentage = place.at("percentageOfNodesToScore");
    TRY(check_percentage(percentage));
    if (percentage.present())
      read_.notes.push_back(percentage.path() + " has no effect: Berth considers every node");
    if (const YamlPlace plugins = place.at("plugins"); plugins.present())
      profile.enabled = TRY(read_plugins(plugins, known_, read_.notes));
    ProfileArguments arguments =
        TRY(read_arguments(place.at("pluginConfig"), known_,
                           profile.enabled ? *profile.enabled : default_enabled(known_), read_.notes));
    profile.arguments = std::move(arguments.plugins);
    read_.profiles.push_back(std::move(profile));
    return arguments.binder;
  }

  const YamlPlace root_;
  const std::vector<SchedulerPlugin> known_;
  KubeSchedulerConfiguration read_;
};

}  // namespace

std::vector<std::string> KubeSchedulerConfiguration::scheduler_names() const {
  std::vector<std::string> names;
  for (const placement::Profile& profile : profiles) names.push_back(profile.scheduler_name);
  return names;
}

bool is_kube_scheduler_configuration(const Json& document) {
  return document.string_at("kind") == kKubeSchedulerKind;
}

Result<KubeSchedulerConfiguration> read_kube_scheduler_configuration(const YamlSource& source,
                                                                     const Json& document,
                                                                     const placement::MakePlugins& make) {
  return KubeReader(source, document, make).read();
}

std::span<const KubeSchedulerField> kube_scheduler_fields() {
  return kSchedulerFields;
}

std::string kube_scheduler_reference() {
  std::string text = "| field | Berth |\n|---|---|\n";
  for (const KubeSchedulerField& field : kSchedulerFields)
    text += "| `" + std::string(field.path) + "` | " + (field.has_effect ? "" : "no effect: ") +
            std::string(field.what) + " |\n";
  for (const RefusedField& field : kRefused)
    text += "| `" + std::string(field.path) + "` | refused: " + std::string(field.why) + " |\n";
  return text;
}

}  // namespace berth::cli
