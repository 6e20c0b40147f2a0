#include "api/decoded_versions.h"

#include <algorithm>

#include "api/serialized.h"

namespace berth::api {

Result<TypedObject> DecodedVersions::decode(Kind kind, RawPtr raw, const Json& document) {
  const auto decoded = [kind](RawPtr text, const Json& parsed) {
    return parsed.is_null() ? decode_typed(kind, std::move(text))
                            : decode_typed(kind, std::move(text), parsed);
  };
  if (kind == Kind::Other || is_read_directly(kind, *raw)) return decoded(std::move(raw), document);
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = kept_.find({kind, *raw}); found != kept_.end()) return found->second;
  }
  const Json parsed = document.is_null() ? take_parsed(raw).value_or(Json()) : document;
  TypedObject object = TRY(decoded(std::move(raw), parsed));
  const Version version{kind, *raw_of(object)};
  if (version.bytes.size() > bytes_max_) return object;
  std::vector<TypedObject> left;  // destroyed without the lock
  const std::lock_guard lock(mutex_);
  const auto [place, is_new] = kept_.try_emplace(version, object);
  if (!is_new) return place->second;
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
