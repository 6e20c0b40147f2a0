// OpenAPI as far as clients need it: kubectl's probe for field validation, and the schemas of `kubectl
// explain`.
#pragma once

#include <optional>

#include "server/http.h"

namespace berth::api {
class Gates;
}

namespace berth::server {

// Nothing for a path other than /openapi/v2, /openapi/v3 and below.
std::optional<HttpResponse> openapi(const HttpRequest& request, const api::Gates& gates);

}  // namespace berth::server
