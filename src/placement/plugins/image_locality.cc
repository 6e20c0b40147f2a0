// ImageLocality: prefers nodes that have the images of the pod's containers and image volumes. An image
// counts by its size, less where few nodes have it. Source: kube-scheduler's plugin. Difference: of an image
// that has other sizes on other nodes, each node's own counts.
#include <algorithm>
#include <map>

#include "placement/plugins/plugins.h"

namespace berth::placement::plugins {
namespace {

constexpr std::int64_t kMebibyte = 1024 * 1024;
constexpr std::int64_t kBytesMin = 23 * kMebibyte;               // score 0
constexpr std::int64_t kBytesOfContainerMax = 1000 * kMebibyte;  // score 100, times containers

// Of one image; larger ones count as this, and negative ones as nothing. Far above what scores 100.
constexpr std::int64_t kImageBytesMax = std::int64_t{1} << 50;

// The name with the tag that it means.
std::string full_name(const std::string& image) {
  const auto colon = image.rfind(':'), slash = image.rfind('/');
  const bool tagged = colon != std::string::npos && (slash == std::string::npos || colon > slash);
  return tagged ? image : image + ":latest";
}

struct PodImages {
  std::map<std::string, std::int64_t> uses;  // those that some node has, by full name
  std::int64_t count = 0;                    // of all containers and image volumes
};

PodImages images_of(const PodQuery& query) {
  const model::NodeTraits& traits = query.context->cluster.node_traits();
  PodImages images;
  if (!traits.has_images()) return images;
  const auto add = [&](const std::string& image) {
    ++images.count;
    const std::string name = full_name(image);
    if (traits.nodes_with_image(name) > 0) ++images.uses[name];
  };
  for (const api::Container& container : query.pod->init_containers) add(container.image);
  for (const api::Container& container : query.pod->containers) add(container.image);
  for (const std::string& reference : query.pod->image_volumes) add(reference);
  return images;
}

std::int64_t score_for(std::int64_t bytes, std::int64_t images) {
  const std::int64_t most = kBytesOfContainerMax * images;
  return kNodeScoreMax * (std::clamp(bytes, kBytesMin, most) - kBytesMin) / (most - kBytesMin);
}

class ImageLocality final : public NormalizedScore {
 public:
  std::string_view name() const override { return "ImageLocality"; }
  Signing sign(const PodQuery& query, PodSignature& signature) const override {
    const PodImages images = images_of(query);
    if (images.uses.empty() || !signature.begin("Images")) return Signing::Signed;
    signature.put(static_cast<std::uint64_t>(images.count));
    signature.put(images.uses.size());
    for (const auto& [name, uses] : images.uses) {
      signature.put(name);
      signature.put(static_cast<std::uint64_t>(uses));
    }
    return Signing::Signed;
  }
  // A column for each image: what it takes on the node. How many nodes have it changes no node.
  std::optional<Comparison> compare(const PodQuery& query) const override {
    const PodImages images = images_of(query);
    if (images.uses.empty()) return std::nullopt;
    const model::Cluster& cluster = query.context->cluster;
    Comparison comparison;
    comparison.columns = images.uses.size();
    struct Weighted {
      std::int64_t uses;
      double spread;  // the part of the nodes that have it
    };
    std::vector<Weighted> weighted;
    for (const auto& [name, uses] : images.uses) {
      comparison.values.push_back({[&cluster, name = name](NodeId node) {
                                     return std::clamp(cluster.node(node).live->bytes_of_image(name),
                                                       std::int64_t{0}, kImageBytesMax);
                                   },
                                   weighted.size()});
      weighted.push_back({uses, static_cast<double>(cluster.node_traits().nodes_with_image(name)) /
                                    static_cast<double>(cluster.live_nodes().size())});
    }
    comparison.normalize = [weighted, count = images.count](const ComparedNodes& compared,
                                                            std::span<std::int64_t> scores) {
      for (std::size_t at = 0; at < compared.size(); ++at) {
        std::int64_t bytes = 0;
        for (std::size_t i = 0; i < weighted.size(); ++i)
          bytes += weighted[i].uses *
                   static_cast<std::int64_t>(static_cast<double>(compared.value(at, i)) * weighted[i].spread);
        scores[at] = score_for(bytes, count);
      }
    };
    return comparison;
  }
};

}  // namespace

std::unique_ptr<NormalizedScore> image_locality() {
  return std::make_unique<ImageLocality>();
}

}  // namespace berth::placement::plugins
