#include "cli/plan_command.h"

#include <cstdio>

#include "api/kind_rules.h"
#include "api/yaml_write.h"
#include "cli/cel_plug.h"
#include "cli/complain.h"
#include "cli/manifests.h"
#include "controllers/controllers.h"
#include "dra/cel_selectors.h"
#include "planning/plan.h"
#include "server/conversions.h"
#include "server/registry.h"

namespace berth::cli {
namespace {

planning::Verdicts verdicts_of(const std::string& name) {
  if (name == "all") return planning::Verdicts::All;
  return name == "summary" ? planning::Verdicts::Summary : planning::Verdicts::None;
}

// The object as a server would store it: in the storage version, canonical, with defaults.
Json stored_form(Manifest& manifest) {
  const api::ResourceInfo& stored = server::storage_of(*manifest.resource);
  Json document = server::to_stored_shape(*manifest.resource, std::move(manifest.object));
  const api::KindRules& rules = api::rules_of(stored.group, stored.plural);
  if (rules.set_defaults) rules.set_defaults(document);
  return document;
}

// Of all other objects, objections to one look at its namespace only.
std::optional<Json> namespace_among(const std::vector<planning::Document>& read, std::string_view resource,
                                    std::string_view name) {
  if (resource != "namespaces") return std::nullopt;
  for (const planning::Document& document : read)
    if (document.kind == api::Kind::Namespace && document.object.part("metadata").string_at("name") == name)
      return document.object;
  return std::nullopt;
}
std::vector<Json> no_others(std::string_view, std::string_view) {
  return {};
}

// What a server would say against creating the object. A plan goes on without its consent: objects that a
// cluster has stored may be older than today's rules.
api::FieldErrors objections(const api::ResourceInfo& resource, const Json& document,
                            const api::RuleContext& ctx) {
  const api::ResourceInfo& stored = server::storage_of(resource);
  const api::KindRules& rules = api::rules_of(stored.group, stored.plural);
  api::FieldErrors errors = api::validate_meta(document, resource.namespaced, rules.name_rule);
  if (rules.validate_create) api::append(errors, rules.validate_create(document, ctx));
  return errors;
}

// Pods that a server would refuse are decided as Error; of other objects a line on stderr tells.
planning::Document admitted(Manifest& manifest, const api::RuleContext& ctx) {
  const api::ResourceInfo& resource = *manifest.resource;
  planning::Document document{api::kind_of_resource(resource.group, resource.plural), stored_form(manifest)};
  Json& metadata = document.object["metadata"];
  if (resource.namespaced && metadata.string_at("namespace").empty()) metadata["namespace"] = "default";
  if (document.kind == api::Kind::Node) controllers::complete_simulated_node(document.object);
  manifest.object = Json::object({{"kind", resource.kind}, {"metadata", metadata}});
  for (const api::FieldError& error : objections(resource, document.object, ctx)) {
    if (document.kind == api::Kind::Pod) {
      document.trouble += (document.trouble.empty() ? "" : "; ") + error.path + ": " + error.body;
    } else {
      std::fprintf(stderr, "berth: warning: %s: %s (an API server would refuse this)\n",
                   place_of(manifest, error.path).c_str(), error.body.c_str());
    }
  }
  return document;
}

// One object twice is refused, with both places.
Status refuse_repeated(const std::vector<Manifest>& manifests) {
  std::map<std::tuple<std::string_view, std::string, std::string>, const Manifest*> seen;
  for (const Manifest& manifest : manifests) {
    const Json& metadata = manifest.object.part("metadata");
    std::string ns(metadata.string_at("namespace"));
    if (manifest.resource->namespaced && ns.empty()) ns = "default";
    const auto [at, added] = seen.try_emplace(
        {manifest.resource->kind, std::move(ns), std::string(metadata.string_at("name"))}, &manifest);
    if (!added)
      return Error(ErrorCode::Exists, place_of(manifest, "metadata.name"),
                   "is the same object as " + place_of(*at->second, "metadata.name"));
  }
  return {};
}

Status refuse_nameless(const std::vector<Manifest>& manifests) {
  for (const Manifest& manifest : manifests)
    if (manifest.object.part("metadata").string_at("name").empty())
      return Error(ErrorCode::Invalid, place_of(manifest, "metadata.name"), "is missing: a plan needs names");
  return {};
}

void print(const planning::Plan& plan, const PlanCommand& command) {
  const planning::Verdicts verdicts = verdicts_of(command.verdicts);
  if (command.output == "yaml") {
    for (const Json& object : plan.objects) std::printf("---\n%s", api::to_yaml(object).c_str());
  } else if (command.output == "json") {
    std::printf("%s\n", to_pretty_string(planning::to_json(plan, verdicts)).c_str());
  } else {
    std::fputs(planning::to_table(plan, verdicts).c_str(), stdout);
  }
}

}  // namespace

int run_plan(const PlanCommand& command) {
  plug_cel();
  const Result<api::Gates> gates = api::Gates::parse(api::GateDefaults::Up, command.feature_gates);
  if (!gates) return complain(gates.error());
  planning::PlanOptions options;
  if (!command.now.empty()) {
    const Result<Time> now = parse_time(command.now);
    if (!now) return complain(Error(ErrorCode::Invalid, "--now", "is no RFC 3339 time: " + command.now));
    options.now = *now;
  }
  options.seed = command.seed;
  options.verdicts = verdicts_of(command.verdicts);
  options.gates = &*gates;
  options.device_gates = dra::gates_of(*gates);
  options.device_scoring =
      dra::device_scoring_of(command.device_scoring).value_or(dra::DeviceScoring::Reference);
  options.objects = command.output == "yaml";

  Result<std::vector<Manifest>> manifests = read_manifests(command.files, *gates);
  if (!manifests) return complain(manifests.error()), 1;
  for (const Status& checked : {refuse_nameless(*manifests), refuse_repeated(*manifests)})
    if (!checked) return complain(checked.error()), 1;
  std::vector<planning::Document> documents;
  documents.reserve(manifests->size());
  const auto read = [&documents](std::string_view resource, std::string_view, std::string_view name) {
    return namespace_among(documents, resource, name);
  };
  const api::RuleContext ctx{*gates, options.now, "berth-plan", read, no_others};
  for (Manifest& manifest : *manifests) documents.push_back(admitted(manifest, ctx));
  manifests->clear();
  dra::CelSelectors selectors;
  const Result<planning::Plan> plan = planning::make_plan(std::move(documents), options, selectors);
  if (!plan) return complain(plan.error()), 1;
  print(*plan, command);
  return plan->complete() ? 0 : 1;
}

}  // namespace berth::cli
