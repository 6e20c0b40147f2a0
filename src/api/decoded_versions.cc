#include "api/decoded_versions.h"

namespace berth::api {

Result<TypedObject> DecodedVersions::decode(Kind kind, RawPtr raw) {
  if (kind == Kind::Other) return decode_typed(kind, std::move(raw));
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = kept_.find({kind, *raw}); found != kept_.end()) return found->second;
  }
  TypedObject object = TRY(decode_typed(kind, std::move(raw)));
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

std::size_t DecodedVersions::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

}  // namespace berth::api
