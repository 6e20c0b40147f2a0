// string.format(): verbs %s %d %f %e %b %x %X %o and %%, checked at compile time where types are known.
// Source: cel-go's strings extension, version 2.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cel/type.h"
#include "cel/value.h"

namespace berth::cel {

Value format_text(std::string_view format, const ListSource& args);

struct FormatFault {
  int arg = -1;  // -1: the format itself
  std::string message;
};
// The first reason why arguments of these types cannot be formatted.
std::optional<FormatFault> check_format(std::string_view format, std::span<const TypeRef> args);

}  // namespace berth::cel
