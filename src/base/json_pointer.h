// JSON pointers (RFC 6901).
#pragma once

#include <string>
#include <string_view>

namespace berth {

// A member's name as a part of a pointer: "a/b~c" is "a~1b~0c".
inline std::string escaped_pointer_part(std::string_view name) {
  std::string part;
  for (const char c : name) {
    if (c == '~')
      part += "~0";
    else if (c == '/')
      part += "~1";
    else
      part += c;
  }
  return part;
}

}  // namespace berth
