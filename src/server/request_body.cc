#include "server/request_body.h"

#include <algorithm>
#include <map>

#include "api/decode.h"
#include "api/new_objects.h"
#include "api/protobuf.h"
#include "api/yaml.h"
#include "base/hex.h"
#include "crd/object_rules.h"
#include "server/object_target.h"

namespace berth::server {
namespace {

constexpr std::string_view kBodyTypes =
    "application/json, application/yaml, application/vnd.kubernetes.protobuf";

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

// Why the reference cannot find out the kind of a parsed document; empty when it can.
std::string kind_problem(const Json& document) {
  std::string why = "couldn't get version/kind; json parse error: json: cannot unmarshal ";
  if (document.is_null()) return "";
  if (!document.is_object())
    return why.append(api::go_word(document)).append(" into Go value of type ").append(kTypeMetaOfGo);
  for (const JsonMember& member : document.as_object()) {
    const bool names_type = member.key == "kind" || member.key == "apiVersion";
    if (!names_type || member.value.is_string() || member.value.is_null()) continue;
    why.append(api::go_word(member.value)).append(" into Go struct field .").append(member.key);
    return why.append(" of type string");
  }
  return "";
}

struct JsonRefusal {
  std::string why;
  bool has_kind;  // the reference knew the kind by then
};

JsonRefusal json_refusal(std::string_view body, const Error& error) {
  const std::string& reason = error.message();
  const Result<Json> document = parse_json(body);
  // A number that Berth's parser cannot hold is a type error too.
  if (!document && reason.rfind("json: cannot unmarshal ", 0) == 0) return {reason, true};
  if (!document) return {"couldn't get version/kind; json parse error: " + reason, false};
  const std::string problem = kind_problem(*document);
  return problem.empty() ? JsonRefusal{reason, true} : JsonRefusal{problem, false};
}

// Why JSON text does not decode to the type. A text that is no object at all has no kind yet.
ApiStatus refused_json(const api::TypeInfo& type, std::string_view body, const Error& error) {
  const JsonRefusal refusal = json_refusal(body, error);
  if (refusal.has_kind) return not_of_type(type, type.name, type.version, refusal.why);
  return unrecognized(type, body, refusal.why);
}

// The first document of the body counts; none is an object without members.
ApiResult<api::Decoded> decode_yaml(const api::TypeInfo& type, std::string_view body) {
  Result<std::vector<api::YamlDocument>> documents =
      api::parse_yaml_documents(body, "yaml", api::YamlLines::AsGo);
  if (!documents) return unrecognized(type, body, std::string(documents.error().message()));
  Json document = documents->empty() ? Json() : std::move(documents->front().value);
  if (document.is_null()) document = Json::object();
  if (const std::string problem = kind_problem(document); !problem.empty())
    return unrecognized(type, body, problem);
  Result<api::Decoded> decoded = api::decode_document(type, std::move(document));
  if (!decoded) return not_of_type(type, type.name, type.version, std::string(decoded.error().message()));
  if (documents->empty() || documents->front().duplicate_keys.empty()) return *std::move(decoded);
  decoded->strict_errors.insert(decoded->strict_errors.begin(),
                                duplicate_keys_text(documents->front().duplicate_keys));
  return *std::move(decoded);
}

ApiResult<api::Decoded> decode(const HttpRequest& request, const api::TypeInfo& type) {
  const std::string_view media = media_type(request);
  if (media.empty() || media == "application/json") {
    Result<api::Decoded> decoded = api::decode_json(type, request.body);
    if (!decoded) return refused_json(type, request.body, decoded.error());
    return std::move(decoded).value();
  }
  if (media == "application/yaml") return decode_yaml(type, request.body);
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

constexpr std::string_view kCustomBodyTypes = "application/json, application/yaml";

// Of one object: the last member of a name counts, the others are named.
void drop_repeated_members(Json& value, const std::string& path, std::vector<std::string>& errors) {
  std::map<std::string_view, std::size_t> last;
  const JsonObject& given = std::as_const(value).as_object();
  std::size_t at = 0;
  for (const JsonMember& member : given) last[member.key] = at++;
  if (last.size() < given.size()) {
    JsonObject kept;
    at = 0;
    for (const JsonMember& member : given) {
      if (last.at(member.key) == at++)
        kept.append(member.key, member.value);
      else if (errors.size() < api::kStrictErrorsMax)
        errors.push_back("duplicate field \"" + (path.empty() ? "" : path + ".") + member.key + "\"");
    }
    last.clear();
    value = Json(std::move(kept));
  }
}

bool has_repeated(const JsonObject& object) {
  return std::any_of(object.begin(), object.end(),
                     [&](const JsonMember& member) { return object.find(member.key) != &member.value; });
}

// Of one object, or of one below it.
bool has_repeated_anywhere(const Json& value) {
  if (value.is_array())
    return std::any_of(value.as_array().begin(), value.as_array().end(), has_repeated_anywhere);
  if (!value.is_object()) return false;
  const JsonObject& object = value.as_object();
  return has_repeated(object) || std::any_of(object.begin(), object.end(), [](const JsonMember& member) {
           return has_repeated_anywhere(member.value);
         });
}

// The same everywhere below.
void drop_repeated(Json& value, const std::string& path, std::vector<std::string>& errors) {
  if (value.is_array()) {
    for (std::size_t at = 0; at < value.as_array().size(); ++at)
      drop_repeated(value.as_array()[at], path + "[" + std::to_string(at) + "]", errors);
    return;
  }
  if (!value.is_object()) return;
  const JsonObject& given = std::as_const(value).as_object();
  if (given.size() > 1) drop_repeated_members(value, path, errors);
  for (JsonMember& member : value.as_object())
    drop_repeated(member.value, path.empty() ? member.key : path + "." + member.key, errors);
}

ApiResult<Json> parse_custom(const HttpRequest& request, std::vector<std::string>& strict_errors) {
  const std::string_view media = media_type(request);
  if (media == "application/yaml") {
    Result<std::vector<api::YamlDocument>> documents = api::parse_yaml_documents(request.body, "body");
    if (!documents) return bad_request(documents.error().message());
    if (documents->size() != 1) return bad_request("a request body is one YAML document");
    if (!documents->front().duplicate_keys.empty())
      strict_errors.push_back(duplicate_keys_text(documents->front().duplicate_keys));
    return std::move(documents->front().value);
  }
  if (!media.empty() && media != "application/json") return unsupported_media_type(kCustomBodyTypes);
  Result<Json> document = parse_json(request.body);
  if (!document)
    return bad_request("couldn't get version/kind; json parse error: " +
                       std::string(document.error().message()));
  if (has_repeated_anywhere(*document)) drop_repeated(*document, "", strict_errors);
  return std::move(document).value();
}

// kind and apiVersion of a custom object are required, and are those of its path.
ApiResult<void> check_custom_type(const Json& document, const api::ResourceInfo& resource) {
  const std::string_view kind = document.string_at("kind"), version = document.string_at("apiVersion");
  if (kind.empty()) return bad_request("Object 'Kind' is missing in '" + to_string(document) + "'");
  if (version.empty()) return bad_request("Object 'apiVersion' is missing in '" + to_string(document) + "'");
  const std::string expected = api_version_of(resource);
  if (version != expected)
    return bad_request("the API version in the data (" + std::string(version) +
                       ") does not match the expected API version (" + expected + ")");
  if (kind != resource.kind)
    return invalid(resource.group, resource.kind, document.part("metadata").string_at("name"),
                   {api::invalid("kind", kind, "must be " + std::string(resource.kind))});
  return {};
}

ApiResult<ReadBody> read_custom(const HttpRequest& request, const api::ResourceInfo& resource,
                                FieldValidation validation) {
  std::vector<std::string> strict_errors;
  Json document = TRY(parse_custom(request, strict_errors));
  if (!document.is_object()) document = Json::object();
  TRY(check_custom_type(document, resource));
  document = TRY(shaped_document(resource, std::move(document), strict_errors));
  if (!strict_errors.empty() && validation == FieldValidation::Strict)
    return bad_request(std::string(resource.kind) + " in version \"" + std::string(resource.version) +
                       "\" cannot be handled as a " + std::string(resource.kind) + ": " +
                       api::strict_error_text(strict_errors));
  ReadBody read;
  read.document = to_storage(resource, std::move(document));
  if (validation == FieldValidation::Warn) read.warnings = std::move(strict_errors);
  return read;
}

}  // namespace

ApiResult<Json> shaped_document(const api::ResourceInfo& resource, Json document,
                                std::vector<std::string>& strict_errors) {
  Result<crd::ShapedObject> made = crd::shaped(*crd::served_version(resource), std::move(document));
  if (!made)
    return bad_request(std::string(resource.kind) + " in version \"" + std::string(resource.version) +
                       "\" cannot be handled as a " + std::string(resource.kind) + ": " +
                       std::string(made.error().message()));
  for (std::string& error : made->strict_errors) strict_errors.push_back(std::move(error));
  return std::move(made->document);
}

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
  return api::to_stored_form(resource, rules_of(resource), std::move(document));
}

std::vector<std::string> unknown_in_version(const HttpRequest& request, const api::ResourceInfo& resource) {
  std::vector<std::string> unknown, repeated;
  if (!resource.custom) return unknown;
  const ApiResult<Json> document = parse_custom(request, repeated);
  if (!document || !document->is_object()) return unknown;
  const std::string_view version = document->string_at("apiVersion");
  if (version.empty() || version == api_version_of(resource)) return unknown;
  for (const JsonMember& member : document->as_object())
    if (member.key != "kind" && member.key != "apiVersion" && member.key != "metadata" &&
        unknown.size() < api::kStrictErrorsMax)
      unknown.push_back("unknown field \"" + member.key + "\"");
  std::sort(unknown.begin(), unknown.end());
  return unknown;
}

ApiResult<ReadBody> read_object(const HttpRequest& request, const api::ResourceInfo& resource,
                                FieldValidation validation) {
  if (resource.custom) return read_custom(request, resource, validation);
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

ApiResult<Json> read_options(const HttpRequest& request, const api::TypeInfo& type) {
  const std::string_view media = media_type(request);
  if (!media.empty() && media != "application/json") return read_document(request, type);
  Result<api::Decoded> decoded = api::decode_json(type, request.body);
  if (!decoded) return bad_request(json_refusal(request.body, decoded.error()).why);
  return std::move(decoded->document);
}

ApiResult<Json> read_document(const HttpRequest& request, const api::TypeInfo& type) {
  if (request.body.empty()) return Json();
  return TRY(decode(request, type)).document;
}

}  // namespace berth::server
