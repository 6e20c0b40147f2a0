// Answers of an API server in protobuf, for tests.
#pragma once

#include <string>
#include <string_view>

namespace berth::client {

// The body of a JSON document whose kind is built in.
std::string protobuf_body(std::string_view json);
// The frame of a watch event with such an object.
std::string protobuf_frame(std::string_view type, std::string_view json);

}  // namespace berth::client
