#include "server/request_body.h"

#include <algorithm>
#include <array>

#include "api/decode.h"
#include "server/metadata.h"

namespace berth::server {
namespace {

constexpr std::string_view kBodyTypes =
    "application/json, application/yaml, application/vnd.kubernetes.protobuf";

std::string_view media_type(const HttpRequest& request) {
  std::string_view type = request.header("Content-Type");
  type = type.substr(0, type.find(';'));
  while (!type.empty() && type.back() == ' ') type.remove_suffix(1);
  return type;
}

std::variant<api::Decoded, ApiStatus> decode(const HttpRequest& request, const api::TypeInfo& type) {
  const std::string_view media = media_type(request);
  const bool json = media.empty() || media == "application/json";
  if (!json) return unsupported_media_type(kBodyTypes);
  Result<api::Decoded> decoded = api::decode_json(type, request.body);
  if (decoded) return std::move(decoded).value();
  const std::string version(type.version);
  return bad_request(std::string(type.name) + " in version \"" + version + "\" cannot be handled as a " +
                     std::string(type.name) + ": " + decoded.error().message());
}

std::optional<ApiStatus> check_type(const Json& document, const api::ResourceInfo& resource) {
  const std::string_view kind = document.string_at("kind"), api_version = document.string_at("apiVersion");
  const std::string expected =
      api::ResourceRef{std::string(resource.group), std::string(resource.version), ""}.api_version();
  if (!api_version.empty() && api_version != expected)
    return bad_request("the API version in the data (" + std::string(api_version) +
                       ") does not match the expected API version (" + expected + ")");
  if (!kind.empty() && kind != resource.kind)
    return bad_request("the kind in the data (" + std::string(kind) + ") does not match the expected kind (" +
                       std::string(resource.kind) + ")");
  return std::nullopt;
}

}  // namespace

std::variant<FieldValidation, ApiStatus> field_validation_of(const HttpRequest& request,
                                                             std::string_view options_kind) {
  const std::string* said = request.parameter("fieldValidation");
  if (!said || said->empty() || *said == "Warn") return FieldValidation::Warn;
  if (*said == "Strict") return FieldValidation::Strict;
  if (*said == "Ignore") return FieldValidation::Ignore;
  return invalid("meta.k8s.io", options_kind, "",
                 {api::not_supported("fieldValidation", *said, {"", "Ignore", "Strict", "Warn"})});
}

std::variant<WriteOptions, ApiStatus> write_options_of(const HttpRequest& request, std::string_view options_kind) {
  WriteOptions options;
  options.user = request.user.name;
  JsonArray asked;
  for (const auto& [key, value] : request.query)
    if (key == "dryRun") asked.emplace_back(value);
  for (const Json& value : asked)
    if (value != Json("All"))
      return invalid("meta.k8s.io", options_kind, "", {api::not_supported("dryRun", asked, {"All"})});
  options.dry_run = !asked.empty();
  return options;
}

std::variant<ReadBody, ApiStatus> read_object(const HttpRequest& request, const api::ResourceInfo& resource,
                                              FieldValidation validation) {
  auto decoded = decode(request, resource.type());
  if (auto* status = std::get_if<ApiStatus>(&decoded)) return std::move(*status);
  api::Decoded& body = std::get<api::Decoded>(decoded);
  if (!body.document.is_object()) body.document = Json::object();
  if (const auto status = check_type(body.document, resource)) return *status;
  if (!body.strict_errors.empty() && validation == FieldValidation::Strict)
    return bad_request(std::string(resource.kind) + " in version \"" + std::string(resource.version) +
                       "\" cannot be handled as a " + std::string(resource.kind) + ": " +
                       api::strict_error_text(body.strict_errors));
  ReadBody read;
  read.document = std::move(body.document);
  const api::ResourceInfo& stored = storage_of(resource);
  read.document["kind"] = stored.kind;
  read.document["apiVersion"] =
      api::ResourceRef{std::string(stored.group), std::string(stored.version), ""}.api_version();
  if (validation == FieldValidation::Warn) read.warnings = std::move(body.strict_errors);
  return read;
}

std::variant<Json, ApiStatus> read_document(const HttpRequest& request, const api::TypeInfo& type) {
  if (request.body.empty()) return Json();
  auto decoded = decode(request, type);
  if (auto* status = std::get_if<ApiStatus>(&decoded)) return std::move(*status);
  return std::move(std::get<api::Decoded>(decoded).document);
}

std::variant<DeleteOptions, ApiStatus> read_delete_options(const HttpRequest& request) {
  auto read = read_document(request, *api::find_type("meta.k8s.io", "v1", "DeleteOptions"));
  if (auto* status = std::get_if<ApiStatus>(&read)) return std::move(*status);
  const Json& body = std::get<Json>(read);
  DeleteOptions options;
  if (const Json* grace = body.find("gracePeriodSeconds"); grace && grace->is_int())
    options.grace_s = grace->as_int();
  if (const Json* preconditions = body.find("preconditions")) {
    options.uid = preconditions->string_at("uid");
    options.resource_version = preconditions->string_at("resourceVersion");
  }
  options.propagation = body.string_at("propagationPolicy");
  const Json* orphan = body.find("orphanDependents");
  if (orphan && orphan->is_bool()) options.propagation = orphan->as_bool() ? "Orphan" : "Background";
  options.dry_run = !body.items_at("dryRun").empty();
  for (const auto& [key, value] : request.query) {
    if (key == "dryRun") options.dry_run = true;
    if (key == "propagationPolicy") options.propagation = value;
    if (key == "orphanDependents") options.propagation = value == "true" ? "Orphan" : "Background";
    if (key == "gracePeriodSeconds") options.grace_s = std::atoll(value.c_str());
  }
  return options;
}

Registry::Change patch_change(const HttpRequest&, const api::ResourceInfo&, FieldValidation,
                              std::vector<std::string>&) {
  return [](const Json&) -> std::variant<Json, ApiStatus> { return unsupported_media_type(kBodyTypes); };
}

}  // namespace berth::server
