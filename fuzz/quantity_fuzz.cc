// rooms: base
// Any bytes as a quantity: refused, or its canonical text reads back as the same amount.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "base/quantity.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using berth::Quantity;
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  const berth::Result<Quantity> parsed = berth::parse_quantity(text);
  if (!parsed) return 0;
  const berth::Result<Quantity> again = berth::parse_quantity(parsed->text());
  if (!again || *again != *parsed) std::abort();
  if (!(*parsed - *parsed).is_zero()) std::abort();
  if (parsed->ceil_units() == INT64_MIN && !parsed->is_negative()) std::abort();
  return 0;
}
