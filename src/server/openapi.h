// OpenAPI as far as clients need it: kubectl's probe for field validation, and the schemas of `kubectl
// explain`.
#pragma once

#include <optional>

#include "server/http.h"
#include "server/served.h"

namespace berth::server {

// Nothing for a path other than /openapi/v2, /openapi/v3 and below.
std::optional<HttpResponse> openapi(const HttpRequest& request, const ServedSet& served);

}  // namespace berth::server
