// Dense ids as types of their own: a NodeId is neither a DeviceId nor a count.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace berth {

// An index into the columns of one kind of thing. `Tag` only makes the type distinct.
template <class Tag>
class DenseId {
 public:
  constexpr DenseId() = default;
  constexpr explicit DenseId(std::uint32_t index) : index_(index) {}

  constexpr std::uint32_t index() const { return index_; }
  constexpr bool valid() const { return index_ != kNone; }
  static constexpr DenseId none() { return DenseId(); }

  friend constexpr auto operator<=>(DenseId, DenseId) = default;

 private:
  static constexpr std::uint32_t kNone = 0xffffffffu;
  std::uint32_t index_ = kNone;
};

}  // namespace berth

template <class Tag>
struct std::hash<berth::DenseId<Tag>> {
  std::size_t operator()(berth::DenseId<Tag> id) const noexcept { return id.index(); }
};
