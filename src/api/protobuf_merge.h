// A protobuf body with members added, without loss of those that the type table does not know.
//
// Pure, any thread. Cost: one pass over the messages that get something. Source: the protobuf encoding; an
// item behind a list's others is its last.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"

namespace berth::api {

// `addition`: members that the object lacks, and items that its lists get at their end; without kind and
// apiVersion. Refuses what protobuf.h and protobuf_encode.h refuse.
Result<std::string> with_added(std::string_view body, Json addition);

}  // namespace berth::api
