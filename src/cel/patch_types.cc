#include "cel/patch_types.h"

#include "cel/libraries.h"

namespace berth::cel {
namespace {

// A text as a part of a JSON pointer.
Value escape_key(std::span<Value> args, Runtime&) {
  std::string escaped;
  for (const char c : args[0].as_text()) {
    if (c == '/')
      escaped += "~1";
    else if (c == '~')
      escaped += "~0";
    else
      escaped += c;
  }
  return Value::of_string(std::move(escaped));
}

constexpr FunctionRow kPatchRows[] = {
    {"jsonpatch.escapeKey", "(string) string", escape_key, cost_of_traversal},
};

}  // namespace

void declare_patch_types(Environment& environment) {
  const TypeRef text = simple_type(TypeKind::String);
  environment.declare_open_messages(std::string(kObjectType));
  environment.declare_message(
      std::string(kJsonPatchType),
      {{"op", text}, {"from", text}, {"path", text}, {"value", simple_type(TypeKind::Dyn)}});
  environment.declare_functions(kPatchRows);
}

}  // namespace berth::cel
