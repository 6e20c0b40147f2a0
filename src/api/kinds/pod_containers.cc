// Containers of a pod: names, images, ports, mounts, resources.
#include <algorithm>
#include <set>

#include "api/kinds/core_parts.h"
#include "api/kinds/pod.h"

namespace berth::api {
namespace {

constexpr std::size_t kPortNameBytesMax = 15;

}  // namespace

NameProblems port_name_problems(std::string_view name) {
  NameProblems problems;
  const auto is_letter = [](char c) { return c >= 'a' && c <= 'z'; };
  const auto is_good = [&](char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '-'; };
  if (name.size() > kPortNameBytesMax)
    problems.push_back("must be no more than " + std::to_string(kPortNameBytesMax) + " characters");
  if (!std::all_of(name.begin(), name.end(), is_good))
    problems.emplace_back("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)");
  if (std::none_of(name.begin(), name.end(), is_letter))
    problems.emplace_back("must contain at least one letter (a-z)");
  if (name.find("--") != std::string_view::npos)
    problems.emplace_back("must not contain consecutive hyphens");
  if (name.starts_with('-') || name.ends_with('-'))
    problems.emplace_back("must not begin or end with a hyphen");
  return problems;
}

namespace {

FieldErrors check_ports(const FieldPath& path, const JsonArray& ports) {
  FieldErrors errors;
  const NamedItems by_name(ports, "name");
  for (std::size_t i = 0; i < ports.size(); ++i) {
    const FieldPath at = path.index(i);
    const Json& port = ports[i];
    if (const std::string_view name = port.string_at("name"); !name.empty()) {
      FieldErrors found = check_format(at.child("name"), name, port_name_problems);
      if (found.empty() && by_name.is_repeated(port)) found.push_back(duplicate(at.child("name"), name));
      append(errors, std::move(found));
    }
    if (port.int_at("containerPort") == 0)
      errors.push_back(required(at.child("containerPort")));
    else
      append(errors, check_port(at.child("containerPort"), port.int_at("containerPort")));
    if (port.int_at("hostPort") != 0)
      append(errors, check_port(at.child("hostPort"), port.int_at("hostPort")));
    append(errors, check_one_of(at.child("protocol"), port.string_at("protocol"), {"SCTP", "TCP", "UDP"}));
  }
  return errors;
}

FieldErrors check_env(const FieldPath& path, const JsonArray& variables) {
  FieldErrors errors;
  for (std::size_t i = 0; i < variables.size(); ++i) {
    const FieldPath at = path.index(i);
    const std::string_view name = variables[i].string_at("name");
    if (name.empty()) errors.push_back(required(at.child("name")));
    if (name.find('=') != std::string_view::npos)
      errors.push_back(invalid(at.child("name"), name,
                               "a valid environment variable name must consist only of printable ASCII "
                               "characters other than '='"));
    if (present(variables[i], "valueFrom") && !variables[i].string_at("value").empty())
      errors.push_back(invalid(at.child("valueFrom"), "", "may not be specified when `value` is not empty"));
  }
  return errors;
}

FieldErrors check_mounts(const FieldPath& path, const JsonArray& mounts, const NamedItems& volumes) {
  FieldErrors errors;
  const NamedItems by_place(mounts, "mountPath");
  for (std::size_t i = 0; i < mounts.size(); ++i) {
    const FieldPath at = path.index(i);
    const std::string_view name = mounts[i].string_at("name");
    const std::string_view where = mounts[i].string_at("mountPath");
    if (name.empty())
      errors.push_back(required(at.child("name")));
    else if (!volumes.find(name))
      errors.push_back(not_found(at.child("name"), name));
    if (where.empty())
      errors.push_back(required(at.child("mountPath")));
    else if (by_place.is_repeated(mounts[i]))
      errors.push_back(invalid(at.child("mountPath"), where, "must be unique"));
  }
  return errors;
}

FieldErrors check_container(const FieldPath& at, const Json& container, const NamedItems& claims,
                            const NamedItems& volumes) {
  FieldErrors errors = check_required(at.child("name"), container.string_at("name"), dns_label_problems);
  if (container.string_at("image").empty()) errors.push_back(required(at.child("image")));
  append(errors,
         check_one_of(at.child("terminationMessagePolicy"), container.string_at("terminationMessagePolicy"),
                      {"FallbackToLogsOnError", "File"}));
  append(errors, check_ports(at.child("ports"), items(&container, "ports")));
  append(errors, check_env(at.child("env"), items(&container, "env")));
  append(errors, check_mounts(at.child("volumeMounts"), items(&container, "volumeMounts"), volumes));
  append(errors, check_one_of(at.child("imagePullPolicy"), container.string_at("imagePullPolicy"),
                              {"Always", "IfNotPresent", "Never"}));
  if (const Json* resources = present(container, "resources"))
    append(errors, check_resources(at.child("resources"), *resources, claims));
  append(errors, check_probes(at, container));
  return errors;
}

bool is_space(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

}  // namespace

FieldErrors check_images(const FieldPath& path, const Json& spec) {
  FieldErrors errors;
  for (std::string_view list : {"containers", "initContainers", "ephemeralContainers"}) {
    const JsonArray& containers = items(&spec, list);
    for (std::size_t i = 0; i < containers.size(); ++i)
      if (const std::string_view image = containers[i].string_at("image");
          !image.empty() && (is_space(image.front()) || is_space(image.back())))
        errors.push_back(invalid(path.child(list).index(i).child("image"), image,
                                 "must not have leading or trailing whitespace"));
  }
  return errors;
}

FieldErrors check_containers(const FieldPath& path, const Json& spec, std::string_view list) {
  const JsonArray& containers = items(&spec, list);
  const FieldPath at = path.child(list);
  FieldErrors errors;
  const NamedItems claims(items(&spec, "resourceClaims"), "name");
  const NamedItems volumes(items(&spec, "volumes"), "name");
  std::set<std::string_view> taken;
  if (list != "containers")
    for (const Json& container : items(&spec, "containers")) taken.insert(container.string_at("name"));
  for (std::size_t i = 0; i < containers.size() && !errors.full(); ++i) {
    const std::string_view name = containers[i].string_at("name");
    append(errors, check_container(at.index(i), containers[i], claims, volumes));
    if (!name.empty() && !taken.insert(name).second)
      errors.push_back(duplicate(at.index(i).child("name"), name));
    const std::string_view restart = containers[i].string_at("restartPolicy");
    if (list == "initContainers" && !restart.empty())
      append(errors,
             check_one_of(at.index(i).child("restartPolicy"), restart, {"Always", "Never", "OnFailure"}));
  }
  return errors;
}

}  // namespace berth::api
