#include <algorithm>

#include "install/crd.h"
#include "install/examination.h"

namespace berth::install {
namespace {

const Json* served_version(const Json& definition, std::string_view name) {
  for (const Json& version : definition.part("spec").items_at("versions"))
    if (version.string_at("name") == name && version.bool_at("served")) return &version;
  return nullptr;
}

const Json& schema_of_version(const Json& version) {
  return version.part("schema").part("openAPIV3Schema");
}

// Members of `ours` that `theirs` would drop, by path.
void find_missing(const Json& ours, const Json& theirs, const std::string& path,
                  std::vector<std::string>& missing) {
  if (theirs.bool_at("x-kubernetes-preserve-unknown-fields")) return;
  if (const Json* items = ours.find("items")) find_missing(*items, theirs.part("items"), path, missing);
  const Json& properties = ours.part("properties");
  if (!properties.is_object()) return;
  for (const JsonMember& member : properties.as_object()) {
    if (path.empty() && member.key != "spec" && member.key != "status") continue;  // kept in any case
    const std::string at = path.empty() ? member.key : path + "." + member.key;
    const Json* found = theirs.part("properties").find(member.key);
    if (found)
      find_missing(member.value, *found, at, missing);
    else
      missing.push_back(at);
  }
}

bool is_established(const Json& definition) {
  const JsonArray& conditions = definition.part("status").items_at("conditions");
  return std::any_of(conditions.begin(), conditions.end(), [](const Json& condition) {
    return condition.string_at("type") == "Established" && condition.string_at("status") == "True";
  });
}

// Berth's own API server does so without definitions.
bool serves_own_group(Examination& exam) {
  const std::optional<Json> group = exam.read("/apis/scheduling.berth.dev/v1alpha1");
  return group && !group->items_at("resources").empty();
}

// A definition, and what its lack is: without BindRequests nothing is scheduled.
struct Wanted {
  Json ours;
  Severity severity;
};

void report(Examination& exam, Severity severity, std::string where, std::string what, std::string advice) {
  if (severity == Severity::Blocks)
    exam.blocks(std::move(where), std::move(what), std::move(advice));
  else
    exam.warns(std::move(where), std::move(what), std::move(advice));
}

void check_one(Examination& exam, const Wanted& one) {
  const std::optional<Json> found = exam.read(path_of(one.ours));
  if (!found) return;
  const std::string where = title_of(one.ours);
  const auto tell = [&](std::string what, std::string advice) {
    report(exam, one.severity, where, std::move(what), std::move(advice));
  };
  if (found->is_null()) {
    if (!serves_own_group(exam)) tell("is not there", "run `berth install`");
    return;
  }
  const Json &spec = found->part("spec"), &wanted = one.ours.part("spec");
  const bool same = spec.string_at("group") == wanted.string_at("group") &&
                    spec.string_at("scope") == wanted.string_at("scope") &&
                    spec.part("names").string_at("kind") == wanted.part("names").string_at("kind");
  if (!same)
    return tell("is another one: it defines " + std::string(spec.string_at("scope")) + " " +
                    std::string(spec.part("names").string_at("kind")) + " of " +
                    std::string(spec.string_at("group")),
                "find out whose it is; Berth cannot share the name");
  const Json& version = wanted.items_at("versions")[0];
  const Json* served = served_version(*found, version.string_at("name"));
  if (!served)
    return tell("does not serve " + std::string(version.string_at("name")), std::string(kInstallAgain));
  if (!is_established(*found))
    return tell("is not established", "`kubectl describe` shows which condition is not met");
  std::vector<std::string> missing;
  find_missing(schema_of_version(version), schema_of_version(*served), "", missing);
  if (version.find("subresources") && !served->part("subresources").find("status"))
    missing.emplace_back("the status subresource");
  if (missing.empty()) return;
  tell("is older: it drops what this Berth writes (" + shortened(missing) + ")",
       std::string(kInstallAgain) + ", which brings it up to date");
}

}  // namespace

void check_definitions(Examination& exam) {
  for (Json& crd : own_crds()) {
    const bool needed = crd.part("metadata").string_at("name") == kBindRequestCrd;
    check_one(exam, {std::move(crd), needed ? Severity::Blocks : Severity::Warns});
  }
}

}  // namespace berth::install
