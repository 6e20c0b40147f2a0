#include "server/apply.h"

#include "api/patch.h"
#include "api/yaml.h"
#include "server/metadata.h"
#include "server/request_body.h"

namespace berth::server {
namespace {

// The body as a document. YAML reads JSON, too.
Result<Json> body_of(const HttpRequest& request) {
  Result<std::vector<api::YamlDocument>> documents = api::parse_yaml_documents(request.body, "yaml");
  if (!documents) return documents.error();
  if (documents->empty()) return Json::object();
  return std::move(documents->front().value);
}

// "yaml: document 1, line 1: why" becomes "yaml: line 1: why".
std::string yaml_reason(std::string text) {
  const std::size_t begin = text.find("document ");
  const std::size_t line = text.find("line ");
  if (begin != std::string::npos && line != std::string::npos && begin < line)
    text.erase(begin, line - begin);
  return text;
}

}  // namespace

bool is_apply(const HttpRequest& request) {
  return api::patch_type_of(media_type(request)) == api::PatchType::Apply;
}

ApiResult<void> check_apply(const HttpRequest& request, const ObjectTarget& target) {
  const std::string* manager = request.parameter("fieldManager");
  if (!manager || manager->empty())
    return invalid("meta.k8s.io", "PatchOptions", "",
                   {api::required("fieldManager", "is required for apply patch")});
  const Result<Json> body = body_of(request);
  if (!body) return bad_request("error encoding patch: " + yaml_reason(std::string(body.error().message())));
  const std::string_view version = body->string_at("apiVersion");
  const std::string_view kind = body->string_at("kind");
  if (version.empty() || kind.empty()) {
    const std::string shown =
        version.find('/') == std::string_view::npos ? "/" + std::string(version) : std::string(version);
    return bad_request("invalid object type: " + shown + ", Kind=" + std::string(kind));
  }
  const Json& metadata = metadata_of(*body);
  const std::string_view name = metadata.string_at("name");
  if (!body->find("metadata"))
    return bad_request("the name of the object (" + target.name +
                       " based on URL) was undeterminable: name must be provided");
  if (!name.empty() && name != target.name)
    return bad_request("the name of the object (" + std::string(name) +
                       ") does not match the name on the URL (" + target.name + ")");
  if (metadata.find("managedFields")) return bad_request("metadata.managedFields must be nil");
  return {};
}

}  // namespace berth::server
