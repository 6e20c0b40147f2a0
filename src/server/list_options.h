// The options of a list or watch (ListOptions of meta/v1), read from the query and checked.
//
// Pure, any thread. Source: ListOptions validation of Kubernetes 1.37.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "server/http.h"
#include "server/status.h"
#include "store/store.h"

namespace berth::server {

inline constexpr std::int64_t kTimeoutMaxS = 365 * 24 * 3600;  // more is this much

struct ListOptions {
  std::string label_selector;
  std::string field_selector;
  std::size_t limit = 0;
  std::string continue_token;
  std::optional<store::Revision> version;  // absent: the newest state
  bool exact = false;                      // resourceVersionMatch=Exact
  bool watch = false;
  bool bookmarks = false;
  std::optional<bool> send_initial_events;  // absent: the request does not say
  std::int64_t timeout_s = 0;
};

// resourceVersion of a GET of one object, which has no other option.
ApiResult<std::optional<store::Revision>> read_version(const HttpRequest& request);
// 400 or 422 with the text that clients match, or the options.
ApiResult<ListOptions> read_list_options(const HttpRequest& request);

}  // namespace berth::server
