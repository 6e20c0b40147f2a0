// The inputs of the type table besides the generated rows. Only type_table*.cc include this.
#pragma once

#include <span>

#include "api/type_table.h"

namespace berth::api {

// Names a type of the table.
struct TypeName {
  std::string_view group;
  std::string_view version;
  std::string_view name;
};

// One more member of a type. The first row of a type without a generated row creates the type.
struct OverlayRow {
  TypeName owner;
  std::uint8_t owner_flags;
  FieldInfo field;
  TypeName message;  // of Message values; resolved when the table is built
};

std::span<const OverlayRow> overlay_rows();

}  // namespace berth::api
