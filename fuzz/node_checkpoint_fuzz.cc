// rooms: base health
// Any bytes as a node's checkpoint: refused, or a cache takes it in and what that cache keeps reads back. The
// bytes are the document; a header that fits is put before them, as no mutation finds a checksum.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "base/fnv.h"
#include "base/hex.h"
#include "health/node_checkpoint.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace berth::health;
  const std::string body(reinterpret_cast<const char*>(bytes), size);
  (void)decode_checkpoint(body);
  const berth::Result<NodeCheckpoint> decoded = decode_checkpoint(
      "berth-node-health 1 " + berth::hex_of(berth::fnv1a(body)) + " " + std::to_string(size) + "\n" + body);
  if (!decoded) return 0;
  for (const bool counts : {true, false}) {
    HealthCache cache;
    const berth::Time now = berth::Time::from_seconds(1000);
    cache.restore(decoded->drivers, counts ? std::optional(berth::Duration::seconds(1)) : std::nullopt, now);
    cache.expire(now);
    NodeCheckpoint again = *decoded;
    again.drivers = cache.kept(now);
    if (!decode_checkpoint(encode_checkpoint(again)).ok()) std::abort();
  }
  return 0;
}
