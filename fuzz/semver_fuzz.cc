// rooms: base
// Any bytes as a version: refused, or its text reads back as an equal version; normalizing never makes a good
// version bad.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "base/semver.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  const berth::Result<berth::SemVer> parsed = berth::parse_semver(text);
  const std::string normalized = berth::normalized_semver_text(text);
  if (!parsed) return 0;
  const berth::Result<berth::SemVer> again = berth::parse_semver(parsed->text());
  if (!again || *again != *parsed || parsed->text() != text) std::abort();
  const berth::Result<berth::SemVer> normal = berth::parse_semver(normalized);
  if (!normal || *normal != *parsed) std::abort();
  return 0;
}
