#include "api/decoded_versions.h"

#include <algorithm>

#include "api/serialized.h"

namespace berth::api {

Text DecodedVersions::text_of(Kind kind) const {
  const bool is_read = kind == Kind::ResourceClaim || kind == Kind::BindRequest || kind == Kind::Other;
  return is_read || texts_ == Texts::OfAllKinds ? Text::Keep : Text::Drop;
}

Result<TypedObject> DecodedVersions::decode(Kind kind, RawPtr raw, const Json& document) {
  const auto decoded = [kind, text = text_of(kind)](const RawPtr& bytes, const Json& parsed) {
    return parsed.is_null() ? decode_typed(kind, bytes, text) : decode_typed(kind, bytes, parsed, text);
  };
  if (kind == Kind::Other || is_read_directly(kind, *raw)) return decoded(raw, document);
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = kept_.find({kind, *raw}); found != kept_.end()) return found->second.object;
  }
  TypedObject object = TRY(decoded(raw, document.is_null() ? take_parsed(raw).value_or(Json()) : document));
  const Version version{kind, *raw};
  if (version.bytes.size() > bytes_max_) return object;
  std::vector<Kept> left;  // destroyed without the lock
  const std::lock_guard lock(mutex_);
  const auto [place, is_new] = kept_.try_emplace(version, Kept{std::move(raw), object});
  if (!is_new) return place->second.object;
  order_.push_back(version);
  bytes_ += version.bytes.size();
  while (bytes_ > bytes_max_) {
    const auto oldest = kept_.find(order_.front());
    bytes_ -= order_.front().bytes.size();
    order_.pop_front();
    left.push_back(std::move(oldest->second));
    kept_.erase(oldest);
  }
  return object;
}

Json DecodedVersions::document_of(const RawPtr& raw) {
  Json document = parse_object(*raw).value_or(Json());
  std::vector<Parsed> left;  // destroyed without the lock
  const std::lock_guard lock(mutex_);
  parsed_.push_back({raw, document});
  parsed_bytes_ += raw->size();
  for (; parsed_bytes_ > kParsedVersionsBytesMax; parsed_.pop_front()) {
    parsed_bytes_ -= parsed_.front().raw->size();
    left.push_back(std::move(parsed_.front()));
  }
  return document;
}

std::optional<Json> DecodedVersions::take_parsed(const RawPtr& raw) {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(parsed_.begin(), parsed_.end(),
                                  [&](const Parsed& parsed) { return parsed.raw.get() == raw.get(); });
  if (found == parsed_.end()) return std::nullopt;
  Json document = std::move(found->document);
  parsed_bytes_ -= raw->size();
  parsed_.erase(found);
  return document;
}

std::size_t DecodedVersions::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

}  // namespace berth::api
