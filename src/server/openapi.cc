#include "server/openapi.h"

#include <cstdint>
#include <vector>

#include "api/gates.h"
#include "api/type_table.h"
#include "server/accept.h"
#include "server/openapi_operations.h"
#include "server/openapi_schema.h"
#include "server/openapi_v2.h"
#include "server/served.h"
#include "server/status.h"

namespace berth::server {
namespace {

constexpr std::string_view kV3 = "/openapi/v3";

// Changes whenever a document may: clients cache documents by it. Gates decide which kinds are served.
std::string documents_hash(const ServedSet& served) {
  constexpr int kRevision = 4;  // of the generator of documents
  std::uint64_t hash = 14695981039346656037u + kRevision;
  for (const api::GateInfo& gate : api::gate_table())
    hash = (hash ^ static_cast<std::uint64_t>(served.gates().enabled(gate.name) ? 2 : 1)) * 1099511628211u;
  for (const char c : served.fingerprint()) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return "berth" + std::to_string(hash);
}

HttpResponse index(const ServedSet& served) {
  Json paths = Json::object();
  const std::string hash = documents_hash(served);
  for (const api::ResourceInfo* resource : served.rows()) {
    const std::string path = group_version_path(*resource);
    paths[path] = Json::object({{"serverRelativeURL", std::string(kV3) + "/" + path + "?hash=" + hash}});
  }
  return text_response(200, to_string(Json::object({{"paths", std::move(paths)}})));
}

std::optional<HttpResponse> document(std::string_view path, const ServedSet& served) {
  Json paths = Json::object();
  std::vector<const api::ResourceInfo*> rows;
  for (const api::ResourceInfo* resource : served.rows()) {
    if (group_version_path(*resource) != path) continue;
    rows.push_back(resource);
    const Json items = path_items(*resource);
    for (const JsonMember& item : items.as_object()) paths[item.key] = item.value;
  }
  if (rows.empty()) return std::nullopt;
  const Json components = Json::object({{"schemas", schemas_of(rows, served.gates())}});
  HttpResponse response = json_response(200, to_string(Json::object({{"openapi", "3.0.0"},
                                                                     {"info", api_info()},
                                                                     {"paths", std::move(paths)},
                                                                     {"components", components}})));
  response.headers.emplace_back("Vary", "Accept");
  return response;
}

// By what the client prefers, as kube-openapi chooses; nothing of these is 406.
HttpResponse v2(const HttpRequest& request, const ServedSet& served) {
  struct Offer {
    std::string_view subtype, content_type;
    bool is_json;
  };
  static constexpr std::string_view kProtobuf = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";
  static constexpr Offer kOffers[] = {
      {"json", "application/json", true},
      {"com.github.proto-openapi.spec.v2@v1.0+protobuf", kProtobuf, false},
      {"com.github.proto-openapi.spec.v2.v1.0+protobuf", kProtobuf, false},
  };
  const std::string_view accept = request.header("Accept");
  const std::string tag = "\"" + documents_hash(served) + "\"";
  for (const AcceptClause& clause : parse_accept(accept.empty() ? "*/*" : accept)) {
    if (clause.type != "application" && clause.type != "*") continue;
    for (const Offer& offer : kOffers) {
      if (clause.subtype != offer.subtype && clause.subtype != "*") continue;
      HttpResponse response{200, {{"Content-Type", std::string(offer.content_type)}}, ""};
      response.headers.emplace_back("Vary", "Accept");
      response.headers.emplace_back("Etag", tag);
      if (request.header("If-None-Match") == tag) {
        response.status = 304;
        return response;
      }
      const Json made = openapi_v2(served);
      response.body = offer.is_json ? to_string(made) : openapi_v2_protobuf(made);
      return response;
    }
  }
  return {406, {{"Vary", "Accept"}}, ""};
}

}  // namespace

std::optional<HttpResponse> openapi(const HttpRequest& request, const ServedSet& served) {
  const std::string_view path = request.path;
  if (path == "/openapi/v2") return v2(request, served);
  if (path == kV3) return index(served);
  if (path.substr(0, kV3.size() + 1) == std::string(kV3) + "/")
    return document(path.substr(kV3.size() + 1), served).value_or(HttpResponse{404, {}, ""});
  return std::nullopt;
}

}  // namespace berth::server
