#include "server/rendering.h"

#include <algorithm>
#include <unordered_set>
#include <vector>

#include "api/protobuf.h"
#include "api/protobuf_encode.h"
#include "api/yaml_write.h"
#include "base/utf8.h"
#include "server/accept.h"
#include "server/serialization.h"
#include "server/served.h"

namespace berth::server {
namespace {

constexpr std::string_view kJson = "application/json";
constexpr std::string_view kYaml = "application/yaml";
constexpr std::string_view kAcceptable =
    "application/json, application/yaml, application/vnd.kubernetes.protobuf";
constexpr std::string_view kStreams =
    "application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch";

// What is offered, in the order in which a wildcard gets it.
struct Offer {
  Encoding encoding;
  std::string_view media_type;
  bool streams;

  std::string_view subtype() const { return media_type.substr(media_type.find('/') + 1); }
};
constexpr Offer kOffers[] = {{Encoding::Json, kJson, true},
                             {Encoding::Yaml, kYaml, false},
                             {Encoding::Protobuf, api::kProtobufMediaType, true}};

bool fits(const AcceptClause& clause, const Offer& offer) {
  if (clause.type == "*") return clause.subtype == "*";
  return clause.type == "application" && (clause.subtype == "*" || clause.subtype == offer.subtype());
}

// Parameters that say how the answer is streamed, and by which version of the server's API.
bool allows_stream(const AcceptClause& clause, const Offer& offer) {
  const std::string_view* stream = clause.parameter("stream");
  return !stream || stream->empty() || (offer.streams && *stream == "watch");
}
bool allows_server_version(const AcceptClause& clause, std::string_view version) {
  const std::string_view* asked = clause.parameter("sv");
  return !asked || asked->empty() || *asked == version;
}

bool asks_for_a_form(const AcceptClause& clause) {
  return clause.parameter("as") || clause.parameter("g") || clause.parameter("v");
}

std::string_view value_of(const AcceptClause& clause, std::string_view name) {
  const std::string_view* value = clause.parameter(name);
  return value ? *value : std::string_view();
}

std::optional<Form> form_of(const AcceptClause& clause, const Offer& offer) {
  const std::string_view as = value_of(clause, "as"), version = value_of(clause, "v");
  if (value_of(clause, "g") != kMetaGroup || (version != "v1" && version != "v1beta1")) return std::nullopt;
  if (as == "Table" && offer.encoding != Encoding::Protobuf) return Form::Table;
  if (as == "PartialObjectMetadata") return Form::Metadata;
  if (as == "PartialObjectMetadataList") return Form::MetadataList;
  return std::nullopt;
}

// Nothing when the offer is not this clause's.
std::optional<Rendering> rendering_by(const AcceptClause& clause, const Offer& offer,
                                      const api::ResourceInfo& resource) {
  if (!fits(clause, offer) || !allows_stream(clause, offer) || !allows_server_version(clause, "v1"))
    return std::nullopt;
  Rendering rendering;
  rendering.encoding = offer.encoding;
  if (!asks_for_a_form(clause)) {
    const bool written = offer.encoding != Encoding::Protobuf || resource.has_protobuf();
    return written ? std::optional(rendering) : std::nullopt;
  }
  const std::optional<Form> form = form_of(clause, offer);
  if (!form) return std::nullopt;
  // What is not stored has no columns.
  if (*form == Form::Table && !has_verb(resource, "list") && !has_verb(resource, "get")) return std::nullopt;
  rendering.form = *form;
  if (value_of(clause, "v") == "v1beta1") rendering.version = "v1beta1";
  return rendering;
}

// The answer of the reference's router, which looks at media types without their parameters.
ApiStatus no_representation(bool may_stream) {
  ApiStatus status = not_acceptable("");
  status.message = "406: Not Acceptable\n\nAvailable representations: ";
  status.message.append(kAcceptable);
  if (may_stream) status.message.append(", ").append(kStreams);
  status.has_details = true;
  return status;
}

ApiResult<void> read_include(const std::string& include, Rendering& rendering) {
  if (include == "None")
    rendering.include = Rendering::Include::None;
  else if (include == "Object")
    rendering.include = Rendering::Include::Object;
  else if (!include.empty() && include != "Metadata")
    return bad_request("Unable to convert to Table as requested: includeObject: Invalid value: \"" + include +
                       "\": must be 'Metadata', 'Object', 'None', or empty");
  return {};
}

std::string warning_header(std::string_view text) {
  std::string header = "299 - \"";
  for (const char c : text) {
    if (c == '"' || c == '\\') header += '\\';
    header += c == '\n' || c == '\r' ? ' ' : c;
  }
  return header + "\"";
}

}  // namespace

ApiResult<void> check_metadata_form(Rendering& rendering, const api::ResourceInfo& resource, bool is_list) {
  const bool asks_list = rendering.form == Form::MetadataList;
  if (!asks_list && rendering.form != Form::Metadata) return {};
  rendering.form = Form::Metadata;
  if (asks_list == is_list) return {};
  // Go's type of it.
  std::string type(resource.group.empty() ? "core" : resource.group.substr(0, resource.group.find('.')));
  type.append(".").append(resource.kind);
  if (resource.custom) type = "unstructured.Unstructured";
  ApiStatus status = not_acceptable("");
  status.message = std::string("you requested PartialObjectMetadata") + (asks_list ? "List" : "") +
                   ", but the requested object is " + (is_list ? "a" : "not a") + " list (*" + type +
                   (is_list ? "List)" : ")");
  return status;
}

ApiResult<Rendering> rendering_of(const HttpRequest& request, const ObjectTarget& target) {
  const api::ResourceInfo& resource = *target.resource;
  const std::string_view accept = request.header("Accept");
  if (accept.find_first_not_of(' ') == std::string_view::npos) return Rendering();
  const auto is_named = [&](const Offer& offer) { return names_media_type(accept, offer.media_type); };
  if (!resource.custom && std::none_of(std::begin(kOffers), std::end(kOffers), is_named))
    return no_representation(request.method == "GET" && target.name.empty());
  for (const AcceptClause& clause : parse_accept(accept)) {
    for (const Offer& offer : kOffers) {
      std::optional<Rendering> rendering = rendering_by(clause, offer, resource);
      if (!rendering) continue;
      const std::string* include = request.parameter("includeObject");
      if (rendering->form == Form::Table && include) TRY(read_include(*include, *rendering));
      return *rendering;
    }
  }
  return not_acceptable(kAcceptable);
}

Encoding status_encoding(const HttpRequest& request) {
  for (const AcceptClause& clause : parse_accept(request.header("Accept")))
    for (const Offer& offer : kOffers)
      if (fits(clause, offer) && allows_stream(clause, offer) && allows_server_version(clause, "") &&
          !asks_for_a_form(clause))
        return offer.encoding;
  return Encoding::Json;
}

ApiResult<void> check_streams(Encoding encoding) {
  for (const Offer& offer : kOffers)
    if (offer.encoding == encoding && !offer.streams) return not_acceptable(kStreams);
  return {};
}

std::string render_one(const api::ResourceInfo& resource, const store::ObjectPtr& object,
                       const std::string& stored, Rendering rendering, Time now) {
  if (rendering.form == Form::Metadata) return metadata_bytes(rendering, stored);
  if (rendering.form == Form::Object) return object_bytes(resource, stored);
  store::ObjectPtr shown = object;
  if (!shown) {
    store::Object document;
    document.bytes = stored;
    shown = std::make_shared<const store::Object>(std::move(document));
  }
  const std::string metadata = "{\"resourceVersion\":\"" + std::to_string(shown->revision) + "\"}";
  return table_bytes(resource, shown, rendering, metadata, now, true);
}

namespace {

// The reference writes YAML with sorted members.
Json sorted(const Json& value) {
  if (value.is_array()) {
    JsonArray items;
    for (const Json& item : value.as_array()) items.push_back(sorted(item));
    return Json(std::move(items));
  }
  if (!value.is_object()) return value;
  std::vector<const JsonMember*> members;
  for (const JsonMember& member : value.as_object()) members.push_back(&member);
  std::sort(members.begin(), members.end(), [](const auto* a, const auto* b) { return a->key < b->key; });
  JsonObject object;
  for (const JsonMember* member : members) object.append(member->key, sorted(member->value));
  return Json(std::move(object));
}

}  // namespace

std::string_view media_type_of(Encoding encoding) {
  for (const Offer& offer : kOffers)
    if (offer.encoding == encoding) return offer.media_type;
  return kJson;
}

std::string yaml_of(const std::string& json) {
  const Result<Json> document = parse_json(json);
  return document ? api::to_yaml(sorted(*document)) : std::string();
}

HttpResponse encoded(HttpResponse response, Encoding encoding) {
  const auto type = std::find_if(response.headers.begin(), response.headers.end(),
                                 [](const auto& header) { return header.first == "Content-Type"; });
  const bool is_json = type != response.headers.end() && type->second == kJson;
  if (encoding == Encoding::Json || !is_json) return response;
  if (encoding == Encoding::Protobuf) {
    Result<std::string> body = api::encode_protobuf_body(response.body, api::Unnumbered::LeaveOut);
    if (!body) return not_written(body.error()).to_response();
    response.body = *std::move(body);
    type->second = api::kProtobufMediaType;
  } else if (std::string body = yaml_of(response.body); !body.empty()) {
    response.body = std::move(body);
    type->second = kYaml;
  }
  return response;
}

void add_warnings(Headers& headers, const std::vector<std::string>& texts) {
  std::vector<std::string_view> distinct;
  std::unordered_set<std::string_view> seen;
  std::size_t characters = 0;
  for (const std::string& text : texts) {
    if (text.empty() || !seen.insert(text).second) continue;
    distinct.push_back(text);
    characters += code_points(text).size();
  }
  const bool too_many = characters > kWarningsMax;
  std::size_t written = 0;
  for (std::string_view text : distinct) {
    if (written >= kWarningsMax) return;
    if (too_many) text = text.substr(0, byte_offset(text, kWarningOfManyMax));
    written += code_points(text).size();
    headers.emplace_back("Warning", warning_header(text));
  }
}

}  // namespace berth::server
