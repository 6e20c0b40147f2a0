// OpenAPI as far as clients need it: kubectl's probe for field validation, and `kubectl explain`'s schemas.
#pragma once

#include <optional>

#include "server/http.h"

namespace berth::api {
class Gates;
}

namespace berth::server {

// Nothing when the path is none of /openapi/v2, /openapi/v3 and below.
std::optional<HttpResponse> openapi(const HttpRequest& request, const api::Gates& gates);

}  // namespace berth::server
