#include "controllers/simulated_containers.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "api/serialized.h"
#include "base/stable_hash.h"
#include "controllers/controllers.h"
#include "controllers/simulated.h"
#include "controllers/simulated_shell.h"

namespace berth::controllers {
namespace {

constexpr std::int64_t kRunsReplayedMax = 64;  // of a container that leaves files for its next run
constexpr std::string_view kShells[] = {"sh", "bash", "ash", "dash"};
// Images whose own command is a shell, which ends at once where nobody types.
constexpr std::string_view kShellImages[] = {"busybox", "alpine", "debian", "ubuntu", "bash"};
constexpr std::string_view kMissingTags[] = {"404", "missing", "non-existent", "nonexistent", "not-found"};

template <class List>
bool contains(const List& list, std::string_view value) {
  return std::find(std::begin(list), std::end(list), value) != std::end(list);
}

std::string_view after_slash(std::string_view path) {
  return path.substr(path.rfind('/') + 1);  // the whole without one
}

// A field of the pod that an environment variable may show; nothing of others.
std::optional<std::string> shown_field(const api::Pod& pod, std::string_view path) {
  if (path == "metadata.name") return pod.meta.name;
  if (path == "metadata.namespace") return pod.meta.ns;
  if (path == "metadata.uid") return pod.meta.uid;
  if (path == "spec.nodeName") return pod.node_name;
  for (const auto& [prefix, entries] : {std::pair("metadata.annotations['", &pod.meta.annotations),
                                        std::pair("metadata.labels['", &pod.meta.labels)}) {
    if (!path.starts_with(prefix) || !path.ends_with("']")) continue;
    path.remove_prefix(std::string_view(prefix).size());
    path.remove_suffix(2);
    const auto found = entries->find(path);
    return found == entries->end() ? "" : found->second;
  }
  return std::nullopt;
}

constexpr std::uint64_t kRandomEnd = 32768;  // of a shell's $RANDOM

// Of the run that comes after so many others.
api::StringMap variables_of(const api::Pod& pod, const Json& container, std::int64_t run) {
  api::StringMap variables;
  const std::string seed = pod.meta.uid + "/" + std::string(container.string_at("name")) + "/";
  variables["RANDOM"] = std::to_string(stable_hash(seed + std::to_string(run)) % kRandomEnd);
  for (const Json& variable : container.items_at("env")) {
    const std::string name(variable.string_at("name")), value(variable.string_at("value"));
    const Json& source = variable.part("valueFrom");
    if (source.is_object()) {
      if (auto shown = shown_field(pod, source.part("fieldRef").string_at("fieldPath")))
        variables[name] = std::move(*shown);
    } else if (value.find("$(") == std::string::npos) {
      variables[name] = value;
    }
  }
  return variables;
}

// Folders of volumes that no other container mounts: what is in them is of the container's own runs. A
// simulated node has no disk, so a hostPath is as empty as an emptyDir at the pod's start.
std::vector<std::string> private_folders_of(const Json& spec, const Json& container) {
  std::map<std::string, int, std::less<>> mounts;
  for (const char* list : {"initContainers", "containers", "ephemeralContainers"})
    for (const Json& each : spec.items_at(list))
      for (const Json& mount : each.items_at("volumeMounts")) ++mounts[std::string(mount.string_at("name"))];
  std::vector<std::string> folders;
  for (const Json& volume : spec.items_at("volumes"))
    for (const Json& mount : container.items_at("volumeMounts"))
      if ((volume.find("emptyDir") || volume.find("hostPath")) &&
          mount.string_at("name") == volume.string_at("name") &&
          mounts.find(mount.string_at("name"))->second == 1)
        folders.emplace_back(mount.string_at("mountPath"));
  return folders;
}

std::vector<std::string> command_words(const Json& container) {
  std::vector<std::string> words = api::decode_strings(container.items_at("command"));
  for (std::string& argument : api::decode_strings(container.items_at("args")))
    words.push_back(std::move(argument));
  const std::string_view image = after_slash(container.string_at("image"));
  if (words.empty() && contains(kShellImages, image.substr(0, image.find_first_of(":@"))) &&
      !container.bool_at("stdin"))
    words = {"sh", "-c", "true"};
  return words;
}

std::optional<ShellEnd> end_of_words(const std::vector<std::string>& words, ShellWorld& world) {
  if (words.empty()) return std::nullopt;
  if (!contains(kShells, after_slash(words.front()))) return end_of_command(words, world);
  const bool has_line = words.size() == 3 && words[1].starts_with('-') && words[1].ends_with('c');
  return has_line ? end_of_line(words[2], world) : std::nullopt;
}

// The end of the run that comes after so many restarts: earlier ones leave files in volumes.
std::optional<ShellEnd> end_of_container(const api::Pod& pod, const Json& spec, const Json& container,
                                         std::int64_t restarts) {
  const std::vector<std::string> words = command_words(container);
  ShellWorld world;
  world.private_folders = private_folders_of(spec, container);
  std::optional<ShellEnd> end;
  for (std::int64_t run = 0; run <= std::min(restarts, kRunsReplayedMax); ++run) {
    world.variables = variables_of(pod, container, run);
    std::erase_if(world.files, [&](const std::string& file) { return !world.is_private(file); });
    end = end_of_words(words, world);
    if (!end) break;
  }
  return end;
}

// Few pods say how they end, so their text is searched before it is parsed.
bool has_commands(const api::Pod& pod) {
  const auto has = [&](std::string_view member) { return pod.raw->find(member) != std::string::npos; };
  return has("\"command\":") || has("\"args\":");
}

bool may_say_end(const api::Pod& pod) {
  const auto has_shell = [](const api::Container& container) {
    const auto is_in_image = [&](std::string_view name) {
      return container.image.find(name) != std::string::npos;
    };
    return std::any_of(std::begin(kShellImages), std::end(kShellImages), is_in_image);
  };
  return has_commands(pod) || std::any_of(pod.containers.begin(), pod.containers.end(), has_shell);
}

// By the container's own rules and policy, else by the pod's. Source: KEP-5307.
bool restarts_after(const api::Pod& pod, const Json& container, std::int64_t exit_code) {
  for (const Json& rule : container.items_at("restartPolicyRules")) {
    const Json& codes = rule.part("exitCodes");
    const JsonArray& values = codes.items_at("values");
    const bool is_listed = std::find(values.begin(), values.end(), Json(exit_code)) != values.end();
    if (is_listed == (codes.string_at("operator") == "In")) return true;
  }
  const std::string_view own = container.string_at("restartPolicy");
  const std::string_view policy = own.empty() ? pod.restart_policy : own;
  return policy == "Always" || (policy == "OnFailure" && exit_code != 0);
}

using RestartCounts = std::map<std::string_view, std::int64_t>;

RestartCounts restart_counts(const Json& document, std::string_view statuses) {
  RestartCounts counts;
  for (const Json& status : document.part("status").items_at(statuses))
    counts[status.string_at("name")] = status.int_at("restartCount");
  return counts;
}

// The pod runs as long as its longest container, and fails with the first code that is not 0.
std::optional<ContainersEnd> end_of_commands(const api::Pod& pod) {
  if (!may_say_end(pod)) return std::nullopt;
  const Result<Json> document = api::parse_object(*pod.raw, api::ManagedFields::Skip);
  if (!document) return std::nullopt;
  RestartCounts restarts = restart_counts(*document, "containerStatuses");
  ContainersEnd all;
  const Json& spec = document->part("spec");
  for (const Json& container : spec.items_at("containers")) {
    const auto end = end_of_container(pod, spec, container, restarts[container.string_at("name")]);
    if (!end) return std::nullopt;
    all.after = std::max(all.after, end->after);
    if (all.exit_code == 0) all.exit_code = end->exit_code;
    all.restarts = all.restarts || restarts_after(pod, container, end->exit_code);
  }
  return all;
}

// 0 without the annotation, and for text that is no exit code.
std::int64_t exit_code_of(const api::Pod& pod) {
  const std::int64_t code = api::to_int(pod.meta.annotation(kExitCodeAnnotation)).value_or(0);
  return code >= 0 && code <= kExitCodeMax ? code : 0;
}

}  // namespace

std::optional<ContainersEnd> end_of_containers(const api::Pod& pod, Duration job_duration) {
  if (const auto after = annotated_duration(pod.meta, kRunTimeAnnotation))
    return ContainersEnd{.after = *after, .exit_code = exit_code_of(pod)};
  if (const auto end = end_of_commands(pod)) return end;
  const api::OwnerReference* owner = pod.meta.controller();
  const bool is_of_job = owner && owner->kind == "Job" && owner->api_version.starts_with("batch/");
  if (job_duration == Duration() || !is_of_job) return std::nullopt;
  return ContainersEnd{.after = job_duration};
}

std::vector<ContainersEnd> ends_of_init_containers(const api::Pod& pod) {
  std::vector<ContainersEnd> ends(pod.init_containers.size());
  if (ends.empty() || !has_commands(pod)) return ends;
  const Result<Json> document = api::parse_object(*pod.raw, api::ManagedFields::Skip);
  if (!document) return ends;
  RestartCounts restarts = restart_counts(*document, "initContainerStatuses");
  const Json& spec = document->part("spec");
  const JsonArray& containers = spec.items_at("initContainers");
  for (std::size_t i = 0; i < std::min(ends.size(), containers.size()); ++i) {
    const Json& container = containers[i];
    const auto end = end_of_container(pod, spec, container, restarts[container.string_at("name")]);
    if (!end) continue;
    ends[i] = {end->after, end->exit_code,
               end->exit_code != 0 && restarts_after(pod, container, end->exit_code)};
  }
  return ends;
}

bool is_missing_image(std::string_view image) {
  const std::string_view name = after_slash(image);
  const std::size_t colon = name.rfind(':');
  const bool has_digest = name.find('@') != std::string_view::npos;
  if (colon != std::string_view::npos && !has_digest && contains(kMissingTags, name.substr(colon + 1)))
    return true;
  const std::size_t slash = image.find('/');
  if (slash == std::string_view::npos) return false;
  const std::string_view registry = image.substr(0, slash);
  return registry == "localhost" || registry.ends_with(".invalid") || registry.starts_with("invalid.");
}

}  // namespace berth::controllers
