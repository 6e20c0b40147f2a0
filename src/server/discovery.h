// What the server says about itself: groups, versions, resources, OpenAPI, version.
#pragma once

#include <optional>

#include "server/http.h"
#include "server/request_path.h"

namespace berth::api {
class Gates;
}

namespace berth::server {

// Answers /api, /apis, group and group-version documents in both forms, /openapi/v2, /openapi/v3/…, /version.
// Nothing when the path is none of these.
std::optional<HttpResponse> discovery(const HttpRequest& request, const ParsedPath& path,
                                      const api::Gates& gates);

}  // namespace berth::server
