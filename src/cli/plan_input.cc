#include "cli/plan_input.h"

#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "api/new_objects.h"
#include "api/served_kinds.h"
#include "base/assert.h"
#include "controllers/controllers.h"
#include "dra/cel_check.h"
#include "planning/workload_pods.h"

namespace berth::cli {
namespace {

constexpr std::string_view kBatch = "batch", kJob = "Job";

const api::KindRules& rules_of(const api::ResourceInfo& resource) {
  const api::ResourceInfo& stored = api::storage_of(resource);
  return api::rules_of(stored.group, stored.plural);
}

Json stored_form(Manifest& manifest) {
  BERTH_ASSERT(manifest.canonical.is_object(), "check_manifest() comes first");
  return api::to_stored_form(*manifest.resource, rules_of(*manifest.resource),
                             std::exchange(manifest.canonical, {}));
}

// Validation of an object reads no other object but its namespace.
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

// A new Job gets its selector, which names its UID, with its other defaults.
void complete_job(Json& job, const api::RuleContext& ctx) {
  if (!job.part("spec").part("selector").is_null()) return;
  Json& metadata = job["metadata"];
  if (metadata.string_at("uid").empty())
    metadata["uid"] = planning::derived_uid("Job " + std::string(metadata.string_at("namespace")) + "/" +
                                            std::string(metadata.string_at("name")));
  api::rules_of(kBatch, "jobs").prepare_create(job, ctx);
}

planning::Document stored_document(Manifest& manifest, const api::RuleContext& ctx) {
  const api::ResourceInfo& resource = *manifest.resource;
  planning::Document document{api::kind_of_resource(resource.group, resource.plural), stored_form(manifest)};
  Json& metadata = document.object["metadata"];
  if (resource.namespaced && metadata.string_at("namespace").empty()) metadata["namespace"] = "default";
  if (document.kind == api::Kind::Node) controllers::complete_simulated_node(document.object);
  if (resource.kind == kJob && resource.group == kBatch) complete_job(document.object, ctx);
  // place_of still needs kind and name.
  manifest.object = Json::object({{"kind", resource.kind}, {"metadata", metadata}});
  return document;
}

// Refuses a duplicate object, with both places.
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

}  // namespace

Result<PlanInput> plan_input(std::vector<Manifest> manifests, const api::Gates& gates, Time now) {
  TRY(refuse_nameless(manifests));
  TRY(refuse_repeated(manifests));
  PlanInput input;
  input.documents.reserve(manifests.size());
  const auto read = [&](std::string_view resource, std::string_view, std::string_view name) {
    return namespace_among(input.documents, resource, name);
  };
  const api::RuleContext ctx{gates, dra::check_cel, now, "berth-plan", read, no_others};
  for (Manifest& manifest : manifests) {
    planning::Document document = stored_document(manifest, ctx);
    const api::ResourceInfo& resource = *manifest.resource;
    for (const api::FieldError& error :
         api::validate_new(document.object, resource.namespaced, rules_of(resource), ctx)) {
      document.trouble += (document.trouble.empty() ? "" : "; ") + error.path + ": " + error.body;
      if (document.kind != api::Kind::Pod)
        input.warnings.push_back(place_of(manifest, error.path) + ": " + error.body +
                                 " (an API server would refuse this)");
    }
    input.documents.push_back(std::move(document));
  }
  return input;
}

Result<PlanInput> plan_input(ManifestSelection selection, const api::Gates& gates, Time now) {
  TRY(refuse_nameless(selection.groups));
  PlanInput input = TRY(plan_input(std::move(selection.manifests), gates, now));
  std::set<std::tuple<std::string, std::string, std::string>> seen;
  for (Manifest& manifest : selection.groups) {
    Json& metadata = manifest.object["metadata"];
    if (metadata.string_at("namespace").empty()) metadata["namespace"] = "default";
    if (!seen.emplace(manifest.object.string_at("apiVersion"), metadata.string_at("namespace"),
                      metadata.string_at("name"))
             .second)
      return Error(ErrorCode::Exists, place_of(manifest, "metadata.name"), "is in the input twice");
    input.documents.push_back({api::Kind::Other, std::move(manifest.object)});
  }
  return input;
}

}  // namespace berth::cli
