#include "model/slice_traits.h"

#include <algorithm>

namespace berth::model {
namespace {

bool takes_of_node(const api::Device& device) {
  return !device.node_allocatable.empty();
}

bool has_parts(const api::Device& device) {
  return device.allow_multiple || !device.consumes.empty();
}

}  // namespace

void SliceTraits::add(const api::ResourceSlice& slice) {
  if (std::ranges::any_of(slice.devices, takes_of_node)) ++taking_;
  if (std::ranges::any_of(slice.devices, has_parts)) ++in_parts_[slice.driver];
}

void SliceTraits::remove(const api::ResourceSlice& slice) {
  if (std::ranges::any_of(slice.devices, takes_of_node)) --taking_;
  if (std::ranges::any_of(slice.devices, has_parts) && --in_parts_[slice.driver] == 0)
    in_parts_.erase(slice.driver);
}

}  // namespace berth::model
