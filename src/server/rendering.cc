#include "server/rendering.h"

#include <algorithm>
#include <unordered_set>
#include <vector>

#include "api/yaml_write.h"
#include "base/utf8.h"
#include "server/serialization.h"

namespace berth::server {
namespace {

std::string_view trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// The value of a media type's parameter, or empty.
std::string_view media_parameter(std::string_view media, std::string_view name) {
  for (std::size_t at = media.find(';'); at != std::string_view::npos; at = media.find(';', at + 1)) {
    std::string_view rest = trim(media.substr(at + 1));
    rest = rest.substr(0, rest.find(';'));
    const std::size_t equals = rest.find('=');
    if (equals != std::string_view::npos && trim(rest.substr(0, equals)) == name)
      return trim(rest.substr(equals + 1));
  }
  return {};
}

constexpr std::string_view kAcceptable =
    "application/json, application/yaml, application/vnd.kubernetes.protobuf";

std::optional<Form> form_of(std::string_view media) {
  const std::string_view as = media_parameter(media, "as");
  if (as.empty()) return Form::Object;
  const std::string_view group = media_parameter(media, "g"), version = media_parameter(media, "v");
  if (group != "meta.k8s.io" || (version != "v1" && version != "v1beta1")) return std::nullopt;
  if (as == "Table") return Form::Table;
  if (as == "PartialObjectMetadata") return Form::Metadata;
  if (as == "PartialObjectMetadataList") return Form::MetadataList;
  return std::nullopt;
}

bool understood(std::string_view type) {
  static constexpr std::string_view kTypes[] = {
      "application/json", "application/yaml", "application/vnd.kubernetes.protobuf", "application/*", "*/*"};
  return std::find(std::begin(kTypes), std::end(kTypes), type) != std::end(kTypes);
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
  const std::string_view package =
      resource.group.empty() ? "core" : resource.group.substr(0, resource.group.find('.'));
  ApiStatus status = not_acceptable("");
  status.message = std::string("you requested PartialObjectMetadata") + (asks_list ? "List" : "") +
                   ", but the requested object is " + (is_list ? "a" : "not a") + " list (*" +
                   std::string(package) + "." + std::string(resource.kind) + (is_list ? "List)" : ")");
  return status;
}

ApiResult<Rendering> rendering_of(const HttpRequest& request) {
  Rendering rendering;
  std::string_view accept = request.header("Accept");
  if (trim(accept).empty()) return rendering;
  bool any_known = false;
  while (!accept.empty()) {
    const std::size_t comma = accept.find(',');
    const std::string_view media = trim(accept.substr(0, comma));
    const std::optional<Form> form = form_of(media);
    const std::string_view type = trim(media.substr(0, media.find(';')));
    const bool known = understood(type);
    any_known |= known;
    if (known && form) {
      rendering.form = *form;
      if (type == "application/yaml") rendering.encoding = Encoding::Yaml;
      if (media_parameter(media, "v") == "v1beta1") rendering.version = "v1beta1";
      const std::string* include = request.parameter("includeObject");
      if (rendering.form == Form::Table && include) TRY(read_include(*include, rendering));
      return rendering;
    }
    accept = comma == std::string_view::npos ? std::string_view() : accept.substr(comma + 1);
  }
  if (any_known) return not_acceptable(kAcceptable);
  ApiStatus status = not_acceptable("");
  status.message = "406: Not Acceptable\n\nAvailable representations: " + std::string(kAcceptable) +
                   ", application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch";
  status.has_details = true;
  return status;
}

std::string render_one(const api::ResourceInfo& resource, const store::ObjectPtr& object,
                       const std::string& stored, Rendering rendering, Time now) {
  if (rendering.form == Form::Metadata) return metadata_bytes(stored);
  if (rendering.form == Form::Object) return object_bytes(resource, stored);
  store::ObjectPtr shown = object;
  if (!shown) {
    store::Object document;
    document.bytes = stored;
    shown = std::make_shared<const store::Object>(std::move(document));
  }
  const std::string metadata = "{\"resourceVersion\":\"" + std::to_string(shown->revision) + "\"}";
  return table_bytes(resource, {shown}, rendering, metadata, now, true);
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

void encode_as_yaml(HttpResponse& response) {
  const Result<Json> body = parse_json(response.body);
  if (!body) return;
  response.body = api::to_yaml(sorted(*body));
  for (auto& [name, value] : response.headers)
    if (name == "Content-Type") value = "application/yaml";
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
