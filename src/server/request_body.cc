#include "server/request_body.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "api/decode.h"
#include "api/patch.h"
#include "api/protobuf.h"
#include "api/yaml.h"
#include "server/conversions.h"
#include "server/metadata.h"

namespace berth::server {
namespace {

constexpr std::size_t kFieldManagerBytesMax = 128;

constexpr std::string_view kBodyTypes =
    "application/json, application/yaml, application/vnd.kubernetes.protobuf";

Result<api::Decoded> decode_yaml(const api::TypeInfo& type, std::string_view body) {
  Result<std::vector<api::YamlDocument>> documents = api::parse_yaml_documents(body, "body");
  if (!documents) return documents.error();
  if (documents->size() != 1) return Error(ErrorCode::Invalid, "a request body is one YAML document");
  const std::vector<std::string>& duplicates = documents->front().duplicate_keys;
  Result<api::Decoded> decoded = api::decode_document(type, std::move(documents->front().value));
  if (!decoded || duplicates.empty()) return decoded;
  // All of them are one error of the reference's YAML reader.
  std::string text = "yaml: unmarshal errors:";
  for (const std::string& duplicate : duplicates) text += "\n  " + duplicate;
  decoded->strict_errors.insert(decoded->strict_errors.begin(), std::move(text));
  return decoded;
}

// The document in the stored version, with its defaults.
Json to_storage(const api::ResourceInfo& resource, Json document) {
  const api::ResourceInfo& stored = storage_of(resource);
  document = to_stored_shape(resource, std::move(document));
  const api::KindRules& rules = api::rules_of(stored.group, stored.plural);
  if (rules.set_defaults) rules.set_defaults(document);
  return document;
}

constexpr std::size_t kShownBytesMax = 30;  // of a body that a message quotes

// A body in the reference's words: text when it looks like JSON, else hexadecimal.
std::string summary(std::string_view body) {
  if (body.empty()) return "<empty>";
  const std::string_view shown = body.substr(0, kShownBytesMax);
  std::string text(shown);
  if (body.front() != '{') {
    static constexpr std::string_view kDigits = "0123456789abcdef";
    text.clear();
    for (const char c : shown) {
      text += kDigits[static_cast<unsigned char>(c) >> 4];
      text += kDigits[static_cast<unsigned char>(c) & 15];
    }
  }
  return body.size() > kShownBytesMax ? text + " ..." : text;
}

ApiStatus unrecognized(const api::TypeInfo& type, std::string_view body, const std::string& why) {
  return bad_request("the object provided is unrecognized (must be of type " + std::string(type.name) +
                     "): " + why + " (" + summary(body) + ")");
}

ApiStatus not_of_type(const api::TypeInfo& type, std::string_view kind, std::string_view version,
                      const std::string& why) {
  return bad_request(std::string(kind) + " in version \"" + std::string(version) +
                     "\" cannot be handled as a " + std::string(type.name) + ": " + why);
}

// Go's name of the little struct that a body is first read into.
constexpr std::string_view kTypeMetaOfGo =
    R"(struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" })";

// Why JSON text gives no object of the type. A text that is no object at all has no kind yet.
ApiStatus refused_json(const api::TypeInfo& type, std::string_view body, const Error& error) {
  const std::string_view reason = error.message();
  const Result<Json> document = parse_json(body);
  // A number that our parser cannot hold is a type error too.
  const bool is_typed = !document && reason.rfind("json: cannot unmarshal ", 0) == 0;
  const bool is_object = document && (document->is_object() || document->is_null());
  if (is_object || is_typed) return not_of_type(type, type.name, type.version, std::string(reason));
  std::string why = "couldn't get version/kind; json parse error: ";
  if (!document) return unrecognized(type, body, why.append(reason));
  const std::string_view word = document->is_array()    ? "array"
                                : document->is_string() ? "string"
                                : document->is_bool()   ? "bool"
                                                        : "number";
  why.append("json: cannot unmarshal ").append(word).append(" into Go value of type ").append(kTypeMetaOfGo);
  return unrecognized(type, body, why);
}

ApiResult<api::Decoded> decode(const HttpRequest& request, const api::TypeInfo& type) {
  const std::string_view media = media_type(request);
  if (media.empty() || media == "application/json") {
    Result<api::Decoded> decoded = api::decode_json(type, request.body);
    if (!decoded) return refused_json(type, request.body, decoded.error());
    return std::move(decoded).value();
  }
  if (media == "application/yaml") {
    Result<api::Decoded> decoded = decode_yaml(type, request.body);
    if (!decoded) return not_of_type(type, type.name, type.version, std::string(decoded.error().message()));
    return std::move(decoded).value();
  }
  if (media != "application/vnd.kubernetes.protobuf") return unsupported_media_type(kBodyTypes);
  Result<Json> document = api::decode_protobuf_body(type, request.body);
  if (!document) return unrecognized(type, request.body, std::string(document.error().message()));
  return api::Decoded{std::move(document).value(), {}, {}};
}

// Go's package of the internal types of a group.
std::string_view internal_package(std::string_view group) {
  return group.empty() ? "core" : group.substr(0, group.find('.'));
}

// kind and apiVersion of a body may be missing, but must not be another's.
ApiResult<void> check_type(const Json& document, const api::ResourceInfo& resource) {
  const std::string expected = api_version_of(resource);
  std::string_view kind = document.string_at("kind"), api_version = document.string_at("apiVersion");
  if (kind.empty()) kind = resource.kind;
  if (api_version.empty()) api_version = expected;
  if (kind == resource.kind && api_version == expected) return {};
  const std::string_view version = api_version.substr(api_version.find('/') + 1);
  const std::string_view group =
      api_version == version ? std::string_view() : api_version.substr(0, api_version.find('/'));
  const api::TypeInfo* known = api::find_kind(api_version, kind);
  if (known && kind == resource.kind && group == resource.group)
    return bad_request("the API version in the data (" + std::string(api_version) +
                       ") does not match the expected API version (" + expected + ")");
  const std::string why = known ? "converting (" + std::string(version) + "." + std::string(kind) + ") to (" +
                                      std::string(internal_package(resource.group)) + "." +
                                      std::string(resource.kind) + "): unknown conversion"
                                : "no kind \"" + std::string(kind) + "\" is registered for version \"" +
                                      std::string(api_version) + "\" in scheme \"pkg/runtime/scheme.go:111\"";
  const std::string_view shown = known ? version : api_version.substr(api_version.find('/') + 1);
  return not_of_type(resource.type(), kind, shown, why);
}

}  // namespace

std::string_view media_type(const HttpRequest& request) {
  std::string_view type = request.header("Content-Type");
  type = type.substr(0, type.find(';'));
  while (!type.empty() && type.back() == ' ') type.remove_suffix(1);
  return type;
}

ApiResult<FieldValidation> field_validation_of(const HttpRequest& request, std::string_view options_kind) {
  const std::string* said = request.parameter("fieldValidation");
  if (!said || said->empty() || *said == "Warn") return FieldValidation::Warn;
  if (*said == "Strict") return FieldValidation::Strict;
  if (*said == "Ignore") return FieldValidation::Ignore;
  return invalid("meta.k8s.io", options_kind, "",
                 {api::not_supported("fieldValidation", *said, {"", "Ignore", "Strict", "Warn"})});
}

bool is_apply(const HttpRequest& request) {
  return api::patch_type_of(media_type(request)) == api::PatchType::Apply;
}

ApiResult<WriteOptions> write_options_of(const HttpRequest& request, std::string_view options_kind) {
  WriteOptions options;
  options.user = request.user.name;
  JsonArray asked;
  for (const auto& [key, value] : request.query)
    if (key == "dryRun") asked.emplace_back(value);
  for (const Json& value : asked)
    if (value != Json("All"))
      return invalid("meta.k8s.io", options_kind, "", {api::not_supported("dryRun", asked, {"All"})});
  options.dry_run = !asked.empty();
  const std::string* manager = request.parameter("fieldManager");
  if (manager && manager->size() > kFieldManagerBytesMax)
    return invalid("meta.k8s.io", options_kind, "", {api::too_long("fieldManager", kFieldManagerBytesMax)});
  if (request.method == "PATCH" && !is_apply(request) && request.parameter("force"))
    return invalid("meta.k8s.io", options_kind, "",
                   {api::forbidden("force", "may not be specified for non-apply patch")});
  return options;
}

ApiResult<ReadBody> read_object(const HttpRequest& request, const api::ResourceInfo& resource,
                                FieldValidation validation) {
  api::Decoded body = TRY(decode(request, resource.type()));
  if (!body.document.is_object()) body.document = Json::object();
  TRY(check_type(body.document, resource));
  if (!body.strict_errors.empty() && validation == FieldValidation::Strict)
    return bad_request(std::string(resource.kind) + " in version \"" + std::string(resource.version) +
                       "\" cannot be handled as a " + std::string(resource.kind) + ": " +
                       api::strict_error_text(body.strict_errors));
  ReadBody read;
  read.empty_lists = std::move(body.empty_lists);
  read.document = to_storage(resource, std::move(body.document));
  if (validation == FieldValidation::Warn) read.warnings = std::move(body.strict_errors);
  return read;
}

ApiResult<Json> read_document(const HttpRequest& request, const api::TypeInfo& type) {
  if (request.body.empty()) return Json();
  return TRY(decode(request, type)).document;
}

namespace {

// The query says the same as the body, for clients that send none.
void read_delete_query(const HttpRequest& request, Json& body) {
  for (const auto& [key, value] : request.query) {
    if (key == "dryRun") body["dryRun"] = Json::array({value});
    if (key == "propagationPolicy") body["propagationPolicy"] = value;
    if (key == "orphanDependents") body["orphanDependents"] = value == "true";
    std::int64_t grace_s = 0;
    const char* end = value.data() + value.size();
    if (key == "gracePeriodSeconds" && std::from_chars(value.data(), end, grace_s).ptr == end)
      body["gracePeriodSeconds"] = grace_s;
  }
}

ApiResult<void> check_delete_options(const Json& body) {
  api::FieldErrors errors;
  const std::string_view policy = body.string_at("propagationPolicy");
  const Json* orphan = body.find("orphanDependents");
  if (orphan && !policy.empty())
    errors.push_back(api::invalid("propagationPolicy", policy,
                                  "orphanDependents and deletionPropagation cannot be both set"));
  const bool known = policy.empty() || policy == "Foreground" || policy == "Background" || policy == "Orphan";
  if (!known)
    errors.push_back(
        api::not_supported("propagationPolicy", policy, {"Foreground", "Background", "Orphan", "nil"}));
  for (const Json& value : body.items_at("dryRun"))
    if (value != Json("All"))
      errors.push_back(api::not_supported("dryRun", body.items_at("dryRun"), {"All"}));
  if (errors.empty()) return {};
  return invalid("meta.k8s.io", "DeleteOptions", "", errors);
}

}  // namespace

DeleteOptions delete_options_of(const Json& body) {
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
  return options;
}

ApiResult<DeleteOptions> read_delete_options(const HttpRequest& request) {
  Json body = TRY(read_document(request, *api::find_type("meta.k8s.io", "v1", "DeleteOptions")));
  if (!body.is_object()) body = Json::object();
  const std::string_view kind = body.string_at("kind");
  if (!kind.empty() && kind != "DeleteOptions")
    return bad_request("no kind \"" + std::string(kind) + "\" is registered for version \"" +
                       std::string(body.string_at("apiVersion")) +
                       "\" in scheme \"pkg/runtime/scheme.go:111\"");
  read_delete_query(request, body);
  TRY(check_delete_options(body));
  return delete_options_of(body);
}

namespace {

ApiStatus patch_error(const Error& error) {
  if (error.code() == ErrorCode::Unsupported) return bad_request(error.message());
  ApiStatus status = plain_error(error.message());
  if (error.code() == ErrorCode::TooLarge) {
    status.code = 413;
    status.reason = "RequestEntityTooLarge";
  }
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

// A patch that leads to no object of the kind: the text quotes the whole patched document, or a strategic
// patch itself, as the reference does.
ApiStatus refused_result(api::PatchType type, const Json& document, const std::string& patch,
                         std::string_view why) {
  std::string quoted = to_string(document);
  if (type == api::PatchType::StrategicMerge)
    if (const Result<Json> map = parse_json(patch)) quoted = api::go_value_text(*map);
  return invalid("", "", "", {api::invalid("patch", quoted, why)});
}

// A patch may not make an object of another kind. The reference reads the result as what it says it is, and
// complains of the first thing that does not fit.
ApiResult<void> check_same_kind(const api::ResourceInfo& resource, api::PatchType type, const Json& document,
                                const std::string& patch) {
  const std::string_view kind = document.string_at("kind");
  const std::string_view version = document.string_at("apiVersion");
  const std::string own = api_version_of(resource);
  if (kind == resource.kind && version == own) return {};
  const api::TypeInfo* claimed = api::find_kind(version, kind);
  if (!claimed)
    return refused_result(type, document, patch,
                          "no kind \"" + std::string(kind) + "\" is registered for version \"" +
                              std::string(version) + "\" in scheme \"pkg/api/legacyscheme/scheme.go:30\"");
  const Result<api::Decoded> decoded = api::decode_document(*claimed, document);
  if (!decoded) return refused_result(type, document, patch, decoded.error().message());
  return bad_request("the object's kind " + std::string(kind) + " of " + std::string(version) +
                     " is not the kind of the resource: " + std::string(resource.kind) + " of " + own);
}

}  // namespace

Registry::Change patch_change(const HttpRequest& request, const api::ResourceInfo& resource,
                              FieldValidation validation, std::vector<std::string>& warnings) {
  const std::optional<api::PatchType> type = api::patch_type_of(media_type(request));
  if (!type) return [](const Json&) -> ApiResult<Json> { return no_patch_type(); };
  return [&resource, &warnings, type = *type, validation,
          body = request.body](const Json& current) -> ApiResult<Json> {
    const Json served = to_served_shape(resource, current);
    Result<Json> result = patched(type, resource, served, body);
    if (!result) return patch_error(result.error());
    const Json asked = *result;
    TRY(check_same_kind(resource, type, asked, body));
    Result<api::Decoded> decoded = api::decode_document(resource.type(), std::move(result).value(), served);
    if (!decoded) return refused_result(type, asked, body, decoded.error().message());
    const bool strict = validation == FieldValidation::Strict;
    if (strict && !decoded->strict_errors.empty())
      return refused_result(type, asked, body, api::strict_error_text(decoded->strict_errors));
    if (validation == FieldValidation::Warn) warnings = decoded->strict_errors;
    return to_storage(resource, std::move(decoded->document));
  };
}

}  // namespace berth::server
