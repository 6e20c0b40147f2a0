#include "server/request_body.h"

#include <algorithm>
#include <array>

#include "api/decode.h"
#include "api/patch.h"
#include "api/protobuf.h"
#include "api/yaml.h"
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

Result<api::Decoded> decode_yaml(const api::TypeInfo& type, std::string_view body) {
  Result<std::vector<api::YamlDocument>> documents = api::parse_yaml_documents(body, "body");
  if (!documents) return documents.error();
  if (documents->size() != 1) return Error(ErrorCode::Invalid, "a request body is one YAML document");
  return api::decode_document(type, std::move(documents->front().value));
}

// The document in the stored version, with its defaults.
Json to_storage(const api::ResourceInfo& resource, Json document) {
  const api::ResourceInfo& stored = storage_of(resource);
  document["kind"] = stored.kind;
  document["apiVersion"] =
      api::ResourceRef{std::string(stored.group), std::string(stored.version), ""}.api_version();
  const api::KindRules& rules = api::rules_of(stored.group, stored.plural);
  if (rules.set_defaults) rules.set_defaults(document);
  return document;
}

std::variant<api::Decoded, ApiStatus> decode(const HttpRequest& request, const api::TypeInfo& type) {
  const std::string_view media = media_type(request);
  Result<api::Decoded> decoded = api::Decoded{};
  if (media.empty() || media == "application/json") {
    decoded = api::decode_json(type, request.body);
  } else if (media == "application/yaml") {
    decoded = decode_yaml(type, request.body);
  } else if (media == "application/vnd.kubernetes.protobuf") {
    Result<Json> document = api::decode_protobuf_body(type, request.body);
    decoded = document ? Result<api::Decoded>(api::Decoded{std::move(document).value(), {}})
                       : Result<api::Decoded>(document.error());
  } else {
    return unsupported_media_type(kBodyTypes);
  }
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
  read.document = to_storage(resource, std::move(body.document));
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

namespace {

ApiStatus of_patch_error(const Error& error) {
  if (error.code() == ErrorCode::Unsupported) return bad_request(error.message());
  ApiStatus status;
  status.message = error.message();
  if (error.code() == ErrorCode::TooLarge) status.code = 413, status.reason = "RequestEntityTooLarge";
  if (error.code() == ErrorCode::Invalid) {
    status.code = 422;
    status.reason = "Invalid";
    status.message = "the server rejected our request due to an error in our request";
    status.has_details = true;
  }
  return status;
}

Result<Json> patched(api::PatchType type, const api::ResourceInfo& resource, const Json& current,
                     std::string_view patch) {
  if (type == api::PatchType::Json) return api::apply_json_patch(current, patch);
  if (type == api::PatchType::Merge) return api::apply_merge_patch(current, patch);
  return api::apply_strategic_merge_patch(resource.type(), current, patch);
}

// A patch that leads to no object of the kind: the text quotes the whole patched document, as the reference does.
ApiStatus refused_result(const Json& document, std::string_view why) {
  return invalid("", "", "", {api::invalid("patch", to_string(document), why)});
}

}  // namespace

Registry::Change patch_change(const HttpRequest& request, const api::ResourceInfo& resource,
                              FieldValidation validation, std::vector<std::string>& warnings) {
  const std::optional<api::PatchType> type = api::patch_type_of(media_type(request));
  if (!type)
    return [](const Json&) -> std::variant<Json, ApiStatus> {
      ApiStatus status;
      status.code = 415;
      status.reason = "UnsupportedMediaType";
      status.message = "415: Unsupported Media Type";
      return status;
    };
  if (type == api::PatchType::Apply)
    return [](const Json&) -> std::variant<Json, ApiStatus> {
      return not_implemented("server-side apply is not served yet: use kubectl apply without --server-side");
    };
  return [&resource, &warnings, type = *type, validation,
          body = request.body](const Json& current) -> std::variant<Json, ApiStatus> {
    Result<Json> result = patched(type, resource, current, body);
    if (!result) return of_patch_error(result.error());
    const Json asked = *result;
    Result<api::Decoded> decoded = api::decode_document(resource.type(), std::move(result).value());
    if (!decoded) return refused_result(asked, decoded.error().message());
    const bool strict = validation == FieldValidation::Strict;
    if (strict && !decoded->strict_errors.empty())
      return refused_result(asked, api::strict_error_text(decoded->strict_errors));
    if (validation == FieldValidation::Warn) warnings = decoded->strict_errors;
    return to_storage(resource, std::move(decoded->document));
  };
}

}  // namespace berth::server
