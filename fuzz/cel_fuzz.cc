// rooms: base api cel dra
// Any bytes as a device selector: every phase ends in a value or a named error, and the answer over columns
// is the tree walker's.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "cel/dra_environment.h"
#include "cel/program.h"
#include "dra/columns/columnar_selector.h"
#include "dra/columns/value_key.h"

namespace {

using namespace berth;

api::Device device_of(std::size_t i) {
  api::Device device;
  if (i % 4 != 0) device.attributes["model"] = std::string(i % 2 ? "A100" : "H100");
  if (i % 3 != 0) device.attributes["index"] = static_cast<std::int64_t>(i);
  device.attributes["other.example.com/flag"] = i % 2 == 0;
  device.attributes["version"] = api::AttributeVersion{i % 2 ? "1.2.3" : "2.0.0"};
  device.attributes["links"] = std::vector<std::int64_t>{1, static_cast<std::int64_t>(i)};
  if (i % 5 != 0) device.capacity["memory"].value = Quantity::of(static_cast<std::int64_t>(i) << 30);
  device.allow_multiple = i % 2 == 1;
  return device;
}

// Built once for all inputs.
struct FuzzEnvironment {
  FuzzEnvironment() {
    auto made = std::make_shared<api::ResourceSlice>();
    made->driver = "dra.example.com";
    for (std::size_t i = 0; i < 12; ++i) made->devices.push_back(device_of(i));
    slice = made;
    rows = columns.admit(slice);
  }
  dra::DeviceColumns columns;
  std::shared_ptr<const api::ResourceSlice> slice;
  dra::SliceRows rows;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace berth;
  constexpr std::uint64_t kCostMax = 20000;
  static FuzzEnvironment world;
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  const auto compiled = cel::compile(cel::dra_environment(), text);
  const cel::Program* program = std::get_if<cel::Program>(&compiled);
  if (!program) return 0;
  std::uint64_t want_yes = 0, want_error = 0;
  for (std::size_t i = 0; i < world.slice->devices.size(); ++i) {
    const cel::DeviceRecord record = dra::record_of(world.slice->driver, world.slice->devices[i]);
    const cel::Value variables[] = {cel::Value::borrow_object(record)};
    const cel::EvalResult result = program->walk(variables, {kCostMax});
    if (result.cost > kCostMax) return 0;  // bounded time matters more than comparing these
    const std::uint64_t bit = std::uint64_t{1} << (world.rows.begin() + i);
    if (!result.ok())
      want_error |= bit;
    else if (result.value().is_true())
      want_yes |= bit;
  }
  dra::ColumnarSelector selector(world.columns, *program);
  std::uint64_t yes = 0, error = 0;
  selector.evaluate(0, 1, &yes, &error);
  const std::uint64_t live = (std::uint64_t{1} << world.slice->devices.size()) - 1;
  if ((yes & live) != want_yes || (error & live) != want_error) std::abort();
  return 0;
}
