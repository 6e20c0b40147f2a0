// Documents written as Kubernetes' protobuf bodies, through the type table: the way back of protobuf.h.
//
// Pure, any thread. Cost: one pass. Source: as protobuf.h.
#pragma once

#include <string>

#include "base/json.h"
#include "base/result.h"

namespace berth::api {

// The body of an object or a request such as a Binding. The document need not be canonical; absent members
// are not written. Refuses with the member's name: kinds and members that the type table lacks, values of
// another type than it says, schemas of CustomResourceDefinitions. Such a document is sent as JSON.
Result<std::string> encode_protobuf_body(const Json& document);

}  // namespace berth::api
