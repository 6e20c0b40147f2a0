// A cache of typed objects, found by kind and JSON bytes: a version that arrives again is decoded once.
//
// A version arrives again in a write's response and its watch event, and in several processes of a simulated
// world. A result equals that of decode_typed(); only the shared `raw` may be another, equal one, or absent.
// Any thread; decoding happens without the lock. Bounded in bytes of JSON; oldest evicted first. Cost of a
// hit: a hash and a comparison of the bytes.
#pragma once

#include <deque>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "api/kinds.h"

namespace berth::api {

// Name, UID and version are at the beginning.
inline constexpr std::size_t kHashedBytesMax = 320;
inline constexpr std::size_t kParsedVersionsBytesMax = 256 * 1024;  // of text that was not decoded yet
// Of the text. A version arrives twice within one answer's time: this is enough for all writes in flight.
inline constexpr std::size_t kDecodedVersionsBytesMax = 512 * 1024;

// Which kinds' objects keep their text. Controllers, agents and plans read fields there that have no typed
// form. A scheduler and a binder keep it for what they write back (ResourceClaims, BindRequests) and for
// kinds without a typed form. They drop all other texts, most of a view of pods and nodes.
enum class Texts : std::uint8_t { OfAllKinds, OfWhatBindingReads };

class DecodedVersions {
 public:
  explicit DecodedVersions(std::size_t bytes_max = kDecodedVersionsBytesMax, Texts texts = Texts::OfAllKinds)
      : bytes_max_(bytes_max), texts_(texts) {}

  // Like decode_typed(). Not cached are objects without a typed form (Kind::Other) and what decoding costs
  // less than a look into the cache (is_read_directly). `document`: the parsed `raw`, or null.
  Result<TypedObject> decode(Kind kind, RawPtr raw, const Json& document = {});
  // Parses, and caches the document for the later decoding. Null for bytes that are no JSON.
  Json document_of(const RawPtr& raw);

  std::size_t bytes() const;  // of JSON text, at most bytes_max

 private:
  struct Version {
    Kind kind = Kind::Other;
    std::string_view bytes;  // of what is kept of it
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
  struct Kept {
    RawPtr raw;
    TypedObject object;
  };
  std::optional<Json> take_parsed(const RawPtr& raw);
  Text text_of(Kind kind) const;

  const std::size_t bytes_max_;
  const Texts texts_;
  mutable std::mutex mutex_;
  std::unordered_map<Version, Kept, Hash> kept_;
  std::deque<Version> order_;
  std::size_t bytes_ = 0;
  std::deque<Parsed> parsed_;
  std::size_t parsed_bytes_ = 0;
};

}  // namespace berth::api
