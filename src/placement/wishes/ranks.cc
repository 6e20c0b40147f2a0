#include "placement/wishes/ranks.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace berth::placement {
namespace {

// Pods of a LeaderWorkerSet have both of the last two.
constexpr std::string_view kIndexKeys[] = {"batch.kubernetes.io/job-completion-index",
                                           "leaderworkerset.sigs.k8s.io/worker-index",
                                           "apps.kubernetes.io/pod-index"};

std::optional<std::int64_t> index_in(std::string_view text) {
  const std::optional<std::int64_t> number = api::to_int(text);
  return number && *number >= 0 ? number : std::nullopt;
}

std::string_view last_digits(std::string_view name) {
  const std::size_t other = name.find_last_not_of("0123456789");
  return other == std::string_view::npos ? name : name.substr(other + 1);
}

}  // namespace

std::optional<std::int64_t> member_rank(const api::Pod& pod) {
  for (const std::string_view key : kIndexKeys) {
    const auto label = pod.meta.labels.find(key);
    if (label != pod.meta.labels.end())
      if (const auto rank = index_in(label->second)) return rank;
    if (const auto rank = index_in(pod.meta.annotation(key))) return rank;
  }
  return index_in(last_digits(pod.meta.name));
}

std::vector<std::size_t> by_rank(std::span<const api::Pod* const> members) {
  std::vector<std::int64_t> ranks;
  ranks.reserve(members.size());
  for (const api::Pod* pod : members) ranks.push_back(member_rank(*pod).value_or(INT64_MAX));
  std::vector<std::size_t> order(members.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) {
    return std::tuple(ranks[i], std::string_view(members[i]->meta.name));
  });
  return order;
}

}  // namespace berth::placement
