#include "cel/patch_types.h"

#include "base/json_pointer.h"
#include "cel/libraries.h"

namespace berth::cel {
namespace {

Value escape_key(std::span<Value> args, Runtime&) {
  return Value::of_string(escaped_pointer_part(args[0].as_text()));
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
