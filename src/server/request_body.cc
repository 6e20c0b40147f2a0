#include "server/request_body.h"

#include "api/decode.h"
#include "api/protobuf.h"
#include "api/yaml.h"
#include "base/hex.h"
#include "server/conversions.h"
#include "server/object_target.h"

namespace berth::server {
namespace {

constexpr std::string_view kBodyTypes =
    "application/json, application/yaml, application/vnd.kubernetes.protobuf";

Result<api::Decoded> decode_yaml(const api::TypeInfo& type, std::string_view body) {
  Result<std::vector<api::YamlDocument>> documents = api::parse_yaml_documents(body, "body");
  if (!documents) return documents.error();
  if (documents->size() != 1) return Error(ErrorCode::Invalid, "a request body is one YAML document");
  const std::vector<std::string>& duplicates = documents->front().duplicate_keys;
  Result<api::Decoded> decoded = api::decode_document(type, std::move(documents->front().value));
  if (!decoded || duplicates.empty()) return decoded;
  decoded->strict_errors.insert(decoded->strict_errors.begin(), duplicate_keys_text(duplicates));
  return decoded;
}

constexpr std::size_t kShownBytesMax = 30;  // of a body that a message quotes

// A body in the reference's words: text when it looks like JSON, else hexadecimal.
std::string summary(std::string_view body) {
  if (body.empty()) return "<empty>";
  const std::string_view shown = body.substr(0, kShownBytesMax);
  std::string text(shown);
  if (body.front() != '{') {
    text.clear();
    for (const char c : shown) append_hex(text, static_cast<unsigned char>(c), kHexLower);
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

// Go's name of the struct that the reference reads a body into first.
constexpr std::string_view kTypeMetaOfGo =
    R"(struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" })";

// Why JSON text does not decode to the type. A text that is no object at all has no kind yet.
ApiStatus refused_json(const api::TypeInfo& type, std::string_view body, const Error& error) {
  const std::string_view reason = error.message();
  const Result<Json> document = parse_json(body);
  // A number that Berth's parser cannot hold is a type error too.
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

// kind and apiVersion of a body may be missing, but must not differ.
ApiResult<void> check_type(const Json& document, const api::ResourceInfo& resource) {
  const std::string expected = api_version_of(resource);
  std::string_view kind = document.string_at("kind"), api_version = document.string_at("apiVersion");
  if (kind.empty()) kind = resource.kind;
  if (api_version.empty()) api_version = expected;
  if (kind == resource.kind && api_version == expected) return {};
  const auto [group, version] = api::group_version_of(api_version);
  const api::TypeInfo* known = api::find_kind(api_version, kind);
  if (known && kind == resource.kind && group == resource.group)
    return bad_request("the API version in the data (" + std::string(api_version) +
                       ") does not match the expected API version (" + expected + ")");
  const std::string why = known ? "converting (" + std::string(version) + "." + std::string(kind) + ") to (" +
                                      std::string(internal_package(resource.group)) + "." +
                                      std::string(resource.kind) + "): unknown conversion"
                                : "no kind \"" + std::string(kind) + "\" is registered for version \"" +
                                      std::string(api_version) + "\" in scheme \"pkg/runtime/scheme.go:111\"";
  return not_of_type(resource.type(), kind, version, why);
}

}  // namespace

std::string duplicate_keys_text(const std::vector<std::string>& duplicate_keys) {
  std::string text = "yaml: unmarshal errors:";
  for (const std::string& duplicate : duplicate_keys) text += "\n  " + duplicate;
  return text;
}

std::string_view media_type(const HttpRequest& request) {
  std::string_view type = request.header("Content-Type");
  type = type.substr(0, type.find(';'));
  while (!type.empty() && type.back() == ' ') type.remove_suffix(1);
  return type;
}

Json to_storage(const api::ResourceInfo& resource, Json document) {
  const api::ResourceInfo& stored = storage_of(resource);
  document = to_stored_shape(resource, std::move(document));
  const api::KindRules& rules = api::rules_of(stored.group, stored.plural);
  if (rules.set_defaults) rules.set_defaults(document);
  return document;
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

}  // namespace berth::server
