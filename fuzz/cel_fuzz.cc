// rooms: base cel
// Any bytes as a device selector: every phase ends in a value or a named error.
#include <cstddef>
#include <cstdint>

#include "cel/dra_environment.h"
#include "cel/program.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace berth::cel;
  constexpr std::uint64_t kCostMax = 20000;
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  const auto compiled = compile(dra_environment(), text, ResultRule::Any);
  if (const Program* program = std::get_if<Program>(&compiled)) {
    DeviceRecord device("dra.example.com");
    device.add_attribute("model", Value::of_string("A100"));
    device.add_attribute("index", Value::of_int(1));
    const Value variables[] = {Value::borrow_object(device)};
    program->evaluate(variables, {kCostMax});
  }
  return 0;
}
