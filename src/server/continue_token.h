// The opaque position in a paged list.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "store/store.h"

namespace berth::server {

struct ContinuePoint {
  std::optional<store::Revision> revision;  // absent: the newest state, whatever earlier pages showed
  store::Key after;
};

// URL-safe base64 of JSON {v, rv, start}, Kubernetes' format.
std::string encode_continue(const ContinuePoint& point);
Result<ContinuePoint> decode_continue(std::string_view token, std::string_view resource);

}  // namespace berth::server
