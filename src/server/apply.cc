#include "server/apply.h"

#include "api/conversions.h"
#include "api/decode.h"
#include "api/patch.h"
#include "api/yaml.h"
#include "crd/served_version.h"
#include "server/field_ownership.h"
#include "server/metadata.h"
#include "server/request_body.h"
#include "server/scale.h"
#include "server/write_errors.h"

namespace berth::server {
namespace {

constexpr std::string_view kScaleVersion = "autoscaling/v1", kScaleKind = "Scale";

// "/v1, Kind=Pod", "apps/v1, Kind=Deployment".
std::string kind_text(std::string_view api_version, std::string_view kind) {
  const std::string slash = api_version.find('/') == std::string_view::npos ? "/" : "";
  return slash + std::string(api_version) + ", Kind=" + std::string(kind);
}

ApiStatus conflict_status(const apply::Conflicts& conflicts) {
  ApiStatus status;
  status.code = 409;
  status.reason = "Conflict";
  status.has_details = true;
  for (const apply::Conflict& conflict : conflicts)
    status.causes.push_back(
        {"FieldManagerConflict", "conflict with " + conflict.manager.text(), apply::text_of(conflict.path)});
  if (conflicts.size() == 1) {
    status.message = "Apply failed with 1 conflict: conflict with " + conflicts.front().manager.text() +
                     ": " + apply::text_of(conflicts.front().path);
    return status;
  }
  status.message = "Apply failed with " + std::to_string(conflicts.size()) + " conflicts:";
  std::string_view before = " ";
  const apply::ManagerId* named = nullptr;
  for (const apply::Conflict& conflict : conflicts) {
    if (!named || !(*named == conflict.manager)) {
      status.message.append(before).append("conflicts with ").append(conflict.manager.text()).append(":");
      named = &conflict.manager;
      before = "\n";
    }
    status.message.append("\n- ").append(apply::text_of(conflict.path));
  }
  return status;
}

// The merged object must be the one of the path.
ApiResult<void> check_name(const Json& merged, const ObjectTarget& target) {
  const std::string_view name = metadata_of(merged).string_at("name");
  if (name.empty())
    return bad_request("the name of the object (" + target.name +
                       " based on URL) was undeterminable: name must be provided");
  if (name != target.name) return other_name(name, target.name);
  return {};
}

ApiResult<Json> read_configuration(const HttpRequest& request, FieldValidation validation,
                                   std::vector<std::string>& warnings) {
  Result<std::vector<api::YamlDocument>> documents =
      api::parse_yaml_documents(request.body, "yaml", api::YamlLines::AsGo);
  if (!documents) return bad_request("error encoding patch: " + std::string(documents.error().message()));
  if (documents->empty()) return Json::object();
  api::YamlDocument& document = documents->front();
  if (validation == FieldValidation::Ignore || document.duplicate_keys.empty())
    return std::move(document.value);
  std::string text = duplicate_keys_text(document.duplicate_keys);
  if (validation == FieldValidation::Strict) return bad_request("error strict decoding patch: " + text);
  warnings.push_back(std::move(text));
  return std::move(document.value);
}

// The part of the object that a Scale stands for.
Json scaled_object(const Json& scale, const api::ResourceInfo& resource) {
  Json object = Json::object({{"apiVersion", api_version_of(resource)}, {"kind", resource.kind}});
  if (const Json* metadata = scale.find("metadata")) object["metadata"] = *metadata;
  if (const crd::ServedVersion* custom = crd::served_version(resource)) {
    const Json* replicas = scale.part("spec").find("replicas");
    if (replicas && custom->scale) place_at(object, custom->scale->replicas.members) = *replicas;
  } else if (const Json* spec = scale.find("spec")) {
    object["spec"] = *spec;
  }
  return object;
}

// One apply, attempted on each state of the object that is found.
struct Application {
  ObjectTarget target;
  WriteOptions options;
  Json configuration;
  Time now;
  bool force = false;

  ApiResult<Json> operator()(const Json& current) const;
};

// What was merged, in the form in which it is stored. Members that the type lacks were refused before.
ApiResult<Json> stored_form(const api::ResourceInfo& resource, Json merged, const Json& live) {
  if (resource.custom) {
    std::vector<std::string> strict_errors;
    return to_storage(resource, TRY(shaped_document(resource, std::move(merged), strict_errors)));
  }
  Result<api::Decoded> decoded = api::decode_document(resource.type(), std::move(merged), live);
  if (!decoded) return bad_request(decoded.error().message());
  return to_storage(resource, std::move(decoded->document));
}

ApiResult<Json> Application::operator()(const Json& current) const {
  const api::ResourceInfo& resource = *target.resource;
  const Json live = current.is_null() ? empty_object_of(resource) : to_served_shape(resource, current);
  apply::ApplyResult result = field_manager_of(target, options, now).applied(live, configuration, force);
  if (const auto* conflicts = std::get_if<apply::Conflicts>(&result)) return conflict_status(*conflicts);
  if (const auto* refused = std::get_if<apply::NotTyped>(&result)) {
    const Json& metadata = metadata_of(configuration);
    return plain_error("failed to create typed patch object (" +
                       std::string(metadata.string_at("namespace")) + "/" +
                       std::string(metadata.string_at("name")) + "; " +
                       kind_text(configuration.string_at("apiVersion"), configuration.string_at("kind")) +
                       "): " + refused->why);
  }
  apply::Applied& applied = std::get<apply::Applied>(result);
  TRY(check_name(applied.document, target));
  Json next = TRY(stored_form(resource, std::move(applied.document), live));
  if (!applied.managed_fields.is_null())
    metadata_of(next)["managedFields"] = std::move(applied.managed_fields);
  return next;
}

}  // namespace

bool is_apply(const HttpRequest& request) {
  return api::patch_type_of(media_type(request)) == api::PatchType::Apply;
}

ApiResult<Registry::Change> apply_change(const HttpRequest& request, const ObjectTarget& target,
                                         const WriteOptions& options, FieldValidation validation, Time now,
                                         std::vector<std::string>& warnings) {
  const std::string* manager = request.parameter("fieldManager");
  if (!manager || manager->empty())
    return invalid("meta.k8s.io", "PatchOptions", "",
                   {api::required("fieldManager", "is required for apply patch")});
  Application application{target, options, TRY(read_configuration(request, validation, warnings)), now};
  Json& configuration = application.configuration;
  const bool is_scale = target.subresource == "scale";
  const std::string wanted = is_scale ? std::string(kScaleVersion) : api_version_of(*target.resource);
  const std::string_view version = configuration.string_at("apiVersion"),
                         kind = configuration.string_at("kind");
  if (version != wanted || kind != (is_scale ? kScaleKind : target.resource->kind))
    return bad_request("invalid object type: " + kind_text(version, kind));
  if (metadata_of(std::as_const(configuration)).find("managedFields"))
    return bad_request("metadata.managedFields must be nil");
  if (is_scale) configuration = scaled_object(configuration, *target.resource);
  const std::string* force = request.parameter("force");
  application.force = force && (*force == "true" || *force == "1");
  return Registry::Change(std::move(application));
}

}  // namespace berth::server
