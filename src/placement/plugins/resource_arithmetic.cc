#include "placement/plugins/resource_arithmetic.h"

#include <algorithm>
#include <cmath>

#include "placement/index/comparison.h"

namespace berth::placement::plugins {
namespace {

constexpr std::int64_t kPercent = 100;
constexpr std::int64_t kShapeScoreMax = 10;  // of UtilizationPoint

// `part` of `whole`, in percent; 128 bits only where the product needs them.
std::int64_t percent_of(std::int64_t part, std::int64_t whole) {
  if (part <= INT64_MAX / kPercent) return part * kPercent / whole;
  return static_cast<std::int64_t>(static_cast<__int128>(part) * kPercent / whole);
}

template <class ScoreOf>
std::int64_t weighted_mean(std::span<const ScoredResource> resources, ScoreOf score_of) {
  std::int64_t sum = 0, weights = 0;
  for (const ScoredResource& one : resources) {
    sum += score_of(one) * one.weight;
    weights += one.weight;
  }
  return weights == 0 ? 0 : sum / weights;
}

// Linear between the points, flat outside of them.
std::int64_t shape_at(std::span<const UtilizationPoint> shape, std::int64_t utilization) {
  constexpr std::int64_t kScale = kNodeScoreMax / kShapeScoreMax;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (utilization > shape[i].utilization) continue;
    if (i == 0) return shape[0].score * kScale;
    const std::int64_t rise = (shape[i].score - shape[i - 1].score) * kScale;
    return shape[i - 1].score * kScale + rise * (utilization - shape[i - 1].utilization) /
                                             (shape[i].utilization - shape[i - 1].utilization);
  }
  return shape.back().score * kScale;
}

// 50 to 100: one without the standard deviation of the shares in use.
std::int64_t evenness(std::span<const ScoredResource> resources, std::int64_t ScoredResource::* used) {
  const auto share = [&](std::size_t i) {
    return std::min(1.0,
                    static_cast<double>(resources[i].*used) / static_cast<double>(resources[i].allocatable));
  };
  const auto count = static_cast<double>(resources.size());
  double deviation = 0;
  if (resources.size() == 2) {
    deviation = std::abs((share(0) - share(1)) / 2);
  } else if (resources.size() > 2) {
    double total = 0, squares = 0;
    for (std::size_t i = 0; i < resources.size(); ++i) total += share(i);
    for (std::size_t i = 0; i < resources.size(); ++i)
      squares += (share(i) - total / count) * (share(i) - total / count);
    deviation = std::sqrt(squares / count);
  }
  return static_cast<std::int64_t>((1 - deviation) * static_cast<double>(kNodeScoreMax));
}

}  // namespace

std::int64_t least_allocated_score(std::span<const ScoredResource> resources) {
  return weighted_mean(resources, [](const ScoredResource& one) {
    return one.requested > one.allocatable ? 0 : percent_of(one.allocatable - one.requested, one.allocatable);
  });
}

std::int64_t most_allocated_score(std::span<const ScoredResource> resources) {
  return weighted_mean(resources, [](const ScoredResource& one) {
    return percent_of(std::min(one.requested, one.allocatable), one.allocatable);
  });
}

// Resources that score 0 do not count, and the mean is rounded.
std::int64_t capacity_ratio_score(std::span<const ScoredResource> resources,
                                  std::span<const UtilizationPoint> shape) {
  std::int64_t sum = 0, weights = 0;
  for (const ScoredResource& one : resources) {
    const std::int64_t score = shape_at(
        shape, one.requested > one.allocatable ? kPercent : percent_of(one.requested, one.allocatable));
    if (score <= 0) continue;
    sum += score * one.weight;
    weights += one.weight;
  }
  if (weights == 0) return 0;
  return static_cast<std::int64_t>(std::round(static_cast<double>(sum) / static_cast<double>(weights)));
}

std::int64_t storage_score(std::span<const StorageUse> classes, std::span<const UtilizationPoint> shape) {
  if (classes.empty()) return 0;
  std::int64_t sum = 0;
  for (const StorageUse& one : classes)
    sum += shape_at(shape, one.capacity == 0 || one.requested > one.capacity
                               ? kPercent
                               : percent_of(one.requested, one.capacity));
  return static_cast<std::int64_t>(
      std::round(static_cast<double>(sum) / static_cast<double>(classes.size())));
}

std::int64_t balance_score(std::span<const ScoredResource> resources) {
  const std::int64_t with = evenness(resources, &ScoredResource::requested);
  const std::int64_t without = evenness(resources, &ScoredResource::allocated);
  return kNodeScoreMax / 2 + (kNodeScoreMax / 2 + with - without) / 2;
}

}  // namespace berth::placement::plugins
