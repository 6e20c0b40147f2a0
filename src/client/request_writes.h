// Writes of BindRequests. One that is in memory is written as a value, to the client that keeps it; its
// writes need no text.
#pragma once

#include <string>

#include "client/decider.h"

namespace berth::client {

// Asks to keep a new one in memory. The client writes an object where it cannot.
Write keep_request(api::BindRequest request);
// Replaces one half of a request in memory: the status, or with an empty `subresource` the spec.
// Conditional on the version of `seen`.
Write change_kept_request(const api::BindRequest& seen, api::BindRequest wanted,
                          std::string subresource = "");
// Of a request in memory or of an object; refused when the UID differs.
Write delete_request(const api::BindRequest& request);

}  // namespace berth::client
