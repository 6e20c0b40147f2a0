// The server's description of itself: groups, versions, resources, OpenAPI, version.
#pragma once

#include <optional>

#include "server/http.h"
#include "server/request_path.h"
#include "server/served.h"

namespace berth::server {

// Serves /api, /apis, group and group-version documents in both forms, /openapi/v2, /openapi/v3/…, /version.
// Nothing for any other path.
std::optional<HttpResponse> discovery(const HttpRequest& request, const ParsedPath& path,
                                      const ServedSet& served);

}  // namespace berth::server
