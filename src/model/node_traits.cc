#include "model/node_traits.h"

namespace berth::model {

void NodeTraits::replace(const api::Node* before, const api::Node* after) {
  if (before && before->softly_tainted()) --softly_tainted_;
  if (after && after->softly_tainted()) ++softly_tainted_;
  if (before && after && before->images == after->images) return;
  if (after)
    for (const api::NodeImage& image : after->images) ++by_image_[image.name];
  if (!before) return;
  for (const api::NodeImage& image : before->images) {
    const auto at = by_image_.find(image.name);
    if (--at->second == 0) by_image_.erase(at);
  }
}

}  // namespace berth::model
