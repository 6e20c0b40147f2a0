// Typed objects of recent bytes: a version that comes again, as the answer of a write and as the event of a
// watch, or to several processes of a simulated world, is decoded once.
//
// By kind and bytes, so an answer from it is what decode_typed() would give; only the shared `raw` may be an
// equal one. Any thread; decoding is done without the lock. Bounded in bytes of JSON; oldest out first. Cost
// of a hit: a hash and a comparison of the bytes.
#pragma once

#include <deque>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "api/kinds.h"

namespace berth::api {

// Name, UID and version stand at the beginning.
inline constexpr std::size_t kHashedBytesMax = 320;
inline constexpr std::size_t kParsedVersionsBytesMax = 256 * 1024;  // of JSON text that was not decoded yet
inline constexpr std::size_t kDecodedVersionsBytesMax = 4 * 1024 * 1024;  // of JSON text

class DecodedVersions {
 public:
  explicit DecodedVersions(std::size_t bytes_max = kDecodedVersionsBytesMax) : bytes_max_(bytes_max) {}

  // As decode_typed(). What has no typed form (Kind::Other) is not kept. `document`: the parsed `raw`, or
  // null.
  Result<TypedObject> decode(Kind kind, RawPtr raw, const Json& document = {});
  // Parsed, and kept for the decoding that follows. Null for what is no JSON.
  Json document_of(const RawPtr& raw);

  std::size_t bytes() const;  // of JSON text, at most bytes_max

 private:
  struct Version {
    Kind kind = Kind::Other;
    std::string_view bytes;  // of the object's own `raw`
    friend bool operator==(const Version&, const Version&) = default;
  };
  struct Hash {
    std::size_t operator()(const Version& version) const {
      return std::hash<std::string_view>{}(version.bytes.substr(0, kHashedBytesMax));
    }
  };

  struct Parsed {
    RawPtr raw;
    Json document;
  };
  std::optional<Json> take_parsed(const RawPtr& raw);

  const std::size_t bytes_max_;
  mutable std::mutex mutex_;
  std::unordered_map<Version, TypedObject, Hash> kept_;
  std::deque<Version> order_;
  std::size_t bytes_ = 0;
  std::deque<Parsed> parsed_;
  std::size_t parsed_bytes_ = 0;
};

}  // namespace berth::api
