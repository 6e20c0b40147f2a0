// The dense ids of the model: an index into the columns of one kind of thing.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/ids.h"

namespace berth::model {

using NodeId = DenseId<struct NodeTag>;
using PodId = DenseId<struct PodTag>;
using ClaimId = DenseId<struct ClaimTag>;
using PoolId = DenseId<struct PoolTag>;
using DeviceId = DenseId<struct DeviceTag>;
using ResourceId = DenseId<struct ResourceTag>;
using CapacityId = DenseId<struct CapacityTag>;

struct StringHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const noexcept { return std::hash<std::string_view>{}(text); }
};

// Text to dense id and back. An id is never reused for another text: references may outlive the object.
template <class Id>
class Names {
 public:
  Id intern(std::string_view text) {
    const auto found = ids_.find(text);
    if (found != ids_.end()) return found->second;
    const Id id(static_cast<std::uint32_t>(texts_.size()));
    texts_.emplace_back(text);
    ids_.emplace(std::string(text), id);
    return id;
  }
  // none() when the text was never interned.
  Id find(std::string_view text) const {
    const auto found = ids_.find(text);
    return found == ids_.end() ? Id::none() : found->second;
  }
  const std::string& text(Id id) const { return texts_[id.index()]; }
  std::size_t size() const { return texts_.size(); }

 private:
  std::vector<std::string> texts_;
  std::unordered_map<std::string, Id, StringHash, std::equal_to<>> ids_;
};

}  // namespace berth::model
