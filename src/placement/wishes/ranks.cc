#include "placement/wishes/ranks.h"

#include <algorithm>
#include <compare>
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

bool is_digit(char one) {
  return one >= '0' && one <= '9';
}

// "w-9" comes before "w-10".
std::strong_ordering compare_by_numbers(std::string_view a, std::string_view b) {
  while (!a.empty() && !b.empty()) {
    if (!is_digit(a.front()) || !is_digit(b.front())) {
      if (a.front() != b.front()) return a.front() <=> b.front();
      a.remove_prefix(1);
      b.remove_prefix(1);
      continue;
    }
    const auto number = [](std::string_view& text) {
      const std::size_t zeros = std::min(text.find_first_not_of('0'), text.size());
      text.remove_prefix(zeros);
      const auto end = static_cast<std::size_t>(std::ranges::find_if_not(text, is_digit) - text.begin());
      const std::string_view digits = text.substr(0, end);
      text.remove_prefix(end);
      return digits;
    };
    const std::string_view first = number(a), second = number(b);
    if (first != second) return std::pair(first.size(), first) <=> std::pair(second.size(), second);
  }
  return a.size() <=> b.size();
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
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
    const std::string &first = members[a]->group, &second = members[b]->group;
    if (const auto order = compare_by_numbers(first, second); order != 0) return order < 0;
    return std::tuple(std::string_view(first), ranks[a], std::string_view(members[a]->meta.name)) <
           std::tuple(std::string_view(second), ranks[b], std::string_view(members[b]->meta.name));
  });
  return order;
}

}  // namespace berth::placement
