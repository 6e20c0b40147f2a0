#include "server/discovery.h"

namespace berth::server {

std::optional<HttpResponse> discovery(const HttpRequest&, const ParsedPath&, const api::Gates&) {
  return std::nullopt;
}

}  // namespace berth::server
